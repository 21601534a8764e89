"""A report to look at: the build writes one beside the pages, for the guide to link to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_wine

from amclust import ClAM


def write_example(app: Any, error: Exception | None) -> None:
    """Write the report of the tour's table with missing values."""
    if error is not None or app.builder.format != "html":
        return
    wine = load_wine(as_frame=True).data
    X = wine.mask(np.random.default_rng(0).random(wine.shape) < 0.125)
    model = ClAM(n_clusters=3, n_jobs=1, random_state=0).fit(X)
    model.report(X, Path(app.outdir) / "report.html", title="Wine with missing values")


def setup(app: Any) -> dict[str, bool]:
    """Write it when the pages are there."""
    app.connect("build-finished", write_example)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
