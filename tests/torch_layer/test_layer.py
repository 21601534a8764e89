import copy
import io
import warnings

import pytest

torch = pytest.importorskip("torch")

from networks import DIM, ENERGIES, holes, make_energies, rows  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402

from amclust import ClAM  # noqa: E402
from amclust.torch import AssociativeMemory, energies  # noqa: E402
from amclust.torch import functional as F  # noqa: E402

K = 4


def weighted(n_memories):
    return energies.Weighted(energies.Euclidean(), n_memories)


def make(name="euclidean", **options):
    weights = None if name == "weighted" else "learn"  # that energy has its own
    options = {"beta": 0.5, "learn_beta": True, "weights": weights} | options
    generator = torch.Generator().manual_seed(0)
    energy = make_energies()[name]
    return AssociativeMemory(
        K, DIM, energy=energy, generator=generator, dtype=torch.float64, **options
    )


@pytest.mark.parametrize("name", ENERGIES)
def test_methods_are_the_functions(name):
    memory = make(name, n_steps=3, step_size=0.4)
    x, missing = rows(6, DIM), holes(6, DIM)
    net = (memory.memories, memory.beta)
    options = {"energy": memory.energy_function, "log_weights": memory.log_weights}
    steps = {"n_steps": 3, "step_size": 0.4}
    placed = memory.energy_function.place(x)
    close = torch.testing.assert_close
    close(memory(x), F.recall(x, *net, **steps, **options))
    close(memory(x, missing), F.recall(x, *net, missing=missing, **steps, **options))
    close(memory.assign(x), F.assign(x, *net, **steps, **options))
    close(memory.memberships(x), F.memberships(placed, *net, **options))
    close(memory.energy(x), F.energy(placed, *net, **options))
    close(memory.complete(x, missing), F.complete(x, *net, missing=missing, **steps, **options))


@pytest.mark.parametrize("shape", [(), (1,), (6,), (2, 3), (2, 3, 4)])
def test_any_leading_shape(shape):
    memory = make()
    x = rows(*shape, DIM)
    flat = x.reshape(-1, DIM)
    assert torch.equal(memory(x), memory(flat).reshape(x.shape))
    assert memory.assign(x).shape == shape
    assert memory.memberships(x).shape == (*shape, K)
    assert memory.energy(x).shape == shape
    assert memory.complete(x, x > 0.5).shape == x.shape


@pytest.mark.parametrize("name", ENERGIES)
def test_state_dict_brings_everything_back(name):
    memory = make(name)
    buffer = io.BytesIO()
    torch.save(memory.state_dict(), buffer)
    buffer.seek(0)
    other = make(name, beta=3.0)
    other.reset_parameters(torch.Generator().manual_seed(9))
    for parameter in other.energy_function.parameters():
        torch.nn.init.ones_(parameter)
    x = rows(6, DIM)
    assert not torch.equal(memory(x), other(x))
    other.load_state_dict(torch.load(buffer, weights_only=True))
    assert torch.equal(memory(x), other(x))
    assert torch.equal(memory(x), copy.deepcopy(memory)(x))


def test_rows_of_another_type_are_converted():
    memory = AssociativeMemory(K, DIM, generator=torch.Generator().manual_seed(0))
    x = rows(5, DIM)
    assert torch.equal(memory(x), memory(x.float()))
    assert memory.memberships(torch.ones(2, DIM, dtype=torch.int64)).dtype == torch.float32


def test_a_layer_without_storage_can_be_filled():
    memory = AssociativeMemory(2, 3, beta=2.5, weights=[1.0, 3.0], device="meta")
    memory.to_empty(device="cpu").reset_parameters()
    torch.testing.assert_close(memory.beta, torch.tensor(2.5))
    torch.testing.assert_close(memory.weights, torch.tensor([1.0, 3.0]))


def test_types_and_devices_move():
    memory = AssociativeMemory(K, DIM, weights=[1.0, 2.0, 3.0, 4.0], learn_beta=True)
    assert {t.dtype for t in memory.state_dict().values()} == {torch.float32}
    memory.double()
    assert {t.dtype for t in memory.state_dict().values()} == {torch.float64}
    assert memory(rows(2, DIM)).dtype == torch.float64
    assert memory.to("meta")(torch.empty(2, DIM, device="meta")).device.type == "meta"
    built = AssociativeMemory(K, DIM, device="meta", dtype=torch.float64)
    assert built.memories.device.type == "meta"
    assert built.beta.dtype == torch.float64


def test_half_precision_rows_meet_single_precision_memories():
    memory = AssociativeMemory(K, DIM, generator=torch.Generator().manual_seed(0))
    assert memory(rows(5, DIM).bfloat16()).dtype == torch.float32
    brief = copy.deepcopy(memory).bfloat16()
    out = brief(rows(5, DIM).bfloat16())
    assert out.dtype == torch.bfloat16
    assert out.isfinite().all()


@pytest.mark.parametrize("name", ENERGIES)
def test_bfloat16_autocast(name):
    torch.manual_seed(0)
    memory = make(name, n_steps=30).float()
    with torch.no_grad():
        memory.memories.mul_(3)
    layer = torch.nn.Linear(DIM, DIM)
    x = 3 * rows(50, DIM).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = memory(layer(x))
        out.float().square().mean().backward()
        labels = memory.assign(layer(x))
    assert out.dtype == torch.float32
    assert memory.memories.grad.any()
    assert all(p.grad.isfinite().all() for p in memory.parameters() if p.grad is not None)
    assert (labels == memory.assign(layer(x))).float().mean() > 0.9


@pytest.mark.parametrize(
    ("name", "backward", "compiler"),
    [
        *((name, "store", "eager") for name in ENERGIES),
        # These trace the backward pass too.
        ("euclidean", "store", "aot_eager"),
        ("euclidean", "checkpoint", "aot_eager"),
    ],
)
def test_compiles_without_graph_breaks(name, backward, compiler):
    memory = make(name, n_steps=2, backward=backward)
    x, missing = rows(6, DIM), holes(6, DIM)

    def loss(x, missing):
        recalled = memory(x, missing)
        silhouette = F.silhouette_loss(
            x, memory.memories, memory.beta, energy=memory.energy_function, anchor=0.1
        )
        return recalled.square().sum() + silhouette + memory.memberships(x).square().sum()

    expected = loss(x, missing)
    expected.backward()
    gradient = memory.memories.grad.clone()
    memory.zero_grad()
    torch.compiler.reset()
    compiled = torch.compile(loss, fullgraph=True, backend=compiler)
    found = compiled(x, missing)
    found.backward()
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(memory.memories.grad, gradient)


@pytest.mark.parametrize("name", ENERGIES)
def test_vmap_over_stacked_memories(name):
    """Gradients of many networks at once, as torch.func does it."""
    layers = [make(name, n_steps=3) for _ in range(3)]
    for seed, layer in enumerate(layers):
        layer.reset_parameters(torch.Generator().manual_seed(seed))
    x = rows(6, DIM)
    parameters, buffers = torch.func.stack_module_state(layers)

    def loss(parameters, buffers):
        return torch.func.functional_call(layers[0], (parameters, buffers), (x,)).square().sum()

    gradients, values = torch.func.vmap(torch.func.grad_and_value(loss))(parameters, buffers)
    for index, layer in enumerate(layers):
        value = layer(x).square().sum()
        value.backward()
        torch.testing.assert_close(values[index], value)
        torch.testing.assert_close(gradients["memories"][index], layer.memories.grad)


@pytest.mark.parametrize("name", ENERGIES)
def test_vmap_over_the_losses(name):
    memories, x = rows(3, K, DIM, seed=1), rows(6, DIM)
    energy, hidden = make_energies()[name], holes(6, DIM, share=0.5)

    def losses(memories):
        return torch.stack(
            [
                F.completion_loss(x, memories, 0.3, hidden=hidden, energy=energy),
                F.reconstruction_loss(x, memories, 0.3, energy=energy),
                F.silhouette_loss(x, memories, 0.3, anchor=0.2, energy=energy),
            ]
        )

    mapped = torch.func.vmap(losses)(memories)
    torch.testing.assert_close(mapped, torch.stack([losses(one) for one in memories]))


@pytest.mark.parametrize(
    ("options", "learned"),
    [
        ({}, []),
        ({"learn_beta": True, "weights": "learn"}, ["log_beta", "log_weights"]),
        (
            {"energy": energies.Weighted(energies.Mahalanobis(3), 2)},
            ["energy_function.log_weights", "energy_function.base.factor"],
        ),
    ],
)
def test_parameters_are_what_is_learned(options, learned):
    names = {name for name, _ in AssociativeMemory(2, 3, **options).named_parameters()}
    assert names == {"memories", *learned}


def test_memories_are_drawn_from_the_generator():
    before = torch.get_rng_state()
    one, other = (
        AssociativeMemory(K, DIM, generator=torch.Generator().manual_seed(5)) for _ in range(2)
    )
    assert torch.equal(one.memories, other.memories)
    assert torch.equal(before, torch.get_rng_state())


def test_seeds_are_rows_far_apart():
    centres = 100 * torch.eye(K, 3) + torch.tensor([[0.0, 0.0, 0.0]])
    x = centres.repeat_interleave(20, 0) + torch.randn(
        20 * K, 3, generator=torch.Generator().manual_seed(0)
    )
    memory = AssociativeMemory(K, 3).seed_(x, torch.Generator().manual_seed(0))
    rows_of_x = {tuple(row) for row in x.tolist()}
    assert {tuple(row) for row in memory.memories.tolist()} <= rows_of_x
    assert sorted(memory.memories.detach().div(100).round().argmax(1).tolist()) == [0, 0, 1, 2]
    with pytest.raises(ValueError, match="x has 3 row.*n_memories=4"):
        memory.seed_(x[:3])
    with pytest.raises(ValueError, match="dim=3 features"):
        memory.seed_(torch.zeros(9, 6))
    with pytest.raises(ValueError, match="x must be finite"):
        memory.seed_(x * torch.nan)
    # All rows alike: nothing is far from anything.
    assert AssociativeMemory(2, 3).seed_(torch.ones(5, 3)).memories.eq(1).all()


def test_repr_names_what_was_chosen():
    memory = AssociativeMemory(
        2, 3, energy="manhattan", beta=2.0, learn_beta=True, weights=[1.0, 2.0], backward="implicit"
    )
    text = repr(memory)
    for part in ("n_memories=2", "beta=2", "learn_beta=True", "weights=given", "'implicit'"):
        assert part in text
    assert "Manhattan(smoothing=0.001)" in text
    torch.testing.assert_close(memory.weights, torch.tensor([1.0, 2.0]))
    assert AssociativeMemory(2, 3).weights is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_memories": 0}, "n_memories must be an integer of at least 1, got 0"),
        ({"dim": 2.5}, "dim must be an integer"),
        ({"n_steps": -1}, "n_steps must be an integer of at least 0, got -1"),
        ({"beta": -1.0}, "beta must be a positive number, got -1.0"),
        ({"beta": float("inf")}, "beta must be a positive number, got inf"),
        ({"step_size": 1.5}, "step_size must be in"),
        ({"energy": "none"}, "energy must be an Energy or one of .*'manhattan'.*, got 'none'"),
        ({"weights": "some"}, "weights must be None, 'learn' or a sequence"),
        ({"weights": [1.0, 2.0]}, "weights must have n_memories=4 entries, got 2"),
        ({"weights": [1.0, -2.0, 1.0, 1.0]}, "weights must be a sequence of positive numbers"),
        ({"backward": "never"}, "backward must be"),
        ({"beta": "auto"}, "beta must be a positive number, got 'auto'"),
        ({"energy": energies.Mahalanobis(5)}, "energy is for 5 features, but dim=3"),
        ({"energy": energies.Kernel(5, 1.0)}, "energy is for 5 features, but dim=3"),
        ({"energy": weighted(2)}, "energy has 2 weights, but n_memories=4"),
        (
            {"energy": weighted(4), "weights": "learn"},
            "weights must be None with an energy that is",
        ),
    ],
)
def test_bad_parameters(options, message):
    arguments = {"n_memories": 4, "dim": 3} | options
    with pytest.raises(ValueError, match=message):
        AssociativeMemory(**arguments)


def test_bad_energies():
    with pytest.raises(ValueError, match="gamma must be positive, got 0"):
        energies.Kernel(3, 0)
    with pytest.raises(ValueError, match="smoothing must be positive, got -1"):
        energies.Manhattan(-1)
    with pytest.raises(ValueError, match=r"factor must have shape \(dim, rank\) = \(3, 2\)"):
        energies.Mahalanobis(3, factor=[[1.0, 2.0]])


def test_bad_rows():
    memory = AssociativeMemory(2, 3)
    with pytest.raises(ValueError, match="dim=3 features"):
        memory(torch.zeros(4, 2))
    with pytest.raises(ValueError, match="missing must be a bool tensor"):
        memory(torch.zeros(4, 3), torch.zeros(4, 3))


@pytest.mark.parametrize("learn_beta", [False, True])
def test_a_temperature_that_is_set(learn_beta):
    memory, x = make(learn_beta=learn_beta), rows(6, DIM)
    memory.beta = 3.0
    expected = F.energy(x, memory.memories, 3.0, log_weights=memory.log_weights)
    torch.testing.assert_close(memory.energy(x), expected)
    assert isinstance(memory.log_beta, torch.nn.Parameter) == learn_beta
    memory.beta = torch.tensor(0.5)
    assert memory.beta.item() == pytest.approx(0.5)
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="beta must be a positive number"):
            memory.beta = wrong


class Labels(torch.nn.Module):
    def __init__(self, memory):
        super().__init__()
        self.memory = memory

    def forward(self, x):
        return self.memory.assign(x), self.memory.memberships(x), self.memory(x)


@pytest.mark.parametrize("fitted", [False, True])
def test_an_exported_layer_takes_any_number_of_rows(fitted):
    memory, x = make(), rows(12, DIM)
    if fitted:
        x[::3, 1] = torch.nan
        model = ClAM(2, n_init=1, max_epochs=2, contamination=0.1, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            memory = model.fit(x.numpy()).network_.to_torch()
    free = {"x": {0: torch.export.Dim("rows", min=2)}}
    program = torch.export.export(Labels(memory), (x[:6],), dynamic_shapes=free).module()
    for ours, theirs in zip(program(x), Labels(memory)(x), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_a_distance_of_all_pairs_is_refused():
    class Pairs(energies.Energy):
        def distance(self, a, b):
            return torch.cdist(a, b)

    memory = AssociativeMemory(2, DIM, energy=Pairs())
    message = r"Pairs.distance must give one number for each pair .* \(6, 2\), got \(6, 1, 2\)"
    with pytest.raises(ValueError, match=message):
        memory(rows(6, DIM))
