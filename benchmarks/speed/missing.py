"""Training with missing values against mean imputation with k-means, and against k-POD."""

from argparse import Namespace
from collections.abc import Iterator
from statistics import fmean

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from amclust import ClAM
from benchmarks.data import FloatArray, Table, draw_removed, load_table, standardise
from benchmarks.framework.lines import Entry, Line, Target, timed
from benchmarks.kpod import k_pod

DATA_SETS = ("zoo", "ecoli", "segment", "ctg")
FRACTIONS = (0.2, 0.4)
RESTARTS = 10  # the same for every method
_IMPUTED, _K_POD, _SETTLED = "mean + KMeans", "k-POD", "k-POD, settled"
_COMPARED = (("ARI", _IMPUTED, ">"), ("ARI", _K_POD, ">"), ("RMSE", _K_POD, "<"))

Scores = dict[str, float]  # by "ARI, method" and "RMSE, method"


def missing(options: Namespace) -> Iterator[Entry]:
    draws = 2 if options.quick else 10
    tables = [load_table(name, options.data_dir) for name in DATA_SETS]
    for fraction in FRACTIONS:
        everything: list[Scores] = []
        for table in tables:
            scores = [_score(table, fraction, seed) for seed in range(draws)]
            everything += scores
            yield from _lines(f"{table.name}, {fraction:.0%}", scores, f"mean of {draws} draws")
        note = f"mean over the {len(tables)} sets, {draws} draws each"
        yield from _lines(f"all four, {fraction:.0%}", everything, note)


def _score(table: Table, fraction: float, seed: int) -> Scores:
    """Give every method the same missing values, the same k and the same number of restarts.

    The scale is that of the observed entries, as a user would have it.
    """
    features, k = table.features, table.n_clusters
    removed = draw_removed((features.shape[0], features.shape[1]), fraction, seed)
    observed = np.where(removed, np.nan, features)
    spread = np.nanstd(observed, axis=0)
    truth = (features - np.nanmean(observed, axis=0)) / np.where(spread > 0.0, spread, 1.0)
    incomplete = standardise(observed)
    # Warnings of runs that still improve are not the subject here.
    ours = timed(lambda: ClAM(k, n_init=RESTARTS, random_state=seed).fit(incomplete)).result
    # Standardised by the observed entries, the mean of every feature is 0.
    mean_filled = np.nan_to_num(incomplete, nan=0.0)
    imputed = KMeans(k, n_init=RESTARTS, random_state=seed).fit(mean_filled)
    pod = k_pod(incomplete, k, n_init=RESTARTS, random_state=seed)
    settled = k_pod(incomplete, k, n_init=RESTARTS, stop="loss", random_state=seed)

    def rmse(completed: FloatArray) -> float:
        return float(np.sqrt(np.mean(np.square(completed - truth)[removed])))

    labels = {"ours": ours.labels_, _IMPUTED: imputed.labels_}
    labels |= {_K_POD: pod.labels, _SETTLED: settled.labels}
    completed = {"ours": ours.complete(incomplete)}
    completed |= {_K_POD: pod.completed, _SETTLED: settled.completed}
    aris = {
        f"ARI, {one}": adjusted_rand_score(table.classes, found) for one, found in labels.items()
    }
    return aris | {f"RMSE, {one}": rmse(found) for one, found in completed.items()}


def _lines(title: str, scores: list[Scores], note: str) -> Iterator[Line]:
    found = {name: [one[name] for one in scores] for name in scores[0]}
    note = f"{note}, {RESTARTS} restarts for every method"
    for quantity, peer, relation in _COMPARED:
        # The authors' program stops early; whoever runs it on gets the number in the note.
        settled = fmean(found[f"{quantity}, {_SETTLED}"])
        longer = f"; k-POD run on until its loss settles: {settled:.3f}"
        yield Line.of_means(
            f"{title} missing, {quantity}",
            found[f"{quantity}, ours"],
            found[f"{quantity}, {peer}"],
            peer_name=peer,
            target=Target("difference", relation, 0.0),
            note=note + (longer if peer == _K_POD else ""),
        )
