"""What the guide's code about partitions draws."""

from drawing import canvas
from sklearn.datasets import load_wine

from amclust import ClAM
from amclust.plotting import EntropyDisplay, LossCurveDisplay, SilhouetteDisplay, SizesDisplay


def draw(background):
    X = load_wine(as_frame=True).data
    model = ClAM(n_clusters=3, n_jobs=1, random_state=0).fit(X)
    figure = canvas(10, 7)
    axes = figure.subplots(2, 2)
    SilhouetteDisplay.from_estimator(model, X, ax=axes[0, 0])
    SizesDisplay.from_estimator(model, ax=axes[0, 1])
    EntropyDisplay.from_estimator(model, X, ax=axes[1, 0])
    LossCurveDisplay.from_estimator(model, ax=axes[1, 1])
    return figure
