"""The page: every table and figure, written from the records without running anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path

from amclust.io.files import atomic_write
from benchmarks.folders import REPOSITORY
from benchmarks.framework import Grid, write_text
from paper.figures import FIGURES
from paper.settings import Settings
from paper.tables import ablations, departures, partitions, summary, targets, timings, toys
from paper.view import NOT_RUN, Origin, View

_BY_PAPER = Origin("partitions", protocols=("paper",))
_BY_HONEST = Origin("partitions", protocols=("honest", "default"))


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
    drawn = [name for name in FIGURES if _draw(view, name, path.parent)]
    write_text(path, page_text(view, drawn))


def page_text(view: View, drawn: Collection[str] = tuple(FIGURES)) -> str:
    """Give the text of the page, with links to the figures that are drawn."""
    settings = view.settings
    parts = [
        _introduction(settings),
        f"## In short\n\n{summary.summary(view)}\n",
        _section(targets.targets(view), _TARGETS),
        _section(partitions.paper_protocol(view), _PAPER_PROTOCOL, _made(view, _BY_PAPER)),
        _section(partitions.paper_protocol_living(view), _LIVING, _made(view, _BY_PAPER)),
        _section(
            partitions.honest_protocol(view),
            _HONEST_PROTOCOL.format(s=settings),
            _made(view, _BY_HONEST),
        ),
        _section(
            ablations.ablations(view),
            f"{_ABLATIONS}\n{ablations.verdict(view)}\n",
            _made(view, _BY_HONEST),
        ),
        _figure(view, "ablations", drawn),
        _section(partitions.classes(view, "nmi"), _CLASSES, _made(view, _BY_PAPER)),
        _section(partitions.classes(view, "ari"), made=_made(view, _BY_PAPER)),
        _section(partitions.similarity(view), _SIMILARITY, _made(view, _BY_PAPER)),
        _section(
            timings.efficiency(view),
            _EFFICIENCY + timings.conditions(view),
            _made(view, Origin("timings")),
        ),
        _section(toys.noise(view), _NOISE, _made(view, Origin("toys"))),
        _section(toys.elongated(view), _TOYS, _made(view, Origin("toys"))),
        *(_figure(view, name, drawn) for name in FIGURES if name != "ablations"),
        _section(departures.departures(view), _DEPARTURES),
        _section(departures.checks(view), _CHECKS, _made(view, Origin("checks"))),
        _section(partitions.budgets(view), _BUDGETS.format(s=settings)),
        _origins(view),
    ]
    return "\n".join(parts)


def _draw(view: View, name: str, folder: Path) -> bool:
    """Draw a figure beside the page; False where its records are missing."""
    figure = FIGURES[name].draw(view)
    if figure is None:
        return False
    picture = folder / _picture(name)
    picture.parent.mkdir(parents=True, exist_ok=True)
    # Without the version of matplotlib, which would change the file and nothing in it.
    with atomic_write(picture, overwrite=True) as file:
        figure.savefig(file, format="png", dpi=110, metadata={"Software": None})
    return True


def _picture(name: str) -> str:
    return f"_static/paper/{name}.png"


def _figure(view: View, name: str, drawn: Collection[str]) -> str:
    info = FIGURES[name]
    if name not in drawn:
        return f"## Figure: {info.title}\n\n{NOT_RUN.capitalize()}.\n"
    picture, made = f"![{info.title}]({_picture(name)})", _made(view, info.origin)
    return f"## Figure: {info.title}\n\n{picture}\n\n{info.caption}\n\n{made}\n"


def _introduction(settings: Settings) -> str:
    quick = (
        "\n**A quick run on small budgets: it shows that everything works, and no number here "
        "counts.**\n"
        if settings.quick
        else ""
    )
    return f"""\
---
html_theme.sidebar_secondary.remove: true
---

# The paper's tables and figures

The evaluation of Saha, Krotov, Zaki and Ram, "End-to-end differentiable clustering with
associative memories" (ICML 2023), run anew. Their numbers are in italics, below or beside ours.
Every feature is standardised and k is the number of classes. Where GCM is not at hand, NCI9, gene
expressions too, stands in for it; it has no published number. A living cluster has a row at least.

Written by `{settings.page}` from the records in `{_shown(settings.folder)}`, one line a run with
its parameters, seeds, versions and seconds, so that a cell can be traced to its runs. `make paper`
runs what has no record; `make paper PAPER_ARGS="--folder mine"` runs everything anew, and goes on
where it was interrupted; `python -m paper --page-only` runs nothing.
{quick}"""


def _shown(folder: Path) -> str:
    """Write a folder of this repository without the way to it."""
    folder = folder.resolve()
    inside = folder.is_relative_to(REPOSITORY)
    return f"{folder.relative_to(REPOSITORY) if inside else folder}/"


_TARGETS = """\
The project's own aims for this page. What has no record counts as not reached.
"""

_PAPER_PROTOCOL = """\
The best silhouette that the grid of a method has, whatever its clusters. Living clusters, of those
asked for, are in brackets: a partition with empty clusters, or with most rows in one, can have a
high silhouette. In the lines of wins and losses NCI9 counts in ours, GCM in the paper's.
"""

_LIVING = """\
The best of the same fits that have k living clusters, or most of them where none has k.
"""

_HONEST_PROTOCOL = """\
Every method has {s.honest_fits} single fits for each of {s.seeds} seeds, with parameters drawn from
its grid, and the best silhouette among the partitions with k living clusters is taken (with most
living clusters, where none has k). Agglomerative clustering has no seeds and fewer configurations.
ClAM's default is `ClAM(k)` without any search. Mean ± standard deviation over the seeds, the mean
number of living clusters in brackets. Large sets have fewer fits and seeds, for all methods (see
"How much was run"). DEC and DCEC take longest: three and two seeds, and DCEC one fit.
"""


_CLASSES = """\
Of the partitions that won by the paper's protocol; in brackets of those with k living clusters,
where they are others. ClAM's default: mean ± standard deviation over the seeds.
"""

_SIMILARITY = """\
Of the partitions that won by the paper's protocol; in brackets of those with k living clusters,
where they are others: a partition with empty clusters agrees with hardly any. Where a baseline was
given a sample of the rows, on these.
"""

_EFFICIENCY = """\
k-means with 1000 restarts and ClAM with 10, in turn and by themselves; medians of three. As
published, ClAM runs 200 epochs with the paper's best hyperparameters; its default is `ClAM(k)`, and
stops when its loss no longer falls. For CIFAR-10 and JV the paper gives no hyperparameters: here
they are those most common in its table, with β from the data; an epoch is 16,384 rows, a third and
a sixtieth of a pass; timed once.
"""

_NOISE = """\
Silhouette, NMI and ARI of the inliers; mean ± standard deviation over several drawings of the toy,
which is ours: the paper does not say how its own was drawn. "The paper's loss" completes one hidden
coordinate of the two; the default loss is amclust's silhouette. All of ClAM's rows have the best
silhouette of 100 restarts, without scaling.
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
Silhouette / NMI / ARI where one of ours, by the paper's protocol, is not the paper's. What was
looked into is in the table below.
"""


_ABLATIONS = """\
What it adds to complete hidden entries ("masking": ClAM less ClAM that sees all of them), and what
it adds to learn a weight for every memory ("learned weights": weighted ClAM less ClAM). All
variants have the same draws of hyperparameters and the same seeds, so the differences are those of
pairs; honest protocol. Mean and 95 % interval over the seeds, and in the last line over the sets;
bold where the interval leaves out zero.
"""

_CHECKS = """\
Single partitions, made in ways that the paper or its program (github.com/bsaha205/clam) may have
used. Smoothed: every image of USPS blurred by a Gaussian of 0.75 pixels before it is standardised.
"""

_BUDGETS = """\
Under the paper's protocol a cell is the best of so many fits: the whole grid for k-means, spectral
and agglomerative clustering. ClAM's fits, the same for its two variants, are drawn from its grid,
which has far more, after some with the paper's best hyperparameters; each is one run of {s.epochs}
epochs. DEC and DCEC have as many update intervals of the paper's sixteen. The paper allows DCEC
20,000 updates; here it has {s.dcec_updates:,}. Silhouettes are taken of {s.sample_rows:,} rows at
most, always the same, and methods whose cost grows with the square of the rows are given a sample.
`python -m paper --plan` says what a full run takes.
"""


def _section(grid: Grid, text: str = "", made: str = "") -> str:
    parts = (f"## {grid.title}\n", text, f"{grid.as_markdown()}\n", made and f"{made}\n")
    return "\n".join(part for part in parts if part)


def _made(view: View, origin: Origin) -> str:
    """Say which command made the records, at which commits, and in how many hours."""
    records = [one for one in view.records(origin.experiment) if origin.includes(one.key)]
    if not records:
        return ""
    commits = ", ".join(sorted({record.environment["commit"] for record in records}))
    hours = sum(record.seconds for record in records) / 3600
    options = [origin.options, *(["--quick"] if view.settings.quick else [])]
    command = f"python -m paper {' '.join(options)}"
    runs = "1 run" if len(records) == 1 else f"{len(records)} runs"
    return f"*{runs}, {hours:.2g} core-hours: `{command}` at commit {commits}.*"


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
