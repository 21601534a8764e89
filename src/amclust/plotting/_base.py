"""What the displays share: words of their docstrings, checks of arguments, axes, marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    validate_parameter_constraints,
)

from amclust._docs import ROWS, entries
from amclust._plane import UNIT_LENGTH, Plane

# Keywords for artists of matplotlib.
Keywords = Mapping[str, Any]
Constraints = dict[str, list[Any]]

# Numbers of so many memories can be read beside each other.
MAX_NUMBERS = 60

# Longer names leave no room for what they name.
LONGEST_NAME = 28

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
    **ROWS,
    **entries("""
        estimator : ClAM or ClAMSearch
            A fitted estimator.

        ax : matplotlib Axes, default=None
            Axes to draw on; None: new ones.

        **kwargs : dict
            Keywords of `plot`.

        display : {class}
            The display, with its artists as attributes.

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
        Columns that span the plane, by number or name. None: both columns of a table with two,
        otherwise the first two principal components of the rows.

    through : array-like of shape (n_features,), default=None
        A row that the plane goes through; None: the mean of `X`.

    margin : float, default=0.1
        Room around rows and memories, as a part of their extent.

    xs, ys : ndarrays of shape (n_columns,) and (n_rows,)
        Coordinates of a grid on a plane.

    axis_names : tuple of two str, default=("", "")
        What the axes of the plane are.

    memories_ : matplotlib PathCollection
        The dots of the memories.

    numbers_ : list of matplotlib Text
        The numbers in them.
""")


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


def check_call(
    display: type, method: str, constraints: Constraints | None = None, **values: Any
) -> None:
    """Refuse a call without matplotlib, or with arguments outside of their domain."""
    caller = f"{display.__name__}.{method}"
    pyplot(caller)
    used = {name: (constraints or {})[name] for name in values}
    validate_parameter_constraints(used, values, caller)


def axes_to_draw_on(
    display: Any, ax: Any, *, size: tuple[float, float] = (6.4, 4.8), projection: str | None = None
) -> tuple[Any, Any]:
    """Return figure and axes: new ones, or those given."""
    name = f"{type(display).__name__}.plot"
    plt = pyplot(name)
    from matplotlib.axes import Axes

    if ax is None:
        figure = plt.figure(figsize=size, layout="constrained")
        return figure, figure.add_subplot(projection=projection)
    if not isinstance(ax, Axes):
        msg = f"The 'ax' parameter of {name} must be matplotlib axes or None, got {ax!r}."
        raise InvalidParameterError(msg)
    return ax.figure, ax


def usual_resolution(plane: Plane, most: int) -> int:
    """Return how fine a grid is that can be asked about in a moment."""
    return int(np.clip(np.sqrt(GRID_CELLS / len(plane.origin)), 60, most))


def is_dark(ax: Any) -> bool:
    """Whether axes have a dark background; without a colour, the figure's counts, then white."""
    from matplotlib.colors import to_rgba

    colours = [to_rgba(part.get_facecolor()) for part in (ax, ax.figure)]
    none = to_rgba("none")
    red, green, blue, _ = next((c for c in colours if c != none), to_rgba("white"))
    return 0.3 * red + 0.6 * green + 0.1 * blue < 0.4


def ink(ax: Any) -> str:
    """Return the colour of lines that have to be seen on axes, whatever these show."""
    return "white" if is_dark(ax) else "black"


def options(keywords: Keywords | None, **defaults: object) -> dict[str, object]:
    """Return keywords for an artist: the user's before ours, under any of their names."""
    from matplotlib import cbook
    from matplotlib.lines import Line2D

    return {**defaults, **cbook.normalize_kwargs(dict(keywords or {}), Line2D)}


def mark_memories(
    ax: Any, points: NDArray[Any], keywords: Keywords | None
) -> tuple[Any, list[Any]]:
    """Draw memories as dots with their number in them."""
    readable = len(points) <= MAX_NUMBERS
    size = 110 if readable else 20
    style: dict[str, object] = {"s": size, "c": "white", "edgecolors": "black", "linewidths": 1.0}
    if points.shape[1] == 3:
        style["depthshade"] = False
    dots = ax.scatter(*points.T, **{**style, "zorder": 4, **(keywords or {})})
    texts = []
    if readable:
        texts = [
            ax.text(
                *point,
                str(number),
                ha="center",
                va="center_baseline" if len(point) == 2 else "center",
                fontsize=7,
                color="black",
                zorder=5,
                clip_on=True,
            )
            for number, point in enumerate(points)
        ]
    return dots, texts


def plain_texts(names: Iterable[Any], longest: int = LONGEST_NAME) -> list[str]:
    """Return names of the user's as texts to draw: short, on one line, without mathematics.

    Names that are equal then are numbered.
    """
    texts = [_shortened(" ".join(str(name).split()), longest) for name in names]
    often, seen = Counter(texts), Counter[str]()
    for place, text in enumerate(texts):
        if often[text] > 1 and text:
            seen[text] += 1
            texts[place] = f"{text} ({seen[text]})"
    # A pair of dollars would be taken for a formula.
    return [text.replace("$", r"\$") for text in texts]


def _shortened(text: str, longest: int) -> str:
    """Leave out the middle: names often differ at their ends."""
    if len(text) <= longest:
        return text
    end = longest // 2 - 1
    return f"{text[: longest - end - 1]}…{text[len(text) - end :]}"


def name_axes(ax: Any, names: tuple[str, str]) -> None:
    """Label the axes of a plane; one without a name has nothing to read off."""
    units = UNIT_LENGTH if names[0].endswith(UNIT_LENGTH) else ""
    x, y = plain_texts(name.removesuffix(units) for name in names)
    ax.set_xlabel(x + units)
    ax.set_ylabel(y + units if y else "")
    if not names[1]:
        ax.set_yticks([])


def frame_grid(ax: Any, xs: NDArray[Any], ys: NDArray[Any], names: tuple[str, str]) -> None:
    """Let axes of a plane end where its grid does, and label them."""
    ax.set_xlim(xs[0], xs[-1])
    ax.set_ylim(ys[0], ys[-1])
    name_axes(ax, names)


def slant(texts: Iterable[Any]) -> None:
    """Turn long names below an axis, so that they do not meet."""
    for text in texts:
        text.set(rotation=40, ha="right", rotation_mode="anchor")


def draw_mean(ax: Any, mean: float, keywords: Keywords | None) -> Any:
    """Draw a dashed line at the mean."""
    look = {"color": ink(ax), "linestyle": "--", "linewidth": 1.2, "label": f"mean {mean:.3f}"}
    return ax.axvline(mean, **{**look, **(keywords or {})})


def legend_beside(ax: Any, marks: list[Any], *, per_column: int, title: str | None = None) -> Any:
    """Draw a legend to the right of axes."""
    return ax.legend(
        handles=marks,
        title=title,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        fontsize=8 if len(marks) > 12 else 9,
        ncols=1 + (len(marks) - 1) // per_column,
    )


def count_along(axis: Any) -> None:
    """Put the ticks of an axis at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator("auto", integer=True))


def spans_decades(values: Any) -> bool:
    """Whether a logarithmic axis shows values better."""
    values = np.asarray(values, dtype=float)
    return bool(len(values) and values.min() > 0 and values.max() >= 30 * values.min())
