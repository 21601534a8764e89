"""Directions in many columns: text, embeddings, and the warning of a partition that collapsed."""

import dataclasses
import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from amclust import ClAM
from amclust._recipe import Recipe
from benchmarks.data import make_documents


@pytest.mark.parametrize("kind", ["tfidf", "counts", "binary"])
def test_text_is_clustered_at_least_as_well_as_by_k_means(kind):
    documents = make_documents(800, 2_000, 5, seed=3)
    rows = getattr(documents, kind)
    labels = ClAM(5, metric="cosine", n_init=2, random_state=0).fit_predict(rows)
    peer = KMeans(5, n_init=2, random_state=0).fit_predict(normalize(rows))
    found = adjusted_rand_score(documents.topics, labels)
    assert found >= adjusted_rand_score(documents.topics, peer) - 0.02
    assert np.bincount(labels, minlength=5).min() >= 20


def test_unit_vectors_in_many_columns():
    rng = np.random.default_rng(0)
    directions = normalize(rng.normal(size=(6, 768)))
    classes = rng.integers(6, size=900)
    X = normalize(directions[classes] + 3 * rng.normal(size=(900, 768)) / np.sqrt(768))
    labels = ClAM(6, metric="cosine", n_init=2, random_state=0).fit_predict(X)
    assert adjusted_rand_score(classes, labels) > 0.95


def test_documents_are_those_of_their_seed():
    first, again, other = (make_documents(50, 300, 3, seed=seed) for seed in (0, 0, 1))
    assert (first.counts != again.counts).nnz == 0
    assert (first.counts != other.counts).nnz > 0
    assert 30 <= first.counts.sum(axis=1).min() <= first.counts.sum(axis=1).max() <= 300
    assert first.counts.indices.dtype == np.int32


def test_steps_on_the_sphere_do_not_grow_with_the_columns():
    recipe = Recipe()
    assert recipe.sphere_rate(50) == 1.0
    assert recipe.sphere_rate(400) * np.sqrt(400) == pytest.approx(np.sqrt(100))


def test_batches_on_the_sphere_are_smaller():
    sizes = [Recipe().batch_size("auto", k, spherical=True) for k in (8, 20, 100, 1000)]
    assert sizes == [1024, 1024, 3200, 32_000]


@pytest.mark.filterwarnings("ignore:.*still improving:sklearn.exceptions.ConvergenceWarning")
def test_documents_are_trained_for_ten_epochs():
    wide, narrow = (make_documents(300, n_words, 3).tfidf for n_words in (5_000, 1_000))
    few = {"metric": "cosine", "n_init": 1, "random_state": 0, "tol": 0.0, "patience": 50}
    assert ClAM(3, **few).fit(wide).n_iter_ == Recipe().wide_epochs == 10
    assert ClAM(3, **few).fit(narrow).n_iter_ > 10
    # Not where the user says how many, or where rows at random are no start.
    assert ClAM(3, early_stopping=False, max_epochs=12, **few).fit(wide).n_iter_ == 12
    assert ClAM(3, init="random", **few).fit(wide).n_iter_ > 10


@pytest.fixture
def blob_with_outliers():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(300, 2)), rng.normal(size=(3, 2)) + 30])


def test_a_collapsed_partition_is_warned_of(blob_with_outliers):
    # Both initial memories are in the blob, so that each has a part of it.
    init = np.array([[-1.0, 0.0], [1.0, 0.0]])
    clam = ClAM(2, init=init, n_init=1, scale=None, random_state=0)
    clam.recipe = dataclasses.replace(Recipe(), anchor=0.0, tie=0.0)
    with pytest.warns(ConvergenceWarning, match=r"99% of the rows are in one cluster, .*collapsed"):
        clam.fit(blob_with_outliers)


def test_rows_that_are_mostly_in_one_cluster_from_the_start_are_told(blob_with_outliers):
    with pytest.warns(UserWarning, match="300 of 303 rows are in one of n_clusters=2"):
        labels = ClAM(2, random_state=0).fit_predict(blob_with_outliers)
    assert np.bincount(labels).max() == 300
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ClAM(2, random_state=0).fit(blob_with_outliers[278:])  # 22 and 3
        ClAM(range(2, 4), random_state=0).fit(blob_with_outliers)  # as the estimate has it
