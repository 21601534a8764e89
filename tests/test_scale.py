"""`scale`: columns are divided by their spread, and answers come back in the table's units."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.preprocessing import StandardScaler

import amclust
from amclust import ClAM
from amclust._geometry import Geometry
from amclust._rows import TableRows
from amclust._winsorising import Quartiles

SCALES = ["standard", "robust", None]
UNITS = np.array([1000.0, 0.01, 1.0, 30.0])
OFFSETS = np.array([-20.0, 7.0, 0.0, 3e5])


def blobs(n=240, k=3, missing=0.0, seed=0, std=1.0):
    X, _ = make_blobs(n, 4, centers=k, cluster_std=std, random_state=seed)
    if missing:
        X[:, 1:][np.random.default_rng(seed).random((n, 3)) < missing] = np.nan
    return X


def mixed(**shape):
    """A table whose columns have units of their own."""
    return blobs(**shape) * UNITS + OFFSETS


def make(k=3, **settings):
    return ClAM(k, **({"n_init": 2, "random_state": 0} | settings))


# Rounding grows from step to step: a few are enough to compare units.
SHORT = {"max_epochs": 8}
short = pytest.mark.filterwarnings("ignore:.*max_epochs=8")


def column_scale(X, scale, indices=None, weights=None):
    """Return what differences in each column are multiplied with."""
    rows, quartiles = TableRows(X), None
    if scale == "robust":
        quartiles = Quartiles.of(rows, indices, weights)
        rows, indices = TableRows(quartiles.limits.apply(rows.take(indices))), None
    stats = rows.statistics(indices, weights, 1)
    settings = {"metric": "euclidean", "scale": scale, "mask_value": "mean", "threads": 1}
    settings["quartiles"] = quartiles
    return Geometry.fit(rows, stats, **settings, indices=indices, weights=weights).column_scale


def robust_spread(X, indices=None, weights=None):
    return 1 / column_scale(X, "robust", indices, weights)


def limited(model, X):
    """Return rows as a model sees them: none of these is so far away that it is not believed."""
    limits = model.network_.geometry.limits
    seen = X if limits is None else limits.apply(X)
    assert not np.isnan(seen).any()
    return seen


def quartile_spread(X):
    low, high = np.nanpercentile(X, [25, 75], axis=0, method="inverted_cdf")
    return (high - low) / 1.3489795


def spread_of(X, scale):
    """Return what `scale` divides the columns of X by."""
    if scale is None:
        return np.ones(X.shape[1])
    return np.nanstd(X, axis=0) if scale == "standard" else quartile_spread(X)


def assert_standardised(X, weight=None, **settings):
    """Scaling finds what is found in the columns that StandardScaler makes, in original units."""
    thin = sparse.issparse(X)
    scaler = StandardScaler(with_mean=not thin).fit(X, sample_weight=weight)
    before = dict(settings)
    if "init" in settings:
        before["init"] = scaler.transform(settings["init"])
    scaled = make(**settings).fit(X, sample_weight=weight)
    plain = make(scale=None, **before).fit(scaler.transform(X), sample_weight=weight)
    assert scaled.scale == "standard"
    assert_array_equal(scaled.labels_, plain.labels_)
    assert scaled.silhouette_ == pytest.approx(plain.silhouette_, abs=1e-5)
    assert scaled.beta_ == pytest.approx(plain.beta_, rel=1e-3)
    back = (scaled.cluster_centers_ - (0.0 if thin else scaler.mean_)) / scaler.scale_
    assert_allclose(back, plain.cluster_centers_, atol=0.02)
    return scaled, scaler


# --- "standard" is what StandardScaler does -------------------------------------------------------


@short
@pytest.mark.parametrize("objective", ["auto", "completion", "reconstruction"])
@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("constant", [None, 0.0, 1e9])
def test_standard_equals_standardised_rows(constant, missing, objective):
    X = mixed(missing=missing)
    if constant is not None:
        X = np.insert(X, 1, constant, axis=1)
    assert_standardised(X, objective=objective, **SHORT)


def test_standard_counts_weights_like_copies():
    X = mixed()
    copies = np.where(X[:, 0] > np.median(X[:, 0]), 4, 1)
    _, scaler = assert_standardised(X, copies)
    assert_allclose(scaler.scale_, np.repeat(X, copies, axis=0).std(axis=0))
    assert not np.allclose(scaler.scale_, X.std(axis=0), rtol=0.02)  # else nothing was tested


def test_standard_scales_sparse_rows():
    assert_standardised(sparse.csr_matrix(np.where(blobs() > 3, blobs(), 0.0) * UNITS))


@short
@pytest.mark.parametrize("mask_value", ["mean", "min", "max"])
def test_mask_values_are_in_the_units_of_the_table(mask_value):
    settings = {"objective": "completion", "mask_value": mask_value, **SHORT}
    assert_standardised(mixed(missing=0.15), **settings)


def test_given_memories_are_in_the_units_of_the_table():
    assert_standardised(mixed(), init=mixed()[:3])


def test_a_given_beta_is_in_units_of_the_scaled_columns():
    X = np.insert(mixed(), 2, 5.0, axis=1)
    scaled, _ = assert_standardised(X, beta=3.0)
    assert scaled.beta_ == pytest.approx(3.0)
    wide = make(beta=3.0).fit(10 * X)
    assert wide.beta_ == pytest.approx(3.0)
    assert_allclose(wide.cluster_centers_, 10 * scaled.cluster_centers_, rtol=1e-3)


# --- units ----------------------------------------------------------------------------------------


@short
@pytest.mark.parametrize("scale", ["standard", "robust"])
@pytest.mark.parametrize("objective", ["silhouette", "completion", "reconstruction"])
def test_millimetres_and_kilometres_are_metres(objective, scale):
    metres = blobs(std=2.0)
    settings = {"scale": scale, "objective": objective, **SHORT}
    model = make(**settings).fit(metres)
    units = np.array([1000.0, 0.001, 1.0, 1.0])
    other = make(**settings).fit(metres * units)
    assert_array_equal(other.labels_, model.labels_)
    assert_allclose(other.cluster_centers_ / units, model.cluster_centers_, atol=0.02)
    # By powers of two not a bit of what is computed changes.
    units = np.array([1024.0, 2.0**-10, 1.0, 4.0])
    other = make(**settings).fit(metres * units)
    assert_array_equal(other.cluster_centers_, model.cluster_centers_ * units)
    assert_array_equal(other.loss_curve_, model.loss_curve_)
    assert other.beta_ == model.beta_


def test_without_scale_units_decide():
    X = blobs()
    metres, mixed_units = make(scale=None).fit(X), make(scale=None).fit(X * [1.0, 1e-3, 1e-3, 1e3])
    assert adjusted_rand_score(metres.labels_, mixed_units.labels_) < 0.9
    by_the_last = make(scale=None).fit(X[:, 3:])
    assert adjusted_rand_score(by_the_last.labels_, mixed_units.labels_) > 0.95


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", SCALES)
def test_distances_and_energies_are_those_of_the_scaled_columns(scale, dtype):
    X = (blobs(std=2.0) * UNITS).astype(dtype)
    model = make(scale=scale, weights=[1.0, 2.0, 0.5]).fit(X)
    spread, seen = spread_of(X.astype(float), scale), limited(model, X)
    squares = (((seen[:, None] - model.cluster_centers_) / spread) ** 2).sum(axis=-1)
    assert_allclose(model.transform(X), np.sqrt(squares), rtol=1e-3)
    logits = np.log(model.weights_) - model.beta_ * squares
    top = logits.max(axis=1, keepdims=True)
    energy = -(np.log(np.exp(logits - top).sum(axis=1)) + top[:, 0]) / model.beta_
    atol = 1e-3 if scale else 1e-3 / model.beta_
    assert_allclose(model.energy(X), energy, rtol=1e-3, atol=atol)
    memberships = np.exp(logits - top)
    memberships /= memberships.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(X), memberships, atol=5e-3)
    assert_array_equal(model.predict(X), model.labels_)
    # Points are in the table's units.
    states, trajectory = model.recall(X, return_trajectory=True)
    unit = spread if scale else X.std(axis=0)
    assert_allclose(trajectory[0] / unit, limited(model, X) / unit, atol=1e-4)
    ends = model.cluster_centers_[memberships.argmax(axis=1)]
    assert_allclose(states / unit, ends / unit, atol=0.5)


@pytest.mark.parametrize("scale", SCALES)
def test_the_silhouette_is_that_of_the_scaled_columns(scale):
    X, new = blobs(std=2.0) * UNITS, blobs(90, seed=0, std=3.0) * UNITS
    model = make(scale=scale).fit(X)
    spread = spread_of(X, scale)
    expected = silhouette_score(limited(model, X) / spread, model.labels_)
    assert model.silhouette_ == pytest.approx(expected, abs=1e-5)
    assert model.score(X) == pytest.approx(expected, abs=1e-5)
    # New rows are scaled by the spread of the fit, not their own.
    expected = silhouette_score(limited(model, new) / spread, model.predict(new))
    assert model.score(new) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("scale", ["standard", "robust"])
@pytest.mark.parametrize("objective", ["silhouette", "completion"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_completed_values_are_in_the_units_of_the_table(dtype, objective, scale):
    X = (blobs(std=0.5) * UNITS).astype(dtype)
    model = make(scale=scale, objective=objective).fit(X)
    incomplete = X.copy()
    hidden = np.zeros(X.shape, bool)
    hidden[np.arange(len(X)), np.arange(len(X)) % 4] = True
    incomplete[hidden] = np.nan
    completed = model.complete(incomplete)
    assert completed.dtype == dtype
    assert_array_equal(completed[~hidden], X[~hidden])  # the same bits
    for j in range(4):
        missed = np.abs(completed - X)[hidden[:, j], j] / UNITS[j]
        assert np.median(missed) < 1.5


@pytest.mark.parametrize("scale", ["standard", "robust"])
def test_pieces_keep_the_scale_of_the_first(scale):
    X = blobs(600) * UNITS
    first, later = X[:300], X[300:] * [1.0, 0.5, 1.0, 2.0]
    model = make(scale=scale).partial_fit(first)
    beta = model.beta_
    model.partial_fit(later)
    spread = spread_of(first, scale)
    distances = np.linalg.norm((X[:, None] - model.cluster_centers_) / spread, axis=-1)
    assert_allclose(model.transform(X), distances, rtol=1e-3)
    assert model.beta_ == beta


# --- spreads --------------------------------------------------------------------------------------


def test_quartiles_count_observed_values():
    X = mixed(n=203, missing=0.3)
    assert_allclose(robust_spread(X), quartile_spread(X), rtol=1e-6)
    thin = sparse.csr_matrix(np.where(np.nan_to_num(X) > 0, X, 0.0))
    assert_allclose(robust_spread(thin), quartile_spread(thin.toarray()), rtol=1e-6)
    part = np.arange(3, 200, 2)
    assert_allclose(robust_spread(X, part), quartile_spread(X[part]), rtol=1e-6)


def test_quartiles_count_a_weight_as_copies():
    X = mixed(n=101, missing=0.2)
    copies = np.random.default_rng(0).integers(1, 6, len(X))
    expected = robust_spread(np.repeat(X, copies, axis=0))
    assert_allclose(robust_spread(X, None, copies.astype(np.float32)), expected, rtol=1e-6)
    part = np.arange(0, 101, 3)
    weights = copies[part].astype(np.float32)
    expected = robust_spread(np.repeat(X[part], copies[part], axis=0))
    assert_allclose(robust_spread(X, part, weights), expected, rtol=1e-6)


@short
@pytest.mark.parametrize("batch_size", [1024, 100])
def test_robust_counts_a_weight_as_copies(batch_size):
    X = mixed(std=2.0)
    copies = np.random.default_rng(3).integers(0, 4, len(X))
    settings = {"scale": "robust", "batch_size": batch_size, **SHORT}
    model = make(**settings).fit(X, sample_weight=copies)
    repeated = make(**settings).fit(np.repeat(X, copies, axis=0))
    assert_allclose(model.network_.geometry.scale, repeated.network_.geometry.scale, rtol=1e-6)
    if batch_size > len(X):
        assert_array_equal(model.cluster_centers_, repeated.cluster_centers_)
        assert_array_equal(np.repeat(model.labels_, copies), repeated.labels_)


def test_a_column_of_mostly_one_value_is_scaled_by_its_deviation():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(0, 5, 400), rng.random(400) < 0.1]).astype(float)
    factors = column_scale(X, "robust")
    assert_allclose(factors, [1 / quartile_spread(X)[0], 1 / X[:, 1].std()], rtol=1e-6)
    factors = column_scale(X, "standard")
    assert_allclose(factors, 1 / X.std(axis=0), rtol=1e-6)


def test_a_rare_feature_counts():
    X = blobs()
    X[:, 3] = np.arange(len(X)) % 20 == 0
    model = make(scale="robust").fit(X)
    spread = np.append(quartile_spread(X[:, :3]), X[:, 3].std())
    distances = np.linalg.norm((X[:, None] - model.cluster_centers_) / spread, axis=-1)
    assert_allclose(model.transform(X), distances, rtol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_no_spread(dtype):
    values = np.array([0.3, 0.3, np.nextafter(dtype(0.3), dtype(1)), 0.3, 5.0, 6.0, 0.3, 0.3])
    X = np.tile(values.astype(dtype)[:, None], (9, 1))
    X[:36] = np.where(X[:36] < 1, np.nextafter(dtype(0.3), dtype(1)), X[:36])
    assert 0 < quartile_spread(X)[0] < 1e-6
    factors = column_scale(X, "robust")
    assert_allclose(factors, 1 / X.astype(float).std(axis=0), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [0.0, -3.0, 1e9])
@pytest.mark.parametrize("scale", SCALES)
def test_a_column_of_one_value_is_harmless(scale, value, dtype):
    X = blobs().astype(dtype)
    column = np.full(len(X), value, dtype)
    if value != 1e9 or dtype is np.float64:
        column[::2] = np.nextafter(column[0], dtype(np.inf))  # the same but for rounding
    more = np.column_stack([X, column])
    assert column_scale(more, scale)[4] == pytest.approx(1.0, rel=1e-6)
    model = make(scale=scale).fit(more)
    assert_allclose(model.cluster_centers_[:, 4], value, rtol=1e-5, atol=1e-5)
    assert adjusted_rand_score(model.labels_, make(scale=scale).fit(X).labels_) == 1.0


@pytest.mark.parametrize("tiny", [1e-12, 1e-25, 1e-40, 1e-150, 1e-300])
@pytest.mark.parametrize("scale", SCALES)
def test_columns_may_be_tiny(scale, tiny):
    X = blobs()
    model = make(scale=scale).fit(X * [1.0, 1.0, 1.0, tiny])
    counts = scale is not None and tiny > 1e-30
    same = make(scale=scale).fit(X if counts else X * [1.0, 1.0, 1.0, 0.0])
    assert adjusted_rand_score(model.labels_, same.labels_) == 1.0
    if counts:
        assert_allclose(model.cluster_centers_[:, 3] / tiny, same.cluster_centers_[:, 3], atol=0.05)


def test_robust_does_not_mind_an_outlier():
    corners = np.array([[-5.0, -5.0], [-5.0, 5.0], [5.0, -5.0], [5.0, 5.0]])
    X, y = make_blobs(200, centers=corners, cluster_std=1.0, random_state=0)
    X = np.vstack([X, [2000.0, 0.0]])
    found = {scale: make(4, n_init=6, scale=scale).fit(X).labels_ for scale in SCALES}
    assert adjusted_rand_score(found["robust"][:-1], y) == 1.0
    assert adjusted_rand_score(found["standard"][:-1], y) < 0.7


# --- manners --------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["cosine", "mahalanobis"])
def test_other_metrics_have_their_own_way(metric):
    X = mixed()
    models = [make(metric=metric, scale=scale).fit(X) for scale in SCALES]
    for model in models[1:]:
        assert_array_equal(model.cluster_centers_, models[0].cluster_centers_)
        assert_array_equal(model.runs_, models[0].runs_)
        assert_array_equal(model.transform(X), models[0].transform(X))


@pytest.mark.parametrize("value", ["minmax", "", 2.0, True])
def test_bad_values_are_named(value):
    with pytest.raises(ValueError, match="The 'scale' parameter of ClAM") as error:
        make(scale=value).fit(blobs())
    for word in (repr(value), "'standard'", "'robust'", "None"):
        assert word in str(error.value)


# --- wild values ----------------------------------------------------------------------------------


def with_wild_cells(X, share=0.02, size=1000.0, seed=0):
    rng = np.random.default_rng(seed)
    wild = rng.random(X.shape) < share
    return np.where(wild, X + size * X.std(axis=0) * rng.choice([-1, 1], X.shape), X), wild


@pytest.mark.parametrize("size", [10.0, 50.0, 1000.0])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_wild_cells_do_not_move_clusters(size, missing):
    X, y = make_blobs(300, 5, centers=3, random_state=1)
    wild, cells = with_wild_cells(X, size=size)
    wild[np.random.default_rng(1).random(X.shape) < missing] = np.nan
    model = make(scale="robust").fit(wild)
    assert adjusted_rand_score(y, model.labels_) > (0.9 if missing else 0.95)
    assert_array_equal(model.predict(wild), model.labels_)
    assert (model.cluster_centers_ > X.min(axis=0)).all()
    assert (model.cluster_centers_ < X.max(axis=0)).all()
    completed = model.complete(wild)
    assert_array_equal(completed[cells], np.where(np.isnan(wild), completed, wild)[cells])
    filled = completed[np.isnan(wild)]
    assert filled.size == 0 or (filled.min() > X.min() - 1 and filled.max() < X.max() + 1)


@pytest.mark.parametrize("share", [0.01, 0.1])
def test_wild_cells_have_no_say_in_where_quartiles_are(share):
    rng = np.random.default_rng(0)
    tame = rng.uniform(-1.0, 1.0, (200, 1))
    wild = np.full((round(share * 200), 1), 50.0)
    expected, found = (
        Quartiles.of(TableRows(X), None, None) for X in (tame, np.vstack([wild, tame]))
    )
    assert_array_equal(found.distances, expected.distances)
    assert_array_equal(found.limits.high, expected.limits.high)
    assert_array_equal(found.limits.believed_low, expected.limits.believed_low)


@pytest.mark.parametrize("settings", [{}, {"objective": "reconstruction"}, {"n_memories": 20}])
def test_how_wild_a_cell_is_does_not_matter(settings):
    X = blobs(n=200, std=2.0)
    found = []
    for size in (100.0, 1e6):
        wild, _ = with_wild_cells(X, size=size)
        model = make(scale="robust", **settings).fit(wild)
        found.append((model.labels_, model.cluster_centers_))
    assert_array_equal(found[0][0], found[1][0])
    assert_array_equal(found[0][1], found[1][1])


def test_sparse_rows_are_limited_as_dense_ones():
    X, _ = with_wild_cells(blobs(n=200))
    X[np.random.default_rng(0).random(X.shape) < 0.3] = 0.0
    thin, dense = (make(scale="robust").fit(rows) for rows in (sparse.csr_array(X), X))
    assert dense.network_.geometry.limits.low.max() <= 0.0  # so that zeros mean the same
    assert_allclose(thin.cluster_centers_, dense.cluster_centers_, atol=1e-3)
    assert adjusted_rand_score(thin.labels_, dense.labels_) == 1.0


def test_a_row_that_is_wild_in_all_columns_is_at_the_border():
    X = blobs()
    model = make(scale="robust").fit(X)
    limits = model.network_.geometry.limits
    wild = np.vstack([X[0], np.full(4, 1e9), np.full(4, -1e9)])
    assert_array_equal(limits.apply(wild)[1:], [limits.high, limits.low])
    ends = model.transform(np.vstack([limits.high, limits.low]))
    assert_allclose(model.transform(wild)[1:], ends, rtol=1e-5)
    marks = make(scale="robust", contamination=0.01).fit(X)
    assert_array_equal(marks.predict(wild)[1:], [-1, -1])


@pytest.mark.parametrize("rare", [0.0, 0.02, 0.2, 0.8])
def test_columns_of_mostly_one_value_keep_their_others(rare):
    rng = np.random.default_rng(0)
    X = blobs(n=400)
    X[:, 3] = rng.random(400) < rare
    limits = make(scale="robust").fit(X).network_.geometry.limits
    assert_array_equal(limits.apply(X)[:, 3], X[:, 3])


def test_limits_are_kept_in_a_file(tmp_path):
    X, _ = with_wild_cells(blobs())
    model = make(scale="robust").fit(X)
    model.save(tmp_path / "model.amc")
    loaded = amclust.load(tmp_path / "model.amc")
    assert_array_equal(loaded.predict(X), model.labels_)
    assert_array_equal(loaded.transform(X), model.transform(X))
