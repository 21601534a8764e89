"""Checkpoints: a search or a deep fit on disk, refused if it is another's."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from amclust import _native
from amclust._halving import TABLE_DTYPE, Rung, State
from amclust._rows import digest
from amclust._training import MAX_SEED
from amclust._validation import as_numbers
from amclust.io.container import (
    Array,
    Header,
    Kind,
    StrPath,
    check_arrays,
    checked,
    read,
    require,
    write,
)

# It may be a file of the user's, named by mistake: no word of deleting it.
SEARCH = Kind("search", "a checkpoint of a search", "Name another file.")
# What is too long to show in messages.
DIGESTS = ("X", "sample_weight", "space")
# Type and shape of each array of a search of r runs and s seeds.
ARRAYS: dict[str, tuple[Any, str]] = {
    "seeds": (np.int64, "s"),
    "runs": (TABLE_DTYPE, "r"),
    "judged": (TABLE_DTYPE, "j"),
    "alive": (np.bool_, "r"),
    "places": (np.int64, "p"),
}
# The parts of a record, as `_native.Record` gives and takes them; those of all n are joined.
PARTS = ("counts", "values", "curve", "rates")
RECORDS: dict[str, tuple[Any, str]] = {
    "record.counts": (np.int64, "c"),
    "record.values": (np.float32, "v"),
    "record.curve": (np.float64, "e"),
    "record.rates": (np.float64, "t"),
    **{f"lengths.{name}": (np.int64, "n") for name in PARTS},
}


def describe(name: str, value: Any) -> str:
    """Return a parameter in words; modules by their layers and weights."""
    if value is None or isinstance(value, str | Real):
        return str(value)
    if isinstance(value, Mapping):
        return str(sorted((str(key), str(one)) for key, one in value.items()))
    if not hasattr(value, "state_dict"):
        if np.asarray(value).dtype.kind in "OUT":  # names, or texts beside numbers
            return str(list(value))
        return digest(as_numbers(name, value))
    import torch

    code = hashlib.sha256(repr(value).encode())
    for key, part in value.state_dict().items():
        code.update(key.encode())
        if isinstance(part, torch.Tensor):
            dense = part.detach().cpu().to_dense().contiguous()
            code.update(dense.flatten().view(torch.uint8).numpy().data)
        else:
            code.update(repr(part).encode())
    return f"{type(value).__name__} {code.hexdigest()[:12]}"


class Checkpoint:
    """A file that belongs to one computation: all that it depends on is in the fingerprint."""

    def __init__(self, path: StrPath, kind: Kind, fingerprint: Mapping[str, str]) -> None:
        self.path, self.kind, self.fingerprint = Path(path), kind, dict(fingerprint)
        self.shown = f"checkpoint={os.fspath(path)!r}"
        if self.path.is_dir():
            msg = f"{self.shown} is a folder; name a file."
            raise ValueError(msg)
        if not self.path.parent.is_dir():
            msg = f"{self.shown}: there is no folder {self.path.parent}."
            raise ValueError(msg)

    def save(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Replace the file at once: a process killed meanwhile leaves the old one."""
        write(self.path, self.kind, {"fingerprint": self.fingerprint, **header}, arrays)

    def load(self) -> tuple[Header, dict[str, Array]] | None:
        """Return what was saved; None if there is no file yet."""
        if not self.path.exists():
            return None
        header, arrays = read(self.path, self.kind, self.shown)
        with checked(self.kind, self.shown):
            there, here = header["fingerprint"], self.fingerprint
            changed = [
                name
                if name in DIGESTS
                else f"{name} ({there.get(name)} there, {here.get(name)} here)"
                for name in sorted(there.keys() | here.keys())
                if there.get(name) != here.get(name)
            ]
        if changed:
            msg = (
                f"{self.shown} is of another {self.kind.name}, which differs in: "
                f"{', '.join(changed)}. Name another file, or delete this one."
            )
            raise ValueError(msg)
        return header, arrays


def save_search(file: Checkpoint, state: State) -> None:
    """Write how far a search has come."""
    header = {
        "config_seed": state.config_seed,
        "sample_seed": state.sample_seed,
        "rung": state.rung,
        "best": state.best,
    }
    arrays = {name: getattr(state, name) for name in ("seeds", "runs", "judged", "alive")}
    arrays["places"] = np.array(list(state.records), dtype=np.int64)
    best = [] if state.best_record is None else [state.best_record]
    file.save(header, arrays | _pack([*state.records.values(), *best]))


def load_search(
    file: Checkpoint, rungs: list[Rung], n_init: int, n_clusters: list[int]
) -> State | None:
    """Return how far a search of these rungs has come; None if there is no file yet."""
    if (found := file.load()) is None:
        return None
    header, arrays = found
    with checked(file.kind, file.shown):
        ranges = {
            "config_seed": (0, MAX_SEED),
            "sample_seed": (0, MAX_SEED),
            "rung": (0, len(rungs)),
            "best": (-1, len(arrays["judged"]) - 1),
        }
        for name, (low, high) in ranges.items():
            value = header[name]
            require(type(value) is int and low <= value <= high, f"{name} is {value!r}")
        rung, best, places = header["rung"], header["best"], arrays["places"]
        require(best >= 0 or rung == 0, "no run is the best")
        n_records = len(places) + (best >= 0)
        lengths = {"s": n_init, "r": len(n_clusters) * rungs[0].n_runs, "n": n_records}
        check_arrays(arrays, ARRAYS | RECORDS if n_records else ARRAYS, lengths)
        seeds, runs, judged = arrays["seeds"], arrays["runs"], arrays["judged"]
        require(_within(seeds, 0, MAX_SEED), "seeds are out of range")
        n_configs = rungs[0].n_runs // n_init
        state = State.begun(
            header["config_seed"], header["sample_seed"], seeds, n_configs, n_clusters
        )
        for name, numbers in {"places": places, "judged": judged["run"]}.items():
            require(_within(numbers, 0, len(runs) - 1), f"{name} are out of range")
        require(len(set(places.tolist())) == len(places), "places appear twice")
        for name in ("run", "config", "n_clusters", "seed"):
            fits = np.array_equal(runs[name], state.runs[name])
            fits &= np.array_equal(judged[name], runs[name][judged["run"]])
            require(fits, f"{name} is not that of the runs")
        for table in (runs, judged):
            require(_within(table["rung"], -1, rung), "rungs are out of range")
        records = _unpack(arrays) if n_records else []
        trained = places if best < 0 else np.append(places, judged["run"][best])
        sizes = [len(record.memories) for record in records]
        require(sizes == runs["n_clusters"][trained].tolist(), "records do not fit")
        best_record = records.pop() if best >= 0 else None
        return dataclasses.replace(
            state,
            runs=runs,
            judged=judged,
            rung=rung,
            alive=arrays["alive"],
            records=dict(zip(places.tolist(), records, strict=True)),
            best=best,
            best_record=best_record,
        )


def _within(values: Array, low: int, high: int) -> bool:
    return bool(((values >= low) & (values <= high)).all())


def _pack(records: list[_native.Record]) -> dict[str, Array]:
    """Put each part of all records into one array, beside an array of their lengths."""
    packed: dict[str, Array] = {}
    states = [record.__getstate__() for record in records]
    if not states:  # stopped before anything was trained
        return packed
    for name, parts in zip(PARTS, zip(*states, strict=True), strict=True):
        packed[f"record.{name}"] = np.concatenate(parts)
        packed[f"lengths.{name}"] = np.array([len(part) for part in parts], dtype=np.int64)
    return packed


def _unpack(arrays: dict[str, Array]) -> list[_native.Record]:
    parts = []
    for name in PARTS:
        values, lengths = arrays[f"record.{name}"], arrays[f"lengths.{name}"]
        fits = _within(lengths, 0, len(values)) and lengths.sum() == len(values)
        require(fits, f"lengths.{name} do not fit")
        parts.append(np.split(values, np.cumsum(lengths)[:-1]))
    records = []
    for state in zip(*parts, strict=True):
        record = _native.Record.__new__(_native.Record)
        record.__setstate__(state)
        records.append(record)
    return records
