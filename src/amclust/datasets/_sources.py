"""Where the originals were published, and how each is turned into a table."""

from __future__ import annotations

import bz2
import csv
import gzip
import hashlib
import http.client
import io
import tempfile
import time
from dataclasses import dataclass
from typing import Protocol
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
from numpy.typing import NDArray

from amclust._version import __version__
from amclust.datasets._table import DAMAGE, Table, images_table, make_table, parse_idx

_SECONDS = 60


class DownloadError(OSError):
    """The network does not give a file."""


@dataclass(frozen=True)
class Network:
    """Downloads, tried again after a failure that may pass."""

    n_retries: int
    delay: float

    def get(self, url: str) -> bytes:
        """Give the whole of a file."""
        request = Request(url, headers={"User-Agent": f"amclust/{__version__}"})
        for left in range(self.n_retries, -1, -1):
            try:
                with urlopen(request, timeout=_SECONDS) as response:
                    content: bytes = response.read()
                    return content
            except (OSError, http.client.HTTPException) as error:
                refused = isinstance(error, HTTPError) and error.code < 500
                if isinstance(error, HTTPError):
                    error.close()
                if refused or not left:
                    msg = f"cannot download {url}: {error}"
                    raise DownloadError(msg) from error
            time.sleep(self.delay)
        raise AssertionError


class Source(Protocol):
    """A place on the network that has the original of a set."""

    @property
    def address(self) -> str:
        """Where it is, for messages and descriptions."""

    def load(self, network: Network) -> Table:
        """Download and parse."""


@dataclass(frozen=True)
class TextFile:
    """Rows of text without a header, the class last, after `skip` columns of no use."""

    address: str
    delimiter: str | None = None
    skip: int = 0

    def load(self, network: Network) -> Table:
        lines = network.get(self.address).decode("utf-8").splitlines()
        rows = [line.strip().split(self.delimiter) for line in lines if line.strip()]
        if not rows:
            msg = "it is empty"
            raise ValueError(msg)
        widths = sorted({len(row) for row in rows})
        if len(widths) > 1:
            msg = f"its rows have from {widths[0]} to {widths[-1]} values"
            raise ValueError(msg)
        data = np.array([row[self.skip : -1] for row in rows], dtype=np.float64)
        return make_table(data, (row[-1].strip() for row in rows))


@dataclass(frozen=True)
class HeadedFile:
    """A CSV with a header; `ignored` columns are left out, values rounded to `decimals`."""

    address: str
    target: str
    ignored: tuple[str, ...]
    decimals: int

    def load(self, network: Network) -> Table:
        text = network.get(self.address).decode("utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text), restval=""))
        if not rows or self.target not in rows[0]:
            msg = f"it has no column {self.target!r}"
            raise ValueError(msg)
        names = [name for name in rows[0] if name != self.target and name not in self.ignored]
        data = np.array([[row[name] for name in names] for row in rows], dtype=np.float64)
        labels = (f"{float(row[self.target]):g}" for row in rows)
        return make_table(data.round(self.decimals), labels, names)


@dataclass(frozen=True)
class SvmLightFile:
    """LIBSVM's format, bzip2ed; its first class is 1, ours 0."""

    address: str
    md5: str
    n_features: int

    def load(self, network: Network) -> Table:
        from sklearn.datasets import load_svmlight_file

        content = network.get(self.address)
        found = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if found != self.md5:
            msg = f"its MD5 is {found}, not {self.md5}"
            raise ValueError(msg)
        text = io.BytesIO(bz2.decompress(content))
        data, labels = load_svmlight_file(text, n_features=self.n_features, zero_based=False)
        return make_table(data.toarray(), labels.astype(int) - 1)


@dataclass(frozen=True)
class MatlabFile:
    """A MATLAB file with the points in ``X`` and the classes in ``Y``."""

    address: str

    def load(self, network: Network) -> Table:
        from scipy.io import loadmat
        from scipy.io.matlab import MatReadError

        try:
            content = loadmat(io.BytesIO(network.get(self.address)), variable_names=("X", "Y"))
        except MatReadError as error:
            raise ValueError(*error.args) from error
        if not {"X", "Y"} <= content.keys():
            msg = "it has no variables X and Y"
            raise ValueError(msg)
        return make_table(content["X"].astype(np.float64), content["Y"].ravel())


@dataclass(frozen=True)
class IdxFiles:
    """Images and classes, each a gzipped idx file below one address."""

    address: str
    images: str
    classes: str

    def load(self, network: Network) -> Table:
        return images_table(*(self._get(name, network) for name in (self.images, self.classes)))

    def _get(self, name: str, network: Network) -> NDArray[np.uint8]:
        try:
            return parse_idx(gzip.decompress(network.get(self.address + name)))
        except DAMAGE as error:
            msg = f"{name}: {error}"
            raise ValueError(msg) from error


@dataclass(frozen=True)
class OpenML:
    """A set of openml.org, which publishes an MD5 with it; `missing` stands for no value."""

    name: str
    version: int
    missing: float | None = None

    @property
    def address(self) -> str:
        return f"https://www.openml.org: {self.name}, version {self.version}"

    def load(self, network: Network) -> Table:
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
                    n_retries=network.n_retries,
                    delay=network.delay,
                )
        except (OSError, http.client.HTTPException) as error:
            msg = f"cannot download {self.address}: {error}"
            raise DownloadError(msg) from error
        except LookupError as error:
            msg = f"openml.org describes it without {error}"
            raise ValueError(msg) from error
        data = bunch.data.astype(np.float64)
        if self.missing is not None:
            data[np.isnan(data)] = self.missing
        return make_table(data, bunch.target, bunch.feature_names)
