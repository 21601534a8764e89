"""What draws states to memories, in ONNX: a class for each of `amclust.torch.energies`.

The mathematics of the core is in single precision, and so is this.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from amclust._metrics import METRICS, name_metric
from amclust._network import Network
from amclust.onnx._graph import Graph, Value

Single = np.float32
Array = NDArray[np.float32]

# Lengths are not divided by less.
TINY = 1e-12


class Euclidean:
    """The squared Euclidean distance, and what other energies do alike."""

    compact = False
    spherical = False

    def __init__(self, g: Graph, memories: Array, beta: float, log_weights: Array) -> None:
        self.g, self.beta = g, Single(beta)
        self.log_weights = log_weights.astype(Single)
        self.memories, self.transposed = memories, np.ascontiguousarray(memories.T)
        self.squares = (memories.astype(np.float64) ** 2).sum(1).astype(Single)

    def attraction(self, v: Value, seen: Value | None = None) -> Value:
        """Return minus the distances, up to what is the same for all memories."""
        products = 2.0 * (v @ self.transposed)
        if seen is None:
            return products - self.squares
        return products - seen @ (self.transposed**2)

    def own(self, v: Value) -> Value | None:
        """Return what was left out; None: nothing."""
        return (v * v).sum(1, keep=True)

    def logits(self, v: Value, seen: Value | None = None) -> Value:
        """Return the logarithms of the memories' attractions, up to what is the same for all."""
        return self.attraction(v, seen) * self.beta + self.log_weights

    def memberships(self, v: Value, seen: Value | None = None) -> Value:
        """Return how much states belong to memories."""
        return self.logits(v, seen).softmax()

    def responsibilities(self, v: Value) -> Value:
        """Return the parts that memories have in a step."""
        return self.memberships(v)

    def energy(self, v: Value) -> Value:
        """Return the energy of states."""
        total = self.logits(v).cast(np.float64).reduce("LogSumExp", 1)
        energy = total * (-1.0 / float(self.beta))
        own = self.own(v)
        return energy if own is None else energy + own.squeeze(1).cast(np.float64)

    def pull(self, v: Value, p: Value, moves: Value | None) -> Value:
        """Return what a whole step adds; `moves`: where the others are held."""
        return p @ self.memories - v

    def step(self, v: Value, size: float) -> Value:
        """Return free states a step later."""
        return v + Single(size) * self.pull(v, self.responsibilities(v), None)

    def place(self, v: Value) -> Value:
        """Return rows where states live."""
        return v

    @property
    def start(self) -> Array:
        """The memories, where states live."""
        return self.memories


class Cosine(Euclidean):
    """Directions."""

    spherical = True

    def __init__(self, g: Graph, memories: Array, beta: float, log_weights: Array) -> None:
        wide = memories.astype(np.float64)
        lengths = np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), TINY)
        super().__init__(g, (wide / lengths).astype(Single), beta, log_weights)

    def attraction(self, v: Value, seen: Value | None = None) -> Value:
        """Return the inner products; what is not seen is 0."""
        return v @ self.transposed

    def own(self, v: Value) -> Value | None:
        """Return nothing: no part is left out."""
        return None

    def step(self, v: Value, size: float) -> Value:
        """Return directions a step later."""
        return self.place(v + Single(size) * (self.memberships(v) @ self.memories))

    def place(self, v: Value) -> Value:
        """Return directions."""
        return v / (v * v).sum(1, keep=True).apply("Sqrt").most(TINY)


class Epanechnikov(Euclidean):
    """Memories of bounded reach."""

    compact = True

    def _reach(self, v: Value, seen: Value | None = None) -> Value:
        known = v if seen is None else v * seen
        squares = (known * known).sum(1, keep=True)
        distances = (squares - self.attraction(v, seen)).most(0.0)
        return (1.0 - self.beta * distances).most(0.0)

    def memberships(self, v: Value, seen: Value | None = None) -> Value:
        """Return the memories' parts in the attraction; all 0 out of all reach."""
        return self._parts(self._reach(v, seen) * np.exp(self.log_weights))

    def responsibilities(self, v: Value) -> Value:
        """Return parts of the memories in reach, as their weights."""
        reached = (self._reach(v) > 0.0).cast(Single)
        return self._parts(reached * np.exp(self.log_weights))

    def energy(self, v: Value) -> Value:
        """Return the energy, infinite out of all reach."""
        total = (self._reach(v) * np.exp(self.log_weights)).sum(1).cast(np.float64)
        return total.apply("Log") * (-1.0 / float(self.beta))

    def pull(self, v: Value, p: Value, moves: Value | None) -> Value:
        """Return the way to the mean of the memories in reach; nothing if there is none."""
        return p @ self.memories - p.sum(1, keep=True) * v

    def _parts(self, amounts: Value) -> Value:
        total = amounts.sum(1, keep=True)
        return amounts / self.g.where(total > 0.0, total, 1.0)


class _ByDistances(Euclidean):
    """Energies that have distances only."""

    def own(self, v: Value) -> Value | None:
        return None

    def attraction(self, v: Value, seen: Value | None = None) -> Value:
        if seen is None:
            return self.minus_distances(v.expand(1), None)
        here = self.g.constant(self.memories[None], Single)
        return self.minus_distances(self.g.where(seen.expand(1) > 0.0, v.expand(1), here), seen)

    def minus_distances(self, a: Value, seen: Value | None) -> Value:
        """Return minus the distances of points (n, 1 or k, d) to the memories."""
        raise NotImplementedError


class Manhattan(_ByDistances):
    """The sum of absolute differences, their corners rounded."""

    def __init__(self, *network: Any, smoothing: float) -> None:
        super().__init__(*network)
        self.smoothing = smoothing

    def _lengths(self, ways: Value) -> Value:
        return (ways * ways + self.smoothing**2).apply("Sqrt")

    def minus_distances(self, a: Value, seen: Value | None) -> Value:
        return 0.0 - (self._lengths(a - self.memories[None]) - self.smoothing).sum(2)

    def pull(self, v: Value, p: Value, moves: Value | None) -> Value:
        ways = self.g.constant(self.memories[None], Single) - v.expand(1)
        parts = p.expand(2) / self._lengths(ways)
        return (parts * ways).sum(1) / parts.sum(1)


class _Embedded(_ByDistances):
    """Energies that are Euclidean after a map."""

    def embed(self, x: Value) -> Value:
        raise NotImplementedError

    def _patterns(self) -> Value:
        return self.embed(self.g.constant(self.memories, Single))

    def attraction(self, v: Value, seen: Value | None = None) -> Value:
        if seen is not None:
            return super().attraction(v, seen)
        patterns, states = self._patterns(), self.embed(v)
        squares = (patterns * patterns).sum(1) + (states * states).sum(1, keep=True)
        return 2.0 * (states @ patterns.transpose([1, 0])) - squares

    def minus_distances(self, a: Value, seen: Value | None) -> Value:
        apart = self.embed(a) - self._patterns().expand(0)
        return 0.0 - (apart * apart).sum(2)


class Kernel(_Embedded):
    """A kernel, by random features."""

    def __init__(self, *network: Any, gamma: float, frequencies: Array, phases: Array) -> None:
        super().__init__(*network)
        self.gamma, self.frequencies, self.phases = gamma, frequencies, phases
        self.size = Single(np.sqrt(2 / len(phases)))

    def embed(self, x: Value) -> Value:
        return (x @ self.frequencies + self.phases).apply("Cos") * self.size

    def pull(self, v: Value, p: Value, moves: Value | None) -> Value:
        angles = v @ self.frequencies + self.phases
        way = p @ self._patterns() - angles.apply("Cos") * self.size
        back = np.ascontiguousarray(self.frequencies.T) / Single(2 * self.gamma)
        return (angles.apply("Sin") * (0.0 - self.size) * way) @ back


class Mahalanobis(_Embedded):
    """A learned linear metric."""

    def __init__(self, *network: Any, factor: Array) -> None:
        super().__init__(*network)
        self.factor = factor

    def embed(self, x: Value) -> Value:
        return x @ self.factor

    def pull(self, v: Value, p: Value, moves: Value | None) -> Value:
        way = p @ self.memories - v
        if moves is None:
            return way
        largest = Single(np.linalg.norm(self.factor.astype(np.float64), 2) ** 2)
        return (self.embed(way) @ np.ascontiguousarray(self.factor.T)) / largest


def find_energy(g: Graph, network: Network) -> Euclidean:
    """Return the energy of a network; refuse one that ONNX cannot hold."""
    given = network.memories, network.beta, network.log_weights
    if network.energy_function is None:
        return (Cosine if network.geometry.spherical else Euclidean)(g, *given)
    return _find(g, network.energy_function, *given)


def _find(g: Graph, energy: Any, memories: Array, beta: float, log_weights: Array) -> Euclidean:
    from amclust.torch import energies

    network = (g, memories, beta, log_weights)
    kind = type(energy)  # a subclass may do anything
    values = {
        name: value.detach().cpu().numpy().astype(Single)
        for name, value in energy.state_dict().items()
    }
    if kind is energies.Weighted:
        return _find(g, energy.base, memories, beta, log_weights + values["log_weights"])
    if kind is energies.Euclidean:
        return Euclidean(*network)
    if kind is energies.Cosine:
        return Cosine(*network)
    if kind is energies.Epanechnikov:
        return Epanechnikov(*network)
    if kind is energies.Manhattan:
        return Manhattan(*network, smoothing=energy.smoothing)
    if kind is energies.Kernel:
        return Kernel(*network, gamma=energy.gamma, **values)
    if kind is energies.Mahalanobis:
        return Mahalanobis(*network, **values)
    names = ", ".join(repr(name) for name in METRICS)
    msg = (
        f"A network with metric={name_metric(energy)} cannot be exported: ONNX holds no code of "
        f"one's own. The metrics that can be: {names}, and the energies of amclust.torch."
    )
    raise ValueError(msg)
