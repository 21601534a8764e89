"""The folder of downloaded sets, every file with its SHA-256 beside it."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from amclust.datasets._folders import read_files
from amclust.datasets._registry import DatasetInfo
from amclust.datasets._table import Table, write_csv, write_idx
from amclust.io.files import atomic_write


def is_cached(info: DatasetInfo, cache: Path) -> bool:
    """Tell whether all files of a set are there, whole or not."""
    return all((cache / file).is_file() for file in info.files)


def read_cached(info: DatasetInfo, cache: Path) -> Table:
    """Read a set; raise if a file is not what was written."""
    paths = [cache / file for file in info.files]
    for path in paths:
        _compare_hashes(path)
    return read_files(info, paths)


def check_writable(cache: Path) -> None:
    """Make the folder; raise if it can hold no files."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache):
            pass
    except OSError as error:
        reason = "it is a file" if cache.is_file() else error.strerror or error
        msg = f"data_home must be a folder that can be written to, {str(cache)!r} is none: {reason}"
        raise OSError(msg) from error


def write_cached(info: DatasetInfo, table: Table, cache: Path) -> None:
    """Keep a set."""
    paths = [cache / file for file in info.files]
    if info.is_idx:
        side = round(info.n_features**0.5)
        classes = table.target_names.astype("u1")[table.target]
        write_idx(table.data.astype("u1").reshape(-1, side, side), paths[0])
        write_idx(classes, paths[1])
    else:
        write_csv(table, paths[0])
    for path in paths:
        with atomic_write(_hash_file(path), overwrite=True) as record:
            record.write(f"{_hash(path)}  {path.name}\n".encode())


def _compare_hashes(path: Path) -> None:
    record = _hash_file(path)
    if not record.is_file():
        msg = f"{path} may not be whole: {record.name}, which is written after it, is missing"
        raise ValueError(msg)
    # As bytes: a damaged record need not be text.
    if record.read_bytes().split()[:1] != [_hash(path).encode()]:
        msg = f"{path} is damaged: its SHA-256 is not the one in {record.name}"
        raise ValueError(msg)


def _hash_file(path: Path) -> Path:
    """Give the file beside `path` that ``sha256sum --check`` reads."""
    return path.with_name(f"{path.name}.sha256")


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
