"""The noise, and the toys of the figures: means over several drawings."""

from benchmarks.framework.pages import Grid, mean_and_deviation
from paper.experiments.toys import ELONGATED, NOISE, PAPER_METHODS, TOY_METHODS, TOYS
from paper.published import NOISE as PAPER_NOISE
from paper.records import NOT_RUN, View, beside_paper

_QUANTITIES = {"silhouette": "SC", "nmi": "NMI", "ari": "ARI"}


def noise(view: View) -> Grid:
    columns = [f"{title}, {TOYS[toy].title}" for title in _QUANTITIES.values() for toy in NOISE]
    rows = []
    for method, info in TOY_METHODS.items():
        paper = PAPER_NOISE.get(PAPER_METHODS.get(method, ""), (None, None))
        cells = [_mean(view, toy, method, q) for q in _QUANTITIES for toy in NOISE]
        cells[:2] = [beside_paper(*pair) for pair in zip(cells[:2], paper, strict=True)]
        rows.append([info.title, *cells])
    return Grid("Noise", ["", *columns], rows)


def elongated(view: View) -> Grid:
    """ARI and silhouette of every method on the two toys, with the truth's silhouette."""
    pairs = [(toy, quantity) for toy in ELONGATED for quantity in ("ari", "silhouette")]
    columns = [f"{_QUANTITIES[quantity]}, {TOYS[toy].title}" for toy, quantity in pairs]
    rows = [
        [info.title, *(_mean(view, toy, method, quantity) for toy, quantity in pairs)]
        for method, info in TOY_METHODS.items()
    ]
    truth = ["the truth"]
    for toy in ELONGATED:
        truth += ["1.000", _mean(view, toy, "kmeans", "true_silhouette")]
    return Grid("The toys", ["", *columns], [*rows, truth])


def _mean(view: View, toy: str, method: str, quantity: str) -> str:
    values = view.toys(toy, method, quantity)
    return mean_and_deviation(values) if values else NOT_RUN
