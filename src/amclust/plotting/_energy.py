"""The energy landscape."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions

from amclust._colours import SEQUENTIAL
from amclust._docs import documented
from amclust._plane import Plane
from amclust.plotting._base import (
    PLANE_CONSTRAINTS,
    PLANES,
    Constraints,
    Display,
    Keywords,
    usual_resolution,
)

MAX_TICKS = 8  # beside the colour bar
# What it says where some energies are infinite.
CLIPPED = "energy (at the top also: infinite)"


@documented(PLANES)
@dataclass(kw_only=True, eq=False, repr=False)
class EnergyDisplay(Display):
    """The energy landscape, as contours or as a surface: every memory sits in a hollow.

    Energies that are infinite, out of reach of all memories, are drawn as high as the highest that
    is not; the colour bar, or the axis of a surface, says so.

    {made_from_estimator}

    Parameters
    ----------
    {xs}
    energy : ndarray of shape (n_rows, n_columns)
        Energy of the points of the grid.

    memories : ndarray of shape (n_memories, 3)
        The memories: two coordinates on the plane, and the energy there.

    {axis_names}
    {memory_labels}

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the picture; of three dimensions for a surface.

    {figure_}
    energy_ : matplotlib QuadContourSet or Poly3DCollection
        The filled contours, or the surface.

    lines_ : matplotlib QuadContourSet or None
        The lines between the contours.

    colorbar_ : matplotlib Colorbar or None
        What the colours mean.

    {memories_}
    {numbers_}

    See Also
    --------
    BasinsDisplay : What falls to which memory.
    TrajectoryDisplay : Paths down this landscape.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from amclust import ClAM
    >>> from amclust.plotting import EnergyDisplay
    >>> X = load_iris().data
    >>> model = ClAM(3, random_state=0).fit(X)
    >>> display = EnergyDisplay.from_estimator(model, X, kind="surface")
    """

    _constraints: ClassVar[Constraints] = {
        **PLANE_CONSTRAINTS,
        "kind": [StrOptions({"contour", "surface"})],
        "levels": [Interval(Integral, 2, 1000, closed="both")],
    }
    xs: NDArray[Any]
    ys: NDArray[Any]
    energy: NDArray[Any]
    memories: NDArray[Any]
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
    ) -> EnergyDisplay:
        """Draw the energy of a fitted model on a plane.

        Parameters
        ----------
        {estimator}
        {X}
        {features}
        {through}
        resolution : int, default=None
            Points of the grid in each direction; None: 150, or fewer for a table with many columns.

        {margin}
        {ax}
        {kwargs}

        {returns}
        """
        cls._check("from_estimator", resolution=resolution, margin=margin)
        plane = Plane.from_estimator(estimator, X, features, through=through)
        energy = plane.network.energy
        xs, ys = plane.ranges(resolution or usual_resolution(plane, 150), margin)
        heights = [plane.ask(energy, point[:1], point[1:]).item() for point in plane.memories]
        display = cls(
            xs=xs,
            ys=ys,
            energy=plane.ask(energy, xs, ys),
            memories=np.column_stack([plane.memories, heights]),
            axis_names=plane.labels,
            memory_labels=plane.network.assembly,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "contour",
        levels: int = 15,
        memories_kw: Keywords | None = None,
        **kwargs: Any,
    ) -> EnergyDisplay:
        """Draw the energy.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: new ones. For a surface they have ``projection="3d"``.

        kind : {"contour", "surface"}, default="contour"
            Seen from above, or from the side.

        levels : int, default=15
            Number of contours. They lie closer to each other where the energy is low.

        memories_kw : dict, default=None
            Keywords for the dots of the memories (`scatter`).

        **kwargs : dict
            Keywords for `contourf` or `plot_surface`.

        {returns}
        """
        self._check("plot", kind=kind, levels=levels)
        surface = kind == "surface"
        self._take_axes(ax, projection="3d" if surface else None)
        if surface and not hasattr(self.ax_, "plot_surface"):
            msg = "kind='surface' needs an 'ax' with projection='3d', got flat axes."
            raise InvalidParameterError(msg)
        from matplotlib.colors import PowerNorm

        finite = self.energy[np.isfinite(self.energy)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
        energy, tops = np.minimum(self.energy, high), np.minimum(self.memories[:, 2], high)
        self._name = "energy" if finite.size == self.energy.size else CLIPPED
        high = high if high > low else low + 1.0
        colours = {"cmap": SEQUENTIAL, "norm": PowerNorm(0.5, low, high)}
        if surface:
            self._draw_surface(energy, {**colours, **kwargs})
            marks = np.column_stack([self.memories[:, :2], tops])
        else:
            heights = low + (high - low) * np.linspace(0, 1, levels + 1) ** 2
            self._draw_contours(energy, {**colours, "levels": heights, **kwargs})
            marks = self.memories[:, :2]
        self._mark_memories(marks, memories_kw, self.memory_labels)
        self._frame_grid(self.xs, self.ys, self.axis_names)
        return self

    def _draw_contours(self, energy: NDArray[Any], keywords: Keywords) -> None:
        self.energy_ = self.ax_.contourf(self.xs, self.ys, energy, **keywords)
        self.lines_ = self.ax_.contour(
            self.energy_, colors="black", linewidths=0.4, linestyles="solid", alpha=0.6
        )
        ticks = _round_ticks(self.energy_.levels)
        self.colorbar_ = self.figure_.colorbar(self.energy_, ax=self.ax_, label=self._name)
        names = [f"{tick:.12g}".replace("-", "\N{MINUS SIGN}") for tick in ticks]
        self.colorbar_.set_ticks(ticks, labels=names)
        self.colorbar_.ax.minorticks_off()

    def _draw_surface(self, energy: NDArray[Any], keywords: Keywords) -> None:
        xs, ys = np.meshgrid(self.xs, self.ys)
        fine = {"rcount": 60, "ccount": 60, "linewidth": 0.1, "edgecolor": "black", "alpha": 0.9}
        self.energy_ = self.ax_.plot_surface(xs, ys, energy, **{**fine, **keywords})
        self.lines_ = self.colorbar_ = None
        # Dots lie on the surface, never below it.
        self.ax_.computed_zorder = False
        self.ax_.set_zlabel(self._name)
        self.ax_.view_init(elev=45, azim=-60)
        # The names of the axes need room.
        self.ax_.set_box_aspect((4, 4, 3), zoom=0.85)
        self.ax_.xaxis.labelpad = self.ax_.yaxis.labelpad = 10


def _round_ticks(levels: NDArray[Any]) -> list[float]:
    """Return round values near some of the levels, which a colour bar draws evenly."""
    low, high = float(levels[0]), float(levels[-1])
    places = np.linspace(0, len(levels) - 1, min(MAX_TICKS, len(levels)))
    near = np.interp(places, np.arange(len(levels)), levels)
    gaps = np.diff(near)
    # As coarse as still tells a value from the nearer one of its neighbours.
    gaps = np.minimum(np.r_[gaps[0], gaps], np.r_[gaps, gaps[-1]])
    digits = -np.floor(np.log10(gaps)).astype(int)
    digits[[0, -1]] += 1
    ticks = [round(float(value), int(digit)) for value, digit in zip(near, digits, strict=True)]
    # The ends have to lie inside.
    ticks[0] = float(np.ceil(low * 10.0 ** digits[0]) / 10.0 ** digits[0])
    ticks[-1] = float(np.floor(high * 10.0 ** digits[-1]) / 10.0 ** digits[-1])
    return sorted({tick for tick in ticks if low <= tick <= high})
