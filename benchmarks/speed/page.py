"""The page of the timings, written from the results files without running anything."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.printing import amount
from benchmarks.quality.grids import Grid
from benchmarks.store import write_text

# When the defaults became those of docs/recipe.md (commit a53be58).
_NEW_RECIPE = datetime(2026, 11, 16, 0, 28, tzinfo=timezone.utc)
_OLD_RECIPE = "*{date}, with the first recipe: the defaults have changed since.*"
_INTRODUCTION = """\
# Speed, memory and missing values

Written by `python -m benchmarks.speed --page docs/speed.md` from `benchmarks/results/speed.json`,
which `make bench` fills, and `benchmarks/results/stacked.json`
(`python -m benchmarks.speed --only stacked --output benchmarks/results/stacked.json`).

Both sides are timed in one run, in turns; a ratio is the median of such pairs. The last table holds
all of it against what was asked for. What the defaults cost beside those of the first recipe is in
[the table of recipes](recipe.md).
"""
# Title and, where the table alone does not say it, what was done.
_SECTIONS = {
    "paper": ("The paper's protocol", "Ten restarts of 200 epochs, beside k-means with 1,000."),
    "torch": ("A plain PyTorch loop", "The same protocol, as one would write it at first."),
    "stacked": ("The torch backend", "All restarts as one stack of tensors, on a CPU."),
    "large": ("Many rows", "A fit with its labels, `n_init=1` for all."),
    "flops": ("Arithmetic", "Beside matrix products of BLAS on the same machine."),
    "scaling": ("Scaling", "The exponent of the time of a fit; 1 is linear."),
    "memory": ("Memory", "At the peak of a call, beside the table itself."),
    "missing": ("Missing values", "Entries removed at random; RMSE is of the completed entries."),
    "import": ("Import", ""),
}
_COLUMNS = ("what", "ClAM", "beside it", "compared")
_TARGET_COLUMNS = ("what", "beside", "compared", "target", "reached")
_OVERALL = "all four"


def write_page(path: Path, files: Sequence[Path]) -> None:
    """Write a section a table, with the machine that it comes from.

    Parameters
    ----------
    path : Path
        Markdown file.
    files : sequence of Path
        Results files. A section of a later one takes the place of one before.
    """
    contents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    origins = {name: content for content in contents for name in content["sections"]}
    parts, everything = [_INTRODUCTION], []
    for name, (title, text) in _SECTIONS.items():
        if name in origins:
            found = origins[name]["sections"][name]["entries"]
            entries = [one for one in found if "skipped" not in one]
            everything += entries
            tables = _tables(name, entries, _caveat(origins[name]["date"]))
            parts.append("\n\n".join(filter(None, [f"## {title}", text, tables])))
    parts += [_targets(everything), _origins(files, contents)]
    write_text(path, "\n\n".join(part.strip() for part in parts) + "\n")


def _caveat(date: str) -> str:
    """Say what a reader must know of results of this date, or nothing."""
    old = datetime.fromisoformat(date) < _NEW_RECIPE
    return _OLD_RECIPE.format(date=date[:10]) if old else ""


def _tables(name: str, entries: Sequence[dict[str, Any]], caveat: str) -> str:
    """Give the table of a section between marks, for pages that include it."""
    overall = [one for one in entries if one["what"].startswith(_OVERALL)]
    others = [one for one in entries if one not in overall]
    parts = [_marked(name, others, caveat)]
    if overall:
        parts.insert(0, _marked(f"{name}: means", overall, caveat))
    notes = Counter(one["note"] for one in entries if one["note"])
    # A note of a single line is a detail, which the file has.
    shared = [f"- {note}" for note, count in notes.items() if count > 1]
    return "\n\n".join([*parts, *(["\n".join(shared)] if shared else [])])


def _marked(name: str, entries: Sequence[dict[str, Any]], caveat: str) -> str:
    rows = [
        [
            entry["what"],
            _amount(entry["ours"], entry["unit"]),
            f"{_amount(entry['peer'], entry['unit'])} {entry['peer_name']}".strip(),
            _compared(entry),
        ]
        for entry in entries
    ]
    table = Grid(name, _COLUMNS, rows, numbers=False).as_markdown()
    body = "\n\n".join(filter(None, [table, caveat]))
    return f"<!-- {name} -->\n\n{body}\n\n<!-- end -->"


def _compared(entry: dict[str, Any]) -> str:
    return f"{entry['quantity']} {_amount(entry['value'])}"


def _targets(entries: Sequence[dict[str, Any]]) -> str:
    """Hold every comparison against its target."""
    rows = [
        [
            entry["what"],
            entry["peer_name"],
            _compared(entry),
            entry["target"],
            "yes" if entry["reached"] else "NO",
        ]
        for entry in entries
    ]
    reached = sum(entry["reached"] for entry in entries)
    table = Grid("targets", _TARGET_COLUMNS, rows, numbers=False).as_markdown()
    return f"## Targets\n\n{reached} of {len(rows)} are reached.\n\n{table}"


def _amount(value: float | None, unit: str = "") -> str:
    text = amount(math.nan if value is None else value, unit)
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _origins(files: Sequence[Path], contents: Sequence[dict[str, Any]]) -> str:
    lines = ["## Where the numbers come from", ""]
    for file, content in zip(files, contents, strict=True):
        machine = content["machine"]
        versions = ", ".join(f"{name} {v}" for name, v in machine["versions"].items())
        lines.append(
            f"- `{file.name}`: {content['date'][:10]}, {machine['processor']}, "
            f"{machine['usable_cores']} cores, {machine['amclust_config']['instruction_set']}, "
            f"Python {machine['python']}, {versions}"
        )
    return "\n".join(lines)
