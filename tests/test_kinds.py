"""Arrays and frames of other libraries come in, and answers are of their kind."""

import inspect
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import _yield_array_api_checks

from amclust import ClAM, ClAMSearch, _estimator
from amclust._kinds import plain

ANSWERS = ["predict", "predict_proba", "transform", "energy", "entropy", "recall", "complete"]


def table(missing=0.1, dtype=np.float64):
    X = make_blobs(90, 3, centers=3, random_state=0)[0]
    X[np.random.default_rng(0).uniform(size=X.shape) < missing] = np.nan
    return X.astype(dtype)


def make(**params):
    return ClAM(**({"n_clusters": 3, "n_init": 2, "random_state": 0} | params))


class Foreign:
    """An array of another library: nothing but DLPack and the array API's own namespace."""

    def __init__(self, values):
        self.values, self.device = values, "cpu"

    def __dlpack__(self, **kwargs):
        return self.values.__dlpack__()

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()

    def __array_namespace__(self):
        return type("namespace", (), {"asarray": staticmethod(lambda x, device: Foreign(x))})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_of_dlpack_are_answered_in_kind(dtype):
    X = table(dtype=dtype)
    model, other = make().fit(X), make().fit(Foreign(X), sample_weight=Foreign(np.ones(len(X))))
    assert_array_equal(model.memories_, other.memories_)
    assert type(other.memories_) is np.ndarray
    for name in ANSWERS:
        found = getattr(model, name)(Foreign(X))
        assert type(found) is Foreign, name
        assert_array_equal(found.values, getattr(model, name)(X))
    assert all(type(one) is Foreign for one in model.complete(Foreign(X), return_std=True))
    assert isinstance(model.score(Foreign(X)), float)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64"])
def test_tensors_are_answered_as_tensors(dtype):
    torch = pytest.importorskip("torch")
    T = torch.tensor(10 * table(missing=0)).to(getattr(torch, dtype))
    X = (T.float() if dtype == "bfloat16" else T).numpy()
    T = T.requires_grad_() if T.is_floating_point() else T
    model = make().fit(X)
    assert_array_equal(make().fit(T).memories_, model.memories_)
    for name in ANSWERS:
        found, expected = getattr(model, name)(T), getattr(model, name)(X)
        assert isinstance(found, torch.Tensor), name
        assert found.device == T.device
        assert_array_equal(found.numpy(), expected)
    assert_array_equal(make().fit_predict(T), model.labels_)
    assert isinstance(make().fit_transform(T), torch.Tensor)
    search = ClAMSearch(3, space={"step_size": [0.5]}, n_init=1, max_epochs=40, random_state=0)
    assert isinstance(search.fit_predict(T), torch.Tensor)
    assert isinstance(search.predict(T), torch.Tensor)


@pytest.mark.torch
def test_training_is_on_the_device_of_the_tensor(monkeypatch):
    torch = pytest.importorskip("torch")
    asked, find = [], _estimator.find_backend

    def seen(name, device, metric):
        asked.append(device)
        return find(name, None if name == "native" else device, metric)

    monkeypatch.setattr(_estimator, "find_backend", seen)
    T = torch.tensor(table())
    make(backend="torch").fit(T)
    make(backend="torch").fit(T.numpy())
    make(backend="torch", device="cpu").fit(T)
    make().fit(T)
    assert asked == [T.device, None, "cpu", None]


@pytest.mark.torch
def test_sparse_tensors_are_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"sparse tensor \(torch.sparse_coo\): give a dense one"):
        make().fit(torch.tensor(table(0)).to_sparse())


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_frames_of_narwhals_and_arrow(library, wrapped):
    pd, narwhals = pytest.importorskip("pandas"), pytest.importorskip("narwhals")
    F = native = pd.DataFrame(table(), columns=["a", "b", "c"])
    if library == "polars":
        F = pytest.importorskip("polars").from_pandas(native)
    elif library == "pyarrow":
        F = pytest.importorskip("pyarrow").Table.from_pandas(native)
    F = narwhals.from_native(F) if wrapped else F
    model, expected = make().fit(F), make().fit(native)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert_array_equal(model.memories_, expected.memories_)
    assert_array_equal(model.predict(F), expected.labels_)
    completed = model.complete(F)
    assert type(completed) is type(F)
    assert_array_equal(np.asarray(plain(completed)), expected.complete(native))


def test_a_frame_that_is_asked_for_is_made_of_an_array_too():
    pd = pytest.importorskip("pandas")
    X = table()
    model = make().fit(X).set_output(transform="pandas")
    assert isinstance(model.transform(Foreign(X)), pd.DataFrame)


def test_checks_of_the_array_api():
    if "only_numpy" not in inspect.signature(_yield_array_api_checks).parameters:
        pytest.skip("scikit-learn before 1.9")
    code = """
    from sklearn.utils import get_tags
    from sklearn.utils.estimator_checks import _yield_array_api_checks
    from amclust import ClAM, ClAMSearch

    search = ClAMSearch(2, space={"beta_factor": [1.0]}, n_init=1, max_epochs=30, budget=80)
    models = ClAM(2), ClAM(4, objective="completion"), ClAM(3, metric="mahalanobis"), search
    checked = 0
    for estimator in models:
        numpy_alone = not get_tags(estimator).array_api_support
        for check in _yield_array_api_checks(estimator, only_numpy=numpy_alone):
            check(type(estimator).__name__, estimator)
            checked += 1
    assert checked >= 4
    """
    env = {**os.environ, "SCIPY_ARRAY_API": "1", "OMP_NUM_THREADS": "1"}
    out = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert out.returncode == 0, out.stderr


# --- scikit-learn 1.9 -----------------------------------------------------------------------------


def test_rows_of_weight_zero_are_as_if_they_were_not_there():
    X, rng = table(missing=0), np.random.default_rng(1)
    weight = (rng.uniform(size=len(X)) < 0.7).astype(float)
    model = make().fit(X, sample_weight=weight)
    few = make().fit(X[weight > 0])
    assert_array_equal(model.memories_, few.memories_)
    assert_array_equal(model.labels_[weight > 0], few.labels_)
    assert_array_equal(model.labels_, few.predict(X))


@pytest.mark.parametrize("interface", ["sparray", "spmatrix"])
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_answers_are_arrays_and_completed_rows_as_given(interface, container):
    if "sparse_interface" not in sklearn.get_config():
        pytest.skip("scikit-learn before 1.9")
    values = table(missing=0)
    X = container(np.where(values > 0, values, 0))
    with sklearn.config_context(sparse_interface=interface):
        model = make().fit(X)
        assert isinstance(model.predict_proba(X, top=1), sparse.sparray)
        assert isinstance(model.sparse_centers(), sparse.sparray)
        assert isinstance(model.complete(X), container)
    assert_array_equal(model.labels_, make().fit(X).labels_)


def shown(estimator):
    page = estimator._repr_html_()
    if "Fitted attributes" not in page:
        assert sklearn.__version__ < "1.9"
        pytest.skip("scikit-learn before 1.9")
    return page.split("Fitted attributes")[1]


@pytest.mark.parametrize("has_pandas", [True, False])
def test_a_notebook_shows_the_fitted_attributes(has_pandas, monkeypatch):
    model = make().fit(table())
    search = ClAMSearch(3, space={"step_size": [0.5]}, n_init=1, max_epochs=40, random_state=0)
    search.fit(table())
    if not has_pandas:
        monkeypatch.setitem(sys.modules, "pandas", None)
    for name in ("cluster_centers_", "labels_", "silhouette_", "n_clusters_", "network_", "beta_"):
        assert name in shown(model)
    assert "Network(3 memories" in shown(model)
    for name in ("best_params_", "best_score_", "labels_", "results_dict_"):
        assert name in shown(search)
    if has_pandas:
        assert "results_<" in shown(search).replace(" ", "").replace("\n", "")
