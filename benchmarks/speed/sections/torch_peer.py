"""The paper's protocol against a natural PyTorch loop of the same algorithm, on zoo."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from benchmarks.data import FloatArray, load_table, standardise
from benchmarks.framework import optional_module
from benchmarks.protocol import EPOCHS, PROTOCOLS, RESTARTS, paper_clam
from benchmarks.records import Entry, Line, Target
from benchmarks.speed import torch_loop
from benchmarks.speed.settings import Settings
from benchmarks.timing import timed

_OURS_EACH_SIDE = 3


def run(settings: Settings) -> Iterator[Entry]:
    """Time our fits before and after the one long run of the loop."""
    torch = optional_module("torch", "torch")
    table = load_table("zoo", settings.data_dir)
    features = standardise(table.features)
    restarts = settings.pick(full=RESTARTS, quick=1)
    epochs = settings.pick(full=EPOCHS, quick=20)
    scale = RESTARTS * EPOCHS / (restarts * epochs)
    protocol = PROTOCOLS["zoo"]
    # Batches of eight leave a second thread nothing to do but wait, on a busy machine for long.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    _our_seconds(features, table.n_clusters, 1)
    torch_loop.train(features, table.n_clusters, protocol, restarts=1, epochs=1)
    ours = _our_seconds(features, table.n_clusters, _OURS_EACH_SIDE)
    loop = timed(
        lambda: torch_loop.train(
            features, table.n_clusters, protocol, restarts=restarts, epochs=epochs
        )
    )
    torch.set_num_threads(threads)
    ours += _our_seconds(features, table.n_clusters, _OURS_EACH_SIDE)
    peer = loop.seconds * scale
    extrapolated = f", extrapolated x{scale:g}" if scale != 1.0 else ", run in full"
    yield Line(
        what="zoo, 10 restarts x 200 epochs",
        unit="s",
        ours=median(ours),
        peer=peer,
        peer_name="natural PyTorch loop",
        value=peer / median(ours),
        target=Target("speed-up", ">=", 500, "x"),
        note=f"loop: {restarts} restart(s) x {epochs} epochs in {loop.seconds:.1f} s"
        f"{extrapolated}, one torch thread",
        samples={"ours": ours, "peer": [loop.seconds]},
    )


def _our_seconds(features: FloatArray, n_clusters: int, repeats: int) -> list[float]:
    protocol = PROTOCOLS["zoo"]
    return [
        timed(lambda: paper_clam(n_clusters, protocol).fit(features)).seconds
        for _ in range(repeats)
    ]
