"""Sizes of clusters."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from amclust._colours import cluster_styles
from amclust.plotting._base import axes_to_draw_on, check, ink, is_dark, pyplot

CONSTRAINTS: dict[str, list[Any]] = {
    "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
    "sort": ["boolean"],
}
# Above so many bars there is no room for their counts, or for all their numbers.
MOST_COUNTS = MOST_NUMBERS = 30


class SizesDisplay:
    """Sizes of the clusters, dead ones among them.

    It is recommended to use `from_estimator` or `from_predictions` to make one. All parameters are
    stored as attributes.

    Parameters
    ----------
    sizes : ndarray of shape (n_clusters,)
        Number of rows in each cluster.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the picture.

    figure_ : matplotlib Figure
        Figure they are in.

    bars_ : matplotlib BarContainer
        A bar a cluster, from the left.

    counts_ : list of matplotlib Text
        The sizes above the bars; none where there is no room.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from amclust import ClAM
    >>> from amclust.plotting import SizesDisplay
    >>> model = ClAM(3, random_state=0).fit(load_iris().data)
    >>> display = SizesDisplay.from_estimator(model, sort=True)
    >>> int(display.sizes.sum())
    150
    """

    def __init__(self, *, sizes: NDArray[Any]) -> None:
        self.sizes = sizes

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, ax: Any = None, **kwargs: Any
    ) -> SizesDisplay:
        """Draw the sizes of the clusters of a fitted model.

        Parameters
        ----------
        estimator : ClAM or ClAMSearch
            A fitted estimator, or any other with `labels_` and `cluster_centers_`.

        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Rows to count; None: those of the fit.

        ax : matplotlib Axes, default=None
            Axes to draw on; None: new ones.

        **kwargs : dict
            Keywords of `plot`.

        Returns
        -------
        display : SizesDisplay
            What was drawn.
        """
        pyplot(f"{cls.__name__}.from_estimator")
        check_is_fitted(estimator)
        labels = estimator.labels_ if X is None else estimator.predict(X)
        n_clusters = len(estimator.cluster_centers_)
        return cls(sizes=np.bincount(labels, minlength=n_clusters)).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls, labels: Any, *, n_clusters: int | None = None, ax: Any = None, **kwargs: Any
    ) -> SizesDisplay:
        """Draw the sizes of the clusters of any partition.

        Parameters
        ----------
        labels : array-like of shape (n_samples,)
            Clusters of the rows, numbered from 0.

        n_clusters : int, default=None
            How many there are, with those that have no rows; None: up to the last that has some.

        ax : matplotlib Axes, default=None
            Axes to draw on; None: new ones.

        **kwargs : dict
            Keywords of `plot`.

        Returns
        -------
        display : SizesDisplay
            What was drawn.
        """
        caller = f"{cls.__name__}.from_predictions"
        pyplot(caller)
        check(caller, CONSTRAINTS, n_clusters=n_clusters)
        labels = np.asarray(labels)
        if labels.ndim != 1 or labels.dtype.kind not in "iu" or labels.min(initial=0) < 0:
            msg = (
                "labels must be a list of whole numbers from 0, one for each row, got an array of "
                f"shape {labels.shape} and type {labels.dtype}"
            )
            msg += f" with {labels.min()}." if labels.dtype.kind in "iu" and labels.size else "."
            raise ValueError(msg)
        return cls(sizes=np.bincount(labels, minlength=n_clusters or 0)).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, sort: bool = False, **kwargs: Any) -> SizesDisplay:
        """Draw the sizes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: new ones.

        sort : bool, default=False
            Whether the largest cluster comes first, instead of the one with number 0.

        **kwargs : dict
            Keywords for the bars (`bar`).

        Returns
        -------
        display : SizesDisplay
            The same display, with its artists as attributes.
        """
        check(f"{type(self).__name__}.plot", CONSTRAINTS, sort=sort)
        self.figure_, self.ax_ = axes_to_draw_on(self, ax)
        k = len(self.sizes)
        order = np.argsort(-self.sizes, kind="stable") if sort else np.arange(k)
        styles = [cluster_styles(k, dark=is_dark(self.ax_))[m] for m in order]
        look = {
            "color": [style.colour for style in styles],
            "hatch": [style.hatch for style in styles],
            "edgecolor": ink(self.ax_),
            "linewidth": 0.5,
        }
        self.bars_ = self.ax_.bar(np.arange(k), self.sizes[order], **{**look, **kwargs})
        self.counts_ = []
        if k <= MOST_COUNTS:
            size = 8 if k > 15 else 9
            self.counts_ = self.ax_.bar_label(self.bars_, padding=2, fontsize=size)
            self.ax_.margins(y=0.08)
        step = -(-k // MOST_NUMBERS)
        self.ax_.set_xticks(np.arange(k)[::step], [str(m) for m in order[::step]])
        self.ax_.tick_params(axis="x", labelsize=7 if k > 20 else 10)
        # A few bars are no wider than many.
        room = max(0.6, (4 - k) / 2)
        self.ax_.set_xlim(-room, k - 1 + room)
        self.ax_.set_xlabel("cluster")
        self.ax_.set_ylabel("rows")
        return self
