"""What masking and learned weights do: differences of pairs that share draws and seeds."""

from math import sqrt
from statistics import fmean, stdev
from typing import NamedTuple

from scipy.stats import t as student

from benchmarks.framework.pages import Grid, signed
from paper import sets
from paper.records import NOT_RUN, View

# What is asked: the variant that has it, and the one that has it not.
QUESTIONS = {"masking": ("clam", "clam-unmasked"), "learned weights": ("clam-weighted", "clam")}
QUANTITIES = {"silhouette": "silhouette", "nmi": "NMI", "ari": "ARI"}
_LEVEL = 0.95


class Effect(NamedTuple):
    """A mean difference of pairs, and half of its 95 % confidence interval by Student's t."""

    mean: float
    half_width: float
    pairs: int

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out zero."""
        return abs(self.mean) > self.half_width

    @property
    def interval(self) -> str:
        return f"{signed(self.mean)} ± {self.half_width:.3f}"

    def __str__(self) -> str:
        """Write it, bold where it is clear."""
        return f"**{self.interval}**" if self.is_clear else self.interval


def effect_on(view: View, name: str, question: str, quantity: str) -> Effect | None:
    """Compare the two variants on one set, seed by seed, under the honest protocol."""
    ours, theirs = (view.seeds(name, method, "honest") for method in QUESTIONS[question])
    shared = ours.keys() & theirs.keys()
    return effect([ours[seed][quantity] - theirs[seed][quantity] for seed in shared])


def effects(view: View, question: str, quantity: str) -> list[Effect]:
    found = (effect_on(view, name, question, quantity) for name in view.table_sets)
    return [one for one in found if one is not None]


def effect_in_all(view: View, question: str, quantity: str) -> Effect | None:
    """Compare the two variants over the sets: their mean differences are the sample."""
    return effect([one.mean for one in effects(view, question, quantity)])


def effect(differences: list[float]) -> Effect | None:
    """Give the mean and its interval; None of fewer than two differences."""
    count = len(differences)
    if count < 2:
        return None
    width = student.ppf((1 + _LEVEL) / 2, count - 1) * stdev(differences) / sqrt(count)
    return Effect(fmean(differences), float(width), count)


def ablations(view: View) -> Grid:
    pairs = [(question, quantity) for question in QUESTIONS for quantity in QUANTITIES]
    columns = [f"{question}: {QUANTITIES[quantity]}" for question, quantity in pairs]
    rows = [
        [sets.title(name), *(_cell(effect_on(view, name, *pair)) for pair in pairs)]
        for name in view.table_sets
    ]
    rows.append(["all sets", *(_cell(effect_in_all(view, *pair)) for pair in pairs)])
    return Grid("Do self-supervision and weights matter?", ["", *columns], rows)


def _cell(found: Effect | None) -> str:
    return NOT_RUN if found is None else str(found)
