"""Colours of clusters, the same in plots and reports, for every kind of colour vision.

The first four are of Okabe and Ito. The others were chosen one after the other, each as far as
possible from all before it in OKLab, for the nearest of four kinds of vision: normal, protanopia,
deuteranopia and tritanopia (as simulated by Machado, Oliveira and Fernandes, 2009). Any two of the
twenty on a light background are 0.068 or more apart, on a dark one 0.059; two of the colours of
Okabe and Ito are 0.076 apart.
"""

from __future__ import annotations

from typing import NamedTuple

# For marks on a white page, and on a nearly black one.
LIGHT = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#882233", "#aaccff", "#aa88ff"),
    *("#4400dd", "#662299", "#aa44ff", "#ccbb99", "#994477", "#bb2200", "#55ee55", "#33bbdd"),
    *("#cc00aa", "#8877dd", "#773366", "#886655"),
)
DARK = (
    *("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#ddeecc", "#9900ff", "#bb22aa", "#66ff33"),
    *("#ff0011", "#bbbb99", "#9977ff", "#99ccdd", "#558822", "#dd33cc", "#886677", "#bbdd88"),
    *("#bbeeff", "#eebb00", "#ee6677", "#cc99bb"),
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
