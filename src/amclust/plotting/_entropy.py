"""A histogram of entropies."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from amclust._docs import documented
from amclust._fitted import fitted_clam
from amclust._validation import validate_rows
from amclust.plotting._base import DISPLAYS, Constraints, Display, Keywords
from amclust.plotting._labels import is_noise, noise_mark

# A bar so many times as high as others hides them.
HIGH = 30


@documented(DISPLAYS)
@dataclass(kw_only=True, eq=False, repr=False)
class EntropyDisplay(Display):
    """How sharply rows belong to their clusters: a histogram of the entropy of memberships.

    At 0 the nearest memory decides alone, at ``log(n_clusters)`` all memories attract alike. Noise,
    which no memory attracts, is left out, and the legend says how many rows it is.

    {made_from_either}

    Parameters
    ----------
    entropy : ndarray of shape (n_samples,)
        Entropy of each row's memberships; NaN for noise.

    n_clusters : int
        Number of clusters.

    Attributes
    ----------
    {ax_}
    {figure_}
    bars_ : matplotlib BarContainer
        The histogram.

    mean_line_ : matplotlib Line2D
        The mean.

    legend_ : matplotlib Legend
        Says what the mean is, and how many rows are noise.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from amclust import ClAM
    >>> from amclust.plotting import EntropyDisplay
    >>> X = load_iris().data
    >>> model = ClAM(3, random_state=0).fit(X)
    >>> display = EntropyDisplay.from_estimator(model, X)
    >>> int(sum(bar.get_height() for bar in display.bars_))
    150
    """

    _constraints: ClassVar[Constraints] = {
        "bins": [Interval(Integral, 1, 10_000, closed="both")],
        "log": ["boolean", None],
    }
    entropy: NDArray[Any]
    n_clusters: int

    def __post_init__(self) -> None:
        if np.isnan(self.entropy).all():
            msg = "entropy must have rows in clusters, but all of them are noise."
            raise ValueError(msg)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, ax: Any = None, **kwargs: Any
    ) -> EntropyDisplay:
        """Draw the entropy of rows in a fitted model.

        Parameters
        ----------
        {estimator}
        {X}
        {ax}
        {kwargs}

        {returns}
        """
        cls._check("from_estimator")
        model = fitted_clam(estimator)
        network = model.network_
        labels, _, entropy = network.answers(validate_rows(model, X), n_jobs=model.n_jobs)
        entropy = np.where(is_noise(labels), np.nan, entropy)
        display = cls(entropy=entropy, n_clusters=network.n_clusters)
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, memberships: Any, *, ax: Any = None, **kwargs: Any) -> EntropyDisplay:
        """Draw the entropy of any memberships, those of a mixture for example.

        Parameters
        ----------
        memberships : array-like of shape (n_samples, n_clusters)
            What `predict_proba` returns: rows of numbers from 0 to 1 that sum to 1, or all 0 for
            noise.

        {ax}
        {kwargs}

        {returns}
        """
        cls._check("from_predictions")
        p = np.asarray(memberships, dtype=np.float64)
        noise = (p == 0).all(axis=-1)
        sums = p.sum(axis=-1) + noise
        if p.ndim != 2 or (p < 0).any() or not np.allclose(sums, 1, atol=1e-3):
            msg = (
                "memberships must have shape (n_samples, n_clusters) and rows of numbers from 0 to "
                "1 that sum to 1 (or are all 0, for noise), which the given ones, of shape "
                f"{p.shape}, have not."
            )
            raise ValueError(msg)
        entropy = -np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=1)
        entropy[noise] = np.nan
        return cls(entropy=entropy, n_clusters=p.shape[1]).plot(ax=ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        bins: int = 40,
        log: bool | None = None,
        mean_kw: Keywords | None = None,
        **kwargs: Any,
    ) -> EntropyDisplay:
        """Draw the histogram.

        Parameters
        ----------
        {ax}
        bins : int, default=40
            Number of bars between 0 and ``log(n_clusters)``.

        log : bool, default=None
            Whether the axis of the counts is logarithmic; None: where bars of a few rows would not
            be seen beside the highest.

        mean_kw : dict, default=None
            Keywords for the line of the mean (`axvline`).

        **kwargs : dict
            Keywords for the bars (`hist`).

        {returns}
        """
        self._check("plot", bins=bins, log=log)
        self._take_axes(ax)
        most = float(np.log(self.n_clusters)) if self.n_clusters > 1 else 1.0
        # Rounding may leave a row a little outside.
        noise = np.isnan(self.entropy)
        values = np.clip(self.entropy[~noise], 0.0, most)
        (colour,) = self._colours(1)
        bars = {"color": colour, "edgecolor": self.ax_.get_facecolor(), "linewidth": 0.5}
        counts, _ = np.histogram(values, bins=bins, range=(0.0, most))
        if log is None:
            usual = np.quantile(counts[counts > 0], 0.5, method="lower")
            log = bool(counts.max() > HIGH * usual)
        *_, self.bars_ = self.ax_.hist(
            values, bins=bins, range=(0.0, most), log=log, **{**bars, **kwargs}
        )
        if log:
            self.ax_.set_ylim(bottom=0.7)
        self.mean_line_ = self._draw_mean(float(values.mean()), mean_kw)
        self.ax_.set_xlim(0.0, most)
        bound = f"at most log {self.n_clusters} = {np.log(self.n_clusters):.2f}"
        self.ax_.set_xlabel(f"entropy of the memberships ({bound})")
        self.ax_.set_ylabel("rows")
        marks = [self.mean_line_]
        if noise.any():
            marks.append(noise_mark(int(noise.sum()), left_out=True))
        self.legend_ = self._legend_above(marks)
        return self
