"""A fitted ClAM on disk: data, not code.

A model file is a zip, not compressed, of header.json (versions, parameters, numbers, names) and one
.npy file an array. Its last 64 bytes are the SHA-256 of all before them, as the zip's comment: any
byte that changed is noticed. Nothing in a file is ever executed; what is read is checked against
what a fitted ClAM looks like, and needs no more memory than the file has bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
import zipfile
from collections.abc import Mapping
from numbers import Integral, Real
from typing import IO, Any, NamedTuple

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from amclust._clam import ClAM
from amclust._cluster_number import EVIDENCE_DTYPE
from amclust._files import atomic_write
from amclust._training import RUN_DTYPE
from amclust._units import Whitening
from amclust._validation import as_numbers
from amclust._version import __version__

KIND = "amclust model"
FORMAT_VERSION = 1
HEADER = "header.json"
# In a zip, the name of the first file begins at byte 30.
BEGINNING = 30 + len(HEADER)
SEAL_LENGTH = 64
# Objects made of JSON take many times its bytes.
LARGEST_HEADER = 64 * 2**20

Array = NDArray[Any]

NUMBERS = {
    "n_features_in_": int,
    "n_clusters_": int,
    "n_iter_": int,
    "_steps": int,
    "beta_": float,
    "loss_": float,
    "silhouette_": float,
    "_beta": float,
    "_length": float,
}
WORDS = {
    "_dtype": ("float32", "float64"),
    "_fitted_metric": ("euclidean", "cosine", "mahalanobis"),
    "_trained_objective": ("silhouette", "completion", "reconstruction"),
}
SCATTER = ("mean_square", "total_square")
# Type and shape of each array, in a model of k memories of d features and any number of rows n,
# runs r, epochs e, candidates c and recorded epochs m.
ARRAYS: dict[str, tuple[Any, str]] = {
    "cluster_centers_": (None, "kd"),  # in the type of the table
    "labels_": (np.int32, "n"),
    "weights_": (np.float64, "k"),
    "loss_curve_": (np.float64, "e"),
    "runs_": (RUN_DTYPE, "r"),
    "_memories": (np.float32, "kd"),
    "_log_weights": (np.float32, "k"),
    "_offset": (np.float64, "d"),
    "_scale": (np.float32, "d"),
    "_fill": (np.float32, "d"),
    "_moments": (np.float32, "2kd"),
    "_weight_moments": (np.float32, "2k"),
}
# Only some models have these.
SOME_ARRAYS: dict[str, tuple[Any, str]] = {
    "n_clusters_evidence_": (EVIDENCE_DTYPE, "c"),
    "recorded_epochs_": (np.int64, "m"),
    "recorded_memories_": (None, "mkd"),
}
WHITENING: dict[str, tuple[Any, str]] = {
    "_whitening.mean": (np.float64, "d"),
    "_whitening.forward": (np.float64, "dd"),
    "_whitening.backward": (np.float64, "dd"),
}


class ModelFileError(ValueError):
    """A file that is no model, is damaged, or was written by a newer amclust."""


class ModelFile(NamedTuple):
    """What a model file has."""

    model: ClAM
    extra: dict[str, Any]
    header: dict[str, Any]


def load(path: str | os.PathLike[str]) -> ClAM:
    """Read a model that :meth:`amclust.ClAM.save` or the command line has written.

    The file is data, not code: one from a stranger cannot execute anything.

    Parameters
    ----------
    path : str or path
        The model file.

    Returns
    -------
    model : ClAM
        The fitted model: it predicts bit for bit like the one that was saved, and `partial_fit`
        goes on from it.

    Raises
    ------
    ValueError
        If the file is damaged, is no model file, or was written by a newer amclust.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import amclust
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.amc")
    ...     amclust.ClAM(n_clusters=2, random_state=0).fit([[0], [1], [8], [9]]).save(path)
    ...     model = amclust.load(path)
    >>> model.predict([[2], [7]]).shape
    (2,)
    """
    return load_model(path).model


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    extra: Mapping[str, Any] | None = None,
    overwrite: bool = True,
) -> None:
    """Write a fitted model; `extra` is what else to keep, as JSON has it."""
    check_is_fitted(model)
    parameters, parameter_arrays = _encode_parameters(model.get_params(deep=False))
    names = getattr(model, "feature_names_in_", None)
    header = {
        "kind": KIND,
        "format_version": FORMAT_VERSION,
        "estimator": "ClAM",
        "versions": {
            "amclust": __version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "parameters": parameters,
        "attributes": {
            **{name: _number(getattr(model, name)) for name in NUMBERS},
            **{name: getattr(model, name) for name in WORDS},
            **{name: _number(model._scatter[name]) for name in SCATTER},
        },
        "feature_names": None if names is None else [str(name) for name in names],
        "extra": dict(extra or {}),
    }
    text = json.dumps(header, indent=1, allow_nan=False).encode("ascii")
    if len(text) > LARGEST_HEADER:
        msg = (
            f"The names and parameters of this model take {len(text):,} bytes as text; a model "
            f"file holds at most {LARGEST_HEADER:,}."
        )
        raise ValueError(msg)
    arrays = {
        name: getattr(model, name) for name in [*ARRAYS, *SOME_ARRAYS] if hasattr(model, name)
    }
    if model._fitted_metric == "mahalanobis":
        arrays |= {name: getattr(model._whitening, name.split(".")[1]) for name in WHITENING}
    arrays |= {f"parameter.{name}": array for name, array in parameter_arrays.items()}
    try:
        _restore(json.loads(text), dict(arrays))
    except ValueError as error:  # better now than when it is needed
        msg = f"This model could not be loaded again: {error}"
        raise ValueError(msg) from error
    with atomic_write(path, overwrite=overwrite) as file:
        file.write(_sealed(text, arrays))


def load_model(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model file that may come from a stranger.

    Raises
    ------
    ModelFileError
        If the file is damaged, no model, or written by a newer version.
    """
    with open(path, "rb") as file:
        size = _check_seal(file, path)
        try:
            with zipfile.ZipFile(file) as archive:
                return _read(archive, size, path)
        except ModelFileError:
            raise
        except (  # what the parts of a file made on purpose can raise
            ArithmeticError,
            AttributeError,
            EOFError,
            LookupError,
            MemoryError,
            RuntimeError,
            TypeError,
            ValueError,
            struct.error,
            zipfile.BadZipFile,
        ) as error:
            raise _damaged(path, f"{type(error).__name__}: {error}") from error


# --- the file -----------------------------------------------------------------------------------


def _sealed(header: bytes, arrays: dict[str, Array]) -> bytes:
    """Return the bytes of a model file; the same for the same model."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = b" " * SEAL_LENGTH
        archive.writestr(zipfile.ZipInfo(HEADER), header)
        for name, array in arrays.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), part.getvalue())
    content = buffer.getvalue()[:-SEAL_LENGTH]
    return content + hashlib.sha256(content).hexdigest().encode("ascii")


def _check_seal(file: IO[bytes], path: str | os.PathLike[str]) -> int:
    """Refuse what is no model file, or one of which any byte changed; return the size."""
    beginning = file.read(BEGINNING)
    if not (beginning.startswith(b"PK\x03\x04") and beginning.endswith(HEADER.encode("ascii"))):
        found = "it is empty" if not beginning else "it begins otherwise"
        msg = f"{os.fspath(path)} is not a model file of amclust: {found}."
        raise ModelFileError(msg)
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - SEAL_LENGTH))
    seal = file.read()
    file.seek(0)
    code, left = hashlib.sha256(), size - SEAL_LENGTH
    if seal.isalnum():  # a file cut short need not be read
        while left > 0 and (block := file.read(min(left, 2**20))):
            code.update(block)
            left -= len(block)
    if seal != code.hexdigest().encode("ascii"):
        reason = "its bytes do not match its checksum, so it was cut short or changed"
        raise _damaged(path, reason)
    file.seek(0)
    return size


def _damaged(path: str | os.PathLike[str], reason: str) -> ModelFileError:
    return ModelFileError(
        f"{os.fspath(path)} is damaged: {reason}. Take another copy, or fit the model again."
    )


def _read(archive: zipfile.ZipFile, size: int, path: str | os.PathLike[str]) -> ModelFile:
    members = {member.filename: member for member in archive.infolist()}
    if len(members) != len(archive.infolist()):
        raise _damaged(path, "a part appears twice")
    for member in members.values():  # compressed, a few bytes could fill the memory
        if member.compress_type != zipfile.ZIP_STORED:
            raise _damaged(path, f"its part {member.filename!r} is compressed")
    if sum(member.file_size for member in members.values()) > size:
        raise _damaged(path, "its parts declare more bytes than it has")
    if members[HEADER].file_size > LARGEST_HEADER:
        raise _damaged(path, f"its header is larger than {LARGEST_HEADER:,} bytes")
    header = json.loads(archive.read(HEADER))
    _check_version(header, path)
    arrays = {
        name.removesuffix(".npy"): _read_array(archive.read(name))
        for name in members
        if name != HEADER
    }
    try:
        model = _restore(header, arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, f"it does not describe a fitted ClAM ({error})") from error
    return ModelFile(model, header["extra"], header)


def _check_version(header: Any, path: str | os.PathLike[str]) -> None:
    if not isinstance(header, dict) or header.get("kind") != KIND:
        msg = f"{os.fspath(path)} is not a model file of amclust: its header says otherwise."
        raise ModelFileError(msg)
    there, writer = header["format_version"], header["versions"]["amclust"]
    unknown = sorted(set(header["parameters"]) - set(ClAM._get_param_names()))
    if there > FORMAT_VERSION or unknown:
        why = (
            f"has format {there}, this version ({__version__}) reads formats up to {FORMAT_VERSION}"
            if there > FORMAT_VERSION
            else f"has parameters that this version ({__version__}) does not know: "
            f"{', '.join(unknown)}"
        )
        msg = (
            f"{os.fspath(path)} was written by a newer amclust ({writer}): it {why}. "
            "Upgrade: pip install --upgrade amclust"
        )
        raise ModelFileError(msg)


def _read_array(content: bytes) -> Array:
    """Read a .npy file whose declared size is that of its bytes."""
    file = io.BytesIO(content)
    if np.lib.format.read_magic(file) != (1, 0):
        msg = "an array has an unknown format"
        raise ValueError(msg)
    shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.hasobject or fortran_order:
        msg = "an array has objects, or columns first"
        raise ValueError(msg)
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(content) - file.tell():
        msg = f"an array declares the shape {shape}, which does not fit its bytes"
        raise ValueError(msg)
    # A copy: arrays of a model can be written to.
    return np.frombuffer(content, dtype, offset=file.tell()).reshape(shape).copy()


# --- the model ----------------------------------------------------------------------------------


def _restore(header: dict[str, Any], arrays: dict[str, Array]) -> ClAM:
    """Return the model; everything is checked, since the core trusts what it is given."""
    model = ClAM(**_decode_parameters(header["parameters"], arrays))
    model._validate_params()
    attributes = header["attributes"]
    state: dict[str, Any] = {name: kind(attributes[name]) for name, kind in NUMBERS.items()}
    for name, allowed in WORDS.items():
        state[name] = attributes[name]
        _require(state[name] in allowed, f"{name} is {state[name]!r}")
    state["_scatter"] = {name: float(attributes[name]) for name in SCATTER}
    k, d = state["n_clusters_"], state["n_features_in_"]
    lengths = {"k": k, "d": d, "2": 2, "e": state["n_iter_"]}
    wanted = ARRAYS | {name: SOME_ARRAYS[name] for name in SOME_ARRAYS if name in arrays}
    if state["_fitted_metric"] == "mahalanobis":
        wanted |= WHITENING
    _require(set(arrays) == set(wanted), "arrays are missing, or there are others")
    for name, (dtype, letters) in wanted.items():
        state[name] = _checked_array(
            name,
            arrays[name],
            np.dtype(state["_dtype"] if dtype is None else dtype),
            letters,
            lengths,
        )
    if state["_fitted_metric"] == "mahalanobis":
        state["_whitening"] = Whitening(*(state.pop(name) for name in WHITENING))
    state["_n_features_out"] = k
    names = header["feature_names"]
    if names is not None:
        _require(
            isinstance(names, list)
            and len(names) == d
            and all(type(name) is str for name in names),
            "feature_names do not fit",
        )
        state["feature_names_in_"] = np.array(names, dtype=object)
    labels, runs = state["labels_"], state["runs_"]
    _require(k >= 1 and d >= 1, "there are no memories")
    _require(0 <= state["_steps"] < 2**31, f"_steps is {state['_steps']}")
    _require(not len(labels) or 0 <= labels.min() <= labels.max() < k, "labels_ are out of range")
    _require(np.count_nonzero(runs["chosen"]) == 1, "not one run is chosen")
    for name in ("_beta", "_length", "beta_"):
        _require(0 < state[name] < math.inf, f"{name} is {state[name]}")
    _require(isinstance(header["extra"], dict), "extra is no dictionary")
    model.__dict__.update(state)
    return model


def _checked_array(
    name: str, array: Array, dtype: np.dtype[Any], letters: str, lengths: dict[str, int]
) -> Array:
    fits = array.ndim == len(letters) and all(
        lengths.setdefault(letter, length) == length
        for letter, length in zip(letters, array.shape, strict=True)
    )
    _require(fits, f"{name} has the shape {array.shape}")
    _require(array.dtype == dtype, f"{name} has the type {array.dtype}")
    if set(letters) & {"k", "d"}:
        _require(bool(np.isfinite(array).all()), f"{name} is not finite")
    return array


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ValueError(otherwise)


def _number(value: Any) -> int | float | str:
    """Return a number as JSON has it; it knows neither NaN nor infinity."""
    if isinstance(value, Integral):
        return int(value)
    return float(value) if math.isfinite(value) else str(float(value))


def _encode_parameters(parameters: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Split parameters into what goes into the header and arrays."""
    values: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    for name, value in parameters.items():
        if name == "random_state" and not isinstance(value, Integral):
            values[name] = None  # a generator's future draws are not kept
        elif value is None or isinstance(value, bool | np.bool_):
            values[name] = None if value is None else bool(value)
        elif isinstance(value, str) or name == "device":
            values[name] = str(value)
        elif isinstance(value, Real):
            values[name] = int(value) if isinstance(value, Integral) else float(value)
        elif isinstance(value, range):
            values[name] = {"range": [value.start, value.stop, value.step]}
        elif isinstance(value, list | tuple):
            values[name] = {"list": np.asarray(value).tolist()}
        else:
            array = np.asarray(value)
            arrays[name] = array if array.dtype.kind in "iuf" else as_numbers(name, array)
            values[name] = {"array": True}
    return values, arrays


def _decode_parameters(values: dict[str, Any], arrays: dict[str, Array]) -> dict[str, Any]:
    """Return parameters as they were given; their arrays are taken out of `arrays`."""
    parameters = dict(values)
    for name, value in values.items():
        if not isinstance(value, dict):
            continue
        ((kind, content),) = value.items()
        if kind == "range":
            start, stop, step = content
            parameters[name] = range(start, stop, step)
        elif kind == "list":
            _require(isinstance(content, list), f"{name} is no list")
            parameters[name] = content
        else:
            _require(kind == "array", f"{name} is {value}")
            parameters[name] = arrays.pop(f"parameter.{name}")
            _require(parameters[name].dtype.kind in "iuf", f"{name} is no array of numbers")
    return parameters
