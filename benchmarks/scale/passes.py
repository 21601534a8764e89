"""The passes over the data: two workers beside one, and the cluster beside one memory."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
from distributed import Client

import amclust
from amclust._options import Options
from amclust._preparing import draw_rows, n_drawn
from benchmarks.framework.lines import Entry, Line, Target, interleave, seconds_of
from benchmarks.scale.rows import N_CLUSTERS, Made, held, make_clam, processes

PASSES = ("statistics and drawing", "labelling")


def two_workers(options: Namespace, measured: dict[str, Any]) -> Iterator[Entry]:
    """Compare the passes of two workers with those of one, on rows that are made in each."""
    made, repeats = (Made(10_000, 2500), 1) if options.quick else (Made(20_000_000), 5)
    yield from speed_ups(made, repeats)


def speed_ups(made: Made, repeats: int) -> Iterator[Entry]:
    with ExitStack() as stack:
        clients = [stack.enter_context(processes(n)) for n in (1, 2)]
        network = make_clam(clients[1], n_init=1).fit(made.array()).network_
        one, two = (_empty_rounds() for _ in clients)
        for at in range(repeats + 1):
            for client, rounds in zip(clients, (one, two), strict=True):
                found = time_passes(client, made, network)
                if at:  # the first warms up
                    for name, seconds in found.items():
                        rounds[name].append(seconds)
    for name in (*PASSES, "all passes"):
        yield Line.of_pairs(
            f"{made.title}, {name}",
            "s",
            one[name],
            two[name],
            peer_name="two workers",
            target=Target("ratio", ">=", 1.7),
            note=f"one worker beside two, a thread each, in turns; {made.n_blocks} blocks of "
            f"{made.block_rows} rows, made anew in every pass; median of {repeats}",
        )


def _empty_rounds() -> dict[str, list[float]]:
    return {name: [] for name in (*PASSES, "all passes")}


def time_passes(client: Client, made: Made, network: Any) -> dict[str, float]:
    """Time what a fit does with all rows, and the labels."""
    rows, model = made.array(), make_clam(client)
    source = model._source(rows, None, model._engine(), reset=True)
    batch_size = Options.of(model, N_CLUSTERS).batch_size
    times = [time.perf_counter()]
    draw_rows(source, 0, lambda size: n_drawn(size, batch_size, model.recipe, N_CLUSTERS))
    times.append(time.perf_counter())
    model.network_ = network
    held(client, model.predict(rows))
    times.append(time.perf_counter())
    found = dict(zip(PASSES, np.diff(times).tolist(), strict=True))
    return found | {"all passes": times[-1] - times[0]}


def overhead(options: Namespace, measured: dict[str, Any]) -> Iterator[Entry]:
    """Compare a fit of rows that the workers hold with one of the same rows in one memory."""
    made, repeats = (Made(10_000, 2500), 1) if options.quick else (Made(5_000_000), 3)
    yield from beside_local(made, repeats)


def beside_local(made: Made, repeats: int) -> Iterator[Entry]:
    local = made.local()
    given = {"scale": None, "random_state": 0}
    with processes(2) as client:
        rows = held(client, made.array())
        model = make_clam(client).fit(rows)
        alone = amclust.ClAM(N_CLUSTERS, **given).fit(local)
        same = np.array_equal(model.labels_.compute(scheduler=client), alone.labels_)
        same &= np.array_equal(model.memories_, alone.memories_)

        def label(_: int) -> None:  # nothing is kept: the same labels would be there already
            held(client, model.predict(rows))

        calls = {
            "fit": lambda _: make_clam(client).fit(rows),
            "labels": label,
            "local fit": lambda _: amclust.ClAM(N_CLUSTERS, **given).fit(local),
            "local labels": lambda _: alone.predict(local),
        }
        rounds = {
            name: seconds_of(found) for name, found in interleave(calls, range(repeats)).items()
        }
    note = (
        f"{made.n_blocks} blocks in the memory of two workers of a thread, beside two threads; "
        f"{'the same bits' if same else 'OTHER BITS'}; {repeats} interleaved"
    )
    line = partial(Line.of_pairs, unit="s", peer_name="amclust.ClAM", valid=same)
    both = np.add(rounds["fit"], rounds["labels"]).tolist()
    yield line(
        f"{made.title}, fit and labels",
        ours=both,
        peer=rounds["local fit"],
        target=Target("ratio", "<=", 1.5),
        note=note,
    )
    without = np.subtract(rounds["local fit"], rounds["local labels"]).tolist()
    yield line(
        f"{made.title}, fit",
        ours=rounds["fit"],
        peer=without,
        target=Target("ratio", "<=", 1.5),
        note=f"{note}; the local fit, which labels its rows, without the time of predict",
    )
    yield line(
        f"{made.title}, labels",
        ours=rounds["labels"],
        peer=rounds["local labels"],
        target=Target("ratio"),
        note=note,
    )
