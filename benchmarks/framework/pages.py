"""Pages of the documentation that hold tables of results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

from amclust.io.files import atomic_write


def write_text(path: Path, text: str) -> None:
    """Replace a file in one step; missing folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, overwrite=True) as file:
        file.write(text.encode())


def replace_between(path: Path, marks: tuple[str, str], body: str) -> None:
    """Put text between two marks of a markdown page, comments that readers do not see."""
    begin, end = marks
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, mark, after = rest.partition(end)
    if not mark:
        message = f"{path} needs the marks {begin!r} and {end!r}"
        raise ValueError(message)
    write_text(path, f"{before}{begin}\n\n{body.strip()}\n\n{end}{after}")


class Grid(NamedTuple):
    """A table: the first column names the row, the others are numbers unless it says not."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: bool = True

    def as_text(self) -> str:
        """Align the columns, the first to the left."""
        lines = [self.columns, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        body = "\n".join(
            "  ".join(
                cell.rjust(width) if i else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )
        return f"== {self.title} ==\n{body}"

    def as_markdown(self) -> str:
        """Write the table alone, without its title."""
        rule = ["---"] + ["---:" if self.numbers else "---"] * (len(self.columns) - 1)
        return "\n".join(f"| {' | '.join(line)} |" for line in (self.columns, rule, *self.rows))


def mean_and_deviation(values: Sequence[float], digits: int = 3) -> str:
    """Write the mean ± standard deviation of a sample; of a single value the value alone."""
    if not values:
        return "-"
    if len(values) == 1 or any(math.isnan(value) for value in values):
        return number(mean(values), digits)
    return f"{number(mean(values), digits)} ± {stdev(values):.{digits}f}"


def number(value: float, digits: int = 3) -> str:
    """Write a number, or a dash where there is none."""
    # Adding zero takes the sign from a zero.
    return "-" if math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"


def signed(value: float, digits: int = 3) -> str:
    """Write a difference."""
    return "-" if math.isnan(value) else f"{value:+.{digits}f}"
