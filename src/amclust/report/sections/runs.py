"""The section on the runs: all restarts, and how one of them was chosen."""

from __future__ import annotations

import numpy as np

from amclust._training import order_runs
from amclust.report._html import paragraphs, table
from amclust.report._numbers import count, counted, fixed, number
from amclust.report._subject import Subject
from amclust.report._words import more

RUNS_SHOWN = 12


def runs_section(subject: Subject) -> str:
    """List the runs, the best first."""
    model, runs = subject.model, subject.model.runs_
    order = order_runs(-runs["living_clusters"], runs["silhouette"], runs["loss"], model.selection)
    chosen = int(np.flatnonzero(runs["chosen"])[0])
    # The chosen one stays first where runs are equally good.
    order = np.concatenate([[chosen], order[order != chosen]])
    listing = table(
        "The runs, the best first",
        ("Run", "Silhouette", "Loss", "Clusters with rows", "Epochs", "Seed"),
        [
            (
                f"{i + 1}{' <b class=chosen>chosen</b>' if i == chosen else ''}",
                fixed(float(runs["silhouette"][i]), 4),
                number(float(runs["loss"][i]), 4),
                count(int(runs["living_clusters"][i])),
                count(int(runs["n_iter"][i])) + ("" if runs["converged"][i] else "*"),
                str(runs["seed"][i]),
            )
            for i in order[:RUNS_SHOWN]
        ],
        numeric=range(1, 6),
        classes="compact",
    )
    unfinished = not runs["converged"][order[:RUNS_SHOWN]].all()
    note = '<p class="more">* stopped before it had converged</p>' if unfinished else ""
    return (
        paragraphs(_explanation(subject, chosen))
        + listing
        + more(len(runs) - RUNS_SHOWN, "run")
        + note
        + _evidence(subject)
    )


def _explanation(subject: Subject, chosen: int) -> str:
    model, n_runs = subject.model, len(subject.model.runs_)
    if n_runs == 1:
        return "The model comes from a single run, so there was nothing to choose among."
    rule = (
        "the highest silhouette"
        if model.selection == "silhouette" and subject.n_clusters > 1
        else "the lowest loss"
    )
    return (
        f"Training was started {n_runs:,} times from different memories. Of the runs with the most "
        f"clusters that have rows, the one with {rule} was kept: run {chosen + 1}. Runs that agree "
        "are a good sign; runs that differ much say that other partitions are nearly as good."
    )


def _evidence(subject: Subject) -> str:
    """Show how the number of clusters was found, where it was not given."""
    evidence = getattr(subject.model, "n_clusters_evidence_", None)
    if evidence is None:
        return ""
    listing = table(
        "How many clusters",
        ("Clusters", "Votes", "Silhouette", "By chance", "Above chance"),
        [
            (
                f"{entry['n_clusters']}{' <b class=chosen>chosen</b>' if entry['chosen'] else ''}",
                count(int(entry["votes"])),
                fixed(float(entry["silhouette"]), 3),
                fixed(float(entry["reference"]), 3),
                fixed(float(entry["adjusted"]), 3),
            )
            for entry in evidence
        ],
        numeric=range(1, 5),
    )
    return (
        "<h3>How many clusters</h3>"
        + paragraphs(
            f"The number was not given. Resamples of the rows voted among "
            f"{counted(len(evidence), 'candidate')} for the one whose silhouette stands out most "
            f"from that of rows without clusters: {subject.n_clusters}."
        )
        + listing
    )
