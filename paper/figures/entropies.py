"""Histograms of the entropy of memberships, a panel a set."""

from __future__ import annotations

from matplotlib.figure import Figure

from amclust.plotting import EntropyDisplay
from paper import sets
from paper.packing import unpack_array
from paper.view import View

_COLUMNS = 4


def draw(view: View) -> Figure | None:
    """The sets that have a record."""
    order = {name: place for place, name in enumerate(view.table_sets)}
    records = [r for run, r in view.records("memories").items() if run.method == "entropy"]
    if not records:
        return None
    records.sort(key=lambda record: order.get(record.run.set, len(order)))
    rows = -(-len(records) // _COLUMNS)
    figure = Figure(figsize=(12, 2.9 * rows), layout="constrained")
    panels = figure.subplots(rows, _COLUMNS, squeeze=False).flat
    for ax, record in zip(panels, records, strict=False):
        results = record.results
        EntropyDisplay(
            entropy=unpack_array(results["entropy"]), n_clusters=results["n_clusters"]
        ).plot(ax=ax)
        title = f"{sets.title(record.run.set)}, β = {results['beta']:g}"
        ax.set_title(title, fontsize=9, loc="left", pad=22)
        ax.set_xlabel(f"entropy (at most log {results['n_clusters']})")
    for ax in list(figure.axes)[len(records) :]:
        ax.set_axis_off()
    return figure
