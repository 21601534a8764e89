"""Model files that were changed on purpose, their checksum made right again."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import safetensors.numpy
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from amclust import ClAM
from amclust.cli import main
from amclust.io.container import BLANK, CHECKSUM, FileFormatError
from amclust.io.model import load_model, save_model
from fuzz.oracle import ANSWER, REFUSED, WrongError, check_answers, outcome, require

X = make_blobs(60, 4, centers=3, random_state=0)[0]
HOLES = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
HOLES[np.isnan(HOLES).all(axis=1)] = 0.0
NAMES = ["a", "b", "c", "d"]
CALM: dict[str, Any] = {"n_init": 1, "max_epochs": 4, "random_state": 0, "n_jobs": 1}
MODELS = {
    "plain": lambda: ClAM(3, **CALM).fit(X),
    "float32": lambda: ClAM(3, scale=None, **CALM).fit(X.astype(np.float32)),
    "cosine": lambda: ClAM(3, metric="cosine", **CALM).fit(X),
    "whitened": lambda: ClAM(3, metric="mahalanobis", **CALM).fit(HOLES),
    "robust": lambda: ClAM(3, scale="robust", weights="learn", **CALM).fit(X),
    "gaps": lambda: ClAM(3, **CALM).fit(HOLES),
    "names": lambda: ClAM(3, **CALM).fit(pd.DataFrame(HOLES, columns=NAMES)),
    "assemblies": lambda: ClAM(2, n_memories=6, **CALM).fit(X),
    "outliers": lambda: ClAM(3, contamination=0.1, **CALM).fit(X),
    "weights": lambda: ClAM(3, feature_weights=[1, 0, 2, 1], **CALM).fit(X),
    "limits": lambda: ClAM(3, size_min=5, size_max=40, **CALM).fit(X),
    "auto": lambda: ClAM([2, 3], **CALM).fit(X),
}
NUMBERS: list[Any] = [
    *(0, -0.0, 1, -1, 2, 0.5, 1e-308, 1e-45, 1e-20, 1e10, 1e19, 1e30, 3e38, 1e300, 1.7e308),
    *(-1e30, -3e38, np.nan, np.inf, -np.inf, 255, 2**31 - 1, 2**31, 2**63, -(2**63)),
]
ANYTHING: list[Any] = [
    None,
    True,
    "",
    "x",
    "mahalanobis",
    "cosine",
    "float32",
    [],
    [1],
    {},
    *NUMBERS,
]


@functools.cache
def content(name: str) -> bytes:
    """Return the bytes of a good file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.amc")
        extra = {"columns": None, "source": {"table": "t.csv", "rows": 60}}
        save_model(MODELS[name](), path, extra=extra)
        return path.read_bytes()


def sealed(content: bytes) -> bytes:
    """Return a file with a right checksum."""
    blank = content[: CHECKSUM.start] + BLANK.encode() + content[CHECKSUM.stop :]
    code = hashlib.sha256(blank).hexdigest().encode()
    return content[: CHECKSUM.start] + code + content[CHECKSUM.stop :]


@st.composite
def files(draw: Any) -> tuple[str, bytes]:
    """Draw a model, and a changed file of it."""
    name = draw(st.sampled_from(sorted(MODELS)))
    good = content(name)
    if draw(st.integers(0, 5)) == 0:
        return name, _spoilt(draw, good)
    end = 8 + int.from_bytes(good[:8], "little")
    header = json.loads(json.loads(good[8:end])["__metadata__"]["amclust"])
    arrays = dict(safetensors.numpy.load(good))
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        draw(st.sampled_from([_change_header, *[_change_array] * 3]))(draw, header, arrays)
    text = json.dumps(header)
    return name, sealed(safetensors.numpy.save(arrays, {"amclust": text}))


def _spoilt(draw: Any, good: bytes) -> bytes:
    """Bytes that changed, were lost, or came."""
    changed = bytearray(good)
    for _ in range(draw(st.integers(1, 4))):
        changed[draw(st.integers(0, len(good) - 1))] = draw(st.integers(0, 255))
    start = draw(st.integers(0, len(good)))
    kinds = [bytes(changed), good[:start], good + good[start:], good[start:]]
    kinds = [draw(st.sampled_from(kinds))]
    return sealed(kinds[0]) if len(kinds[0]) > CHECKSUM.stop else kinds[0]


def _change_header(draw: Any, header: Any, arrays: dict[str, Any]) -> None:
    at = header
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = draw(st.sampled_from(keys))
        if isinstance(at[key], dict | list) and at[key] and draw(st.integers(0, 4)):
            at = at[key]
            continue
        break
    if isinstance(at, dict) and key != "sha256" and draw(st.integers(0, 4)) == 0:
        del at[key]
    elif key != "sha256":
        value = draw(st.sampled_from(ANYTHING))
        at[key] = value


def _change_array(draw: Any, header: Any, arrays: dict[str, Any]) -> None:
    name = draw(st.sampled_from(sorted(arrays)))
    array = arrays[name]
    how = draw(
        st.sampled_from(["one", "one", "one", "all", "times", "shape", "type", "gone", "as"])
    )
    with np.errstate(all="ignore"):
        if how in ("one", "all", "times") and array.size:
            value = np.array(draw(st.sampled_from(NUMBERS))).astype(array.dtype)
            array = array.copy()
            if how == "times":
                array = (array * value).astype(array.dtype)
            else:
                array.flat[
                    draw(st.integers(0, array.size - 1)) if how == "one" else slice(None)
                ] = value
        elif how == "shape":
            array = draw(
                st.sampled_from(
                    [array[:-1], array[:0], array[None], array.T, np.concatenate([array, array])]
                    if array.ndim
                    else [array[None]]
                )
            )
        elif how == "type":
            types = ["float32", "float64", "int32", "int64", "uint8", "bool", "float16"]
            array = array.astype(draw(st.sampled_from(types)))
        elif how == "as":
            array = arrays[draw(st.sampled_from(sorted(arrays)))]
    if how == "gone":
        del arrays[name]
    else:
        arrays[name] = np.ascontiguousarray(array)


strategy = files()


def check(case: Any) -> str:
    """Load it, ask it, learn with it; tell what is in it."""
    name, changed = case
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.amc")
        path.write_bytes(changed)
        try:
            model = load_model(path).model
        except FileFormatError as error:
            require(str(path) in str(error), f"an error that does not name the file: {error}")
            _tell(path)
            return REFUSED
        except Exception as error:
            msg = f"loading raised {type(error).__name__}: {error}"
            raise WrongError(msg) from error
        _tell(path)
    rows = HOLES if name in ("gaps", "whitened", "names") else X
    rows = rows.astype(model.network_.geometry.dtype)
    if hasattr(model, "feature_names_in_"):
        rows = pd.DataFrame(rows, columns=model.feature_names_in_)

    def work() -> None:
        check_answers(model, rows, len(rows))
        require(
            not np.isnan(np.asarray(model.complete(rows))).any(), "completed values are missing"
        )
        model.top_features()

    asked = outcome(work)
    outcome(lambda: model.partial_fit(rows))
    return ANSWER if asked == ANSWER else REFUSED


def _tell(path: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["info", str(path)])
    require(code in (0, 1) and "a mistake in amclust" not in err.getvalue(), err.getvalue())
