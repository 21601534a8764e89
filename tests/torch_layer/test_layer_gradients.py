"""Gradients of every function and energy against finite differences, and of the backward modes."""

from contextlib import nullcontext

import pytest

torch = pytest.importorskip("torch")

from networks import DIM, ENERGIES, beta_of, holes, make_energies, rows  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402

from amclust.torch import functional as F  # noqa: E402

K, N, N_STEPS = 4, 5, 3
HIDDEN, MISSING = holes(N, DIM, seed=5, share=0.5), holes(N, DIM, seed=4)
WEIGHT = rows(N, seed=6).abs() + 0.1
STEPS = {"n_steps": N_STEPS, "step_size": 0.4}

FUNCTIONS = {
    "energy": F.energy,
    "memberships": F.memberships,
    "entropy": F.entropy,
    "step": F.step,
    "step, some held": lambda *a, **k: F.step(*a, moves=HIDDEN, **k),
    "recall": lambda *a, **k: F.recall(*a, **STEPS, **k),
    "recall, some hidden": lambda *a, **k: F.recall(*a, hidden=HIDDEN, fill=0.1, **STEPS, **k),
    "recall, some missing": lambda *a, **k: F.recall(*a, missing=MISSING, **STEPS, **k),
    "complete": lambda *a, **k: F.complete(*a, missing=MISSING, **STEPS, **k),
    "completion_loss": lambda *a, **k: F.completion_loss(
        *a, hidden=HIDDEN & ~MISSING, missing=MISSING, sample_weight=WEIGHT, **STEPS, **k
    ),
    "reconstruction_loss": lambda *a, **k: F.reconstruction_loss(
        *a, missing=MISSING, sample_weight=WEIGHT, **STEPS, **k
    ),
    "silhouette_loss": lambda *a, **k: F.silhouette_loss(
        *a, anchor=0.3, tie=0.2, sample_weight=WEIGHT, **k
    ),
}


@pytest.mark.parametrize("name", ENERGIES)
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_gradcheck(function, name):
    """By the rows, the memories, the temperature, the weights and the energy's own parameters."""
    energy = make_energies()[name]
    own = [p.requires_grad_() for p in energy.parameters()]
    inputs = (
        (0.8 * rows(N, DIM)).requires_grad_(),
        rows(K, DIM, seed=1).requires_grad_(),
        torch.tensor(beta_of(name), dtype=torch.float64, requires_grad=True),
        (0.3 * rows(K, seed=2)).requires_grad_(),
        *own,
    )

    def call(x, memories, beta, log_weights, *_):
        return function(x, memories, beta, energy=energy, log_weights=log_weights)

    assert torch.autograd.gradcheck(call, inputs)


@pytest.mark.parametrize("name", ENERGIES)
def test_checkpointed_gradients_are_the_stored_ones(name):
    found = {}
    for backward in ("store", "checkpoint"):
        energy = make_energies()[name]
        x, memories = rows(N, DIM).requires_grad_(), rows(K, DIM, seed=1).requires_grad_()
        state = F.recall(
            x,
            memories,
            beta_of(name),
            energy=energy,
            n_steps=11,
            backward=backward,
            missing=MISSING,
        )
        state.square().sum().backward()
        found[backward] = [x.grad, memories.grad, *(p.grad for p in energy.parameters())]
    for stored, again in zip(*found.values(), strict=True):
        torch.testing.assert_close(stored, again, rtol=1e-12, atol=1e-12)


# What a factor of low rank does not see, and what a kernel hardly feels, creeps on for long.
SLOW = {("low rank", True), ("kernel", True)}


@pytest.mark.parametrize(
    ("name", "masked"),
    [(name, held) for name in ENERGIES for held in (False, True) if (name, held) not in SLOW],
)
def test_implicit_gradients_are_the_stored_ones_at_the_fixed_point(name, masked):
    found = {}
    moves = {"hidden": HIDDEN} if masked else {}
    for backward in ("store", "implicit"):
        energy = make_energies()[name]
        x, memories = rows(N, DIM).requires_grad_(), rows(K, DIM, seed=1).requires_grad_()
        state = F.recall(
            x,
            memories,
            beta_of(name),
            energy=energy,
            n_steps=600,
            step_size=0.9,
            backward=backward,
            **moves,
        )
        state.pow(3).sum().backward()
        found[backward] = [x.grad, memories.grad, *(p.grad for p in energy.parameters())]
    for stored, implicit in zip(*found.values(), strict=True):
        if implicit is None:  # a free state forgets where it came from
            implicit = torch.zeros_like(stored)
        torch.testing.assert_close(stored, implicit, rtol=1e-4, atol=1e-5)


def test_backward_modes_keep_less():
    """Bytes that autograd holds on to: fewer with checkpoints, fewest with the fixed point."""
    kept = {}
    for backward in ("store", "checkpoint", "implicit"):
        held: dict[int, int] = {}

        def note(tensor, held=held):
            held[tensor.data_ptr()] = tensor.nbytes
            return tensor

        memories = rows(K, DIM, seed=1).requires_grad_()
        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            F.recall(rows(200, DIM), memories, 1.0, n_steps=64, backward=backward)
        kept[backward] = sum(held.values())
    assert kept["implicit"] < kept["checkpoint"] < kept["store"] / 3


@pytest.mark.filterwarnings("ignore:backward='implicit'")
@pytest.mark.parametrize("n_steps", [1, 2, 5])
def test_implicit_gradients_stay_in_bounds_before_the_fixed_point(n_steps):
    """Far from converged they are rough, not wild."""
    norms = {}
    for backward in ("store", "implicit"):
        memories = rows(3, DIM, seed=1).requires_grad_()
        state = F.recall(rows(50, DIM), memories, 1.0, n_steps=n_steps, backward=backward)
        state.square().sum().backward()
        norms[backward] = memories.grad.norm()
    assert norms["store"] / 10 < norms["implicit"] < 10 * norms["store"]


@pytest.mark.parametrize(("beta", "n_steps"), [(1.0, 10), (0.3, 10), (3.0, 3)])
def test_implicit_gradients_that_are_wrong_warn(beta, n_steps):
    x, found = rows(300, 8), {}
    for backward in ("store", "implicit"):
        memories = x[:6].clone().requires_grad_()
        heard = pytest.warns(ConvergenceWarning, match=f"the last of n_steps={n_steps} steps was")
        with heard if backward == "implicit" else nullcontext():
            state = F.recall(x, memories, beta, n_steps=n_steps, backward=backward)
        (state * torch.arange(8)).sum().backward()
        found[backward] = memories.grad
    error = (found["store"] - found["implicit"]).norm() / found["store"].norm()
    assert error > 0.02
    # Quiet where it is right, and where no gradient is asked for.
    F.recall(x, memories, beta, n_steps=100, backward="implicit")
    with torch.no_grad():
        F.recall(x, memories, beta, n_steps=n_steps, backward="implicit")


def test_implicit_without_gradients():
    x, memories = rows(N, DIM), rows(K, DIM, seed=1)
    expected = F.recall(x, memories, 1.0)
    assert torch.equal(F.recall(x, memories, 1.0, backward="implicit"), expected)
    memories.requires_grad_()
    with torch.no_grad():
        assert torch.equal(F.recall(x, memories, 1.0, backward="implicit"), expected)
    assert F.recall(x, memories, 1.0, n_steps=0, backward="implicit") is not None
