"""Whatever the table: a clear error, or results that make sense."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from amclust import ClAM

# The same examples every time: a failure is the change's, not the day's.
FEW = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)

# Rows without any value are drawn too, and are warned of.
pytestmark = pytest.mark.filterwarnings("ignore::amclust._warnings.EmptyRowsWarning")

# What an error may say: everything else is a table that should have been clustered.
CLEAR = re.compile(
    r"n_clusters=\d+ must be at most the number of distinct rows"
    r"|No observed value in column"
    r"|No row of X has an observed value"
    r"|Row \d+ of X is zero"
    r"|Values must be at most 1e\+19"
    r"|No column of X varies by more than"
)

HOSTILE = st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, np.nan, 1e-30, -1e-20, 1e-6, 1e6, -1e9, 1e15, 1e18, 3e30, 5e-324]
)
GENTLE = st.floats(-100, 100, allow_nan=False, width=32)


@st.composite
def tables(draw, values=None):
    """Few rows and features; duplicates, constant columns and holes are likely."""
    shape = draw(st.tuples(st.integers(2, 12), st.integers(1, 5)))
    if values is None:
        values = draw(st.sampled_from([HOSTILE, GENTLE, st.one_of(HOSTILE, GENTLE)]))
    X = draw(hnp.arrays(np.float64, shape, elements=values))
    if draw(st.booleans()):
        X[:, draw(st.integers(0, shape[1] - 1))] = draw(GENTLE)
    if draw(st.booleans()):
        X = X[draw(st.lists(st.integers(0, shape[0] - 1), min_size=2, max_size=15))]
    if draw(st.booleans()):
        X = X.astype(np.float32)
    return X


@st.composite
def models(draw, metrics=("euclidean", "cosine", "mahalanobis")):
    metric = draw(st.sampled_from(metrics))
    return ClAM(
        draw(st.integers(1, 4)),
        objective=draw(st.sampled_from(["auto", "reconstruction", "auto"])),
        metric=metric,
        weights=draw(st.sampled_from([None, "learn"])),
        init=draw(st.sampled_from(["k-means++", "random"])),
        mask_value=draw(st.sampled_from(["mean", "min", 0.5])),
        n_init=draw(st.integers(1, 2)),
        batch_size=draw(st.sampled_from([3, 1024])),
        max_epochs=4,
        random_state=draw(st.integers(0, 5)),
        n_jobs=1,
    )


def fit(model, X):
    """Fit, or return None where a clear error says why not."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=UserWarning)  # ConvergenceWarning
            return model.fit(X)
    except ValueError as error:
        if not CLEAR.search(str(error)):
            raise
        return None


@FEW
@given(tables(), models())
def test_a_fit_is_refused_clearly_or_makes_sense(X, model):
    before = X.copy()
    fitted = fit(model, X)
    assert_array_equal(X, before)
    if fitted is None:
        assert not hasattr(model, "cluster_centers_")
        return
    k = model.n_clusters
    assert model.labels_.shape == (len(X),)
    assert model.labels_.min() >= 0
    assert model.labels_.max() < k
    assert_array_equal(model.labels_, model.predict(X))
    assert np.isfinite(model.cluster_centers_).all()
    assert np.isfinite(model.weights_).all()
    assert np.isfinite(model.loss_curve_).all()
    assert np.isfinite(model.beta_)
    assert model.beta_ > 0
    for ask in ("transform", "predict_proba", "energy", "entropy", "recall"):
        assert np.isfinite(getattr(model, ask)(X)).all(), ask


@FEW
@given(tables(), models())
def test_memberships_sum_to_one(X, model):
    if fit(model, X) is None:
        return
    p, entropy = model.predict_proba(X), model.entropy(X)
    assert (p >= 0).all()
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-5)
    assert (entropy >= 0).all()
    assert (entropy <= np.log(model.n_clusters) + 1e-5).all()


@FEW
@given(tables(GENTLE), models(("euclidean",)), st.floats(1e-3, 1e3), st.floats(0.05, 1.0))
def test_energy_never_rises_along_a_recall(X, model, beta, step_size):
    model.set_params(beta=beta / (float(np.var(X)) or 1.0), step_size=step_size)
    if fit(model, X) is None:
        return
    _, trajectory = model.recall(X, return_trajectory=True)
    energy = np.stack([model.energy(states.astype(np.float64)) for states in trajectory])
    # Rounding: of float32 coordinates, in units of the table's spread.
    noise = 1e-4 * (np.abs(energy).max() + np.ptp(X) ** 2 + 1.0 / model.beta_)
    assert np.diff(energy, axis=0).max() <= noise


@FEW
@given(tables(), models(("euclidean", "cosine")))
def test_completing_twice_changes_nothing(X, model):
    if fit(model, X) is None:
        return
    once = model.complete(X)
    seen = ~np.isnan(X)
    assert np.isfinite(once).all()
    assert_array_equal(once[seen], X[seen])
    assert_array_equal(model.complete(once), once)
    assert once.dtype == X.dtype


@FEW
@given(tables(), models(("euclidean", "cosine")))
def test_dense_equals_sparse(X, model):
    X = X.astype(np.float64)
    dense = fit(model, X)
    thin = fit(ClAM(**model.get_params()), sparse.csr_matrix(X))
    assert (dense is None) == (thin is None)
    if dense is not None:
        # Entries are summed in another order: the same up to rounding, which training may amplify
        # and which decides ties.
        assert thin.loss_curve_[0] == pytest.approx(dense.loss_curve_[0], rel=1e-3, abs=1e-4)
        thick, answers = dense.predict_proba(X), dense.predict_proba(sparse.csr_matrix(X))
        assert_allclose(answers, thick, atol=1e-2)
        low, high = np.sort(thick, axis=1)[:, -2:].T if thick.shape[1] > 1 else (0.0, 1.0)
        clear = np.broadcast_to(high - low > 0.1, len(X))
        assert_array_equal(dense.predict(sparse.csr_matrix(X))[clear], dense.labels_[clear])


@FEW
@given(tables(), models(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(X, model, random):
    model.set_params(batch_size=1024)
    order = list(range(len(X)))
    random.shuffle(order)
    one, other = fit(model, X), fit(ClAM(**model.get_params()), X[order])
    assert (one is None) == (other is None)
    if one is not None and model.metric != "mahalanobis":
        assert_array_equal(one.cluster_centers_, other.cluster_centers_)
        assert_array_equal(one.labels_[order], other.labels_)


@FEW
@given(tables(), models(), st.lists(st.integers(1, 12), min_size=1, max_size=4))
def test_learning_from_pieces_makes_sense(X, model, sizes):
    if fit(model, X) is None:
        return
    for size in sizes:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=UserWarning)
            model.partial_fit(X[:size])
        assert np.isfinite(model.cluster_centers_).all()
        assert_array_equal(model.labels_, model.predict(X[:size]))


@pytest.mark.parametrize("n_clusters", [1, 2])
def test_two_rows_are_enough(n_clusters):
    X = np.array([[0.0, 1.0], [5.0, 6.0]])
    model = ClAM(n_clusters, n_init=1, random_state=0).fit(X)
    assert len(np.unique(model.labels_)) == n_clusters
