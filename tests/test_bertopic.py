"""ClAM as the clusterer of BERTopic, with made documents and embeddings: no model is downloaded."""

import importlib.util

import numpy as np
import pytest

from amclust import ClAM

# BERTopic takes seconds to import, and its dependencies warn while they are.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        importlib.util.find_spec("bertopic") is None,
        reason="bertopic is not installed: pip install -c constraints.txt bertopic",
    ),
]

TOPICS = [
    ["ball", "coach", "goal", "match", "player", "team"],
    ["bread", "butter", "flour", "oven", "salt", "taste"],
    ["launch", "moon", "orbit", "planet", "rocket", "star"],
]
SIZES = [40, 50, 60]


@pytest.fixture(scope="module")
def corpus():
    """Documents of three topics, their embeddings of length 1 and their topics."""
    rng = np.random.default_rng(0)
    topics = np.repeat([0, 1, 2], SIZES)
    common = ["many", "people", "today"]
    documents = [" ".join(rng.choice(TOPICS[topic] + common, 12)) for topic in topics]
    embeddings = rng.normal(size=(3, 64))[topics] + 0.3 * rng.normal(size=(len(topics), 64))
    return documents, embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True), topics


def make(model, **parameters):
    from bertopic import BERTopic
    from bertopic.dimensionality import BaseDimensionalityReduction

    reduction = BaseDimensionalityReduction()
    return BERTopic(embedding_model=None, umap_model=reduction, hdbscan_model=model, **parameters)


@pytest.mark.parametrize(
    "parameters",
    [{"n_clusters": 3, "metric": "cosine"}, {"n_clusters": "auto", "scale": None}],
    ids=["cosine", "auto"],
)
def test_topics_are_the_clusters(corpus, parameters):
    documents, embeddings, topics = corpus
    bertopic = make(ClAM(**parameters, n_init=2, random_state=0))
    found, _ = bertopic.fit_transform(documents, embeddings)
    # BERTopic numbers topics by their size.
    np.testing.assert_array_equal(found, 2 - topics)
    for topic in range(3):
        words = {word for word, _ in bertopic.get_topic(2 - topic)[:6]}
        assert words == set(TOPICS[topic])
    predicted, _ = bertopic.transform(documents, embeddings)
    np.testing.assert_array_equal(predicted, found)
    assert bertopic.get_topic_info()["Count"].tolist() == sorted(SIZES, reverse=True)


def test_classes_and_fewer_topics_are_taken(corpus, tmp_path):
    documents, embeddings, topics = corpus
    bertopic = make(ClAM(3, metric="cosine", n_init=2, random_state=0))
    found, _ = bertopic.fit_transform(documents, embeddings, y=topics.tolist())
    np.testing.assert_array_equal(found, 2 - topics)
    bertopic.reduce_topics(documents, nr_topics=2)
    assert set(bertopic.topics_) == {0, 1}
    bertopic.save(str(tmp_path / "topics"), serialization="safetensors")
    assert (tmp_path / "topics" / "topics.json").is_file()
