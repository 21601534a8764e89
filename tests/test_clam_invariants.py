"""What must not change a result: storage, order of rows, units, copies for weights, threads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from amclust import ClAM

OBJECTIVES = ["silhouette", "completion", "reconstruction"]


def rows(n=240, d=5, k=4, holes=0.0, zeros=0.0, seed=3, std=1.5):
    X, _ = make_blobs(n, d, centers=k, cluster_std=std, random_state=seed)
    rng = np.random.default_rng(seed)
    X[:, 1:][rng.random((n, d - 1)) < zeros] = 0.0
    if holes:
        X[:, 1:][rng.random((n, d - 1)) < holes] = np.nan
    return X


def fit(X, k=4, sample_weight=None, **settings):
    settings = {"n_init": 2, "random_state": 0, "tol": 0.01} | settings
    return ClAM(k, **settings).fit(X, sample_weight=sample_weight)


def assert_same(one, other):
    """The same bits."""
    assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    assert_array_equal(one.labels_, other.labels_)
    assert_array_equal(one.loss_curve_, other.loss_curve_)
    assert_array_equal(one.weights_, other.weights_)
    assert_array_equal(one.runs_, other.runs_)


def assert_alike(one, other):
    """The same but for rounding."""
    assert_array_equal(one.labels_, other.labels_)
    assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-3, atol=1e-3)
    assert_array_equal(one.runs_["seed"], other.runs_["seed"])
    assert one.silhouette_ == pytest.approx(other.silhouette_, abs=1e-5)


# --- storage --------------------------------------------------------------------------------------


def stored(X):
    """The same table, stored in other ways."""
    wide = np.full((X.shape[0], 2 * X.shape[1]), 77.0)
    wide[:, ::2] = X
    tall = np.full((2 * X.shape[0], X.shape[1]), 77.0)
    tall[::2] = X
    locked = X.copy()
    locked.flags.writeable = False
    return {
        "Fortran order": np.asfortranarray(X),
        "every other column": wide[:, ::2],
        "every other row": tall[::2],
        "backwards": X[::-1].copy()[::-1],
        "read-only": locked,
        "part of a wider table": np.hstack([X, X])[:, : X.shape[1]],
        "lists": X.tolist(),
    }


@pytest.mark.parametrize("way", list(stored(np.zeros((2, 2)))))
@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_storage_does_not_matter(way, holes):
    X = rows(holes=holes)
    other = stored(X)[way]
    model = fit(X)
    assert_same(model, fit(other))
    assert_array_equal(model.transform(X), model.transform(other))


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, bool, np.float16])
def test_other_numbers_are_converted(dtype):
    X = (10 * np.abs(rows())).astype(dtype) if dtype is not bool else rows() > 0
    X = np.unique(X, axis=0)
    assert_same(fit(X, 2), fit(X.astype(np.float64), 2))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix])
def test_dense_equals_sparse(form, holes, metric):
    X = rows(zeros=0.4, holes=holes)
    dense, thin = fit(X, metric=metric), fit(form(X), metric=metric)
    if holes and metric == "euclidean":  # sparse starts differ a little, and draws let it grow
        assert_array_equal(dense.labels_, thin.labels_)
        assert_allclose(dense.cluster_centers_, thin.cluster_centers_, atol=0.05)
    else:
        assert_alike(dense, thin)
    # Sparse rows meet memories by their entries, in another order than dense ones.
    for ask in ("predict", "transform", "predict_proba", "energy", "entropy", "recall"):
        assert_allclose(getattr(dense, ask)(X), getattr(dense, ask)(form(X)), rtol=1e-3, atol=1e-5)
    completed = dense.complete(form(X))
    assert sparse.issparse(completed)
    assert_array_equal(completed.toarray(), dense.complete(X))


def test_dense_equals_sparse_in_float32():
    X = rows(zeros=0.4).astype(np.float32)
    dense, thin = fit(X), fit(sparse.csr_matrix(X))
    assert_array_equal(dense.labels_, thin.labels_)
    assert_allclose(dense.cluster_centers_, thin.cluster_centers_, atol=1e-3)
    assert thin.cluster_centers_.dtype == np.float32


def test_wide_indices():
    X = sparse.csr_matrix(rows(zeros=0.4))
    wide = X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    assert_same(fit(X), fit(wide))


def not_canonical(X):
    """CSR with unsorted columns and entries in two pieces."""
    X = sparse.coo_matrix(X)
    order = np.random.default_rng(0).permutation(2 * X.nnz)
    row, column = np.tile(X.row, 2)[order], np.tile(X.col, 2)[order]
    value = np.concatenate([0.25 * X.data, 0.75 * X.data])[order]
    by_row = np.argsort(row, kind="stable")
    indptr = np.searchsorted(row[by_row], np.arange(X.shape[0] + 1))
    return sparse.csr_matrix((value[by_row], column[by_row], indptr), shape=X.shape)


def test_csr_in_pieces_equals_csr():
    X = np.round(rows(zeros=0.4))  # so that pieces add up exactly
    odd = not_canonical(X)
    assert not odd.has_canonical_format
    assert_same(fit(sparse.csr_matrix(X)), fit(odd))
    assert_alike(fit(X), fit(odd))


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_the_input_is_not_touched(holes):
    X = rows(zeros=0.4, holes=holes)
    weight = np.random.default_rng(0).uniform(0.5, 1.5, len(X))
    for table in (X.copy(), X.astype(np.float32), sparse.csr_matrix(X), not_canonical(X)):
        parts = (
            [table] if isinstance(table, np.ndarray) else [table.data, table.indices, table.indptr]
        )
        before, weight_before = [part.copy() for part in parts], weight.copy()
        model = fit(table, sample_weight=weight)
        for ask in ("predict", "transform", "recall", "complete", "score"):
            getattr(model, ask)(table)
        model.partial_fit(table, sample_weight=weight)
        for part, was in zip(parts, before, strict=True):
            assert_array_equal(part, was)
        assert_array_equal(weight, weight_before)


# --- order and units ------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_the_order_of_rows_does_not_matter(holes, objective):
    X = rows(holes=holes)
    order = np.random.default_rng(1).permutation(len(X))
    model, shuffled = fit(X, objective=objective), fit(X[order], objective=objective)
    assert_array_equal(model.cluster_centers_, shuffled.cluster_centers_)
    assert_array_equal(model.labels_[order], shuffled.labels_)
    assert_array_equal(model.runs_["loss"], shuffled.runs_["loss"])


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("shift", [-5.0, 1e4, 1e8])
@pytest.mark.parametrize("factor", [1e-12, 1.0, 1e9])
def test_adding_a_constant_and_scaling_change_no_label(factor, shift, objective):
    X = rows(std=1.0)
    model = fit(X, objective=objective)
    moved = fit(factor * (X + shift), objective=objective)
    assert_array_equal(model.labels_, moved.labels_)
    back = moved.cluster_centers_ / factor - shift
    assert_allclose(back, model.cluster_centers_, atol=0.1 * np.ptp(X))


@pytest.mark.parametrize("scale", ["standard", "robust", None])
def test_scaling_by_a_power_of_two_changes_nothing_else(scale):
    X = rows()
    model, scaled = fit(X, scale=scale), fit(1024.0 * X, scale=scale)
    assert_array_equal(1024.0 * model.cluster_centers_, scaled.cluster_centers_)
    assert_array_equal(model.loss_curve_, scaled.loss_curve_)
    # Only without scale is beta in the units of the table.
    area = 1024.0**2 if scale is None else 1.0
    assert scaled.beta_ * area == pytest.approx(model.beta_)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("value", [0.0, 7.0, 1e6])
def test_a_constant_feature_is_harmless(value, objective):
    X = rows(std=1.0)
    model = fit(np.insert(X, 2, value, axis=1), objective=objective)
    assert np.isfinite(model.cluster_centers_).all()
    assert_allclose(model.cluster_centers_[:, 2], value, atol=1e-2 * max(1.0, value))
    assert adjusted_rand_score(fit(X, objective=objective).labels_, model.labels_) > 0.95


def test_the_order_of_features_does_not_matter():
    X = rows(std=1.0)
    order = [3, 0, 4, 1, 2]
    model, other = fit(X, objective="silhouette"), fit(X[:, order], objective="silhouette")
    assert adjusted_rand_score(model.labels_, other.labels_) == 1.0


# --- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_weight_zero_is_absence(holes, objective):
    X = rows(holes=holes)
    weight = (np.random.default_rng(2).random(len(X)) < 0.7).astype(float)
    more = np.vstack([X, np.full((3, X.shape[1]), 1e4)])
    model = fit(more, sample_weight=np.append(weight, [0, 0, 0]), objective=objective)
    alone = fit(X[weight > 0], objective=objective)
    assert_array_equal(model.cluster_centers_, alone.cluster_centers_)
    assert_array_equal(model.labels_[:-3][weight > 0], alone.labels_)
    assert_array_equal(model.runs_["silhouette"], alone.runs_["silhouette"])


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_an_integer_weight_is_a_number_of_copies(holes, objective):
    X = rows(holes=holes)
    copies = np.random.default_rng(3).integers(0, 4, len(X))
    model = fit(X, sample_weight=copies, objective=objective)
    repeated = fit(np.repeat(X, copies, axis=0), objective=objective)
    assert_array_equal(model.cluster_centers_, repeated.cluster_centers_)
    assert_array_equal(np.repeat(model.labels_, copies), repeated.labels_)
    assert_array_equal(model.runs_, repeated.runs_)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("factor", [1e-3, 0.5, 1000.0])
def test_scaling_all_weights_changes_no_label(factor, objective):
    X = rows(std=1.0)
    weight = np.random.default_rng(4).uniform(0.5, 2.0, len(X))
    model = fit(X, sample_weight=weight, objective=objective)
    scaled = fit(X, sample_weight=factor * weight, objective=objective)
    assert_array_equal(model.labels_, scaled.labels_)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_equal_weights_are_no_weights(objective):
    X = rows()
    weighted = fit(X, sample_weight=np.ones(len(X)), objective=objective)
    assert_same(fit(X, objective=objective), weighted)


def test_weights_act():
    X = rows(std=3.0)
    weight = np.where(X[:, 0] > np.median(X[:, 0]), 5.0, 0.1)
    one, other = fit(X), fit(X, sample_weight=weight)
    assert not np.array_equal(one.cluster_centers_, other.cluster_centers_)


# --- threads and seeds ----------------------------------------------------------------------------

VARIANTS = {
    "dense": {},
    "holes": {"holes": 0.2},
    "sparse": {"zeros": 0.5},
    "cosine": {"metric": "cosine"},
    "mahalanobis": {"metric": "mahalanobis"},
    "learned weights": {"weights": "learn"},
}


def variant(name, n):
    settings = dict(VARIANTS[name])
    shape = {key: settings.pop(key) for key in ("holes", "zeros") if key in settings}
    X = rows(n, **shape)
    return (sparse.csr_matrix(X) if name == "sparse" else X), settings


THREADS_OVER = {
    "runs": {"n_init": 5, "max_epochs": 8},
    "a batch": {"n_init": 1, "batch_size": 1024, "max_epochs": 4}
    | {"patience": 1, "early_stopping": False},
}


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("over", THREADS_OVER)
def test_threads_give_the_same_bits(name, objective, over):
    X, settings = variant(name, 240 if over == "runs" else 2500)
    settings |= THREADS_OVER[over] | {"tol": 1.0, "objective": objective}
    one = fit(X, n_jobs=1, **settings)
    for jobs in (2, 4):
        assert_same(one, fit(X, n_jobs=jobs, **settings))


def test_a_seed_decides_everything():
    X = rows(1300, std=3.0)
    settings = {"objective": "completion", "batch_size": 256, "max_epochs": 15, "tol": 1.0}
    one = fit(X, random_state=7, **settings)
    assert_same(one, fit(X, random_state=7, **settings))
    assert_same(one, fit(X, random_state=np.random.RandomState(7), **settings))
    other = fit(X, random_state=8, **settings)
    assert not np.array_equal(one.cluster_centers_, other.cluster_centers_)


def test_global_random_numbers_are_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002 (that is what is tested)
    fit(rows())
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
