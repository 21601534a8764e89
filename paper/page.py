"""The page: every table and figure, written from the records without running anything."""

from collections import Counter
from functools import partial
from pathlib import Path

from amclust.io.files import atomic_write
from benchmarks.folders import REPOSITORY
from benchmarks.framework.pages import render, versions
from paper.figures import FIGURES
from paper.records import Origin, View
from paper.settings import Settings
from paper.tables import ablations, departures, partitions, summary, targets, timings, toys

_TABLES = {
    module.__name__.rpartition(".")[2]: module
    for module in (ablations, departures, partitions, summary, targets, timings, toys)
}


def write_page(path: Path, settings: Settings) -> None:
    """Write the records of a folder as a markdown page, figures in ``_static/paper`` beside it."""
    view, folder = View(settings), settings.folder.resolve()
    render(
        path,
        Path(__file__).with_name("page.md.jinja"),
        **_TABLES,
        view=view,
        settings=settings,
        folder=folder.relative_to(REPOSITORY) if folder.is_relative_to(REPOSITORY) else folder,
        figures=FIGURES,
        drawn=[name for name in FIGURES if _draw(view, name, path.parent)],
        made=partial(_made, view),
        Origin=Origin,
        by_paper=Origin("partitions", protocols=("paper",)),
        by_honest=Origin("partitions", protocols=("honest", "default")),
        origins=_origins(view),
    )


def _draw(view: View, name: str, folder: Path) -> bool:
    """Draw a figure beside the page; False where its records are missing."""
    figure = FIGURES[name].draw(view)
    if figure is None:
        return False
    picture = folder / "_static" / "paper" / f"{name}.png"
    picture.parent.mkdir(parents=True, exist_ok=True)
    # Without the version of matplotlib, which would change the file and nothing in it.
    with atomic_write(picture, overwrite=True) as file:
        figure.savefig(file, format="png", dpi=110, metadata={"Software": None})
    return True


def _made(view: View, origin: Origin) -> str:
    """Say which command made the records, at which commits, and in how many hours."""
    records = [one for one in view.records(origin.experiment) if origin.includes(one.key)]
    if not records:
        return ""
    commits = ", ".join(sorted({record.environment["commit"] for record in records}))
    hours = sum(record.seconds for record in records) / 3600
    command = f"python -m paper {origin.options}{' --quick' if view.settings.quick else ''}"
    runs = "1 run" if len(records) == 1 else f"{len(records)} runs"
    return f"*{runs}, {hours:.2g} core-hours: `{command}` at commit {commits}.*"


def _origins(view: View) -> list[tuple[tuple[str, ...], int]]:
    """Name commits, versions and machines, with how many runs come from each."""
    found = Counter(
        (
            record.environment["commit"],
            versions(record.environment),
            record.environment["python"],
            record.environment["processor"],
        )
        for record in view.all()
    )
    return sorted(found.items())
