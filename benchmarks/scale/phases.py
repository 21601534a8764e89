"""Weak scaling on paper: what the scheduler has to do in each phase, measured and drawn out."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any

import psutil
from distributed import Client

from benchmarks.framework.lines import Entry, Line, Target
from benchmarks.framework.pages import Grid, amount
from benchmarks.scale.rows import Made, Tally, held, make_clam, moved_bytes, plugged, processes

# A phase, and the prefixes of its tasks. Blocks of rows are made twice: once in each pass.
READING = "statistics and drawing"
PHASES = {
    READING: ("clam-statistics", "clam-draw"),
    "restarts": ("clam-restart",),
    "labelling": ("clam-label", "clam-network"),
}
# Those that grow with the rows.
PASSES = tuple(name for name in PHASES if name != "restarts")
MADE = "made"
BLOCKS_PER_WORKER = 40
WORKERS = (2, 10, 100, 1000)


def on_paper(options: Namespace, measured: dict[str, Any]) -> Iterator[Entry]:
    """Count tasks, transitions and bytes at two numbers of blocks; time the scheduler."""
    if options.quick:
        yield from count(2500, (8, 16), 200, measured)
    else:
        yield from count(250_000, (20, 80), 10_000, measured)


def count(
    block_rows: int, numbers: tuple[int, int], trivial: int, measured: dict[str, Any]
) -> Iterator[Entry]:
    with processes(2) as client:
        measured |= _scheduler_rate(client, trivial)
        measured["block_rows"] = block_rows
        measured["blocks"] = list(numbers)
        measured["phases"] = [
            _count_fit(client, Made(n_blocks * block_rows, block_rows)) for n_blocks in numbers
        ]
    rate = measured["tasks_per_second"]
    yield Line(
        f"{trivial} trivial tasks",
        rate,
        float("nan"),
        "",
        value=1e6 * measured["seconds_per_transition"],
        target=Target("µs of client and scheduler a transition"),
        unit="tasks/s",
        note="through two workers of a process each; processor time of the process that has both "
        "the client and the scheduler",
    )
    few, many = measured["phases"]
    for name in (*PHASES, MADE):
        yield Line(
            f"{'blocks of rows' if name == MADE else name}, {numbers[1]} blocks",
            many[name]["tasks"],
            few[name]["tasks"],
            f"{numbers[0]} blocks",
            value=many[name]["moved"] / 1e6,
            target=Target("MB moved"),
            unit="tasks",
        )
    slowest = min(PASSES, key=lambda name: stops_at(measured, name))
    yield Line(
        "workers that one scheduler keeps busy",
        stops_at(measured, slowest),
        float("nan"),
        "",
        value=stops_at(measured, slowest),
        target=Target(f"workers, in {slowest}"),
        note=f"blocks of {block_rows} rows made in every pass; larger blocks shift it",
    )


def _scheduler_rate(client: Client, n_tasks: int) -> dict[str, float]:
    """Give trivial tasks to the workers; what they cost is the scheduler's and the client's."""
    process = psutil.Process()
    client.gather(client.map(abs, range(100), pure=False))
    with plugged(client, Tally()) as tally:
        before, start = process.cpu_times(), time.perf_counter()
        futures = client.map(abs, range(n_tasks), pure=False)
        client.gather(futures)
        del futures
        seconds, after = time.perf_counter() - start, process.cpu_times()
    busy = after.user + after.system - before.user - before.system
    n_transitions = sum(tally.transitions.values())
    return {
        "tasks_per_second": n_tasks / seconds,
        "transitions_per_second": n_transitions / seconds,
        "seconds_per_transition": busy / n_transitions,
    }


def _count_fit(client: Client, made: Made) -> dict[str, dict[str, float]]:
    """Fit and label; give what each phase had to do."""
    before = moved_bytes(client)
    with plugged(client, Tally()) as tally:
        rows = made.array()
        held(client, make_clam(client).fit(rows).labels_)
    moved = moved_bytes(client)
    moved.subtract(before)
    everything = {**PHASES, MADE: (MADE,)}
    sources = {
        "tasks": tally.tasks,
        "transitions": tally.transitions,
        "moved": moved,
        "results": tally.result_bytes,
        "largest": tally.largest,
        "seconds": tally.seconds,
    }
    counted = {
        phase: {
            figure: float(
                (max if figure == "largest" else sum)(source.get(one, 0) for one in prefixes)
            )
            for figure, source in sources.items()
        }
        for phase, prefixes in everything.items()
    }
    counted["labelling"]["network"] = float(tally.largest["clam-network"])
    return counted


# --- drawn out ------------------------------------------------------------------------------------


def drawn_out(measured: Mapping[str, Any], phase: str, figure: str, n_blocks: float) -> float:
    """Return a figure of a phase at any number of blocks, by a line through the two measured.

    Half of the blocks that are made belong to each pass. What restarts do, on rows that were
    drawn, stays the same.
    """
    few, many = measured["blocks"]
    low, high = (_figure(one, phase, figure) for one in measured["phases"])
    if phase not in PASSES:
        return high
    return low + (high - low) / (many - few) * (n_blocks - few)


def _figure(counted: Mapping[str, Mapping[str, float]], phase: str, figure: str) -> float:
    making = counted[MADE][figure] / len(PASSES) if phase in PASSES else 0.0
    return counted[phase][figure] + making


def moved_at_most(measured: Mapping[str, Any], phase: str, n_workers: int, n_blocks: int) -> float:
    """Return how many bytes leave their worker where none can stay.

    Blocks and labels stay. Statistics are of fixed size, one a block; of rows about as many are
    drawn from any table, and each restart may want them in another worker, each worker the network.
    """
    few, many = measured["phases"]
    drawn = many[READING]["largest"]
    if phase == READING:
        grown = many[phase]["results"] - few[phase]["results"]
        per_block = grown / (measured["blocks"][1] - measured["blocks"][0])
        return float(per_block * n_blocks + drawn)
    if phase == "restarts":
        return float(drawn * min(n_workers, many[phase]["tasks"]))
    return float(many[phase]["network"] * n_workers)


def scheduler_seconds(measured: Mapping[str, Any], phase: str, n_blocks: float) -> float:
    transitions = drawn_out(measured, phase, "transitions", n_blocks)
    return transitions * measured["seconds_per_transition"]


def stops_at(measured: Mapping[str, Any], phase: str) -> float:
    """Return how many workers keep one scheduler busy: more of them wait for it."""
    many = measured["blocks"][1]
    work = drawn_out(measured, phase, "seconds", many)
    return work / scheduler_seconds(measured, phase, many)


def table(measured: Mapping[str, Any]) -> Grid:
    """Write what a phase asks of each worker and of the scheduler, for more and more workers."""
    columns = [
        "workers",
        "rows",
        "phase",
        "tasks",
        "moved at most",
        "work of a worker",
        "scheduler",
    ]
    rows = []
    for n_workers in WORKERS:
        n_blocks = n_workers * BLOCKS_PER_WORKER
        for phase in PHASES:
            n_tasks = drawn_out(measured, phase, "tasks", n_blocks)
            at_once = min(n_workers, n_tasks)
            work = drawn_out(measured, phase, "seconds", n_blocks) / at_once
            rows.append(
                [
                    f"{n_workers:,}",
                    f"{n_blocks * measured['block_rows']:,}",
                    phase,
                    f"{n_tasks:,.0f}",
                    amount(moved_at_most(measured, phase, n_workers, n_blocks) / 1e6, "MB"),
                    amount(work, "s"),
                    amount(scheduler_seconds(measured, phase, n_blocks), "s"),
                ]
            )
    return Grid("on paper", columns, rows)
