"""``python -m benchmarks.recipe``: what the default recipe is made of, and what else was tried."""

from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean

from benchmarks.data import SETS
from benchmarks.framework.cases import Case, Record
from benchmarks.framework.command import Benchmark, count
from benchmarks.framework.pages import Grid, number, replace_between, say, signed
from benchmarks.framework.store import Store
from benchmarks.recipe.cases import DEFAULT, K_MEANS, VARIANTS, Key, make_case, perform

# usps_train stays held out.
CHOSEN_BY = tuple(name for name in SETS if name != "usps_train")
MARKS = ("<!-- the table of python -m benchmarks.recipe -->", "<!-- its end -->")
_COLUMNS = ("variant", "silhouette gain", "sets below k-means", "ARI gain", "worst ARI gain")
_COLUMNS += ("stability", "CPU time")
# Below k-means by less than this is equal, as in the targets.
_TOLERANCE = 0.0005


def cases(options: Namespace) -> list[Case[Key]]:
    return [
        make_case(Key(variant, name), options.seeds)
        for variant in (K_MEANS, *(options.variants or VARIANTS))
        for name in SETS
        if name in (options.sets or CHOSEN_BY)
    ]


def table(records: Iterable[Record[Key]]) -> Grid:
    """Give a row a variant: means over the sets, less k-means'."""
    scores: dict[str, dict[str, Record[Key]]] = {}
    for record in records:
        scores.setdefault(record.key.variant, {})[record.key.set] = record
    k_means = scores[K_MEANS]
    rows = [[K_MEANS, "0", "0", "0", "0", _stability(k_means), "-"]]
    for variant in (name for name in VARIANTS if name in scores):
        found = scores[variant]
        silhouette, ari = (
            {name: one.number(key) - k_means[name].number(key) for name, one in found.items()}
            for key in ("silhouette", "ari")
        )
        worst = min(ari, key=ari.__getitem__)
        seconds = fmean(one.seconds for one in found.values())
        reference = fmean(scores[DEFAULT][name].seconds for name in found)
        rows.append(
            [
                variant,
                signed(fmean(silhouette.values()), 4),
                str(sum(gain < -_TOLERANCE for gain in silhouette.values())),
                signed(fmean(ari.values())),
                f"{signed(ari[worst])} {worst}",
                _stability(found),
                number(seconds / reference, 2),
            ]
        )
    return Grid("variants of the recipe", _COLUMNS, rows)


def _stability(found: dict[str, Record[Key]]) -> str:
    return number(fmean(one.number("stability") for one in found.values()), 2)


def write_page(path: Path, store: Store[Key]) -> None:
    replace_between(path, MARKS, table(store.all()).as_markdown())


main = Benchmark(
    "recipe",
    "recipe.md",
    "Compare variants of ClAM's default recipe with k-means, at equal restarts.",
    Key,
    cases,
    perform,
    lambda store, keys, options: say(table(store.all()).as_text()),
    write_page,
    {"--seeds": {"type": count, "help": "how many (default: 10, 6 or 3, by the size of the set)"}},
    choices={"variants": tuple(VARIANTS), "sets": SETS},
).main

if __name__ == "__main__":
    raise SystemExit(main())
