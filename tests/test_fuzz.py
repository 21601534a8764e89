"""Fuzzing itself: its targets run, and what they have found stays mended."""

from fractions import Fraction

import numpy as np
import pytest

from amclust import ClAM, ClAMSearch
from amclust.cli.tables import Chunks, TableError, read_table
from amclust.cli.tables.reading import ReadOptions
from fuzz import oracle
from fuzz.running import TARGETS, run


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_runs(name):
    assert run(TARGETS[name], seed=0, cases=8).total() >= 8


def test_the_oracle_knows_what_is_wrong():
    assert oracle.outcome(lambda: ClAM(0).fit([[0.0], [1.0]])) == oracle.REFUSED
    for wrong in (lambda: int("x"), lambda: 1 / 0, lambda: np.linalg.inv(np.zeros((2, 2)))):
        with pytest.raises(oracle.WrongError):
            oracle.outcome(wrong)


def test_directions_are_never_nearer_than_0():
    X = np.array([[1, 1, 1, np.nan], [1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1.0]])
    model = ClAM(3, metric="cosine", n_init=1, max_epochs=3, random_state=0, n_jobs=1).fit(X)
    assert (model.transform(X) >= 0).all()


@pytest.mark.parametrize("X", [[[1.0]], [[1.0, 0.0], [1.0, 0.0]], [[0.0, 2.0]] * 4])
def test_directions_along_an_axis_have_limits_of_size(X):
    model = ClAM(1, metric="cosine", size_min=1, size_max=20, n_init=1, max_epochs=3)
    assert model.fit(np.array(X)).labels_.tolist() == [0] * len(X)


@pytest.mark.parametrize("name", ["learning_rate", "tol", "beta"])
def test_a_fraction_is_named(name):
    with pytest.raises(ValueError, match=f"'{name}' parameter of ClAM .* type Fraction"):
        ClAM(2, **{name: Fraction(1, 2)}).fit([[0.0], [1.0], [5.0]])


def test_a_cell_that_is_no_number_is_named():
    with pytest.raises(ValueError, match="'x', in row 1, column 0 of X"):
        ClAM(2).fit(np.array([[1.0, 2.0], ["x", 3.0]], dtype=object))


def test_true_is_one_restart_of_a_search():
    X = np.array([[0.0, 1.0], [0.1, 1.1], [5.0, 6.0], [5.1, 6.1]])
    search = ClAMSearch(2, n_init=True, max_epochs=10, budget=30, random_state=0).fit(X)
    assert len(set(search.labels_)) == 2


def test_an_encoding_without_its_mark_is_named(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,a\n")
    with pytest.raises(TableError, match=r"t.csv' is not utf-16"):
        read_table(tmp_path / "t.csv", ReadOptions(encoding="utf-16"))


def test_a_temporary_copy_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_bytes("a,b\n1,é\n".encode("latin-1"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(OSError, match="temporary copy of the table .* TMPDIR"):
        Chunks(tmp_path / "t.csv", 2, ReadOptions(encoding="latin-1")).first()
