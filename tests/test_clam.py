"""What a fit leaves behind, and what the fitted estimator answers."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from native import plan_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, silhouette_score

from amclust import ClAM, _native
from amclust._judging import choose_run
from amclust._recipe import Recipe
from amclust._runs import TrainedRun


def blobs(n=300, d=4, k=3, dtype=np.float64, missing=0.0, seed=0, std=1.0):
    X, y = make_blobs(n, d, centers=k, cluster_std=std, random_state=seed)
    if missing:
        rng = np.random.default_rng(seed)
        X[:, 1:][rng.random((n, d - 1)) < missing] = np.nan
    return X.astype(dtype), y


def make(k=3, **settings):
    return ClAM(k, **({"n_init": 2, "random_state": 0} | settings))


# --- labels_ is what predict says -----------------------------------------------------------------


@pytest.mark.parametrize("objective", ["auto", "silhouette", "completion", "reconstruction"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_are_what_predict_says(dtype, missing, objective):
    X, y = blobs(dtype=dtype, missing=missing)
    model = make(objective=objective).fit(X)
    assert_array_equal(model.labels_, model.predict(X))
    assert_array_equal(model.labels_, make(objective=objective).fit_predict(X))
    assert model.labels_.dtype == np.int32
    assert adjusted_rand_score(y, model.labels_) > (0.85 if missing else 0.99)


@pytest.mark.parametrize("metric", ["cosine", "mahalanobis"])
def test_labels_are_what_predict_says_in_other_metrics(metric):
    X, _ = blobs()
    model = make(metric=metric).fit(X)
    assert_array_equal(model.labels_, model.predict(X))


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_labels_are_what_predict_says_for_sparse_rows(missing):
    X, _ = blobs(missing=missing)
    X[np.abs(X) < 2] = 0.0
    X = sparse.csr_matrix(X)
    model = make().fit(X)
    assert_array_equal(model.labels_, model.predict(X))


@pytest.mark.parametrize("missing", [0.0, 0.05])
def test_labels_are_what_predict_says_for_more_rows_than_an_epoch_has(missing):
    X, y = blobs(_native.EPOCH_ROWS + 2001, 3, dtype=np.float32, missing=missing)
    model = make(n_init=1, max_epochs=12, tol=1.0).fit(X)
    assert_array_equal(model.labels_, model.predict(X))
    # A single run of "completion", which incomplete rows get, may end in a poor place.
    assert adjusted_rand_score(y, model.labels_) > (0.5 if missing else 0.8)


def test_labels_are_what_predict_says_where_a_row_without_weight_is_incomplete():
    X, _ = blobs()
    X[::7, 1] = np.nan
    weight = np.ones(len(X))
    weight[::7] = 0.0
    model = make().fit(X, sample_weight=weight)
    assert_array_equal(model.labels_, model.predict(X))


@pytest.mark.parametrize(("std", "close"), [(1.0, 0.5), (0.3, 0.1)])
def test_a_memory_attracts_the_rows_that_carry_its_label(std, close):
    X, _ = blobs(std=std)
    model = make().fit(X)
    assert_array_equal(model.transform(X).argmin(axis=1), model.labels_)
    assert_array_equal(model.predict_proba(X).argmax(axis=1), model.labels_)
    assert_allclose(model.recall(X), model.cluster_centers_[model.labels_], atol=1.5)
    for m in range(3):
        assert_allclose(model.cluster_centers_[m], X[model.labels_ == m].mean(axis=0), atol=close)


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "mahalanobis"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_type_of_the_numbers_is_kept(dtype, metric):
    X, _ = blobs(dtype=dtype)
    model = make(metric=metric).fit(X)
    shapes = {
        "transform": (300, 3),
        "predict_proba": (300, 3),
        "energy": (300,),
        "entropy": (300,),
        "recall": (300, 4),
        "complete": (300, 4),
    }
    answers = {name: getattr(model, name)(X) for name in shapes}
    states, trajectory = model.recall(X, return_trajectory=True)
    answers |= {"trajectory": trajectory, "cluster_centers_": model.cluster_centers_}
    assert {name: a.dtype for name, a in answers.items()} == dict.fromkeys(answers, np.dtype(dtype))
    shapes |= {"trajectory": (11, 300, 4), "cluster_centers_": (3, 4)}
    assert {name: a.shape for name, a in answers.items()} == shapes
    assert_array_equal(states, trajectory[-1])


def test_without_scale_a_given_beta_is_in_the_units_of_the_table():
    X, _ = blobs()
    once = make(beta=0.5, scale=None).fit(X)
    tenfold = make(beta=0.005, scale=None).fit(10 * X)
    assert once.beta_ == pytest.approx(0.5)
    assert tenfold.beta_ == pytest.approx(0.005)
    assert_allclose(tenfold.cluster_centers_, 10 * once.cluster_centers_, rtol=1e-3)


def test_answers_about_incomplete_rows_are_finite():
    X, _ = blobs(missing=0.3)
    model = make().fit(X)
    for name in ("transform", "predict_proba", "energy", "entropy", "recall", "complete"):
        assert np.isfinite(getattr(model, name)(X)).all(), name
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("scale", ["standard", None])
def test_score_counts_weights(scale):
    X, _ = blobs()
    model = make(scale=scale).fit(X)
    copies = np.random.default_rng(0).integers(0, 3, len(X))
    scaled = X if scale is None else X / X.std(axis=0)
    expected = silhouette_score(np.repeat(scaled, copies, axis=0), np.repeat(model.labels_, copies))
    assert model.score(X, sample_weight=copies) == pytest.approx(expected, abs=1e-5)


def test_score_of_a_single_cluster_is_the_lowest():
    X, _ = blobs()
    model = make().fit(X)
    assert model.score(X[model.labels_ == 1]) == -1.0
    assert model.score(X, sample_weight=(model.labels_ == 1).astype(float)) == -1.0


# --- attributes -----------------------------------------------------------------------------------


def test_fitted_attributes():
    X, _ = blobs()
    model = make(n_init=4).fit(X)
    assert model.loss_curve_.shape == (model.n_iter_,)
    assert model.loss_ == model.loss_curve_.min()
    assert model.n_features_in_ == 4
    assert_array_equal(model.weights_, np.ones(3))
    assert model.beta_ > 0
    assert isinstance(model.cluster_centers_, np.ndarray)
    assert model.runs_["living_clusters"][model.runs_["chosen"]] == len(np.unique(model.labels_))


def test_runs_are_recorded():
    X, _ = blobs(k=5, std=3.0)
    model = make(5, n_init=6).fit(X)
    runs = model.runs_
    assert runs.shape == (6,)
    assert len(np.unique(runs["seed"])) == 6
    (chosen,) = np.flatnonzero(runs["chosen"])
    assert runs["loss"][chosen] == model.loss_
    assert runs["silhouette"][chosen] == model.silhouette_
    assert runs["beta"][chosen] == model.beta_
    assert runs["n_iter"][chosen] == model.n_iter_
    full = runs[runs["living_clusters"] == 5]
    assert runs["silhouette"][chosen] == full["silhouette"].max()
    by_loss = make(5, n_init=6, selection="loss").fit(X).runs_
    assert_array_equal(by_loss["loss"], runs["loss"])
    assert by_loss["loss"][by_loss["chosen"]] == by_loss["loss"].min()
    assert len(np.unique(runs["loss"])) > 1  # else there was nothing to choose


def trained(living, silhouette, loss):
    plan = plan_of(np.zeros((3, 2)))
    record = SimpleNamespace(loss=loss)
    return TrainedRun(plan, record, 0, silhouette, living)


@pytest.mark.parametrize("selection", ["silhouette", "loss"])
def test_empty_clusters_are_never_chosen_while_a_full_run_exists(selection):
    full = trained(3, -0.9, 100.0)
    collapsed = [trained(2, 0.99, 0.0), trained(1, np.nan, -5.0)]
    for runs in ([full, *collapsed], [*collapsed, full], [collapsed[0], full, collapsed[1]]):
        assert runs[choose_run(runs, selection)] is full


def test_of_many_rows_the_most_promising_starts_are_trained():
    X, _ = blobs(1_000, d=3, k=8, std=3.0)
    model = make(8, n_init=10).fit(X)
    runs = model.runs_
    trained = runs["n_iter"] > 0
    assert np.count_nonzero(trained) == 4
    assert trained[runs["chosen"]].all()
    assert np.isfinite(runs["silhouette"]).all()
    assert_array_equal(np.isnan(runs["loss"]), ~trained)

    class TrainAll(ClAM):
        recipe = Recipe(trained_share=1.0)

    everything = TrainAll(n_clusters=8, n_init=10, random_state=0).fit(X).runs_
    assert (everything["n_iter"] > 0).all()
    # A restart does not hang on which others are trained.
    for column in ("seed", "loss", "silhouette", "n_iter"):
        assert_array_equal(runs[column][trained], everything[column][trained])


@pytest.mark.parametrize(
    ("n_rows", "parameters"),
    [(999, {}), (1_000, {"selection": "loss"}), (1_000, {"objective": "completion"})],
)
def test_otherwise_all_starts_are_trained(n_rows, parameters):
    X, _ = blobs(n_rows)
    assert (make(n_init=6, **parameters).fit(X).runs_["n_iter"] > 0).all()


def test_among_full_runs_the_best_is_chosen():
    runs = [trained(3, 0.2, 1.0), trained(3, 0.5, 3.0), trained(3, 0.4, 2.0)]
    assert choose_run(runs, "silhouette") == 1
    assert choose_run(runs, "loss") == 0
    assert choose_run([trained(1, np.nan, 2.0), trained(1, np.nan, 1.0)], "silhouette") == 1


def test_a_single_cluster():
    X, _ = blobs(k=1)
    model = make(1).fit(X)
    assert_array_equal(model.labels_, 0)
    assert np.isnan(model.silhouette_)
    assert_allclose(model.cluster_centers_[0], X.mean(axis=0), atol=0.3)


# --- warnings -------------------------------------------------------------------------------------


def test_a_run_that_still_improves_warns():
    X, _ = blobs(std=2.0)
    with pytest.warns(ConvergenceWarning, match="max_epochs=2") as caught:
        make(max_epochs=2, learning_rate=0.01, tol=0.0, objective="reconstruction", beta=1.0).fit(X)
    assert caught[0].filename == __file__


def test_empty_clusters_warn():
    X, _ = blobs(k=2, std=0.1)
    start = np.vstack([X[:1], X[:1] + 1e4, X[:1] - 1e4])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # All memories attract alike: rows end between them, nearest to the same one.
        model = make(init=start, n_init=1, max_epochs=1, beta=1e-9).fit(X)
    living = len(np.unique(model.labels_))
    assert model.runs_["living_clusters"][0] == living < 3
    assert f"Only {living} of n_clusters=3" in str(caught[-1].message)
    assert caught[-1].category is ConvergenceWarning
    assert caught[-1].filename == __file__


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["silhouette", "completion", "reconstruction"])
def test_weights_are_learned(objective):
    X, _ = make_blobs([300, 40, 40], 3, cluster_std=2.0, random_state=1)
    model = make(weights="learn", objective=objective, learning_rate=0.02).fit(X)
    assert model.weights_.shape == (3,)
    assert model.weights_.mean() == pytest.approx(1.0)
    assert (model.weights_ > 0).all()
    assert np.ptp(model.weights_) > 1e-3
    assert_array_equal(model.labels_, model.predict(X))


def test_given_weights_act():
    X, _ = blobs(std=3.0)
    model = make(weights=[8.0, 1.0, 1.0], init=X[:3], n_init=1).fit(X)
    assert_allclose(model.weights_, [8.0, 1.0, 1.0], rtol=1e-6)
    equal = make(init=X[:3], n_init=1).fit(X)
    assert not np.array_equal(equal.cluster_centers_, model.cluster_centers_)
    # Only ratios act.
    scaled = make(weights=[16.0, 2.0, 2.0], init=X[:3], n_init=1).fit(X)
    assert_allclose(scaled.cluster_centers_, model.cluster_centers_, atol=1e-2)


@pytest.mark.parametrize("objective", ["silhouette", "completion", "reconstruction"])
def test_cosine_works_on_directions(objective):
    X, y = blobs(d=6)
    length = np.random.default_rng(0).uniform(0.1, 10, (len(X), 1))
    model = make(metric="cosine", objective=objective).fit(length * X)
    assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1.0, rtol=1e-5)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert_array_equal(model.predict(3 * X), model.predict(X))
    assert_allclose(np.linalg.norm(model.recall(X), axis=1), 1.0, rtol=1e-4)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert_allclose(model.transform(X), 1 - unit @ model.cluster_centers_.T, atol=1e-5)


def test_mahalanobis_whitens():
    X, y = blobs(d=3)
    model = make(metric="mahalanobis").fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    whitened = X @ np.linalg.cholesky(np.linalg.inv(np.cov(X.T)))
    assert adjusted_rand_score(model.labels_, make().fit(whitened).labels_) > 0.95


@pytest.mark.parametrize("scale", [(100.0, 0.5, 7.0), (1.0, 1e4, 1e-4)])
def test_mahalanobis_does_not_mind_the_scale_of_columns(scale):
    X, _ = blobs(d=3)
    model = make(metric="mahalanobis").fit(X)
    scaled = make(metric="mahalanobis").fit(X * scale)
    assert adjusted_rand_score(model.labels_, scaled.labels_) > 0.97
    assert_allclose(scaled.cluster_centers_ / scale, model.cluster_centers_, atol=0.2)


def test_a_given_start_is_used():
    X, y = blobs()
    start = np.stack([X[y == m].mean(axis=0) for m in (2, 0, 1)])
    model = make(init=start, n_init=1).fit(X)
    assert_array_equal(model.labels_, np.argsort([2, 0, 1])[y])
    assert adjusted_rand_score(y, make(init="random", n_init=5).fit(X).labels_) > 0.99


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_mask_values_act():
    X, _ = blobs(std=2.0, missing=0.2)
    centers = {
        value: make(objective="completion", mask_value=value).fit(X).cluster_centers_
        for value in ("mean", "min", "max", 1.5)
    }
    assert all(np.isfinite(c).all() for c in centers.values())
    assert len({c.tobytes() for c in centers.values()}) == 4


def test_verbose_writes_to_standard_error_only(capfd):
    X, _ = blobs()
    make().fit(X)
    assert capfd.readouterr() == ("", "")
    make(verbose=1).fit(X)
    out, err = capfd.readouterr()
    assert out == ""
    assert "chose restart" in err
    model = make(verbose=2).fit(X)
    out, err = capfd.readouterr()
    assert out == ""
    assert len(err.splitlines()) == model.runs_["n_iter"].sum() + 1


def test_an_incomplete_row_goes_where_its_observed_values_point():
    X, _ = blobs(std=0.5)
    model = make().fit(X)
    incomplete = X.copy()
    incomplete[:, 1:] = np.nan
    nearest = ((incomplete[:, :1] - model.cluster_centers_[:, 0]) ** 2).argmin(axis=1)
    clear = np.sort((incomplete[:, :1] - model.cluster_centers_[:, 0]) ** 2, axis=1)
    clear = clear[:, 1] - clear[:, 0] > 1.0
    assert (model.predict(incomplete) == nearest)[clear].mean() > 0.98


def test_large_offsets_do_not_matter_in_double_precision():
    X, _ = blobs()
    far = 1.7e12 + 12345.0  # milliseconds since 1970; float32 is off by thousands there
    assert abs(float(np.float32(far)) - far) > 1000
    assert_array_equal(make().fit(X + far).labels_, make().fit(X).labels_)
