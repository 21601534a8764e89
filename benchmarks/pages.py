"""Pages of the documentation that hold tables of results."""

from __future__ import annotations

from pathlib import Path

from benchmarks.store import write_text


def replace_between(path: Path, begin: str, end: str, body: str) -> None:
    """Put text between two marks of a page; the rest stays as it is.

    Parameters
    ----------
    path : Path
        Markdown file with both marks.
    begin, end : str
        The marks: comments, which readers do not see.
    body : str
        What takes the place of what is between them.
    """
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, mark, after = rest.partition(end)
    if not mark:
        message = f"{path} needs the marks {begin!r} and {end!r}"
        raise ValueError(message)
    write_text(path, f"{before}{begin}\n\n{body.strip()}\n\n{end}{after}")
