"""What missing values are likely to be: completions, how sure they are, clusters of such rows."""

import copy
import dataclasses
import pickle

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.metrics import adjusted_rand_score

import amclust
import amclust.dask
from amclust import ClAM, _native, _preparing
from amclust._preparing import prepare
from amclust.backends import base

# These models stop early on purpose.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*still improving"),
    pytest.mark.filterwarnings("ignore:.*may be outliers"),
]


def make(n_clusters=3, **given):
    return ClAM(n_clusters, **({"n_init": 2, "max_epochs": 30, "random_state": 0} | given))


def quick(n_clusters=3, **given):
    return make(n_clusters, **({"n_init": 1, "max_epochs": 3} | given))


def holed(X, share=0.2, seed=0):
    """Return a copy with missing values, but a value in each row."""
    rng = np.random.default_rng(seed)
    holes = rng.random(X.shape) < share
    holes[np.arange(len(X)), rng.integers(0, X.shape[1], len(X))] = False
    return np.where(holes, np.nan, X).astype(X.dtype)


def blobs(n=240, d=4, k=3, seed=0, **more):
    return make_blobs(n, d, centers=k, random_state=seed, **more)[0]


def stretched(n=600, d=4, k=4, seed=0):
    X, y = make_blobs(n, d, centers=k, random_state=seed)
    return X @ np.random.default_rng(seed).normal(size=(d, d)), y


def deviations_are_sound(X, completed, std):
    missing = np.isnan(X)
    assert (std[~missing] == 0).all()
    assert np.isfinite(std).all()
    assert (std >= 0).all()
    columns_inside(X, completed)


def columns_inside(X, completed):
    missing = np.isnan(X)
    assert completed.dtype == X.dtype
    assert completed[~missing].tobytes() == X[~missing].tobytes()
    assert np.isfinite(completed).all()
    assert (completed >= np.nanmin(X, axis=0)).all()
    assert (completed <= np.nanmax(X, axis=0)).all()


# --- completed values -----------------------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 60),
    d=st.integers(2, 6),
    share=st.sampled_from([0.1, 0.4, 0.8]),
    dtype=st.sampled_from([np.float32, np.float64]),
    metric=st.sampled_from(["euclidean", "cosine", "mahalanobis"]),
    offset=st.sampled_from([0.0, 100.0]),
)
@pytest.mark.filterwarnings("ignore:.*distinct")
def test_completions_stay_inside_and_leave_what_is_there(seed, n, d, share, dtype, metric, offset):
    rng = np.random.default_rng(seed)
    X = holed((rng.gamma(1.0, size=(n, d)) + offset).astype(dtype), share, seed)
    X[:2] = rng.gamma(1.0, size=(2, d)) + offset  # a value in each column
    before = X.copy()
    model = quick(2, metric=metric).fit(X)
    completed = model.complete(X)
    columns_inside(X, completed)
    assert X.tobytes() == before.tobytes()
    if np.isnan(X).any():
        again, std = model.complete(X, return_std=True)
        assert_array_equal(completed, again)
        deviations_are_sound(X, completed, std)


# Few columns and many: full covariances, and those of factors.
KINDS = [
    *((4, metric) for metric in ("euclidean", "cosine", "mahalanobis")),
    *((110, metric) for metric in ("euclidean", "mahalanobis")),
]


@pytest.mark.parametrize(("d", "metric"), KINDS)
def test_equal_rows_get_equal_completions_whatever_is_beside_them(metric, d):
    X = holed(blobs(100, d))
    model = quick(metric=metric).fit(X)
    completed, std = model.complete(X, return_std=True)
    labels = model.predict(X)
    for i in range(0, len(X), 9):
        alone = model.complete(X[i : i + 1], return_std=True)
        assert_array_equal(alone[0][0], completed[i])
        assert_array_equal(alone[1][0], std[i])
        assert model.predict(X[i : i + 1])[0] == labels[i]
    some = np.random.default_rng(0).integers(0, len(X), 151)
    for threads in (1, 4):
        found = model.set_params(n_jobs=threads).complete(X[some], return_std=True)
        assert_array_equal(found[0], completed[some])
        assert_array_equal(found[1], std[some])


def test_chunks_inside_change_no_bit(monkeypatch):
    X = holed(blobs())
    model = quick().fit(X)
    expected = model.complete(X, return_std=True)
    again = quick()
    monkeypatch.setattr("amclust._completion.CHUNK_ROWS", 7)
    assert_array_equal(model.complete(X, return_std=True), expected)
    again.fit(X)
    assert_array_equal(again.network_.memories, model.network_.memories)
    assert_array_equal(again.complete(X, return_std=True), expected)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "mahalanobis"])
def test_the_order_of_rows_changes_nothing(metric):
    X = holed(blobs())
    order = np.random.default_rng(1).permutation(len(X))
    one, other = make(metric=metric).fit(X), make(metric=metric).fit(X[order])
    assert_array_equal(one.network_.memories, other.network_.memories)
    assert_array_equal(one.labels_[order], other.labels_)
    assert_array_equal(one.complete(X)[order], other.complete(X[order]))


@pytest.mark.parametrize(
    ("d", "metric"), [(4, "euclidean"), (4, "mahalanobis"), (110, "mahalanobis")]
)
def test_weight_two_is_a_row_twice(metric, d):
    X = holed(blobs(80, d))
    weights = np.random.default_rng(0).integers(1, 3, len(X))
    twice = np.repeat(X, weights, axis=0)
    one = quick(metric=metric).fit(X, sample_weight=weights)
    other = quick(metric=metric).fit(twice)
    assert_array_equal(one.network_.memories, other.network_.memories)
    assert_array_equal(np.repeat(one.labels_, weights), other.labels_)
    assert_array_equal(one.complete(X, return_std=True), other.complete(X, return_std=True))


def test_rows_of_weight_zero_teach_nothing():
    X = holed(blobs())
    weights = np.ones(len(X))
    weights[::3] = 0
    wild = X.copy()
    wild[::3] = np.where(np.isnan(X[::3]), np.nan, 7.0)
    one, other = (quick().fit(rows, sample_weight=weights) for rows in (X, wild))
    assert_array_equal(one.complete(X), other.complete(X))


# --- how sure they are ----------------------------------------------------------------------------


def table_of(name):
    if name == "clusters":
        rng = np.random.default_rng(0)
        mixed = rng.normal(size=(6, 6)) / 2
        return 3 * rng.normal(size=(4, 6))[np.arange(500) % 4] + rng.normal(size=(500, 6)) @ mixed
    load = {
        "iris": load_iris,
        "wine": load_wine,
        "breast cancer": load_breast_cancer,
        "digits": load_digits,
    }[name]
    return load().data


@pytest.mark.parametrize(
    ("name", "seed"),
    [(name, seed) for name in ("iris", "wine", "clusters") for seed in range(2)]
    + [("breast cancer", 0), ("digits", 0)],
)
def test_two_deviations_hold_what_was_hidden(name, seed):
    X = table_of(name)
    partly = holed(X, 0.2, seed)
    completed, std = quick().fit(partly).complete(partly, return_std=True)
    deviations_are_sound(partly, completed, std)
    hidden = np.isnan(partly)
    errors = np.abs(completed - X)[hidden]
    inside = errors <= 1.959964 * std[hidden] + 1e-9
    assert 0.90 <= inside.mean() <= 0.98


def test_less_is_known_of_what_hangs_on_less():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    X = holed(np.c_[x, x + 0.1 * rng.normal(size=400), rng.normal(size=400)], 0.15)
    model = quick().fit(X)
    row = np.array([[0.5, np.nan, np.nan]])
    _, std = model.complete(row, return_std=True)
    assert 0.05 < std[0, 1] < 0.3
    assert 0.7 < std[0, 2] < 1.4
    _, unknown = model.complete(np.array([[np.nan, np.nan, 0.3]]), return_std=True)
    assert unknown[0, 1] > 3 * std[0, 1]


@pytest.mark.parametrize("names", [list("abcd"), ["größe", "b c", "", "d"]])
def test_frames_come_back_as_frames(names):
    X = holed(blobs()).astype(np.float32)
    frame = pd.DataFrame(X, columns=names, index=pd.Index(np.arange(len(X)) * 3 + 7, name="id"))
    frame["b" if "b" in frame else names[1]] = pd.array(X[:, 1].round(), dtype="Float64")
    model = quick().fit(frame)
    completed, std = model.complete(frame, return_std=True)
    for found in (completed, std):
        assert isinstance(found, pd.DataFrame)
        pd.testing.assert_index_equal(found.columns, frame.columns)
        pd.testing.assert_index_equal(found.index, frame.index)
    assert list(completed.dtypes) == list(frame.dtypes)
    assert_array_equal(std.to_numpy() > 0, frame.isna().to_numpy())


def test_polars_frames_come_back_as_frames():
    pl = pytest.importorskip("polars")
    X = holed(blobs())
    frame = pl.DataFrame(X, schema=list("abcd")).fill_nan(None)
    completed, std = quick().fit(frame).complete(frame, return_std=True)
    for found in (completed, std):
        assert isinstance(found, pl.DataFrame)
        assert found.columns == frame.columns
    assert_array_equal(std.to_numpy() > 0, np.isnan(X))


@pytest.mark.parametrize("rows", ["sparse", "objective"])
def test_who_does_not_know_how_sure_it_is_says_so(rows):
    X = holed(blobs())
    if rows == "sparse":
        model = quick().fit(sparse.csr_array(blobs()))
    else:
        model = quick(objective="completion").fit(X)
    with pytest.raises(ValueError, match="return_std"):
        model.complete(X, return_std=True)
    with pytest.raises(ValueError, match="return_std"):
        model.network_.complete(X, return_std=True)
    assert np.isfinite(model.complete(X)).all()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_papers_way_stays_inside_too(metric):
    X = holed(np.abs(blobs()) + 1)
    model = quick(objective="completion", metric=metric).fit(X)
    columns_inside(X, model.complete(X))
    far = np.where(np.isnan(X), np.nan, 100 * X)
    completed = model.complete(far)
    assert (completed[np.isnan(far)] <= np.nanmax(X)).all()


def few_rows(n, seed):
    """Correlated columns, a fifth of the values hidden."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, 5))
    hidden = rng.random(X.shape) < 0.2
    hidden[np.arange(n), rng.integers(5, size=n)] = False
    for j in range(5):
        hidden[rng.permutation(n)[:2], j] = False
    return X, hidden


def few_known(n, seed):
    """A column of which so many values are known."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 4)) @ rng.normal(size=(4, 4))
    hidden = np.zeros(X.shape, bool)
    hidden[rng.permutation(80)[n:], 0] = True
    return X, hidden


@pytest.mark.parametrize(("make_table", "n"), [(few_rows, 10), (few_rows, 25), (few_known, 4)])
def test_deviations_of_little_knowledge_are_wide_enough(make_table, n):
    inside = []
    for seed in range(12):
        X, hidden = make_table(n, seed)
        model = make(2, n_init=1, max_epochs=2).fit(np.where(hidden, np.nan, X))
        completed, std = model.complete(np.where(hidden, np.nan, X), return_std=True)
        inside.append((np.abs(completed - X) <= 1.96 * std)[hidden])
    assert np.concatenate(inside).mean() > 0.9


def test_rows_that_lack_nothing_are_sure():
    X = blobs()
    model = quick().fit(holed(X))
    completed, std = model.complete(X, return_std=True)
    assert_array_equal(completed, X, strict=True)
    assert_array_equal(std, np.zeros_like(X), strict=True)


@pytest.mark.parametrize("kind", ["array", "frame"])
@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis"])
def test_dask_gives_the_same_bits_lazily(kind, metric):
    dd = pytest.importorskip("dask.dataframe")
    X = holed(blobs(300))
    table, rows = X, da.from_array(X, chunks=((1, 99, 0, 200), X.shape[1]))
    if kind == "frame":
        table = pd.DataFrame(X, columns=list("abcd"))
        rows = dd.from_pandas(table, npartitions=3)
    settings = {"n_init": 1, "max_epochs": 3, "random_state": 0, "metric": metric}
    expected = ClAM(3, **settings).fit(table)
    model = amclust.dask.ClAM(3, **settings).fit(rows)
    found = model.complete(rows, return_std=True)
    for answer, here in zip(found, expected.complete(table, return_std=True), strict=True):
        assert type(answer) is type(rows)
        assert_array_equal(answer.compute(), here)
    # In memory, too.
    for answer, here in zip(model.complete(table, return_std=True), found, strict=True):
        assert_array_equal(answer, here.compute())


def test_dask_computes_nothing_before_it_is_asked():
    X = holed(blobs(300))
    model = amclust.dask.ClAM(3, n_init=1, max_epochs=3, random_state=0)
    model.fit(da.from_array(X, chunks=(100, 4)))

    def fail(block):
        raise AssertionError

    late = da.from_array(X, chunks=(100, 4)).map_blocks(fail, dtype=X.dtype, meta=X[:0])
    completed, std = model.complete(late, return_std=True)
    assert completed.shape == std.shape == X.shape
    with pytest.raises(AssertionError):
        std.compute()
    paper = amclust.dask.ClAM(3, n_init=1, max_epochs=3, objective="completion")
    paper.fit(da.from_array(X, chunks=(100, 4)))
    with pytest.raises(ValueError, match="return_std"):
        paper.complete(late, return_std=True)


# --- labels ---------------------------------------------------------------------------------------

FITS = {
    "euclidean": {},
    "not scaled": {"scale": None},
    "robust": {"scale": "robust"},
    "cosine": {"metric": "cosine"},
    "mahalanobis": {"metric": "mahalanobis"},
    "n_memories": {"n_memories": 9},
    "n_memories, mahalanobis": {"n_memories": 9, "metric": "mahalanobis"},
    "auto": {"n_clusters": "auto"},
    "silhouette": {"objective": "silhouette"},
    "reconstruction": {"objective": "reconstruction"},
    "reconstruction, mahalanobis": {"objective": "reconstruction", "metric": "mahalanobis"},
    "completion": {"objective": "completion"},
    "completion, mahalanobis": {"objective": "completion", "metric": "mahalanobis"},
    "weights": {"weights": "learn", "objective": "silhouette"},
}


@pytest.mark.parametrize("name", FITS)
def test_labels_and_silhouette_are_those_of_predict_and_score(name):
    X = holed(blobs(150) + 3.0)
    for weights in (None, np.random.default_rng(0).integers(0, 4, len(X))):
        model = make(**FITS[name], n_jobs=1).fit(X, sample_weight=weights)
        assert_array_equal(model.labels_, model.predict(X))
        assert model.silhouette_ == pytest.approx(model.score(X, sample_weight=weights), abs=1e-6)
        assert model.labels_.min() >= 0
    four = make(**FITS[name], n_jobs=4).fit(X, sample_weight=weights)
    assert_array_equal(model.network_.memories, four.network_.memories)
    assert_array_equal(model.labels_, four.labels_)
    assert model.silhouette_ == four.silhouette_
    assert_array_equal(model.complete(X), four.complete(X))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_rows_with_missing_values(metric):
    X = blobs(d=6) + 3.0
    X[np.random.default_rng(1).random(X.shape) < 0.3] = 0.0
    X[:, 5] += 1.0  # all rows have a direction
    X = np.c_[holed(X[:, :5]), X[:, 5]]
    rows = sparse.csr_matrix(X)
    model = make(metric=metric, scale=None).fit(rows)
    assert_array_equal(model.labels_, model.predict(rows))
    assert model.silhouette_ == pytest.approx(model.score(rows), abs=1e-6)
    completed, std = model.complete(rows, return_std=True)
    assert sparse.issparse(completed)
    assert completed.dtype == rows.dtype
    deviations_are_sound(X, completed.toarray(), np.asarray(std))
    dense = make(metric=metric, scale=None).fit(X)
    assert_allclose(completed.toarray(), dense.complete(X), rtol=1e-9)


def test_labels_of_a_sample_are_those_of_all_rows():
    """Rows beyond those that are trained on are completed, too."""
    X = holed(blobs(5000), 0.1)
    model = make(batch_size=256).fit(X)
    assert_array_equal(model.labels_, model.predict(X))


def test_missing_values_in_rows_of_weight_zero_only():
    X = blobs()
    weights = np.ones(len(X))
    weights[:50] = 0
    X[:50] = holed(X[:50], 0.4)
    for metric in ("euclidean", "cosine", "mahalanobis"):
        model = make(metric=metric).fit(X, sample_weight=weights)
        assert_array_equal(model.labels_, model.predict(X))
        assert np.isfinite(model.complete(X)).all()


@pytest.mark.parametrize(("d", "metric"), KINDS)
def test_copies_answer_the_same(metric, d, tmp_path):
    X = holed(blobs(60, d))
    model = quick(metric=metric).fit(X)
    expected = model.complete(X, return_std=True)
    model.save(tmp_path / "model.amc")
    for other in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        amclust.load(tmp_path / "model.amc"),
    ):
        assert_array_equal(other.complete(X, return_std=True), expected)
        assert_array_equal(other.predict(X), model.labels_)
        other.partial_fit(X)
        assert np.isfinite(other.network_.memories).all()


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "mahalanobis"])
def test_learning_goes_on_with_missing_values(metric):
    X = holed(blobs(400))
    model = make(metric=metric).fit(X)
    labels = model.labels_
    for start in range(0, 400, 100):
        model.partial_fit(X[start : start + 100])
    assert adjusted_rand_score(model.predict(X), labels) > 0.9
    completed, std = model.complete(X, return_std=True)
    deviations_are_sound(X, completed, std)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "mahalanobis"])
def test_a_stream_may_begin_with_complete_rows(metric):
    X, y = make_blobs(400, 4, centers=3, random_state=0)
    partly = holed(X, 0.15)
    partly[:100] = X[:100]
    model = make(metric=metric)
    for _ in range(3):
        for start in range(0, 400, 100):
            model.partial_fit(partly[start : start + 100])
    assert np.isfinite(model.network_.memories).all()
    expected = make(metric=metric)
    for _ in range(3):
        for start in range(0, 400, 100):
            expected.partial_fit(X[start : start + 100])
    expected = adjusted_rand_score(y, expected.predict(X))
    assert adjusted_rand_score(y, model.predict(partly)) > expected - 0.25
    assert np.isfinite(model.complete(partly)).all()


# --- awkward tables -------------------------------------------------------------------------------


def awkward(name):
    rng = np.random.default_rng(0)
    X = holed(blobs(90))
    if name == "a column with one value":
        X[:, 1] = np.nan
        X[7, 1] = 3.0
    elif name == "a column with two values":
        X[:, 1] = np.nan
        X[[7, 8], 1] = [3.0, 4.0]
    elif name == "two rows":
        return np.array([[0.0, np.nan, 2.0], [1.0, 5.0, np.nan]])
    elif name == "more columns than rows":
        return holed(rng.normal(size=(30, 60)))
    elif name == "many more columns than rows":
        return holed(rng.normal(size=(20, 150)))
    elif name == "two rows of many columns":
        X = rng.normal(size=(2, 130))
        X[0, ::5] = np.nan
        return X
    elif name == "the same column":
        return holed(np.tile(blobs(90), 2))
    elif name == "the same many columns":
        return holed(np.tile(blobs(90), 30))
    elif name == "a constant column":
        X[:, 2] = np.where(np.isnan(X[:, 2]), np.nan, 0.1)
    elif name == "a constant column, many":
        X = holed(rng.normal(size=(60, 120)))
        X[:, 2] = np.where(np.isnan(X[:, 2]), np.nan, 1e6 + 0.1)
    elif name == "never together":
        X = blobs(90, 6)
        X[:45, :3] = np.nan
        X[45:, 3:] = np.nan
    elif name == "never together, many":
        X = blobs(90, 120)
        X[:45, :60] = np.nan
        X[45:, 60:] = np.nan
    elif name == "one value a row":
        X = np.full((90, 4), np.nan)
        at = rng.integers(0, 4, 90)
        X[np.arange(90), at] = blobs(90)[np.arange(90), at]
    elif name == "one row lacks all but one":
        X = blobs(90)
        X[4, 1:] = np.nan
    elif name == "whole numbers far away":
        return holed((1e6 + blobs(90) * 10).round())
    elif name == "whole numbers far away, float32":
        return holed((1e6 + blobs(90) * 10).round().astype(np.float32))
    elif name == "tiny and huge":
        X *= 10.0 ** np.array([-12, 0, 9, 12])
    elif name == "heavy tails":
        X = holed(rng.standard_cauchy((90, 4)))
    elif name == "two values":
        X = holed((rng.random((90, 8)) < 0.3).astype(float))
    elif name == "copies":
        X = np.repeat(X[:9], 10, axis=0)
    elif name == "empty rows":
        X[[0, 5, 89]] = np.nan
    return X


AWKWARD = [
    *("a column with one value", "a column with two values", "two rows"),
    *("more columns than rows", "many more columns than rows", "two rows of many columns"),
    *("the same column", "the same many columns", "a constant column", "a constant column, many"),
    *("never together", "never together, many", "one value a row", "one row lacks all but one"),
    *("whole numbers far away", "whole numbers far away, float32", "tiny and huge"),
    *("heavy tails", "two values", "copies", "empty rows"),
]


@pytest.mark.filterwarnings("ignore::amclust._warnings.EmptyRowsWarning")
@pytest.mark.filterwarnings("ignore:.*distinct")
@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis"])
@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_tables_are_completed(name, metric, recwarn):
    X = awkward(name)
    model = quick(2, metric=metric).fit(X)
    completed, std = model.complete(X, return_std=True)
    deviations_are_sound(X, completed, std)
    assert_array_equal(model.labels_, model.predict(X))
    assert np.isfinite(model.cluster_centers_).all()
    assert not [str(one.message) for one in recwarn if one.category is RuntimeWarning]
    if metric == "mahalanobis":  # whose covariance is one more thing that threads sum up
        again = quick(2, metric=metric, n_jobs=4).fit(X)
        assert_array_equal(again.complete(X), completed)


@pytest.mark.filterwarnings("ignore::amclust._warnings.EmptyRowsWarning")
@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis"])
def test_one_column(metric):
    X = np.r_[np.random.default_rng(0).normal(size=(30, 1)), [[np.nan]]]
    model = quick(2, metric=metric).fit(X)
    columns_inside(X, model.complete(X))
    assert_array_equal(model.labels_, model.predict(X))


def test_a_constant_column_is_completed_by_its_value():
    for X in (awkward("a constant column"), awkward("a constant column, many")):
        completed = quick(2).fit(X).complete(X)
        assert (completed[:, 2] == X[~np.isnan(X[:, 2]), 2][0]).all()


def test_the_same_column_is_completed_by_its_copy():
    X = np.c_[blobs(200), blobs(200)]
    partly = X.copy()
    partly[::4, 5] = np.nan
    completed = quick().fit(partly).complete(partly)
    assert np.abs(completed - X).max() < 0.25 * X[:, 5].std()


def test_whole_numbers_far_away_are_completed_as_they_are_near():
    X = (blobs(300) * 10).round()
    near, far = holed(X), holed(X + 1e6)
    a = quick().fit(near).complete(near)
    b = quick().fit(far).complete(far)
    assert_allclose(b - 1e6, a, atol=0.05 * X.std())


@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis"])
def test_a_column_without_a_value_is_an_error(metric):
    X = blobs()
    X[:, 2] = np.nan
    with pytest.raises(ValueError, match="column 2"):
        make(metric=metric).fit(X)


# --- Mahalanobis ----------------------------------------------------------------------------------


def test_mahalanobis_of_complete_rows_predicts_incomplete_ones():
    X, y = stretched()
    model = make(4, metric="mahalanobis").fit(X)
    partly = holed(X, 0.1)
    found = model.predict(partly)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert adjusted_rand_score(y, found) > 0.7
    whole = ~np.isnan(partly).any(axis=1)
    assert_array_equal(found[whole], model.labels_[whole])
    completed, std = model.complete(partly, return_std=True)
    deviations_are_sound(partly, completed, std)
    for ask in (model.transform, model.predict_proba, model.energy, model.entropy, model.recall):
        assert np.isfinite(ask(partly)).all()


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_mahalanobis_refuses_infinity_by_name(share):
    X = holed(blobs(), share)
    model = make(metric="mahalanobis").fit(X)
    X[17, 2] = np.inf
    with pytest.raises(ValueError, match="infinity in row 17, column 2"):
        make(metric="mahalanobis").fit(X)
    for ask in (model.predict, model.complete, model.transform):
        with pytest.raises(ValueError, match="infinity in row 17, column 2"):
            ask(X)


@pytest.mark.parametrize("seed", range(2))
def test_mahalanobis_does_not_mind_linear_maps(seed):
    X, _ = make_blobs(500, 4, centers=4, random_state=seed)
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(2))
    mapped = X @ (left * [1.0, 2.0, 0.5, 3.0]) @ right + 5.0
    one, other = (make(4, metric="mahalanobis", n_init=10).fit(rows) for rows in (X, mapped))
    assert adjusted_rand_score(one.labels_, other.labels_) > 0.98


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_mahalanobis_is_better_on_stretched_blobs(share):
    scores = {"euclidean": [], "mahalanobis": []}
    for seed in range(4):
        X, y = stretched(300, d=2, seed=seed)
        X = holed(X, share, seed)
        for metric, found in scores.items():
            model = make(4, metric=metric, n_init=5, max_epochs=60).fit(X)
            found.append(adjusted_rand_score(y, model.labels_))
    means = {metric: np.mean(found) for metric, found in scores.items()}
    assert means["mahalanobis"] > means["euclidean"] + 0.02
    assert means["mahalanobis"] > 0.8


def test_mahalanobis_finds_the_classes_of_breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    model = ClAM(2, metric="mahalanobis", random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.5


# --- how good -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_completions_are_better_than_iterated_regression(seed):
    rng = np.random.default_rng(seed)
    d, k = 6, 4
    mixed = rng.normal(size=(d, d)) / np.sqrt(d)
    centres = 3 * rng.normal(size=(k, d))
    X = centres[rng.integers(0, k, 800)] + rng.normal(size=(800, d)) @ mixed
    partly = holed(X, 0.2, seed)
    missing = np.isnan(partly)
    ours = quick(k).fit(partly).complete(partly)
    theirs = IterativeImputer(random_state=0, max_iter=30, tol=1e-2).fit_transform(partly)
    error = np.sqrt(np.mean((ours - X)[missing] ** 2))
    assert error < 0.95 * np.sqrt(np.mean((theirs - X)[missing] ** 2))


@pytest.mark.parametrize(("k", "seed"), [(5, 0), (8, 1)])
def test_the_number_of_clusters_is_that_of_the_complete_rows(k, seed):
    X, _ = make_blobs(600, 6, centers=k, random_state=seed)
    whole = quick("auto").fit(X).n_clusters_
    for share in (0.05, 0.2):
        assert quick("auto").fit(holed(X, share, seed)).n_clusters_ == whole


@pytest.mark.parametrize("factor", [8.0, 1e-3])
def test_only_the_ratios_of_weights_matter(factor):
    X = holed(blobs(180, 6))
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X)).astype(np.float32)
    one, other = (make().fit(X, sample_weight=scale * weights) for scale in (1.0, factor))
    assert_array_equal(one.labels_, other.labels_)
    assert_allclose(one.complete(X), other.complete(X), atol=1e-3)


def test_whitened_rows_are_refused_where_nothing_is_known_of_what_they_lack():
    X = blobs(100)
    network = make(metric="mahalanobis").fit(X).network_
    geometry = dataclasses.replace(network.geometry, completion=None)
    unknowing = dataclasses.replace(network, geometry=geometry)
    assert_array_equal(unknowing.labels(X), network.labels(X))
    with pytest.raises(ValueError, match="Fit it anew"):
        unknowing.labels(holed(X))


@pytest.mark.parametrize("many", [False, True])
def test_few_rows_are_trained_on_at_their_means_and_many_drawn(monkeypatch, many):
    X = holed(load_wine().data, 0.2)
    monkeypatch.setattr(base, "MIN_DRAWN_ROWS", len(X) + (not many))
    seen = []

    def prepared(*arguments, **keywords):
        seen.append(prepare(*arguments, **keywords))
        return seen[-1]

    monkeypatch.setattr(_preparing, "prepare", prepared)
    model = ClAM(3, random_state=0).fit(X)
    (data,) = seen
    trained = _native.load_rows(data.rows, None)
    likeliest = _native.load_rows(data.labelled_rows, None)
    scattered = _native.load_rows(data.drawn_rows(), None)
    assert not np.isnan(trained).any()
    assert (trained == likeliest).all() is np.bool_(not many)
    assert_array_equal(trained, scattered if many else likeliest)
    lost = np.isnan(X)
    assert_array_equal(scattered[~lost], likeliest[~lost])
    assert scattered[lost].var() > 1.1 * likeliest[lost].var()
    assert_array_equal(model.labels_, model.predict(X))


@pytest.mark.filterwarnings("ignore:.*values are missing")
@pytest.mark.parametrize("seed", range(2))
def test_rows_that_lack_the_same_columns_are_no_clusters(seed):
    # At the means of what they lack there are eleven.
    X = holed(np.random.default_rng(seed).normal(size=(1500, 5)), 0.5, seed)
    assert quick("auto", random_state=seed).fit(X).n_clusters_ == 1
