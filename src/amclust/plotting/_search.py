"""What a search found."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from amclust._docs import documented
from amclust._fitted import kind_of
from amclust._search import ClAMSearch
from amclust.plotting._base import (
    DISPLAYS,
    Constraints,
    Display,
    Keywords,
    count_along,
    options,
    plain_texts,
    spans_decades,
)
from amclust.plotting._search_curves import (
    Curves,
    best_silhouettes,
    choose_parameters,
    k_means_silhouettes,
)

# So many values or fewer were given one by one; more were drawn, and no line joins them.
MAX_JOINED = 30
SYMBOLS = {"beta": "β", "n_steps": "T", "step_size": "α", "n_clusters": "k"}


@documented(DISPLAYS)
@dataclass(kw_only=True, eq=False, repr=False)
class SearchDisplay(Display):
    """The best silhouette against a searched parameter, a line for each value of another one.

    Only runs without empty clusters count; where the best collapsed run scores higher than those,
    or is all there is, a cross marks it.

    {made_from_estimator}

    Parameters
    ----------
    curves : dict
        For each value of the parameter that makes the lines (None without one) a pair of arrays:
        values of the other parameter, and the best silhouettes of runs without empty clusters
        (NaN: there are none).

    collapsed : dict
        The same for runs with empty clusters (NaN: none, or all rows fell to one memory).

    x, group_by : str
        The two parameters; `group_by` may be None.

    k_means : dict or float, default=None
        Silhouette of k-means to compare with: a number, or one for each of the numbers of clusters
        where these are one of the two parameters.

    restarts : int, default=None
        Restarts of k-means that it is the best of.

    Attributes
    ----------
    {ax_}
    {figure_}
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
    >>> from sklearn.datasets import load_iris
    >>> from amclust import ClAMSearch
    >>> from amclust.plotting import SearchDisplay
    >>> X = load_iris().data
    >>> space = {"beta": [0.1, 1.0, 10.0], "n_steps": [2, 10]}
    >>> search = ClAMSearch(3, space=space, budget=2000, n_init=2, random_state=0).fit(X)
    >>> display = SearchDisplay.from_estimator(search, X)
    >>> [line.get_label() for line in display.lines_]
    ['T = 2', 'T = 10']
    """

    _constraints: ClassVar[Constraints] = {
        "x": [str],
        "group_by": [str, None],
        "restarts": [Interval(Integral, 1, None, closed="left"), None],
    }
    curves: Curves
    collapsed: Curves
    x: str
    group_by: str | None
    k_means: dict[int, float] | float | None = None
    restarts: int | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: ClAMSearch,
        X: Any = None,
        *,
        x: str = "auto",
        group_by: str | None = "auto",
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

        x : str, default="auto"
            Parameter along the axis; "auto" is beta, or another one that was searched.

        group_by : str or None, default="auto"
            Parameter that makes the lines; "auto" is n_steps, or another one of few values, and
            None makes a single line. Where neither is "n_clusters", only runs with the best number
            of clusters are drawn.

        restarts : int, default=None
            Restarts of k-means, of which the one with the best silhouette counts; None: the
            largest number of runs behind a point.

        {ax}
        {kwargs}

        {returns}
        """
        cls._check("from_estimator", x=x, group_by=group_by, restarts=restarts)
        check_is_fitted(estimator)
        if not isinstance(estimator, ClAMSearch):
            msg = f"estimator must be a fitted ClAMSearch, got {kind_of(estimator)}."
            raise TypeError(msg)
        table = estimator.results_dict_
        x, group_by = choose_parameters(table, x, group_by)
        kept = np.ones(len(table["run"]), bool)
        if "n_clusters" not in (x, group_by):
            kept = table["n_clusters"] == estimator.best_params_["n_clusters"]
        table = {name: column[kept] for name, column in table.items()}
        without_empty = table["living_clusters"] == table["n_clusters"]
        curves, most = best_silhouettes(table, without_empty, x, group_by)
        collapsed, _ = best_silhouettes(table, ~without_empty, x, group_by)
        restarts = restarts or most
        k_means: dict[int, float] | float | None = None
        if X is not None:
            numbers = [int(k) for k in np.unique(table["n_clusters"])]
            found = k_means_silhouettes(estimator, X, numbers, restarts)
            k_means = found if "n_clusters" in (x, group_by) else found[numbers[0]]
        display = cls(
            curves=curves,
            collapsed=collapsed,
            x=x,
            group_by=group_by,
            k_means=k_means,
            restarts=restarts,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        collapsed_kw: Keywords | None = None,
        k_means_kw: Keywords | None = None,
        **kwargs: Any,
    ) -> SearchDisplay:
        """Draw what was found.

        Parameters
        ----------
        {ax}
        collapsed_kw, k_means_kw : dict, default=None
            Keywords for the crosses of collapsed runs (`scatter`) and for the reference (`plot`).

        **kwargs : dict
            Keywords for the lines (`plot`).

        {returns}
        """
        self._take_axes(ax)
        self.lines_: list[Any] = []
        self.collapsed_: list[Any] = []
        self.k_means_: list[Any] = []
        self._places = self._place_values()
        colours = self._colours(len(self.curves))
        markers = "osD^vP*X<>"
        for turn, (colour, group) in enumerate(zip(colours, self.curves, strict=True)):
            self._draw_line(colour, markers[turn % len(markers)], group, kwargs, collapsed_kw)
        self._draw_k_means(colours, k_means_kw or {})
        self.ax_.set_xlabel(_describe(self.x))
        self.ax_.set_ylabel("silhouette")
        if self.collapsed_:
            self.collapsed_[0].set_label("collapsed")
        marks = [*self.lines_, *self.k_means_, *self.collapsed_]
        named = [mark for mark in marks if not mark.get_label().startswith("_")]
        self.legend_ = self._legend_beside(named, per_column=22) if named else None
        return self

    def _place_values(self) -> dict[Any, float]:
        """Return where values stand on the axis; names stand one after the other."""
        values = list(dict.fromkeys(v for xs, _ in self.curves.values() for v in xs))
        if all(isinstance(value, int | float | np.number) for value in values):
            numbers = [float(value) for value in values]
            if spans_decades(numbers):
                self.ax_.set_xscale("log")
            elif all(number.is_integer() for number in numbers):
                count_along(self.ax_.xaxis)
            return dict(zip(values, numbers, strict=True))
        values.sort(key=str)
        self.ax_.set_xticks(range(len(values)), plain_texts(values))
        self.ax_.margins(x=0.15)
        return {value: float(place) for place, value in enumerate(values)}

    def _draw_line(
        self,
        colour: str,
        marker: str,
        group: Any,
        keywords: Keywords,
        collapsed_kw: Keywords | None,
    ) -> None:
        xs, ys = self.curves[group]
        name = None
        if self.group_by is not None:
            (name,) = plain_texts([f"{_symbol(self.group_by)} = {_short(group)}"])
        look = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1.4}
        if len(xs) > MAX_JOINED:
            look["linestyle"] = "none"
        places = np.array([self._places[value] for value in xs])
        # Also where all runs collapsed.
        self.ax_.dataLim.update_from_data_x(places, ignore=False)
        (line,) = self.ax_.plot(places, ys, **options(keywords, label=name, **look))
        self.lines_.append(line)
        collapsed = self.collapsed[group][1]
        # Worse than runs without empty clusters at the same place, they would say nothing.
        crosses = {"marker": "x", "s": 30, "color": colour, "linewidths": 1.2, "zorder": 3}
        crosses |= collapsed_kw or {}
        worth = (collapsed > ys) | (np.isnan(ys) & ~np.isnan(collapsed))
        gone = np.isnan(ys) & np.isnan(collapsed)  # all rows fell to one memory: at the bottom
        for shown, heights, more in (
            (worth, collapsed, {}),
            (gone, np.full(len(ys), 0.02), {"transform": self.ax_.get_xaxis_transform()}),
        ):
            if shown.any():
                drawn = self.ax_.scatter(places[shown], heights[shown], **{**crosses, **more})
                self.collapsed_.append(drawn)

    def _draw_k_means(self, colours: list[str], keywords: Keywords) -> None:
        if self.k_means is None:
            return
        name = "k-means" if self.restarts is None else f"k-means, best of {self.restarts}"
        dashed = {"color": self._ink, "linestyle": "--", "linewidth": 1.2, "zorder": 1.5}
        dashed = options(keywords, label=name, **dashed)
        if not isinstance(self.k_means, dict):
            self.k_means_ = [self.ax_.axhline(self.k_means, **dashed)]
        elif self.x == "n_clusters":
            places = [self._places[k] for k in self.k_means]
            self.k_means_ = self.ax_.plot(places, list(self.k_means.values()), **dashed)
        else:
            for colour, k in zip(colours, self.curves, strict=True):
                self.k_means_.append(
                    self.ax_.axhline(self.k_means[k], **{**dashed, "color": colour})
                )
                dashed["label"] = None  # one name for all of them


def _symbol(name: str | None) -> str:
    return SYMBOLS.get(str(name), str(name))


def _describe(name: str) -> str:
    return f"{SYMBOLS[name]} ({name})" if name in SYMBOLS else name


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
