"""Arrays in records: as text, in half precision."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from benchmarks.data import FloatArray


def pack_array(values: FloatArray) -> dict[str, Any]:
    """Write an array with its shape."""
    content = zlib.compress(np.ascontiguousarray(values, dtype="<f2").tobytes(), 9)
    return {"shape": list(values.shape), "float16": base64.b64encode(content).decode()}


def unpack_array(content: dict[str, Any]) -> FloatArray:
    """Read what `pack_array` wrote."""
    data = zlib.decompress(base64.b64decode(content["float16"]))
    return np.frombuffer(data, dtype="<f2").reshape(content["shape"]).astype(np.float64)
