"""The section on the clusters: their sizes, and what distinguishes each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from amclust.report._clusters import Profiles, most_typical_rows
from amclust.report._html import name, paragraphs, table
from amclust.report._numbers import NOTHING, count, counted, fixed, share
from amclust.report._subject import Subject
from amclust.report._words import departures_list, more, swatch, unit_of

CLUSTERS_SHOWN = 40


def clusters_section(
    subject: Subject, profiles: Profiles, silhouettes: NDArray[np.float64] | None
) -> str:
    """Tell how large the clusters are and what distinguishes them."""
    sizes, k = subject.sizes, subject.n_clusters
    shown = np.arange(k) if k <= CLUSTERS_SHOWN else np.argsort(-sizes, kind="stable")
    shown, hidden = shown[:CLUSTERS_SHOWN], shown[CLUSTERS_SHOWN:]
    typical = most_typical_rows(subject)
    means = _mean_silhouettes(subject, silhouettes)
    rows = [
        (
            swatch(int(m)),
            _size(subject, int(m)),
            means[m],
            departures_list(subject, profiles, profiles.of_cluster(int(m)), "all rows")
            if sizes[m]
            else "no row falls to this memory",
            name(subject.row_name(typical[int(m)])) if sizes[m] else NOTHING,
        )
        for m in shown
    ]
    if subject.noise:
        text = "out of reach of all memories: in no cluster"
        rows.append((swatch(-1), _size(subject, -1), NOTHING, text, NOTHING))
    listing = table(
        "The clusters" if not len(hidden) else f"The {CLUSTERS_SHOWN} largest clusters",
        ("Cluster", "Rows", "Silhouette", "What distinguishes it", "Most typical row"),
        rows,
        numeric=(2,),
        classes="stack",
    )
    rest = f", with {counted(int(sizes[hidden].sum()), 'row')}"
    return (
        paragraphs(_explanation(subject, profiles))
        + listing
        + more(len(hidden), "cluster", rest=rest)
    )


def _explanation(subject: Subject, profiles: Profiles) -> str:
    unit = (
        "the difference is also given in standard deviations (sd)"
        if unit_of(subject)
        else "columns were not scaled, so that the largest differences come first"
    )
    kind = (
        "Memories are directions: values are parts of a row of length 1. "
        if profiles.directions
        else ""
    )
    return (
        "Every cluster has a memory, a typical row that the rows of the cluster are drawn to. "
        "Listed are the features in which it departs most from the mean of all rows; "
        f"{unit}. {kind}The silhouette is near 1 where rows are much closer to their own cluster "
        "than to the next, and near 0 where they lie between two."
    )


def _size(subject: Subject, cluster: int) -> str:
    size, n = int(subject.sizes[cluster]) if cluster >= 0 else subject.noise, subject.n_rows
    width = 100 * size / max(1, int(subject.sizes.max()), subject.noise)
    return (
        f'<span class="size">{count(size)} <span class="share">{share(size, n)}</span></span>'
        f'<i class="bar" data-cluster="{cluster}" style="width:{width:.0f}%" '
        'aria-hidden="true"></i>'
    )


def _mean_silhouettes(subject: Subject, silhouettes: NDArray[np.float64] | None) -> list[str]:
    """Write the mean silhouette of each cluster's (sampled) rows."""
    if silhouettes is None:
        return [NOTHING] * subject.n_clusters
    kept = subject.clustered[subject.sample]
    labels = subject.labels[subject.sample][kept]
    totals = np.bincount(labels, silhouettes[kept], minlength=subject.n_clusters)
    counts = np.bincount(labels, minlength=subject.n_clusters)
    return [fixed(a / b, 2) if b else NOTHING for a, b in zip(totals, counts, strict=True)]
