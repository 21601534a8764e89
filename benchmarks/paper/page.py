"""The page: every table and figure, written from the records without running anything."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from benchmarks.paper.settings import Settings
from benchmarks.paper.tables import silhouettes
from benchmarks.paper.view import View
from benchmarks.quality.grids import Grid
from benchmarks.store import write_text


def write_page(path: Path, settings: Settings) -> None:
    """Write tables and figures, and where the numbers come from.

    Parameters
    ----------
    path : Path
        Markdown file; pictures go into ``_static/paper`` beside it.
    settings : Settings
        Folder of the records, and the budgets to tell of.
    """
    view = View(settings)
    parts = [
        _introduction(settings),
        _section(silhouettes.paper_protocol(view), _PAPER_PROTOCOL),
        _section(silhouettes.paper_protocol_living(view)),
        _section(silhouettes.honest_protocol(view), _HONEST_PROTOCOL.format(s=settings)),
        _origins(view),
    ]
    write_text(path, "\n".join(parts))


def _introduction(settings: Settings) -> str:
    quick = (
        "\n**A quick run on small budgets: it shows that everything works, and no number here "
        "counts.**\n"
        if settings.quick
        else ""
    )
    return f"""\
# The paper's tables and figures

Written by `{settings.page}` from the records in `benchmarks/results/{settings.folder.name}/`, one
file a run with its parameters, seeds, versions and seconds. `python -m benchmarks.paper
--page-only` writes the page anew without running anything.
{quick}
"Not run" is a run that has no record yet. The paper is Saha, Krotov, Zaki and Ram, ICML 2023; its
numbers are in italics. Every feature is standardised and k is the number of classes.
"""


_PAPER_PROTOCOL = """\
The best silhouette that the grid of a method has, whatever its clusters. Living clusters, of those
asked for, are in brackets: a partition with dead clusters, or with most rows in one, can have a
high silhouette.
"""

_HONEST_PROTOCOL = """\
Every method has {s.honest_fits} single fits for each of {s.seeds} seeds, with parameters drawn from
its grid, and the best silhouette among the partitions with k living clusters is taken (with most
living clusters, where none has k). Agglomerative clustering has no seeds and fewer configurations.
ClAM's default is `ClAM(k)` without any search. Mean ± standard deviation over the seeds, the mean
number of living clusters in brackets.
"""


def _section(grid: Grid, text: str = "") -> str:
    return "\n".join([f"## {grid.title}\n", *([text] if text else []), f"{grid.as_markdown()}\n"])


def _origins(view: View) -> str:
    """Name commits, versions and machines, with how many runs come from each."""
    found = Counter(
        (
            record.environment["commit"],
            ", ".join(f"{name} {v}" for name, v in record.environment["versions"].items()),
            record.environment["python"],
            record.environment["processor"],
        )
        for record in view.all()
    )
    lines = [
        f"- commit {commit}: {count} runs; {versions}, Python {python}, {processor}"
        for (commit, versions, python, processor), count in sorted(found.items())
    ]
    return "\n".join(["## Where the numbers come from\n", *lines]) + "\n"
