"""Where tables come from: a file, a pipe or standard input, gzipped or not."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

import pyarrow as pa

from amclust.cli.tables.errors import TableError
from amclust.cli.tables.formats import (
    check_format,
    check_workbook,
    format_of_bytes,
    format_of_name,
    settle_format,
)


@dataclass(frozen=True)
class Source:
    """A file that Arrow can open as often as it likes."""

    path: str
    gzipped: bool
    format: str
    """One of `FORMATS`."""
    name: str
    """How messages call it."""

    @contextlib.contextmanager
    def open(self) -> Iterator[pa.NativeFile]:
        """Open the file at its first byte, decompressed; damage found while it is read is named.

        It is Arrow's own file: its threads, which read ahead, never call Python. They may still do
        so when all is said, so nobody but Arrow closes it.
        """
        file = pa.OSFile(self.path)
        try:
            yield pa.CompressedInputStream(file, "gzip") if self.gzipped else file
        except OSError as error:
            msg = f"{self.name} is damaged or cut short: {error}"
            raise TableError(msg, file=self.name) from error


@dataclass(frozen=True)
class ReadOptions:
    """What a caller may say about a table; None is found out from its bytes and its name."""

    format: str | None = None
    """One of `FORMATS`."""
    delimiter: str | None = None
    """Between the cells of a text table: one character, or "tab", "space", ..."""
    encoding: str | None = None
    """Of a text table; if it is not UTF-8, Windows-1252 is tried with a warning."""
    sheet: str | None = None
    """Of an Excel workbook: its name, or its number from 1 on; None is the first."""
    header: bool | None = None
    """Whether the first line of a text or Excel table holds the names of the columns. False names
    them x0, x1, ...; None takes the line for names, but refuses one that holds only numbers."""


def name_of(source: str | os.PathLike[str]) -> str:
    """Return how messages call a source."""
    return "standard input" if source == "-" else repr(os.fspath(source))


@contextlib.contextmanager
def open_source(source: str | os.PathLike[str], declared: str | None) -> Iterator[Source]:
    """Find a table and its format; what comes from a pipe is copied to a temporary file first."""
    if declared is not None:
        check_format(declared)
    path, name = os.fspath(source), name_of(source)
    named = None if path == "-" else format_of_name(path)[0]
    with contextlib.ExitStack() as stack:
        path = _on_disk(path, stack)
        with open(path, "rb") as file:
            gzipped = file.read(2) == b"\x1f\x8b"
        plain = Source(path, gzipped, "csv", name)
        with plain.open() as stream:
            head = stream.read(64)
            if not head:
                msg = f"{name} is empty"
                raise TableError(msg, file=name)
            found = format_of_bytes(head, name)
            if gzipped and found is not None:  # these are not read from front to back
                path, gzipped = temporary_path(stack), False
                with open(path, "wb") as unzipped:
                    unzipped.write(head)
                    shutil.copyfileobj(stream, unzipped, 1 << 20)
        if found == "xlsx":
            check_workbook(path, name)
        yield Source(path, gzipped, settle_format(declared, named, found, name), name)


def temporary_path(stack: contextlib.ExitStack) -> str:
    """Return the name of a file that is removed at the end."""
    descriptor, path = tempfile.mkstemp(prefix="amclust-")
    os.close(descriptor)
    stack.callback(_remove, path)
    return path


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):  # Windows keeps files that are open
        os.unlink(path)


def _on_disk(path: str, stack: contextlib.ExitStack) -> str:
    """Return where a table's bytes are; those of a pipe can be read only once."""
    if path == "-":
        stream = cast(BinaryIO, sys.stdin.buffer)
    else:
        stream = stack.enter_context(_open(path))
        if os.path.isfile(path):
            return path
    copy = temporary_path(stack)
    with open(copy, "wb") as file:
        shutil.copyfileobj(stream, file, 1 << 20)
    return copy


def _open(path: str) -> BinaryIO:
    try:
        return open(path, "rb")
    except FileNotFoundError:
        msg = f"there is no file {path!r}"
        raise FileNotFoundError(msg) from None
    except IsADirectoryError:
        msg = f"{path!r} is a folder, give the name of a file"
        raise IsADirectoryError(msg) from None
    except OSError as error:
        named = type(error)(f"cannot read {path!r}: {(error.strerror or str(error)).lower()}")
        named.errno = error.errno
        raise named from error
