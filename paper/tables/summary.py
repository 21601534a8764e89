"""What it all comes to, in a few sentences whose numbers are those of the records."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from benchmarks.framework.pages import number, signed
from paper import sets
from paper.experiments.toys import ELONGATED, TOYS
from paper.published import SILHOUETTES
from paper.records import View, published
from paper.tables.ablations import QUESTIONS, effect_in_all
from paper.tables.targets import CLOSE
from paper.tables.timings import made, ratio

_DEFAULT = (
    "ClAM's default, whose ten restarts optimise the silhouette itself (not the paper's loss),"
)
_PAPER_SAYS = {
    "masking": "a gain of about 10 % on all sets",
    "learned weights": "gains and losses",
}


def summary(view: View) -> str:
    """Give the sentences as a list; those whose records are missing are left out."""
    parts = (_k_means, _paper_protocol, _honest_protocol, _ablations, _toys, _seconds)
    return "\n".join(f"- {sentence}" for part in parts for sentence in part(view))


def _k_means(view: View) -> Iterator[str]:
    differences = {
        name: abs(chosen["silhouette"] - paper)
        for name in view.table_sets
        if (chosen := view.chosen(name, "kmeans")) is not None
        if (paper := published(SILHOUETTES, name, "kmeans")) is not None
    }
    close = sum(difference <= CLOSE for difference in differences.values())
    others = [sets.title(name) for name, value in differences.items() if value > CLOSE]
    but = f" (not on {', '.join(others)})" if others else ""
    if differences:
        yield (
            f"**The data.** k-means has the paper's silhouette to within {CLOSE} on {close} of "
            f"{len(differences)} sets{but}."
        )


def _paper_protocol(view: View) -> Iterator[str]:
    reached, with_empty, living, count = 0, 0, 0, 0
    for name in view.table_sets:
        record = view.one("partitions", name, "clam", "paper")
        paper = published(SILHOUETTES, name, "clam")
        if record is None or paper is None or None in map(record.results.get, ("best", "living")):
            continue
        best, full, k = (record.results[part] for part in ("best", "living", "n_clusters"))
        is_reached = best["silhouette"] >= paper - CLOSE
        count += 1
        reached += is_reached
        with_empty += is_reached and best["living"] < k
        living += full["living"] == k and full["silhouette"] >= paper - CLOSE
    if count:
        yield (
            f"**By the paper's rule**, the best silhouette over the grid whatever its clusters, "
            f"ClAM is within {CLOSE} of its published silhouette or above on {reached} of {count} "
            f"sets. On {with_empty} of these the winner has empty clusters. The best partition "
            f"that keeps all k clusters is as good on {living}."
        )


def _honest_protocol(view: View) -> Iterator[str]:
    for method, protocol, words in (
        ("clam", "honest", "With equal budgets and k living clusters** ClAM as published"),
        ("clam-default", "default", f"Without any search** {_DEFAULT}"),
    ):
        pairs = [
            (ours, theirs)
            for name in view.table_sets
            if (ours := _mean(view, name, method, protocol)) is not None
            if (theirs := _mean(view, name, "kmeans", "honest")) is not None
        ]
        if not pairs:
            continue
        rounded = [round(ours, 3) - round(theirs, 3) for ours, theirs in pairs]
        above, below = sum(x > 0 for x in rounded), sum(x < 0 for x in rounded)
        yield (
            f"**{words} has a higher silhouette than k-means under the honest protocol on {above}, "
            f"and a lower one on {below} of {len(pairs)} sets (mean difference "
            f"{signed(fmean(ours - theirs for ours, theirs in pairs))})."
        )


def _mean(view: View, name: str, method: str, protocol: str) -> float | None:
    found = view.seeds(name, method, protocol).values()
    return fmean(one["silhouette"] for one in found) if found else None


def _ablations(view: View) -> Iterator[str]:
    for question in QUESTIONS:
        found = effect_in_all(view, question, "silhouette")
        if found is not None:
            change = "lowers" if found.mean < 0 else "raises"
            sense = f"it {change} it" if found.is_clear else "that cannot be told from nothing"
            yield (
                f"**{question.capitalize()}**: the mean difference of the silhouette over the sets "
                f"is {signed(found.mean)} ± {found.half_width:.3f} (95 %): {sense}. The paper has "
                f"{_PAPER_SAYS[question]}."
            )


def _toys(view: View) -> Iterator[str]:
    parts = []
    for toy in (*ELONGATED, "noisy"):
        methods = ("clam-completion", "clam", "kmeans-silhouette")
        found = [view.toys(toy, method, "ari") for method in methods]
        if all(found):
            means = " / ".join(number(fmean(one), 2) for one in found)
            parts.append(f"{TOYS[toy].title} {means}")
    if parts:
        yield (
            "**Toys**, made and tuned by us: mean ARI of ClAM with the paper's loss / with its "
            f"default loss / of Lloyd chosen by silhouette: {', '.join(parts)}."
        )


def _seconds(view: View) -> Iterator[str]:
    ratios = [
        f"{ratio(record):.2g} on {sets.title(name)}{made(record)}"
        for name in sets.TIMED_SETS
        if (record := view.timing(name)) is not None
    ]
    if ratios:
        yield (
            "**Time.** ClAM's default (10 restarts) takes, as a part of the time of k-means with "
            f"1000 (on made data 3, scaled up): {', '.join(ratios)}."
        )
