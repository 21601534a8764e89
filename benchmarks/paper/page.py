"""The page: every table and figure, written from the records without running anything."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from amclust._files import atomic_write
from benchmarks.paper.figures import FIGURES, FigureInfo
from benchmarks.paper.settings import Settings
from benchmarks.paper.tables import (
    classes,
    departures,
    efficiency,
    silhouettes,
    similarity,
    targets,
    toys,
)
from benchmarks.paper.view import NOT_RUN, View
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
        _section(targets.targets(view), _TARGETS),
        _section(silhouettes.paper_protocol(view), _PAPER_PROTOCOL),
        _section(silhouettes.paper_protocol_living(view)),
        _section(silhouettes.honest_protocol(view), _HONEST_PROTOCOL.format(s=settings)),
        _section(classes.nmi(view), _CLASSES),
        _section(classes.ari(view)),
        _section(similarity.similarity(view), _SIMILARITY),
        _section(efficiency.efficiency(view), _EFFICIENCY),
        _section(toys.noise(view), _NOISE),
        _section(toys.elongated(view), _TOYS),
        *(_figure(path, name, info, view) for name, info in FIGURES.items()),
        _section(departures.departures(view), _DEPARTURES),
        _origins(view),
    ]
    write_text(path, "\n".join(parts))


def _figure(page: Path, name: str, info: FigureInfo, view: View) -> str:
    """Draw a figure beside the page; say so where its records are missing."""
    figure = info.draw(view)
    if figure is None:
        return f"## Figure: {info.title}\n\n{NOT_RUN.capitalize()}.\n"
    picture = page.parent / "_static" / "paper" / f"{name}.png"
    picture.parent.mkdir(parents=True, exist_ok=True)
    # Without the version of matplotlib, which would change the file and nothing in it.
    with atomic_write(picture, overwrite=True) as file:
        figure.savefig(file, format="png", dpi=110, metadata={"Software": None})
    link = picture.relative_to(page.parent).as_posix()
    return f"## Figure: {info.title}\n\n![{info.title}]({link})\n\n{info.caption}\n"


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


_TARGETS = """\
What has no record counts as not reached.
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
number of living clusters in brackets. Large sets have fewer fits and seeds, for all methods (see
"How much was run"); DCEC, a fit of which takes minutes, has one fit and at most three seeds.
"""


_CLASSES = """\
Of the partitions that table 1 shows under the paper's protocol; in brackets of those with k living
clusters, where they are others. ClAM's default: mean ± standard deviation over the seeds.
"""

_SIMILARITY = """\
Of the partitions of table 1, the paper's protocol. "Other rows": the baseline was given a sample of
the rows.
"""

_EFFICIENCY = """\
k-means with 1000 restarts and ClAM with 10 restarts of 200 epochs, in turn, on all cores and with
nothing else running; medians. ClAM's epochs are parts of 16,384 rows where a set has more.
"""

_NOISE = """\
Silhouette, NMI and ARI of the inliers; mean ± standard deviation over several drawings of the toy,
which is ours: the paper does not say how its own was drawn. ClAM is the default without scaling;
"the paper's loss" completes one hidden coordinate of the two.
"""

_TOYS = """\
Our own drawings too, the same for every method. Lloyd has the lowest sum of squares of 1000
restarts, ClAM the best silhouette of 100; Lloyd chosen by the silhouette of 100 shows what the
choice alone does. The stripes are just so long that the sum of squares and the silhouette disagree:
a little shorter and Lloyd is right too, a little longer and ClAM is wrong too. They were tuned
until it was so: about 40 lengths, counts and offsets were looked at, a first choice failed on
some of ten drawings, and ten restarts of ClAM are too few. These are illustrations, not evidence.
"""

_DEPARTURES = """\
Cells of tables 1, 2 and 5 where our figure and the paper's differ; living clusters in brackets.
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
