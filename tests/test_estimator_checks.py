from sklearn.utils.estimator_checks import parametrize_with_checks

from amclust import ClAM


@parametrize_with_checks(
    [
        ClAM(),
        ClAM(objective="completion"),
        ClAM(objective="reconstruction"),
        ClAM(metric="cosine"),
        ClAM(metric="mahalanobis"),
        ClAM(weights="learn", selection="loss"),
    ]
)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)
