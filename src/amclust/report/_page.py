"""The page as a whole: sections, figures, style and scripts in one file."""

from __future__ import annotations

import datetime
import re
from html import escape
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from amclust._colours import DARK, LIGHT
from amclust._version import __version__
from amclust.report import _figures
from amclust.report._clusters import Profiles
from amclust.report._comparison import Comparison, compare_with_k_means
from amclust.report._html import figure, script_data, shorten
from amclust.report._numbers import NOTHING, count, counted, fixed, share
from amclust.report._subject import Subject
from amclust.report.sections.clusters import clusters_section
from amclust.report.sections.comparison import comparison_section
from amclust.report.sections.data import data_section
from amclust.report.sections.making import making_section
from amclust.report.sections.rows import completed_section, unusual_section
from amclust.report.sections.runs import runs_section

LONGEST_TITLE = 200
# On a map there is room for the numbers of so many memories.
MAX_NUMBERED = 60


def build_page(subject: Subject, *, title: str | None, source: str | None) -> str:
    """Return the page as text."""
    from plotly.offline import get_plotlyjs

    profiles = Profiles(subject)
    labels = subject.labels[subject.sample]
    judged = len(np.unique(labels[labels >= 0])) > 1
    silhouettes = _figures.silhouettes(subject) if judged else None
    comparison = compare_with_k_means(subject)
    plane = _figures.plane_of(subject)
    data: _figures.PageData = {
        "colours": {"light": LIGHT, "dark": DARK},
        "clusters": subject.n_clusters,
        "numbered": subject.n_clusters <= MAX_NUMBERED,
        "axes": _figures.axis_titles(subject, plane),
        "principal": len(subject.names) > 2 and bool(np.ptp(plane.rows, axis=0).any()),
        "projection": _figures.projection(subject, profiles, plane),
        "basins": _figures.basins(subject, plane),
        "knives": None if silhouettes is None else _figures.knives(subject, silhouettes),
        "silhouette": None if silhouettes is None else round(float(np.nanmean(silhouettes)), 4),
        "entropy": _figures.entropy_histogram(subject)
        if subject.n_clusters > 1 and subject.clustered.any()
        else None,
    }
    title = title or (f"Clusters in {source}" if source else "A clustering")
    title = shorten(title, LONGEST_TITLE)
    parts = {
        "title": escape(title),
        "lede": _lede(subject),
        "figures": _key_figures(subject, silhouettes, comparison),
        "data": data_section(subject, profiles, source),
        "clusters": clusters_section(subject, profiles, silhouettes),
        "maps": _maps(subject, data),
        "fit": _fit(subject, silhouettes),
        "unusual": unusual_section(subject, profiles),
        "completed": completed_section(subject, profiles),
        "runs": runs_section(subject),
        "comparison": comparison_section(subject, comparison),
        "making": making_section(subject),
        "footer": f"Made by amclust {__version__} on {_today()}.",
        "style": _asset("report.css"),
        "script_data": script_data("report-data", data),
        "plotly": get_plotlyjs(),
        "script": _asset("report.js"),
    }
    # In one pass, so that nothing from the table is taken for a place to fill.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _asset("report.html"))


def _asset(filename: str) -> str:
    return resources.files("amclust.report").joinpath(filename).read_text(encoding="utf-8")


def _today() -> str:
    today = datetime.date.today()
    return f"{today.day} {today:%B %Y}"


def _lede(subject: Subject) -> str:
    rows, columns = counted(subject.n_rows, "row"), counted(len(subject.names), "column")
    if not subject.noise:
        return f"{rows} of {columns}{_placed(subject, subject.n_rows)}."
    noise = f"{count(subject.noise)} {'is' if subject.noise == 1 else 'are'} noise"
    if subject.noise == subject.n_rows:
        return f"{rows} of {columns}: {noise}, out of reach of all memories."
    clustered = subject.n_rows - subject.noise
    return f"{rows} of {columns}: {count(clustered)}{_placed(subject, clustered)}; {noise}."


def _placed(subject: Subject, clustered: int) -> str:
    """Say into which clusters so many rows fall, to go on after their number."""
    if subject.n_clusters == 1:
        return " around a single memory" if subject.noise else ", around a single memory"
    verb = "falls" if clustered == 1 else "fall"
    filled = np.flatnonzero(subject.sizes)
    if len(filled) == 1:
        together = "all " if clustered > 1 and not subject.noise else ""
        return f" {together}{verb} into cluster {filled[0]}"
    sizes = subject.sizes[filled]
    spread = (
        f"of {counted(int(sizes[0]), 'row')} each"
        if sizes.min() == sizes.max()
        else f"of {count(int(sizes.min()))} to {counted(int(sizes.max()), 'row')}"
    )
    return f" {verb} into {counted(len(sizes), 'cluster')} {spread}"


def _key_figures(
    subject: Subject,
    silhouettes: NDArray[np.float64] | None,
    comparison: Comparison | None,
) -> str:
    own = NOTHING if silhouettes is None else fixed(float(np.nanmean(silhouettes)), 3)
    other = NOTHING if comparison is None else fixed(comparison.k_means_silhouette, 3)
    missing = int(subject.missing.sum())
    facts = [
        ("Rows", count(subject.n_rows)),
        ("Columns", count(len(subject.names))),
        ("Missing", share(missing, subject.rows.size) if missing else "none"),
        ("Clusters", count(subject.n_clusters)),
        ("Silhouette", own),
        ("of k-means", other),
    ]
    if subject.noise:
        facts.insert(4, ("Noise", count(subject.noise)))
    cells = "".join(f"<div><dt>{term}</dt><dd>{fact}</dd></div>" for term, fact in facts)
    return f'<dl class="key">{cells}</dl>'


def _part_of_rows(subject: Subject, part: float) -> str:
    rows = "the rows in clusters" if subject.noise else "the rows"
    return f"{share(part, 1)} of {rows} are" if part else f"None of {rows} is"


def _sampling(subject: Subject, drawn: int) -> str:
    if drawn == subject.n_rows:
        return ""
    return f" Drawn are {count(drawn)} of {counted(subject.n_rows, 'row')}, picked at random."


def _maps(subject: Subject, data: _figures.PageData) -> str:
    drawn = len(data["projection"]["x"])
    flat = len(subject.names) <= 2
    view = (
        "The axis is the table’s only column; rows are moved up or down only to tell them apart."
        if len(subject.names) == 1
        else "The axes are the columns of the table."
        if flat
        else "The view is the one along which the rows differ most (their first two principal "
        "components); rows that seem close may still differ in other directions."
        if data["principal"]
        else "The axes are the table’s first two columns, since no row differs from another."
    )
    k = subject.n_clusters
    circles = "numbered circle" if data["numbered"] else "empty circle"
    pointed, seen = ("a dot", "row") if data["numbered"] else ("either", "row or cluster")
    repeated = (
        f"Colours come again after {len(LIGHT)} clusters, then with dots of another shape. "
        if k > len(LIGHT)
        else ""
    )
    grey = (
        "Grey dots are noise: rows out of reach of all memories, in no cluster. "
        if subject.noise
        else ""
    )
    rows = figure(
        "projection",
        "The rows",
        f"Scatter plot of {counted(drawn, 'row')} in the plane, coloured by cluster, with the "
        f"{counted(k, 'memory', 'memories')} as {circles}s.",
        f"Every dot is a row, every {circles} the memory of a cluster. Point at {pointed}, or tap "
        f"it, to see which {seen} it is. {grey}{repeated}{view}{_sampling(subject, drawn)}",
    )
    section = (
        ""
        if flat
        else " This is a cut through the mean of the rows: memories that lie off this plane are "
        "shown at their nearest point, which can be in another basin."
    )
    # Of other metrics the nearest memory does not change along straight lines.
    straight = subject.geometry.is_native
    dashed = "; dashed lines are where the nearest memory changes" if straight else ""
    differing = (
        " Dashed lines mark where the nearest memory changes: where they differ from the borders "
        "of the colours, several memories attract together."
        if straight
        else ""
    )
    unreached = (
        " From grey regions no memory is reached: what lies there is noise."
        if any(-1 in line for line in data["basins"]["labels"])
        else ""
    )
    basins = figure(
        "basins",
        "Basins of attraction",
        f"Map of the plane, coloured by which of {counted(k, 'memory', 'memories')} a point is "
        f"drawn to{dashed}.",
        "A point in a coloured region is carried by the dynamics of the network to the memory of "
        f"that colour.{differing}{unreached}{section}",
    )
    return rows + basins


def _fit(subject: Subject, silhouettes: NDArray[np.float64] | None) -> str:
    if subject.n_clusters == 1:
        return "<p>With a single cluster, no row lies between clusters.</p>"
    if subject.noise == subject.n_rows:
        return "<p>All rows are noise: none is in a cluster.</p>"
    parts = []
    left_out = " Noise is left out." if subject.noise else ""
    if silhouettes is None:
        which = "All rows in clusters" if subject.noise else "All rows"
        parts.append(f"<p>{which} fall to one memory: there are no silhouettes.</p>")
    else:
        known = silhouettes[np.isfinite(silhouettes)]
        mean, low = float(known.mean()), float(np.mean(known < 0))
        wrong = (
            f" {_part_of_rows(subject, low)} below 0: they are closer to another cluster."
            if low
            else ""
        )
        part = (
            f" Measured on a random sample of {counted(len(known), 'row')}."
            if subject.sampled
            else ""
        ) + _sampling(subject, len(subject.drawn))
        parts.append(
            figure(
                "knives",
                "How well rows fit their cluster",
                f"Silhouettes of the rows, cluster by cluster; the mean is {fixed(mean, 3)}.",
                "One thin bar per row, sorted inside its cluster: long to the right where a row is "
                "much closer to its own cluster than to the next one. Clusters with a broad, even "
                "edge are compact and apart from others. Clusters are numbered on the left, where "
                "there is room. The dashed line is the mean, "
                f"{fixed(mean, 3)}.{wrong}{left_out}{part}",
            )
        )
    undecided = float(np.mean(subject.entropy[subject.clustered] > np.log(2)))
    above = _part_of_rows(subject, undecided)
    parts.append(
        figure(
            "entropy",
            "How undecided rows are",
            f"Histogram of the entropy of memberships. {above} above log 2.",
            "The entropy of a row is 0 where a single memory attracts it, 0.69 (log 2) where two "
            f"do so equally, and {fixed(float(np.log(subject.n_clusters)), 2)} where all "
            f"{subject.n_clusters} do. {above} above 0.69.{left_out}",
        )
    )
    return "".join(parts)
