"""Where the benchmarks read and write."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
RESULTS = REPOSITORY / "benchmarks" / "results"
FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")
DATA = Path(os.environ.get("AMCLUST_DATA") or REPOSITORY.parent / "shared" / "data")
