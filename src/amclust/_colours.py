"""Colours of clusters, the same in plots and reports, for every kind of colour vision.

The first four or five are of Okabe and Ito. The others were chosen one after the other among calm
colours (a chroma of at most 0.17 in OKLab, 0.15 on a dark background), each as far as possible from
all before it for the nearest of four kinds of vision: normal, protanopia, deuteranopia and
tritanopia (as simulated by Machado, Oliveira and Fernandes, 2009). Any two of the twenty on a light
background are 0.069 or more apart, on a dark one 0.060; two of the colours of Okabe and Ito are
0.076 apart.
"""

from __future__ import annotations

from typing import NamedTuple

# For marks on a white page, and on a nearly black one.
LIGHT = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#5f1f00", "#4fefff", "#2f1f7f"),
    *("#8f3f3f", "#cfdf8f", "#af8fff", "#5fcfbf", "#3f4f7f", "#6f6f7f", "#4f2f4f", "#bfbf7f"),
    *("#ffcf2f", "#9f6fdf", "#af4f2f", "#8fafdf"),
)
DARK = (
    *("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#bfffdf", "#6f4faf", "#ffdf5f", "#9f4f00"),
    *("#afbf9f", "#7fdfff", "#8f6fcf", "#2f6f6f", "#9f7f00", "#bfdfaf", "#efbf4f", "#7faf6f"),
    *("#8f5f9f", "#9fcfcf", "#5f7f4f", "#cf9fbf"),
)

# From the 21st cluster on colours come again: then with another marker, and areas with a hatch.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HATCHES = ("", "///", "...", "xxx", "|||", "ooo", "---")

# Signed values around a centre, and values from low to high, as matplotlib and plotly name them.
DIVERGING = "RdBu_r"
SEQUENTIAL = "cividis"


class Style(NamedTuple):
    """How the marks of one cluster look."""

    colour: str
    marker: str
    hatch: str


def cluster_colours(n_clusters: int, *, dark: bool = False) -> list[str]:
    """Return a colour for each cluster; they come again after twenty.

    Examples
    --------
    >>> from amclust._colours import cluster_colours
    >>> cluster_colours(2)
    ['#0072b2', '#e69f00']
    """
    return [style.colour for style in cluster_styles(n_clusters, dark=dark)]


def cluster_styles(n_clusters: int, *, dark: bool = False) -> list[Style]:
    """Return colour, marker and hatch for each cluster; 140 differ."""
    colours = DARK if dark else LIGHT
    rounds = [divmod(cluster, len(colours)) for cluster in range(n_clusters)]
    return [
        Style(colours[place], MARKERS[turn % len(MARKERS)], HATCHES[turn % len(HATCHES)])
        for turn, place in rounds
    ]
