"""``python -m benchmarks.recipe``: fit the variants, keep what they gave, write the table."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from sklearn.metrics import adjusted_rand_score

from benchmarks.folders import REPOSITORY, RESULTS
from benchmarks.framework import (
    Case,
    Grid,
    Record,
    Store,
    Unfinished,
    add_page_options,
    add_run_options,
    complete,
    count,
    guarded,
    make_parser,
    number,
    page_of,
    replace_between,
    say,
    signed,
    unpack_labels,
)
from benchmarks.partitions import living_clusters, silhouettes, stability
from benchmarks.protocol import RESTARTS
from benchmarks.quality import cases as quality
from benchmarks.quality.sets import SETS, load_set
from benchmarks.recipe.variants import DEFAULT, VARIANTS

# usps_train stays held out.
CHOSEN_BY = tuple(name for name in SETS if name != "usps_train")
K_MEANS = "k-means"
K_MEANS_SEEDS = 10
MARKS = ("<!-- the table of python -m benchmarks.recipe -->", "<!-- its end -->")
_COLUMNS = ("variant", "silhouette gain", "sets below k-means", "ARI gain", "worst ARI gain")
_COLUMNS += ("stability", "CPU time")
# Below k-means by less than this is equal, as in the targets.
_TOLERANCE = 0.0005


class Key(NamedTuple):
    """A variant, or k-means, on a set."""

    variant: str
    set: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit what is chosen, print the table, and write it into the page; see `guarded`."""
    return guarded(partial(_work, _parser().parse_args(arguments)))


def _work(options: argparse.Namespace) -> int:
    store, page = Store(options.output, Key), page_of(options)
    failed = False
    if not options.page_only:
        cases = [
            make_case(Key(variant, name), options.seeds)
            for variant in (K_MEANS, *(options.variants or VARIANTS))
            for name in SETS
            if name in (options.sets or CHOSEN_BY)
        ]
        work = partial(perform, data_dir=options.data_dir)
        failed = bool(complete(cases, work, store, jobs=options.jobs, fresh=options.fresh))
    grid = table(store.all())
    say(grid.as_text())
    if page is not None:
        replace_between(page, MARKS, grid.as_markdown())
        say(f"page in {page}")
    return int(failed)


def make_case(key: Key, seeds: int) -> Case[Key]:
    """Say everything that is chosen about a case; k-means always has as many seeds."""
    if key.variant == K_MEANS:
        return Case(key, {"seeds": K_MEANS_SEEDS, "restarts": RESTARTS})
    definition = VARIANTS[key.variant].definition()
    return Case(key, {"seeds": seeds, "restarts": RESTARTS, **definition})


def perform(case: Case[Key], unfinished: Unfinished, data_dir: Path) -> dict[str, Any]:
    """Fit a variant to a set with every seed, and average; seconds are the CPU's, of a seed."""
    data, seeds = load_set(case.key.set, data_dir), range(case.definition["seeds"])
    start = time.process_time()  # in one thread, and whoever else is on the machine
    if case.key.variant == K_MEANS:
        labelings = [_k_means_labels(case.key.set, seed, data_dir) for seed in seeds]
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


def _k_means_labels(name: str, seed: int, data_dir: Path) -> Any:
    """Take k-means' partition from the quality benchmark; one that is not recorded is run."""
    case = quality.make_case(quality.Key(name, "kmeans", seed), data_dir)
    record = _quality_store().get(case)
    if record is not None:
        return unpack_labels(record.results["labels"])
    found = quality.perform(case, Unfinished(), data_dir)
    return unpack_labels(found["labels"])


@cache
def _quality_store() -> Store[quality.Key]:
    return Store(RESULTS / "quality.jsonl", quality.Key)


def table(records: Iterable[Record[Key]]) -> Grid:
    """Give a row a variant: means over the sets, less k-means'."""
    scores: dict[str, dict[str, Record[Key]]] = {}
    for record in records:
        scores.setdefault(record.key.variant, {})[record.key.set] = record
    k_means = scores[K_MEANS]
    rows = [[K_MEANS, "0", "0", "0", "0", _mean(k_means.values(), "stability"), "-"]]
    for variant in (name for name in VARIANTS if name in scores):
        found = scores[variant]
        gains = {
            key: {name: one.number(key) - k_means[name].number(key) for name, one in found.items()}
            for key in ("silhouette", "ari")
        }
        worst = min(gains["ari"], key=gains["ari"].__getitem__)
        seconds = fmean(one.seconds for one in found.values())
        reference = fmean(scores[DEFAULT][name].seconds for name in found)
        rows.append(
            [
                variant,
                signed(fmean(gains["silhouette"].values()), 4),
                str(sum(gain < -_TOLERANCE for gain in gains["silhouette"].values())),
                signed(fmean(gains["ari"].values())),
                f"{signed(gains['ari'][worst])} {worst}",
                _mean(found.values(), "stability"),
                number(seconds / reference, 2),
            ]
        )
    return Grid("variants of the recipe", _COLUMNS, rows)


def _mean(records: Iterable[Record[Key]], name: str) -> str:
    return number(fmean(one.number(name) for one in records), 2)


def _parser() -> argparse.ArgumentParser:
    parser = make_parser(
        "benchmarks.recipe",
        "Compare variants of ClAM's default recipe with k-means, at equal restarts.",
    )
    add_run_options(parser, choices={"variants": tuple(VARIANTS), "sets": SETS})
    parser.add_argument("--seeds", type=count, default=5, help="how many (default: 5)")
    page = REPOSITORY / "docs" / "recipe.md"
    add_page_options(parser, output=RESULTS / "recipe.jsonl", page=page)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
