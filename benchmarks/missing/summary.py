"""Means over cases, always of two methods over the cases that both have, and the targets.

Slow peers are left out on wide tables, so their plain means are over other sets than ours.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks.framework.cases import Record
from benchmarks.framework.lines import Entry, Line, Skipped, Target
from benchmarks.framework.pages import Grid, amount, number, signed
from benchmarks.missing import made
from benchmarks.missing.cases import (
    CENTERED,
    CENTERS,
    COMPLETE,
    COST,
    NUMBER,
    NUMBERED,
    RATES,
    SETS,
    TABLES,
    Key,
)
from benchmarks.missing.mechanisms import MECHANISMS
from benchmarks.missing.methods import BAYES, CLAM, CLUSTERERS, IMPUTERS, KNN, METHODS, OURS


class Place(NamedTuple):
    """What is the same for all methods of a comparison."""

    set: str
    mechanism: str
    rate: int
    seed: int

    @classmethod
    def of(cls, key: Key) -> "Place":
        return cls(key.set, key.mechanism, key.rate, key.seed)


Scores = Mapping[str, Mapping[Place, float]]  # by method
Chosen = Callable[[Place], bool]


class Pairing(NamedTuple):
    """Means of ours and of a peer over the cases that both have, `cases` of our `of`."""

    peer: str
    ours: float
    theirs: float
    cases: int
    of: int

    @property
    def gain(self) -> float:
        return self.ours - self.theirs

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def note(self) -> str:
        return f"{self.cases} of {self.of} cases"


def as_asked(place: Place) -> bool:
    """Whether a case is one of those that the targets are about, by its rate."""
    return place.rate in RATES


def pair(scores: Scores, peer: str, chosen: Chosen = as_asked) -> Pairing | None:
    """Pair our means with a peer's; None where no case has both."""
    ours, theirs = (
        {place: value for place, value in scores.get(one, {}).items() if chosen(place)}
        for one in (OURS, peer)
    )
    both = sorted(ours.keys() & theirs.keys())
    if not both:
        return None
    means = (fmean(values[place] for place in both) for values in (ours, theirs))
    return Pairing(peer, *means, len(both), len(ours))


def pairings(scores: Scores, peers: Iterable[str], chosen: Chosen = as_asked) -> list[Pairing]:
    found = (pair(scores, peer, chosen) for peer in peers)
    return [one for one in found if one is not None]


# --- scores of the records ------------------------------------------------------------------------

# ARI is of an imputer and a clusterer.
PIPELINES = tuple(f"{imputer}+{one}" for imputer in IMPUTERS for one in CLUSTERERS)
_DIRECT = tuple(name for name in METHODS if name not in IMPUTERS and name != OURS)
ARI_PEERS = (*PIPELINES, *_DIRECT)


def title_of(method: str) -> str:
    name, plus, clusterer = method.partition("+")
    return METHODS[name].title + (f" + {CLUSTERERS[clusterer]}" if plus else "")


def aris_of(records: Iterable[Record[Key]]) -> Scores:
    found: dict[str, dict[Place, float]] = {}
    for record in _tables(records):
        if record.key.method in IMPUTERS:
            names = {f"{record.key.method}+{one}": f"ari_{one}" for one in CLUSTERERS}
        else:
            names = {record.key.method: "ari"}
        for method, result in names.items():
            found.setdefault(method, {})[Place.of(record.key)] = record.number(result)
    return found


def results_of(records: Iterable[Record[Key]], result: str) -> Scores:
    """Give a result by method, of those that have it."""
    found: dict[str, dict[Place, float]] = {}
    for record in _tables(records):
        if result in record.results:
            place = Place.of(record.key)
            found.setdefault(record.key.method, {})[place] = record.number(result)
    return found


def _tables(records: Iterable[Record[Key]]) -> Iterator[Record[Key]]:
    return (record for record in records if record.key.part == TABLES)


def conditions(scores: Scores) -> list[tuple[str, int]]:
    """List mechanisms with their rates, in the usual order."""
    found = {(place.mechanism, place.rate) for place in scores.get(OURS, {})}
    return sorted(found, key=lambda one: (list(MECHANISMS).index(one[0]), one[1]))


def _under(mechanism: str, rate: int) -> Chosen:
    return lambda place: (place.mechanism, place.rate) == (mechanism, rate)


def _of_set(name: str) -> Chosen:
    return lambda place: place.set == name and as_asked(place)


def sets_of(scores: Scores) -> list[str]:
    found = {place.set for values in scores.values() for place in values}
    return [name for name in SETS if name in found]


# --- tables ---------------------------------------------------------------------------------------


def ari_grids(aris: Scores) -> list[Grid]:
    """Give our mean ARI, and each peer's with what ours is above it over the same cases."""
    return _both_ways(aris, ARI_PEERS, lambda one: f"{number(one.theirs)} ({signed(one.gain)})")


def rmse_grids(rmses: Scores) -> list[Grid]:
    """Give our mean RMSE, and each peer's with the ratio of ours to it over the same cases."""
    peers = (*IMPUTERS, *_DIRECT)
    return _both_ways(rmses, peers, lambda one: f"{number(one.theirs)} (×{number(one.ratio, 2)})")


def _both_ways(scores: Scores, peers: Sequence[str], show: Callable[[Pairing], str]) -> list[Grid]:
    """Give a row a mechanism and rate in the first table, a row a set in the second."""
    by_condition = {
        f"{mechanism}, {rate} %": _under(mechanism, rate) for mechanism, rate in conditions(scores)
    }
    by_set = {name: _of_set(name) for name in sets_of(scores)}
    title = f"mean, {' and '.join(map(str, RATES))} %"
    together = {title: as_asked} if scores.get(OURS) else {}
    return [
        _paired_grid(title, scores, peers, rows | together, show)
        for title, rows in (("mechanism", by_condition), ("set", by_set))
    ]


def _paired_grid(
    title: str,
    scores: Scores,
    peers: Sequence[str],
    chosen: Mapping[str, Chosen],
    show: Callable[[Pairing], str],
) -> Grid:
    there = [peer for peer in peers if peer in scores]
    rows = []
    for name, condition in chosen.items():
        values = [value for place, value in scores.get(OURS, {}).items() if condition(place)]
        found = (pair(scores, peer, condition) for peer in there)
        cells = ("-" if one is None else show(one) for one in found)
        rows.append([name, number(fmean(values)) if values else "-", *cells])
    return Grid(title, ["", METHODS[OURS].title, *map(title_of, there)], rows)


def coverage_grid(coverages: Scores) -> Grid:
    ours, found = coverages.get(OURS, {}), conditions(coverages)
    rows = []
    for name in sets_of(coverages):
        row = [name]
        for mechanism, rate in found:
            chosen = _under(mechanism, rate)
            values = [v for place, v in ours.items() if place.set == name and chosen(place)]
            row.append(number(100.0 * fmean(values), 1) if values else "-")
        rows.append(row)
    columns = ["", *(f"{mechanism}, {rate} %" for mechanism, rate in found)]
    return Grid("coverage", columns, rows)


def seconds_grid(seconds: Scores) -> Grid:
    """Give mean seconds by set, and the ratio of ours to IterativeImputer's of the same cases."""
    there = [name for name in METHODS if name in seconds]
    rows = []
    for name in sets_of(seconds):
        chosen = _of_set(name)
        row = [name]
        for method in there:
            values = [value for place, value in seconds[method].items() if chosen(place)]
            row.append(amount(fmean(values)) if values else "-")
        beside = pair(seconds, BAYES, chosen)
        rows.append([*row, number(beside.ratio, 2) if beside else "-"])
    columns = ["", *(METHODS[name].title for name in there), f"ClAM / {METHODS[BAYES].title}"]
    return Grid("seconds", columns, rows)


def seeds_of(records: Iterable[Record[Key]]) -> dict[int, list[str]]:
    """Give the sets by how many seeds of ours they have, most seeds first."""
    found: dict[str, set[int]] = {}
    for record in _tables(records):
        if record.key.method == OURS:
            found.setdefault(record.key.set, set()).add(record.key.seed)
    counts = sorted({len(seeds) for seeds in found.values()}, reverse=True)
    return {n: [s for s in SETS if len(found.get(s, ())) == n] for n in counts}


def left_out(records: Iterable[Record[Key]]) -> dict[str, list[str]]:
    """Give the sets that are too much work for a method, by its title."""
    shapes = {
        record.key.set: tuple(record.results["shape"])
        for record in _tables(records)
        if record.key.method == OURS
    }
    found = {
        method.title: [s for s in SETS if s in shapes and not method.takes(shapes[s])]
        for method in METHODS.values()
    }
    return {title: names for title, names in found.items() if names}


# --- the number of clusters -----------------------------------------------------------------------


class Numbers(NamedTuple):
    """Estimates of one way on one set, by seed, and those of the complete table."""

    set: str
    found: Sequence[float]
    complete: Sequence[float]
    warned: int
    halves: Sequence[int] = ()  # estimates of halves of the complete rows

    @property
    def is_as_in_halves(self) -> bool:
        """Whether the mean estimate is one that halves of the complete rows give."""
        return bool(self.halves) and min(self.halves) <= fmean(self.found) <= max(self.halves)

    @property
    def gap(self) -> float:
        """How far the mean estimate is from the mean of the complete table's."""
        return abs(fmean(self.found) - fmean(self.complete))


def numbers_of(
    records: Iterable[Record[Key]], method: str, mechanism: str, rate: int
) -> list[Numbers]:
    """Pair estimates with those of the complete table, seed by seed, set by set."""
    found: dict[str, dict[int, Record[Key]]] = {}
    complete: dict[str, dict[int, Record[Key]]] = {}
    for record in (one for one in records if one.key.part == NUMBER):
        key = record.key
        if key.mechanism == COMPLETE:
            complete.setdefault(key.set, {})[key.seed] = record
        elif (key.method, key.mechanism, key.rate) == (method, mechanism, rate):
            found.setdefault(key.set, {})[key.seed] = record
    numbers = []
    for name in SETS:
        mine, whole = found.get(name, {}), complete.get(name, {})
        seeds = sorted(mine.keys() & whole.keys())
        if seeds:
            counts = ([one[seed].number("found") for seed in seeds] for one in (mine, whole))
            warned = sum(bool(mine[seed].results["warned"]) for seed in seeds)
            halves = [n for seed in seeds for n in whole[seed].results.get("halves", ())]
            numbers.append(Numbers(name, *counts, warned, halves))
    return numbers


def _numbered(records: Iterable[Record[Key]]) -> list[tuple[str, int]]:
    keys = (one.key for one in records if one.key.part == NUMBER and one.key.method == OURS)
    found = {(key.mechanism, key.rate) for key in keys}
    return sorted(found, key=lambda one: (list(MECHANISMS).index(one[0]), one[1]))


def numbers_grid(records: Sequence[Record[Key]]) -> Grid:
    """Give the mean estimates by set: of the complete table, and ours (after the KNN imputer).

    Beside the complete table's are the least and the largest of halves of its rows.
    """
    under = _numbered(records)
    columns: list[dict[str, str]] = []
    complete: dict[str, str] = {}
    for mechanism, rate in under:
        ours, knn = (
            {one.set: one for one in numbers_of(records, method, mechanism, rate)}
            for method in NUMBERED
        )
        column = {}
        for name, one in ours.items():
            halves = f" ({min(one.halves)} to {max(one.halves)})" if one.halves else ""
            complete[name] = number(fmean(one.complete), 1) + halves
            after = f" ({number(fmean(knn[name].found), 1)})" if name in knn else ""
            column[name] = number(fmean(one.found), 1) + after
        columns.append(column)
    rows = [
        [name, complete[name], *(column.get(name, "-") for column in columns)]
        for name in SETS
        if name in complete
    ]
    titles = [f"{mechanism}, {rate} %" for mechanism, rate in under]
    return Grid("number of clusters", ["", "complete (halves)", *titles], rows)


# --- made data ------------------------------------------------------------------------------------

Errors = Mapping[tuple[str, int, int], float]  # by method, rate and rows


def errors_of(records: Iterable[Record[Key]]) -> Errors:
    """Give mean errors of the centres over the seeds."""
    found: dict[tuple[str, int, int], list[float]] = {}
    for record in (one for one in records if one.key.part == CENTERS):
        place = (record.key.method, record.key.rate, int(record.key.set))
        found.setdefault(place, []).append(record.number("error"))
    return {place: fmean(values) for place, values in sorted(found.items())}


def centers_grid(errors: Errors) -> Grid:
    sizes = sorted({size for _, _, size in errors})
    rates = sorted({rate for _, rate, _ in errors})
    columns = [(method, size) for method in CENTERED for size in sizes]
    rows = [
        [f"{rate} %", *(_shown(errors.get((method, rate, size))) for method, size in columns)]
        for rate in rates
    ]
    titles = [f"{METHODS[method].title}, {size:,} rows" for method, size in columns]
    return Grid("centres", ["", *titles], rows)


def _shown(value: float | None) -> str:
    return "-" if value is None else number(value, 4)


# --- targets --------------------------------------------------------------------------------------

_ARI, _RMSE, _NEVER = Target("gain", ">", 0.0), Target("ratio", "<=", 0.97), -0.01
_WORST = Target("gain", ">=", _NEVER)
_COVERED = (90.0, 98.0)  # per cent


def target_entries(records: Sequence[Record[Key]]) -> Iterator[Entry]:
    aris, rmses = aris_of(records), results_of(records, "rmse")
    yield _best_ari("all cases: mean ARI", aris, as_asked, _ARI)
    yield _best_rmse("all cases: RMSE", rmses, as_asked, _RMSE)
    for mechanism, rate in (one for one in conditions(aris) if one[1] in RATES):
        what, chosen = f"{mechanism}, {rate} %: ", _under(mechanism, rate)
        yield _best_ari(what + "mean ARI", aris, chosen, _WORST)
        yield _best_rmse(what + "RMSE", rmses, chosen, Target("ratio"))
    for mechanism, rate in (one for one in _numbered(records) if one[1] in RATES):
        yield from _number_lines(records, mechanism, rate)
    yield _slowest(records)
    yield from _coverage_lines(results_of(records, "coverage"))
    yield from _center_lines(errors_of(records))
    for record in (one for one in records if one.key.part == COST):
        yield from _cost_lines(record)


def _best_ari(what: str, aris: Scores, chosen: Chosen, target: Target) -> Entry:
    """Hold ours against the peer that it is least above, each over the cases that both have."""
    found = pairings(aris, PIPELINES, chosen)
    if not found:
        return Skipped(what, "no peer has a case of ours")
    best = min(found, key=lambda one: one.gain)
    return _paired_line(what, best, best.gain, target)


def _best_rmse(what: str, rmses: Scores, chosen: Chosen, target: Target) -> Entry:
    found = pairings(rmses, IMPUTERS, chosen)
    if not found:
        return Skipped(what, "no imputer has a case of ours")
    best = max(found, key=lambda one: one.ratio)
    return _paired_line(what, best, best.ratio, target)


def _paired_line(what: str, best: Pairing, value: float, target: Target) -> Line:
    name = title_of(best.peer)
    return Line(what, best.ours, best.theirs, name, value=value, target=target, note=best.note)


def _number_lines(records: Sequence[Record[Key]], mechanism: str, rate: int) -> Iterator[Entry]:
    """Hold the set whose estimate is farthest from the complete table's against one cluster."""
    ours, knn = (numbers_of(records, method, mechanism, rate) for method in NUMBERED)
    what = f"{mechanism}, {rate} %: number of clusters, worst set"
    if not ours:
        yield Skipped(what, "no estimate of the complete table")
        return
    worst = max(ours, key=lambda one: one.gap)
    after = max((one.gap for one in knn), default=float("nan"))
    near, runs = sum(one.gap <= 1.0 for one in ours), sum(len(one.found) for one in ours)
    as_halves = sum(one.is_as_in_halves for one in ours)
    near_knn, warned = sum(one.gap <= 1.0 for one in knn), sum(one.warned for one in ours)
    yield Line(
        what,
        worst.gap,
        after,
        f"after {METHODS[KNN].title}",
        value=worst.gap,
        target=Target("difference", "<=", 1.0),
        note=f"{worst.set}; within one on {near} of {len(ours)} sets, after "
        f"{METHODS[KNN].title} on {near_knn}; as halves of the complete rows on {as_halves}; "
        f"{warned} of {runs} fits warned",
    )


def _slowest(records: Sequence[Record[Key]]) -> Entry:
    """Hold the set where ours is slowest beside IterativeImputer, fill alone, against it.

    Ours labels the rows, too; how long it takes beside the imputer and a ClAM is in the note.
    """
    what = "time beside IterativeImputer, slowest set"
    seconds = results_of(records, "seconds")
    labelled = {
        Place.of(record.key): record.number("seconds") + record.number(f"seconds_{CLAM}")
        for record in _tables(records)
        if record.key.method == BAYES and f"seconds_{CLAM}" in record.results
    }
    found = {name: pair(seconds, BAYES, _of_set(name)) for name in sets_of(seconds)}
    both = {name: one for name, one in found.items() if one is not None}
    if not both:
        return Skipped(what, "no case has both")
    name, worst = max(both.items(), key=lambda one: one[1].ratio)
    everything = pair(seconds, BAYES)
    assert everything is not None
    with_labels = {OURS: seconds[OURS], BAYES: labelled}
    pairs = [pair(with_labels, BAYES, _of_set(one)) for one in both]
    ratios = [one.ratio for one in pairs if one is not None]
    beside = f", {amount(max(ratios))} at most where both label the rows" if ratios else ""
    return Line(
        what,
        worst.ours,
        worst.theirs,
        METHODS[BAYES].title,
        value=worst.ratio,
        target=Target("ratio", "<=", 1.0),
        unit="s",
        note=f"{name}; over all sets that both have {amount(everything.ratio)}{beside}",
    )


def _coverage_lines(coverages: Scores) -> Iterator[Entry]:
    """Hold the lowest and the highest coverage of a set at random against the bounds."""
    what = "coverage of ±1.96 deviations, random, {} %: {} set"
    rates = [
        rate for mechanism, rate in conditions(coverages) if mechanism == "random" and rate in RATES
    ]
    if not rates:
        yield Skipped("coverage of ±1.96 deviations, random", "no case says how sure it is")
    for rate in rates:
        found: dict[str, list[float]] = {}
        for place, value in coverages[OURS].items():
            if (place.mechanism, place.rate) == ("random", rate):
                found.setdefault(place.set, []).append(100.0 * value)
        means = {name: fmean(values) for name, values in found.items()}
        inside = sum(_COVERED[0] <= value <= _COVERED[1] for value in means.values())
        ends = (("lowest", min, ">="), ("highest", max, "<="))
        for (end, choose, relation), bound in zip(ends, _COVERED, strict=True):
            name = choose(means, key=lambda one: means[one])
            yield Line(
                what.format(rate, end),
                means[name],
                float("nan"),
                "",
                value=means[name],
                target=Target("share", relation, bound, "%"),
                unit="%",
                note=f"{name}; {inside} of {len(means)} sets inside",
            )


def _center_lines(errors: Errors) -> Iterator[Entry]:
    """Hold the error with more rows against that with fewer, where it falls least."""
    for rate in sorted({rate for _, rate, _ in errors}):
        falls = {method: _least_fall(errors, method, rate) for method in CENTERED}
        ours, peer = falls[OURS], falls[CENTERED[1]]
        yield Line(
            f"made clusters, {rate} % at random: error of centres with ten times the rows",
            ours,
            peer,
            METHODS[CENTERED[1]].title,
            value=ours,
            target=Target("fall", "<", 1.0),
            note="error divided by that with a tenth of the rows, the largest such ratio",
        )


def _least_fall(errors: Errors, method: str, rate: int) -> float:
    found = [error for (one, r, _), error in errors.items() if (one, r) == (method, rate)]
    return max((more / fewer for fewer, more in pairwise(found)), default=float("nan"))


def _cost_lines(record: Record[Key]) -> Iterator[Line]:
    results, load = record.results, record.results["load"]
    size = f"{int(record.key.set):,} x {made.COLUMNS}, {record.key.rate} % missing"
    seconds, memory = results["seconds"], results["memory"]
    yield Line.of_pairs(
        f"{size}: fit",
        "s",
        seconds[made.MISSING],
        seconds[made.COMPLETE],
        peer_name="of the complete rows",
        target=Target("ratio", "<=", 3.0),
        note=f"load before {load:.1f}" if load is not None else "",
    )
    found, complete = memory[made.MISSING], memory[made.COMPLETE]
    # What "beyond" is meant of, the table or the fit of the complete one, is told both ways.
    beyond = {
        "extra memory of the fit": ("share", found["share"]),
        "extra memory beyond the complete fit's": ("more", found["share"] - complete["share"]),
    }
    for what, (quantity, value) in beyond.items():
        yield Line(
            f"{size}: {what}",
            found["share"],
            complete["share"],
            "of the complete rows",
            value=value,
            target=Target(quantity, "<=", 50.0, "%"),
            unit="% of X",
            note=f"X of {found['data'] / 1e6:.0f} MB, float32, C-ordered; {found['way']}",
        )


def results_in(record: Record[Key]) -> dict[str, Any]:
    """Give the results that do not depend on the machine's mood."""
    skipped = ("seconds", "load", "memory")
    return {k: v for k, v in record.results.items() if not k.startswith(skipped)}
