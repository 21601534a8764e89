"""The section on k-means: the same number of restarts, beside the model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from amclust.report._comparison import Comparison
from amclust.report._html import paragraphs, table
from amclust.report._numbers import NOTHING, count, counted, fixed
from amclust.report._subject import Subject

SIZES_SHOWN = 12
# Smaller differences of silhouettes are not worth a word.
NOTICEABLE = 0.005


def comparison_section(subject: Subject, comparison: Comparison | None) -> str:
    """Tell how k-means does on the same rows."""
    if comparison is None:
        return paragraphs(
            "With a single cluster there is nothing to compare."
            if subject.n_clusters < 2
            else f"There are fewer rows{' in clusters' if subject.noise else ''} than clusters: "
            "k-means cannot be run on them."
        )
    listing = table(
        "Two partitions of the same rows",
        ("", "ClAM", "k-means"),
        [
            (
                "Silhouette",
                fixed(comparison.silhouette, 4),
                fixed(comparison.k_means_silhouette, 4),
            ),
            ("Restarts", count(len(subject.model.runs_)), count(comparison.restarts)),
            ("Sizes of the clusters", _sizes(comparison.sizes), _sizes(comparison.k_means_sizes)),
        ],
        numeric=(1, 2),
        classes="wrapping",
    )
    return paragraphs(_setting(subject, comparison), _verdict(comparison)) + listing


def _setting(subject: Subject, comparison: Comparison) -> str:
    rule = "highest silhouette" if subject.model.selection == "silhouette" else "least inertia"
    setting = (
        f"k-means was run {counted(comparison.restarts, 'time')} on the same rows with the same "
        f"scaling, and the run with the {rule} was kept, as for the model."
    )
    texts = [setting]
    if subject.noise:
        texts.append("k-means knows no noise: it had the rows in clusters only.")
    if subject.missing.any():
        texts.append(
            "k-means takes no missing values: it had the rows as the model completes them. Both "
            "partitions are judged by the known values alone."
        )
    if subject.sampled:
        texts.append(
            "All numbers here are of a random sample of "
            f"{counted(int(comparison.sizes.sum()), 'row')}."
        )
    if not subject.is_training_data:
        texts.append(
            "k-means was fitted to these very rows, the model to others, perhaps: the comparison "
            "favours k-means."
        )
    return " ".join(texts)


def _verdict(comparison: Comparison) -> str:
    difference = comparison.silhouette - comparison.k_means_silhouette
    if not np.isfinite(difference):
        return "One of the two has all rows in one cluster, and so no silhouette."
    if abs(difference) < NOTICEABLE:
        better = "Their silhouettes are as good as equal."
    else:
        who = "ClAM’s" if difference > 0 else "That of k-means"
        noun = " silhouette" if difference > 0 else ""
        better = f"{who}{noun} is higher by {fixed(abs(difference), 3)}."
    return f"{better} {_agreement(comparison.agreement)}"


def _agreement(value: float) -> str:
    if value > 0.999:
        return "The two partitions are the same."
    degrees = ((0.9, "nearly the same"), (0.6, "similar"), (0.3, "related"))
    words = next((words for least, words in degrees if value >= least), "quite different")
    return (
        f"The two partitions are {words}: their agreement is {fixed(value, 2)} (adjusted Rand "
        "index), where 1 means the same and 0 no more than chance."
    )


def _sizes(sizes: NDArray[np.int64]) -> str:
    shown = ", ".join(count(int(size)) for size in sizes[:SIZES_SHOWN])
    hidden = len(sizes) - SIZES_SHOWN
    return f"{shown} and {count(hidden)} more" if hidden > 0 else shown or NOTHING
