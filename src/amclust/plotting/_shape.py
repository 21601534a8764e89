"""The shape of clusters: what it was chosen by, and how clusters join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amclust._assemblies import ShapeEvidence
from amclust._docs import documented
from amclust._fitted import fitted_clam
from amclust.plotting._base import DISPLAYS, Display, count_along, options

# Eigenvalues that are drawn, and the least difference to 1 of one.
MAX_EIGENVALUES, LEAST = 30, 1e-5


def _needs(model: Any, attribute: str) -> Any:
    """Return an attribute that only clusters of several memories have."""
    if not hasattr(model, attribute):
        msg = (
            f"estimator has no {attribute}: fit ClAM(n_memories='auto'), or with a number of "
            "memories, on more rows than a few."
        )
        raise ValueError(msg)
    return getattr(model, attribute)


@documented(DISPLAYS)
@dataclass(kw_only=True, eq=False, repr=False)
class ShapeDisplay(Display):
    """What speaks for round clusters and for assemblies of memories.

    What is missing to 1 of the eigenvalues of how memories share rows: as many as there are
    separate pieces are 1, and where the number of clusters is clear there is a gap after it. The
    cuts of the candidates are in the legend.

    {made_from_estimator}

    Parameters
    ----------
    evidence : ShapeEvidence
        The candidates and the eigenvalues.

    n_clusters : int, default=None
        Where a line is drawn; None: nowhere.

    Attributes
    ----------
    {ax_}
    {figure_}
    line_ : matplotlib Line2D
        The eigenvalues.

    legend_ : matplotlib Legend
        The candidates.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from amclust import ClAM
    >>> from amclust.plotting import ShapeDisplay
    >>> X, _ = make_moons(300, noise=0.05, random_state=0)
    >>> model = ClAM(2, n_memories="auto", random_state=0).fit(X)
    >>> len(ShapeDisplay.from_estimator(model).legend_.get_texts())
    2
    """

    evidence: ShapeEvidence
    n_clusters: int | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> ShapeDisplay:
        """Draw what the shape of a fitted model was chosen by.

        Parameters
        ----------
        {estimator}
        {ax}
        {kwargs}

        {returns}
        """
        cls._check("from_estimator")
        model = fitted_clam(estimator)
        evidence = _needs(model, "shape_evidence_")
        return cls(evidence=evidence, n_clusters=model.n_clusters_).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> ShapeDisplay:
        """Draw the eigenvalues and the cuts.

        Parameters
        ----------
        {ax}
        **kwargs : dict
            Keywords for the eigenvalues (`plot`).

        {returns}
        """
        self._check("plot")
        self._take_axes(ax)
        # What is missing to 1, on an axis where a gap can be seen.
        values = np.maximum(1.0 - self.evidence.eigenvalues[:MAX_EIGENVALUES], LEAST)
        numbers = np.arange(1, len(values) + 1)
        look = options(kwargs, color="C0", marker="o", linewidth=1.2)
        (self.line_,) = self.ax_.semilogy(numbers, values, **look)
        if self.n_clusters is not None and len(values):
            self.ax_.axvline(self.n_clusters + 0.5, color=self._ink, linestyle="--", linewidth=1.0)
        self.ax_.set_xlabel("number")
        self.ax_.set_ylabel("1 - eigenvalue")
        count_along(self.ax_.xaxis)
        from matplotlib.lines import Line2D

        marks = [
            Line2D([], [], linestyle="none", marker="*" if one["chosen"] else "", color=self._ink)
            for one in self.evidence.table
        ]
        texts = [
            f"{'round clusters' if one['n_nearest'] == 0 else str(one['n_memories']) + ' memories'}"
            f", cut {one['cut']:.3f}"
            for one in self.evidence.table
        ]
        self.legend_ = self.ax_.legend(marks, texts, frameon=False)
        return self


@documented(DISPLAYS)
@dataclass(kw_only=True, eq=False, repr=False)
class MergeTreeDisplay(Display):
    """How clusters join: those first that share most rows.

    {made_from_estimator}

    Parameters
    ----------
    merge_tree : ndarray of shape (n_clusters - 1, 4)
        The tree, in the format of `scipy.cluster.hierarchy`.

    Attributes
    ----------
    {ax_}
    {figure_}
    tree_ : dict
        What :func:`scipy.cluster.hierarchy.dendrogram` returned.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from amclust import ClAM
    >>> from amclust.plotting import MergeTreeDisplay
    >>> X, _ = make_blobs(300, centers=4, random_state=1)
    >>> model = ClAM(4, n_memories=40, random_state=0).fit(X)
    >>> sorted(MergeTreeDisplay.from_estimator(model).tree_["leaves"])
    [0, 1, 2, 3]
    """

    merge_tree: NDArray[np.float64]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> MergeTreeDisplay:
        """Draw how the clusters of a fitted model join.

        Parameters
        ----------
        {estimator}
        {ax}
        {kwargs}

        {returns}
        """
        cls._check("from_estimator")
        tree = _needs(fitted_clam(estimator), "merge_tree_")
        return cls(merge_tree=tree).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> MergeTreeDisplay:
        """Draw the tree.

        Parameters
        ----------
        {ax}
        **kwargs : dict
            Keywords of :func:`scipy.cluster.hierarchy.dendrogram`.

        {returns}
        """
        from scipy.cluster.hierarchy import dendrogram

        self._check("plot")
        self._take_axes(ax)
        look = {"color_threshold": 0.0, "above_threshold_color": self._ink}
        self.tree_ = {}
        if len(self.merge_tree):
            self.tree_ = dendrogram(self.merge_tree, ax=self.ax_, **{**look, **kwargs})
        self.ax_.set_xlabel("cluster")
        self.ax_.set_ylabel("1 - part of the rows that are shared")
        return self
