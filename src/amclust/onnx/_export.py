"""From a network to an ONNX model: rows in original units in, labels and memberships out."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray

from amclust._categories import MISSING, Categories
from amclust._columns import as_table, read_table
from amclust._geometry import ROUNDING, Geometry
from amclust._network import Network
from amclust._version import __version__
from amclust._winsorising import Limits
from amclust.io.files import atomic_write
from amclust.onnx._completion import completed
from amclust.onnx._energies import Euclidean, find_energy
from amclust.onnx._graph import Graph, Value, finished

Single, Double = np.float32, np.float64


def export(
    network: Network, path: str | os.PathLike[str] | None = None, *, dtype: str | None = None
) -> onnx.ModelProto:
    """Write a network as an ONNX model; see `Network.to_onnx`.

    Parameters
    ----------
    network : Network
        The network.

    path : str or path, default=None
        Where to write it; None: nowhere.

    dtype : {"float32", "float64"}, default=None
        Type of the rows; None: that of the table of the fit.

    Returns
    -------
    model : onnx.ModelProto
        The model.
    """
    dtype = network.geometry.dtype if dtype is None else dtype
    if dtype not in ("float32", "float64"):
        msg = f"dtype must be 'float32', 'float64' or None, got {dtype!r}."
        raise ValueError(msg)
    graph, layout = Graph(), network.geometry.categories
    x, given = graph.given("X", dtype), []
    n_numbers = network.n_features if layout is None else len(layout.numbers)
    if n_numbers:
        given.append(x.info(["rows", n_numbers]))
    if layout is not None:
        codes = graph.given("codes", np.int64)
        given.append(codes.info(["rows", len(layout.categorical)]))
        x = _features(graph, layout, x, codes)
    answers = add_network(graph, network, x)
    outputs = []
    shapes: list[list[int | str]] = [["rows"], ["rows", network.n_clusters]]
    for name, value, shape in zip(Answers._fields, answers, shapes, strict=True):
        graph.rename(value, name)
        outputs.append(graph.given(name, value.dtype).info(shape))
    properties = {"amclust": __version__, "n_clusters": str(network.n_clusters)}
    names = network.geometry.feature_names
    if layout is not None:
        names = tuple(layout.name(column) for column in layout.numbers)
        levels = {layout.name(column): layout.levels[column] for column in layout.categorical}
        properties["levels"] = json.dumps(levels)
    if names is not None:
        properties["feature_names"] = json.dumps(names)
    model = finished(graph, given, outputs, **properties)
    if path is not None:
        with atomic_write(path, overwrite=True) as file:
            file.write(model.SerializeToString())
    return model


def inputs(network: Network, X: Any, *, dtype: str | None = None) -> dict[str, NDArray[Any]]:
    """Return a table as the inputs of the model of a network.

    Parameters
    ----------
    network : Network
        The network.

    X : {array-like, data frame} of shape (n_samples, n_columns)
        Rows, as the network takes them.

    dtype : {"float32", "float64"}, default=None
        The one that `export` was given.

    Returns
    -------
    inputs : dict of ndarrays
        "X" has the numbers; with categories "codes" has the places of their levels among those of
        the model's metadata, -1 where they are missing or were not seen in the fit.

    Examples
    --------
    >>> import pandas as pd
    >>> from amclust import ClAM
    >>> from amclust.onnx import inputs
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.1], "kind": ["a", "a", "b", None]})
    >>> network = ClAM(2, random_state=0).fit(table).network_
    >>> inputs(network, table)["codes"].tolist()
    [[0], [0], [1], [-1]]
    """
    layout = network.geometry.categories
    kind = network.geometry.dtype if dtype is None else dtype
    if layout is None:
        return {"X": network.features(X).astype(kind, copy=False)}
    table = read_table(as_table(X), layout)
    codes = table.codes.astype(np.int64)
    codes[table.codes == MISSING] = -1
    numbers = {"X": table.numbers.astype(kind, copy=False)} if len(layout.numbers) else {}
    return numbers | {"codes": codes}


def _features(g: Graph, layout: Categories, numbers: Value, codes: Value) -> Value:
    """Return the features of rows: numbers, and 1 and 0 for levels, in their order."""
    blocks, places = [], [layout.starts[layout.numbers]]
    if len(layout.numbers):
        blocks.append(numbers)
    for at, column in enumerate(layout.categorical):
        count = int(layout.n_levels[column])
        code = codes.take(g.constant(at, np.int64), 1)
        known = (code >= 0) & (code <= count - 1)
        # After the levels: nothing is known.
        table = np.vstack([np.eye(count), np.full((1, count), np.nan)])
        blocks.append(g.constant(table, numbers.dtype).take(g.where(known, code, count)))
        places.append(np.arange(count) + layout.starts[column])
    order = np.argsort(np.concatenate(places))
    return g.concat(blocks, 1).take(g.constant(order, np.int64), 1)


class Answers(NamedTuple):
    """What is asked of a network."""

    labels: Value
    memberships: Value


def add_network(g: Graph, network: Network, x: Value) -> Answers:
    """Add what a network says of rows to a graph."""
    energy = find_energy(g, network)
    rows = _read(g, network, x)
    dynamics = _Dynamics(g, network, energy)
    start = dynamics.start(rows)
    (state,) = g.loop(network.n_steps, [start], lambda _, v: [energy.step(v, network.step_size)])
    memories = energy.attraction(state).argmax()
    labels = memories
    if not network.is_plain:
        labels = g.constant(network.assembly, np.int64).take(memories)
    if energy.compact:
        reached = energy.memberships(state).sum(1) > 0.0
        labels = g.where(reached, labels, -1)
    if network.max_energy is not None:
        highest = g.constant(network.max_energy, Double).take(memories)
        labels = g.where(dynamics.heights(rows, start) > highest, -1, labels)
    parts = energy.memberships(start)
    if not network.is_plain:
        members = np.zeros((network.n_memories, network.n_clusters), Single)
        members[np.arange(network.n_memories), network.assembly] = 1.0
        parts = parts @ members
    return Answers(labels, parts.cast(x.dtype))


class _Rows(NamedTuple):
    """Rows in core units."""

    x: Value  # 0 where values are missing
    missing: Value | None  # what is left to the memories; None: nothing
    # The values that there are, whether they are believed or not, and where there are none; None:
    # rows are complete wherever they are read.
    observed: Value | None
    gone: Value | None


def _read(g: Graph, network: Network, x: Value) -> _Rows:
    """Return rows in core units, completed where that is known."""
    geometry = network.geometry
    nothing, completion = x.is_nan(), geometry.completion
    gone = nothing if geometry.limits is None else _not_believed(g, geometry.limits, x, nothing)
    completes = completion is not None and geometry.reads_completed
    fills = None
    if completion is not None and completes:
        inverse = (1.0 / completion.spread).astype(Single)
        units = _in_units(x, completion.mean, inverse, geometry.limits)
        low, high = ((end - completion.mean) / completion.spread for end in geometry.range)
        found = completed(g, completion, units, gone)
        fills = found.most(low).least(high).cast(Single)
    if geometry.whitening is not None:
        if completion is not None and fills is not None:
            wide = fills.cast(Double) * completion.spread + completion.mean
            x = g.where(gone, wide.cast(x.dtype), x)
        whitening = geometry.whitening
        whitened = (x.cast(Double) - whitening.mean) @ whitening.forward
        core = _in_units(whitened.cast(x.dtype), geometry.offset, geometry.scale, None)
        return _Rows(core, None, None, None)
    observed = _in_units(x, geometry.offset, geometry.scale, geometry.limits)
    if completion is None or fills is None:
        core = _placed(g, geometry, g.where(gone, 0.0, observed), gone)
        left: Value | None = gone
    else:
        factor = completion.spread * geometry.scale.astype(Double)
        shift = (completion.mean - geometry.offset) * geometry.scale.astype(Double)
        filled = fills * factor + shift
        core, left = _placed(g, geometry, g.where(gone, filled, observed), None), None
    observed = g.where(nothing, 0.0, observed)
    return _Rows(core, left, _placed(g, geometry, observed, nothing), nothing)


def _in_units(x: Value, offset: Any, scale: Any, limits: Limits | None) -> Value:
    """Return rows in other units, in single precision, as the core reads them."""
    inside = ((x - np.asarray(offset)) * np.asarray(scale, x.dtype)).cast(Single)
    if limits is None:
        return inside
    low, high = ((end - offset) * scale for end in (limits.low, limits.high))
    return inside.most(low).least(high)


def _not_believed(g: Graph, limits: Limits, x: Value, nothing: Value) -> Value:
    """Return which values are missing, or count as such; of a row without any other none does."""
    wide = x.cast(Double)
    believed = (wide >= limits.believed_low) & (wide <= limits.believed_high)
    return nothing | (~believed & believed.any(1, keep=True))


def _placed(g: Graph, geometry: Geometry, x: Value, gone: Value | None) -> Value:
    """Put rows on the unit sphere, if that is where they are.

    Missing values count as the mean of the observed squares.
    """
    if not geometry.spherical:
        return x
    wide = x.cast(Double)
    squares = (wide * wide).sum(1, keep=True)
    if gone is not None:
        there = (~gone).cast(Double).sum(1, keep=True)
        squares = g.where(there > 0.0, squares * float(geometry.n_features) / there.most(1.0), 1.0)
    length = squares.apply("Sqrt").cast(Single)
    return x * g.where(length > 0.0, 1.0 / length.most(np.finfo(Single).tiny), 0.0)


class _Dynamics:
    """What becomes of missing values that are left to the memories, and how high rows lie."""

    def __init__(self, g: Graph, network: Network, energy: Euclidean) -> None:
        self.g, self.network, self.energy = g, network, energy

    def start(self, rows: _Rows) -> Value:
        """Return where the dynamics begins."""
        x = rows.x if rows.missing is None else self._filled(rows.x, rows.missing)
        # The core leaves directions as long as filling has made them.
        return x if self.network.energy_function is None else self.energy.place(x)

    def heights(self, rows: _Rows, start: Value) -> Value:
        """Return how high above the ground rows lie, by the values that they have."""
        network, g = self.network, self.g
        logs = network.log_weights.astype(Double)
        ground = -(logs.max() + np.log(np.exp(logs - logs.max()).sum())) / network.beta
        if network.geometry.spherical and network.energy_function is None:
            ground -= 1.0  # the energy of a direction is minus a cosine
        found = self.energy.energy(start) - ground
        if rows.observed is not None and rows.gone is not None:
            counted = (network.geometry.scale > 0).astype(Double)
            if network.geometry.categories is not None:
                counted *= network.geometry.categories.parts
            there = ((~rows.gone).cast(Double) @ counted[:, None]).squeeze(1)
            own = self.energy.energy(self._filled(rows.observed, rows.gone)) - ground
            scaled = own * float(counted.sum()) / there.most(ROUNDING)
            found = g.where(there > ROUNDING, scaled, found)
        return found.most(0.0)

    def _filled(self, x: Value, missing: Value) -> Value:
        """Return rows whose missing values are where the dynamics carries them."""
        g, energy, size = self.g, self.energy, Single(self.network.step_size)
        share = energy.memberships(x, (~missing).cast(Single))
        start = g.where(missing, share @ energy.start, x)

        def step(_: Value, v: Value) -> list[Value]:
            pull = energy.pull(v, energy.responsibilities(v), missing)
            return [g.where(missing, v + size * pull, v)]

        (filled,) = g.loop(self.network.n_steps, [start], step)
        return filled
