"""The cut of how memories share rows, as an objective."""

import numpy as np
import pytest
import torch
from sklearn.datasets import make_moons

from amclust import ClAM
from amclust._assemblies import find_neighbours
from amclust._options import Options
from amclust._preparing import draw_rows, prepare
from amclust._rows import TableSource
from amclust.torch import functional as F


def draw(n=40, m=8, d=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, d, dtype=torch.float64, generator=generator)
    return x, torch.randn(m, d, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize("energy", [None, "cosine", "manhattan"])
def test_gradients_reach_rows_memories_and_assemblies(energy):
    x, memories = draw()
    assembly = torch.softmax(torch.randn(8, 3, dtype=torch.float64), dim=-1)
    inputs = [tensor.requires_grad_() for tensor in (x, memories, assembly)]
    weight = torch.rand(40, dtype=torch.float64)

    def loss(x, memories, assembly):
        return F.cut_loss(x, memories, assembly, energy=energy, sample_weight=weight)

    assert torch.autograd.gradcheck(loss, inputs)


def test_gradients_pass_by_missing_values():
    x, memories = draw()
    missing = torch.rand(x.shape, generator=torch.Generator().manual_seed(1)) < 0.2
    missing[missing.all(-1)] = False
    x[missing] = torch.nan
    assembly = torch.arange(8) % 2
    memories.requires_grad_()

    def loss(memories):
        return F.cut_loss(x, memories, assembly, missing=missing)

    assert torch.autograd.gradcheck(loss, [memories])


def test_it_is_the_cut_that_a_fit_finds():
    X, _ = make_moons(200, noise=0.1, random_state=0)
    model = ClAM(2, n_memories=30, random_state=0).fit(X)
    network = model.network_
    core = torch.tensor((X - X.mean(axis=0)) / X.std(axis=0), dtype=torch.float32)
    shares = F.overlap_shares(core, torch.tensor(network.memories)).numpy()
    drawn = draw_rows(TableSource(X))
    found = prepare(drawn, Options.of(model, 2), n_clusters=2, threads=1, feature_names=None)
    overlap = find_neighbours(found, network, 5, 0).overlap(3, 4.0)
    order = found.indices if found.indices is not None else np.arange(200)
    np.testing.assert_allclose(shares[order], overlap.shares.toarray(), atol=2e-3)
    assembly = torch.tensor(np.asarray(network.assembly))
    loss = F.cut_loss(core, torch.tensor(network.memories), assembly)
    parts = overlap.shares @ np.eye(2)[network.assembly]
    by_hand = np.mean(1 - (parts**2).sum(axis=0) / parts.sum(axis=0))
    assert float(loss) == pytest.approx(by_hand, abs=1e-3)


def test_memories_leave_the_border_of_two_clusters():
    generator = torch.Generator().manual_seed(0)
    left = torch.randn(100, 2, generator=generator) * 0.4
    x = torch.cat([left, left + torch.tensor([1.6, 0.0])])
    memories = torch.cat([x[:5], x[100:105], torch.tensor([[0.8, 0.0]])]).requires_grad_()
    assembly = torch.tensor([0] * 5 + [1] * 6)
    before = float(F.cut_loss(x, memories, assembly).detach())
    optimizer = torch.optim.Adam([memories], lr=0.05)
    for _ in range(40):
        optimizer.zero_grad()
        F.cut_loss(x, memories, assembly).backward()
        optimizer.step()
    assert float(F.cut_loss(x, memories, assembly).detach()) < 0.5 * before


def test_leading_dimensions_and_float_assemblies():
    x, memories = draw()
    stacked = torch.stack([memories, memories.flip(0)])
    assembly = torch.stack([torch.arange(8) % 2, (torch.arange(8) % 2).flip(0)])
    losses = F.cut_loss(x, stacked, assembly)
    assert losses.shape == (2,)
    torch.testing.assert_close(losses[0], losses[1])
    soft = torch.nn.functional.one_hot(assembly[0]).double()
    torch.testing.assert_close(F.cut_loss(x, memories, soft), losses[0])


@pytest.mark.parametrize("n_nearest", [0, 8, 20])
def test_numbers_of_memories_that_share_are_checked(n_nearest):
    x, memories = draw()
    with pytest.raises(ValueError, match="n_nearest must be at least 1 and below"):
        F.overlap_shares(x, memories, n_nearest=n_nearest)


def test_an_assembly_has_to_fit():
    x, memories = draw()
    with pytest.raises(ValueError, match="an entry for each of 8 memories, got 5"):
        F.cut_loss(x, memories, torch.zeros(5, dtype=torch.long))
