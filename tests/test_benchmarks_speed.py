"""The speed benchmark: what it compares, whatever the time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from benchmarks.data import make_round, spread_centers
from benchmarks.framework.cases import Case, Record
from benchmarks.framework.environment import UnavailableError
from benchmarks.framework.lines import Line, Skipped, Target, timed
from benchmarks.framework.store import Store
from benchmarks.partitions import inertia, living_clusters, silhouette
from benchmarks.speed.__main__ import SECTIONS, Key, write_page
from benchmarks.speed.k_means_peers import PEERS, Found, warm_up
from benchmarks.speed.many_clusters import Runs


@pytest.fixture
def table():
    generator = np.random.default_rng(0)
    return make_round(spread_centers(12, 3, 0.02, generator), 600, generator)


def test_round_clusters_overlap_as_little_as_asked(table):
    assert table.n_clusters == 12
    assert table.features.dtype == np.float32
    assert set(np.bincount(table.classes)) == {50}
    means = np.stack([table.features[table.classes == one].mean(axis=0) for one in range(12)])
    astray = cdist(table.features, means).argmin(axis=1) != table.classes
    assert 0.0 < astray.mean() < 0.04


def test_the_inertia_is_that_of_k_means(table):
    model = KMeans(12, n_init=1, random_state=0).fit(table.features.astype(float))
    found = inertia(table.features, model.labels_, model.cluster_centers_)
    assert_allclose(found, model.inertia_, rtol=1e-6)
    assert silhouette(table.features, np.zeros(600, int)) == -1.0


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_labels_all_rows(name, table):
    try:
        found = PEERS[name](table.features, 5, 0)
    except UnavailableError as error:
        pytest.skip(str(error))
    assert found.labels.shape == (600,)
    assert found.centers.shape == (5, 3)
    nearest = cdist(table.features, found.centers).argmin(axis=1)
    assert np.mean(nearest == found.labels) > 0.9  # the centres may have moved once more


def test_a_peer_that_is_not_there_is_skipped(table):
    def missing(features, n_clusters, seed):
        raise UnavailableError("no such peer")

    def collect():
        methods = {"there": lambda *_: None, "missing": missing}
        there = yield from warm_up("blobs", methods, table.features)
        assert list(there) == ["there"]

    assert list(collect()) == [Skipped("blobs, missing", "no such peer")]


def test_runs_with_an_empty_cluster_do_not_count():
    full, empty = (timed(lambda k=k: Found(np.arange(6) % k, np.eye(3))) for k in (3, 2))
    assert living_clusters(empty.result.labels) == 2
    assert Runs([full, full], 3).valid
    one = Runs([full, empty], 3)
    assert not one.valid
    assert "2 of 3 clusters" in one.note


def test_the_page_has_a_table_for_every_section(tmp_path):
    store = Store(tmp_path / "speed.jsonl", Key)
    shown = Line("shown", 1.0, 2.0, "peer", value=0.5, target=Target("ratio"))
    bound = Line("bound", 1.0, 2.0, "peer", value=0.5, target=Target("ratio", "<=", 1.0))
    entries = [one.as_json() for one in (shown, bound, Skipped("other", "not there"))]
    machine = {"processor": "p", "cores": 2, "instruction_set": "i", "python": "3", "versions": {}}
    for name in SECTIONS:
        store.put(Record(Case(Key(name)), {"entries": entries}, 1.0, machine, "2026-12-01"))
    write_page(tmp_path / "speed.md", store)
    page = (tmp_path / "speed.md").read_text()
    assert all(f"<!-- {name} -->" in page for name in SECTIONS)
    assert page.count("| shown |") == len(SECTIONS)
    # The bounds are once more in the table of the targets.
    assert page.count("| bound |") == 2 * len(SECTIONS)
    assert f"{len(SECTIONS)} of {len(SECTIONS)} are reached" in page
