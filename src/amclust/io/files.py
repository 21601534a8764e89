"""Files that are whole or not there: everything amclust writes goes through `atomic_write`."""

from __future__ import annotations

import contextlib
import io
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], *, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a binary file whose content appears under `path` only when all of it is written.

    The bytes go to a hidden file ending in ``.part`` in the same folder, which takes the place of
    `path` in one step at the end of the ``with`` block. After an exception, Ctrl-C included, that
    file is removed and whatever was at `path` stays as it was. A killed process leaves at most the
    ``.part`` file behind, which the next one that writes to `path` removes: nobody holds its lock
    any more. A symbolic link stays one, a replaced file passes on its permissions, and
    a device or a pipe (``/dev/null``) is written to directly. Errors name the path.
    """
    shown = os.fspath(path)
    target = Path(os.path.realpath(shown))
    _remove_abandoned(target)
    replaced = _check_target(shown, target, overwrite=overwrite)
    if replaced is not None and not stat.S_ISREG(replaced.st_mode):
        with _open(shown, target, "wb") as file:
            yield file
        return

    part, new = _open_part(shown, target)
    try:
        with new as file:
            if replaced is not None:
                os.chmod(part, stat.S_IMODE(replaced.st_mode))
            yield file
            if not file.closed:
                file.flush()
                with _named(shown):
                    os.fsync(file.fileno())
        if not overwrite and target.exists():
            # Somebody else was faster while we wrote.
            raise _exists(shown)
        with _named(shown):
            os.replace(part, target)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
    # Makes the new name last through a power cut; Windows and some network disks cannot.
    with contextlib.suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _part_prefix(target: Path) -> str:
    return f".{target.name[:40]}."


def _open_part(shown: str, target: Path) -> tuple[Path, BinaryIO]:
    """Open a file beside the target, and hold its lock as long as it is open."""
    while True:
        part = target.with_name(f"{_part_prefix(target)}{secrets.token_hex(4)}.part")
        file = _open(shown, part, "xb")
        if _lock(file.fileno()) is not False and part.exists():
            return part, file
        file.close()  # somebody took it for abandoned before it had its lock


def _lock(descriptor: int) -> bool | None:
    """Lock a file for this process; False: somebody else has it. None: there are no locks here."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):  # Windows; some network disks
        return None
    return True


def _remove_abandoned(target: Path) -> None:
    """Remove what killed processes have left of the same target."""
    pattern = re.compile(re.escape(_part_prefix(target)) + r"[0-9a-f]{8}\.part")
    with contextlib.suppress(OSError):
        left = [name for name in os.listdir(target.parent) if pattern.fullmatch(name)]
        for name in left:
            part = target.with_name(name)
            with contextlib.suppress(OSError), part.open("rb") as file:
                if _lock(file.fileno()):
                    part.unlink()


def _check_target(shown: str, target: Path, *, overwrite: bool) -> os.stat_result | None:
    """Refuse a target that cannot be written; return the status of the file to replace, if any."""
    try:
        with _named(shown):
            found = target.stat()
    except FileNotFoundError:
        if not target.parent.is_dir():
            msg = f"cannot write {shown!r}: the folder {str(target.parent)!r} does not exist"
            raise FileNotFoundError(msg) from None
        return None
    if stat.S_ISDIR(found.st_mode):
        msg = f"cannot write {shown!r}: it is a folder, give the name of a file"
        raise IsADirectoryError(msg)
    if stat.S_ISREG(found.st_mode):
        if not overwrite:
            raise _exists(shown)
        if not os.access(target, os.W_OK):
            msg = f"cannot write {shown!r}: the file there is write-protected"
            raise PermissionError(msg)
    return found


def _exists(shown: str) -> FileExistsError:
    return FileExistsError(f"{shown!r} exists; remove it first or pass overwrite=True")


class _NamedFile(io.FileIO):
    """A raw file whose write errors name the path that was asked for."""

    shown: str

    def write(self, data: ReadableBuffer, /) -> int:
        with _named(self.shown):
            return super().write(data)


def _open(shown: str, path: Path, mode: str) -> BinaryIO:
    with _named(shown):
        raw = _NamedFile(path, mode)
    raw.shown = shown
    return io.BufferedWriter(raw, buffer_size=1 << 16)


@contextlib.contextmanager
def _named(shown: str) -> Iterator[None]:
    """Let errors of the system name the path that was asked for."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        named = type(error)(f"cannot write {shown!r}: {reason}")
        named.errno = error.errno
        raise named from error
