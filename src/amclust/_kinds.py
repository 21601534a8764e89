"""Arrays and frames of other libraries: read as NumPy's or pandas', and answered in their own kind.

Arrays are those of DLPack (torch, CuPy, JAX, ...), on any device; frames are those of narwhals and
the tables of Arrow. None of these libraries is imported here: who gives a tensor has torch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from sklearn.utils._set_output import _get_output_config

P = ParamSpec("P")
Answer = TypeVar("Answer")


def is_tensor(X: Any) -> bool:
    """Whether X is a tensor of torch."""
    return _library(X) == "torch" and hasattr(X, "device")


def plain(X: Any) -> Any:
    """Return an array as NumPy has it, or a frame as its own library does; the rest as it is."""
    library = _library(X)
    if library == "narwhals" and hasattr(X, "to_native"):
        native = X.to_native()
        return plain(native) if _library(native) == "pyarrow" else native
    if library == "pyarrow" and hasattr(X, "to_pandas"):
        return X.to_pandas()
    return _as_numpy(X) if _is_array(X) else X


def like(X: Any, found: Any) -> Any:
    """Return an answer in the kind of X: arrays where it is one, frames where it is one."""
    if isinstance(found, tuple):
        return tuple(like(X, one) for one in found)
    if isinstance(found, np.ndarray):
        return _like_array(X, found) if _is_array(X) else found
    library = _library(X)
    if library == "narwhals" and hasattr(found, "columns"):
        parts = type(X).__module__.split(".")
        narwhals = _module(".".join(parts[:3] if "stable" in parts else parts[:1]))
        return narwhals.from_native(like(X.to_native(), found))
    if library == "pyarrow" and hasattr(found, "columns"):
        return _module("pyarrow").Table.from_pandas(found, preserve_index=False)
    return found


def in_kind(method: Callable[P, Answer]) -> Callable[P, Answer]:
    """Return a method of rows whose answers are of the kind that the rows are."""

    @wraps(method)
    def answering(*args: Any, **kwargs: Any) -> Any:
        estimator, X = args[0], args[1] if len(args) > 1 else kwargs.get("X")
        found = method(*args, **kwargs)
        if method.__name__ in ("transform", "fit_transform"):
            config: Any = _get_output_config("transform", estimator)
            if config["dense"] != "default":  # a frame was asked for, which scikit-learn makes
                return found
        return like(X, found)

    return cast("Callable[P, Answer]", answering)


def device_of(X: Any) -> Any:
    """Return the device that a tensor of torch is on; None: it is none."""
    return X.device if is_tensor(X) else None


def _library(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


def _module(name: str) -> Any:
    __import__(name)
    return sys.modules[name]


def _is_array(X: Any) -> bool:
    return hasattr(X, "__dlpack__") and not isinstance(X, np.ndarray | np.generic)


def _as_numpy(X: Any) -> Any:
    if is_tensor(X):
        if str(X.layout) != "torch.strided":
            msg = (
                f"X is a sparse tensor ({X.layout}): give a dense one, X.to_dense(), or a sparse "
                "matrix of SciPy."
            )
            raise ValueError(msg)
        values = X.detach().cpu()
        if str(values.dtype) in ("torch.bfloat16", "torch.float16"):
            values = values.float()
        return values.resolve_conj().resolve_neg().numpy()
    try:
        return np.from_dlpack(X)
    except (BufferError, RuntimeError, TypeError, ValueError):
        pass  # it lies on a device, or may not be written to
    if hasattr(X, "get"):  # CuPy
        return X.get()
    try:  # NumPy 2.1 asks for a copy
        return np.from_dlpack(X, device="cpu", copy=True)
    except (BufferError, RuntimeError, TypeError, ValueError):
        return np.asarray(X)


def _like_array(X: Any, values: Any) -> Any:
    if is_tensor(X):
        return _module("torch").from_numpy(np.ascontiguousarray(values)).to(X.device)
    if hasattr(X, "__array_namespace__"):
        return X.__array_namespace__().asarray(values, device=X.device)
    return values
