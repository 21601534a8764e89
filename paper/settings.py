"""How much is run: the budgets of the full run and of the quick one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.folders import DATA, REPOSITORY
from paper.published import EMBEDDED_GRID


@dataclass(frozen=True)
class Settings:
    """Options of every run. What changes a result is copied into the definition of the run."""

    data_dir: Path = DATA
    # Of the records.
    folder: Path = REPOSITORY / "paper" / "records"
    # Shows that everything runs, not how good it is.
    quick: bool = False
    # Sets of the tables to run; None: all.
    sets: tuple[str, ...] | None = None
    # Runs of ClAM under the paper's protocol, each with hyperparameters drawn from its grid, and
    # before those runs with the best hyperparameters of the paper, a tenth of them at most.
    clam_runs: Mapping[str, int] = field(default_factory=dict)
    published_restarts: int = 10
    epochs: int = 200
    # ``n_init`` of k-means under the paper's protocol, where it is not the paper's 1000.
    kmeans_restarts: Mapping[str, int] = field(default_factory=dict)
    # How many of the paper's sixteen update intervals DEC and DCEC are run with, if not all.
    dec_intervals: Mapping[str, int] = field(default_factory=dict)
    dcec_intervals: Mapping[str, int] = field(default_factory=dict)
    # Batches that they may train on, DCEC after its autoencoder (the paper allows 20,000).
    dec_updates: int = EMBEDDED_GRID["updates"]
    dcec_updates: int = 600
    # Passes in which the autoencoder is trained.
    dcec_epochs: Mapping[str, int] = field(default_factory=dict)
    # Fits of every method for one seed of the honest protocol; seeds of it, of ClAM's default and
    # of the toys; fits and seeds of the sets that are too large for so many.
    honest_fits: int = 25
    seeds: int = 10
    fewer_honest: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    timing_repeats: int = 3
    # Runs behind a point of the curves of silhouettes.
    curve_restarts: int = 5
    # At most so many rows have their silhouette taken, and are given to methods whose cost grows
    # with the square of the rows or the product of rows, clusters and features.
    sample_rows: int = 10_000

    def has(self, name: str) -> bool:
        return self.sets is None or name in self.sets

    def honest_budget(self, name: str) -> tuple[int, int]:
        """Give the fits for a seed and the seeds of the honest protocol on a set."""
        return self.fewer_honest.get(name, (self.honest_fits, self.seeds))

    @property
    def budget(self) -> str:
        return "quick" if self.quick else "full"


FULL = Settings(
    clam_runs={
        "zoo": 2000,
        "ecoli": 2000,
        "movement_libras": 600,
        "yale": 200,
        "gcm": 30,
        "nci9": 60,
        "mice_protein": 300,
        "ctg": 300,
        "segment": 300,
        "usps_test": 100,
        "fashion_mnist": 10,
    },
    kmeans_restarts={"fashion_mnist": 20},
    dec_intervals={"fashion_mnist": 4},
    dcec_intervals={"yale": 2, "usps_test": 2, "fashion_mnist": 1},
    dcec_epochs={"yale": 400, "usps_test": 100, "fashion_mnist": 20},
    fewer_honest={
        "yale": (25, 5),
        "gcm": (25, 3),
        "nci9": (25, 3),
        "usps_test": (25, 5),
        "fashion_mnist": (2, 3),
    },
)

_SETS = tuple(FULL.clam_runs)
QUICK = Settings(
    folder=REPOSITORY / "paper" / "records-quick",
    quick=True,
    clam_runs=dict.fromkeys(_SETS, 10) | {"fashion_mnist": 1, "gcm": 2, "nci9": 2},
    published_restarts=2,
    epochs=20,
    kmeans_restarts=dict.fromkeys(_SETS, 10) | {"fashion_mnist": 1},
    dec_intervals=dict.fromkeys(_SETS, 2),
    dcec_intervals=dict.fromkeys(_SETS, 1),
    dec_updates=100,
    dcec_updates=20,
    dcec_epochs=dict.fromkeys(_SETS, 1),
    honest_fits=3,
    seeds=2,
    fewer_honest={"fashion_mnist": (1, 2)},
    timing_repeats=1,
    curve_restarts=1,
    sample_rows=1_000,
)
