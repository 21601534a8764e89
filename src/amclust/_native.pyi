"""The native core as Python sees it (src/amclust/_core/bindings/module.cpp)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

EPOCH_ROWS: int

class Dataset:
    @property
    def rows(self) -> int: ...
    @property
    def features(self) -> int: ...
    @property
    def metric(self) -> str: ...
    has_missing: bool
    def set_units(
        self, metric: str, offset: NDArray[np.float64], scale: NDArray[np.float32]
    ) -> None: ...

def dense_dataset(rows: NDArray[Any]) -> Dataset: ...
def sparse_dataset(
    values: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], features: int
) -> Dataset: ...
def statistics(
    data: Dataset,
    rows: NDArray[np.int64] | None,
    weights: NDArray[np.float32] | None,
    threads: int,
) -> dict[str, Any]: ...
def distinct_rows(
    data: Dataset, weights: NDArray[np.float32] | None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...
def seed(
    data: Dataset,
    rows: NDArray[np.int64] | None,
    weights: NDArray[np.float32] | None,
    k: int,
    methods: Sequence[str],
    seeds: Sequence[int],
    sample_seed: int,
    fill: NDArray[np.float32],
    threads: int,
) -> list[dict[str, Any]]: ...
def scales(
    data: Dataset,
    rows: NDArray[np.int64] | None,
    weights: NDArray[np.float32] | None,
    memories: NDArray[np.float32],
    sample_seed: int,
    fill: NDArray[np.float32],
) -> tuple[float, float, float]: ...
def train(
    data: Dataset,
    rows: NDArray[np.int64] | None,
    weights: NDArray[np.float32] | None,
    runs: list[dict[str, Any]],
    threads: int,
    progress: Callable[[int, int, float], None] | None = None,
) -> list[dict[str, Any]]: ...
def evaluate(
    data: Dataset,
    rows: NDArray[np.int64],
    weights: NDArray[np.float32] | None,
    run: dict[str, Any],
    hidden: NDArray[np.int32] | None = None,
    threads: int = 1,
) -> dict[str, Any]: ...
def infer(
    data: Dataset,
    rows: NDArray[np.int64] | None,
    fill: NDArray[np.float32],
    memories: NDArray[np.float32],
    log_weights: NDArray[np.float32],
    beta: float,
    step_size: float,
    n_steps: int,
    want: Sequence[str],
    threads: int,
    fill_from_observed: bool = True,
) -> dict[str, Any]: ...
def silhouette(
    data: Dataset,
    rows: NDArray[np.int64],
    weights: NDArray[np.float32] | None,
    labels: NDArray[np.int32],
    k: int,
    threads: int,
) -> NDArray[np.float64]: ...
def silhouette_values(
    data: Dataset,
    rows: NDArray[np.int64],
    weights: NDArray[np.float32] | None,
    labels: NDArray[np.int32],
    k: int,
    threads: int,
) -> NDArray[np.float64]: ...

class NClustersSettings:
    one_cluster: float
    resample: float
    resampled_rows: int
    min_resamples: int
    max_resamples: int
    overclustering: int
    outliers: float
    first_rounds: int
    merging_rounds: int
    scored_rounds: int
    def __init__(self) -> None: ...

class NClustersEvidence:
    @property
    def silhouette(self) -> NDArray[np.float64]: ...
    @property
    def reference(self) -> NDArray[np.float64]: ...
    @property
    def adjusted(self) -> NDArray[np.float64]: ...
    @property
    def votes(self) -> NDArray[np.int64]: ...
    @property
    def n_clusters(self) -> int | None: ...

def estimate_n_clusters(
    rows: NDArray[np.float32],
    numbers: Sequence[int],
    settings: NClustersSettings,
    seed: int,
    threads: int,
) -> NClustersEvidence: ...
def merged_partitions(
    rows: NDArray[np.float32], numbers: Sequence[int], settings: NClustersSettings, seed: int
) -> NDArray[np.int32]: ...
def draw_masks(
    seed: int,
    epoch: int,
    rows: NDArray[np.int64],
    fraction: float,
    missing: NDArray[np.uint8],
) -> NDArray[np.int32]: ...
def draw_order(seed: int, pass_: int, rows: int, first: int, count: int) -> NDArray[np.int64]: ...
def draw_reseeds(
    seed: int, epoch: int, badness: NDArray[np.float32], count: int
) -> NDArray[np.int64]: ...
def load_rows(data: Dataset, rows: NDArray[np.int64] | None) -> NDArray[np.float32]: ...
def instruction_set() -> str: ...
def use_instruction_set(name: str) -> bool: ...
