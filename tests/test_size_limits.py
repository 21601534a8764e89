"""Clusters whose sizes have limits."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from sklearn.datasets import load_iris, load_wine
from sklearn.utils._param_validation import InvalidParameterError

import amclust
from amclust import ClAM, ClAMSearch, _native
from amclust._size_limits import SAMPLED_ROWS, SizeLimits, log_weights

WINE = load_wine().data
QUICK = {"n_init": 2, "random_state": 0}


def sizes_of(model, weights=None):
    return np.bincount(model.labels_, weights, minlength=model.n_clusters_)


def quietly(model, X):
    """Fit for a few epochs, whatever is said of that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


def limited(costs, least, most, weights=None, prices=None, reach=np.inf):
    """Return what the core finds, with all rows whose margin is within reach."""
    k = costs.shape[1]
    prices = np.zeros(k) if prices is None else prices
    labels, margins, _ = _native.cheapest(costs, prices)
    sizes = np.bincount(labels, weights, minlength=k).astype(float)
    some = np.flatnonzero(margins <= reach)
    part = None if weights is None else weights[some]
    found = _native.limit_sizes(
        np.ascontiguousarray(costs[some]), labels[some], part, prices, sizes, reach, least, most
    )
    labels = np.array(labels)
    labels[some] = found.labels
    return found, labels


def cheapest_cost(costs, least, most):
    """Return the least cost within limits: rows to seats, of which some have to be taken."""
    n, k = costs.shape
    seats = np.repeat(np.arange(k), most)
    needed = np.tile(np.arange(most) < least, k)
    # Rows that are nobody take seats which nobody needs.
    table = np.zeros((len(seats), len(seats)))
    table[:n] = costs[:, seats]
    table[n:, needed] = 1e6
    rows, columns = linear_sum_assignment(table)
    return table[rows, columns].sum()


# --- the core -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_partitions_are_the_cheapest_within_limits(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    k = int(rng.integers(1, min(n, 6) + 1))
    costs = (rng.random((n, k)) ** 2 * rng.random(k) * 3).astype(np.float32)
    if seed % 3 == 0:  # ties
        costs = np.round(4 * costs)
    least, most = int(rng.integers(0, n // k + 1)), int(rng.integers(-(-n // k), n + 1))
    prices = rng.normal(size=k) * (seed % 2)
    found, labels = limited(costs, least, most, prices=prices)
    sizes = np.bincount(labels, minlength=k)
    assert found.complete
    assert least <= sizes.min()
    assert sizes.max() <= most
    np.testing.assert_array_equal(found.sizes, sizes)
    cost = costs[np.arange(n), labels].sum(dtype=float)
    assert cost == pytest.approx(cheapest_cost(costs, least, most), abs=1e-4)
    # Prices say so: every row is where cost - price is least, and only limits that bind have one.
    reduced = costs - found.prices
    np.testing.assert_allclose(reduced[np.arange(n), labels], reduced.min(axis=1), atol=1e-5)
    assert (sizes[found.prices > 1e-6] == least).all()
    assert (sizes[found.prices < -1e-6] == most).all()


def test_undecided_rows_are_enough_or_more_are_asked_for():
    rng = np.random.default_rng(0)
    costs = rng.random((600, 5)).astype(np.float32)
    costs[:, 0] -= 0.2
    whole, labels = limited(costs, 120, 120)
    near, near_labels = limited(costs, 120, 120, prices=np.array(whole.prices) * 0.98, reach=0.05)
    assert near.complete
    np.testing.assert_array_equal(near_labels, labels)
    few, _ = limited(costs, 120, 120, reach=0.01)
    assert not few.complete


@pytest.mark.parametrize("seed", range(30))
def test_rows_with_weights_are_not_split(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(30, 120)), int(rng.integers(2, 7))
    costs = (rng.random((n, k)) ** 2 * rng.random(k)).astype(np.float32)
    weights = rng.integers(1, 6, n).astype(float)
    least, most = np.floor(weights.sum() / k), np.ceil(weights.sum() / k)
    if seed % 2:
        weights = 0.1 + 2 * rng.random(n)
        least, most = 0.96 * weights.sum() / k, 1.04 * weights.sum() / k
    found, labels = limited(costs, least, most, weights)
    sizes = np.bincount(labels, weights, minlength=k)
    assert found.complete
    np.testing.assert_allclose(found.sizes, sizes)
    assert least - 1e-9 <= sizes.min()
    assert sizes.max() <= most + 1e-9


def test_sums_go_by_given_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    model = ClAM(2, scale=None, **QUICK).fit(X)
    network, labels = model.network_, rng.integers(0, 2, 50).astype(np.int32)
    core = network.geometry.to_core(X)
    for rows in (X, csr_array(X)):
        read = network.read(network._table(rows))
        native = _native.Network(
            network.memories, network.log_weights, "euclidean", network.beta, 0.5, 10
        )
        sums, sizes, _ = _native.nearest_sums(
            native, read, network.geometry.fill, None, None, np.full(3, 1e-9), 1, labels
        )
        found = np.asarray(sums) * 1e-9
        if read.gives_entries and read.origin is not None:
            found += np.asarray(read.origin) * np.bincount(labels)[:, None]
        for cluster in range(2):
            np.testing.assert_allclose(found[cluster], core[labels == cluster].sum(0), atol=1e-4)
        np.testing.assert_array_equal(np.asarray(sizes) / 2**20, np.bincount(labels))


# --- fits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(200))
def test_limits_are_never_violated(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 80)), int(rng.integers(1 + (seed % 8 == 6), 5))
    k = int(rng.integers(1, min(n, 9) + 1))
    X = rng.normal(size=(n, d)) * rng.lognormal(size=(n, 1))
    if seed % 4 == 1:
        X[rng.random(X.shape) < 0.2] = np.nan
        X[:, 0] = rng.normal(size=n)
    least = None if seed % 3 == 0 else int(rng.integers(0, n // k + 1))
    most = None if seed % 3 == 1 else int(rng.integers(-(-n // k), n + 1))
    model = ClAM(
        k,
        size_min=least,
        size_max=most,
        objective="reconstruction" if seed % 2 else "auto",
        metric="cosine" if seed % 8 == 6 else "euclidean",
        n_init=1,
        max_epochs=2,
        random_state=seed,
    )
    sizes = sizes_of(quietly(model, X))
    assert sizes.sum() == n
    assert max(least or 0, 1) <= sizes.min()
    assert sizes.max() <= (most or n)


def test_a_large_table_is_within_limits_and_as_good_as_its_rows():
    rng = np.random.default_rng(0)
    n, k = 3 * SAMPLED_ROWS, 5
    X = np.concatenate([rng.normal(size=(n // 2, 2)), 3 + rng.normal(size=(n // 2, 2))])
    model = ClAM(k, size_min=n // k, size_max=-(-n // k), objective="reconstruction", **QUICK)
    model.fit(X)
    sizes = sizes_of(model)
    assert n // k <= sizes.min()
    assert sizes.max() <= -(-n // k)
    assert (model.predict(X) == model.labels_).mean() > 0.995
    # Memories are the means of their rows.
    core = model.network_.geometry.to_core(X)
    means = np.stack([core[model.labels_ == cluster].mean(axis=0) for cluster in range(k)])
    np.testing.assert_allclose(model.network_.memories, means, atol=0.02)


def test_limits_that_do_not_bind_change_nothing_but_the_search():
    X = load_iris().data
    model = ClAM(3, size_min=10, size_max=100, **QUICK).fit(X)
    np.testing.assert_array_equal(model.weights_, 1)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"metric": "cosine"},
        {"metric": "mahalanobis"},
        {"objective": "completion"},
        {"objective": "reconstruction", "scale": None},
        {"weights": "learn"},
    ],
)
def test_prediction_goes_by_the_prices(settings):
    model = ClAM(4, size_min=42, size_max=48, **QUICK, **settings)
    sizes = sizes_of(quietly(model, WINE))
    assert sizes.min() >= 42
    assert sizes.max() <= 48
    assert (model.predict(WINE) == model.labels_).mean() > 0.95


def test_inertia_is_what_the_labels_cost():
    model = ClAM(4, size_min=44, size_max=45, **QUICK).fit(WINE)
    distances = model.transform(WINE)
    cost = (distances[np.arange(len(WINE)), model.labels_] ** 2).sum()
    assert model.inertia_ == pytest.approx(cost, rel=1e-4)


def test_threads_and_copies_change_nothing():
    found = [ClAM(4, size_min=44, size_max=45, n_jobs=jobs, **QUICK).fit(WINE) for jobs in (1, 3)]
    np.testing.assert_array_equal(found[0].labels_, found[1].labels_)
    np.testing.assert_array_equal(found[0].memories_, found[1].memories_)
    np.testing.assert_array_equal(found[0].weights_, found[1].weights_)


def test_limits_are_on_weights():
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 5, len(WINE))
    total = int(weights.sum())
    model = ClAM(4, size_min=total // 4, size_max=-(-total // 4), **QUICK)
    sizes = sizes_of(model.fit(WINE, sample_weight=weights), weights)
    assert total // 4 <= sizes.min()
    assert sizes.max() <= -(-total // 4)
    # Rows that do not count have labels, too.
    assert (model.predict(WINE) == model.labels_)[weights == 0].all()
    # Rows that all have the same weight are rows.
    same = ClAM(4, size_min=88, size_max=90, **QUICK).fit(WINE, sample_weight=np.full(178, 2.0))
    assert sorted(2 * sizes_of(same)) == [88, 88, 90, 90]


def test_sparse_rows_are_as_dense_ones():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((90, 20)) < 0.2, rng.random((90, 20)), 0)
    X[:, 0] += 0.1
    settings = {"size_min": 30, "size_max": 30, "scale": None, "objective": "reconstruction"}
    for metric in ("euclidean", "cosine"):
        model = ClAM(3, metric=metric, **settings, **QUICK).fit(csr_array(X))
        np.testing.assert_array_equal(sizes_of(model), 30)


def test_numbers_of_clusters_that_cannot_be_are_left_out():
    model = ClAM([2, 3, 5, 6], size_min=30, size_max=40, **QUICK).fit(WINE)
    assert model.n_clusters_ == 5
    with pytest.raises(ValueError, match=r"No n_clusters of \[2, 3\] can hold 178 .*size_max=10"):
        ClAM([2, 3], size_max=10).fit(WINE)


def test_a_saved_model_has_its_limits_and_prices(tmp_path):
    model = ClAM(4, size_min=44, size_max=45, **QUICK).fit(WINE)
    model.save(tmp_path / "wine.amc")
    loaded = amclust.load(tmp_path / "wine.amc")
    assert (loaded.size_min, loaded.size_max) == (44, 45)
    np.testing.assert_array_equal(loaded.labels_, model.labels_)
    np.testing.assert_array_equal(loaded.predict(WINE), model.predict(WINE))
    assert loaded.inertia_ == model.inertia_


def test_a_search_ends_within_limits():
    search = ClAMSearch(
        [4],
        budget=200,
        n_init=1,
        min_epochs=5,
        max_epochs=10,
        random_state=0,
        estimator=ClAM(size_min=44, size_max=45),
    )
    quietly(search, WINE)
    assert sorted(sizes_of(search.best_estimator_)) == [44, 44, 45, 45]
    with pytest.raises(ValueError, match=r"size_min=44 cannot be met: n_clusters=5"):
        search.set_params(n_clusters=[4, 5]).fit(WINE)


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size_min": 60}, r"size_min=60 cannot be met: n_clusters=4 .* 240 .* 178\. Use .* 44"),
        ({"size_max": 44}, r"size_max=44 cannot be met: n_clusters=4 .* 176 .* 178\. Use .* 45"),
        ({"size_min": 50, "size_max": 40}, r"size_min=50 must not be larger than size_max=40"),
        ({"size_min": 5, "n_memories": 20}, r"n_memories must be None, got n_memories=20"),
        ({"size_min": 5, "weights": [1, 1, 1, 2]}, r"weights cannot be an array with size_min=5"),
    ],
)
def test_limits_that_cannot_be_met_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        ClAM(4, **settings).fit(WINE)


@pytest.mark.parametrize("name", ["size_min", "size_max"])
@pytest.mark.parametrize("value", [True, 4.5, -3, "5"])
def test_limits_are_whole_numbers(name, value):
    with pytest.raises(InvalidParameterError, match=rf"'{name}' parameter of ClAM must be .* Got"):
        ClAM(4, **{name: value}).fit(WINE)


def test_weights_that_do_not_fit_are_told():
    message = r"size_min=7 and size_max=8 cannot be met by whole rows: .* weight of 6\)"
    with pytest.raises(ValueError, match=message):
        ClAM(2, size_min=7, size_max=8).fit([[0.0], [1], [2]], sample_weight=[3, 6, 6])


def test_partial_fit_holds_no_limits():
    with pytest.raises(ValueError, match=r"size_max=60 cannot be held by partial_fit"):
        ClAM(4, size_max=60).partial_fit(WINE)


# --- parts ----------------------------------------------------------------------------------------


def test_log_weights_are_finite_and_have_a_mean_weight_of_one():
    found = log_weights(np.array([0.0, -3.0, 500.0]), 100.0)
    assert np.isfinite(found).all()
    assert np.exp(found.astype(float)).mean() == pytest.approx(1, rel=1e-5)


def test_limits_of_a_part_can_be_met():
    limits = SizeLimits(33, 34).of_part(0.1, 1.0)
    assert (limits.least, limits.most) == (3, 4)
    assert SizeLimits(88, 90).of_equal(2.0) == SizeLimits(44, 45)


def test_an_interrupt_ends_the_search_for_prices():
    rng = np.random.default_rng(0)
    costs = (rng.random((30_000, 400)) + rng.random(400)).astype(np.float32)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            limited(costs, 75, 75)
    finally:
        timer.cancel()
    assert time.monotonic() - start < 10  # "within a second", on a busy machine too


# --- where else limits count ----------------------------------------------------------------------


def test_limits_are_drawn():
    pytest.importorskip("matplotlib")
    from amclust.plotting import SizesDisplay

    model = ClAM(4, size_min=44, size_max=45, **QUICK).fit(WINE)
    display = SizesDisplay.from_estimator(model)
    assert [line.get_ydata()[0] for line in display.limits_] == [44, 45]
    assert SizesDisplay.from_estimator(model, WINE).limits_ == []  # new rows have none


def test_the_report_tells_limits(tmp_path):
    pytest.importorskip("plotly")
    model = ClAM(4, size_min=44, size_max=45, **QUICK).fit(WINE)
    text = model.report(WINE, tmp_path / "wine.html").read_text(encoding="utf-8")
    assert "fitted with size_min=44 and size_max=45: its clusters had 44\nto 45 rows" in text


def test_tables_of_dask_are_refused():
    da = pytest.importorskip("dask.array")
    pytest.importorskip("distributed")
    from amclust.dask import ClAM as DaskClAM

    model = DaskClAM(4, size_min=5, random_state=0)
    rows = da.from_array(WINE, chunks=(60, 13))
    for method in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="size_min=5 cannot be held by"):
            method(rows)
    # Rows in memory are as everywhere.
    assert sizes_of(DaskClAM(4, size_min=44, **QUICK).fit(WINE)).min() >= 44


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_energies_of_torch_have_limits_too(metric):
    pytest.importorskip("torch")
    model = ClAM(4, size_min=44, size_max=45, backend="torch", metric=metric, max_epochs=5, **QUICK)
    assert sorted(sizes_of(quietly(model, WINE))) == [44, 44, 45, 45]
    noisy = ClAM(4, size_min=44, backend="torch", metric="epanechnikov")
    with pytest.raises(ValueError, match="rows may be noise"):
        noisy.fit(WINE)


def test_a_row_that_is_too_heavy_is_named():
    X, weights = load_iris().data, np.ones(150)
    weights[3] = 80.0
    with pytest.raises(ValueError, match=r"size_max=60 cannot be met: a row has a sample_weight"):
        ClAM(10, size_max=60, n_init=1).fit(X, sample_weight=weights)
