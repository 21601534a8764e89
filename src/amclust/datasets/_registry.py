"""The sets: what was published of each, and where its original is (``registry.json``).

The checksums of original bytes in ``registry.json`` are those that other public loaders of these
sets check: SHA-256 of zoo and Fashion-MNIST, MD5 of USPS; openml.org publishes an MD5 with each of
its sets. For the other originals none is known, so theirs is null, and downloads are compared by
the content of the table (``sha256``, ``class_profile``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from amclust.datasets._originals import FORMATS, IdxFiles, Original


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set without loading it.

    Parameters
    ----------
    name : str
        What `load_dataset` calls it.

    title : str
        The name in the paper's tables; of a set that is not in them, the usual name.

    n_samples, n_features, n_classes : int
        The published shape.

    origin : str
        Who published it.

    source : object or None, default=None
        The published files.

    note : str, default=""
        How the set differs from its original, or what it stands for.

    feature_names : tuple of str, default=()
        Published names of the features.

    dtype : str, default="float64"
        Type of the values.

    sha256 : str or None, default=None
        Hash of the points, for sets whose digits are the same wherever they come from.

    class_profile : tuple of (int, float), default=()
        Rows and mean value of every class; empty if not known.

    Attributes
    ----------
    files : tuple of str
        Names of its files in a data folder.

    is_idx : bool
        Whether its files are idx files of images and classes, not a CSV.

    See Also
    --------
    load_dataset : Load one of the sets.

    Examples
    --------
    >>> from amclust.datasets import DATASETS
    >>> DATASETS["ecoli"].title, DATASETS["ecoli"].feature_names[:2]
    ('Ecoli', ('mcg', 'gvh'))
    >>> print(DATASETS["gcm"].describe())
    GCM: 190 points, 16063 features, 14 classes. ...
    """

    name: str
    title: str
    n_samples: int
    n_features: int
    n_classes: int
    origin: str
    source: Original | None = field(default=None, repr=False, hash=False)
    note: str = field(default="", repr=False)
    feature_names: tuple[str, ...] = field(default=(), repr=False)
    dtype: str = field(default="float64", repr=False)
    sha256: str | None = field(default=None, repr=False)
    class_profile: tuple[tuple[int, float], ...] = field(default=(), repr=False)

    @property
    def is_idx(self) -> bool:
        """Whether its files are idx files of images and classes, not a CSV."""
        return isinstance(self.source, IdxFiles)

    @property
    def files(self) -> tuple[str, ...]:
        """Names of its files in a data folder."""
        if isinstance(self.source, IdxFiles):
            return tuple(path.name for path in self.source.paths(Path()))
        return (f"{self.name}.csv.gz",)

    def describe(self) -> str:
        """Say in words what the set is and where it comes from."""
        shape = f"{self.n_samples} points, {self.n_features} features, {self.n_classes} classes"
        place = self.source.address if self.source else ""
        parts = (f"{self.title}: {shape}.", f"From {self.origin}.", self.note, place)
        return "\n".join(part for part in parts if part)


def _make_info(name: str, entry: dict[str, Any]) -> DatasetInfo:
    source = entry.pop("source", None)
    entry["feature_names"] = tuple(entry.get("feature_names", ()))
    entry["class_profile"] = tuple(map(tuple, entry.get("class_profile", ())))
    return DatasetInfo(name, source=source and FORMATS[source.pop("format")](**source), **entry)


_REGISTRY = json.loads(Path(__file__).with_name("registry.json").read_text(encoding="utf-8"))

DATASETS: Mapping[str, DatasetInfo] = MappingProxyType(
    {name: _make_info(name, entry) for name, entry in _REGISTRY.items()}
)
"""Every set by its name."""

NAMES = tuple(DATASETS)[:12]
"""The twelve sets of the paper, in the order of its tables."""
