"""Reading the tables of mlbench, on a small one of the same make."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from benchmarks.data import load_mlbench
from benchmarks.framework.environment import UnavailableError


def test_a_table_is_read(tmp_path):
    rdata = pytest.importorskip("rdata", minversion="1.0")
    pd = pytest.importorskip("pandas")
    folder = tmp_path / "usr/lib/R/site-library/mlbench/data"
    folder.mkdir(parents=True)
    frame = pd.DataFrame(
        {
            "Id": pd.Categorical(["7", "8", "9", "10"]),
            "size": pd.Categorical(["10", "2", "3", "2"], categories=["2", "3", "10"]),
            "constant": [1.0, 1.0, 1.0, 1.0],
            "shape": [0.5, 1.5, np.nan, 2.5],
            "Class": pd.Categorical(["malignant", "benign", "benign", "malignant"]),
        }
    )
    rdata.write_rda(folder / "BreastCancer.rda", {"BreastCancer": frame})
    _, features, classes, _ = load_mlbench("breast_cancer_original", tmp_path)
    assert_array_equal(features, [[10.0, 0.5], [2.0, 1.5], [2.0, 2.5]])
    assert_array_equal(classes, [1, 0, 1])


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(UnavailableError, match="r-cran-mlbench"):
        load_mlbench("glass", tmp_path)
