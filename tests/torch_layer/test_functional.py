import numpy as np
import pytest

torch = pytest.importorskip("torch")

import native  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from networks import DIM, ENERGIES, beta_of, holes, make_energies, rows  # noqa: E402

from amclust.torch import functional as F  # noqa: E402
from amclust.torch.energies import Cosine, Epanechnikov, Euclidean, Manhattan  # noqa: E402

K = 4


def network(name):
    """Return memories and keyword arguments of a network."""
    return rows(K, DIM, seed=1), {"beta": beta_of(name), "energy": make_energies()[name]}


# --- the same as the native core ------------------------------------------------------------------


@pytest.mark.parametrize("with_holes", [False, True], ids=["complete", "holes"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_inference_agrees_with_the_native_core(metric, with_holes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    memories = X[:6] + 0.2 * rng.normal(size=(6, 5)).astype(np.float32)
    memories /= np.linalg.norm(memories, axis=1, keepdims=True)
    log_weights = rng.normal(scale=0.5, size=6).astype(np.float32)
    if with_holes:
        X[rng.random(X.shape) < 0.2] = np.nan
        X[np.isnan(X).all(axis=1)] = 0.3
    names = ("labels", "memberships", "energy", "entropy", "state", "filled", "trajectory")
    expected = dict(
        zip(
            names,
            native.infer(X, memories, *names, beta=4.0, log_weights=log_weights, metric=metric),
            strict=True,
        )
    )
    x, weights = torch.tensor(X, dtype=torch.float64), torch.tensor(log_weights).double()
    missing = x.isnan() if with_holes else None
    energy = Cosine() if metric == "cosine" else Euclidean()
    net = (torch.tensor(memories).double(), 4.0)
    options = {"energy": energy, "log_weights": weights}
    steps = {"n_steps": 10, "step_size": 0.3}
    placed = energy.place(x, missing)
    filled = placed
    if with_holes:
        filled = F.complete(x, *net, missing=missing, **steps, **options) / (
            1.0 if metric == "euclidean" else energy.length(x, missing)
        )
    found = {
        "labels": F.assign(x, *net, missing=missing, **steps, **options),
        "memberships": F.memberships(filled, *net, **options),
        "energy": F.energy(filled, *net, **options),
        "entropy": F.entropy(filled, *net, **options),
        "state": F.recall(x, *net, missing=missing, **steps, **options),
        "filled": filled,
        "trajectory": F.recall(
            x, *net, missing=missing, return_trajectory=True, **steps, **options
        ),
    }
    for name in names:
        np.testing.assert_allclose(found[name].numpy(), expected[name], atol=2e-5, err_msg=name)


# --- every energy ---------------------------------------------------------------------------------


@pytest.mark.parametrize("step_size", [0.3, 1.0])
@pytest.mark.parametrize(
    ("name", "held"),
    [
        *((name, False) for name in ENERGIES),
        # Held states leave the sphere, on which alone the cosine has a minimum.
        *((name, True) for name in ENERGIES if name != "cosine"),
    ],
)
def test_energy_never_rises(name, held, step_size):
    memories, net = network(name)
    moves = holes(40, DIM, seed=2, share=0.5) if held else None
    if name == "kernel":  # random features are the kernel only roughly
        step_size = min(step_size, 0.5)
    state = net["energy"].place(rows(40, DIM))
    before = F.energy(state, memories, **net)
    for _ in range(20):
        state = F.step(state, memories, step_size=step_size, moves=moves, **net)
        after = F.energy(state, memories, **net)
        assert (after <= before + 1e-9).all()  # infinite is not more than infinite
        before = after


@pytest.mark.parametrize("name", ENERGIES)
def test_step_follows_the_energy(name):
    """A small step goes down the gradient of the energy, or at least not up."""
    memories, net = network(name)
    state = net["energy"].place(rows(30, DIM)).requires_grad_()
    (gradient,) = torch.autograd.grad(
        F.energy(state, memories, **net).nan_to_num(posinf=0).sum(), state
    )
    with torch.no_grad():
        change = F.step(state, memories, step_size=1e-4, **net) - state
    assert ((gradient * change).sum(-1) <= 1e-12).all()
    assert (change.abs().sum(-1) > 0).sum() > 20


# Through a factor of low rank some memories look alike.
@pytest.mark.parametrize("name", [name for name in ENERGIES if name != "low rank"])
def test_recall_ends_at_a_sharp_memory(name):
    """At a low temperature states end where one memory is, and are assigned to it."""
    memories = 4 * torch.cat([torch.eye(3), -torch.ones(1, 3)]).double()
    beta = {"epanechnikov": 0.05, "kernel": 30.0, "cosine": 30.0}.get(name, 8.0)
    net = {"beta": beta, "energy": make_energies()[name]}
    x = memories[:3] + 0.2 * rows(3, DIM)
    ends = F.recall(x, memories, n_steps=200, **net)
    targets = net["energy"].place(memories[:3])
    # With few random features a kernel's minimum lies a little beside the memory.
    tolerance = 0.3 if name == "kernel" else 1e-6
    torch.testing.assert_close(ends, targets, atol=tolerance, rtol=0)
    assert F.assign(x, memories, **net).tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ENERGIES)
def test_leading_dimensions_are_so_many_calls(name):
    _, net = network(name)
    memories, x = rows(2, 5, K, DIM, seed=1), rows(5, 7, DIM)
    beta = net.pop("beta") * torch.linspace(0.8, 1.2, 5, dtype=torch.float64)
    log_weights = 0.3 * rows(2, 5, K, seed=2)
    missing, hidden = holes(5, 7, DIM, seed=4), holes(5, 7, DIM, seed=5)
    weight = rows(5, 7, seed=6).abs()
    functions = {
        "energy": lambda x, R, b, w, *_: F.energy(x, R, b, log_weights=w, **net),
        "memberships": lambda x, R, b, w, *_: F.memberships(x, R, b, log_weights=w, **net),
        "entropy": lambda x, R, b, w, *_: F.entropy(x, R, b, log_weights=w, **net),
        "step": lambda x, R, b, w, m, h, s: F.step(x, R, b, moves=h, log_weights=w, **net),
        "recall": lambda x, R, b, w, m, h, s: F.recall(
            x, R, b, missing=m, n_steps=3, log_weights=w, **net
        ),
        "assign": lambda x, R, b, w, m, h, s: F.assign(x, R, b, missing=m, log_weights=w, **net),
        "completion": lambda x, R, b, w, m, h, s: F.completion_loss(
            x, R, b, hidden=h & ~m, missing=m, sample_weight=s, log_weights=w, **net
        ),
        "reconstruction": lambda x, R, b, w, m, h, s: F.reconstruction_loss(
            x, R, b, missing=m, sample_weight=s, log_weights=w, **net
        ),
        "silhouette": lambda x, R, b, w, m, h, s: F.silhouette_loss(
            x, R, b, anchor=0.3, tie=0.2, missing=m, sample_weight=s, log_weights=w, **net
        ),
    }
    for function in functions.values():
        at_once = function(x, memories, beta, log_weights, missing, hidden, weight)
        for i in range(2):
            for j in range(5):
                part = (x[j], memories[i, j], beta[j], log_weights[i, j], missing[j])
                alone = function(*part, hidden[j], weight[j])
                torch.testing.assert_close(at_once[i, j], alone)


# --- missing values and masks ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ENERGIES)
def test_what_stands_at_missing_places_does_not_matter(name):
    memories, net = network(name)
    x, missing = rows(20, DIM), holes(20, DIM, seed=7)
    as_nan, as_nine = (torch.where(missing, value, x) for value in (torch.nan, 9.0))
    for function in (F.recall, F.complete, F.reconstruction_loss, F.silhouette_loss):
        found = function(as_nan, memories, missing=missing, **net)
        assert found.isfinite().all()
        assert torch.equal(found, function(as_nine, memories, missing=missing, **net))


def test_complete_keeps_what_is_known():
    memories = rows(K, DIM, seed=1)
    x, missing = rows(20, DIM), holes(20, DIM, seed=7)
    for name in ENERGIES:
        found = F.complete(
            x, memories, beta_of(name), missing=missing, energy=make_energies()[name]
        )
        assert torch.equal(found[~missing], x[~missing])
        assert (found[missing] != x[missing]).all()


def test_held_coordinates_stay():
    x, hidden = rows(20, DIM), holes(20, DIM, seed=7)
    state = F.recall(x, rows(K, DIM, seed=1), 1.0, hidden=hidden, fill=0.2)
    assert torch.equal(state[~hidden], x[~hidden])


@settings(deadline=None, max_examples=50)
@given(
    st.integers(1, 12),
    st.integers(1, 9),
    st.floats(0.01, 0.99),
    st.integers(0, 2**31),
    st.booleans(),
)
def test_draw_hidden(n, d, mask_prob, seed, with_holes):
    missing = holes(n, d, seed=seed) if with_holes else None
    generator = torch.Generator().manual_seed(seed)
    hidden = F.draw_hidden((n, d), mask_prob, missing=missing, generator=generator)
    observed = torch.full((n,), d) if missing is None else (~missing).sum(-1)
    wanted = (mask_prob * observed + 0.5).floor().clamp(min=1).minimum(observed - 1).clamp(min=0)
    assert torch.equal(hidden.sum(-1), wanted.long())
    if missing is not None:
        assert not (hidden & missing).any()
    again = F.draw_hidden(
        (n, d), mask_prob, missing=missing, generator=torch.Generator().manual_seed(seed)
    )
    assert torch.equal(hidden, again)


def test_draws_leave_the_global_generator_alone():
    before = torch.get_rng_state()
    generator = torch.Generator().manual_seed(0)
    F.completion_loss(rows(8, DIM), rows(K, DIM, seed=1), 1.0, generator=generator)
    assert torch.equal(before, torch.get_rng_state())


# --- losses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [F.completion_loss, F.reconstruction_loss])
def test_reductions(loss):
    x, memories, weight = rows(9, DIM), rows(K, DIM, seed=1), rows(9, seed=2).abs()
    options = {"hidden": holes(9, DIM, seed=3)} if loss is F.completion_loss else {}
    each = loss(x, memories, 1.0, reduction="none", sample_weight=weight, **options)
    total = loss(x, memories, 1.0, reduction="sum", sample_weight=weight, **options)
    mean = loss(x, memories, 1.0, sample_weight=weight, **options)
    torch.testing.assert_close(total, (weight * each).sum())
    torch.testing.assert_close(mean, total / weight.sum())


def test_silhouette_of_far_clusters_is_the_exact_one():
    from sklearn.metrics import silhouette_score

    centres = 50 * torch.eye(3, dtype=torch.float64)
    x = centres.repeat_interleave(40, 0) + rows(120, 3)
    exact = silhouette_score(x.numpy(), np.repeat(np.arange(3), 40))
    # The root of the mean square stands in for the mean distance.
    assert -F.silhouette_loss(x, centres, 1.0).item() == pytest.approx(exact, abs=0.03)


def test_a_dead_memory_leaves_gradients_finite():
    x = rows(30, DIM)
    memories = torch.cat([rows(2, DIM, seed=1), torch.full((1, DIM), 1e4)]).requires_grad_()
    F.silhouette_loss(x, memories, 5.0, anchor=0.1, tie=0.1).backward()
    assert memories.grad.isfinite().all()
    assert (memories.grad[2] == 0).all()


def test_noise_has_no_gradient():
    memories = torch.tensor([[0.0, 0.0], [3.0, 0.0]], requires_grad=True)
    far = torch.tensor([[0.0, 50.0]], requires_grad=True)
    energy = Epanechnikov()
    assert F.energy(far, memories, 1.0, energy=energy).isinf().all()
    assert torch.equal(F.recall(far, memories, 1.0, energy=energy), far)
    F.memberships(far, memories, 1.0, energy=energy).sum().backward()
    assert not far.grad.any()
    assert not memories.grad.any()
    assert F.assign(far, memories, 1.0, energy=energy).tolist() == [-1]


def test_rows_with_nan_have_no_label():
    x = torch.tensor([[0.0, 0.0], [torch.nan, 0.0], [torch.inf, 0.0]])
    assert F.assign(x, torch.tensor([[0.0, 0.0], [3.0, 0.0]]), 1.0).tolist() == [0, -1, -1]


@pytest.mark.parametrize("far", [1e3, 1e5])
def test_place_does_not_count(far):
    """Single precision holds far from the origin, as long as the rows themselves do."""
    memories = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    x = memories + 0.25
    near = F.energy(x, memories, 5.0)
    torch.testing.assert_close(F.energy(x + far, memories + far, 5.0), near, rtol=0, atol=2e-2)
    assert F.assign(memories + far, memories + far, 5.0).tolist() == [0, 1, 2]


def test_energies_have_names():
    x, memories = rows(5, DIM), rows(K, DIM, seed=1)
    for name, energy in (("manhattan", Manhattan()), ("cosine", Cosine())):
        found = F.recall(x, memories, 1.0, energy=name)
        assert torch.equal(found, F.recall(x, memories, 1.0, energy=energy))


def test_manhattan_withstands_an_outlier():
    """One wild coordinate moves a row to another Euclidean cluster, but not a Manhattan one."""
    memories = torch.tensor([[0.0] * 6, [2.0] * 6]).double()
    row = torch.zeros(1, 6).double()
    row[0, 0] = 9.0
    assert F.assign(row, memories, 1.0).item() == 1
    assert F.assign(row, memories, 1.0, energy=Manhattan()).item() == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, R: F.recall(x, R, 1.0, backward="none"), "backward must be one of"),
        (lambda x, R: F.completion_loss(x, R, 1.0, mask_prob=0.0), "mask_prob must be between"),
        (lambda x, R: F.reconstruction_loss(x, R, 1.0, reduction="max"), "reduction must be"),
        (lambda x, R: F.silhouette_loss(x, R[:1], 1.0), "at least 2 memories, got 1"),
        (lambda x, R: F.energy(x, R, -1.0), "beta must be a positive number, got -1.0"),
        (lambda x, R: F.energy(x, R[:, :2], 1.0), "x has 3 features, memories have 2"),
        (lambda x, R: F.energy(x[0], R, 1.0), "x must have shape"),
        (lambda x, R: F.energy(x, R[:0], 1.0), "memories must have at least 1 row"),
        (lambda x, R: F.energy(x, R, 1.0, energy="none"), "energy must be an Energy or one of"),
        (lambda x, R: F.recall(x, R, 1.0, n_steps=-1), "n_steps must be at least 0, got -1"),
        (lambda x, R: F.recall(x, R, 1.0, step_size=2), "step_size must be in .0, 1., got 2"),
        (lambda x, R: F.recall(x, R, 1.0, hidden=x), "hidden must be a bool tensor"),
        (lambda x, R: F.step(x, R, 1.0, moves=x[:2] > 0), "moves must be a bool tensor"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call(rows(5, DIM), rows(K, DIM, seed=1))


def test_a_centre_without_direction_has_gradients():
    x = torch.tensor([[1.0, 0.0], [-1.0, 0.0]], requires_grad=True)
    memories = torch.tensor([[0.0, 1.0], [0.0, -1.0]], requires_grad=True)
    F.silhouette_loss(x, memories, 1.0, anchor=1.0, tie=1.0, energy="cosine").backward()
    assert x.grad.isfinite().all()
    assert memories.grad.isfinite().all()
