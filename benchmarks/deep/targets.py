"""What DeepClAM has to reach, and whether it does."""

from __future__ import annotations

import math
from collections.abc import Iterator

from benchmarks.deep.methods import DCEC, DEC, DEEP_CLAM, K_MEANS, METHODS
from benchmarks.deep.summary import ACCURACY, NMI, RATIO, Measure, Series, Summary
from benchmarks.records import Line, Target

PEERS = (K_MEANS, DEC, DCEC)
LARGEST_RATIO = 1.10
FEWEST_SEEDS = 3


def target_lines(summary: Summary) -> Iterator[Line]:
    """Hold the results against the targets, over the seeds that both methods have.

    Parameters
    ----------
    summary : Summary
        The records.

    Yields
    ------
    Line
        A comparison; one over too few seeds or with dead clusters does not count.
    """
    for name in summary.sets:
        ours = summary[name, DEEP_CLAM]
        if not ours:
            continue
        for measure in (NMI, ACCURACY):
            for peer in PEERS:
                seeds = [seed for seed in summary[name, peer].seeds if seed in ours.seeds]
                if seeds:
                    pair = ours.over(seeds), summary[name, peer].over(seeds)
                    yield _against_peer(name, measure, METHODS[peer].title, *pair)
        yield _reconstruction(name, ours)


def _against_peer(name: str, measure: Measure, title: str, ours: Series, peer: Series) -> Line:
    note = _note(ours)
    other = "" if peer.kind == ours.kind else f" on its {peer.kind} autoencoder"
    return Line(
        what=f"{name}: {measure.title}",
        unit="",
        ours=ours.mean(measure),
        peer=peer.mean(measure),
        peer_name=title + other,
        value=ours.mean(measure) - peer.mean(measure),
        ratio=math.nan,
        target=Target("gain", ">", 0.0),
        valid=not note,
        note=note,
        samples={"ours": ours.values(measure), "peer": peer.values(measure)},
    )


def _reconstruction(name: str, ours: Series) -> Line:
    note = _note(ours)
    return Line(
        what=f"{name}: reconstruction over pre-training's",
        unit="",
        ours=ours.mean(RATIO),
        peer=math.nan,
        peer_name="",
        value=ours.mean(RATIO),
        target=Target("ratio", "<=", LARGEST_RATIO),
        ratio=ours.mean(RATIO),
        valid=not note,
        note=note,
        samples={"ours": ours.values(RATIO)},
    )


def _note(ours: Series) -> str:
    """Say why a comparison does not count, or nothing."""
    if len(ours.seeds) < FEWEST_SEEDS:
        return f"{len(ours.seeds)} seeds of at least {FEWEST_SEEDS}"
    return "" if ours.alive else "some of DeepClAM's partitions have dead clusters"
