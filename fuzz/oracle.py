"""What is right: answers that make sense, or errors of our own that name what is wrong."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

import amclust
from amclust import ClAM
from amclust._parameters import PARAMETERS

ANSWER, REFUSED = "answered", "refused"

OURS = Path(amclust.__file__).parent
# What scikit-learn says of arrays is what all of its estimators say, and its checks ask for it.
CONVENTIONAL = Path(sklearn.__file__).parent / "utils"
NAMED = re.compile(
    r"\b(X|rows?|columns?|features?|samples?|array|sample_weight|dtype|sparse|complex|matrix"
    r"|memory|memories|clusters?|values?|weights?|" + "|".join(PARAMETERS) + r")\b",
    re.IGNORECASE,
)


class WrongError(RuntimeError):
    """An answer that makes no sense, or an error that does not say what is wrong."""


def is_ours(error: BaseException) -> bool:
    """Whether an error was raised in amclust, and not by something that it has called."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return False
    last = Path(frames[-1].filename)
    return OURS in last.parents or CONVENTIONAL in last.parents


def outcome(work: Callable[[], Any]) -> str:
    """Tell whether work was done or refused; anything else is raised as `WrongError`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work()
    except WrongError:
        raise
    except (TypeError, ValueError) as error:
        if not is_ours(error):
            msg = f"an error of another library: {type(error).__name__}: {error}"
            raise WrongError(msg) from error
        if not NAMED.search(str(error)):
            msg = f"an error that names nothing: {error}"
            raise WrongError(msg) from error
        return REFUSED
    except Exception as error:
        msg = f"an error of a type that nobody expects: {type(error).__name__}: {error}"
        raise WrongError(msg) from error
    return ANSWER


def require(condition: Any, otherwise: str) -> None:
    """Raise `WrongError` with what is wrong."""
    if not condition:
        raise WrongError(otherwise)


def check_answers(model: ClAM, X: Any, n_rows: int) -> None:
    """Ask a fitted model everything about rows that it takes."""
    k = model.n_clusters_
    labels = model.predict(X)
    require(labels.shape == (n_rows,), f"labels have the shape {labels.shape}")
    require(((labels >= -1) & (labels < k)).all(), "labels are out of range")
    # Those of rows that are farther away than float32 reaches are infinite.
    require(not np.isnan(model.energy(X)).any(), "energies are NaN")
    parts = model.predict_proba(X)
    require(np.isfinite(parts).all(), "memberships are not finite")
    require(np.allclose(parts.sum(axis=1), 1.0, atol=1e-4), "memberships do not sum to 1")
    distances = model.transform(X)
    require((distances >= 0).all(), "distances make no sense")
    require(np.isfinite(model.cluster_centers_).all(), "cluster_centers_ are not finite")
