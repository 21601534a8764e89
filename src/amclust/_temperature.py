"""The inverse temperature from the data.

Two dimensionless rules (measured over the sets of the paper): for the losses that compare a
recalled state with the row, beta = c / s2 with s2 the mean squared distance of a row to its
memory; for the silhouette, beta = c / gap with gap the median over rows of the difference between
the squared distances to the second nearest and to the nearest memory, since in high dimensions the
gap is a small part of s2. c is large: memberships are soft only near the borders, so that the
silhouette that is trained is nearly the one of the labels (docs/recipe.md has what smaller ones
gave). Where clusters are far apart the gap says nothing about their size, so beta is at least
8 / s2: memories need not leave their clusters to make memberships sharp.
"""

from __future__ import annotations

GAP_FACTOR = 24.0
SEPARATED_FACTOR = 8.0
SPREAD_FACTOR = 4.0


def choose_beta(objective: str, mean_square: float, median_gap: float) -> float:
    """Return beta in the units of the given scales."""
    if objective == "silhouette" and median_gap > 0:
        separated = SEPARATED_FACTOR / mean_square if mean_square > 0 else 0.0
        return max(GAP_FACTOR / median_gap, separated)
    return SPREAD_FACTOR / mean_square if mean_square > 0 else 1.0
