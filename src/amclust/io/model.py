"""A fitted ClAM on disk: data, not code.

The header has parameters, numbers and names, the arrays are those of the network, the optimizer and
the fitted attributes. What is read is checked against what a fitted ClAM looks like.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import is_dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeVar, get_type_hints

import numpy as np
from sklearn.utils.validation import check_is_fitted

from amclust._assemblies import EVIDENCE_DTYPE as SHAPE_DTYPE
from amclust._assemblies import ShapeEvidence
from amclust._categories import Categories
from amclust._completion import Completion
from amclust._estimator import ClAM, columns_of, fitted_attributes
from amclust._geometry import Geometry, Whitening
from amclust._metrics import METRICS, name_metric
from amclust._n_clusters import EVIDENCE_DTYPE
from amclust._network import Network
from amclust._objectives import AUTO, objective_name
from amclust._parameters import PARAMETERS, Parameters, check_parameters
from amclust._runs import RUN_DTYPE, OptimizerState
from amclust._validation import as_numbers
from amclust._version import __version__
from amclust._winsorising import Limits
from amclust.io.container import (
    Array,
    Header,
    Kind,
    check_arrays,
    checked,
    newer,
    read,
    require,
    write,
)
from amclust.io.soundness import check_model

T = TypeVar("T")

MODEL = Kind("model", "a model file of amclust", "Take another copy, or fit the model again.")

# Type and shape of each array, in a model of k memories of d features and any number of rows n,
# restarts r, epochs e, candidates c and s, recorded epochs m, joins j, eigenvalues v,
# columns u of weight 0 and parameters p of an energy.
ARRAYS: dict[str, tuple[Any, str]] = {
    "network.memories": (np.float32, "kd"),
    "network.log_weights": (np.float32, "k"),
    "network.assembly": (np.int32, "k"),
    "network.geometry.offset": (np.float64, "d"),
    "network.geometry.scale": (np.float32, "d"),
    "network.geometry.fill": (np.float32, "d"),
    "optimizer.moments": (np.float32, "2kd"),
    "optimizer.weight_moments": (np.float32, "2k"),
    "optimizer.energy_moments": (np.float32, "2p"),
    "labels_": (np.int32, "n"),
    "loss_curve_": (np.float64, "e"),
    "runs_": (RUN_DTYPE, "r"),
}
# Only some models have these.
WHITENING: dict[str, tuple[Any, str]] = {
    "network.geometry.whitening.mean": (np.float64, "d"),
    "network.geometry.whitening.forward": (np.float64, "dd"),
    "network.geometry.whitening.backward": (np.float64, "dd"),
}
# What missing values are likely to be: g memories, h covariances, i mixtures, of these f with q
# factors.
COMPLETION: dict[str, tuple[Any, str]] = {
    f"network.geometry.completion.{name}": (kind, letters)
    for name, kind, letters in [
        ("mean", np.float64, "d"),
        ("spread", np.float64, "d"),
        ("known", np.float64, "d"),
        ("parts", np.float64, "g"),
        ("means", np.float64, "gd"),
        ("mixture", np.int32, "g"),
        ("precisions", np.float64, "hdd"),
        ("n_covariances", np.int32, "i"),
        ("loadings", np.float64, "fdq"),
        ("noise", np.float64, "fd"),
    ]
}
OPTIONAL: dict[str, tuple[Any, str]] = {
    "n_clusters_evidence_": (EVIDENCE_DTYPE, "c"),
    "recorded_epochs_": (np.int64, "m"),
    "recorded_memories_": (None, "mkd"),  # in the type of the table
    "merge_tree_": (np.float64, "j4"),
    "network.sizes": (np.float64, "k"),
    "network.max_energy": (np.float64, "k"),
    "network.ignored_means": (np.float64, "ku"),
    "network.geometry.low": (np.float64, "d"),
    "network.geometry.high": (np.float64, "d"),
    **{
        f"network.geometry.limits.{name}": (np.float64, "d")
        for name in ("low", "high", "believed_low", "believed_high")
    },
    "shape_evidence.table": (SHAPE_DTYPE, "s"),
    "shape_evidence.eigenvalues": (np.float64, "v"),
}
# What fields are in files of format 1, which does not have them.
NEW = {
    "sizes": None,
    "reads_completed": True,
    "low": None,
    "high": None,
    "limits": None,
    "max_energy": None,
    "ignored_means": None,
    "categories": None,
    "log_levels": False,
}
# Types of fields that are in the header as they are.
PLAIN = (bool, int, float, str)
# The arrays of an energy that the core does not have, and those of parameters.
ENERGY, PARAMETER = "energy.", "parameter."


class ModelFile(NamedTuple):
    """What a model file has."""

    model: ClAM
    extra: Header
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
    network: Network = model.network_
    for metric in (model.metric, network.geometry.metric):
        if not isinstance(metric, str):
            names = ", ".join(repr(name) for name in METRICS)
            msg = (
                f"A model with metric={name_metric(metric)} cannot be saved: a model file holds "
                f"data, not code. Pickle the model, or fit it with a metric by name: {names}."
            )
            raise ValueError(msg)
    parameters, arrays = _encode_parameters(model.get_params(deep=False))
    network_values, network_arrays = _split("network", network)
    optimizer_values, optimizer_arrays = _split("optimizer", model.optimizer_state_)
    header = {
        "parameters": parameters,
        "network": network_values,
        "optimizer": optimizer_values,
        "loss": float(model.loss_),
        "silhouette": float(model.silhouette_),
        "inertia": getattr(model, "inertia_", None),
        "extra": dict(extra or {}),
    }
    arrays |= network_arrays | optimizer_arrays
    own = [name for name in ARRAYS | OPTIONAL if "." not in name and hasattr(model, name)]
    arrays |= {name: getattr(model, name) for name in own}
    if hasattr(model, "shape_evidence_"):
        arrays |= _split("shape_evidence", model.shape_evidence_)[1]
    if network.energy_function is not None:
        from amclust.backends.torch import energy_arrays

        values = energy_arrays(network.energy_function)
        arrays |= {f"{ENERGY}{name}": array for name, array in values.items()}
    try:
        _restore(header, dict(arrays))
    except ValueError as error:  # better now than when it is needed
        msg = f"This model could not be loaded again: {error}"
        raise ValueError(msg) from error
    write(path, MODEL, header, arrays, overwrite=overwrite)


def load_model(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model file that may come from a stranger; FileFormatError tells what is wrong."""
    shown = os.fspath(path)
    header, arrays = read(path, MODEL, shown)
    with checked(MODEL, shown):
        names = {name.removeprefix(PARAMETER) for name in arrays if name.startswith(PARAMETER)}
        if unknown := sorted((names | set(header["parameters"])) - set(PARAMETERS)):
            reason = f"parameters that this version ({__version__}) does not know: "
            raise newer(shown, header["versions"]["amclust"], reason + ", ".join(unknown))
        model = _restore(header, arrays)
    return ModelFile(model, header["extra"], header)


def _restore(header: Header, arrays: dict[str, Array]) -> ClAM:
    """Return the model; everything is checked, since the core trusts what it is given."""
    parameters = _decode_parameters(header["parameters"], arrays)
    # An objective of one's own need not be known here: to predict, a model needs none.
    require(isinstance(parameters.get("objective", AUTO), str), "objective is no text")
    check_parameters({name: parameters[name] for name in parameters if name != "objective"})
    parts = [name for name in arrays if name.startswith(ENERGY)]
    energy_values = {name.removeprefix(ENERGY): arrays.pop(name) for name in parts}
    values = header["network"]
    _check_arrays(arrays, values["geometry"])
    check_parameters({name: values[name] for name in ("step_size", "n_steps")})
    geometry, energy = _geometry(values["geometry"], arrays), None
    if geometry.is_native:
        require(not energy_values, "the core has no such energy")
    else:
        from amclust.backends.torch import restored_energy

        energy = restored_energy(geometry, len(arrays["network.memories"]), energy_values)
    network = _join(Network, "network", values, arrays, geometry=geometry, energy_function=energy)
    optimizer = _join(OptimizerState, "optimizer", header["optimizer"], arrays)
    for name in ("steps", "seed"):
        require(0 <= getattr(optimizer, name) < 2**31, f"{name} is {getattr(optimizer, name)}")
    check_model(network, optimizer)
    labels, runs = arrays["labels_"], arrays["runs_"]
    has_noise = network.max_energy is not None or not geometry.is_native
    least = -1 if has_noise else 0
    inside = not len(labels) or least <= labels.min() <= labels.max() < network.n_clusters
    require(inside, "labels_ are out of range")
    require(np.count_nonzero(runs["chosen"]) == 1, "not one restart is chosen")
    require(isinstance(header["extra"], dict), "extra is no dictionary")
    inertia = header.get("inertia")  # not in files of versions before it
    sound = inertia is None or (type(inertia) is float and 0 <= inertia < math.inf)
    require(sound, f"inertia is {inertia!r}")
    model = ClAM(**parameters)
    model.__dict__.update(
        fitted_attributes(
            network,
            optimizer,
            runs=runs,
            labels=labels,
            loss=float(header["loss"]),
            loss_curve=arrays["loss_curve_"],
            silhouette=float(header["silhouette"]),
            inertia=inertia,
        ),
        **columns_of(network),
        **{name: arrays[name] for name in OPTIONAL if name in arrays and "." not in name},
    )
    if "shape_evidence.table" in arrays:
        model.shape_evidence_ = _join(ShapeEvidence, "shape_evidence", {}, arrays)
    return model


def _check_arrays(arrays: dict[str, Array], geometry: Header) -> None:
    """Refuse arrays that are not those of a model, or not of their types and shapes."""
    metric, dtype = geometry["metric"], geometry["dtype"]
    require(metric in METRICS, f"metric is {metric!r}")
    require(dtype in ("float32", "float64"), f"dtype is {dtype!r}")
    wanted = ARRAYS | {name: OPTIONAL[name] for name in OPTIONAL if name in arrays}
    if METRICS[metric].whitens:
        wanted |= WHITENING
    if geometry.get("completion") is not None:
        wanted |= COMPLETION
    lengths = {"2": 2, "4": 4}
    typed = {name: (kind or dtype, letters) for name, (kind, letters) in wanted.items()}
    check_arrays(arrays, typed, lengths)
    for name, (_, letters) in wanted.items():
        if set(letters) & {"k", "d"}:
            require(bool(np.isfinite(arrays[name]).all()), f"{name} is not finite")
    require(lengths["k"] >= 1 and lengths["d"] >= 1, "there are no memories")


def _geometry(values: Header, arrays: dict[str, Array]) -> Geometry:
    whitening, names, scaling = None, values["feature_names"], values["scaling"]
    if METRICS[values["metric"]].whitens:
        whitening = _join(Whitening, "network.geometry.whitening", values["whitening"], arrays)
    completion = None
    if values.get("completion") is not None:  # not in files of format 1
        completion = _join(Completion, "network.geometry.completion", values["completion"], arrays)
        require(len(completion.memories) > 0, "there is nothing to complete by")
    limits = None
    if values.get("limits") is not None:  # not in files of versions before them
        limits = _join(Limits, "network.geometry.limits", values["limits"], arrays)
    categories = None
    if values.get("categories") is not None:  # not in files of versions before them
        categories = _categories(values["categories"])
        require(
            categories.n_features == len(arrays["network.geometry.offset"]), "levels do not fit"
        )
        require(METRICS[values["metric"]].scales, "the metric has no place for categories")
    fits = names is None or (
        isinstance(names, list)
        and len(names) == len(arrays["network.geometry.offset"])
        and all(type(name) is str for name in names)
    )
    require(fits, "feature_names do not fit")
    geometry = _join(
        Geometry,
        "network.geometry",
        values,
        arrays,
        whitening=whitening,
        completion=completion,
        limits=limits,
        categories=categories,
        feature_names=None if names is None else tuple(names),
    )
    require(0 < geometry.length < math.inf, f"length is {geometry.length}")
    known = scaling is None or (geometry.by_column and scaling in ("standard", "robust"))
    require(known, f"scaling is {scaling!r}")
    return geometry


def _categories(values: Header) -> Categories:
    """Return what columns are; `Categories` looks at the levels themselves."""
    levels, names = values["levels"], values["names"]
    lists = isinstance(levels, list) and all(
        one is None or (isinstance(one, list | tuple) and all(map(_is_level, one)))
        for one in levels
    )
    require(lists, "levels are no lists of texts, truth values and numbers")
    named = names is None or (isinstance(names, list) and all(type(one) is str for one in names))
    require(named, "names of columns do not fit")
    return Categories(
        tuple(None if one is None else tuple(one) for one in levels),
        None if names is None else tuple(names),
    )


def _is_level(level: Any) -> bool:
    finite = type(level) is not float or math.isfinite(level)
    return type(level) in (str, bool, int, float) and finite


def _split(name: str, value: Any) -> tuple[Header, dict[str, Array]]:
    """Return the fields of a dataclass for the header, and its arrays by their dotted names."""
    values: Header = {}
    arrays: dict[str, Array] = {}
    for field, hint in get_type_hints(type(value)).items():
        part = getattr(value, field)
        if is_dataclass(part):
            values[field], inner = _split(f"{name}.{field}", part)
            arrays |= inner
        elif isinstance(part, np.ndarray):
            arrays[f"{name}.{field}"] = part
        elif hint in PLAIN:
            values[field] = hint(part)
        elif field != "energy_function":  # the metric names it
            values[field] = list(part) if isinstance(part, tuple) else part
    return values, arrays


def _join(made: type[T], name: str, values: Header, arrays: dict[str, Array], **parts: Any) -> T:
    """Return a dataclass made of its arrays, its values in the header and given parts."""
    for field, hint in get_type_hints(made).items():
        if f"{name}.{field}" in arrays:
            parts[field] = arrays[f"{name}.{field}"]
        elif field not in parts:
            value = parts[field] = (
                values[field] if field not in NEW else values.get(field, NEW[field])
            )
            fits = hint not in PLAIN or type(value) is hint
            require(fits, f"{field} is {value!r}")
    return made(**parts)


def _encode_parameters(parameters: Parameters) -> tuple[Parameters, dict[str, Array]]:
    """Split parameters into what goes into the header and arrays."""
    values: Parameters = {}
    arrays: dict[str, Array] = {}
    for name, value in parameters.items():
        if name == "random_state" and not isinstance(value, Integral):
            values[name] = None  # a generator's future draws are not kept
        elif name == "objective":
            values[name] = objective_name(value)
        elif value is None or isinstance(value, bool | str):
            values[name] = value
        elif name == "categorical_features":
            plain = np.asarray(value, dtype=object).tolist()
            values[name] = [one.item() if isinstance(one, np.generic) else one for one in plain]
        elif name == "device":
            values[name] = str(value)
        elif isinstance(value, np.bool_):
            values[name] = bool(value)
        elif isinstance(value, Real):
            values[name] = int(value) if isinstance(value, Integral) else float(value)
        elif isinstance(value, range):
            values[name] = {"range": [value.start, value.stop, value.step]}
        elif isinstance(value, Mapping):
            weights = {str(key): float(weight) for key, weight in value.items()}
            values[name] = {"mapping": weights}
        elif isinstance(value, list | tuple):
            values[name] = np.asarray(value).tolist()
        else:
            array = np.asarray(value)
            is_number = array.dtype.kind in "iuf" and array.dtype.itemsize <= 8
            arrays[f"{PARAMETER}{name}"] = array if is_number else as_numbers(name, array)
    return values, arrays


def _decode_parameters(values: Parameters, arrays: dict[str, Array]) -> Parameters:
    """Return parameters as they were given; their arrays are taken out of `arrays`."""
    parameters = dict(values)
    for name, value in values.items():
        if isinstance(value, dict) and "mapping" in value:
            parameters[name] = value["mapping"]
        elif isinstance(value, dict):
            start, stop, step = value["range"]
            parameters[name] = range(start, stop, step)
    for name in [name for name in arrays if name.startswith(PARAMETER)]:
        parameters[name.removeprefix(PARAMETER)] = arrays.pop(name)
    return parameters
