"""What a fitted ClAM writes: itself, and a page about its clusters."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


class DiskMethods:
    """The part of ClAM that writes files."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, for :func:`amclust.load`.

        The file holds data, not code: loading one cannot execute anything. It appears whole or not
        at all, and an existing one is replaced. The loaded model predicts bit for bit the same, and
        `partial_fit` goes on from it. A generator in `random_state` is not kept (it becomes None),
        nor is what `set_output` has set.

        Parameters
        ----------
        path : str or path
            Where to write, by habit with the suffix ".amc".

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import amclust
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> model = amclust.ClAM(n_clusters=3, n_init=2, random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder, "iris.amc"))
        ...     loaded = amclust.load(Path(folder, "iris.amc"))
        >>> bool((loaded.predict(X) == model.labels_).all())
        True
        """
        from amclust._model_file import save_model

        save_model(self, path)

    def report(
        self,
        X: Any,
        path: str | os.PathLike[str],
        *,
        ids: Any = None,
        title: str | None = None,
        source: str | None = None,
        random_state: Any = 0,
        overwrite: bool = True,
    ) -> Path:
        """Write a page about the clusters: one HTML file that needs no network.

        It shows sizes and what distinguishes each cluster, a projection, silhouettes, basins, rows
        that are doubtful or unlike all others, completed cells, the restarts, and as many restarts
        of k-means beside them. Needs plotly (``pip install "amclust[plot]"``).

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to report on, usually those of the fit; NaN where a value is missing.

        path : str or path
            Where to write, ``report.html`` for example. The file appears whole or not at all.

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
        >>> X = load_iris(as_frame=True).data
        >>> model = ClAM(n_clusters=3, n_init=2, random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.report(X, f"{folder}/iris.html", title="Iris").name
        'iris.html'
        """
        from amclust._report import write_report

        return write_report(
            self,
            X,
            path,
            ids=ids,
            title=title,
            source=source,
            random_state=random_state,
            overwrite=overwrite,
        )
