"""Tables of any kind to `fit`, and what a fitted model says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from amclust import ClAM
from fuzz.oracle import check_answers, outcome, require

HOSTILE = [
    *(0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-30, -1e-20, 1e-6, 1e6, -1e9),
    *(1e15, 1e18, 1e19, -1e19, 1.1e19, 3e30, 3.4e38, 1e300, 5e-324, 1e-45),
]
USUAL = st.floats(-100, 100, allow_nan=False, width=32)
VALUES = st.sampled_from([USUAL, st.sampled_from(HOSTILE), st.one_of(USUAL, st.just(np.nan))])
OBJECTS = st.sampled_from([0, 1, 2.5, -3, "", "a", "1.5", None, np.nan, True, b"x", 1j, "é", []])


@st.composite
def dense(draw: Any) -> Any:
    """Few rows and columns of floats; constant columns, repeated rows and gaps are likely."""
    shape = draw(st.tuples(st.integers(1, 24), st.integers(1, 6)))
    X = draw(hnp.arrays(np.float64, shape, elements=draw(VALUES)))
    if draw(st.booleans()):
        X[:, draw(st.integers(0, shape[1] - 1))] = draw(st.one_of(USUAL, st.sampled_from(HOSTILE)))
    if draw(st.booleans()):
        X = X[draw(st.lists(st.integers(0, shape[0] - 1), min_size=1, max_size=30))]
    return X


@st.composite
def tables(draw: Any) -> Any:
    """Anything that people may take for a table."""
    X = draw(dense())
    with np.errstate(all="ignore"):
        kind = draw(st.sampled_from(KINDS))
        return kind(draw, X)


def _typed(draw: Any, X: Any) -> Any:
    names = ["float32", "float16", ">f8", "int64", "int8", "uint8", "bool", "complex128", "O", "U9"]
    kind = np.dtype(draw(st.sampled_from(names)))
    return (np.nan_to_num(X) if kind.kind in "iu" else X).astype(kind)


def _laid_out(draw: Any, X: Any) -> Any:
    return draw(
        st.sampled_from(
            [
                np.asfortranarray(X),
                X[::-1, ::-1],
                np.repeat(X, 2, axis=0)[::2],
                np.broadcast_to(X[0], X.shape),
                np.ma.masked_invalid(X),
                X[:0],
                X[:, :0],
                X[0],
                X[None],
                X[0, 0],
                X.tolist(),
                [*X.tolist(), [1.0]],
                None,
            ]
        )
    )


def _sparse(draw: Any, X: Any) -> Any:
    made = draw(st.sampled_from([sparse.csr_array, sparse.csc_array, sparse.coo_array]))(X)
    if made.format == "csr" and draw(st.booleans()):
        made = sparse.csr_array(
            (made.data, made.indices.astype(np.int64), made.indptr.astype(np.int64)), made.shape
        )
    if made.format == "csr" and made.nnz and draw(st.booleans()):
        made.indices = made.indices[::-1].copy()  # neither sorted nor one each
        made.has_sorted_indices = made.has_canonical_format = False
    if made.nnz and draw(st.booleans()):
        made.data[0] = 0.0
    return made


def _framed(draw: Any, X: Any) -> Any:
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    changes = st.sampled_from(
        [
            lambda one: one.astype("float32"),
            lambda one: one.fillna(0).clip(-99, 99).astype("int64"),
            lambda one: one.clip(-99, 99).round().astype("Int64"),
            lambda one: one.astype("Float64"),
            lambda one: one > 0,
            lambda one: one.astype(str),
            lambda one: one.astype("category"),
            lambda one: pd.to_datetime(one.fillna(0).clip(-99, 99)),
            lambda one: one.astype(object).where(one.notna(), None),
        ]
    )
    for name in draw(st.sets(st.sampled_from(list(frame.columns)))):
        frame[name] = draw(changes)(frame[name].where(np.isfinite(frame[name])))
    if draw(st.booleans()):
        frame.columns = draw(
            st.lists(st.one_of(st.text(max_size=3), st.integers()), min_size=X.shape[1]).map(
                lambda names: names[: X.shape[1]]
            )
        )
    return frame


def _objects(draw: Any, X: Any) -> Any:
    X = X.astype(object)
    X[0, 0] = draw(OBJECTS)
    return X


KINDS = [lambda draw, X: X, lambda draw, X: X, _typed, _laid_out, _sparse, _framed, _objects]


@st.composite
def models(draw: Any) -> Any:
    """Models that are quickly fitted."""
    parameters = {
        "metric": draw(st.sampled_from(["euclidean", "cosine", "mahalanobis"])),
        "scale": draw(st.sampled_from(["standard", "robust", None])),
        "objective": draw(st.sampled_from(["auto", "silhouette", "completion", "reconstruction"])),
        "mask_value": draw(st.sampled_from(["mean", "min", "max", 0.0])),
        "weights": draw(st.sampled_from([None, "learn"])),
    }
    more = [{}, {}, {"n_memories": 4}, {"contamination": 0.2}, {"size_min": 1, "size_max": 20}]
    parameters |= draw(st.sampled_from(more))
    k = draw(st.sampled_from([1, 2, 2, 3, [2, 3]]))
    return ClAM(k, n_init=1, max_epochs=3, random_state=0, n_jobs=1, **parameters)


strategy = st.tuples(tables(), models(), st.booleans())


def check(case: Any) -> str:
    """Fit and ask."""
    X, model, in_parts = case

    def work() -> None:
        (model.partial_fit if in_parts and model.n_clusters == 2 else model.fit)(X)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        require(len(model.labels_) == n_rows, "labels_ do not fit")
        require(((model.labels_ >= -1) & (model.labels_ < model.n_clusters_)).all(), "labels_")
        check_answers(model, X, n_rows)
        completed = model.complete(X)
        if not sparse.issparse(completed):
            require(not pd.isna(np.asarray(completed)).any(), "completed values are missing")

    return outcome(work)
