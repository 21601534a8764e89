"""A fitted ClAM on disk: data, not code.

A model file is a sealed zip (`_model_zip.py`) of header.json, which has versions, parameters,
numbers and names, and one .npy file an array. Nothing in it is ever executed, and what is read is
checked against what a fitted ClAM looks like.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy
import sklearn
from sklearn.utils.validation import check_is_fitted

from amclust._clam import ClAM
from amclust._files import atomic_write
from amclust._model_zip import Array, ModelFileError, damaged, read_sealed, sealed_bytes
from amclust._n_clusters import EVIDENCE_DTYPE
from amclust._training import RUN_DTYPE
from amclust._units import Whitening
from amclust._validation import as_numbers
from amclust._version import __version__

KIND = "amclust model"
FORMAT_VERSION = 1

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
    arrays = {
        name: getattr(model, name) for name in [*ARRAYS, *SOME_ARRAYS] if hasattr(model, name)
    }
    if model._fitted_metric == "mahalanobis":
        arrays |= {name: getattr(model._whitening, name.split(".")[1]) for name in WHITENING}
    arrays |= {f"parameter.{name}": array for name, array in parameter_arrays.items()}
    content = sealed_bytes(header, arrays)
    try:
        _restore(header, dict(arrays))
    except ValueError as error:  # better now than when it is needed
        msg = f"This model could not be loaded again: {error}"
        raise ValueError(msg) from error
    with atomic_write(path, overwrite=overwrite) as file:
        file.write(content)


def load_model(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model file that may come from a stranger.

    Raises
    ------
    ModelFileError
        If the file is damaged, no model, or written by a newer version.
    """
    header, arrays = read_sealed(path, lambda header: _check_version(header, path))
    try:
        model = _restore(header, arrays)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise damaged(path, f"it does not describe a fitted ClAM ({error})") from error
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
