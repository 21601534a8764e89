"""The silhouette plot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from amclust._colours import Style
from amclust._docs import documented
from amclust._fitted import fitted_clam
from amclust._validation import validate_rows
from amclust.plotting._base import DISPLAYS, Display, Keywords, plain_texts
from amclust.plotting._labels import as_labels, is_noise, noise_mark

# Space between blades, and between their numbers where these can be read, as parts of the whole.
GAP, READABLE = 0.012, 0.034


@documented(DISPLAYS)
@dataclass(kw_only=True, eq=False, repr=False)
class SilhouetteDisplay(Display):
    """Silhouettes of rows, sorted in each cluster: a blade per cluster, the mean as a line.

    {made_from_either}

    Parameters
    ----------
    silhouettes : ndarray of shape (n_samples,)
        Silhouette of each row; rows with NaN are left out.

    labels : ndarray of shape (n_samples,)
        Clusters of the rows. Negative integers (-1 of HDBSCAN) are noise, which is in no
        cluster and has no silhouette: such rows are left out, and the legend says how many.

    Attributes
    ----------
    mean_silhouette : float
        Mean over the rows that are not left out.

    {ax_}
    {figure_}
    blades_ : list of matplotlib PolyCollection
        A blade for each cluster that has rows, from the top.

    mean_line_ : matplotlib Line2D or None
        The mean; none for a single cluster, which has no silhouettes.

    legend_ : matplotlib Legend or None
        Says what the mean is, and how many rows are noise.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from amclust import ClAM
    >>> from amclust.plotting import SilhouetteDisplay
    >>> X = load_iris().data
    >>> model = ClAM(3, random_state=0).fit(X)
    >>> display = SilhouetteDisplay.from_estimator(model, X)
    >>> bool(abs(display.mean_silhouette - model.score(X)) < 1e-5)
    True
    >>> other = SilhouetteDisplay.from_predictions(X, KMeans(3, random_state=0).fit_predict(X))
    """

    silhouettes: NDArray[Any]
    labels: NDArray[Any]

    def __post_init__(self) -> None:
        judged = self._judged()
        if not judged.any():
            msg = "labels must have clusters, but all rows are noise or have no silhouette."
            raise ValueError(msg)
        self.mean_silhouette = float(np.mean(self.silhouettes[judged]))

    def _judged(self) -> NDArray[np.bool_]:
        return np.isfinite(self.silhouettes) & ~is_noise(self.labels)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, labels: Any = None, ax: Any = None, **kwargs: Any
    ) -> SilhouetteDisplay:
        """Draw the silhouettes of rows in the metric and scaling of a fitted model.

        Parameters
        ----------
        {estimator}
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; NaN where a value is missing. Of more than 10,000, a fixed sample is drawn.

        labels : array-like of shape (n_samples,), default=None
            Another partition to draw in the same distances; None: that of the estimator. Rows of
            noise, with negative integers, are left out.

        {ax}
        {kwargs}

        {returns}
        """
        cls._check("from_estimator")
        model = fitted_clam(estimator)
        labels = as_labels(model.predict(X) if labels is None else labels)
        rows = validate_rows(model, X)

        def judge(kept: NDArray[np.int64]) -> NDArray[np.float64]:
            network, n_jobs = model.network_, model.n_jobs
            return network.silhouette_values(rows[kept], labels[kept], n_jobs=n_jobs)

        silhouettes = _of_clusters(labels, rows.shape[0], judge)
        display = cls(silhouettes=silhouettes, labels=labels)
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls, X: Any, labels: Any, *, metric: Any = "euclidean", ax: Any = None, **kwargs: Any
    ) -> SilhouetteDisplay:
        """Draw the silhouettes of any partition, of rows as they are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Rows without missing values, or distances between them for ``metric="precomputed"``.

        labels : array-like of shape (n_samples,)
            Clusters of the rows: numbers, or anything else that names them. Rows of noise, with
            negative integers (-1 of HDBSCAN), are left out: neither do they have a
            silhouette nor count in those of others.

        metric : str or callable, default="euclidean"
            A metric of `sklearn.metrics.silhouette_samples`.

        {ax}
        {kwargs}

        {returns}
        """
        cls._check("from_predictions")
        from sklearn.metrics import silhouette_samples

        labels = as_labels(labels)

        def judge(kept: NDArray[np.int64]) -> Any:
            rows = _safe_indexing(X, kept)
            if isinstance(metric, str) and metric == "precomputed":
                rows = _safe_indexing(rows, kept, axis=1)
            return silhouette_samples(rows, labels[kept], metric=metric)

        silhouettes = _of_clusters(labels, _num_samples(X), judge)
        display = cls(silhouettes=silhouettes, labels=labels)
        return display.plot(ax=ax, **kwargs)

    def plot(
        self, ax: Any = None, *, mean_kw: Keywords | None = None, **kwargs: Any
    ) -> SilhouetteDisplay:
        """Draw the silhouettes.

        Parameters
        ----------
        {ax}
        mean_kw : dict, default=None
            Keywords for the line of the mean (`axvline`).

        **kwargs : dict
            Keywords for the blades (`fill_betweenx`).

        {returns}
        """
        self._take_axes(ax)
        judged = self._judged()
        values, labels = self.silhouettes[judged], self.labels[judged]
        kinds = np.unique(labels)
        gap = min(GAP, 0.2 / len(kinds)) * len(values)
        self.blades_, places, top = [], [], 0.0
        styles, names = self._blade_styles(kinds), plain_texts(kinds)
        for style, kind, name in zip(styles, kinds, names, strict=True):
            blade = np.sort(values[labels == kind])[::-1]
            # A step per row: a cluster of one row has an area too.
            heights = np.repeat(top + np.arange(len(blade) + 1), 2)[1:-1]
            look = {"facecolor": style.colour, "edgecolor": style.colour, "linewidth": 0.3}
            if style.hatch:
                look |= {"hatch": style.hatch, "edgecolor": "black"}
            self.blades_.append(
                self.ax_.fill_betweenx(heights, 0, np.repeat(blade, 2), **{**look, **kwargs})
            )
            places.append((top + len(blade) / 2, name))
            top += len(blade) + gap
        self.mean_line_: Any = None
        if len(kinds) == 1:
            self.ax_.text(
                *(0.5, 0.5),
                "a single cluster has no silhouettes",
                ha="center",
                transform=self.ax_.transAxes,
            )
        else:
            self.mean_line_ = self._draw_mean(self.mean_silhouette, mean_kw)
        self._finish(values, places, top - gap)
        return self

    def _blade_styles(self, kinds: NDArray[Any]) -> list[Style]:
        """Return the looks of clusters: that of their number, whichever others are there."""
        if kinds.dtype.kind in "iu" and kinds.min() >= 0:
            styles = self._styles(int(kinds.max()) + 1)
            return [styles[kind] for kind in kinds]
        return self._styles(len(kinds))

    def _finish(self, values: NDArray[Any], places: list[tuple[float, str]], height: float) -> None:
        named = places[:1]
        for place, name in places[1:]:
            if place - named[-1][0] >= READABLE * height:
                named.append((place, name))
        self.ax_.set_yticks([place for place, _ in named], [name for _, name in named])
        self.ax_.tick_params(axis="y", length=0, labelsize=8 if len(places) > 12 else 10)
        margin = GAP * height
        self.ax_.set_ylim(height + margin, -margin)
        self.ax_.set_xlim(min(0.0, values.min() - 0.02), min(1.0, max(values.max() + 0.05, 0.2)))
        self.ax_.set_xlabel("silhouette")
        self.ax_.set_ylabel("cluster")
        marks = [] if self.mean_line_ is None else [self.mean_line_]
        noise = int(is_noise(self.labels).sum())
        if noise:
            marks.append(noise_mark(noise, left_out=True))
        self.legend_ = self._legend_above(marks)


def _of_clusters(labels: NDArray[Any], n_rows: int, judge: Callable[[Any], Any]) -> NDArray[Any]:
    """Return what is found of the rows in clusters; NaN for noise."""
    if len(labels) != n_rows:
        msg = f"labels must have shape ({n_rows},), one for each row of X, got {labels.shape}."
        raise ValueError(msg)
    kept = np.flatnonzero(~is_noise(labels))
    values = np.full(n_rows, np.nan)
    if len(kept):
        values[kept] = judge(kept)
    return values
