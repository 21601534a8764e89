"""What people read: lines of the log, numbers, tables, and pages of the documentation."""

import math
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

from amclust.io.files import atomic_write

_THOUSAND = 1000.0


def say(text: str = "") -> None:
    """Write one line at once, so that a long run can be watched."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


@cache
def warn_once(what: str, reason: str) -> None:
    """Say that something is wrong, once: a file is read by the run and by the page."""
    say(f"WARNING: {what} ({reason})")


def describe_error(error: BaseException) -> str:
    """Write an error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def amount(value: float, unit: str = "") -> str:
    """Write a measurement with three digits and its unit; a dash where there is none."""
    if math.isnan(value):
        return "-"
    digits = f"{value:,.0f}" if abs(value) >= _THOUSAND else f"{value:#.3g}".rstrip(".")
    return digits + (f" {unit}" if unit else "")


def number(value: float, digits: int = 3) -> str:
    """Write a number, or a dash where there is none."""
    # Adding zero takes the sign from a zero.
    return "-" if math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"


def signed(value: float, digits: int = 3) -> str:
    return "-" if math.isnan(value) else f"{value:+.{digits}f}"


def mean_and_deviation(values: Sequence[float], digits: int = 3) -> str:
    """Write the mean ± standard deviation of a sample; of a single value the value alone."""
    if not values:
        return "-"
    if len(values) == 1 or any(math.isnan(value) for value in values):
        return number(mean(values), digits)
    return f"{number(mean(values), digits)} ± {stdev(values):.{digits}f}"


def versions(environment: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in environment["versions"].items())


class Grid(NamedTuple):
    """A table: the first column names the row, the others are numbers unless it says not."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: bool = True

    def as_text(self) -> str:
        """Align the columns, the first to the left."""
        lines = [self.columns, *self.rows]
        first, *others = [max(map(len, column)) for column in zip(*lines, strict=True)]
        body = [
            "  ".join([name.ljust(first), *map(str.rjust, cells, others)]).rstrip()
            for name, *cells in lines
        ]
        return "\n".join([f"== {self.title} ==", *body])

    def as_markdown(self) -> str:
        """Write the table alone, without its title."""
        rule = ["---"] + ["---:" if self.numbers else "---"] * (len(self.columns) - 1)
        return "\n".join(f"| {' | '.join(line)} |" for line in (self.columns, rule, *self.rows))


def write_text(path: Path, text: str) -> None:
    """Replace a file in one step; missing folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, overwrite=True) as file:
        file.write(text.encode())


def render(path: Path, template: Path, **values: Any) -> None:
    """Write a markdown page from a template of jinja2, which the values are given to."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader(template.parent),
        autoescape=False,  # It is markdown.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    write_text(path, templates.get_template(template.name).render(values))


def replace_between(path: Path, marks: tuple[str, str], body: str) -> None:
    """Put text between two marks of a markdown page, comments that readers do not see."""
    begin, end = marks
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, mark, after = rest.partition(end)
    if not mark:
        message = f"{path} needs the marks {begin!r} and {end!r}"
        raise ValueError(message)
    write_text(path, f"{before}{begin}\n\n{body.strip()}\n\n{end}{after}")
