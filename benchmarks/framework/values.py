"""Plain values: what JSON holds, how it is named by a hash, and arrays as text."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from typing import Any

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
    """Read what `pack_labels` wrote."""
    return np.frombuffer(_unpack(text), dtype=np.uint8)


def pack_array(values: NDArray[Any]) -> dict[str, Any]:
    """Write an array of numbers with its shape, in half precision."""
    return {"shape": list(values.shape), "float16": _pack(np.asarray(values, dtype="<f2"))}


def unpack_array(content: dict[str, Any]) -> NDArray[np.float64]:
    """Read what `pack_array` wrote."""
    values = np.frombuffer(_unpack(content["float16"]), dtype="<f2")
    return values.reshape(content["shape"]).astype(np.float64)


def _pack(values: NDArray[Any]) -> str:
    content = np.ascontiguousarray(values).tobytes()
    return base64.b64encode(zlib.compress(content, 9)).decode()


def _unpack(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))
