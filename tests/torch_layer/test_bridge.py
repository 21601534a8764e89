"""A fitted network as a layer of torch, and back."""

import copy
import io

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sklearn.datasets import load_digits, load_wine  # noqa: E402

import amclust  # noqa: E402
from amclust import ClAM, Network  # noqa: E402
from amclust.torch import AssociativeMemory, energies  # noqa: E402

WINE = load_wine().data
FEW = {"n_init": 1, "max_epochs": 10, "random_state": 0}
LEFT_OUT = [0.0] + 12 * [1.0]
TORCH = ("manhattan", "epanechnikov", "kernel", "weighted")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def with_gaps(X, part=0.2, kind=np.float64):
    X = X.astype(kind)
    X[np.random.default_rng(0).random(X.shape) < part] = np.nan
    return X


MODELS = {
    "euclidean": {},
    "cosine": {"metric": "cosine"},
    "mahalanobis": {"metric": "mahalanobis"},
    **{name: {"metric": name, "backend": "torch"} for name in TORCH},
    "weights": {"weights": [1.0, 2.0, 0.5]},
    "robust": {"scale": "robust"},
    "robust outliers": {"scale": "robust", "contamination": 0.1},
    "outliers": {"contamination": 0.1},
    "cosine outliers": {"contamination": 0.1, "metric": "cosine"},
    "mahalanobis outliers": {"contamination": 0.1, "metric": "mahalanobis"},
    "completion": {"objective": "completion"},
    "cosine completion": {"objective": "completion", "metric": "cosine"},
    "left out": {"feature_weights": LEFT_OUT, "objective": "completion"},
    "assemblies": {"n_memories": 20},
    "assemblies, outliers": {"n_memories": 20, "contamination": 0.1},
}


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("part", [0.0, 0.2])
@pytest.mark.parametrize("name", MODELS)
def test_a_layer_answers_as_its_network(name, part, kind):
    X = with_gaps(WINE, part, kind)
    network = ClAM(3, **MODELS[name], **FEW).fit(X).network_
    layer, x = network.to_torch(), torch.tensor(X)
    np.testing.assert_array_equal(layer.assign(x), network.labels(X))
    p, energy = network.memberships(X), network.energy(X)
    # A cosine's beta may be 1e5: rounding in the products counts so often.
    atol = max(1e-5, network.beta * 1e-7)
    np.testing.assert_allclose(layer.memberships(x).detach(), p, atol=atol)
    np.testing.assert_allclose(layer.energy(x).detach(), energy, rtol=1e-4, atol=1e-5)
    completed = network.complete(X)
    np.testing.assert_allclose(layer.complete(x).detach(), completed, rtol=2e-5, atol=1e-4)
    full = torch.tensor(completed)
    np.testing.assert_allclose(
        layer(full).detach(), network.recall(completed), rtol=1e-4, atol=1e-4 * np.ptp(WINE)
    )
    back = Network.from_torch(layer)
    np.testing.assert_array_equal(back.labels(X), network.labels(X))
    np.testing.assert_array_equal(back.assembly, network.assembly)


def test_many_columns_are_completed_by_factors():
    X = with_gaps(np.hstack([load_digits().data[:200]] * 2) + 0.0)
    X[:, 64:] += np.random.default_rng(1).normal(size=(200, 64))
    network = ClAM(10, **FEW).fit(X).network_
    assert len(network.geometry.completion.loadings)
    layer = network.to_torch()
    np.testing.assert_array_equal(layer.assign(torch.tensor(X)), network.labels(X))
    np.testing.assert_allclose(layer.complete(torch.tensor(X)), network.complete(X), atol=1e-5)


def test_a_mask_is_nan():
    X = with_gaps(WINE)
    layer, x = ClAM(3, **FEW).fit(X).network_.to_torch(), torch.tensor(X)
    masked = layer(x.nan_to_num(7.0), missing=x.isnan())
    torch.testing.assert_close(masked, layer(x))
    one = layer.assign(x[3])
    assert one.shape == ()
    assert one == layer.assign(x)[3]


@pytest.mark.parametrize("name", ["euclidean", "cosine", "mahalanobis", "completion", "robust"])
def test_gradients_reach_what_is_learned_and_the_rows(name):
    X = with_gaps(WINE)
    network = ClAM(3, **MODELS[name], **FEW).fit(X).network_
    layer = network.to_torch(learn_beta=True, learn_weights=True)
    x = torch.tensor(X[:40], requires_grad=True)
    (layer(x).square().sum() + layer.energy(x).sum()).backward()
    for values in [x, *layer.parameters()]:
        assert values.grad.isfinite().all()
        assert values.grad.any()
    assert set(dict(layer.named_parameters())) == {"memories", "log_beta", "log_weights"}


def test_training_leaves_the_network_and_comes_back(tmp_path):
    X = with_gaps(WINE)
    model = ClAM(3, n_memories=12, **FEW).fit(X)
    before = model.network_.memories.copy()
    layer, x = model.network_.to_torch(), torch.tensor(X)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    losses = []
    for _ in range(10):
        loss = layer.energy(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    np.testing.assert_array_equal(model.network_.memories, before)

    tuned = ClAM.from_network(Network.from_torch(layer), X)
    np.testing.assert_array_equal(tuned.labels_, layer.assign(x))
    np.testing.assert_array_equal(tuned.memory_labels_, model.memory_labels_)
    assert tuned.silhouette_ == tuned.score(X)
    tuned.save(tmp_path / "tuned.amc")
    np.testing.assert_array_equal(amclust.load(tmp_path / "tuned.amc").predict(X), tuned.labels_)
    tuned.report(X, tmp_path / "tuned.html")
    assert "nan" not in (tmp_path / "tuned.html").read_text()[:2000].lower()
    assert tuned.partial_fit(X).n_iter_ == 1


@pytest.mark.parametrize("name", ["cosine", *TORCH])
def test_metrics_come_back_by_name(name, tmp_path):
    network = ClAM(3, **MODELS[name], **FEW).fit(WINE).network_
    layer = network.to_torch()
    for model in (copy.deepcopy(layer), _stored(layer)):
        found = ClAM.from_network(Network.from_torch(model), WINE)
        assert found.get_params()["metric"] == name
        found.save(tmp_path / "model.amc")
        loaded = amclust.load(tmp_path / "model.amc")
        np.testing.assert_array_equal(loaded.predict(WINE), network.labels(WINE))


def _stored(layer):
    file = io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize(
    ("energy", "metric"),
    [("euclidean", "euclidean"), (energies.Manhattan(0.5), None), ("manhattan", "manhattan")],
)
def test_a_layer_of_ones_own_becomes_a_network(energy, metric):
    x = torch.tensor(WINE[:, :4])
    layer = AssociativeMemory(3, 4, energy=energy, beta=0.1).double()
    layer.seed_(x, torch.Generator().manual_seed(0))
    model = ClAM.from_network(Network.from_torch(layer), x.numpy())
    np.testing.assert_array_equal(model.labels_, layer.assign(x))
    np.testing.assert_allclose(model.cluster_centers_, layer.centers.detach(), rtol=1e-6)
    assert model.network_.geometry.metric == (metric or layer.energy_function) or metric is None
    assert isinstance(model.network_.geometry.metric, str) == (metric is not None)


@pytest.mark.parametrize("params", [{}, {"contamination": 0.1}, {"scale": "robust"}])
def test_categories(params, tmp_path):
    pd = pytest.importorskip("pandas")
    generator = np.random.default_rng(0)
    kind = generator.integers(3, size=150)
    table = pd.DataFrame(
        {
            "colour": np.array(["red", "green", "blue"], dtype=object)[kind],
            "size": kind + generator.normal(scale=0.4, size=150),
        }
    )
    table = table.mask(generator.random((150, 2)) < 0.1).dropna(how="all")
    network = ClAM(3, **params, **FEW).fit(table).network_
    layer, x = network.to_torch(), torch.tensor(network.features(table))
    assert x.shape == (len(table), 4)
    np.testing.assert_allclose(layer.centers.detach(), network.centers, atol=1e-5)
    np.testing.assert_array_equal(layer.assign(x), network.labels(table))
    np.testing.assert_allclose(layer.complete(x), network.complete(table), atol=1e-5)
    model = ClAM.from_network(Network.from_torch(layer), table)
    np.testing.assert_array_equal(model.labels_, network.labels(table))
    assert list(model.feature_names_in_) == ["colour", "size"]
    model.save(tmp_path / "model.amc")
    np.testing.assert_array_equal(
        amclust.load(tmp_path / "model.amc").predict(table), model.labels_
    )


def test_state_dict_has_what_is_learned():
    network = ClAM(3, weights=[1.0, 2.0, 0.5], **FEW).fit(with_gaps(WINE)).network_
    first, second = network.to_torch(), network.to_torch()
    assert set(first.state_dict()) == {"memories", "log_beta", "log_weights"}
    with torch.no_grad():
        first.memories.add_(1.0)
    second.load_state_dict(first.state_dict())
    x = torch.tensor(WINE)
    assert torch.equal(first.assign(x), second.assign(x))


def test_what_is_no_layer_or_network_is_refused():
    with pytest.raises(TypeError, match="layer must be an AssociativeMemory"):
        Network.from_torch(torch.nn.Linear(2, 2))
    with pytest.raises(TypeError, match="network must be a Network, got ClAM"):
        ClAM.from_network(ClAM(2), WINE)
    network = ClAM(3, **FEW).fit(WINE).network_
    with pytest.raises(ValueError, match="expecting 13 features"):
        ClAM.from_network(network, WINE[:, :4])
    with pytest.raises(ValueError, match="missing must be given"):
        AssociativeMemory(2, 3).complete(torch.zeros(1, 3))
