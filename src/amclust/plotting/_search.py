"""What a search found."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from amclust import _native
from amclust._colours import cluster_styles
from amclust._config import n_threads
from amclust._plane import completed
from amclust._training import EXACT_SILHOUETTE_ROWS, SAMPLED_SILHOUETTE_ROWS
from amclust.plotting._base import axes_to_draw_on, check, options, pyplot, spans_decades
from amclust.selection import ClAMSearch

CONSTRAINTS: dict[str, list[Any]] = {
    "x": [str, None],
    "group_by": [str, None],
    "restarts": [Interval(Integral, 1, None, closed="left"), None],
}
# Columns of a search's results that are not parameters.
OUTCOMES = (
    *("run", "config", "seed", "rung", "epochs", "loss", "silhouette", "living_clusters"),
    *("largest_share", "converged", "chosen"),
)
SYMBOLS = {"beta": "β", "n_steps": "T", "step_size": "α", "n_clusters": "k"}
# What is looked for, in this order, where the user does not say.
AXIS_ORDER = ("beta", "beta_factor", "learning_rate", "n_clusters", "n_steps")
GROUP_ORDER = ("n_steps", "n_clusters", "objective")


class SearchDisplay:
    """The best silhouette against a searched parameter, a line for each value of another one.

    Only runs whose clusters all live count; where the best collapsed run scores higher than those,
    or is all there is, a cross marks it. It is recommended to use `from_estimator` to make one.
    All parameters are stored as attributes.

    Parameters
    ----------
    curves : dict
        For each value of the parameter that makes the lines (None without one) a pair of arrays:
        values of the other parameter and the best silhouette (NaN: all runs collapsed).

    collapsed : dict
        The same for the best collapsed runs.

    x, group_by : str
        The two parameters; `group_by` may be None.

    k_means : dict or float, default=None
        Silhouette of k-means to compare with: a number, or one for each of the numbers of clusters
        where these are one of the two parameters.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the picture.

    figure_ : matplotlib Figure
        Figure they are in.

    lines_ : list of matplotlib Line2D
        A line for each value of `group_by`.

    collapsed_ : list of matplotlib PathCollection
        The crosses of each line that has some.

    k_means_ : list of matplotlib Line2D
        The reference.

    legend_ : matplotlib Legend or None
        Which line is which.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from amclust import ClAMSearch
    >>> from amclust.plotting import SearchDisplay
    >>> X = load_iris().data
    >>> space = {"beta": [0.1, 1.0, 10.0], "n_steps": [2, 10]}
    >>> search = ClAMSearch(3, space=space, budget=2000, n_init=2, random_state=0).fit(X)
    >>> display = SearchDisplay.from_estimator(search, X)
    >>> [line.get_label() for line in display.lines_]
    ['T = 2', 'T = 10']
    >>> plt.show()
    """

    def __init__(
        self,
        *,
        curves: dict[Any, tuple[NDArray[Any], NDArray[Any]]],
        collapsed: dict[Any, tuple[NDArray[Any], NDArray[Any]]],
        x: str,
        group_by: str | None,
        k_means: dict[int, float] | float | None = None,
    ) -> None:
        self.curves = curves
        self.collapsed = collapsed
        self.x = x
        self.group_by = group_by
        self.k_means = k_means

    @classmethod
    def from_estimator(
        cls,
        estimator: ClAMSearch,
        X: Any = None,
        *,
        x: str | None = None,
        group_by: str | None = None,
        restarts: int | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> SearchDisplay:
        """Draw what a search found.

        Parameters
        ----------
        estimator : ClAMSearch
            A fitted search.

        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            The rows it was fitted to; with them k-means is drawn as a reference, in the same
            distances. Missing values are filled by the best estimator for it.

        x : str, default=None
            Parameter along the axis; None: beta, or another one that was searched.

        group_by : str, default=None
            Parameter that makes the lines; None: n_steps, or another one of few values. Where
            neither is "n_clusters", only runs with the best number of clusters are drawn.

        restarts : int, default=None
            Restarts of k-means, of which the one with the best silhouette counts; None: the
            largest number of runs behind a point.

        ax : matplotlib Axes, default=None
            Axes to draw on; None: new ones.

        **kwargs : dict
            Keywords of `plot`.

        Returns
        -------
        display : SearchDisplay
            What was drawn.
        """
        caller = f"{cls.__name__}.from_estimator"
        pyplot(caller)
        check(caller, CONSTRAINTS, x=x, group_by=group_by, restarts=restarts)
        check_is_fitted(estimator)
        if not isinstance(estimator, ClAMSearch):
            msg = f"estimator must be a fitted ClAMSearch, got {type(estimator).__name__}."
            raise TypeError(msg)
        table = estimator.results_dict_
        x, group_by = _parameters(table, x, group_by)
        kept = np.ones(len(table["run"]), bool)
        if "n_clusters" not in (x, group_by):
            kept = table["n_clusters"] == estimator.best_params_["n_clusters"]
        table = {name: column[kept] for name, column in table.items()}
        living = table["living_clusters"] == table["n_clusters"]
        curves, counts = _best(table, living, x, group_by)
        collapsed, _ = _best(table, ~living, x, group_by)
        k_means: dict[int, float] | float | None = None
        if X is not None:
            numbers = [int(k) for k in np.unique(table["n_clusters"])]
            found = _k_means(estimator, X, numbers, restarts or max(counts))
            k_means = found if "n_clusters" in (x, group_by) else found[numbers[0]]
        display = cls(curves=curves, collapsed=collapsed, x=x, group_by=group_by, k_means=k_means)
        return display.plot(ax=ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        collapsed_kw: dict[str, Any] | None = None,
        k_means_kw: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> SearchDisplay:
        """Draw what was found.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: new ones.

        collapsed_kw, k_means_kw : dict, default=None
            Keywords for the crosses of collapsed runs (`scatter`) and for the reference (`plot`).

        **kwargs : dict
            Keywords for the lines (`plot`).

        Returns
        -------
        display : SearchDisplay
            The same display, with its artists as attributes.
        """
        self.figure_, self.ax_ = axes_to_draw_on(self, ax)
        self.lines_: list[Any] = []
        self.collapsed_: list[Any] = []
        self.k_means_: list[Any] = []
        self._places = self._place_values()
        styles = cluster_styles(len(self.curves))
        markers = "osD^vP*X<>"
        for turn, (style, group) in enumerate(zip(styles, self.curves, strict=True)):
            self._draw_line(style.colour, markers[turn % len(markers)], group, kwargs, collapsed_kw)
        self._draw_k_means([style.colour for style in styles], k_means_kw or {})
        self.ax_.set_xlabel(_describe(self.x))
        self.ax_.set_ylabel("silhouette")
        handles, names = self.ax_.get_legend_handles_labels()
        self.legend_ = None
        if names:
            self.legend_ = self.ax_.legend(
                handles,
                names,
                loc="center left",
                bbox_to_anchor=(1.0, 0.5),
                frameon=False,
                fontsize=8 if len(names) > 12 else 9,
                ncols=1 + (len(names) - 1) // 22,
            )
        return self

    def _place_values(self) -> dict[Any, float]:
        """Return where values stand on the axis; names stand one after the other."""
        values = list(dict.fromkeys(v for xs, _ in self.curves.values() for v in xs))
        if all(isinstance(value, int | float | np.number) for value in values):
            numbers = [float(value) for value in values]
            if spans_decades(numbers):
                self.ax_.set_xscale("log")
            elif all(number.is_integer() for number in numbers):
                self.ax_.xaxis.get_major_locator().set_params(integer=True)
            return dict(zip(values, numbers, strict=True))
        values.sort(key=str)
        self.ax_.set_xticks(range(len(values)), [str(value) for value in values])
        self.ax_.margins(x=0.15)
        return {value: float(place) for place, value in enumerate(values)}

    def _draw_line(
        self,
        colour: str,
        marker: str,
        group: Any,
        keywords: dict[str, Any],
        collapsed_kw: dict[str, Any] | None,
    ) -> None:
        xs, ys = self.curves[group]
        name = None if group is None else f"{_symbol(self.group_by)} = {_short(group)}"
        look = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1.4}
        places = [self._places[value] for value in xs]
        (line,) = self.ax_.plot(places, ys, **options(keywords, label=name, **look))
        self.lines_.append(line)
        worse_xs, worse_ys = self.collapsed[group]
        # Worse than what lives at the same place, they would say nothing.
        lived = dict(zip(xs, ys, strict=True))
        shown = [not y <= lived[value] for value, y in zip(worse_xs, worse_ys, strict=True)]
        if any(shown):
            crosses = {"marker": "x", "s": 30, "color": colour, "linewidths": 1.0, "alpha": 0.8}
            first = not self.collapsed_
            self.collapsed_.append(
                self.ax_.scatter(
                    [self._places[value] for value in worse_xs[shown]],
                    worse_ys[shown],
                    label="collapsed" if first else None,
                    **{**crosses, **(collapsed_kw or {})},
                )
            )

    def _draw_k_means(self, colours: list[str], keywords: dict[str, Any]) -> None:
        dashed = {"color": "black", "linestyle": "--", "linewidth": 1.2, "zorder": 1.5}
        if self.k_means is None:
            return
        if not isinstance(self.k_means, dict):
            style = options(keywords, label="k-means", **dashed)
            self.k_means_ = [self.ax_.axhline(self.k_means, **style)]
        elif self.x == "n_clusters":
            places = [self._places[k] for k in self.k_means]
            style = options(keywords, label="k-means", **dashed)
            self.k_means_ = self.ax_.plot(places, list(self.k_means.values()), **style)
        else:
            for colour, k in zip(colours, self.curves, strict=True):
                style = options(keywords, label=f"k-means, k = {k}", **{**dashed, "color": colour})
                self.k_means_.append(self.ax_.axhline(self.k_means[k], **style))


def _parameters(
    table: dict[str, NDArray[Any]], x: str | None, group_by: str | None
) -> tuple[str, str | None]:
    """Return the parameter along the axis, and the one that makes lines."""
    searched = [name for name in table if name not in OUTCOMES]
    for argument, name in (("x", x), ("group_by", group_by)):
        if name is not None and name not in searched:
            msg = f"{argument}={name!r} was not searched; these were: {', '.join(searched)}."
            raise ValueError(msg)
    if x is not None and x == group_by:
        msg = f"x and group_by must be different parameters, got {x!r} for both."
        raise ValueError(msg)
    # A beta that was not searched itself follows from the data, and is another in every run.
    followed = "beta_factor" in searched or not _is_searched_beta(table)
    varied = [
        name
        for name in searched
        if len(_distinct(table[name])) > 1 and not (name == "beta" and followed)
    ]
    if x is None:
        order = [name for name in (*AXIS_ORDER, *varied) if name in varied and name != group_by]
        x = next(iter(order), "beta")
    if group_by is None:
        order = [name for name in (*GROUP_ORDER, *varied) if name in varied and name != x]
        few = [name for name in order if len(_distinct(table[name])) <= 12]
        group_by = next(iter(few), None)
    return x, group_by


def _is_searched_beta(table: dict[str, NDArray[Any]]) -> bool:
    """Whether all runs of a configuration have the same beta: then it was given."""
    first = {int(c): b for c, b in zip(table["config"], table["beta"], strict=True)}
    return all(first[int(c)] == b for c, b in zip(table["config"], table["beta"], strict=True))


def _distinct(values: NDArray[Any]) -> list[Any]:
    """Return the values that occur: numbers in their order, anything else by name."""
    plain = list(dict.fromkeys(values.tolist()))
    known = [value for value in plain if value == value]  # a NaN is not what it is
    if all(isinstance(value, int | float) for value in known):
        return sorted(known)
    return sorted(known, key=str)


def _best(
    table: dict[str, NDArray[Any]], among: NDArray[np.bool_], x: str, group_by: str | None
) -> tuple[dict[Any, tuple[NDArray[Any], NDArray[Any]]], list[int]]:
    """Return the best silhouettes, and how many runs are behind each place."""
    columns = {name: np.array(table[name].tolist(), dtype=object) for name in {x, group_by or x}}
    groups = [None] if group_by is None else _distinct(table[group_by])
    curves, counts = {}, []
    for group in groups:
        inside = np.ones(len(among), bool) if group_by is None else columns[group_by] == group
        values, best = [], []
        for value in _distinct(table[x][inside]):
            here = inside & (columns[x] == value)
            counts.append(len(np.unique(table["run"][here])))
            scores = table["silhouette"][here & among]
            values.append(value)
            best.append(np.nanmax(scores) if np.isfinite(scores).any() else np.nan)
        curves[group] = np.array(values, dtype=object), np.array(best, dtype=float)
    return curves, counts


def _k_means(search: ClAMSearch, X: Any, numbers: list[int], restarts: int) -> dict[int, float]:
    """Return the best silhouette of k-means for each number of clusters."""
    from sklearn.cluster import KMeans

    model = search.best_estimator_
    X = model._validate(X)
    data, threads = model._dataset(X), n_threads(model.n_jobs)
    rows = _native.load_rows(model._dataset(completed(model, X)), None)
    judged = np.arange(len(rows))
    if len(judged) > EXACT_SILHOUETTE_ROWS:
        judged = np.sort(np.random.default_rng(0).permutation(judged)[:SAMPLED_SILHOUETTE_ROWS])
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=restarts)
    best = {}
    for k in numbers:
        runs = [KMeans(k, n_init=1, random_state=int(seed)).fit(rows).labels_ for seed in seeds]
        labels = np.stack(runs)[:, judged].astype(np.int32)
        best[k] = float(_native.silhouette(data, judged, None, labels, k, threads).max())
    return best


def _symbol(name: str | None) -> str:
    return SYMBOLS.get(str(name), str(name))


def _describe(name: str) -> str:
    return f"{SYMBOLS[name]} ({name})" if name in SYMBOLS else name


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
