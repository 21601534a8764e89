"""Blobs with noise, wild cells and trimmed k-means: they are what they say."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from benchmarks.framework.store import Store
from benchmarks.outliers import __main__ as command
from benchmarks.outliers.cases import BLOBS, METHODS
from benchmarks.outliers.made import noisy_blobs, with_wild_cells
from benchmarks.outliers.trimmed_k_means import trimmed_k_means


def test_blobs_have_their_noise_and_are_apart():
    rows, truth, density = noisy_blobs(4, 3, 0.2, 3.0, 0)
    assert np.isclose((truth < 0).mean(), 0.2, atol=0.001)
    assert_array_equal(np.unique(truth), np.arange(-1, 4))
    assert density[truth < 0].mean() < density[truth >= 0].mean()
    means = np.array([rows[truth == blob].mean(axis=0) for blob in range(4)])
    spreads = np.array([rows[truth == blob].std(axis=0).mean() for blob in range(4)])
    gaps = np.linalg.norm(means[:, None] - means, axis=2)
    least = 2.7 * (spreads[:, None] + spreads)
    assert (gaps + 100 * np.eye(4) > least).all()


def test_so_many_cells_are_wild():
    rows = np.random.default_rng(0).normal(size=(500, 8))
    for two_sided in (False, True):
        moved = with_wild_cells(rows, 0.05, 50.0, two_sided, 0) - rows
        wild = moved != 0
        assert np.isclose(wild.mean(), 0.05, atol=0.01)
        sizes = (moved / rows.std(axis=0))[wild]
        assert np.allclose(np.abs(sizes), 50)
        assert (sizes < 0).any() == two_sided


def test_trimmed_k_means_finds_clear_blobs():
    rows, truth, _ = noisy_blobs(2, 5, 0.1, 3.0, 1)
    labels = trimmed_k_means(rows, 2, 0.1, restarts=3, seed=0)
    assert np.count_nonzero(labels < 0) == round(0.1 * len(rows))
    assert ((labels < 0) == (truth < 0)).mean() > 0.97


@pytest.mark.filterwarnings("ignore:.*may be outliers")
def test_every_method_labels_rows():
    blobs = next(iter(BLOBS.values()))
    rows, _, _ = noisy_blobs(*blobs, 0)
    for name, method in METHODS.items():
        assert method(rows, blobs.k, blobs.noise, 0).shape == (len(rows),), name


def test_the_page_is_that_of_the_records(tmp_path):
    store = Store(tmp_path / "none.jsonl", command.Key)
    page = tmp_path / "outliers.md"
    page.write_text("\n".join((*command.NOISE_MARKS, *command.CELL_MARKS, *command.TARGET_MARKS)))
    command.write_page(page, store)
    text = page.read_text()
    for word in (*METHODS, *command.PARTS, *command.WILD):
        assert word in text
