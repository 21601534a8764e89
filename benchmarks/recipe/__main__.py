"""``python -m benchmarks.recipe``: fit the variants, keep what they gave, write the table."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from functools import partial
from statistics import fmean

from benchmarks.folders import REPOSITORY, RESULTS
from benchmarks.framework import (
    Grid,
    Record,
    Store,
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
)
from benchmarks.quality.sets import SETS
from benchmarks.recipe.cases import K_MEANS, Key, make_case, perform
from benchmarks.recipe.variants import DEFAULT, VARIANTS

# usps_train stays held out.
CHOSEN_BY = tuple(name for name in SETS if name != "usps_train")
MARKS = ("<!-- the table of python -m benchmarks.recipe -->", "<!-- its end -->")
_COLUMNS = ("variant", "silhouette gain", "sets below k-means", "ARI gain", "worst ARI gain")
_COLUMNS += ("stability", "CPU time")
# Below k-means by less than this is equal, as in the targets.
_TOLERANCE = 0.0005


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
