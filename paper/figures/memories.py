"""Evolution of memories on Fashion-MNIST."""

from __future__ import annotations

from matplotlib.figure import Figure

from amclust.plotting import MemoriesDisplay
from paper.packing import unpack_array
from paper.sets import IMAGES
from paper.view import View


def draw(view: View) -> Figure | None:
    """A row a memory, a column an epoch."""
    record = view.one("memories", "fashion_mnist", "evolution", "paper")
    if record is None:
        return None
    figure = Figure(figsize=(6.5, 9), layout="constrained")
    display = MemoriesDisplay(
        memories=unpack_array(record.results["memories"]),
        image_shape=IMAGES["fashion_mnist"],
        epochs=record.results["epochs"],
        value_name="deviation from the mean, in standard deviations",
    )
    display.plot(ax=figure.subplots())
    return figure
