"""The benchmark of clusters of any shape: how it scores, and that nothing is passed over."""

import gzip

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from benchmarks.framework.cases import Case, Record
from benchmarks.framework.environment import UnavailableError
from benchmarks.framework.lines import Line, Skipped
from benchmarks.quality import __main__ as command
from benchmarks.quality import shapes
from benchmarks.quality.shapes import AUTO, DEFAULT, GENIE, METHODS, SHAPES, Key, Method

TABLE = "x0,x1,label,label1\n0,0,1,1\n0,1,1,1\n9,0,2,1\n9,1,2,1\n50,50,0,2\n"


class Halves:
    """Cut rows by their first column."""

    def __init__(self, n_clusters):
        assert n_clusters == 2  # noise is no cluster

    def fit_predict(self, features):
        return (features[:, 0] > 5).astype(int)


def make_record(part, name, method, ari, seed=0):
    return Record(Case(Key(part, name, method, seed)), {"ari": ari}, 0.1, {"commit": "e"})


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shapes").mkdir()
    with gzip.open(tmp_path / "shapes" / "toy.csv.gz", "wt") as file:
        file.write(TABLE)
    return tmp_path


def test_noise_is_clustered_and_not_scored(folder):
    features, references = shapes.load_shapes("toy", folder)
    assert features.shape == (5, 2)
    assert_array_equal(references, [[1, 1, 2, 2, 0], [1, 1, 1, 1, 2]])
    method = Method("halves", Halves)
    assert shapes.best_ari(method, features, references[:1]) == 1.0
    assert shapes.best_ari(method, features, references[1:]) < 1.0
    assert shapes.best_ari(method, features, references) == 1.0


def test_a_set_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UnavailableError, match=r"fcps_atom\.csv\.gz is missing"):
        shapes.load_shapes("fcps_atom", tmp_path)


def test_a_peer_that_is_not_there_is_said(capsys, monkeypatch):
    def missing(name, package):
        raise UnavailableError(f"pip install {package}")

    monkeypatch.setattr(shapes, "optional_module", missing)
    assert not METHODS[GENIE].is_available()
    assert "SKIPPED: pip install genieclust" in capsys.readouterr().out


def test_targets_without_all_records_are_skipped():
    records = [make_record("shapes", name, AUTO, 0.97) for name in SHAPES]
    alone, beside, *others = shapes.target_entries(records)
    assert isinstance(alone, Line)
    assert alone.reached
    assert isinstance(beside, Skipped)
    assert "Genie" in beside.skipped
    assert all(isinstance(entry, Skipped) for entry in others)
    (first, *_) = shapes.target_entries(records[1:])
    assert isinstance(first, Skipped)


def test_means_say_on_how_many_sets_they_stand():
    records = [make_record("tables", name, AUTO, 0.5) for name in ("iris", "wine", "zoo")]
    peers = zip(("iris", "wine", "zoo"), (0.1, 0.6, 0.5), strict=True)
    records += [make_record("tables", name, DEFAULT, ari) for name, ari in peers]
    (line,) = [e for e in shapes.target_entries(records) if e.what.startswith("3 tables")]
    assert line.reached
    assert line.note == "better on 1, worse on 1 of 3 sets"


@pytest.mark.parametrize("name", shapes.MADE)
def test_new_rows_are_others_of_the_same_distribution(name):
    made = shapes.MADE[name](0)
    assert made.fitted.features.shape == made.new.features.shape == (500, 2)
    assert not np.isin(made.new.features, made.fitted.features).any()
    means = [table.features[table.classes == 0].mean(axis=0) for table in (made.fitted, made.new)]
    assert np.abs(means[0] - means[1]).max() < 0.3
    found = shapes._score_made(made, METHODS[AUTO])
    assert found["new_ari"] <= 1.0


def test_the_suite_is_chosen_by_its_name(capsys):
    for arguments, program in (
        (["--help"], "python -m benchmarks.quality ["),
        (["--suite", "shapes", "--help"], "python -m benchmarks.quality --suite shapes ["),
    ):
        with pytest.raises(SystemExit) as ended:
            command.main(arguments)
        assert ended.value.code == 0
        assert program in " ".join(capsys.readouterr().out.split())
