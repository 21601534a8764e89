"""ClAM among the others: frames, names, pipelines, searches, weights routed to it, and storage."""

import io
import pickle

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import skops.io
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from amclust import ClAM

NAMES = ["width", "height", "weight", "age"]


def table(n=150, k=3, seed=0):
    return make_blobs(n, 4, centers=k, random_state=seed)[0]


def holed(X, share=0.2):
    X = X.copy()
    X[:, 1:][np.random.default_rng(0).random((len(X), X.shape[1] - 1)) < share] = np.nan
    return X


def make(**settings):
    return ClAM(3, **({"n_init": 2, "random_state": 0} | settings))


def frame(library, X):
    return pd.DataFrame(X, columns=NAMES) if library == "pandas" else pl.DataFrame(X, schema=NAMES)


LIBRARIES = pytest.mark.parametrize("library", ["pandas", "polars"])


# --- frames ---------------------------------------------------------------------------------------


@LIBRARIES
@pytest.mark.parametrize("holes", [False, True])
def test_a_frame_is_its_numbers(library, holes):
    X = holed(table()) if holes else table()
    F = frame(library, X)
    by_name, by_place = make().fit(F), make().fit(X)
    assert_array_equal(by_name.cluster_centers_, by_place.cluster_centers_)
    assert_array_equal(by_name.predict(F), by_place.labels_)
    assert list(by_name.feature_names_in_) == NAMES
    assert not hasattr(by_place, "feature_names_in_")


@LIBRARIES
def test_columns_must_come_as_in_fit(library):
    X = table()
    model = make().fit(frame(library, X))
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame(library, X)[NAMES[::-1]])


def test_absent_names_warn():
    X = table()
    with pytest.warns(UserWarning, match="feature names"):
        make().fit(frame("pandas", X)).predict(X)


@LIBRARIES
def test_output_as_frames(library):
    F = frame(library, table())
    model = make().set_output(transform=library)
    names = ["clam0", "clam1", "clam2"]
    for out in (model.fit_transform(F), model.transform(F)):
        assert isinstance(out, type(F))
        assert list(out.columns) == names
    assert list(model.get_feature_names_out()) == names
    assert isinstance(model.predict(F), np.ndarray)


@LIBRARIES
def test_completing_keeps_frames_and_the_types_of_their_columns(library):
    X = holed(table())
    if library == "pandas":
        columns = {"a": np.arange(len(X)) % 7, "b": X[:, 1], "c": X[:, 2], "d": X[:, 0] > 0}
        F = pd.DataFrame(columns, index=np.arange(len(X)) + 1000)
        F = F.astype({"a": np.int16, "c": np.float32})
    else:
        F = pl.DataFrame(
            {"a": np.arange(len(X)) % 7, "b": X[:, 1], "c": X[:, 2], "d": X[:, 0]}
        ).with_columns(pl.col("a").cast(pl.Int16), pl.col("d").cast(pl.Float32))
    before = F.copy() if library == "pandas" else F.clone()
    out = make().fit(F).complete(F)
    assert isinstance(out, type(F))
    assert list(out.columns) == list("abcd")
    for name in "ad":  # no holes here
        assert out[name].dtype == F[name].dtype
        assert_array_equal(out[name].to_numpy(), F[name].to_numpy())
    for name in "bc":
        found, given = out[name].to_numpy(), F[name].to_numpy()
        assert np.isfinite(found).all()
        assert_array_equal(found[~np.isnan(given)], given[~np.isnan(given)])
    if library == "pandas":
        assert_array_equal(out.index, F.index)
        pd.testing.assert_frame_equal(F, before)
    else:
        assert F.equals(before)


@pytest.mark.parametrize(
    ("F", "near"),
    [
        (pl.DataFrame({"a": [0.0, 0.1, 5.0, 5.1, None], "b": [0.0, 0.2, 5.0, 5.2, 5.1]}), 5),
        (pd.DataFrame({"a": pd.array([1, 1, 9, 9, None], "Int64"), "b": [0, 0.2, 5, 5.2, 5]}), 9),
    ],
    ids=["polars", "pandas"],
)
def test_completing_fills_nulls(F, near):
    out = ClAM(2, n_init=2, random_state=0, objective="silhouette").fit(F).complete(F)
    assert near - 1 < out["a"][4] < near + 1
    assert np.isfinite(out["a"].to_numpy().astype(float)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_completing_changes_nothing_but_holes(metric, dtype):
    X = holed(table()).astype(dtype)
    model = make(metric=metric).fit(X)
    out = model.complete(X)
    seen = ~np.isnan(X)
    assert out is not X
    assert np.isfinite(out).all()
    assert_array_equal(out[seen], X[seen])
    assert_array_equal(model.complete(out), out)
    whole = table().astype(dtype)
    assert_array_equal(model.complete(whole), whole)


def test_completing_is_better_than_the_mean():
    X = table()
    H = holed(X)
    out, hole = make().fit(H).complete(H), np.isnan(H)
    mean = np.broadcast_to(np.nanmean(H, axis=0), X.shape)
    assert np.square(out - X)[hole].mean() < 0.5 * np.square(mean - X)[hole].mean()


# --- scikit-learn's tools -------------------------------------------------------------------------


def test_clone_keeps_parameters_and_nothing_else():
    X = table()
    model = make(weights=[1.0, 2.0, 3.0], init=X[:3], beta=0.5).fit(X)
    other = clone(model)
    assert not hasattr(other, "cluster_centers_")
    assert other.get_params().keys() == model.get_params().keys()
    assert_array_equal(other.fit(X).cluster_centers_, model.cluster_centers_)


def test_in_a_pipeline():
    X = table() * [1, 10, 100, 1000]
    pipe = make_pipeline(StandardScaler(), make()).fit(X)
    assert_array_equal(pipe.predict(X), pipe[-1].labels_)
    assert pipe.transform(X).shape == (150, 3)
    assert list(pipe.get_feature_names_out()) == ["clam0", "clam1", "clam2"]
    assert pipe.score(X) == pytest.approx(pipe[-1].silhouette_, abs=1e-5)


def test_grid_search_finds_the_number_of_clusters():
    X = table(n=180, k=4, seed=2)
    search = GridSearchCV(make(), {"n_clusters": [2, 4, 8]}, cv=3).fit(X)
    assert search.best_params_ == {"n_clusters": 4}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(X).shape == (180,)


def test_grid_search_in_processes():
    X = table()
    alone, together = (
        GridSearchCV(make(), {"n_clusters": [2, 3]}, cv=2, n_jobs=jobs).fit(X) for jobs in (1, 2)
    )
    for name in ("split0_test_score", "split1_test_score"):
        assert_array_equal(alone.cv_results_[name], together.cv_results_[name])


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_sample_weight_is_routed(routing):
    X = table()
    weight = np.where(X[:, 0] > 0, 1.0, 0.0)
    pipe = Pipeline([("scale", StandardScaler().set_fit_request(sample_weight=False)),
                     ("clam", make().set_fit_request(sample_weight=True))])  # fmt: skip
    pipe.fit(X, sample_weight=weight)
    alone = make().fit(StandardScaler().fit_transform(X), sample_weight=weight)
    assert_array_equal(pipe[-1].cluster_centers_, alone.cluster_centers_)
    unweighted = make().fit(StandardScaler().fit_transform(X))
    assert not np.array_equal(pipe[-1].cluster_centers_, unweighted.cluster_centers_)


def test_sample_weight_is_not_routed_unless_asked_for(routing):
    pipe = make_pipeline(make())
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
        pipe.fit(table(), sample_weight=np.ones(150))


def test_sample_weight_is_routed_through_a_search(routing):
    X, weight = table(), np.random.default_rng(0).uniform(0.1, 1, 150)
    model = make().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    search = GridSearchCV(model, {"n_clusters": [2, 3]}, cv=2).fit(X, sample_weight=weight)
    expected = make().set_params(**search.best_params_).fit(X, sample_weight=weight)
    assert_array_equal(search.best_estimator_.cluster_centers_, expected.cluster_centers_)


# --- storage --------------------------------------------------------------------------------------


def through_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def through_skops(model):
    stored = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=stored)
    assert all(name.startswith(("amclust.", "numpy.")) for name in trusted), trusted
    return skops.io.loads(stored, trusted=trusted)


WAYS = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "cloudpickle": lambda model: pickle.loads(cloudpickle.dumps(model)),
    "joblib": through_joblib,
    "skops": through_skops,
}


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "mahalanobis"])
@pytest.mark.parametrize("way", WAYS)
def test_a_stored_model_gives_the_same_answers(way, metric):
    X = table()
    model = make(metric=metric, weights="learn").fit(frame("pandas", X))
    X = frame("pandas", X if metric == "mahalanobis" else holed(X))
    back = WAYS[way](model)
    for ask in ("predict", "transform", "predict_proba", "energy", "entropy", "recall"):
        assert_array_equal(getattr(back, ask)(X), getattr(model, ask)(X))
    assert_array_equal(back.complete(X), model.complete(X))
    assert_array_equal(back.runs_, model.runs_)
    assert back.get_params() == model.get_params()
    # It goes on learning from where it stood.
    assert_array_equal(back.partial_fit(X).cluster_centers_, model.partial_fit(X).cluster_centers_)


@pytest.mark.parametrize("way", WAYS)
def test_a_model_that_is_not_fitted_can_be_stored(way):
    back = WAYS[way](make(beta=2.0))
    assert back.get_params() == make(beta=2.0).get_params()
    assert not hasattr(back, "cluster_centers_")


def test_fitted_attributes_are_numpy_arrays():
    model = make().fit(sparse.csr_matrix(table()))
    for name in ("cluster_centers_", "labels_", "weights_", "loss_curve_", "runs_"):
        assert type(getattr(model, name)) is np.ndarray, name
    for name in ("beta_", "loss_", "silhouette_"):
        assert isinstance(getattr(model, name), float), name
