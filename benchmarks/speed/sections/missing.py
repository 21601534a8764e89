"""Training with missing entries against mean imputation with k-means, and against k-POD."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from amclust import ClAM
from benchmarks.data import (
    BoolArray,
    FloatArray,
    IntArray,
    Table,
    draw_removed,
    load_table,
    standardise,
)
from benchmarks.framework import Entry, Line, Target, timed
from benchmarks.kpod import k_pod
from benchmarks.speed.settings import Settings

DATA_SETS = ("zoo", "ecoli", "segment", "ctg")
FRACTIONS = (0.2, 0.4)
RESTARTS = 10  # the same for every method


class Draw(NamedTuple):
    """One random choice of removed entries, in units standardised by the observed ones."""

    incomplete: FloatArray
    truth: FloatArray
    removed: BoolArray


class Scores(NamedTuple):
    """Agreement with the classes and completion errors of all methods on one draw."""

    ari_ours: float
    ari_imputed: float
    ari_k_pod: float
    ari_k_pod_settled: float
    rmse_ours: float
    rmse_k_pod: float
    rmse_k_pod_settled: float


def run(settings: Settings) -> Iterator[Entry]:
    """Compare per data set, then over all four."""
    draws = settings.pick(full=10, quick=2)
    tables = [load_table(name, settings.data_dir) for name in DATA_SETS]
    for fraction in FRACTIONS:
        everything: list[Scores] = []
        for table in tables:
            scores = [_score(table, fraction, seed) for seed in range(draws)]
            everything += scores
            yield from _lines(table.name, fraction, scores, f"mean of {draws} draws")
        note = f"mean over the {len(tables)} sets, {draws} draws each"
        yield from _lines("all four", fraction, everything, note)


def _draw(features: FloatArray, fraction: float, seed: int) -> Draw:
    """Remove entries; the scale is that of the observed entries, as a user would have it."""
    removed = draw_removed((features.shape[0], features.shape[1]), fraction, seed)
    incomplete = np.where(removed, np.nan, features)
    center = np.nanmean(incomplete, axis=0)
    spread = np.nanstd(incomplete, axis=0)
    truth = (features - center) / np.where(spread > 0.0, spread, 1.0)
    return Draw(standardise(incomplete), truth, removed)


def _score(table: Table, fraction: float, seed: int) -> Scores:
    """Give every method the same missing values, the same k and the same number of restarts."""
    draw = _draw(table.features, fraction, seed)
    k = table.n_clusters
    # Warnings of runs that still improve are not the subject here.
    ours = timed(lambda: ClAM(k, n_init=RESTARTS, random_state=seed).fit(draw.incomplete)).result
    # Standardised by the observed entries, the mean of every feature is 0.
    mean_filled = np.nan_to_num(draw.incomplete, nan=0.0)
    imputed = KMeans(k, n_init=RESTARTS, random_state=seed).fit(mean_filled)
    pod = k_pod(draw.incomplete, k, n_init=RESTARTS, random_state=seed)
    settled = k_pod(draw.incomplete, k, n_init=RESTARTS, stop="loss", random_state=seed)
    return Scores(
        _ari(table, ours.labels_),
        _ari(table, imputed.labels_),
        _ari(table, pod.labels),
        _ari(table, settled.labels),
        _rmse(draw, ours.complete(draw.incomplete)),
        _rmse(draw, pod.completed),
        _rmse(draw, settled.completed),
    )


def _ari(table: Table, labels: IntArray) -> float:
    return float(adjusted_rand_score(table.classes, labels))


def _rmse(draw: Draw, completed: FloatArray) -> float:
    """Root mean squared error over the removed entries."""
    return float(np.sqrt(np.mean(np.square(completed - draw.truth)[draw.removed])))


def _lines(name: str, fraction: float, scores: list[Scores], note: str) -> Iterator[Line]:
    columns = {field: [getattr(score, field) for score in scores] for field in Scores._fields}
    title = f"{name}, {fraction:.0%} missing"
    better = Target("difference", ">", 0.0)
    lower = Target("difference", "<", 0.0)
    ari, rmse = columns["ari_ours"], columns["rmse_ours"]
    note = f"{note}, {RESTARTS} restarts for every method"
    yield _line(f"{title}, ARI", ari, columns["ari_imputed"], "mean + KMeans", better, note)
    # The authors' program stops early; whoever runs it on gets the second number.
    longer = f"{note}; k-POD run on until its loss settles:"
    ari_note = f"{longer} {fmean(columns['ari_k_pod_settled']):.3f}"
    yield _line(f"{title}, ARI", ari, columns["ari_k_pod"], "k-POD", better, ari_note)
    rmse_note = f"{longer} {fmean(columns['rmse_k_pod_settled']):.3f}"
    yield _line(f"{title}, RMSE", rmse, columns["rmse_k_pod"], "k-POD", lower, rmse_note)


def _line(
    what: str, ours: list[float], peer: list[float], peer_name: str, target: Target, note: str
) -> Line:
    mine, theirs = fmean(ours), fmean(peer)
    return Line(
        what=what,
        ours=mine,
        peer=theirs,
        peer_name=peer_name,
        value=mine - theirs,
        target=target,
        note=note,
        samples={"ours": ours, "peer": peer},
    )
