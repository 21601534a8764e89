"""The cases: a variant of the recipe on a set, averaged over the seeds.

The library has no options for what did not work; what the default is made of is a value, the
recipe, and a variant passes another one.
"""

import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import islice
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from amclust import ClAM
from amclust._recipe import Recipe, Stage
from benchmarks.data import FloatArray, IntArray, load_set
from benchmarks.folders import RESULTS
from benchmarks.framework.cases import Case, unpack_labels
from benchmarks.framework.running import Unfinished
from benchmarks.framework.store import Store
from benchmarks.partitions import choose, living_clusters, silhouettes, stability
from benchmarks.protocol import RESTARTS
from benchmarks.quality import cases as quality

Centres = Callable[[FloatArray, int, np.random.Generator], Iterator[FloatArray]]

_TREE_ROWS = 1024
# A consensus is of so many runs out of so many.
_RUNS, _POOL = 10, 40


def fit_clam(
    features: FloatArray, n_clusters: int, seed: int, recipe: Recipe | None = None, **more: Any
) -> IntArray:
    """Cluster by a ClAM of another recipe, with the default number of restarts, in one thread."""
    kind = type("ClAM", (ClAM,), {"recipe": recipe or Recipe()})
    model = kind(n_clusters, **{"n_init": RESTARTS} | more, n_jobs=1, random_state=seed)
    return model.fit_predict(features)


def fit_half_from(centres: Centres) -> Callable[[FloatArray, int, int], IntArray]:
    """Seed half of the restarts by given centres, the others by k-means++."""

    def fit(features: FloatArray, n_clusters: int, seed: int) -> IntArray:
        half = RESTARTS // 2
        rng = np.random.default_rng(seed)
        rows = features[rng.permutation(len(features))[:_TREE_ROWS]]
        starts = islice(centres(rows, n_clusters, rng), RESTARTS - half)
        labelings = np.stack(
            [
                fit_clam(features, n_clusters, seed, init="k-means++", n_init=half),
                *(fit_clam(features, n_clusters, seed, init=start) for start in starts),
            ]
        )
        return labelings[choose(labelings, silhouettes(features, labelings))]

    return fit


def consensus_centres(
    rows: FloatArray, n_clusters: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield the clusters of an average-linkage tree of what ten k-means runs agree on."""
    pool = [
        KMeans(n_clusters, n_init=1, random_state=int(one)).fit_predict(rows)
        for one in rng.integers(2**31, size=_POOL)
    ]
    while True:
        runs = rng.choice(_POOL, _RUNS, replace=False)
        partitions = np.stack([pool[run] for run in runs], axis=1)
        tree = linkage(partitions, "average", metric="hamming")
        yield _means(rows, cut_tree(tree, n_clusters)[:, 0])


def ward_centres(
    rows: FloatArray, n_clusters: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield the clusters of Ward trees of nine tenths of the rows, which are not smoothed."""
    while True:
        part = rows[rng.permutation(len(rows))[: max(int(0.9 * len(rows)), 2 * n_clusters)]]
        yield _means(part, cut_tree(linkage(part, "ward"), n_clusters)[:, 0])


def _means(rows: FloatArray, labels: IntArray) -> FloatArray:
    return np.stack([rows[labels == label].mean(axis=0) for label in np.unique(labels)])


@dataclass(frozen=True)
class Variant:
    """One way to fit: ClAM with parameters and a recipe, or by a function of its own."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    recipe: Recipe = field(default_factory=Recipe)
    fit: Callable[[FloatArray, int, int], IntArray] | None = None

    def definition(self) -> dict[str, Any]:
        """Say what is other than in the default."""
        default = asdict(Recipe())
        changed = {key: one for key, one in asdict(self.recipe).items() if one != default[key]}
        return {"parameters": dict(self.parameters), "recipe": changed}

    def labels(self, features: FloatArray, n_clusters: int, seed: int) -> IntArray:
        if self.fit is not None:
            return self.fit(features, n_clusters, seed)
        return fit_clam(features, n_clusters, seed, recipe=self.recipe, **self.parameters)


def _beta(gap_factor: float) -> Variant:
    proportion = Recipe().separated_factor / Recipe().gap_factor
    recipe = Recipe(gap_factor=gap_factor, separated_factor=proportion * gap_factor)
    return Variant(recipe=recipe)


def _stages(*stages: Stage) -> Variant:
    return Variant(recipe=Recipe(stages=stages))


DEFAULT = "default"
VARIANTS = {
    DEFAULT: Variant(),
    "first release": Variant(
        {"init": "k-means++"},
        Recipe(anchor=1.0, anchor_unit="inside", gap_factor=3.0, separated_factor=1.0),
    ),
    "seeds: k-means++ only": Variant({"init": "k-means++"}),
    "seeds: Ward only": Variant({"init": "ward"}),
    "seeds: random rows only": Variant({"init": "random"}),
    "seeds: Ward of unsmoothed rows, k-means++": Variant(fit=fit_half_from(ward_centres)),
    "seeds: consensus, k-means++": Variant(fit=fit_half_from(consensus_centres)),
    "β: gap factor 3": _beta(3.0),
    "β: gap factor 12": _beta(12.0),
    "β: gap factor 48": _beta(48.0),
    "β: annealed, gap factor 6 then 48": _stages(
        Stage(beta_factor=0.25), Stage(beta_factor=2.0, learning_rate=0.03)
    ),
    "anchor 0": Variant(recipe=Recipe(anchor=0.0)),
    "anchor 0.5": Variant(recipe=Recipe(anchor=0.5)),
    "anchor 1": Variant(recipe=Recipe(anchor=1.0)),
    "anchor 4": Variant(recipe=Recipe(anchor=4.0)),
    "anchor 1 / scatter inside": Variant(recipe=Recipe(anchor=1.0, anchor_unit="inside")),
    "anchor 3 / scatter inside": Variant(recipe=Recipe(anchor=3.0, anchor_unit="inside")),
    "tie 0": Variant(recipe=Recipe(tie=0.0)),
    "tie 0.5": Variant(recipe=Recipe(tie=0.5)),
    "learned weights": Variant({"weights": "learn"}),
    "objective: completion": Variant({"objective": "completion"}),
    "objective: completion, then silhouette": _stages(
        Stage(objective="completion"), Stage(objective="silhouette")
    ),
    "choice: by training loss": Variant({"selection": "loss"}),
}


K_MEANS = "k-means"
K_MEANS_SEEDS = 10
SMALL_SETS = ("zoo", "ecoli", "movement_libras", "wine", "breast_cancer", "iris")
SEEDS = {**dict.fromkeys(SMALL_SETS, 10), "digits": 6}  # three for the others


class Key(NamedTuple):
    variant: str
    set: str


def make_case(key: Key, seeds: int | None = None) -> Case[Key]:
    if key.variant == K_MEANS:
        return Case(key, {"seeds": K_MEANS_SEEDS, "restarts": RESTARTS})
    definition = VARIANTS[key.variant].definition()
    seeds = seeds or SEEDS.get(key.set, 3)
    return Case(key, {"seeds": seeds, "restarts": RESTARTS, **definition})


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    """Fit a variant to a set with every seed, and average; seconds are the CPU's, of a seed."""
    data, seeds = load_set(case.key.set, options.data_dir), range(case.definition["seeds"])
    start = time.process_time()  # in one thread, and whoever else is on the machine
    if case.key.variant == K_MEANS:
        labelings = [_k_means_labels(case.key.set, seed, options) for seed in seeds]
    else:
        fit = VARIANTS[case.key.variant].labels
        labelings = [fit(data.features, data.n_clusters, seed) for seed in seeds]
    unfinished.seconds = (time.process_time() - start) / len(seeds)
    # A partition is judged alone, since its k may differ.
    scores = [float(silhouettes(data.features, one[None])[0]) for one in labelings]
    return {
        "silhouette": round(fmean(scores), 5),
        "ari": round(fmean(adjusted_rand_score(data.classes, one) for one in labelings), 5),
        "stability": round(stability(labelings), 5),
        "living": fmean(living_clusters(one) for one in labelings),
    }


def _k_means_labels(name: str, seed: int, options: Namespace) -> IntArray:
    """Take k-means' partition from the quality benchmark; one that is not recorded is run."""
    case = quality.make_case(quality.Key(name, "kmeans", seed), options.data_dir)
    record = _quality_store().get(case)
    found = record.results if record else quality.perform(case, Unfinished(), options)
    return unpack_labels(found["labels"])


@cache
def _quality_store() -> Store[quality.Key]:
    return Store(RESULTS / "quality.jsonl", quality.Key)
