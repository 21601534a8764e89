"""Pictures of clusterings, in scikit-learn's manner. Needs ``pip install "amclust[plot]"``."""

from amclust.plotting._basins import BasinsDisplay
from amclust.plotting._energy import EnergyDisplay
from amclust.plotting._entropy import EntropyDisplay
from amclust.plotting._loss_curve import LossCurveDisplay
from amclust.plotting._memories import MemoriesDisplay
from amclust.plotting._search import SearchDisplay
from amclust.plotting._shape import MergeTreeDisplay, ShapeDisplay
from amclust.plotting._silhouette import SilhouetteDisplay
from amclust.plotting._sizes import SizesDisplay
from amclust.plotting._trajectories import TrajectoryDisplay

__all__ = [
    "BasinsDisplay",
    "EnergyDisplay",
    "EntropyDisplay",
    "LossCurveDisplay",
    "MemoriesDisplay",
    "MergeTreeDisplay",
    "SearchDisplay",
    "ShapeDisplay",
    "SilhouetteDisplay",
    "SizesDisplay",
    "TrajectoryDisplay",
]
