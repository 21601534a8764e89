"""Networks as ONNX models: run by onnxruntime, they answer as `predict` does."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_wine, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from amclust import ClAM, ClAMSearch
from amclust._warnings import UnseenLevelsWarning

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

WINE = load_wine().data
FEW = {"n_init": 1, "max_epochs": 10, "random_state": 0}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MODELS = {
    "euclidean": {},
    "cosine": {"metric": "cosine"},
    "mahalanobis": {"metric": "mahalanobis"},
    "weights": {"weights": [1.0, 2.0, 0.5]},
    "robust": {"scale": "robust"},
    "robust outliers": {"scale": "robust", "contamination": 0.1},
    "outliers": {"contamination": 0.1},
    "cosine outliers": {"contamination": 0.1, "metric": "cosine"},
    "mahalanobis outliers": {"contamination": 0.1, "metric": "mahalanobis"},
    "completion": {"objective": "completion"},
    "cosine completion": {"objective": "completion", "metric": "cosine"},
    "left out": {"feature_weights": [0.0] + 12 * [1.0]},
    "left out, completion": {"feature_weights": [0.0] + 12 * [1.0], "objective": "completion"},
    "assemblies": {"n_memories": 20},
    "assemblies, outliers": {"n_memories": 20, "contamination": 0.1},
    "one step": {"n_steps": 1},
    "within limits of size": {"size_min": 40},
}
TORCH = ("manhattan", "epanechnikov", "kernel", "weighted")


def with_gaps(X, part=0.2, kind=np.float64):
    X = X.astype(kind)
    X[np.random.default_rng(0).random(X.shape) < part] = np.nan
    return X


def run(model, X):
    session = runtime.InferenceSession(model.SerializeToString())
    return session.run(None, {session.get_inputs()[0].name: X})


def assert_alike(network, X, model=None):
    labels, memberships = run(network.to_onnx(dtype=X.dtype.name) if model is None else model, X)
    np.testing.assert_array_equal(labels, network.labels(X))
    # A cosine's beta may be 1e5: rounding in the products counts so often.
    atol = max(2e-5, network.beta * 1e-7)
    np.testing.assert_allclose(memberships, network.memberships(X), atol=atol)
    assert memberships.dtype == X.dtype
    assert labels.dtype == np.int64


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("part", [0.0, 0.2])
@pytest.mark.parametrize("name", MODELS)
def test_labels_and_memberships(name, part, kind):
    X = with_gaps(WINE, part, kind)
    assert_alike(ClAM(3, **MODELS[name], **FEW).fit(X).network_, X)


@pytest.mark.torch
@pytest.mark.parametrize("objective", ["auto", "completion"])
@pytest.mark.parametrize("name", TORCH)
def test_energies_of_torch(name, objective):
    pytest.importorskip("torch")
    X = with_gaps(WINE)
    model = ClAM(3, metric=name, objective=objective, backend="torch", **FEW).fit(X)
    assert_alike(model.network_, X)
    assert_alike(model.network_, np.nan_to_num(X).astype(np.float32))


@pytest.mark.torch
def test_energies_given_as_objects():
    energies = pytest.importorskip("amclust.torch.energies")
    own = type("Own", (energies.Euclidean,), {})
    factor = np.diag(np.linspace(0.5, 2.0, 13)).tolist()
    for energy in (energies.Mahalanobis(13, factor=factor), energies.Cosine()):
        model = ClAM(3, metric=energy, backend="torch", **FEW).fit(WINE)
        assert_alike(model.network_, WINE)
    model = ClAM(3, metric=own(), backend="torch", **FEW).fit(WINE)
    with pytest.raises(ValueError, match="cannot be exported: ONNX holds no code of one's own"):
        model.network_.to_onnx()


def test_new_rows_without_some_or_any_values():
    network = ClAM(3, **FEW).fit(WINE).network_
    X = with_gaps(WINE, 0.6)
    X[3] = np.nan
    X[5, 1:] = np.nan
    assert_alike(network, X)
    model = network.to_onnx()
    for rows in (X[:1], X[3:4], WINE[:1], X[:0]):
        labels, memberships = run(model, rows)
        assert labels.shape == (len(rows),)
        assert memberships.shape == (len(rows), 3)
        if len(rows):
            np.testing.assert_array_equal(labels, network.labels(rows))


def test_many_columns_are_completed_by_factors():
    X = with_gaps(np.hstack([load_digits().data[:150]] * 2))
    X[:, 64:] += np.random.default_rng(1).normal(size=(150, 64))
    network = ClAM(8, **FEW).fit(X).network_
    assert len(network.geometry.completion.loadings)
    assert_alike(network, X)


def test_any_shape():
    X = make_moons(300, noise=0.05, random_state=0)[0]
    network = ClAM(2, n_memories=16, **FEW).fit(X).network_
    assert not network.is_plain
    assert_alike(network, np.vstack([X, with_gaps(X)]))


def mixed_table(rows=200):
    generator = np.random.default_rng(0)
    kind = generator.integers(3, size=rows)
    table = pd.DataFrame(
        {
            "colour": np.array(["red", "green", "blue"], dtype=object)[kind],
            "size": kind + generator.normal(scale=0.4, size=rows),
            "sold": generator.random(rows) < 0.2 + 0.3 * kind,
            "weight": generator.normal(size=rows),
        }
    )
    table["sold"] = table["sold"].astype(object)
    return table.mask(generator.random(table.shape) < 0.1).dropna(how="all", ignore_index=True)


@pytest.mark.parametrize(
    "params",
    [{}, {"scale": "robust"}, {"contamination": 0.1}, {"objective": "completion"}],
    ids=["plain", "robust", "outliers", "completion"],
)
def test_categories(params):
    from amclust.onnx import inputs

    table = mixed_table()
    network = ClAM(3, **params, **FEW).fit(table).network_
    table.loc[0, "colour"] = "violet"
    with pytest.warns(UnseenLevelsWarning):
        given = inputs(network, table)
    assert given["codes"][0, 0] == -1
    model = network.to_onnx()
    properties = {one.key: one.value for one in model.metadata_props}
    assert json.loads(properties["feature_names"]) == ["size", "weight"]
    assert json.loads(properties["levels"])["colour"] == ["blue", "green", "red"]
    session = runtime.InferenceSession(model.SerializeToString())
    labels, memberships = session.run(None, given)
    table.loc[0, "colour"] = None
    np.testing.assert_array_equal(labels, network.labels(table))
    np.testing.assert_allclose(memberships, network.memberships(table), atol=1e-5)


def test_categories_alone():
    from amclust.onnx import inputs

    table = mixed_table()[["colour", "sold"]].dropna(how="all")
    network = ClAM(3, **FEW).fit(table).network_
    session = runtime.InferenceSession(network.to_onnx().SerializeToString())
    given = inputs(network, table)
    assert set(given) == {"codes"}
    np.testing.assert_array_equal(session.run(["labels"], given)[0], network.labels(table))


def test_a_file(tmp_path):

    table = pd.DataFrame(WINE[:, :3], columns=["a", "b", "c"])
    network = ClAM(3, **FEW).fit(table).network_
    path = tmp_path / "wine.onnx"
    network.to_onnx(path)
    model = onnx.load(path)
    properties = {one.key: one.value for one in model.metadata_props}
    assert json.loads(properties["feature_names"]) == ["a", "b", "c"]
    assert properties["n_clusters"] == "3"
    assert model.opset_import[0].version == 18
    shape = model.graph.input[0].type.tensor_type.shape.dim
    assert (shape[0].dim_param, shape[1].dim_value) == ("rows", 3)
    assert_alike(network, WINE[:, :3].copy(), model)


def test_what_is_not_possible_is_refused(monkeypatch):
    network = ClAM(3, **FEW).fit(WINE).network_
    with pytest.raises(ValueError, match="dtype must be 'float32', 'float64' or None, got 'int8'"):
        network.to_onnx(dtype="int8")
    for name in [name for name in sys.modules if name.startswith("amclust.onnx")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "amclust\[onnx\]"'):
        network.to_onnx()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("scaler", [StandardScaler, RobustScaler, MinMaxScaler])
def test_a_pipeline(scaler, kind):
    skl2onnx = pytest.importorskip("skl2onnx")
    from amclust.onnx import register_converter

    register_converter()
    X = with_gaps(WINE, 0.1, kind)
    pipeline = make_pipeline(scaler(), ClAM(3, contamination=0.05, **FEW)).fit(X)
    label, memberships = run(skl2onnx.to_onnx(pipeline, X[:1]), X)
    np.testing.assert_array_equal(label, pipeline.predict(X))
    np.testing.assert_allclose(memberships, pipeline.predict_proba(X), atol=2e-5)


def test_converters_of_a_search_and_alone():
    skl2onnx = pytest.importorskip("skl2onnx")
    from amclust.onnx import register_converter

    register_converter()
    search = ClAMSearch([2, 3], budget=200, n_init=2, max_epochs=10, random_state=0).fit(WINE)
    model = skl2onnx.to_onnx(search, WINE[:1])
    assert [output.name for output in model.graph.output] == ["label", "memberships"]
    np.testing.assert_array_equal(run(model, WINE)[0], search.predict(WINE))
    with pytest.raises(RuntimeError, match="target_opset must be at least 18 for a ClAM, got 15"):
        skl2onnx.to_onnx(search, WINE[:1], target_opset=15)
