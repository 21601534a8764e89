"""The data sets of the ClAM paper: from a folder of files, or from where they were published."""

from amclust.datasets._load import get_data_home, load_dataset
from amclust.datasets._registry import DATASETS, NAMES, DatasetInfo

__all__ = ["DATASETS", "NAMES", "DatasetInfo", "get_data_home", "load_dataset"]
