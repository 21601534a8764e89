"""Made mixed tables, imputers and peers: they are what they say."""

from argparse import Namespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

pytest.importorskip("benchmarks.mixed.cases", reason="the benchmarks are not in this checkout")

from benchmarks.mixed.cases import cases
from benchmarks.mixed.filling import FILLINGS
from benchmarks.mixed.made import CLUSTERS, COLUMNS, LEVELS, mixed_table
from benchmarks.mixed.methods import METHODS, PEERS, gower_distances

SEED = 1009  # a small one


@pytest.fixture(scope="module")
def table():
    return mixed_table(SEED)


def test_tables_are_what_they_say(table):
    again = mixed_table(SEED)
    assert_array_equal(table.numbers, again.numbers)
    rows, numbers, categories = table.facts["shape"]
    assert table.numbers.shape == (rows, numbers)
    assert table.codes.shape == (rows, categories)
    assert CLUSTERS[0] <= table.n_clusters <= CLUSTERS[1]
    assert COLUMNS[0] <= min(numbers, categories) <= max(numbers, categories) <= COLUMNS[1]
    assert table.codes.max() < LEVELS[1]
    missing = np.isnan(table.numbers).mean(), (table.codes < 0).mean()
    assert_allclose(missing, table.facts["missing"], atol=0.04)
    assert 0.5 < table.best < 1.0
    frame = table.frame()
    assert_array_equal(
        frame.isna().sum(), [*np.isnan(table.numbers).sum(axis=0), *(table.codes < 0).sum(axis=0)]
    )


def test_imputers_leave_what_is_there(table):
    seen = table.codes >= 0
    for fill in FILLINGS.values():
        numbers, codes = fill(table, 0)
        assert np.isfinite(numbers).all()
        assert (codes >= 0).all()
        assert_array_equal(codes[seen], table.codes[seen])


def test_gowers_distance_leaves_out_what_is_missing():
    numbers = np.array([[0.0], [4.0], [np.nan]])
    codes = np.array([[0], [1], [0]])
    expected = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert_allclose(gower_distances(numbers, codes), expected)
    assert_allclose(gower_distances(np.array([[0.0], [1.0], [4.0]]), codes)[0, 1], (0.25 + 1) / 2)


@pytest.mark.parametrize("method", ["amclust", "Gower + k-medoids", "one-hot + k-means, KNN"])
def test_methods_label_rows(table, method):
    if "medoids" in method:
        pytest.importorskip("kmedoids")
    labels = METHODS[method](table, 0)
    assert adjusted_rand_score(table.clusters, labels) > 0.2


def test_cases_are_told_apart():
    found = cases(Namespace(seeds=range(2), methods=None))
    assert len({case.key for case in found}) == len(found) == 2 * len(METHODS) + 1
    assert {way for ways in PEERS.values() for way in ways} < set(METHODS)
