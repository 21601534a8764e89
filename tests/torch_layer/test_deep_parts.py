"""The parts of a deep fit: where memories start, what is minimised, how epochs are judged."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs, make_circles
from sklearn.metrics import adjusted_rand_score

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from amclust.torch import AssociativeMemory, functional  # noqa: E402
from amclust.torch.deep._seeding import (  # noqa: E402
    SEEDINGS,
    leading_eigenvectors,
    neighbour_graph,
    seed_by_clam,
    seed_by_graph,
)
from amclust.torch.deep._training import (  # noqa: E402
    RECIPE,
    Batch,
    Epoch,
    Schedule,
    agreement,
    recalled_reconstruction,
    reconstruction,
    total_loss,
)

# --- seeding ------------------------------------------------------------------------------------


def rings(n_rows=400):
    X, y = make_circles(n_rows, factor=0.4, noise=0.04, random_state=0)
    return X.astype(np.float32), y


@pytest.mark.parametrize("n_rows", [400, 800])  # all eigenvectors, and the first of them
def test_the_graph_finds_clusters_of_any_shape(n_rows):
    X, y = rings(n_rows)
    seeds = seed_by_graph(X, 2, "auto", 0)
    assert adjusted_rand_score(y, seeds.targets.argmax(dim=1)) == 1.0
    assert adjusted_rand_score(y, _labels(seed_by_clam(X, 2, "auto", 0), X)) < 0.1
    assembled = SEEDINGS["assemblies"](X, 2, "auto", 0)
    assert adjusted_rand_score(y, assembled.targets.argmax(dim=1)) == 1.0
    assert_allclose(seeds.targets.sum(dim=1), 1, rtol=1e-5)


@pytest.mark.parametrize("name", SEEDINGS)
def test_all_seedings_find_blobs(name):
    X, y = make_blobs(90, 4, centers=3, random_state=1)
    X = X.astype(np.float32)
    seeds = SEEDINGS[name](X, 3, "auto", 0)
    assert adjusted_rand_score(y, _labels(seeds, X)) == 1.0
    means = np.array([X[y == cluster].mean(axis=0) for cluster in range(3)])
    distances = np.linalg.norm(means[:, None] - seeds.memories.numpy(), axis=2)
    assert (distances.min(axis=1) < 0.5).all()
    assert SEEDINGS[name](X, 3, 0.25, 0).beta == pytest.approx(0.25)


@pytest.mark.parametrize("name", SEEDINGS)
@pytest.mark.parametrize("n_clusters", [1, 2, 5])
def test_few_rows_are_enough(name, n_clusters):
    X = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    seeds = SEEDINGS[name](X, n_clusters, "auto", 0)
    assert seeds.memories.shape == (n_clusters, 2)
    assert torch.isfinite(seeds.memories).all()
    assert seeds.beta > 0


def test_many_rows_are_seeded_by_assemblies(monkeypatch):
    X = rings()[0]
    by_size = [SEEDINGS["auto"](X, 2, "auto", 0)]
    monkeypatch.setattr("amclust.torch.deep._seeding.MAX_GRAPH_ROWS", len(X) - 1)
    by_size.append(SEEDINGS["auto"](X, 2, "auto", 0))
    for name, found in zip(("graph", "assemblies"), by_size, strict=True):
        torch.testing.assert_close(found.targets, SEEDINGS[name](X, 2, "auto", 0).targets)


def test_temperature_follows_the_units():
    X = rings()[0]
    for seeding in SEEDINGS.values():
        one, ten = seeding(X, 2, "auto", 0), seeding(10 * X, 2, "auto", 0)
        assert ten.beta == pytest.approx(one.beta / 100, rel=1e-3)
        # Training amplifies what ten times as large numbers round differently.
        assert_allclose(ten.memories, 10 * one.memories, rtol=5e-3, atol=1e-2)


def test_parts_that_nothing_links_are_told_apart():
    X, y = make_blobs(1200, 2, centers=6, cluster_std=0.01, random_state=0)
    targets = seed_by_graph(X.astype(np.float32), 6, "auto", 0).targets
    assert adjusted_rand_score(y, targets.argmax(dim=1)) == 1.0


@pytest.mark.parametrize("n_rows", [30, 600])
def test_leading_eigenvectors_are_those_of_the_whole(n_rows):
    graph = neighbour_graph(rings(n_rows)[0], 2)
    values, vectors = leading_eigenvectors(graph, 5)
    assert_allclose(values, np.linalg.eigvalsh(graph.toarray())[:-6:-1], rtol=1e-3)
    assert_allclose(graph @ vectors, vectors * values, atol=1e-2)
    assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-6)


def test_neighbours_are_mutual_and_nobody_is_alone():
    X = np.concatenate([rings()[0], [[50, 50]]]).astype(np.float32)
    graph = neighbour_graph(X, 2).toarray()
    assert_allclose(graph, graph.T)
    assert (graph.sum(axis=1) > 0).all()
    assert graph[-1].max() < 0.01  # far from all: it has weak links only


def _labels(seeds, X):
    return functional.assign(torch.from_numpy(X), seeds.memories, seeds.beta)


# --- objective ----------------------------------------------------------------------------------


@pytest.fixture
def batch():
    draws = torch.Generator().manual_seed(0)
    rows = torch.randn(8, 3, generator=draws)
    memory = AssociativeMemory(2, 3, beta=0.5, generator=draws)
    targets = torch.rand(8, 2, generator=draws).softmax(dim=1)
    return Batch(rows, rows + 1, rows + 2, targets, nn.Identity(), memory, guard=2.0, unit=0.1)


def test_reconstructions_are_mean_squared_errors(batch):
    assert recalled_reconstruction(batch).item() == pytest.approx(4.0)
    assert reconstruction(batch).item() == pytest.approx(2.0)  # the guard doubles it


def test_agreement_is_a_cross_entropy_in_units_of_the_reconstruction(batch):
    memberships = batch.memory.memberships(batch.latents)
    expected = -(batch.targets * memberships.log()).sum(dim=1).mean()
    assert agreement(batch).item() == pytest.approx(0.1 * expected.item(), rel=1e-5)
    assert agreement(batch._replace(targets=None)).item() == 0.0


def test_agreement_has_a_gradient_where_memberships_underflow(batch):
    memory = batch.memory
    with torch.no_grad():
        memory.memories.copy_(torch.tensor([[0.0, 0.0, 0.0], [100.0, 0.0, 0.0]]))
    wrong = torch.tensor([0.0, 1.0]).expand(8, 2)
    agreement(batch._replace(targets=wrong)).backward()
    assert memory.memories.grad.isfinite().all()
    assert (memory.memories.grad != 0).any()


def test_a_recipe_weighs_its_terms(batch):
    total = sum(weight * term(batch) for weight, term in RECIPE)
    assert total_loss(batch, RECIPE).item() == pytest.approx(total.item())
    assert total_loss(batch, [(3.0, reconstruction)]).item() == pytest.approx(6.0)


# --- schedule -----------------------------------------------------------------------------------


def schedule(**changes):
    standard = {"n_steps": 10, "deepen": 0.5, "max_reconstruction": 1.1, "patience": 3}
    return Schedule(**{"max_epochs": 20, **standard, **changes})


def epochs(*rows):
    return [
        Epoch(epoch, 10, 1.0, reconstruction, 2.0, silhouette, living)
        for epoch, (reconstruction, silhouette, living) in enumerate(rows)
    ]


def test_the_recall_deepens():
    depths = [schedule().depth(epoch) for epoch in range(1, 21)]
    assert depths[0] == 1
    assert depths == sorted(depths)
    assert depths[9] < 10
    assert depths[10:] == [10] * 10
    assert {schedule(deepen=0.0).depth(epoch) for epoch in range(1, 21)} == {10}
    assert {schedule(n_steps=1).depth(epoch) for epoch in range(1, 21)} == {1}


def test_learning_rates_fall_to_almost_nothing():
    rates = [schedule().rate(epoch) for epoch in range(1, 21)]
    assert rates[0] == 1.0
    assert rates == sorted(rates, reverse=True)
    assert rates[10] == pytest.approx(0.5)
    assert 0 < rates[-1] < 0.01


def test_the_guard_counts_epochs_near_the_bound():
    history = epochs((1.0, 0.1, 3), (1.04, 0.1, 3), (1.06, 0.1, 3), (2.0, 0.1, 3), (1.0, 0.1, 3))
    assert [schedule().guard(history[:n]) for n in range(1, 6)] == [1, 1, 1.5, 1.5**2, 1.5**2]
    assert schedule(max_reconstruction=math.inf).guard(history) == 1


def test_the_best_silhouette_within_the_bound_is_kept():
    history = epochs((1.0, 0.1, 3), (1.05, 0.2, 3), (1.2, 0.9, 3), (1.0, 0.8, 2), (1.1, 0.15, 3))
    assert schedule().best(history) == 1
    assert schedule(max_reconstruction=1.01).best(history) == 0
    assert schedule(max_reconstruction=2.0).best(history) == 2
    # Training is kept even where the clusters of the seeding look rounder.
    assert schedule().best(epochs((1.0, 0.5, 3), (1.0, 0.2, 3))) == 1


def test_with_dead_clusters_everywhere_the_fewest_are_kept():
    assert schedule().best(epochs((1.0, 0.9, 1), (1.0, 0.1, 2), (1.0, 0.3, 2))) == 2


def test_patience_counts_epochs_of_full_depth():
    start, better, worse = (1.0, 0.5, 3), (1.0, 0.2, 3), (1.0, 0.1, 3)
    assert schedule(deepen=0.0).is_finished(epochs(start, better, worse, worse, worse))
    assert not schedule(deepen=0.0).is_finished(epochs(start, better, worse, worse))
    assert not schedule().is_finished(epochs(start, better, *[worse] * 11))
    assert schedule().is_finished(epochs(start, better, *[worse] * 12))
    assert schedule(patience=100).is_finished(epochs(start, better, *[worse] * 19))
