"""How long a report takes beyond the fit, and how large it is.

    python -m benchmarks.report                      # 2,000 × 50, the size of the target
    python -m benchmarks.report --rows 1000000       # a large table

Targets: under 5 s for 2,000 × 50 beyond the fit, and under 6 MB for any table. The report runs
k-means as often as the model was restarted; that is part of its time.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

from amclust import ClAM
from amclust.report import write_report
from benchmarks.framework.lines import timed
from benchmarks.framework.pages import say

MAX_SECONDS = 5.0
MAX_BYTES = 6_000_000


def made_table(rows: int, columns: int, clusters: int, missing: float) -> np.ndarray:
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(clusters, columns))
    X = centers[rng.integers(clusters, size=rows)]
    X += rng.normal(size=X.shape)
    if missing:
        X[rng.random(X.shape) < missing] = np.nan
        X[np.isnan(X).all(axis=1)] = 0.0
    return X


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    shape = arguments.rows, arguments.columns
    say(f"{shape[0]:,} × {shape[1]:,}, {arguments.clusters} clusters, 10 restarts each")
    say(f"{'':<16}{'fit':>9}{'report':>10}{'of 5 s':>9}{'of fit':>9}{'size':>10}{'of 6 MB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for name, missing in (("complete", 0.0), ("10 % missing", 0.1)):
            X = made_table(*shape, arguments.clusters, missing)
            fits, reports = [], []
            for seed in range(arguments.repeats):
                model = ClAM(arguments.clusters, random_state=seed)
                fits.append(timed(lambda model=model, X=X: model.fit(X)).seconds)
                path = Path(folder) / "report.html"
                call = timed(lambda model=model, X=X, path=path: write_report(model, X, path))
                reports.append(call.seconds)
                size = path.stat().st_size
            seconds = median(reports)
            ratio = median(a / b for a, b in zip(reports, fits, strict=True))
            say(
                f"{name:<16}{median(fits):>7.2f} s{seconds:>8.2f} s{seconds / MAX_SECONDS:>9.3f}"
                f"{ratio:>9.2f}{size / 1e6:>7.2f} MB{size / MAX_BYTES:>9.3f}"
            )


if __name__ == "__main__":
    main()
