"""Basins of attraction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from amclust._colours import Style
from amclust._docs import documented
from amclust._fitted import fitted_clam
from amclust._plane import Plane
from amclust._voronoi import voronoi_segments
from amclust.plotting._base import (
    PLANE_CONSTRAINTS,
    PLANES,
    Constraints,
    Display,
    Keywords,
    usual_resolution,
)
from amclust.plotting._labels import NOISE_COLOUR, is_noise, n_clusters, noise_mark


@documented(PLANES)
@dataclass(kw_only=True, eq=False, repr=False)
class BasinsDisplay(Display):
    """Basins of attraction, with the cells of the nearest memories dashed over them.

    Where the two differ, memories attract together: a row falls to another memory than the
    nearest one. Where a cluster has several memories, their basins have one colour and no border
    between them. Cells have straight borders in the metrics of the core ("euclidean", "cosine",
    "mahalanobis"); those of others are not drawn. What no memory reaches is noise, and grey.

    {made_from_estimator}

    Parameters
    ----------
    {xs}
    basins : ndarray of shape (n_rows, n_columns)
        Cluster of the memory that each point of the grid falls to; -1 for noise.

    borders : ndarray of shape (n_borders, 2, 2)
        Lines on which the cluster of the nearest memory changes: line, end, coordinate; none where
        they are not straight.

    memories : ndarray of shape (n_memories, 2)
        The memories on the plane.

    rows : ndarray of shape (n_samples, 2), default=None
        Rows on the plane.

    labels : ndarray of shape (n_samples,), default=None
        Clusters of the rows; -1 for noise.

    {axis_names}
    {memory_labels}

    Attributes
    ----------
    {ax_}
    {figure_}
    basins_ : matplotlib AxesImage
        The coloured regions.

    hatches_ : list of matplotlib QuadContourSet
        What tells apart regions of the same colour: from the 21st on, a hatch for each twenty.

    borders_ : matplotlib LineCollection
        The dashed lines.

    {memories_}
    {numbers_}
    rows_ : list of matplotlib PathCollection
        The dots of the rows, a collection for each cluster that has some; that of noise first.

    legend_ : matplotlib Legend or None
        Says what is noise, where there is some.

    See Also
    --------
    EnergyDisplay : The energy that makes the basins.
    TrajectoryDisplay : Paths of rows to their memories.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from amclust import ClAM
    >>> from amclust.plotting import BasinsDisplay
    >>> X = load_iris().data
    >>> model = ClAM(3, random_state=0).fit(X)
    >>> display = BasinsDisplay.from_estimator(model, X, features=(2, 3))
    """

    _constraints: ClassVar[Constraints] = PLANE_CONSTRAINTS
    xs: NDArray[Any]
    ys: NDArray[Any]
    basins: NDArray[Any]
    borders: NDArray[Any]
    memories: NDArray[Any]
    rows: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    axis_names: tuple[str, str] = ("", "")
    memory_labels: NDArray[Any] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        features: Any = None,
        through: Any = None,
        resolution: int | None = None,
        margin: float = 0.1,
        ax: Any = None,
        **kwargs: Any,
    ) -> BasinsDisplay:
        """Draw the basins of a fitted model on a plane.

        Parameters
        ----------
        {estimator}
        {X}
        {features}
        {through}
        resolution : int, default=None
            Points of the grid in each direction; None: 300, or fewer for a table with many columns.

        {margin}
        {ax}
        {kwargs}

        {returns}
        """
        cls._check("from_estimator", resolution=resolution, margin=margin)
        model = fitted_clam(estimator)
        plane = Plane.from_estimator(model, X, features, through=through)
        xs, ys = plane.ranges(resolution or usual_resolution(plane, 300), margin)
        display = cls(
            xs=xs,
            ys=ys,
            basins=plane.ask(plane.network.labels, xs, ys),
            borders=voronoi_segments(plane, xs, ys),
            memories=plane.memories,
            rows=plane.rows,
            labels=model.predict(X),
            axis_names=plane.labels,
            memory_labels=plane.network.assembly,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        show_rows: bool = True,
        rows_kw: Keywords | None = None,
        borders_kw: Keywords | None = None,
        memories_kw: Keywords | None = None,
        **kwargs: Any,
    ) -> BasinsDisplay:
        """Draw the basins.

        Parameters
        ----------
        {ax}
        show_rows : bool, default=True
            Whether to draw the rows.

        rows_kw, borders_kw, memories_kw : dict, default=None
            Keywords for the dots of the rows (`scatter`), for the dashed lines (`LineCollection`)
            and for the dots of the memories (`scatter`).

        **kwargs : dict
            Keywords for the coloured regions (`imshow`).

        {returns}
        """
        self._take_axes(ax)
        from matplotlib.collections import LineCollection
        from matplotlib.colors import ListedColormap

        styles = self._styles(n_clusters(self.memories, self.memory_labels))
        half = [(axis[1] - axis[0]) / 2 for axis in (self.xs, self.ys)]
        extent = (
            *(self.xs[0] - half[0], self.xs[-1] + half[0]),
            *(self.ys[0] - half[1], self.ys[-1] + half[1]),
        )
        regions = {
            "cmap": ListedColormap([style.colour for style in styles]).with_extremes(
                under=NOISE_COLOUR
            ),
            "vmin": -0.5,
            "vmax": len(styles) - 0.5,
            "alpha": 0.4,
            "aspect": "auto",
            "interpolation": "nearest",
        }
        self.basins_ = self.ax_.imshow(
            self.basins, origin="lower", extent=extent, **{**regions, **kwargs}
        )
        hatches = dict.fromkeys(style.hatch for style in styles if style.hatch)
        self.hatches_ = [self._hatch(styles, hatch) for hatch in hatches]
        lines: Keywords = {
            "colors": self._ink,
            "linestyles": "dashed",
            "linewidths": 1.0,
            "zorder": 3,
        }
        self.borders_ = LineCollection(list(self.borders), **{**lines, **(borders_kw or {})})
        self.ax_.add_collection(self.borders_, autolim=False)
        self.rows_ = []
        if show_rows and self.rows is not None:
            self.rows_ = self._scatter(self.rows, styles, rows_kw or {})
        self._mark_memories(self.memories, memories_kw, self.memory_labels)
        self._frame_grid(self.xs, self.ys, self.axis_names)
        noise = is_noise(self.labels).sum() if self.rows_ and self.labels is not None else 0
        marks = [noise_mark(noise)] if noise or (self.basins < 0).any() else []
        self.legend_ = self._legend_above(marks)
        return self

    def _hatch(self, styles: list[Style], hatch: str) -> Any:
        # The last is for noise, -1.
        inside = np.array([*(float(style.hatch == hatch) for style in styles), 0.0])[self.basins]
        drawn = self.ax_.contourf(
            self.xs, self.ys, inside, levels=[0.5, 1.5], colors="none", hatches=[hatch]
        )
        drawn.set_edgecolor((0.0, 0.0, 0.0, 0.3))
        drawn.set_linewidth(0.0)
        return drawn

    def _scatter(self, rows: NDArray[Any], styles: list[Style], keywords: Keywords) -> list[Any]:
        labels = np.zeros(len(rows), int) if self.labels is None else self.labels
        # Many dots are small, so that what is below can still be seen.
        size = float(np.clip(4000 / len(rows), 2, 16))
        drawn = []
        for label in np.unique(labels):
            style = styles[label] if label >= 0 else Style(NOISE_COLOUR, "o", "")
            look = {
                "s": size,
                "c": style.colour,
                "marker": style.marker,
                "edgecolors": "black",
                "linewidths": 0.3 if size > 4 else 0.0,
                "zorder": 2,
            }
            drawn.append(self.ax_.scatter(*rows[labels == label].T, **{**look, **keywords}))
        return drawn
