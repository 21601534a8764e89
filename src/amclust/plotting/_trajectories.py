"""Paths of rows to their memories."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from amclust._docs import documented
from amclust._fitted import fitted_clam
from amclust._plane import Plane
from amclust._validation import validate_rows
from amclust.plotting._base import PLANES, Constraints, Display, Keywords, name_axes, options
from amclust.plotting._labels import NOISE_COLOUR, is_noise, n_clusters, noise_mark


@documented(PLANES)
@dataclass(kw_only=True, eq=False, repr=False)
class TrajectoryDisplay(Display):
    """Paths along which the dynamics carries rows to their memories.

    They are drawn on new axes, or on those of another display of the same plane.

    {made_from_estimator}

    Parameters
    ----------
    paths : ndarray of shape (n_steps + 1, n_paths, 2)
        States on a plane, the start first.

    labels : ndarray of shape (n_paths,)
        Memory that each path ends at; -1 for noise, which stays where it is and is grey.

    memories : ndarray of shape (n_memories, 2)
        The memories on the plane.

    {axis_names}
    {memory_labels}

    Attributes
    ----------
    {ax_}
    {figure_}
    paths_ : list of matplotlib Line2D
        The paths, with a dot at every state.

    edges_ : list of matplotlib Line2D
        Edges around them, in the colour of the background.

    starts_ : matplotlib PathCollection
        Where they begin.

    memories_ : matplotlib PathCollection or None
        The dots of the memories.

    {numbers_}
    legend_ : matplotlib Legend or None
        Says what is noise, where there is some; none on axes that have a legend.

    See Also
    --------
    EnergyDisplay : The landscape that paths go down.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from amclust import ClAM
    >>> from amclust.plotting import BasinsDisplay, TrajectoryDisplay
    >>> X = load_iris().data
    >>> model = ClAM(3, random_state=0).fit(X)
    >>> basins = BasinsDisplay.from_estimator(model, X, show_rows=False)
    >>> paths = TrajectoryDisplay.from_estimator(model, X, n_points=20, ax=basins.ax_)
    """

    _constraints: ClassVar[Constraints] = {
        "n_points": [Interval(Integral, 1, None, closed="left")],
        "n_steps": [Interval(Integral, 1, 10_000, closed="both"), None],
        "show_memories": ["boolean", None],
    }
    paths: NDArray[Any]
    labels: NDArray[Any]
    memories: NDArray[Any]
    axis_names: tuple[str, str] = ("", "")
    memory_labels: NDArray[Any] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        points: Any = None,
        n_points: int = 40,
        n_steps: int | None = None,
        features: Any = None,
        through: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> TrajectoryDisplay:
        """Draw the paths of rows to the memories of a fitted model.

        Parameters
        ----------
        {estimator}
        {X}
        points : array-like of shape (n_paths, n_features), default=None
            Rows to start from; None: some of `X`.

        n_points : int, default=40
            How many rows of `X` to start from, spread evenly over the table.

        n_steps : int, default=None
            Steps of the dynamics; None: as many as the estimator takes.

        {features}
        {through}
        {ax}
        {kwargs}

        {returns}
        """
        cls._check("from_estimator", n_points=n_points, n_steps=n_steps)
        model = fitted_clam(estimator)
        plane = Plane.from_estimator(model, X, features, through=through)
        if points is None:
            X = validate_rows(model, X)
            starts = X[np.unique(np.linspace(0, X.shape[0] - 1, n_points).astype(int))]
        else:
            starts = validate_rows(model, points)
        network, n_jobs = model.network_, model.n_jobs
        if n_steps is not None:
            network = dataclasses.replace(network, n_steps=n_steps)
        _, states = network.recall(starts, return_trajectory=True, n_jobs=n_jobs)
        display = cls(
            paths=plane.flatten(states),
            labels=network.labels(starts, n_jobs=n_jobs),
            memories=plane.memories,
            axis_names=plane.labels,
            memory_labels=plane.network.assembly,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        show_memories: bool | None = None,
        starts_kw: Keywords | None = None,
        memories_kw: Keywords | None = None,
        **kwargs: Any,
    ) -> TrajectoryDisplay:
        """Draw the paths.

        Parameters
        ----------
        {ax}
        show_memories : bool, default=None
            Whether to draw the memories; None: only on new axes, since others may show them.

        starts_kw, memories_kw : dict, default=None
            Keywords for the dots of the starts and of the memories (`scatter`).

        **kwargs : dict
            Keywords for the paths (`plot`).

        {returns}
        """
        self._check("plot", show_memories=show_memories)
        self._take_axes(ax)
        known = self._colours(n_clusters(self.memories, self.memory_labels))
        colours = np.array([*known, NOISE_COLOUR])  # the last is for -1
        # An edge lets them be seen on any background.
        edges = [self.paths[..., 0], self.paths[..., 1]]
        self.edges_ = self.ax_.plot(
            *edges, color=self.ax_.get_facecolor(), linewidth=2.8, alpha=0.8, zorder=2.9
        )
        lines = {"marker": ".", "markersize": 5, "linewidth": 1.4, "zorder": 3}
        self.paths_ = [
            self.ax_.plot(*path.T, **options(kwargs, color=colours[label], **lines))[0]
            for path, label in zip(self.paths.swapaxes(0, 1), self.labels, strict=True)
        ]
        rings = {
            "s": 24,
            "facecolors": self.ax_.get_facecolor(),
            "edgecolors": colours[self.labels],
            "zorder": 3.5,
        }
        self.starts_ = self.ax_.scatter(*self.paths[0].T, **{**rings, **(starts_kw or {})})
        self.memories_: Any = None
        self.numbers_: list[Any] = []
        if show_memories or (show_memories is None and ax is None):
            self._mark_memories(self.memories, memories_kw, self.memory_labels)
        if not self.ax_.get_xlabel():
            name_axes(self.ax_, self.axis_names)
        self.legend_ = None
        noise = int(is_noise(self.labels).sum())
        if noise and self.ax_.get_legend() is None:
            self.legend_ = self._legend_above([noise_mark(noise)])
        return self
