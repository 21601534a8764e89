"""The shape of clusters: what it was chosen by, and how clusters join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amclust._assemblies import KINDS, ShapeEvidence
from amclust._docs import documented
from amclust._estimator import ClAM
from amclust._fitted import fitted_clam
from amclust.plotting._base import DISPLAYS, Display, count_along, options

# Eigenvalues that are drawn, and the least difference to 1 of one.
MAX_EIGENVALUES, LEAST = 30, 1e-5


def _name(candidate: Any) -> str:
    """Say what a candidate for the shape is."""
    if KINDS[candidate["kind"]] == "round":
        return "round clusters"
    of_clouds = " in clouds" if KINDS[candidate["kind"]] == "clouds" else ""
    return f"{candidate['n_memories']} memories{of_clouds}"


class _OfAssemblies(Display):
    """A display of what only a fit with several memories for each cluster knows."""

    @classmethod
    def _model_with(cls, attribute: str, estimator: Any) -> ClAM:
        """Return the fitted model, which must have an attribute."""
        cls._check("from_estimator")
        model = fitted_clam(estimator)
        if not hasattr(model, attribute):
            msg = (
                f"estimator has no {attribute}: fit ClAM(n_memories='auto'), or with a number of "
                "memories, on more rows than a few."
            )
            raise ValueError(msg)
        return model


@documented(DISPLAYS)
@dataclass(kw_only=True, eq=False, repr=False)
class ShapeDisplay(_OfAssemblies):
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
    3
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
        model = cls._model_with("shape_evidence_", estimator)
        display = cls(evidence=model.shape_evidence_, n_clusters=model.n_clusters_)
        return display.plot(ax=ax, **kwargs)

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
        texts = [f"{_name(one)}, cut {one['cut']:.3f}" for one in self.evidence.table]
        self.legend_ = self.ax_.legend(marks, texts, frameon=False)
        return self


@documented(DISPLAYS)
@dataclass(kw_only=True, eq=False, repr=False)
class MergeTreeDisplay(_OfAssemblies):
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
        model = cls._model_with("merge_tree_", estimator)
        return cls(merge_tree=model.merge_tree_).plot(ax=ax, **kwargs)

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
