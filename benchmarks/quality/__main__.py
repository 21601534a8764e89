"""``python -m benchmarks.quality``: ClAM's partitions beside its peers'."""

import math
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks.data import FRESH, SETS, SHARED, load_set
from benchmarks.framework.cases import Case
from benchmarks.framework.command import Benchmark
from benchmarks.framework.environment import UnavailableError, describe_environment
from benchmarks.framework.lines import COLUMNS, Line, Target, print_entries
from benchmarks.framework.pages import Grid, number, render, say, signed, versions
from benchmarks.framework.store import Store, environment_id
from benchmarks.protocol import RESTARTS
from benchmarks.quality import shapes
from benchmarks.quality.cases import COST, METHODS, Key, cost_lines, make_case, perform
from benchmarks.summary import Measure, Series, Summary

MEASURES = (
    Measure("silhouette", "silhouette"),
    Measure("ARI", "ari"),
    Measure("NMI", "nmi"),
    Measure("clusters that are not empty", "living", 1),
    Measure("share of the largest cluster", "largest", 2),
    Measure("seconds", lambda record: record.seconds, 2),
)
_SPREAD = "mean ± standard deviation over the seeds"
_STABILITY = "stability: mean ARI between the partitions of different seeds"

GROUPS = {"all": SETS, "fresh": FRESH}
# In no comparison that the default recipe was chosen by; the fresh sets were first run after it.
HELD_OUT = ("usps_train", *FRESH)

# Where k-means is at the ceiling, float32 and a row on the border may cost this much.
SILHOUETTE_TOLERANCE = 0.0005

# The paper's table of silhouettes, where its figure for k-means agrees with ours.
PAPER_SILHOUETTES = {"zoo": 0.412, "ecoli": 0.331, "movement_libras": 0.260, "yale": 0.129}
PAPER_SILHOUETTES |= {"mice_protein": 0.201, "ctg": 0.246, "segment": 0.483}


class Pair(NamedTuple):
    """ClAM's default and k-means on one set."""

    set: str
    clam: Series
    k_means: Series

    def gain(self, quantity: str) -> float:
        """ClAM's mean less k-means', without the rounding errors of a mean of stabilities."""
        difference = self.clam.mean(quantity) - self.k_means.mean(quantity)
        return round(difference, 9) if quantity == "stability" else difference


def pairs_of(summary: Summary) -> list[Pair]:
    pairs = [Pair(name, summary[name, "clam"], summary[name, "kmeans"]) for name in summary.sets]
    return [pair for pair in pairs if pair.clam and pair.k_means]


def measure_grids(summary: Summary) -> list[Grid]:
    """Give a table for each measure, the stability last."""
    entries: dict[str, Callable[[Series], str]] = {
        f"{one.title}, {_SPREAD}": partial(Series.show, measure=one) for one in MEASURES
    }
    entries[_STABILITY] = lambda series: number(series.stability)
    columns = ["", *(METHODS[method].title for method in summary.methods)]
    return [
        Grid(
            title,
            columns,
            [[s, *(entry(summary[s, m]) for m in summary.methods)] for s in summary.sets],
        )
        for title, entry in entries.items()
    ]


def comparison(pairs: Sequence[Pair], title: str = "ClAM beside k-means") -> Grid:
    """Set ClAM beside k-means, with the means over the sets seen and not seen in choosing."""
    seen = [pair for pair in pairs if pair.set not in HELD_OUT]
    held_out = [pair for pair in pairs if pair.set in HELD_OUT]
    rows = []
    for name, group in (("sets chosen by", seen), ("sets held out", held_out)):
        rows += [_mean_row(pair.set, [pair]) for pair in group]
        rows += [_mean_row(f"mean, {name}", group)] if len(group) > 1 else []
    if seen and held_out:
        rows.append(_mean_row("mean, all these sets", pairs))
    columns = ["", "silhouette", "k-means", "gain", "ARI", "k-means", "gain"]
    return Grid(title, [*columns, "stability", "k-means"], rows)


def _mean_row(name: str, pairs: Sequence[Pair]) -> list[str]:
    row = [name]
    for quantity, digits in (("silhouette", 4), ("ari", 3), ("stability", None)):
        row.append(number(fmean(pair.clam.mean(quantity) for pair in pairs)))
        row.append(number(fmean(pair.k_means.mean(quantity) for pair in pairs)))
        if digits:
            row.append(signed(fmean(pair.gain(quantity) for pair in pairs), digits))
    return row


# --- targets --------------------------------------------------------------------------------------


def target_lines(pairs: Sequence[Pair]) -> Iterator[Line]:
    """Hold the results against the targets; a comparison with empty clusters does not count."""
    for pair in pairs:
        to_win, to_keep = Target("gain", ">", 0.0), Target("gain", ">=", -SILHOUETTE_TOLERANCE)
        target = to_win if pair.set in SHARED else to_keep
        yield _against_k_means(pair.set, [pair], "silhouette", target)
    for pair in pairs:
        if pair.set in PAPER_SILHOUETTES:
            paper, silhouettes = PAPER_SILHOUETTES[pair.set], pair.clam.values(MEASURES[0])
            yield Line(
                f"{pair.set}: silhouette",
                fmean(silhouettes),
                paper,
                "the paper's ClAM",
                value=fmean(silhouettes),
                target=Target("mean", ">=", paper),
                ratio=math.nan,
                valid=pair.clam.has_all_clusters,
                note=f"best of {len(silhouettes)} seeds {max(silhouettes):.4f}",
            )
    for pair in pairs:
        yield _against_k_means(pair.set, [pair], "ARI", Target("gain", ">=", -0.03))
    if pairs:
        name = f"mean over {len(pairs)} sets"
        yield _against_k_means(name, pairs, "ARI", Target("gain", ">=", 0.03))
    for pair in pairs:
        yield _against_k_means(pair.set, [pair], "stability", Target("gain", ">=", 0.0))


def _against_k_means(name: str, pairs: Sequence[Pair], title: str, target: Target) -> Line:
    """Compare the means over some sets."""
    quantity, valid = title.lower(), all(pair.clam.has_all_clusters for pair in pairs)
    return Line(
        f"{name}: {title}",
        fmean(pair.clam.mean(quantity) for pair in pairs),
        fmean(pair.k_means.mean(quantity) for pair in pairs),
        "k-means",
        value=fmean(pair.gain(quantity) for pair in pairs),
        target=target,
        ratio=math.nan,
        valid=valid,
        note="" if valid else "some of ClAM's partitions have empty clusters",
    )


def all_cost_lines(store: Store[Key], sets: Iterable[str]) -> list[Line]:
    records = (store.find(Key(name, COST)) for name in sets)
    return [line for record in records if record for line in cost_lines(record)]


# --- the page -------------------------------------------------------------------------------------


def write_page(path: Path, store: Store[Key]) -> None:
    summary, fresh = (Summary(store.all(), sets, tuple(METHODS)) for sets in (SETS, FRESH))
    pairs = pairs_of(summary)
    render(
        path,
        Path(__file__).with_name("page.md.jinja"),
        restarts=RESTARTS,
        tolerance=SILHOUETTE_TOLERANCE,
        pairs=pairs,
        fresh_pairs=pairs_of(fresh),
        comparison=comparison,
        target_grid=_target_grid,
        target_lines=target_lines,
        lines=[*target_lines(pairs), *all_cost_lines(store, SETS)],
        grids=measure_grids(summary),
        origins=_origins(store),
        versions=versions,
    )


def _target_grid(title: str, lines: Iterable[Line]) -> Grid:
    rows = [[*line.cells, line.note] for line in lines]
    return Grid(title, (*COLUMNS, "note"), rows, numbers=False)


def _origins(store: Store[Key]) -> Iterator[tuple[dict[str, Any], str]]:
    """Give the environments, each with how many cases of what come from it."""
    counts: dict[str, Counter[str]] = {}
    for record in store.all():
        counts.setdefault(environment_id(record.environment), Counter())[record.key.method] += 1
    for key, environment in store.environments().items():
        timed = counts[key].pop(COST, 0)
        contents = [f"{METHODS[name].title} {count} cells" for name, count in counts[key].items()]
        contents += [f"cost of {timed} sets"] if timed else []
        yield environment, ", ".join(contents)


SECTIONS = ("cells", COST)


def cases(options: Namespace) -> list[Case[Key]]:
    names = expand_groups(options.sets or ["all"])
    names = [name for name in names if _is_available(name, options.data_dir)]
    keys = [
        Key(name, method, seed)
        for name in names
        for method in METHODS
        if method in (options.methods or METHODS)
        for seed in (options.seeds if METHODS[method].seeded else [0])
        if "cells" in options.sections
    ]
    if COST in options.sections:
        keys += [Key(name, COST) for name in names]
    return [make_case(key, options.data_dir) for key in keys]


def expand_groups(names: Iterable[str]) -> list[str]:
    """Put the sets of a group in the place of its name; every set once, in the usual order."""
    chosen = {one for name in names for one in GROUPS.get(name, (name,))}
    return [name for name in (*SETS, *FRESH) if name in chosen]


def _is_available(name: str, data_dir: Path) -> bool:
    """Leave out the fresh sets that are not on this machine; the others must be there."""
    try:
        load_set(name, data_dir)
    except UnavailableError as error:
        if name not in FRESH:
            raise
        say(f"{name:<22} SKIPPED: {error}")
        return False
    return True


def report(store: Store[Key], keys: set[Key], options: Namespace) -> None:
    records = [record for record in store.all() if record.key in keys]
    summary = Summary(records, (*SETS, *FRESH), tuple(METHODS))
    pairs = pairs_of(summary)
    for grid in [*measure_grids(summary), *([comparison(pairs)] if pairs else [])]:
        say(f"\n{grid.as_text()}")
    costs = all_cost_lines(store, sorted({key.set for key in keys}))
    print_entries("targets", [*target_lines(pairs), *costs])
    source = describe_environment()["source"]
    ours = (record for record in records if record.key.method.startswith("clam"))
    other = sum(record.environment["source"] != source for record in ours)
    if other:
        say(f"{other} of ClAM's cases were run with other code in src/: --fresh repeats them")


_SECTIONS = {"nargs": "+", "choices": SECTIONS, "default": SECTIONS, "metavar": "SECTION"}
_SECTIONS |= {"help": "cells, cost (default: both)"}
_tables = Benchmark(
    "quality",
    "quality.md",
    "Compare ClAM's partitions with its peers', at the same number of restarts and by the same "
    "rule of choice. Only cases without a record are run. --suite shapes: clusters of any shape.",
    Key,
    cases,
    perform,
    report,
    write_page,
    options={"--sections": _SECTIONS},
    choices={"sets": (*GROUPS, *SETS, *FRESH), "methods": tuple(METHODS)},
    seeds=10,
    alone=lambda case: case.key.method == COST,
    tell=("silhouette", "ari", "nmi", "living", "n_clusters", "largest"),
    same=lambda ours, before: ours.results["labels"] == before.results["labels"],
).main
_SUITES = {"tables": _tables, "shapes": shapes.main}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite that ``--suite`` names, the tables without it; each has options of its own."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--suite", choices=tuple(_SUITES), default="tables")
    options, others = parser.parse_known_args(arguments)
    return _SUITES[options.suite](others)


if __name__ == "__main__":
    raise SystemExit(main())
