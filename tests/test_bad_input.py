"""Bad input gets an error that names the parameter or column, the value and what is allowed."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from amclust import ClAM


def table(n=60):
    return make_blobs(n, 3, centers=3, random_state=0)[0]


def with_value(value, row=7, column=1):
    X = table()
    X[row, column] = value
    return X


def make(k=3, **settings):
    return ClAM(k, **({"n_init": 2, "random_state": 0} | settings))


def raises(*words):
    """An error whose message has all the words, in this order."""
    return pytest.raises(ValueError, match="(?s)" + ".*".join(words))


FORMS = {
    "dense": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "sparse": sparse.csr_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
    "polars": lambda X: pl.DataFrame(X, schema=["a", "b", "c"]),
}
EVERY_FORM = pytest.mark.parametrize("form", FORMS)


# --- tables ---------------------------------------------------------------------------------------

TWO_ROWS = np.array([[0.0, 1.0], [2.0, 3.0]] * 10)


@pytest.mark.parametrize(
    "init", ["auto", "ward", "k-means++", "random", [[0.0, 1.0], [2.0, 3.0], [9.0, 9.0]]]
)
def test_more_clusters_than_distinct_rows(init):
    for k in (3, 40) if isinstance(init, str) else (3,):
        with raises(f"n_clusters={k}", "at most", "distinct rows", "is 2", "n_samples=20"):
            make(k, init=init).fit(TWO_ROWS)
    with raises("n_clusters=3", "distinct rows", "is 2"):
        make(init=init).fit(table()[:, :2], sample_weight=[1.0, 1.0] + 58 * [0.0])


def test_the_error_of_distinct_rows_survives_another_process():
    with raises("distinct rows") as caught:
        make(3).fit(TWO_ROWS)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert copy.distinct == 2


def test_as_many_clusters_as_distinct_rows_are_allowed():
    X = np.array([[0.0, 1.0], [2.0, 3.0], [9.0, 9.0]] * 10)
    assert len(np.unique(make().fit(X).labels_)) == 3


@EVERY_FORM
def test_a_column_of_nan(form):
    X = table()
    X[:, 1] = np.nan
    name = "'b'" if form in ("pandas", "polars") else "1"
    with raises("No observed value", f"column {name}", "all NaN"):
        make().fit(FORMS[form](X))


@EVERY_FORM
def test_rows_of_nan_alone(form):
    X = np.full_like(table(), np.nan)
    with raises("No row of X has an observed value", "all NaN"):
        make().fit(FORMS[form](X))


def test_weights_of_rows_of_nan_alone():
    X, weights = table(), np.zeros(len(table()))
    X[7], weights[7] = np.nan, 1.0
    with raises("sample_weight must be positive for at least one row that has a value"):
        make().fit(X, sample_weight=weights)


@EVERY_FORM
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinities(value, form):
    X = FORMS[form](with_value(value))
    name = "'b'" if form in ("pandas", "polars") else "1"
    with raises("infinity", "row 7", f"column {name}", "finite"):
        make().fit(X)
    model = make().fit(FORMS[form](table()))
    for ask in ("predict", "transform", "predict_proba", "energy", "entropy", "recall", "score"):
        with raises("infinity", "row 7", f"column {name}"):
            getattr(model, ask)(X)


@pytest.mark.parametrize("holes", [False, True])
def test_infinities_are_not_completed(holes):
    X = with_value(np.inf)
    X[3, 0] = np.nan if holes else 0.0
    with raises("infinity", "row 7", "column 1"):
        make().fit(table()).complete(X)


@pytest.mark.parametrize("value", [1e20, -1e30, 1e300])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "mahalanobis"])
def test_numbers_too_large(metric, value):
    with raises("at most 1e\\+19", "column 1"):
        make(metric=metric).fit(with_value(value))


@pytest.mark.parametrize("scale", [1e-40, 1e-150, 1e-300])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "mahalanobis"])
def test_small_numbers_are_refused_or_handled(metric, scale):
    refusal = ""
    try:
        model = make(metric=metric).fit(scale * table())
    except ValueError as error:
        refusal = str(error)
    assert "distinct rows" not in refusal  # they are distinct
    if not refusal:
        assert np.isfinite(model.cluster_centers_).all()
        usual = make(metric=metric).fit(table())
        assert adjusted_rand_score(model.labels_, usual.labels_) > 0.95


@pytest.mark.parametrize(
    ("row", "form"),
    [([0.0, 0.0, 0.0], "dense"), ([0.0, 0.0, 0.0], "sparse"), ([0.0, np.nan, 0.0], "dense")],
)
def test_a_row_of_zeros_has_no_direction(row, form):
    X = table()
    X[7] = row
    with raises("Row 7", "zero", "cosine"):
        make(metric="cosine").fit(FORMS[form](X))
    with raises("Row 7", "zero", "cosine"):
        make(metric="cosine").fit(table()).predict(X)
    make().fit(FORMS[form](X))  # no matter to other metrics


def test_columns_that_are_not_numbers():
    frame = pd.DataFrame(table(), columns=["a", "b", "c"])
    frame["color"] = ["red", "blue"] * 30
    frame["day"] = pd.Timestamp("2024-01-01")
    frame["mixed"] = pd.Series([1, "x"] * 30, dtype=object)
    with raises("numbers", "'day'", "'mixed' \\(object\\)", "days since"):
        make().fit(frame)
    with raises("numbers", "'color'", "'day'", "'mixed' \\(object\\)", "days since"):
        make(categorical_features=None).fit(frame)
    with raises("'color'", "from_dtype"):
        make(categorical_features=None).fit(
            pl.DataFrame(table(), schema=["a", "b", "c"]).with_columns(color=pl.lit("red"))
        )
    model = make().fit(frame[["a", "b", "c"]])
    with raises("'b'"):
        model.predict(frame[["a", "b", "c"]].assign(b="x"))


@pytest.mark.parametrize(
    "ask", ["predict", "transform", "recall", "complete", "score", "energy", "partial_fit"]
)
def test_a_wrong_number_of_features(ask):
    model = make().fit(table())
    with raises("2 features", "expecting 3"):
        getattr(model, ask)(table()[:, :2])


def with_columns_of_nan():
    X = table()
    X[:, [0, 2]] = np.nan
    return X


def damaged_sparse():
    X = sparse.csr_matrix(np.eye(5))
    X.indices[2] = -7
    return X


@pytest.mark.parametrize(
    ("X", "message", "settings"),
    [
        (np.zeros((0, 3)), "0 sample", {}),
        (np.zeros((5, 0)), "0 feature", {}),
        (np.zeros(5), "2D array", {}),
        (np.zeros((2, 2, 2)), "dim", {}),
        (3.0, "2D array", {}),
        ([["a", "b"], ["c", "d"]], "could not convert|numeric", {}),
        (table() + 1j, "[Cc]omplex", {}),
        (np.array([["2020-01-01"], ["2021-01-01"]], "datetime64[D]"), "dates or times", {}),
        (with_columns_of_nan(), "column 0, column 2", {}),
        (damaged_sparse(), "sparse.*damaged", {}),
        (sparse.csr_matrix(table()), "mahalanobis.*dense.*sparse", {"metric": "mahalanobis"}),
        (np.eye(4), r"which is 4 \(n_samples=4\)\.$", {"n_clusters": 5}),
        (pd.DataFrame(np.eye(4), columns=["a", "b", "a", 7]), "differ; more than once: 'a'", {}),
        (table(), "init.*near the data", {"init": table()[:3] * 1e15}),
        (table(), "='silhouette'.* 2, got 1", {"n_clusters": 1, "objective": "silhouette"}),
        (table()[:, :1], "='completion'.*1 feature.* 2", {"objective": "completion"}),
    ],
)
def test_tables_that_cannot_be_clustered(X, message, settings):
    with raises(message):
        make().set_params(**settings).fit(X)


def test_asking_before_fitting():
    for ask in ("predict", "transform", "energy", "recall", "complete", "score"):
        with pytest.raises(NotFittedError):
            getattr(make(), ask)(table())


# --- weights of rows ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.ones(5), "sample_weight"),
        (np.ones((60, 2)), "[Ss]ample weights"),
        (np.r_[-1.0, np.ones(59)], "[Nn]egative values.*`?sample_weight"),
        (np.zeros(60), "(?i)sample.?weights? must (contain|have) at least one"),
        (np.full(60, np.nan), "sample_weight contains NaN"),
        (np.full(60, np.inf), "sample_weight contains infinity"),
    ],
)
def test_bad_weights_of_rows(weight, words, method):
    model = make()
    with pytest.raises(ValueError, match=words):
        getattr(model, method)(table(), sample_weight=weight)
    assert not hasattr(model, "cluster_centers_")


def test_bad_weights_in_score():
    model = make().fit(table())
    with pytest.raises(ValueError, match="[Nn]egative values.*`?sample_weight"):
        model.score(table(), sample_weight=-np.ones(60))
    with pytest.raises(ValueError, match="sample_weight"):
        model.score(table(), sample_weight=np.ones(5))


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("n_clusters", 0, r"\[1, 2147483647\]"),
        ("n_clusters", 2.5, "int"),
        ("objective", "contrast", "silhouette"),
        ("beta", -1.0, r"\(0.0, inf\)"),
        ("beta", "hot", "auto"),
        ("beta", np.nan, r"\(0.0, inf\)"),
        ("n_steps", 0, r"\[1, 10000\]"),
        ("step_size", 0.0, r"\(0.0, 1.0\]"),
        ("step_size", 1.5, r"\(0.0, 1.0\]"),
        ("mask_prob", 0.0, r"\(0.0, 1.0\)"),
        ("mask_prob", 1.0, r"\(0.0, 1.0\)"),
        ("mask_prob", -0.1, r"\(0.0, 1.0\)"),
        ("mask_value", "median", "mean"),
        ("weights", "free", "learn"),
        ("metric", "chebyshev", "cosine"),
        ("n_clusters", True, "int of at least 1"),
        ("init", "best", "k-means\\+\\+"),
        ("n_init", 0, r"\[1, 2147483647\]"),
        ("batch_size", 0, r"\[1, 2147483647\]"),
        ("max_epochs", 0, r"\[1, 2147483647\]"),
        ("learning_rate", 0.0, r"\(0.0, inf\)"),
        ("patience", 0, r"\[1, 2147483647\]"),
        ("lr_factor", 1.0, r"\(0.0, 1.0\)"),
        ("min_lr", -1.0, r"\[0.0, inf\)"),
        ("tol", -1.0, r"\[0.0, inf\)"),
        ("selection", "luck", "silhouette"),
        ("n_jobs", 0, r"\[1, 2147483647\]"),
        ("random_state", "seed", "RandomState"),
    ],
)
def test_parameters_out_of_range(name, value, allowed):
    model = make().set_params(**{name: value})
    with pytest.raises(ValueError, match=f"'{name}' parameter of ClAM") as caught:
        model.fit(table())
    assert repr(value) in str(caught.value)
    with pytest.raises(ValueError, match=allowed):
        model.fit(table())


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, 2.0], ("weights", "3 positive numbers", r"shape \(2,\)")),
        ([1.0, 2.0, -3.0], ("weights", "positive", "-3.0")),
        ([1.0, 0.0, 1.0], ("weights", "positive", "0.0")),
        ([1.0, np.nan, 1.0], ("weights", "finite", "nan")),
        ([1.0, np.inf, 1.0], ("weights", "finite", "inf")),
        ([["a", "b", "c"]], ("weights",)),
    ],
)
def test_bad_weights_of_memories(weights, words, method):
    with raises(*words):
        getattr(make(weights=weights), method)(table())


@pytest.mark.parametrize(
    ("init", "words"),
    [
        (np.zeros((2, 3)), ("init", r"\(3, 3\)", r"\(2, 3\)")),
        (np.zeros((3, 2)), ("init", r"\(3, 3\)", r"\(3, 2\)")),
        (np.full((3, 3), np.nan), ("init", "finite", "NaN")),
        (np.full((3, 3), np.inf), ("init", "finite", "infinity")),
        ([["a", "b", "c"]] * 3, ("init",)),
    ],
)
def test_bad_starts(init, words):
    with raises(*words):
        make(init=init).fit(table())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("beta", [1e-300, 1e-30, 1e30, 1e300])
def test_an_extreme_beta_still_gives_numbers(beta):
    model = make(beta=beta).fit(table())
    assert beta < 1 or len(np.unique(model.labels_)) == 3
    assert np.isfinite(model.cluster_centers_).all()
    assert np.isfinite(model.predict_proba(table())).all()
    assert np.isfinite(model.recall(table())).all()
    assert not np.isnan(model.energy(table())).any()


# --- failures leave no trace ----------------------------------------------------------------------


def test_a_failed_fit_leaves_the_estimator_as_it_was():
    model = make().fit(pd.DataFrame(table(), columns=["a", "b", "c"]))
    before = dict(vars(model))
    wider = np.hstack([table(), table()])
    wider[:, 5] = np.nan
    with raises("column 5"):
        model.fit(wider)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)
    with raises("'mask_prob'"):
        model.set_params(mask_prob=7.0).fit(table())
    assert_array_equal(model.cluster_centers_, before["cluster_centers_"])


# --- what a newcomer stumbled on ------------------------------------------------------------------


def test_masked_arrays_are_missing_values():
    X = table()
    masked = np.ma.array(X, mask=np.zeros(X.shape, bool))
    masked[0, 1] = np.ma.masked
    X[0, 1] = np.nan
    assert_array_equal(make().fit(masked).labels_, make().fit(X).labels_)


def test_learning_cannot_go_on_with_another_metric_or_number_of_clusters():
    model = make().fit(table())
    for change in ({"metric": "cosine"}, {"n_clusters": 2}):
        other = clone(model).fit(table()).set_params(**change)
        with raises("metric", "n_clusters", "cannot change"):
            other.partial_fit(table())
    labels = model.labels_
    assert_array_equal(model.set_params(metric="cosine").predict(table()), labels)


def test_a_million_jobs_are_not_a_million_threads():
    X = np.random.default_rng(0).normal(size=(3000, 200))
    few, many = make(n_init=1, n_jobs=1).fit(X), make(n_init=1, n_jobs=10**6).fit(X)
    assert_array_equal(few.cluster_centers_, many.cluster_centers_)
