"""What the displays share: words of their docstrings, checks of arguments, axes, marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    validate_parameter_constraints,
)

from amclust._colours import Style, cluster_colours, cluster_styles
from amclust._docs import ROWS, entries
from amclust._plane import UNIT_LENGTH, Plane

# Keywords for artists of matplotlib.
Keywords = Mapping[str, Any]
Constraints = dict[str, list[Any]]

# Numbers of so many memories can be read beside each other.
MAX_NUMBERS = 60

# Characters of a name; longer ones leave no room for what they name.
MAX_NAME_LENGTH = 28

# Cells of the table that is made of a grid.
GRID_CELLS = 2**25

# What the displays of a plane have in common.
PLANE_CONSTRAINTS: Constraints = {
    "resolution": [Interval(Integral, 2, 4000, closed="both"), None],
    "margin": [Interval(Real, 0, None, closed="left")],
}

# For `documented`: entries that several displays share, and those of the displays of a plane.
DISPLAYS = {
    "made_from_estimator": """\
It is recommended to use `from_estimator` to make one. All parameters are stored as attributes.""",
    "made_from_either": """\
It is recommended to use `from_estimator` or `from_predictions` to make one. All parameters are
stored as attributes.""",
    "returns": """\
Returns
-------
display : {class}
    The display, with its artists as attributes.""",
    **ROWS,
    **entries("""
        estimator : ClAM or ClAMSearch
            A fitted estimator.

        ax : matplotlib Axes, default=None
            Axes to draw on; None: new ones.

        **kwargs : dict
            Keywords of `plot`.

        ax_ : matplotlib Axes
            Axes with the picture.

        figure_ : matplotlib Figure
            Figure they are in.
    """),
}
PLANES = DISPLAYS | entries("""
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, which the plane is chosen for; NaN where a value is missing.

    features : pair of int or str, default=None
        Columns that span the plane, by number or name. None: both columns where there are two,
        otherwise the first two principal components of the rows.

    through : array-like of shape (n_features,), default=None
        A row that the plane goes through; None: the mean of `X`.

    margin : float, default=0.1
        Room around rows and memories, as a part of their extent.

    xs, ys : ndarrays of shape (n_columns,) and (n_rows,)
        Coordinates of a grid on a plane.

    axis_names : tuple of two str, default=("", "")
        What the axes of the plane are.

    memory_labels : ndarray of shape (n_memories,), default=None
        The cluster of each memory; None: each is one of its own.

    memories_ : matplotlib PathCollection
        The dots of the memories.

    numbers_ : list of matplotlib Text
        The numbers of their clusters in them.
""")


class Display:
    """What displays have in common: checks of their calls, axes, looks, marks and legends."""

    _constraints: ClassVar[Constraints] = {}
    figure_: Any
    ax_: Any
    memories_: Any
    numbers_: list[Any]

    @classmethod
    def _check(cls, method: str, **arguments: Any) -> None:
        """Refuse a call without matplotlib, or with arguments outside of their domain."""
        caller = f"{cls.__name__}.{method}"
        pyplot(caller)
        used = {name: cls._constraints[name] for name in arguments}
        validate_parameter_constraints(used, arguments, caller)

    def _take_axes(
        self, ax: Any, *, size: tuple[float, float] = (6.4, 4.8), projection: str | None = None
    ) -> None:
        """Draw on new axes, or on those given."""
        caller = f"{type(self).__name__}.plot"
        plt = pyplot(caller)
        from matplotlib.axes import Axes

        if ax is None:
            ax = plt.figure(figsize=size, layout="constrained").add_subplot(projection=projection)
        if not isinstance(ax, Axes):
            msg = f"The 'ax' parameter of {caller} must be matplotlib axes or None, got {ax!r}."
            raise InvalidParameterError(msg)
        self.figure_, self.ax_ = ax.figure, ax

    def _styles(self, n_clusters: int) -> list[Style]:
        return cluster_styles(n_clusters, dark=is_dark(self.ax_))

    def _colours(self, n_clusters: int) -> list[str]:
        return cluster_colours(n_clusters, dark=is_dark(self.ax_))

    @property
    def _ink(self) -> str:
        """The colour of lines that have to be seen, whatever the axes show."""
        return "white" if is_dark(self.ax_) else "black"

    def _mark_memories(
        self,
        points: NDArray[Any],
        keywords: Keywords | None,
        clusters: NDArray[Any] | None = None,
    ) -> None:
        """Draw memories as dots with the number of their cluster in them."""
        readable = len(points) <= MAX_NUMBERS
        numbers = np.arange(len(points)) if clusters is None else clusters
        look: dict[str, object] = {
            "s": 110 if readable else 20,
            "c": "white",
            "edgecolors": "black",
            "linewidths": 1.0,
            "zorder": 4,
        }
        if points.shape[1] == 3:
            look["depthshade"] = False
        self.memories_ = self.ax_.scatter(*points.T, **{**look, **(keywords or {})})
        self.numbers_ = [
            self.ax_.text(
                *point,
                str(number),
                ha="center",
                va="center_baseline" if len(point) == 2 else "center",
                fontsize=7,
                color="black",
                zorder=5,
                clip_on=True,
            )
            for number, point in (zip(numbers, points, strict=True) if readable else ())
        ]

    def _frame_grid(self, xs: NDArray[Any], ys: NDArray[Any], names: tuple[str, str]) -> None:
        """Let the axes of a plane end where its grid does, and label them."""
        self.ax_.set_xlim(xs[0], xs[-1])
        self.ax_.set_ylim(ys[0], ys[-1])
        name_axes(self.ax_, names)

    def _draw_mean(self, mean: float, keywords: Keywords | None) -> Any:
        look = {"color": self._ink, "linestyle": "--", "linewidth": 1.2}
        look["label"] = f"mean {mean:.3f}"
        return self.ax_.axvline(mean, **{**look, **(keywords or {})})

    def _legend_above(self, marks: list[Any]) -> Any:
        """Draw a legend above the axes; None where there is nothing to explain."""
        if not marks:
            return None
        return self.ax_.legend(
            handles=marks,
            ncols=len(marks),
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0),
            frameon=False,
            borderaxespad=0.2,
        )

    def _legend_beside(self, marks: list[Any], *, per_column: int, title: str | None = None) -> Any:
        """Draw a legend to the right of the axes."""
        return self.ax_.legend(
            handles=marks,
            title=title,
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
            frameon=False,
            fontsize=8 if len(marks) > 12 else 9,
            ncols=1 + (len(marks) - 1) // per_column,
        )


def pyplot(caller: str) -> Any:
    """Return matplotlib.pyplot, or say how to get it."""
    try:
        from matplotlib import pyplot as plt
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        msg = f'{caller} needs matplotlib: pip install "amclust[plot]"'
        raise ModuleNotFoundError(msg, name="matplotlib") from error
    return plt


def usual_resolution(plane: Plane, maximum: int) -> int:
    """Return how fine a grid is that can be asked about in a moment."""
    return int(np.clip(np.sqrt(GRID_CELLS / len(plane.origin)), 60, maximum))


def is_dark(ax: Any) -> bool:
    """Whether axes have a dark background; without a colour, the figure's counts, then white."""
    from matplotlib.colors import to_rgba

    colours = [to_rgba(part.get_facecolor()) for part in (ax, ax.figure)]
    none = to_rgba("none")
    red, green, blue, _ = next((c for c in colours if c != none), to_rgba("white"))
    return 0.3 * red + 0.6 * green + 0.1 * blue < 0.4


def options(keywords: Keywords | None, **defaults: object) -> dict[str, object]:
    """Return keywords for an artist: the user's before ours, under any of their names."""
    from matplotlib import cbook
    from matplotlib.lines import Line2D

    return {**defaults, **cbook.normalize_kwargs(dict(keywords or {}), Line2D)}


def plain_texts(names: Iterable[Any], max_length: int = MAX_NAME_LENGTH) -> list[str]:
    """Return names of the user's as texts to draw: short, on one line, without mathematics.

    Names that are equal then are numbered.
    """
    texts = [_shortened(" ".join(str(name).split()), max_length) for name in names]
    often, seen = Counter(texts), Counter[str]()
    for place, text in enumerate(texts):
        if often[text] > 1 and text:
            seen[text] += 1
            texts[place] = f"{text} ({seen[text]})"
    # A pair of dollars would be taken for a formula.
    return [text.replace("$", r"\$") for text in texts]


def _shortened(text: str, max_length: int) -> str:
    """Leave out the middle: names often differ at their ends."""
    if len(text) <= max_length:
        return text
    end = max_length // 2 - 1
    return f"{text[: max_length - end - 1]}…{text[len(text) - end :]}"


def name_axes(ax: Any, names: tuple[str, str]) -> None:
    """Label the axes of a plane; one without a name has nothing to read off."""
    units = UNIT_LENGTH if names[0].endswith(UNIT_LENGTH) else ""
    x, y = plain_texts(name.removesuffix(units) for name in names)
    ax.set_xlabel(x + units)
    ax.set_ylabel(y + units if y else "")
    if not names[1]:
        ax.set_yticks([])


def slant(texts: Iterable[Any]) -> None:
    """Turn long names below an axis, so that they do not meet."""
    for text in texts:
        text.set(rotation=40, ha="right", rotation_mode="anchor")


def count_along(axis: Any) -> None:
    """Put the ticks of an axis at integers."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator("auto", integer=True))


def spans_decades(values: Any) -> bool:
    """Whether a logarithmic axis shows values better."""
    values = np.asarray(values, dtype=float)
    return bool(len(values) and values.min() > 0 and values.max() >= 30 * values.min())
