import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from amclust import ClAM, ClAMSearch


# The checks bring tables of noise, some with only four distinct rows. So there are two or four
# clusters (scikit-learn checks its own clusterers with two), and training may hit max_epochs.
# metric="cosine" is not here: some of the tables have rows of zeros, which it refuses by contract.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        ClAM(2),
        ClAM(4),
        ClAM(2, objective="completion"),
        ClAM(4, objective="completion"),
        ClAM(4, objective="reconstruction"),
        ClAM(4, metric="mahalanobis"),
        ClAM(4, weights="learn", selection="loss", init="random"),
        ClAMSearch(2, space={"beta_factor": [1.0, 2.0]}, n_init=2, max_epochs=30, budget=80),
    ]
)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)
