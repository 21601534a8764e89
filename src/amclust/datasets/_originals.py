"""The originals: how pooch fetches the published files, and how each format becomes a table."""

from __future__ import annotations

import contextlib
import csv
import http.client
import logging
import posixpath
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from amclust.datasets._table import Table, make_table, read_images


@dataclass(frozen=True)
class Original:
    """The published files of a set, by address, each with the checksum of its bytes.

    Where a checksum is not known (None), the content of the table is what a download is judged by.
    """

    files: Mapping[str, str | None]

    @property
    def address(self) -> str:
        """Where it is, for messages and descriptions."""
        return next(iter(self.files))

    def paths(self, folder: Path) -> list[Path]:
        """Return where its files are in a folder of the cache."""
        return [folder / posixpath.basename(address) for address in self.files]

    def fetch(self, folder: Path, *, download: bool, n_retries: int) -> None:
        """Download the files that are missing or have another checksum, if that is allowed."""
        names = [path.name for path in self.paths(folder)]
        pooch = _import_pooch()
        pup = pooch.create(
            path=folder,
            base_url="",
            registry=dict(zip(names, self.files.values(), strict=True)),
            urls=dict(zip(names, self.files, strict=True)),
            retry_if_failed=n_retries,
            allow_updates=download,
        )
        with _quiet(pooch.get_logger()):
            for name in names:
                pup.fetch(name, downloader=self._downloader())

    def _downloader(self) -> Any:
        """Return what pooch is to download with, None for its own choice."""
        return None

    def read(self, *paths: Path) -> Table:
        """Parse the files."""
        raise NotImplementedError


def _import_pooch() -> Any:
    try:
        import pooch
    except ImportError as error:
        msg = "downloaded sets need pooch: pip install 'amclust[data]'"
        raise ImportError(msg) from error
    return pooch


@contextlib.contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Let a logger tell only of what is wrong, unless somebody chose its level."""

    # Not by its level: pooch's logger is not registered, and would remember that it was off.
    def is_told(record: logging.LogRecord) -> bool:
        return logger.level != logging.NOTSET or record.levelno >= logging.WARNING

    logger.addFilter(is_told)
    try:
        yield
    finally:
        logger.removeFilter(is_told)


@dataclass(frozen=True)
class TextFile(Original):
    """Rows of text without a header, the class last, after `skip` columns of no use."""

    delimiter: str | None = None
    skip: int = 0

    def read(self, *paths: Path) -> Table:
        lines = paths[0].read_text(encoding="utf-8").splitlines()
        rows = [line.strip().split(self.delimiter) for line in lines if line.strip()]
        widths = sorted({len(row) for row in rows})
        if len(widths) != 1:
            msg = (
                f"its rows have from {widths[0]} to {widths[-1]} values" if rows else "it is empty"
            )
            raise ValueError(msg)
        data = np.array([row[self.skip : -1] for row in rows], dtype=np.float64)
        return make_table(data, (row[-1].strip() for row in rows))


@dataclass(frozen=True)
class CsvFile(Original):
    """A CSV with a header; `ignored` columns are left out, values rounded to `decimals`."""

    target: str
    ignored: tuple[str, ...]
    decimals: int

    def read(self, *paths: Path) -> Table:
        with paths[0].open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, restval=""))
        if not rows or self.target not in rows[0]:
            msg = f"it has no column {self.target!r}"
            raise ValueError(msg)
        names = [name for name in rows[0] if name not in (self.target, *self.ignored)]
        data = np.array([[row[name] for name in names] for row in rows], dtype=np.float64)
        labels = (f"{float(row[self.target]):g}" for row in rows)
        return make_table(data.round(self.decimals), labels, names)


@dataclass(frozen=True)
class SvmLightFile(Original):
    """LIBSVM's format; its first class is 1, ours 0."""

    n_features: int

    def read(self, *paths: Path) -> Table:
        from sklearn.datasets import load_svmlight_file

        path = str(paths[0])
        data, labels = load_svmlight_file(path, n_features=self.n_features, zero_based=False)
        return make_table(data.toarray(), labels.astype(int) - 1)


@dataclass(frozen=True)
class MatlabFile(Original):
    """A MATLAB file with the points in ``X`` and the classes in ``Y``."""

    def read(self, *paths: Path) -> Table:
        from scipy.io import loadmat
        from scipy.io.matlab import MatReadError

        try:
            content = loadmat(paths[0], variable_names=("X", "Y"))
            return make_table(content["X"].astype(np.float64), content["Y"].ravel())
        except (MatReadError, KeyError) as error:
            msg = f"it is not a MATLAB file with X and Y: {error}"
            raise ValueError(msg) from error


@dataclass(frozen=True)
class IdxFiles(Original):
    """Images and classes, each a gzipped idx file."""

    def read(self, *paths: Path) -> Table:
        return read_images(*paths)


@dataclass(frozen=True)
class OpenML(Original):
    """A set of openml.org by name and version; `missing` stands for a missing value.

    scikit-learn downloads it and compares the MD5 that openml.org publishes.
    """

    name: str
    version: int
    missing: float | None = None

    @property
    def address(self) -> str:
        return f"https://www.openml.org: {self.name}, version {self.version}"

    def _downloader(self) -> Any:
        return self._download

    def _download(self, _address: str, path: str, pup: Any) -> None:
        from sklearn.datasets import fetch_openml

        try:
            # Without a folder, scikit-learn would download twice to compare the MD5.
            with tempfile.TemporaryDirectory() as folder:
                bunch = fetch_openml(
                    self.name,
                    version=self.version,
                    data_home=folder,
                    as_frame=False,
                    # The parser that needs no pandas and takes classes named by numbers.
                    parser="liac-arff",
                    n_retries=pup.retry_if_failed,
                )
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        except LookupError as error:
            msg = f"openml.org describes it without {error}"
            raise ValueError(msg) from error
        with Path(path).open("wb") as file:
            np.savez_compressed(
                file,
                data=bunch.data.astype(np.float64),
                labels=bunch.target.astype(str),
                names=np.array(bunch.feature_names),
            )

    def read(self, *paths: Path) -> Table:
        with np.load(paths[0]) as arrays:
            data = arrays["data"]
            if self.missing is not None:
                data[np.isnan(data)] = self.missing
            return make_table(data, arrays["labels"], arrays["names"].tolist())


FORMATS: dict[str, type[Original]] = {
    "csv": CsvFile,
    "idx": IdxFiles,
    "matlab": MatlabFile,
    "openml": OpenML,
    "svmlight": SvmLightFile,
    "text": TextFile,
}
