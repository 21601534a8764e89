"""From a fitted model and a table to a page on disk."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from amclust._fitted import kind_of
from amclust.io.files import atomic_write
from amclust.report._page import build_page
from amclust.report._subject import Subject


def write_report(
    model: Any,
    X: Any,
    path: str | os.PathLike[str],
    *,
    ids: Any = None,
    title: str | None = None,
    source: str | None = None,
    random_state: Any = 0,
    overwrite: bool = True,
) -> Path:
    """Write a report of a clustering as one HTML page that needs no network.

    Parameters
    ----------
    model : ClAM
        A fitted estimator.

    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Rows to report on, usually those of the fit; NaN where a value is missing. A sparse matrix
        has to be small enough to be held dense.

    path : str or path-like
        The page, ``report.html`` for example. It appears whole or not at all.

    ids : array-like of shape (n_samples,), default=None
        Names of the rows; None: the index of a pandas frame, unless it merely numbers them,
        otherwise their numbers, from 0.

    title : str, default=None
        Title of the page.

    source : str, default=None
        Where the rows come from, the name of a file for example.

    random_state : int, RandomState instance or None, default=0
        Determines the restarts of k-means, and the rows that stand for all in large tables.

    overwrite : bool, default=True
        Whether a file at `path` may be replaced.

    Returns
    -------
    path : Path
        Where the page is.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from amclust import ClAM
    >>> from amclust.report import write_report
    >>> X = load_iris(as_frame=True).data
    >>> model = ClAM(n_clusters=3, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(model, X, f"{folder}/iris.html", title="Iris")
    ...     page.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    _check_model(model)
    if find_spec("plotly") is None:
        msg = 'a report needs plotly: pip install "amclust[plot]"'
        raise ModuleNotFoundError(msg, name="plotly")
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    with atomic_write(path, overwrite=overwrite) as file:
        subject = Subject.of(model, X, ids, seed)
        page = build_page(subject, title=title, source=source)
        file.write(page.encode("utf-8", errors="replace"))
    return Path(path)


def _check_model(model: Any) -> None:
    # Imported here: ClAM itself has a method that writes reports.
    from amclust._estimator import ClAM

    if not isinstance(model, ClAM):
        hint = ": pass its best_estimator_" if hasattr(model, "best_estimator_") else ""
        msg = f"model must be a fitted ClAM, got {kind_of(model)}{hint}."
        raise TypeError(msg)
