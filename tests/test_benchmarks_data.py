"""Data of the benchmarks that has to be looked for."""

import codecs
import pickle

import pytest
from sklearn.utils import Bunch

from benchmarks.data import load_newsgroups
from benchmarks.framework.environment import UnavailableError

POSTS = {
    "train": {"sci.space": ["Moon and orbit.", "A rocket."], "rec.autos": ["The car’s engine."]},
    "test": {"sci.space": ["A star."], "rec.autos": ["Wheels."]},
}


def post(body):
    return f"From: somebody\nSubject: a subject\n\n{body}\n> quoted before\n\n-- \nsignature\n"


def write_posts(folder):
    for part, groups in POSTS.items():
        for group, bodies in groups.items():
            place = folder / f"20news-bydate-{part}" / group
            place.mkdir(parents=True)
            for number, body in enumerate(bodies):
                text = post(body).replace("’", "'") + "caf\xe9\n"
                (place / str(10_000 + number)).write_bytes(text.encode("latin1"))


@pytest.mark.parametrize("below", ["", "20news_home"])
def test_newsgroups_are_read_from_a_folder(tmp_path, below):
    write_posts(tmp_path / below)
    found = load_newsgroups(tmp_path)
    assert found.class_names == ("rec.autos", "sci.space")
    assert found.classes.tolist() == [0, 1, 1, 0, 1]
    assert found.n_clusters == 2
    assert "The car's engine." in found.texts[0]
    assert all("somebody" not in text and "quoted" not in text for text in found.texts)
    raw = load_newsgroups(tmp_path, "train", strip=False)
    assert len(raw.texts) == 3
    assert "Subject: a subject" in raw.texts[0]
    assert "café" in raw.texts[0]


def test_newsgroups_are_read_from_the_cache_of_scikit_learn(tmp_path):
    names = sorted(POSTS["train"])
    cache = {}
    for part, groups in POSTS.items():
        rows = [(post(body), names.index(group)) for group in names for body in groups[group]]
        data, target = zip(*rows, strict=True)
        files = [str(index) for index in range(len(data))]
        cache[part] = Bunch(data=list(data), target=list(target), filenames=files)
        cache[part].target_names, cache[part].DESCR = names, ""
    packed = codecs.encode(pickle.dumps(cache), "zlib_codec")
    (tmp_path / "20news-bydate_py3.pkz").write_bytes(packed)
    found = load_newsgroups(tmp_path, "test")
    assert found.class_names == ("rec.autos", "sci.space")
    assert sorted(text.split()[-1] for text in found.texts) == ["Wheels.", "star."]
    with pytest.raises(ValueError, match="subset must be 'train', 'test' or 'all', got 'both'"):
        load_newsgroups(tmp_path, "both")


def test_texts_with_nothing_left_are_dropped(tmp_path):
    for group, body in (("a", "Words."), ("b", "")):
        place = tmp_path / "20news-bydate-train" / group
        place.mkdir(parents=True)
        (place / "1").write_text(f"From: nobody\n\n{body}")
    assert load_newsgroups(tmp_path, "train").texts == ["Words."]
    assert len(load_newsgroups(tmp_path, "train", strip=False).texts) == 2


def test_where_there_are_no_newsgroups_the_message_says_what_is_looked_for(tmp_path):
    with pytest.raises(UnavailableError, match="20news-bydate-train/<group>/<file>"):
        load_newsgroups(tmp_path)
    with pytest.raises(UnavailableError, match="20news-bydate-test"):
        load_newsgroups(tmp_path / "nowhere", "test")
