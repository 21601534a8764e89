"""Where tables come from: a file or standard input, gzipped or not."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, cast

from amclust.cli.tables._errors import TableError
from amclust.cli.tables._formats import (
    check_format,
    format_of_bytes,
    format_of_name,
    format_of_zip,
    settle_format,
)

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


@dataclass(frozen=True)
class OpenSource:
    """A source from its first byte, and the format it has."""

    stream: BinaryIO
    format: str
    """One of `FORMATS`."""
    name: str
    """How messages call it."""


def name_of(source: str | os.PathLike[str]) -> str:
    """Return how messages call a source."""
    return "standard input" if source == "-" else repr(os.fspath(source))


@contextlib.contextmanager
def open_source(source: str | os.PathLike[str], declared: str | None) -> Iterator[OpenSource]:
    """Open a table; formats that cannot be read from front to back get a seekable stream."""
    if declared is not None:
        check_format(declared)
    path, name = os.fspath(source), name_of(source)
    named = None if path == "-" else format_of_name(path)[0]
    with contextlib.ExitStack() as stack:
        stream = (
            cast(BinaryIO, sys.stdin.buffer) if path == "-" else stack.enter_context(_open(path))
        )
        with _damage_named(name):
            # Not so are standard input and what a shell puts in the place of <(command).
            seekable = path != "-" and stream.seekable()
            head = stream.read(64)
            stream = _put_back(stream, head, seekable=seekable)
            if head.startswith(b"\x1f\x8b"):
                seekable = False
                unzipped = cast(BinaryIO, gzip.GzipFile(fileobj=stream))
                head = unzipped.read(64)
                stream = _put_back(unzipped, head, seekable=False)
            if not head:
                msg = f"{name} is empty"
                raise TableError(msg)
            found = format_of_bytes(head, name)
            if not seekable and found not in (None, "arrows"):
                stream = _spool(stream, stack)
            if found == "zip":
                found = format_of_zip(cast(io.IOBase, stream), name)
                stream.seek(0)
            yield OpenSource(stream, settle_format(declared, named, found, name), name)


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


@contextlib.contextmanager
def _damage_named(name: str) -> Iterator[None]:
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        msg = f"{name} is damaged or cut short: {error}"
        raise TableError(msg) from error


def _put_back(stream: BinaryIO, head: bytes, *, seekable: bool) -> BinaryIO:
    if seekable:
        stream.seek(0)
        return stream
    return cast(BinaryIO, io.BufferedReader(_Chained(head, stream), 1 << 16))


class _Chained(io.RawIOBase):
    """Bytes that were read already, then the rest of their stream."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        target = memoryview(buffer).cast("B")
        block, self._head = self._head[: len(target)], self._head[len(target) :]
        block = block or self._rest.read(len(target))
        target[: len(block)] = block
        return len(block)


def _spool(stream: BinaryIO, stack: contextlib.ExitStack) -> BinaryIO:
    file = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
    shutil.copyfileobj(stream, file, 1 << 20)
    file.seek(0)
    return cast(BinaryIO, file)
