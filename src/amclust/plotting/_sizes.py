"""Sizes of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from amclust._docs import documented
from amclust._fitted import kind_of
from amclust.plotting._base import DISPLAYS, Constraints, Display, plain_texts, slant
from amclust.plotting._labels import NOISE_COLOUR, as_labels, is_noise

# Above so many bars there is no room for their counts, or for all their numbers.
MAX_COUNTS = MAX_NUMBERS = 30
# Names that need more characters of room are set aslant.
MAX_CHARACTERS = 50


@documented(DISPLAYS)
@dataclass(kw_only=True, eq=False, repr=False)
class SizesDisplay(Display):
    """Sizes of the clusters, empty ones among them.

    {made_from_either}

    Parameters
    ----------
    sizes : ndarray of shape (n_clusters,)
        Number of rows in each cluster.

    names : sequence of str, default=None
        Names of the clusters; None: their numbers, from 0.

    noise : int, default=0
        Number of rows in no cluster.

    size_min, size_max : int, default=None
        Limits that the sizes were held to.

    Attributes
    ----------
    {ax_}
    {figure_}
    bars_ : matplotlib BarContainer
        A bar per cluster, from the left; then a grey one for noise, where there is some.

    counts_ : list of matplotlib Text
        The sizes above the bars; none where there is no room.

    limits_ : list of matplotlib Line2D
        A dashed line for each limit.

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

    _constraints: ClassVar[Constraints] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "sort": ["boolean"],
    }
    sizes: NDArray[Any]
    names: Sequence[str] | None = None
    noise: int = 0
    size_min: int | None = None
    size_max: int | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, ax: Any = None, **kwargs: Any
    ) -> SizesDisplay:
        """Draw the sizes of the clusters of a fitted model.

        Parameters
        ----------
        estimator : ClAM or ClAMSearch
            A fitted estimator, or any other with `labels_`. Negative ones are noise.

        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Rows to count; None: those of the fit.

        {ax}
        {kwargs}

        {returns}
        """
        cls._check("from_estimator")
        check_is_fitted(estimator)
        if not hasattr(estimator, "labels_"):
            msg = f"estimator must have labels_, got {kind_of(estimator)}."
            raise TypeError(msg)
        labels = as_labels(estimator.labels_ if X is None else estimator.predict(X))
        n_clusters = len(getattr(estimator, "cluster_centers_", ()))
        display = cls._of(labels, n_clusters)
        if X is None:  # new rows have no limits
            display.size_min = getattr(estimator, "size_min", None)
            display.size_max = getattr(estimator, "size_max", None)
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls, labels: Any, *, n_clusters: int | None = None, ax: Any = None, **kwargs: Any
    ) -> SizesDisplay:
        """Draw the sizes of the clusters of any partition.

        Parameters
        ----------
        labels : array-like of shape (n_samples,)
            Clusters of the rows: integers from 0, where negative ones are noise (-1 of
            HDBSCAN), or anything else that names them, texts for example.

        n_clusters : int, default=None
            How many numbered clusters there are, with those that have no rows; None: up to the
            last that has some.

        {ax}
        {kwargs}

        {returns}
        """
        cls._check("from_predictions", n_clusters=n_clusters)
        labels = as_labels(labels)
        if n_clusters is not None and labels.dtype.kind not in "iu":
            msg = "n_clusters is for labels that are integers; clusters with names are counted"
            raise ValueError(f"{msg}, got n_clusters={n_clusters}.")
        return cls._of(labels, n_clusters or 0).plot(ax=ax, **kwargs)

    @classmethod
    def _of(cls, labels: NDArray[Any], n_clusters: int) -> SizesDisplay:
        if labels.dtype.kind not in "iu":
            names, sizes = np.unique(labels, return_counts=True)
            return cls(sizes=sizes, names=[str(name) for name in names])
        noise = is_noise(labels)
        sizes = np.bincount(labels[~noise], minlength=n_clusters)
        return cls(sizes=sizes, noise=int(noise.sum()))

    def plot(self, ax: Any = None, *, sort: bool = False, **kwargs: Any) -> SizesDisplay:
        """Draw the sizes.

        Parameters
        ----------
        {ax}
        sort : bool, default=False
            Whether the largest cluster comes first, instead of the one with number 0. Noise is
            always the last.

        **kwargs : dict
            Keywords for the bars (`bar`).

        {returns}
        """
        self._check("plot", sort=sort)
        self._take_axes(ax)
        order = np.arange(len(self.sizes))
        if sort:
            order = np.argsort(-self.sizes, kind="stable")
        names = plain_texts(order if self.names is None else [self.names[int(m)] for m in order])
        styles = self._styles(len(order))
        sizes, colours = self.sizes[order], [styles[m].colour for m in order]
        hatches = [styles[m].hatch for m in order]
        if self.noise:
            sizes = np.r_[sizes, self.noise]
            names, colours = [*names, "noise"], [*colours, NOISE_COLOUR]
            hatches = [*hatches, ""]
        k = len(sizes)
        look = {"color": colours, "hatch": hatches, "edgecolor": self._ink, "linewidth": 0.5}
        self.bars_ = self.ax_.bar(np.arange(k), sizes, **{**look, **kwargs})
        self.counts_ = []
        if k <= MAX_COUNTS:
            size = 8 if k > 15 else 9
            self.counts_ = self.ax_.bar_label(self.bars_, padding=2, fontsize=size)
            self.ax_.margins(y=0.08)
        self.limits_ = [
            self.ax_.axhline(limit, color=self._ink, linestyle="--", linewidth=1)
            for limit in (self.size_min, self.size_max)
            if limit
        ]
        self._name_bars(names)
        # A few bars are no wider than many.
        room = max(0.6, (4 - k) / 2)
        self.ax_.set_xlim(-room, k - 1 + room)
        self.ax_.set_xlabel("cluster")
        self.ax_.set_ylabel("rows")
        return self

    def _name_bars(self, names: list[str]) -> None:
        k = len(names)
        step = -(-k // MAX_NUMBERS)
        shown = [m for m in range(k) if m % step == 0 or (self.noise and m == k - 1)]
        self.ax_.set_xticks(shown, [names[m] for m in shown])
        self.ax_.tick_params(axis="x", labelsize=7 if k > 20 else 10)
        longest = max((len(names[m]) for m in shown), default=0)
        if longest > len("noise") and longest * len(shown) > MAX_CHARACTERS:
            slant(self.ax_.get_xticklabels())
