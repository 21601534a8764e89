"""All restarts as one stack of tensors against a natural PyTorch loop over them, on zoo."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from benchmarks.data import load_table, standardise
from benchmarks.framework import optional_module
from benchmarks.protocol import EPOCHS, PROTOCOLS, RESTARTS, paper_clam
from benchmarks.records import Entry, Line, Target
from benchmarks.speed import torch_loop
from benchmarks.speed.settings import Settings
from benchmarks.timing import timed


def run(settings: Settings) -> Iterator[Entry]:
    """Time the stack before and after the one long run of the loop."""
    torch = optional_module("torch", "torch")
    table = load_table("zoo", settings.data_dir)
    features = standardise(table.features)
    restarts = settings.pick(full=RESTARTS, quick=1)
    epochs = settings.pick(full=EPOCHS, quick=20)
    each_side = settings.pick(full=3, quick=1)
    scale = RESTARTS * EPOCHS / (restarts * epochs)
    protocol = PROTOCOLS["zoo"]

    def stack(n_epochs: int = EPOCHS) -> float:
        model = paper_clam(table.n_clusters, protocol, epochs=n_epochs)
        return timed(lambda: model.set_params(backend="torch").fit(features)).seconds

    # Batches of eight leave a second thread nothing to do but wait, on a busy machine for long.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    stack(1)
    torch_loop.train(features, table.n_clusters, protocol, restarts=1, epochs=1)
    ours = [stack() for _ in range(each_side)]
    loop = timed(
        lambda: torch_loop.train(
            features, table.n_clusters, protocol, restarts=restarts, epochs=epochs
        )
    )
    ours += [stack() for _ in range(each_side)]
    torch.set_num_threads(threads)
    peer = loop.seconds * scale
    extrapolated = f", extrapolated x{scale:g}" if scale != 1.0 else ", run in full"
    yield Line(
        what='zoo, 10 restarts x 200 epochs, backend="torch"',
        unit="s",
        ours=median(ours),
        peer=peer,
        peer_name="natural PyTorch loop",
        value=peer / median(ours),
        target=Target("speed-up", ">=", 20, "x"),
        note=f"loop: {restarts} restart(s) x {epochs} epochs in {loop.seconds:.1f} s"
        f"{extrapolated}, one torch thread for both",
        samples={"ours": ours, "peer": [loop.seconds]},
    )
