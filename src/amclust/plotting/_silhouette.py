"""The knife plot of silhouettes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from amclust._colours import Style, cluster_styles
from amclust._plane import fitted_network
from amclust._silhouettes import silhouette_values
from amclust.plotting._base import axes_to_draw_on, ink, is_dark, plain_texts, pyplot

# Space between blades, and between their numbers where these can be read, as parts of the whole.
GAP, READABLE = 0.012, 0.034


class SilhouetteDisplay:
    """Silhouettes of rows, sorted in each cluster: a blade a cluster, the mean as a line.

    It is recommended to use `from_estimator` or `from_predictions` to make one. All parameters are
    stored as attributes.

    Parameters
    ----------
    silhouettes : ndarray of shape (n_samples,)
        Silhouette of each row; rows with NaN are left out.

    labels : ndarray of shape (n_samples,)
        Clusters of the rows.

    Attributes
    ----------
    mean_silhouette : float
        Mean over the rows.

    ax_ : matplotlib Axes
        Axes with the picture.

    figure_ : matplotlib Figure
        Figure they are in.

    blades_ : list of matplotlib PolyCollection
        A blade for each cluster that has rows, from the top.

    mean_line_ : matplotlib Line2D
        The mean.

    legend_ : matplotlib Legend
        Says what the mean is.

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

    def __init__(self, *, silhouettes: NDArray[Any], labels: NDArray[Any]) -> None:
        self.silhouettes = silhouettes
        self.labels = labels
        self.mean_silhouette = float(np.nanmean(silhouettes))

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, labels: Any = None, ax: Any = None, **kwargs: Any
    ) -> SilhouetteDisplay:
        """Draw the silhouettes of rows in the metric and scaling of a fitted model.

        Parameters
        ----------
        estimator : ClAM or ClAMSearch
            A fitted estimator.

        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; NaN where a value is missing. Of more than 10,000, a fixed sample is drawn.

        labels : array-like of shape (n_samples,), default=None
            Another partition to draw in the same distances; None: that of the estimator.

        ax : matplotlib Axes, default=None
            Axes to draw on; None: new ones.

        **kwargs : dict
            Keywords of `plot`.

        Returns
        -------
        display : SilhouetteDisplay
            What was drawn.
        """
        pyplot(f"{cls.__name__}.from_estimator")
        model = fitted_network(estimator)
        labels = model.predict(X) if labels is None else np.asarray(labels)
        display = cls(silhouettes=silhouette_values(model, X, labels), labels=labels)
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
            Clusters of the rows.

        metric : str or callable, default="euclidean"
            A metric of `sklearn.metrics.silhouette_samples`.

        ax : matplotlib Axes, default=None
            Axes to draw on; None: new ones.

        **kwargs : dict
            Keywords of `plot`.

        Returns
        -------
        display : SilhouetteDisplay
            What was drawn.
        """
        pyplot(f"{cls.__name__}.from_predictions")
        from sklearn.metrics import silhouette_samples

        labels = np.asarray(labels)
        display = cls(silhouettes=silhouette_samples(X, labels, metric=metric), labels=labels)
        return display.plot(ax=ax, **kwargs)

    def plot(
        self, ax: Any = None, *, mean_kw: dict[str, Any] | None = None, **kwargs: Any
    ) -> SilhouetteDisplay:
        """Draw the silhouettes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: new ones.

        mean_kw : dict, default=None
            Keywords for the line of the mean (`axvline`).

        **kwargs : dict
            Keywords for the blades (`fill_betweenx`).

        Returns
        -------
        display : SilhouetteDisplay
            The same display, with its artists as attributes.
        """
        self.figure_, self.ax_ = axes_to_draw_on(self, ax)
        judged = np.isfinite(self.silhouettes)
        values, labels = self.silhouettes[judged], self.labels[judged]
        kinds = np.unique(labels)
        gap = min(GAP, 0.2 / len(kinds)) * len(values)
        self.blades_, places, top = [], [], 0.0
        for style, kind, name in zip(self._styles(kinds), kinds, plain_texts(kinds), strict=True):
            blade = np.sort(values[labels == kind])[::-1]
            # A step a row: a cluster of one row has an area too.
            heights = np.repeat(top + np.arange(len(blade) + 1), 2)[1:-1]
            look = {"facecolor": style.colour, "edgecolor": style.colour, "linewidth": 0.3}
            if style.hatch:
                look |= {"hatch": style.hatch, "edgecolor": "black"}
            self.blades_.append(
                self.ax_.fill_betweenx(heights, 0, np.repeat(blade, 2), **{**look, **kwargs})
            )
            places.append((top + len(blade) / 2, name))
            top += len(blade) + gap
        if len(kinds) == 1:
            self.ax_.text(
                *(0.5, 0.5),
                "a single cluster has no silhouettes",
                ha="center",
                transform=self.ax_.transAxes,
            )
        line = {"color": ink(self.ax_), "linestyle": "--", "linewidth": 1.2}
        self.mean_line_ = self.ax_.axvline(
            self.mean_silhouette,
            **{"label": f"mean {self.mean_silhouette:.3f}", **line, **(mean_kw or {})},
        )
        self._finish(values, places, top - gap)
        return self

    def _styles(self, kinds: NDArray[Any]) -> list[Style]:
        """Return the looks of clusters: that of their number, whichever others are there."""
        if kinds.dtype.kind in "iu" and kinds.min() >= 0:
            styles = cluster_styles(int(kinds.max()) + 1, dark=is_dark(self.ax_))
            return [styles[kind] for kind in kinds]
        return cluster_styles(len(kinds), dark=is_dark(self.ax_))

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
        self.legend_ = self.ax_.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False, borderaxespad=0.2
        )
