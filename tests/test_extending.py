"""The examples of docs/extending.md: the page shows what stands between the marks, and it runs."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score

from amclust import ClAM, load
from amclust._objectives import OBJECTIVES, Objective, register_objective

X, y = make_blobs(300, 4, centers=3, random_state=0)


def test_an_objective_of_ones_own(tmp_path):
    pytest.importorskip("torch")
    # An example begins, of its own objective.
    from amclust.torch import Objective, register_objective, register_torch_objective
    from amclust.torch import functional as F
    from amclust.torch._training._objectives import OBJECTIVES as TORCH_OBJECTIVES

    register_objective(Objective("energy", "the mean energy of the rows"))

    @register_torch_objective("energy")
    def mean_energy(x, memories, beta, *, energy, log_weights, sample_weight, **_):
        energies = F.energy(x, memories, beta, energy=energy, log_weights=log_weights)
        return (sample_weight * energies).sum(-1) / sample_weight.sum(-1)

    model = ClAM(3, objective="energy", backend="torch", random_state=0).fit(X)
    # The example ends.
    try:
        assert adjusted_rand_score(model.labels_, y) > 0.95
        model.save(tmp_path / "own.amc")
        del OBJECTIVES["energy"]  # as in another process, which does not know it
        loaded = load(tmp_path / "own.amc")
        assert_array_equal(loaded.predict(X), model.labels_)
        with pytest.raises(ValueError, match="'objective' parameter"):
            loaded.partial_fit(X)
        register_objective(Objective("energy", "the mean energy of the rows"))
        assert np.isclose(model.loss_, model.energy(X).mean() / model.network_.geometry.length**2)
        for metric in ("cosine", "manhattan"):
            other = ClAM(3, objective="energy", backend="torch", metric=metric, random_state=0)
            assert adjusted_rand_score(other.fit(X + 20).labels_, y) > 0.7
        with pytest.raises(ValueError, match="backend='torch'"):
            ClAM(3, objective="energy").fit(X)
    finally:
        del OBJECTIVES["energy"], TORCH_OBJECTIVES["energy"]
    with pytest.raises(ValueError, match="objective"):
        ClAM(3, objective="energy").fit(X)


def test_a_name_is_taken_once():
    with pytest.raises(ValueError, match="silhouette"):
        register_objective(Objective("silhouette", "another"))


def test_an_energy_of_ones_own():
    pytest.importorskip("torch")
    # An example begins, of its own energy.
    from amclust.torch.energies import Energy

    class Cauchy(Energy):
        """Far memories lose their pull: the distance grows with the logarithm of its square."""

        def distance(self, a, b):
            return (a - b).square().sum(-1).log1p()

        def pull(self, state, memories, responsibilities, moves):
            squares = (memories.unsqueeze(-3) - state.unsqueeze(-2)).square().sum(-1)
            parts = responsibilities / (1 + squares)
            return parts @ memories / parts.sum(-1, keepdim=True) - state

    model = ClAM(3, metric=Cauchy(), backend="torch", random_state=0).fit(X)
    # The example ends.
    assert adjusted_rand_score(model.labels_, y) > 0.95
    assert_array_equal(model.predict(X), model.labels_)


def test_a_backend_of_ones_own():
    # An example begins, of its own backend.
    from amclust._options import Options
    from amclust._preparing import draw_rows, prepare
    from amclust._recipe import Recipe
    from amclust._rows import TableSource
    from amclust._training import draw_seeds, fit
    from amclust.backends.native import NativeBackend

    class Shuffled(NativeBackend):
        """Trains restarts in another order; a real one would send them elsewhere."""

        def train(self, data, plans, progress):
            order = np.random.default_rng(0).permutation(len(plans))
            records = super().train(data, [plans[i] for i in order], progress)
            return [records[i] for i in np.argsort(order)]

    model = ClAM(3, random_state=0)
    options = Options.of(model, 3)
    drawn = draw_rows(TableSource(X))
    data = prepare(drawn, options, n_clusters=3, threads=1, feature_names=None)
    seeds, sample_seed = draw_seeds(0, model.n_init)
    found = fit(
        data,
        options,
        n_clusters=3,
        seeds=seeds,
        sample_seed=sample_seed,
        backend=Shuffled(),
        recipe=Recipe(),
    )
    # The example ends.
    assert_array_equal(found.network.memories, model.fit(X).network_.memories)
    assert_array_equal(found.labels, model.labels_)
    assert_array_equal(found.table["loss"], model.runs_["loss"])


def test_a_plot_of_ones_own():
    pytest.importorskip("matplotlib")
    # An example begins, of its own plot.
    from amclust.plotting._base import Display

    class WeightsDisplay(Display):
        """The weights of the memories."""

        def __init__(self, weights):
            self.weights = weights

        @classmethod
        def from_estimator(cls, estimator, *, ax=None):
            return cls(estimator.network_.weights).plot(ax=ax)

        def plot(self, *, ax=None):
            self._take_axes(ax)
            self.bars_ = self.ax_.bar(range(len(self.weights)), self.weights)
            self.ax_.set(xlabel="cluster", ylabel="weight")
            return self

    display = WeightsDisplay.from_estimator(ClAM(3, weights=[1, 2, 1]).fit(load_iris().data))
    # The example ends.
    assert [bar.get_height() for bar in display.bars_] == pytest.approx([1, 2, 1])


def scatter(x, memories, beta, *, energy, log_weights, sample_weight, **more):
    p = energy.memberships(x, memories, beta, log_weights)
    losses = (p * energy.distances(x, memories)).sum(-1)
    return (losses * sample_weight).sum(-1) / sample_weight.sum(-1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_function_is_an_objective(tmp_path):
    pytest.importorskip("torch")
    few = {"backend": "torch", "n_init": 2, "max_epochs": 15, "random_state": 0}
    model = clone(ClAM(3, objective=scatter, **few)).fit(X)
    assert model.objective is scatter
    assert model.loss_ <= model.loss_curve_[0]
    assert model.optimizer_state_.objective.endswith(".scatter")
    pickled = pickle.loads(pickle.dumps(model))
    assert_array_equal(pickled.predict(X), model.labels_)

    model.save(tmp_path / "model.amc")
    loaded = load(tmp_path / "model.amc")
    assert_array_equal(loaded.predict(X), model.labels_)
    assert loaded.objective == model.optimizer_state_.objective
    assert_array_equal(loaded.fit(X).labels_, model.labels_)  # known here by its name

    def twice(*args, **more):
        return 2 * scatter(*args, **more)

    twice.__module__, twice.__qualname__ = scatter.__module__, scatter.__qualname__
    again = ClAM(3, objective=twice, **few).fit(X)  # the name is that of another function now
    assert again.loss_curve_[0] == pytest.approx(2 * model.loss_curve_[0], rel=1e-5)
    with pytest.raises(ValueError, match="is not in the compiled core"):
        ClAM(3, objective=scatter).fit(X)
