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
from typing import Any, NamedTuple, NotRequired, TypedDict, cast

import numpy as np
import scipy
import sklearn
from sklearn.utils.validation import check_is_fitted

from amclust._estimator import ClAM, fitted_attributes
from amclust._geometry import Geometry, Whitening
from amclust._metrics import METRICS, NATIVE_METRICS, name_metric
from amclust._n_clusters import EVIDENCE_DTYPE
from amclust._network import Network
from amclust._objectives import AUTO
from amclust._parameters import PARAMETERS, Parameters, check_parameters
from amclust._training import RUN_DTYPE, OptimizerState
from amclust._validation import as_numbers
from amclust._version import __version__
from amclust.io.container import Array, ModelFileError, damaged, read_sealed, sealed_bytes
from amclust.io.files import atomic_write

KIND = "amclust model"
FORMAT_VERSION = 1

# Type and shape of each array, in a model of k memories of d features and any number of rows n,
# runs r, epochs e, candidates c and recorded epochs m.
ARRAYS: dict[str, tuple[Any, str]] = {
    "network.memories": (np.float32, "kd"),
    "network.log_weights": (np.float32, "k"),
    "network.assembly": (np.int32, "k"),
    "geometry.offset": (np.float64, "d"),
    "geometry.scale": (np.float32, "d"),
    "geometry.fill": (np.float32, "d"),
    "optimizer.moments": (np.float32, "2kd"),
    "optimizer.weight_moments": (np.float32, "2k"),
    "labels_": (np.int32, "n"),
    "loss_curve_": (np.float64, "e"),
    "runs_": (RUN_DTYPE, "r"),
}
# Only some models have these.
SOME_ARRAYS: dict[str, tuple[Any, str]] = {
    "n_clusters_evidence_": (EVIDENCE_DTYPE, "c"),
    "recorded_epochs_": (np.int64, "m"),
    "recorded_memories_": (None, "mkd"),  # in the type of the table
}
WHITENING: dict[str, tuple[Any, str]] = {
    "geometry.whitening.mean": (np.float64, "d"),
    "geometry.whitening.forward": (np.float64, "dd"),
    "geometry.whitening.backward": (np.float64, "dd"),
}
# Models whose energy the core does not have; the energy's own are "energy.<name>".
ENERGY: dict[str, tuple[Any, str]] = {"optimizer.energy_moments": (np.float32, "2p")}


# As JSON has it, which knows neither NaN nor infinity.
Number = int | float | str


class NetworkHeader(TypedDict):
    """The numbers of a network."""

    beta: Number
    step_size: Number
    n_steps: int
    fills_from_mask: bool


class GeometryHeader(TypedDict):
    """The words and numbers of a geometry."""

    metric: str
    dtype: str
    length: Number
    scaling: NotRequired[str | None]  # files of earlier versions have none


class OptimizerHeader(TypedDict):
    """The words and numbers of an optimizer's state."""

    steps: Number
    mean_square: Number
    total_square: Number
    seed: Number
    objective: str


class Header(TypedDict):
    """All of a model file that is not an array."""

    kind: str
    format_version: int
    estimator: str
    versions: dict[str, str]
    parameters: Parameters
    network: NetworkHeader
    geometry: GeometryHeader
    optimizer: OptimizerHeader
    loss: Number
    silhouette: Number
    feature_names: Any  # a list of str, or None
    extra: dict[str, Any]


class ModelFile(NamedTuple):
    """What a model file has."""

    model: ClAM
    extra: dict[str, Any]
    header: Header


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
    for metric in (model.metric, model.network_.geometry.metric):
        if not isinstance(metric, str):
            names = ", ".join(repr(name) for name in METRICS)
            msg = (
                f"A model with metric={name_metric(metric)} cannot be saved: a model file holds "
                f"data, not code. Pickle the model, or fit it with a metric by name: {names}."
            )
            raise ValueError(msg)
    parameters, parameter_arrays = _encode_parameters(model.get_params(deep=False))
    network: Network = model.network_
    geometry, optimizer = network.geometry, model.optimizer_state_
    feature_names = geometry.feature_names
    header: Header = {
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
        "network": {
            "beta": _number(network.beta),
            "step_size": _number(network.step_size),
            "n_steps": int(network.n_steps),
            "fills_from_mask": network.fills_from_mask,
        },
        "geometry": {
            "metric": geometry.metric,
            "dtype": geometry.dtype,
            "length": _number(geometry.length),
            "scaling": geometry.scaling,
        },
        "optimizer": {
            "steps": _number(optimizer.steps),
            "mean_square": _number(optimizer.mean_square),
            "total_square": _number(optimizer.total_square),
            "seed": _number(optimizer.seed),
            "objective": optimizer.objective,
        },
        "loss": _number(model.loss_),
        "silhouette": _number(model.silhouette_),
        "feature_names": None if feature_names is None else list(feature_names),
        "extra": dict(extra or {}),
    }
    wanted = [*ARRAYS, *(name for name in SOME_ARRAYS if hasattr(model, name))]
    parts = {"network": network, "geometry": geometry, "optimizer": optimizer}
    arrays = {name: _part(model, parts, name) for name in wanted}
    if geometry.whitening is not None:
        arrays |= {name: _part(model, parts, name) for name in WHITENING}
    if network.energy_function is not None:
        from amclust.backends.torch import energy_arrays

        arrays |= {name: _part(model, parts, name) for name in ENERGY}
        values = energy_arrays(network.energy_function)
        arrays |= {f"energy.{name}": array for name, array in values.items()}
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
    found, arrays = read_sealed(path, lambda header: _check_version(header, path))
    header = cast(Header, found)  # what it says is checked below
    try:
        model = _restore(header, arrays)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise damaged(path, f"it does not describe a fitted ClAM ({error})") from error
    return ModelFile(model, header["extra"], header)


def _part(model: Any, parts: Mapping[str, object], name: str) -> Array:
    """Return an array by its dotted name."""
    owner, _, rest = name.partition(".")
    found: Any = parts[owner] if rest else model
    for attribute in (rest or owner).split("."):
        found = getattr(found, attribute)
    return found


def _check_version(header: Any, path: str | os.PathLike[str]) -> None:
    if not isinstance(header, dict) or header.get("kind") != KIND:
        msg = f"{os.fspath(path)} is not a model file of amclust: its header says otherwise."
        raise ModelFileError(msg)
    there, writer = header["format_version"], header["versions"]["amclust"]
    unknown = sorted(set(header["parameters"]) - set(PARAMETERS))
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


def _restore(header: Header, arrays: dict[str, Array]) -> ClAM:
    """Return the model; everything is checked, since the core trusts what it is given."""
    parameters = _decode_parameters(header["parameters"], arrays)
    # An objective of one's own need not be known here: to predict, a model needs none.
    _word("objective", parameters.get("objective", AUTO))
    check_parameters({name: parameters[name] for name in parameters if name != "objective"})
    energy = {name: arrays.pop(name) for name in list(arrays) if name.startswith("energy.")}
    found = _checked_arrays(header, arrays)
    geometry = _geometry(header, found)
    network = _network(header["network"], geometry, found, energy)
    k, labels, runs = network.n_memories, found["labels_"], found["runs_"]
    _require(k >= 1 and network.n_features >= 1, "there are no memories")
    least = 0 if geometry.is_native else -1  # noise
    inside = not len(labels) or least <= labels.min() <= labels.max() < k
    _require(inside, "labels_ are out of range")
    _require(np.count_nonzero(runs["chosen"]) == 1, "not one run is chosen")
    _require(isinstance(header["extra"], dict), "extra is no dictionary")
    model = ClAM(**parameters)
    some = {name: found[name] for name in SOME_ARRAYS if name in found}
    model.__dict__.update(
        fitted_attributes(
            network,
            _optimizer(header["optimizer"], found),
            runs=runs,
            labels=labels,
            loss=float(header["loss"]),
            loss_curve=found["loss_curve_"],
            silhouette=float(header["silhouette"]),
        )
        | some
        | {"n_features_in_": network.n_features}
    )
    if geometry.feature_names is not None:
        model.feature_names_in_ = np.array(geometry.feature_names, dtype=object)
    return model


def _checked_arrays(header: Header, arrays: dict[str, Array]) -> dict[str, Array]:
    geometry = header["geometry"]
    _require(geometry["dtype"] in ("float32", "float64"), f"dtype is {geometry['dtype']!r}")
    wanted = ARRAYS | {name: SOME_ARRAYS[name] for name in SOME_ARRAYS if name in arrays}
    metric = geometry["metric"]
    _require(metric in METRICS, f"metric is {metric!r}")
    if METRICS[metric].whitens:
        wanted |= WHITENING
    if metric not in NATIVE_METRICS:
        wanted |= ENERGY
    _require(set(arrays) == set(wanted), "arrays are missing, or there are others")
    lengths = {"2": 2}
    return {
        name: _checked_array(
            name,
            arrays[name],
            np.dtype(geometry["dtype"] if dtype is None else dtype),
            letters,
            lengths,
        )
        for name, (dtype, letters) in wanted.items()
    }


def _geometry(header: Header, found: dict[str, Array]) -> Geometry:
    values = header["geometry"]
    metric, length = values["metric"], float(values["length"])
    _require(0 < length < math.inf, f"length is {length}")
    names, d = header["feature_names"], len(found["geometry.offset"])
    fits = names is None or (
        isinstance(names, list) and len(names) == d and all(type(name) is str for name in names)
    )
    _require(fits, "feature_names do not fit")
    whitens = METRICS[metric].whitens
    whitening = Whitening(*(found[name] for name in WHITENING)) if whitens else None
    by_column = whitening is None and not METRICS[metric].spherical
    # Earlier versions did not say: then it is what the parameter says.
    scaling = values.get("scaling", header["parameters"].get("scale") if by_column else None)
    known = scaling is None or (by_column and scaling in ("standard", "robust"))
    _require(known, f"scaling is {scaling!r}")
    return Geometry(
        metric,
        values["dtype"],
        found["geometry.offset"],
        found["geometry.scale"],
        found["geometry.fill"],
        length,
        whitening,
        None if names is None else tuple(names),
        scaling,
    )


def _network(
    values: NetworkHeader,
    geometry: Geometry,
    found: dict[str, Array],
    energy_values: dict[str, Array],
) -> Network:
    beta, step_size, n_steps = float(values["beta"]), float(values["step_size"]), values["n_steps"]
    _require(0 < beta < math.inf, f"beta is {beta}")
    check_parameters({"step_size": step_size, "n_steps": n_steps})
    assembly = found["network.assembly"]
    clusters = np.unique(assembly)
    _require(np.array_equal(clusters, np.arange(len(clusters))), "assembly is not of clusters")
    _require(isinstance(values["fills_from_mask"], bool), "fills_from_mask is neither")
    energy = None
    if geometry.is_native:
        _require(not energy_values, "the core has no such energy")
    else:
        from amclust.backends.torch import restored_energy

        named = {name.removeprefix("energy."): array for name, array in energy_values.items()}
        energy = restored_energy(geometry, len(assembly), named)
    return Network(
        found["network.memories"],
        found["network.log_weights"],
        beta,
        step_size,
        n_steps,
        geometry,
        assembly,
        values["fills_from_mask"],
        energy,
    )


def _optimizer(values: OptimizerHeader, found: dict[str, Array]) -> OptimizerState:
    steps, seed = int(values["steps"]), int(values["seed"])
    _require(0 <= steps < 2**31, f"steps is {steps}")
    _require(0 <= seed < 2**31, f"seed is {seed}")
    return OptimizerState(
        found["optimizer.moments"],
        found["optimizer.weight_moments"],
        steps,
        float(values["mean_square"]),
        float(values["total_square"]),
        seed,
        _word("objective", values["objective"]),
        found.get("optimizer.energy_moments", np.zeros((2, 0), np.float32)),
    )


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


def _word(name: str, value: Any) -> str:
    _require(isinstance(value, str), f"{name} is {value!r}")
    return str(value)


def _number(value: Any) -> Number:
    """Return a number as JSON has it; it knows neither NaN nor infinity."""
    if isinstance(value, Integral):
        return int(value)
    return float(value) if math.isfinite(value) else str(float(value))


def _encode_parameters(parameters: Parameters) -> tuple[Parameters, dict[str, Array]]:
    """Split parameters into what goes into the header and arrays."""
    values: Parameters = {}
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


def _decode_parameters(values: Parameters, arrays: dict[str, Array]) -> Parameters:
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
