"""Where tables come from, a file, a pipe or standard input, and the formats they may have."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

import pyarrow as pa

from amclust.cli.tables.errors import TableError


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

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes, decompressed."""
        with self.open() as file:
            while block := file.read(1 << 20):
                yield block


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
            with space_for_a_copy(), open(path, "wb") as unzipped:
                unzipped.writelines(plain.blocks())
        if found == "xlsx":
            check_workbook(path, name)
        yield Source(path, gzipped, settle_format(declared, named, found, name), name)


def temporary_path(stack: contextlib.ExitStack) -> str:
    """Return the name of a file that is removed at the end."""
    with space_for_a_copy():
        descriptor, path = tempfile.mkstemp(prefix="amclust-")
    os.close(descriptor)
    stack.callback(_remove, path)
    return path


@contextlib.contextmanager
def space_for_a_copy() -> Iterator[None]:
    """Say of errors of the system that they are those of a temporary file, and where it is."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        with contextlib.suppress(OSError):
            reason = f"{reason}, in {tempfile.gettempdir()}"
        msg = f"a temporary copy of the table cannot be written: {reason}; TMPDIR names a folder"
        named = type(error)(msg)
        named.errno = error.errno
        raise named from error


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
    with space_for_a_copy(), open(copy, "wb") as file:
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


# --- formats: by suffix, and by the first bytes ---------------------------------------------------


@dataclass(frozen=True)
class _Format:
    title: str  # what messages call it
    suffixes: tuple[str, ...]
    magic: bytes = b""  # the first bytes; text has none
    written: bool = True


_KNOWN = {
    "csv": _Format("CSV", (".csv", ".txt")),
    "tsv": _Format("TSV", (".tsv", ".tab")),
    "parquet": _Format("a Parquet file", (".parquet", ".pq"), b"PAR1"),
    "arrow": _Format("an Arrow file", (".arrow", ".feather", ".ipc"), b"ARROW1"),
    "npy": _Format("a .npy array", (".npy",), b"\x93NUMPY"),
    "xlsx": _Format("an Excel workbook (.xlsx)", (".xlsx", ".xlsm"), b"PK\x03\x04", written=False),
}
FORMATS = tuple(_KNOWN)
"""Names of the formats; ``arrow`` is Arrow's file format (Feather)."""

WRITTEN = tuple(name for name, known in _KNOWN.items() if known.written)
"""Those that can be written."""

TITLES = {name: known.title for name, known in _KNOWN.items()}
"""What messages call them."""

SUFFIXES = {suffix: name for name, known in _KNOWN.items() for suffix in known.suffixes}
"""What a file's name says about its format; ``.gz`` may follow ``.csv`` and ``.tsv``."""

_FOREIGN = {
    b"\xd0\xcf\x11\xe0": "an old or encrypted Excel workbook; save it as .xlsx without a password",
    b"FEA1": "a Feather file of version 1; write it as version 2 or as Parquet",
    b"BZh": "compressed with bzip2; decompress it first or use gzip",
    b"\xfd7zXZ": "compressed with xz; decompress it first or use gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; decompress it first or use gzip",
    b"\x89HDF": "an HDF5 file; export the table as CSV or Parquet",
    b"SQLite format 3": "an SQLite database; export the table as CSV",
    b"\xff\xff\xff\xff": "an Arrow stream; write it as an Arrow file (Feather) or as Parquet",
    b"%PDF": "a PDF; export the table as CSV",
    b"\x80\x04\x95": "a Python pickle; write the table as Parquet",
    b"\x80\x05\x95": "a Python pickle; write the table as Parquet",
    b"<!doctype html": "a web page, not a table",
    b"<html": "a web page, not a table",
    **dict.fromkeys(
        (b'{"', b"{\n", b"{\r", b"[{", b"[[", b"[\n", b"[\r"),
        "JSON, which is not read; write the table as CSV or Parquet",
    ),
}


def format_of_name(path: str) -> tuple[str | None, bool]:
    """Return the format that a file's name tells (None if it tells none), and whether gzipped."""
    stem, suffix = os.path.splitext(os.path.basename(path).lower())
    gzipped = suffix == ".gz"
    if gzipped:
        suffix = os.path.splitext(stem)[1]
    return SUFFIXES.get(suffix), gzipped


def format_to_write(target: str, format: str | None) -> tuple[str, bool]:  # noqa: A002
    """Return the format to write to `target`, and whether to gzip it; refuse what is not clear."""
    named, gzipped = format_of_name(target)
    if format is not None:
        check_format(format)
    chosen = format or named or ("csv" if target == "-" else None)
    suffixes = ", ".join(suffix for suffix, name in SUFFIXES.items() if name in WRITTEN)
    known = f"{suffixes}, .csv.gz or .tsv.gz"
    if chosen is None:
        msg = f"cannot write {target!r}: end the name in {known}"
        raise TableError(msg, file=target)
    if chosen not in WRITTEN:
        msg = f"cannot write {target!r}: {TITLES[chosen]} is only read; end the name in {known}"
        raise TableError(msg, file=target)
    if gzipped and chosen not in ("csv", "tsv"):
        msg = f"cannot write {target!r}: only .csv and .tsv are gzipped, leave out '.gz'"
        raise TableError(msg, file=target)
    return chosen, gzipped


@contextlib.contextmanager
def damage_named(source: str, title: str) -> Iterator[None]:
    """Turn whatever a library raises at damaged bytes into an error that says so.

    They raise anything: SyntaxError for the header of an array, NotImplementedError for a zip
    archive, SystemError for text.
    """
    try:
        yield
    except (TableError, ModuleNotFoundError, MemoryError):
        raise
    except Exception as error:
        msg = f"{source} is not {title}, or it is damaged or cut short: {error}"
        raise TableError(msg, file=source) from error


def check_format(name: str) -> None:
    """Refuse a format that is not known."""
    if name not in FORMATS:
        msg = f"format must be one of {', '.join(FORMATS)}, got {name!r}"
        raise TableError(msg)


def format_of_bytes(head: bytes, source: str) -> str | None:
    """Return the format that the first bytes tell, None for text.

    Refuse the bytes of what is certainly not a table.
    """
    for name, known in _KNOWN.items():
        if known.magic and head.startswith(known.magic):
            return name
    opening = head[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    for magic, words in _FOREIGN.items():
        if head.startswith(magic) or opening.lower().startswith(magic):
            msg = f"{source} is {words}"
            raise TableError(msg, file=source)
    return None


def check_workbook(path: str, source: str) -> None:
    """Refuse a zip archive that is no Excel workbook."""
    with damage_named(source, "a zip archive"), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if not any(name.startswith("xl/") for name in names):
        msg = f"{source} is a zip archive, but not an Excel workbook (.xlsx)"
        if names and all(name.endswith(".npy") for name in names):
            msg = f"{source} is a .npz archive, which is not read; save its array as .npy"
        raise TableError(msg, file=source)


def settle_format(declared: str | None, named: str | None, found: str | None, source: str) -> str:
    """Return the format to read, given what was declared, what the name and what the bytes tell.

    The bytes decide, unless they contradict what the caller declared.
    """
    texts = ("csv", "tsv")
    expected = declared or named
    if found is None:
        if expected is not None and expected not in texts:
            msg = f"{source} is not {TITLES[expected]}, or it is damaged"
            raise TableError(msg, file=source)
        return expected or "csv"
    if declared is not None and declared != found:
        msg = f"{source} is {TITLES[found]}, not {TITLES[declared]}"
        raise TableError(msg, file=source)
    return found
