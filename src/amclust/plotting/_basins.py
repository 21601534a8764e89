"""Basins of attraction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from amclust._colours import Style, cluster_styles
from amclust._fitted import fitted_clam
from amclust._plane import Plane
from amclust._voronoi import voronoi_segments
from amclust.plotting._base import (
    PLANE_CONSTRAINTS,
    Keywords,
    axes_to_draw_on,
    check,
    ink,
    is_dark,
    mark_memories,
    name_axes,
    pyplot,
    usual_resolution,
)
from amclust.plotting._labels import NOISE_COLOUR, is_noise, legend_above, noise_mark


class BasinsDisplay:
    """Basins of attraction, with the cells of the nearest memories dashed over them.

    Where the two differ, memories attract together: a row falls to another memory than the
    nearest one. Cells have straight borders in the metrics of the core ("euclidean", "cosine",
    "mahalanobis"); those of others are not drawn. What no memory reaches is noise, and grey.

    It is recommended to use `from_estimator` to make one. All parameters are stored as attributes.

    Parameters
    ----------
    xs, ys : ndarrays of shape (n_columns,) and (n_rows,)
        Coordinates of a grid on a plane.

    basins : ndarray of shape (n_rows, n_columns)
        Memory that each point of the grid falls to; -1 for noise.

    borders : ndarray of shape (n_borders, 2, 2)
        Lines on which the nearest memory changes: line, end, coordinate; none where they are not
        straight.

    memories : ndarray of shape (n_clusters, 2)
        The memories on the plane.

    rows : ndarray of shape (n_samples, 2), default=None
        Rows on the plane.

    labels : ndarray of shape (n_samples,), default=None
        Clusters of the rows; -1 for noise.

    axis_names : tuple of two str, default=("", "")
        What the axes of the plane are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the picture.

    figure_ : matplotlib Figure
        Figure they are in.

    basins_ : matplotlib AxesImage
        The coloured regions.

    hatches_ : list of matplotlib QuadContourSet
        What tells apart regions of the same colour: from the 21st on, a hatch for each twenty.

    borders_ : matplotlib LineCollection
        The dashed lines.

    memories_ : matplotlib PathCollection
        The dots of the memories.

    numbers_ : list of matplotlib Text
        The numbers in them.

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

    def __init__(
        self,
        *,
        xs: NDArray[Any],
        ys: NDArray[Any],
        basins: NDArray[Any],
        borders: NDArray[Any],
        memories: NDArray[Any],
        rows: NDArray[Any] | None = None,
        labels: NDArray[Any] | None = None,
        axis_names: tuple[str, str] = ("", ""),
    ) -> None:
        self.xs = xs
        self.ys = ys
        self.basins = basins
        self.borders = borders
        self.memories = memories
        self.rows = rows
        self.labels = labels
        self.axis_names = axis_names

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
        estimator : ClAM or ClAMSearch
            A fitted estimator.

        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, which the plane is chosen for; NaN where a value is missing.

        features : pair of int or str, default=None
            Columns that span the plane, by number or name. None: both columns of a table with two,
            otherwise the first two principal components of the rows.

        through : array-like of shape (n_features,), default=None
            A row that the plane goes through; None: the mean of `X`.

        resolution : int, default=None
            Points of the grid in each direction; None: 300, or fewer for a table with many columns.

        margin : float, default=0.1
            Room around rows and memories, as a part of their extent.

        ax : matplotlib Axes, default=None
            Axes to draw on; None: new ones.

        **kwargs : dict
            Keywords of `plot`.

        Returns
        -------
        display : BasinsDisplay
            What was drawn.
        """
        caller = f"{cls.__name__}.from_estimator"
        pyplot(caller)
        check(caller, PLANE_CONSTRAINTS, resolution=resolution, margin=margin)
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
        ax : matplotlib Axes, default=None
            Axes to draw on; None: new ones.

        show_rows : bool, default=True
            Whether to draw the rows.

        rows_kw, borders_kw, memories_kw : dict, default=None
            Keywords for the dots of the rows (`scatter`), for the dashed lines (`LineCollection`)
            and for the dots of the memories (`scatter`).

        **kwargs : dict
            Keywords for the coloured regions (`imshow`).

        Returns
        -------
        display : BasinsDisplay
            The same display, with its artists as attributes.
        """
        self.figure_, self.ax_ = axes_to_draw_on(self, ax)
        from matplotlib.collections import LineCollection
        from matplotlib.colors import ListedColormap

        styles = cluster_styles(len(self.memories), dark=is_dark(self.ax_))
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
            "colors": ink(self.ax_),
            "linestyles": "dashed",
            "linewidths": 1.0,
            "zorder": 3,
        }
        self.borders_ = LineCollection(list(self.borders), **{**lines, **(borders_kw or {})})
        self.ax_.add_collection(self.borders_, autolim=False)
        self.rows_ = []
        if show_rows and self.rows is not None:
            self.rows_ = self._scatter(self.rows, styles, rows_kw or {})
        self.memories_, self.numbers_ = mark_memories(
            self.ax_, self.memories, range(len(self.memories)), memories_kw
        )
        self.ax_.set_xlim(self.xs[0], self.xs[-1])
        self.ax_.set_ylim(self.ys[0], self.ys[-1])
        name_axes(self.ax_, self.axis_names)
        self.legend_ = self._explain(self.rows_)
        return self

    def _explain(self, drawn: list[Any]) -> Any:
        noise = int(is_noise(self.labels).sum()) if drawn and self.labels is not None else 0
        if noise or (self.basins < 0).any():
            return legend_above(self.ax_, [noise_mark(noise)])
        return None

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
