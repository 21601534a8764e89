"""The memories themselves."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from amclust._colours import DIVERGING
from amclust._docs import documented
from amclust._estimator import ClAM
from amclust._fitted import column_names, fitted_clam
from amclust._geometry import Geometry
from amclust._network import Network
from amclust.plotting._base import (
    DISPLAYS,
    MAX_NAME_LENGTH,
    Constraints,
    Display,
    Keywords,
    count_along,
    options,
    plain_texts,
    slant,
)

# So many names of features fit below an axis, and so many lines into a legend.
MAX_NAMES, MAX_LINES = 30, 40
# A departure that cannot be told from none, in units of the scaled columns.
NEGLIGIBLE = 1e-6


@documented(DISPLAYS)
class MemoriesDisplay(Display):
    """Memories, as images in signed colours or as profiles over the features.

    With `epochs`, how they came to be: a column for each of the recorded epochs. Of a cluster that
    is an assembly of memories (`n_memories`), their mean is drawn, its centre.

    {made_from_estimator}

    Parameters
    ----------
    memories : ndarray of shape (n_clusters, n_features) or (n_epochs, n_clusters, n_features)
        The values to draw.

    image_shape : tuple of two int, default=None
        Height and width of the image that a memory is; None: profiles.

    epochs : sequence of int, default=None
        Epochs of the memories, where they have three dimensions.

    clusters : sequence of int, default=None
        Numbers of the memories; None: from 0.

    titles : list of str, default=None
        Names of the memories; None: their numbers.

    feature_names : list of str, default=None
        Names of the features; None: their numbers.

    value_name : str, default="value"
        What the values are.

    Attributes
    ----------
    {ax_}
    panels_ : list of matplotlib Axes
        The axes of the profiles, one for each epoch (without epochs, `ax_`); none for images.

    {figure_}
    images_ : list of matplotlib AxesImage
        The images, those of the first memory first; none for profiles.

    colorbar_ : matplotlib Colorbar or None
        What the colours of images mean.

    lines_ : list of matplotlib Line2D
        The profiles, those of the first epoch first; none for images.

    legend_ : matplotlib Legend or None
        Which line is which memory.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from amclust import ClAM
    >>> from amclust.plotting import MemoriesDisplay
    >>> X = load_digits().data
    >>> model = ClAM(10, scale=None, n_init=2, random_state=0).fit(X)
    >>> display = MemoriesDisplay.from_estimator(model, image_shape=(8, 8))
    >>> len(display.images_)
    10
    """

    _constraints: ClassVar[Constraints] = {
        "centre": [StrOptions({"mean", "zero"})],
        "units": [StrOptions({"auto", "scaled", "table"})],
        "epochs": [None, "boolean", "array-like"],
        "clusters": [None, "array-like"],
        "n_columns": [Interval(Integral, 1, None, closed="left"), None],
        "colorbar": ["boolean"],
        "legend": ["boolean"],
    }

    def __init__(
        self,
        *,
        memories: NDArray[Any],
        image_shape: tuple[int, int] | None = None,
        epochs: Any = None,
        clusters: Sequence[int] | None = None,
        titles: list[str] | None = None,
        feature_names: list[str] | None = None,
        value_name: str = "value",
    ) -> None:
        self.memories = memories
        self.image_shape = image_shape
        self.epochs = epochs
        self.clusters = range(memories.shape[-2]) if clusters is None else clusters
        self.titles = [str(m) for m in self.clusters] if titles is None else titles
        self.feature_names = feature_names
        self.value_name = value_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        image_shape: tuple[int, int] | None = None,
        epochs: Any = None,
        clusters: Any = None,
        centre: str = "mean",
        units: str = "auto",
        titles: list[str] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> MemoriesDisplay:
        """Draw the memories of a fitted model.

        Parameters
        ----------
        {estimator}
        image_shape : tuple of two int, default=None
            Height and width of the image that a memory is; None: profiles.

        epochs : bool or array-like of int, default=None
            Epochs to draw, of those that ``ClAM(record_epochs=...)`` recorded; True: all of them.
            None and False: the memories after training. An assembly is in all epochs made of the
            memories that it has in the end.

        clusters : array-like of int, default=None
            Clusters to draw, in this order; None: all.

        centre : {"mean", "zero"}, default="mean"
            Whether to draw how memories depart from the mean of the rows they were fitted to, or
            their values. ``metric="cosine"`` has no mean: there both are the same.

        units : {"auto", "scaled", "table"}, default="auto"
            Whether values are in units of the scaled columns, which features share, or in original
            units ("table"). "auto" is "table" for images and "scaled" for profiles.

        titles : list of str, default=None
            Names of the memories; None: their numbers.

        {ax}
        {kwargs}

        {returns}
        """
        cls._check("from_estimator", epochs=epochs, clusters=clusters, centre=centre, units=units)
        model = fitted_clam(estimator)
        network, geometry = model.network_, model.network_.geometry
        memories, epochs = _recorded_memories(model, epochs)
        which = _chosen_clusters(clusters, memories.shape[-2])
        memories = np.asarray(memories[..., which, :], dtype=np.float64)
        image_shape = _check_image_shape(image_shape, network.n_features)
        factors = geometry.column_scale
        scaled = units == "scaled" or (units == "auto" and image_shape is None)
        if centre == "mean":
            memories = _departures(geometry, memories)
        if scaled:
            memories = memories * factors
        if titles is not None and len(titles) != len(which):
            msg = f"titles must have {len(which)} names, one for each memory, got {len(titles)}."
            raise ValueError(msg)
        if geometry.spherical:
            value_name = "direction"
        else:
            value_name = "departure from the mean" if centre == "mean" else "value"
            value_name += " (scaled)" if scaled and (factors != 1).any() else ""
        display = cls(
            memories=memories,
            image_shape=image_shape,
            epochs=epochs,
            clusters=which,
            titles=titles,
            feature_names=column_names(network),
            value_name=value_name,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        n_columns: int | None = None,
        colorbar: bool = True,
        legend: bool = True,
        **kwargs: Any,
    ) -> MemoriesDisplay:
        """Draw the memories.

        Parameters
        ----------
        {ax}
        n_columns : int, default=None
            Images beside each other; None: about as many as below each other. With epochs, there
            is a column for each of them.

        colorbar : bool, default=True
            Whether to say what the colours of images mean.

        legend : bool, default=True
            Whether to say which profile is which memory.

        **kwargs : dict
            Keywords for the images (`imshow`) or for the profiles (`plot`).

        {returns}
        """
        self._check("plot", n_columns=n_columns, colorbar=colorbar, legend=legend)
        self.panels_: list[Any] = []
        self.images_: list[Any] = []
        self.lines_: list[Any] = []
        self.colorbar_ = self.legend_ = None
        if self.image_shape is None:
            self._draw_profiles(ax, legend, kwargs)
        else:
            self._draw_images(ax, self.image_shape, n_columns, colorbar, kwargs)
        return self

    # --- images ---------------------------------------------------------------------------------

    def _draw_images(
        self,
        ax: Any,
        shape: tuple[int, int],
        n_columns: int | None,
        colorbar: bool,
        keywords: Keywords,
    ) -> None:
        evolving = self.memories.ndim == 3
        tiles = self.memories.swapaxes(0, 1) if evolving else self.memories
        columns = tiles.shape[1] if evolving else (n_columns or _tidy_columns(len(tiles)))
        tiles = tiles.reshape(-1, *shape)
        rows = -(-len(tiles) // columns)
        # A tile is one unit wide; names stand between the tiles, or beside all of them.
        height = shape[0] / shape[1]
        apart = 1.08, height + (0.08 if evolving else 0.25)
        extent = columns * apart[0], rows * apart[1]
        self._take_axes(ax, size=_figure_size(*extent))
        from matplotlib.patches import Rectangle

        largest = float(np.abs(tiles).max()) or 1.0
        look = {"cmap": DIVERGING, "vmin": -largest, "vmax": largest, "interpolation": "nearest"}
        size = float(np.clip(60 / columns, 5, 9))
        # As many characters as stand above a tile.
        longest = int(np.clip(700 / (size * columns), 6, MAX_NAME_LENGTH))
        names = plain_texts(self.titles, longest)
        for number, tile in enumerate(tiles):
            row, column = divmod(number, columns)
            left, top = column * apart[0], -row * apart[1]
            place = (left, left + 1, top - height, top)
            self.images_.append(self.ax_.imshow(tile, extent=place, **{**look, **keywords}))
            frame = Rectangle((left, top - height), 1, height, fill=False, ec="0.6", lw=0.5)
            self.ax_.add_patch(frame)
            if not evolving:
                title = {"ha": "center", "va": "bottom", "fontsize": size}
                self.ax_.text(left + 0.5, top, names[number], **title)
        self.ax_.set(xlim=(-0.04, extent[0]), ylim=(0.04 - extent[1], 0.04 if evolving else 0.25))
        self.ax_.set_aspect("equal")
        self.ax_.spines[:].set_visible(False)
        if evolving:
            self._name_tiles(rows, columns, height, apart)
        else:
            self.ax_.set_axis_off()
        if colorbar:
            self.colorbar_ = self.figure_.colorbar(
                self.images_[0], ax=self.ax_, label=self.value_name, shrink=0.8
            )

    def _name_tiles(
        self, rows: int, columns: int, height: float, apart: tuple[float, float]
    ) -> None:
        self.ax_.set_xticks(np.arange(columns) * apart[0] + 0.5, [str(e) for e in self.epochs])
        self.ax_.set_yticks(-np.arange(rows) * apart[1] - height / 2, plain_texts(self.titles))
        self.ax_.xaxis.tick_top()
        self.ax_.xaxis.set_label_position("top")
        self.ax_.tick_params(length=0)
        self.ax_.set_xlabel("epoch")
        self.ax_.set_ylabel("cluster")

    # --- profiles -------------------------------------------------------------------------------

    def _draw_profiles(self, ax: Any, legend: bool, keywords: Keywords) -> None:
        evolving = self.memories.ndim == 3
        frames = self.memories if evolving else self.memories[None]
        n = len(frames)
        size = (max(6.4, 1.4 + 1.7 * n), 4.8) if evolving else (6.4, 4.8)
        self._take_axes(ax, size=size)
        self.panels_ = [self.ax_]
        if evolving:
            self.ax_.set_axis_off()
            width = 1 / n
            self.panels_ = [self.ax_.inset_axes((i * width, 0, 0.94 * width, 1)) for i in range(n)]
        styles = self._styles(max(self.clusters) + 1)
        styles = [styles[m] for m in self.clusters]
        features, names = np.arange(frames.shape[2]), plain_texts(self.titles)
        for panel, memories in zip(self.panels_, frames, strict=True):
            panel.axhline(0, color="0.6", linewidth=0.8, zorder=1)
            for style, memory, name in zip(styles, memories, names, strict=True):
                marker = style.marker if len(features) <= MAX_NAMES else ""
                look = {"color": style.colour, "marker": marker, "markersize": 4, "linewidth": 1.4}
                (line,) = panel.plot(features, memory, **options(keywords, label=name, **look))
                self.lines_.append(line)
        low, high = float(min(frames.min(), 0)), float(max(frames.max(), 0))
        if low == high:
            low, high = -1.0, 1.0
        room = 0.05 * (high - low)
        for place, panel in enumerate(self.panels_):
            panel.set_ylim(low - room, high + room)
            if evolving:
                panel.set_title(f"epoch {self.epochs[place]}", fontsize=10)
                panel.tick_params(labelleft=place == 0)
            self._name_features(panel, features)
        self.panels_[0].set_ylabel(self.value_name)
        if legend and 1 < len(styles) <= MAX_LINES:
            lines = self.lines_[: len(styles)]
            self.legend_ = self._legend_beside(lines, per_column=20, title="cluster")

    def _name_features(self, panel: Any, features: NDArray[np.int64]) -> None:
        if self.feature_names is None or len(features) > MAX_NAMES:
            panel.set_xlabel("feature")
            count_along(panel.xaxis)
            return
        names = plain_texts(self.feature_names)
        crowded = sum(map(len, names)) * len(self.panels_) > 50
        panel.set_xticks(features, names)
        if crowded and len(self.panels_) > 1:
            panel.tick_params(axis="x", labelrotation=90)
        elif crowded:
            slant(panel.get_xticklabels())


def _tidy_columns(k: int) -> int:
    """Return a number of columns that leaves few places empty, in a grid about as wide as high."""
    least = int(np.ceil(np.sqrt(k)))
    return min(range(least, min(2 * least, k) + 1), key=lambda columns: -k % columns)


def _figure_size(width: float, height: float) -> tuple[float, float]:
    """Return inches for tiles: as wide as a notebook, unless they get too high."""
    scale = min(5.6 / width, max(4.4, 0.55 * height) / height, 1.5)
    return max(scale * width + 1.0, 3.0), max(scale * height + 0.4, 1.6)


def _recorded_memories(model: ClAM, epochs: Any) -> tuple[NDArray[Any], Any]:
    """Return a memory for each cluster, and the epochs they are of where these are wanted."""
    if epochs is None or epochs is False:
        return np.asarray(model.cluster_centers_), None
    if not hasattr(model, "recorded_memories_"):
        msg = (
            "epochs needs memories that were recorded during training: fit "
            "ClAM(record_epochs=[0, 1, 2, 5, 10, ...])."
        )
        raise ValueError(msg)
    recorded = model.recorded_epochs_
    wanted = np.asarray(recorded if epochs is True else epochs)
    missing = np.setdiff1d(wanted, recorded)
    if epochs is not True and (wanted.ndim != 1 or not len(wanted) or len(missing)):
        msg = (
            f"epochs must be some of the recorded ones, which are {recorded.tolist()}, got "
            f"{wanted.tolist()}."
        )
        raise ValueError(msg)
    memories = model.recorded_memories_[np.searchsorted(recorded, wanted)]
    return _cluster_centers(model.network_, memories), list(wanted.tolist())


def _cluster_centers(network: Network, memories: NDArray[Any]) -> NDArray[Any]:
    """Return the centres of the clusters of a network, had it these memories, for each epoch."""
    if network.n_memories == network.n_clusters:
        return memories
    found = [
        dataclasses.replace(
            network, memories=network.geometry.to_core_exactly(one).astype(np.float32)
        ).cluster_centers
        for one in memories
    ]
    return np.array(found).reshape(len(memories), network.n_clusters, network.n_features)


def _chosen_clusters(clusters: Any, k: int) -> list[int]:
    """Return the numbers of the memories to draw."""
    if clusters is None:
        return list(range(k))
    which = np.asarray(clusters)
    allowed = which.ndim == 1 and which.size and which.dtype.kind in "iu"
    if not allowed or which.min() < 0 or which.max() >= k:
        msg = f"clusters must be integers from 0 to {k - 1}, got {clusters!r}."
        raise ValueError(msg)
    return [int(m) for m in which]


def _check_image_shape(image_shape: Any, d: int) -> tuple[int, int] | None:
    """Return height and width of images of d pixels."""
    if image_shape is None:
        return None
    try:
        height, width = (int(length) for length in image_shape)
    except (TypeError, ValueError):
        height, width = 0, 0
    if height < 1 or height * width != d:
        msg = f"image_shape must be (height, width) of {d} pixels in all, got {image_shape!r}."
        raise ValueError(msg)
    return height, width


def _departures(geometry: Geometry, memories: NDArray[Any]) -> NDArray[Any]:
    """Return how memories depart from the mean of the rows, without what is rounding only."""
    mean, factors = geometry.center, geometry.column_scale
    departing = memories - mean
    rounding = NEGLIGIBLE + 4 * np.finfo(geometry.dtype).eps * np.abs(mean * factors)
    return np.where(np.abs(departing * factors) > rounding, departing, 0.0)
