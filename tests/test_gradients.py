"""Native losses and gradients against autograd through the torch layer, in float64."""

from typing import NamedTuple

import numpy as np
import pytest
from native import plan_of, rows_of

from amclust import _native

torch = pytest.importorskip("torch")
from amclust.torch import functional as F  # noqa: E402 (needs torch)
from amclust.torch.energies import Cosine, Euclidean  # noqa: E402

STEP_SIZE = 0.3
ANCHOR, TIE = 0.2, 0.35

# The core computes in float32, the reference in float64: a gradient is a sum over rows and steps of
# terms that partly cancel, so it is right to a small part of its largest entry, not of each entry.
# The worst case here is at 1e-4; a term left out of an adjoint shows at this tolerance.
TOLERANCE = 5e-4


@pytest.fixture(scope="module", autouse=True)
def one_torch_thread():
    """Keep torch from spinning on threads that these small tensors do not need."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Shape(NamedTuple):
    n: int
    d: int
    k: int
    n_steps: int
    n_hidden: int


# Which way the moving coordinates are followed depends on k, n_hidden and n_steps (use_gram in
# kernels/moving.cpp); with k > 2 d reconstruction follows coordinates too.
SHAPES = {
    "k coefficients": Shape(37, 26, 3, 8, 20),
    "coordinates": Shape(70, 12, 20, 2, 1),
    "many more memories than features": Shape(21, 3, 9, 3, 1),
    "padding in every direction": Shape(150, 33, 11, 5, 20),
    "two memories": Shape(33, 8, 2, 5, 4),
    "more than 64 memories": Shape(40, 10, 70, 3, 4),
    "several blocks a part": Shape(1100, 5, 4, 3, 2),
}


class Case(NamedTuple):
    X: np.ndarray  # float32, NaN where missing
    missing: np.ndarray
    hidden: np.ndarray  # (n, n_hidden) features, -1 where a row has fewer
    fill: np.ndarray
    sample_weight: np.ndarray | None
    memories: np.ndarray
    log_weights: np.ndarray | None
    beta: float
    n_steps: int
    metric: str


def make_case(shape, metric, weighted, holes):
    rng = np.random.default_rng(list(shape))
    n, d, k, n_steps, n_hidden = shape
    X = rng.normal(size=(n, d))
    memories = X[rng.choice(n, k, replace=n < k)] + 0.3 * rng.normal(size=(k, d))
    missing = np.zeros((n, d), bool)
    if holes:
        missing = rng.random((n, d)) < 0.2
        missing[0, 1:] = True  # a row of which nothing can be hidden
        missing[missing.all(axis=1)] = False
    X[missing] = np.nan
    if metric == "cosine":
        X /= np.sqrt(d * np.nanmean(X**2, axis=1, keepdims=True))
        memories /= np.linalg.norm(memories, axis=1, keepdims=True)
    hidden = np.full((n, n_hidden), -1, np.int32)
    for row, observed in zip(hidden, ~missing, strict=True):
        count = min(n_hidden, observed.sum() - 1)
        row[:count] = rng.choice(np.flatnonzero(observed), count, replace=False)
    return Case(
        X.astype(np.float32),
        missing,
        hidden,
        fill=rng.normal(scale=0.1, size=d).astype(np.float32),
        sample_weight=rng.uniform(0, 2, n).astype(np.float32) if weighted == "rows" else None,
        memories=memories.astype(np.float32),
        log_weights=rng.normal(scale=0.5, size=k).astype(np.float32)
        if weighted == "memories"
        else None,
        # Large enough to matter, small enough that no row sits on a watershed, where float32 is not
        # enough to tell which side it is on.
        beta=6.0 / d if metric == "euclidean" else 3.0,
        n_steps=n_steps,
        metric=metric,
    )


def evaluate(case, objective, threads=1):
    plan = plan_of(
        case.memories,
        objective,
        case.fill,
        metric=case.metric,
        anchor=ANCHOR,
        tie=TIE,
        beta=case.beta,
        step_size=STEP_SIZE,
        n_steps=case.n_steps,
        log_weights=case.log_weights,
        learn_weights=True,
    )
    return _native.evaluate(
        rows_of(case.X, case.metric),
        np.arange(len(case.X)),
        case.sample_weight,
        plan,
        case.hidden if objective == "completion" else None,
        threads,
    )


def autograd(case, objective):
    """Loss, gradient by the memories and gradient by the log-weights."""
    n, d = case.X.shape
    missing = torch.tensor(case.missing)
    X = torch.tensor(np.where(case.missing, 0.0, case.X).astype(np.float64))
    fill = torch.tensor(case.fill, dtype=torch.float64)
    weights = None
    if case.sample_weight is not None:
        weights = torch.tensor(case.sample_weight, dtype=torch.float64)
    given = np.zeros(len(case.memories)) if case.log_weights is None else case.log_weights
    memories = torch.tensor(case.memories, dtype=torch.float64, requires_grad=True)
    log_weights = torch.tensor(given, dtype=torch.float64, requires_grad=True)
    common = {
        "missing": missing,
        "sample_weight": weights,
        "energy": {"euclidean": Euclidean, "cosine": Cosine}[case.metric](),
        "log_weights": log_weights,
        "step_size": STEP_SIZE,
        "n_steps": case.n_steps,
    }
    if objective == "completion":
        hidden = torch.zeros(n, d + 1, dtype=torch.bool)
        hidden[torch.arange(n)[:, None], torch.tensor(case.hidden, dtype=torch.long)] = True
        hidden = hidden[:, :d]
        loss = F.completion_loss(X, memories, case.beta, hidden=hidden, fill=fill, **common)
    elif objective == "reconstruction":
        loss = F.reconstruction_loss(X, memories, case.beta, fill=fill, **common)
    else:
        loss = F.silhouette_loss(X, memories, case.beta, anchor=ANCHOR, tie=TIE, **common)
    loss.backward()
    return loss.item(), memories.grad.numpy(), log_weights.grad.numpy()


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * np.abs(expected).max())


@pytest.mark.torch
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
@pytest.mark.parametrize("weighted", ["nothing", "rows", "memories"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("objective", ["completion", "reconstruction", "silhouette"])
def test_gradients_equal_autograd(objective, metric, shape, weighted, holes, instruction_set):
    case = make_case(shape, metric, weighted, holes)
    found = evaluate(case, objective)
    loss, by_memories, by_log_weights = autograd(case, objective)
    assert found.loss == pytest.approx(loss, rel=TOLERANCE)
    assert_close(found.by_memories, by_memories)
    assert_close(found.by_log_weights, by_log_weights)


@pytest.mark.torch
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("objective", ["completion", "reconstruction"])
def test_gradients_of_a_single_memory(objective, metric, instruction_set):
    case = make_case(Shape(19, 4, 1, 3, 2), metric, "nothing", True)
    found = evaluate(case, objective)
    loss, by_memories, _ = autograd(case, objective)
    assert found.loss == pytest.approx(loss, rel=TOLERANCE)
    assert_close(found.by_memories, by_memories)
    # Alone, a memory's weight changes nothing.
    np.testing.assert_allclose(found.by_log_weights, 0.0, atol=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("objective", ["completion", "reconstruction", "silhouette"])
@pytest.mark.parametrize("n", [200, 3000])
def test_gradients_do_not_depend_on_the_threads(n, objective, metric):
    case = make_case(Shape(n, 7, 5, 3, 2), metric, "rows", True)
    one = evaluate(case, objective, threads=1)
    for threads in (2, 4):
        several = evaluate(case, objective, threads)
        assert one.loss == several.loss
        for name in ("by_memories", "by_log_weights", "wins"):
            np.testing.assert_array_equal(getattr(one, name), getattr(several, name))
