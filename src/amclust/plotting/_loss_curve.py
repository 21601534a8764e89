"""The loss during training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from amclust._docs import documented
from amclust._fitted import kind_of
from amclust.plotting._base import (
    DISPLAYS,
    Display,
    Keywords,
    count_along,
    options,
    plain_texts,
    spans_decades,
)


@documented(DISPLAYS)
@dataclass(kw_only=True, eq=False, repr=False)
class LossCurveDisplay(Display):
    """The loss of every epoch of the chosen restart, with the best one marked.

    {made_from_estimator}

    Parameters
    ----------
    loss_curve : ndarray of shape (n_epochs,)
        Mean loss of every epoch.

    name : str, default=None
        What the legend calls it; None: no legend.

    Attributes
    ----------
    {ax_}
    {figure_}
    line_ : matplotlib Line2D
        The curve.

    best_ : matplotlib PathCollection
        The epoch with the lowest loss.

    legend_ : matplotlib Legend or None
        What the curves on these axes are called.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from amclust import ClAM
    >>> from amclust.plotting import LossCurveDisplay
    >>> model = ClAM(3, random_state=0).fit(load_iris().data)
    >>> display = LossCurveDisplay.from_estimator(model)
    >>> len(display.line_.get_xdata()) == model.n_iter_
    True
    """

    loss_curve: NDArray[Any]
    name: str | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, name: str | None = None, ax: Any = None, **kwargs: Any
    ) -> LossCurveDisplay:
        """Draw the loss of a fitted model.

        Parameters
        ----------
        estimator : ClAM or ClAMSearch
            A fitted estimator, or any other with a `loss_curve_`.

        name : str, default=None
            What the legend calls it; None: no legend.

        ax : matplotlib Axes, default=None
            Axes to draw on, with the curves of other models perhaps; None: new ones.

        {kwargs}

        {returns}
        """
        cls._check("from_estimator")
        check_is_fitted(estimator)
        model = getattr(estimator, "best_estimator_", estimator)
        if not hasattr(model, "loss_curve_"):
            msg = f"estimator must have a loss_curve_, got {kind_of(estimator)}."
            raise TypeError(msg)
        return cls(loss_curve=np.asarray(model.loss_curve_), name=name).plot(ax=ax, **kwargs)

    def plot(
        self, ax: Any = None, *, best_kw: Keywords | None = None, **kwargs: Any
    ) -> LossCurveDisplay:
        """Draw the loss.

        Parameters
        ----------
        {ax}
        best_kw : dict, default=None
            Keywords for the mark of the best epoch (`scatter`).

        **kwargs : dict
            Keywords for the curve (`plot`).

        {returns}
        """
        self._take_axes(ax)
        epochs = np.arange(1, len(self.loss_curve) + 1)
        colour = self._colours(len(self.ax_.lines) + 1)[-1]
        name = None if self.name is None else plain_texts([self.name])[0]
        style = options(kwargs, color=colour, linewidth=1.5, label=name)
        (self.line_,) = self.ax_.plot(epochs, self.loss_curve, **style)
        best = int(np.argmin(self.loss_curve))
        dot = {"color": self.line_.get_color(), "s": 30, "zorder": self.line_.get_zorder() + 1}
        self.best_ = self.ax_.scatter(
            epochs[best], self.loss_curve[best], **{**dot, **(best_kw or {})}
        )
        if spans_decades(self.loss_curve):
            self.ax_.set_yscale("log")
        self.ax_.set_xlabel("epoch")
        self.ax_.set_ylabel("loss")
        count_along(self.ax_.xaxis)
        self.legend_ = self.ax_.legend() if self.name is not None else None
        return self
