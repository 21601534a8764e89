"""The benchmark of size limits: what it counts, and that its cases say what they measure."""

from argparse import Namespace

import numpy as np
import pytest

pytest.importorskip(
    "benchmarks.limits.cases", reason="the benchmarks are not part of this checkout"
)

from benchmarks.limits.cases import (
    LIMITS,
    METHODS,
    bounds,
    cases,
    count_violated,
    inertia,
    violated,
)


def test_bounds_can_be_met():
    for n, k in [(101, 30), (2310, 7), (60, 3)]:
        for limits in LIMITS:
            least, most = bounds(n, k, limits)
            assert k * least <= n <= k * most


def test_violations_are_seen():
    labels = np.array([0, 0, 0, 1])
    assert violated(labels, 2, 2, 3)
    assert violated(labels, 2, 1, 2)
    assert violated(labels, 3, 1, 3)
    assert not violated(labels, 2, 1, 3)
    assert count_violated(3) == 0


def test_inertia_is_around_means():
    assert inertia(np.array([[0.0], [2.0], [5.0]]), np.array([0, 0, 1])) == pytest.approx(2.0)


def test_cases_are_told_apart():
    every = cases(Namespace(methods=None))
    assert len({case.key for case in every}) == len(every)
    some = cases(Namespace(methods=["amclust"]))
    assert {case.key.method for case in some} == {"amclust"}
    assert {case.key.method for case in every} == set(METHODS)
