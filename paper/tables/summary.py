"""What it all comes to: the numbers of the sentences at the head of the page."""

from statistics import fmean
from typing import NamedTuple

from benchmarks.framework.pages import number
from paper import sets
from paper.experiments.toys import ELONGATED, TOYS
from paper.published import SILHOUETTES
from paper.records import View, published
from paper.tables.targets import CLOSE
from paper.tables.timings import made, ratio


def k_means_is_close(view: View) -> dict[str, bool]:
    """Say of each set, by its title, whether k-means has the paper's silhouette."""
    return {
        sets.title(name): abs(chosen["silhouette"] - paper) <= CLOSE
        for name in view.table_sets
        if (chosen := view.chosen(name, "kmeans")) is not None
        if (paper := published(SILHOUETTES, name, "kmeans")) is not None
    }


class Reached(NamedTuple):
    """Where ClAM has its published silhouette by the paper's rule, and at which price."""

    count: int = 0
    reached: int = 0
    with_empty: int = 0
    living: int = 0


def paper_rule(view: View) -> Reached:
    """Count the sets that have records, and those of them on which ClAM is as good."""
    found = Reached()
    for name in view.table_sets:
        record = view.one("partitions", name, "clam", "paper")
        paper = published(SILHOUETTES, name, "clam")
        if record is None or paper is None or None in map(record.results.get, ("best", "living")):
            continue
        best, full, k = (record.results[part] for part in ("best", "living", "n_clusters"))
        reached = best["silhouette"] >= paper - CLOSE
        found = Reached(
            found.count + 1,
            found.reached + reached,
            found.with_empty + (reached and best["living"] < k),
            found.living + (full["living"] == k and full["silhouette"] >= paper - CLOSE),
        )
    return found


class Comparison(NamedTuple):
    """On how many sets a mean silhouette is above and below that of k-means, in three digits."""

    above: int
    below: int
    count: int
    difference: float


def beside_k_means(view: View, method: str, protocol: str) -> Comparison | None:
    """Compare with k-means under the honest protocol; None without records."""
    pairs = [
        (ours, theirs)
        for name in view.table_sets
        if (ours := _mean(view, name, method, protocol)) is not None
        if (theirs := _mean(view, name, "kmeans", "honest")) is not None
    ]
    if not pairs:
        return None
    rounded = [round(ours, 3) - round(theirs, 3) for ours, theirs in pairs]
    above, below = sum(x > 0 for x in rounded), sum(x < 0 for x in rounded)
    return Comparison(above, below, len(pairs), fmean(ours - theirs for ours, theirs in pairs))


def _mean(view: View, name: str, method: str, protocol: str) -> float | None:
    found = view.seeds(name, method, protocol).values()
    return fmean(one["silhouette"] for one in found) if found else None


def toys(view: View) -> list[str]:
    """Give the mean ARI of three methods on each toy."""
    parts = []
    for toy in (*ELONGATED, "noisy"):
        methods = ("clam-completion", "clam", "kmeans-silhouette")
        found = [view.toys(toy, method, "ari") for method in methods]
        if all(found):
            means = " / ".join(number(fmean(one), 2) for one in found)
            parts.append(f"{TOYS[toy].title} {means}")
    return parts


def ratios(view: View) -> list[str]:
    """Give the time of ClAM's default on each set, as a part of that of k-means."""
    return [
        f"{ratio(record):.2g} on {sets.title(name)}{made(record)}"
        for name in sets.TIMED_SETS
        if (record := view.timing(name)) is not None
    ]
