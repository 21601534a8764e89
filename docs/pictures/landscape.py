"""What the guide's code about planes draws."""

from drawing import canvas
from sklearn.datasets import load_wine

from amclust import ClAM
from amclust.plotting import BasinsDisplay, EnergyDisplay, TrajectoryDisplay


def draw(background):
    X = load_wine(as_frame=True).data
    model = ClAM(n_clusters=3, n_jobs=1, random_state=0).fit(X)
    figure = canvas(10, 4)
    left, right = figure.subplots(1, 2)
    BasinsDisplay.from_estimator(model, X, ax=left)
    EnergyDisplay.from_estimator(model, X, ax=right)
    TrajectoryDisplay.from_estimator(model, X, n_points=25, ax=right)
    return figure
