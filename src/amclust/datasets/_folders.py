"""The files of a set in a folder: which of them are there, and the table they hold."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from amclust.datasets._checks import check_shape
from amclust.datasets._registry import DatasetInfo
from amclust.datasets._table import DAMAGE, Table, images_table, read_csv, read_idx


def find_files(info: DatasetInfo, folder: Path) -> list[Path]:
    """Give the files of a set that are in a folder, packed or plain, maybe not all."""
    packed = [folder / file for file in info.files]
    pairs = [(path, path.with_suffix("")) for path in packed]
    there = [[path for path in pair if path.is_file()] for pair in pairs]
    return [paths[0] for paths in there if paths]


def check_complete(info: DatasetInfo, folder: Path) -> None:
    """Raise if some files of a set are in a folder and others are not."""
    found = find_files(info, folder)
    missing = [file for file in info.files if not _has(found, file)]
    if found and missing:
        names = " and ".join(path.name for path in found)
        msg = f"{folder} has {names} but not {' and '.join(missing)}: {info.title} needs both"
        raise FileNotFoundError(msg)


def _has(found: Sequence[Path], file: str) -> bool:
    return any(path.name in (file, file.removesuffix(".gz")) for path in found)


def read_files(info: DatasetInfo, paths: Sequence[Path]) -> Table:
    """Read a set from all of its files; an error names the one that is wrong."""
    if info.is_idx:
        arrays = []
        for path in paths:
            with blaming(info, str(path)):
                arrays.append(read_idx(path))
        with blaming(info, join(paths)):
            table = images_table(*arrays)
            check_shape(info, table)
    else:
        with blaming(info, join(paths)):
            table = read_csv(paths[0], info.dtype)
            check_shape(info, table)
    return table


def join(paths: Sequence[Path]) -> str:
    """Name files in a message."""
    return " and ".join(map(str, paths))


@contextlib.contextmanager
def blaming(info: DatasetInfo, where: str) -> Iterator[None]:
    """Make a ValueError that says where of all that can be wrong with a set."""
    try:
        yield
    except DAMAGE as error:
        msg = f"{where} is damaged or not the set {info.name!r}: {error}"
        raise ValueError(msg) from error
