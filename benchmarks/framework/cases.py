"""A case, which is what is measured, the record of what came of it, and their plain values."""

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray


def plain(content: Any) -> Any:
    """Return the content as JSON holds it: lists for tuples, null for NaN and infinities."""
    if isinstance(content, (np.ndarray, np.generic)):
        return plain(content.tolist())
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {key: plain(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [plain(value) for value in content]
    return content


def to_json(content: Any, *, sort_keys: bool = False) -> str:
    """Write plain values in one line; floats are read back to the last bit."""
    return json.dumps(plain(content), sort_keys=sort_keys, allow_nan=False)


def short_hash(content: Any) -> str:
    """Name plain values by a few characters, whatever the order of their keys."""
    return hashlib.sha256(to_json(content, sort_keys=True).encode()).hexdigest()[:12]


def pack_labels(labels: NDArray[np.integer[Any]]) -> str:
    """Write a partition into at most 256 clusters, numbered by their first rows, as text."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    return _pack(order[codes].astype(np.uint8))


def unpack_labels(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(_unpack(text), dtype=np.uint8)


def pack_array(values: NDArray[Any]) -> dict[str, Any]:
    """Write an array of numbers with its shape, in half precision."""
    return {"shape": list(values.shape), "float16": _pack(np.asarray(values, dtype="<f2"))}


def unpack_array(content: dict[str, Any]) -> NDArray[np.float64]:
    values = np.frombuffer(_unpack(content["float16"]), dtype="<f2")
    return values.reshape(content["shape"]).astype(np.float64)


def _pack(values: NDArray[Any]) -> str:
    content = np.ascontiguousarray(values).tobytes()
    return base64.b64encode(zlib.compress(content, 9)).decode()


def _unpack(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


class Key(Protocol):
    """What names a case among those of its benchmark: a NamedTuple of texts and integers."""

    def __hash__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def _asdict(self) -> dict[str, Any]: ...


K = TypeVar("K", bound=Key)


@dataclass(frozen=True)
class Case(Generic[K]):
    """What is measured.

    The `key` names it, for instance by set, method and seed. The `definition` says everything that
    is chosen about it, as plain values: a record with another one is out of date. `data` is a
    fingerprint of the data, None where they are made or not at hand.
    """

    key: K
    definition: dict[str, Any] = field(default_factory=dict)
    data: str | None = None

    @cached_property
    def hash(self) -> str:
        return short_hash(self.definition)

    def __str__(self) -> str:
        return " ".join(map(str, self.key))


@dataclass(frozen=True)
class Record(Generic[K]):
    """What came of a case.

    `results` are plain values, `seconds` what it took without what an interrupt threw away,
    `environment` is that of `describe_environment`, and `date` in ISO format and UTC (empty where
    nobody wrote it down).
    """

    case: Case[K]
    results: dict[str, Any]
    seconds: float
    environment: dict[str, Any]
    date: str = ""

    @property
    def key(self) -> K:
        return self.case.key

    def number(self, name: str) -> float:
        """Give one of the results; NaN for a number that JSON could not hold."""
        value = self.results[name]
        return math.nan if value is None else float(value)

    def is_of(self, case: Case[K]) -> bool:
        """Whether this is still what the case asks for; unknown data are not compared."""
        same_data = None in (self.case.data, case.data) or self.case.data == case.data
        return self.key == case.key and self.case.hash == case.hash and same_data
