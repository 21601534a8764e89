import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import _generate_sparse_data, parametrize_with_checks

from amclust import ClAM, ClAMSearch


def four_columns_are_expected(estimator):
    """Two checks compare `predict_proba` with two columns, or with four: theirs is a classifier's.

    scikit-learn 1.9 has the four classes of its table written into them (`expected_probs_shape` in
    `_check_estimator_sparse_container`), and no tag says three. The rest of these checks is below.
    """
    if not isinstance(estimator, ClAM) or estimator.n_clusters != 3:
        return {}
    reason = "predict_proba of three clusters has three columns, the check knows two and four"
    return dict.fromkeys(["check_estimator_sparse_array", "check_estimator_sparse_matrix"], reason)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
def test_three_clusters_of_sparse_rows_in_any_format(container):
    X = np.random.default_rng(0).uniform(size=(40, 3))
    X[X < 0.6] = 0
    for _, rows in _generate_sparse_data(container(X)):
        model = ClAM(3, random_state=0).fit(rows)
        assert model.predict(rows).shape == (40,)
        assert model.predict_proba(rows).shape == (40, 3)


# The checks bring tables of noise, some with only four distinct rows. So there are two or four
# clusters (scikit-learn checks its own clusterers with two), and training may hit max_epochs.
# metric="cosine" is not here: some of the tables have rows of zeros, which it refuses by contract.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        ClAM(2),
        ClAM(3),
        ClAM(4),
        ClAM(2, objective="completion"),
        ClAM(4, objective="completion"),
        ClAM(4, objective="reconstruction"),
        ClAM(4, metric="mahalanobis"),
        ClAM(4, weights="learn", selection="loss", init="random"),
        ClAMSearch(2, space={"beta_factor": [1.0, 2.0]}, n_init=2, max_epochs=30, budget=80),
    ],
    expected_failed_checks=four_columns_are_expected,
)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)
