"""Parameters of any kind to `ClAM` and `ClAMSearch`."""

from __future__ import annotations

import contextlib
import io
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from amclust import ClAM, ClAMSearch
from amclust._parameters import PARAMETERS
from fuzz.oracle import check_answers, outcome

X = make_blobs(40, 3, centers=3, random_state=0)[0]
VALUES: list[Any] = [
    *(None, True, False, -1, 0, 1, 2, 3, 40, 41, 10**30, 0.5, 1.0, 1.5, -0.5, np.nan, np.inf),
    *(1e308, 1e-308, -1e308, "", "auto", "x", "mean", "min", "standard", "learn", "none", "torch"),
    *([], [1, 2], [3, 2, 3], [np.nan], [0.5], [2, "x"], {}, {"a": 1}, {0: 1.0}, (1, 2, 3), {1}),
    *(np.array([]), np.array(2), np.array([1.0, 2, 3]), np.zeros((3, 3)), np.eye(3) * np.nan),
    *(np.int8(3), np.float16(2), np.bool_(True), np.str_("auto"), range(2, 4), range(0), 1j),
    *(
        Fraction(1, 2),
        b"auto",
        lambda x: x,
        object(),
        np.random.default_rng(0),
        np.datetime64(1, "s"),
    ),
    *(np.random.RandomState(0), X[:3], X[:3].tolist(), X[:2], X, "k-means++", "ward", "cosine"),
]
# What would only take long, and what asks the machine for all it has.
SLOW = {"n_init", "max_epochs", "n_steps", "patience", "verbose"}
CALM = {"n_init": 1, "max_epochs": 3, "n_jobs": 1, "random_state": 0}
NAMES = sorted(PARAMETERS)

strategy = st.tuples(
    st.dictionaries(
        st.sampled_from(NAMES), st.integers(0, len(VALUES) - 1), min_size=1, max_size=3
    ),
    st.integers(0, 9).map(lambda number: number == 0),
)


def check(case: Any) -> str:
    """Fit with parameters that may be anything."""
    places, searched = case
    parameters = CALM | {name: VALUES[place] for name, place in places.items()}

    def work() -> None:
        model = ClAM(**({"n_clusters": 3} | parameters))
        if searched:
            own = {key: value for key, value in parameters.items() if key in SEARCHED}
            ClAMSearch(**({"n_clusters": 3} | own), estimator=model, budget=30).fit(X)
        else:
            check_answers(model.fit(X), X, len(X))

    with contextlib.redirect_stderr(io.StringIO()):  # where progress is shown
        return outcome(work)


SEARCHED = {"n_clusters", "n_init", "max_epochs", "n_jobs", "random_state"}
