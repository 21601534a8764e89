"""Energy, memberships, recall and labels of a network with given memories."""

import numpy as np
import pytest
from native import infer
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp, softmax

# The core computes in float32.
RTOL = 1e-5


class Network:
    """The formulas of the design in float64."""

    def __init__(self, memories, beta, log_weights=None, metric="euclidean", step_size=0.3):
        self.memories = np.asarray(memories, dtype=np.float64)
        self.beta = beta
        self.log_weights = np.zeros(len(memories)) if log_weights is None else log_weights
        self.metric = metric
        self.step_size = step_size

    def square_distances(self, v):
        return ((v[:, None] - self.memories) ** 2).sum(axis=-1)

    def logits(self, v):
        if self.metric == "euclidean":
            return self.log_weights - self.beta * self.square_distances(v)
        return self.log_weights + self.beta * (v @ self.memories.T)

    def memberships(self, v):
        return softmax(self.logits(v), axis=1)

    def energy(self, v):
        return -logsumexp(self.logits(v), axis=1) / self.beta

    def entropy(self, v):
        p = self.memberships(v)
        return -(p * np.log(p)).sum(axis=1)

    def informed_start(self, X, missing):
        """Missing entries where the memories have them that the observed ones attract to."""
        seen = np.where(missing, 0.0, 1.0)
        X = np.where(missing, 0.0, X)
        if self.metric == "euclidean":
            attraction = -(((X[:, None] - self.memories) * seen[:, None]) ** 2).sum(axis=-1)
        else:
            attraction = X @ self.memories.T
        p = softmax(self.log_weights + self.beta * attraction, axis=1)
        return np.where(missing, p @ self.memories, X)

    def trajectory(self, v, n_steps, moves=None):
        states = [v]
        for _ in range(n_steps):
            pull = self.memberships(v) @ self.memories
            if moves is None and self.metric == "cosine":
                v = v + self.step_size * pull
                v = v / np.linalg.norm(v, axis=1, keepdims=True)
            else:
                v = v + self.step_size * (1.0 if moves is None else moves) * (pull - v)
            states.append(v)
        return np.stack(states)


def make_network(k, d, metric="euclidean", seed=0, n=83, **changes):
    """Rows and a network between them, all exact in float32."""
    rng = np.random.default_rng(seed)
    X, memories = rng.normal(size=(n, d)), 1.5 * rng.normal(size=(k, d))
    log_weights = rng.normal(size=k).astype(np.float32)
    beta = 0.5
    if metric == "cosine":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        memories /= np.linalg.norm(memories, axis=1, keepdims=True)
        beta = 4.0
    settings = {"beta": beta, "log_weights": log_weights, "metric": metric} | changes
    return X.astype(np.float32), Network(memories.astype(np.float32), **settings)


def ask(net, X, *want, **more):
    return infer(
        X,
        net.memories,
        *want,
        beta=net.beta,
        log_weights=net.log_weights,
        metric=net.metric,
        step_size=net.step_size,
        **more,
    )


# --- against float64 ------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 7, 16, 70, 130])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_what_a_network_says_equals_the_formulas(metric, k, instruction_set):
    X, net = make_network(k, 9, metric)
    v = X.astype(np.float64)
    p, energy, entropy = ask(net, X, "memberships", "energy", "entropy")
    assert_allclose(p, net.memberships(v), rtol=1e-4, atol=1e-6)
    assert_allclose(energy, net.energy(v), rtol=RTOL, atol=RTOL)
    assert_allclose(entropy, net.entropy(v), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("k", [1, 2, 7, 16, 70, 130])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_recall_equals_the_formulas(metric, k, instruction_set):
    X, net = make_network(k, 9, metric)
    state, trajectory, labels, counts = ask(
        net, X, "state", "trajectory", "labels", "counts", n_steps=6
    )
    expected = net.trajectory(X.astype(np.float64), 6)
    assert_allclose(trajectory, expected, rtol=0, atol=1e-5)
    assert_allclose(trajectory[0], X, rtol=3e-7)  # rows are normalised once more for "cosine"
    assert_array_equal(trajectory[-1], state)
    assert_array_equal(labels, net.square_distances(expected[-1]).argmin(axis=1))
    assert_array_equal(counts, np.bincount(labels, minlength=k))


def test_distances_are_those_of_the_rows():
    X, net = make_network(5, 4)
    assert_allclose(
        ask(net, X, "square_distances"), net.square_distances(X.astype(np.float64)), rtol=RTOL
    )


def test_cosine_distance_is_one_minus_similarity():
    X, net = make_network(5, 4, "cosine")
    expected = 1 - X.astype(np.float64) @ net.memories.T
    assert_allclose(ask(net, 3 * X, "square_distances"), expected, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_read_in_either_precision(dtype):
    X, net = make_network(5, 4)
    assert_array_equal(ask(net, X.astype(dtype), "state"), ask(net, X, "state"))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_answers_do_not_depend_on_the_threads(metric):
    X, net = make_network(20, 30, metric, n=1500)
    X[::3, 4] = np.nan
    want = ("labels", "memberships", "energy", "entropy", "square_distances", "state", "filled")
    one = ask(net, X, *want)
    for threads in (2, 4):
        for alone, together in zip(one, ask(net, X, *want, threads=threads), strict=True):
            assert_array_equal(alone, together)


# --- the energy -----------------------------------------------------------------------------------


@pytest.mark.parametrize("step_size", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("beta", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_energy_never_rises_along_a_recall(metric, beta, step_size):
    X, net = make_network(6, 5, metric, beta=beta, step_size=step_size)
    trajectory = ask(net, X, "trajectory", n_steps=40).astype(np.float64)
    energies = np.stack([net.energy(states) for states in trajectory])
    assert np.diff(energies, axis=0).max() <= 1e-6 * np.abs(energies).max()
    assert energies[-1].mean() < energies[0].mean() - 1e-4


def test_energy_never_rises_while_missing_values_are_filled():
    X, net = make_network(6, 5)
    X[:, 1:3] = np.nan
    states = [ask(net, X, "filled", n_steps=steps) for steps in (1, 2, 5, 10, 20)]
    states.insert(0, net.informed_start(X.astype(np.float64), np.isnan(X)))
    energies = np.stack([net.energy(s.astype(np.float64)) for s in states])
    assert np.diff(energies, axis=0).max() <= 1e-6
    assert energies[-1].mean() < energies[0].mean() - 1e-3


# --- extremes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 70])
@pytest.mark.parametrize("distance", [1e3, 1e6])
@pytest.mark.parametrize("beta", [1e-3, 1.0, 100.0])
def test_a_row_far_from_every_memory_gets_finite_numbers(beta, distance, k, instruction_set):
    _, net = make_network(k, 2, beta=beta)
    X = distance * np.array([[1, 0], [-0.6, 0.8], [0, -1]], np.float32)
    p, energy, entropy, state = ask(net, X, "memberships", "energy", "entropy", "state")
    assert_allclose(p.sum(axis=1), 1.0, rtol=RTOL)
    assert_allclose(energy, net.energy(X.astype(np.float64)), rtol=RTOL)
    assert np.isfinite(entropy).all()
    assert (entropy >= 0).all()
    assert np.isfinite(state).all()
    assert np.linalg.norm(state, axis=1).max() < distance


@pytest.mark.parametrize("k", [1, 2, 5, 70])
@pytest.mark.parametrize("beta", [1e-4, 0.5, 1e4])
def test_memberships_sum_to_one_and_bound_the_entropy(beta, k):
    X, net = make_network(k, 3, beta=beta, log_weights=None)
    p, entropy = ask(net, X, "memberships", "entropy")
    assert (p >= 0).all()
    assert_allclose(p.sum(axis=1), 1.0, rtol=RTOL)
    assert (entropy >= 0).all()
    assert (entropy <= np.log(k) + 1e-6).all()


def test_entropy_goes_from_the_logarithm_of_k_to_zero():
    X, net = make_network(5, 3, beta=1e-6, log_weights=None)
    assert_allclose(ask(net, X, "entropy"), np.log(5), rtol=RTOL)
    net.beta = 1e4
    assert_allclose(np.median(ask(net, X, "entropy")), 0.0, atol=1e-6)


# --- the paper's examples of collective attraction ("Understanding the partitions") ---------------


def fall(x, memories, beta):
    """Label of a point, and its distance to the first memory before and after recall."""
    x, memories = np.float32([x]), np.float32(memories)
    label, state = infer(x, memories, "labels", "state", beta=beta, n_steps=200)
    return label[0], *(np.linalg.norm(point - memories[0]) for point in (x, state))


def test_case_1_a_point_between_two_memories_falls_to_the_nearer_one():
    label, before, after = fall([2.1, 0.5], [[1, 0.5], [4, 0.5]], beta=1.0)
    assert label == 0
    assert after < 0.1 < before


def test_case_2_two_memories_pull_a_point_away_from_its_nearest():
    point, memories = [2.1, 0.5], [[1, 0.5], [4, 0.5], [4.5, 0.5]]
    label, before, after = fall(point, memories, beta=0.2)
    assert label == 1
    assert after > before
    # Neither of the two does it alone, and a low temperature ends it.
    assert fall(point, memories[:2], beta=0.2)[0] == 0
    assert fall(point, [memories[0], memories[2]], beta=0.2)[0] == 0
    assert fall(point, memories, beta=5.0)[0] == 0


def test_case_3_two_nearer_memories_cancel_and_the_farthest_wins():
    point, memories = [2.1, 0.51], [[1, 0.5], [2.2, 1.3], [2.2, -0.3]]
    distances = np.linalg.norm(np.subtract(memories, point), axis=1)
    assert distances.argmax() == 0
    label, before, after = fall(point, memories, beta=1.0)
    assert label == 0
    assert after < before
    # One of them alone wins, and so does the nearest at a low temperature.
    assert fall(point, memories[:2], beta=1.0)[0] == 1
    assert fall(point, memories, beta=100.0)[0] == distances.argmin()


def plane():
    """Memories, grid points, the Voronoi cells these lie in, and how clearly."""
    memories = np.random.default_rng(3).uniform(0, 5, size=(7, 2)).astype(np.float32)
    axis = np.linspace(-1, 6, 120)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2).astype(np.float32)
    squares = Network(memories, beta=1.0).square_distances(points.astype(np.float64))
    first, second = np.partition(squares, 1, axis=1)[:, :2].T
    return memories, points, squares.argmin(axis=1), second - first


def test_basins_are_voronoi_cells_at_a_low_temperature():
    memories, points, cells, gap = plane()
    labels = infer(points, memories, "labels", beta=100.0)
    # The boundary is blurred where the gap is no more than the temperature 1/beta.
    inside = gap > 0.02
    assert inside.mean() > 0.99
    assert_array_equal(labels[inside], cells[inside])


def test_basins_are_not_voronoi_cells_at_a_high_temperature():
    memories, points, cells, _ = plane()
    labels = infer(points, memories, "labels", beta=0.001)
    assert (labels == cells).mean() < 0.7


def test_a_heavy_memory_has_a_larger_basin():
    memories, points, _, _ = plane()
    light = infer(points, memories, "labels", beta=1.0)
    heavy = infer(points, memories, "labels", beta=1.0, log_weights=[2.0] + 6 * [0.0])
    assert (heavy == 0).sum() > (light == 0).sum()
    assert (heavy == 0)[light == 0].all()


# --- missing values -------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 7, 70])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_a_missing_value_is_a_masked_one(metric, k, instruction_set):
    d = 6
    X, net = make_network(k, d, metric)
    rng = np.random.default_rng(1)
    missing = rng.random(X.shape) < 0.4
    missing[missing.all(axis=1), 0] = False
    missing[:5] = False
    fill = rng.normal(scale=0.3, size=d).astype(np.float32)
    X[missing] = np.nan
    if metric == "cosine":
        X /= np.sqrt(d * np.nanmean(X**2, axis=1, keepdims=True))
    filled = ask(net, X, "filled", fill=fill, n_steps=5)

    start = net.informed_start(X.astype(np.float64), missing)
    end = net.trajectory(start, 5, moves=missing)[-1]
    assert_allclose(filled[missing], end[missing], rtol=1e-4, atol=1e-5)
    assert_allclose(filled[~missing], X[~missing], rtol=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_rows_with_holes_are_asked_about_as_they_are_filled(metric):
    X, net = make_network(7, 6, metric)
    X[::2, 1] = np.nan
    X[::3, 4:] = np.nan
    want = ("labels", "memberships", "energy", "entropy", "square_distances", "state")
    with_holes = ask(net, X, *want, "filled")
    filled = with_holes[-1]
    if metric == "cosine":  # a filled row is not of length 1; the core would normalise it
        assert np.isfinite(filled).all()
        assert (np.abs(filled) <= 1.5).all()
        return
    for found, expected in zip(with_holes, ask(net, filled, *want), strict=False):
        assert_allclose(found, expected, rtol=1e-6)


def test_trajectory_starts_at_the_filled_row():
    X, net = make_network(4, 5)
    X[:, 2] = np.nan
    filled, trajectory, state = ask(net, X, "filled", "trajectory", "state")
    assert_array_equal(trajectory[0], filled)
    assert_array_equal(trajectory[-1], state)
