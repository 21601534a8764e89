"""The variants of the recipe: they are what they say."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

from amclust import ClAM, _native
from benchmarks.recipe import __main__ as command
from benchmarks.recipe.cases import DEFAULT, VARIANTS

X = load_iris().data[::3]


def memories(variant, monkeypatch):
    """Fit a variant, and give the memories of every run that was trained last."""
    trained = []
    original = _native.train

    def train(*arguments):
        trained[:] = original(*arguments)
        return list(trained)

    with monkeypatch.context() as patch:
        patch.setattr(_native, "train", train)
        labels = VARIANTS[variant].labels(X, 3, 0)
    assert_array_equal(np.unique(labels), [0, 1, 2])
    return np.stack([record.memories for record in trained])


def test_the_default_is_the_library():
    expected = ClAM(3, random_state=0).fit_predict(X)
    assert_array_equal(VARIANTS[DEFAULT].labels(X, 3, 0), expected)


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != DEFAULT])
def test_a_variant_differs(variant, monkeypatch):
    found = memories(variant, monkeypatch)
    if not variant.startswith("choice"):
        default = memories(DEFAULT, monkeypatch)
        assert found.shape != default.shape or not np.array_equal(found, default)


def test_the_table_goes_between_the_marks(tmp_path):
    page, output = tmp_path / "recipe.md", tmp_path / "recipe.jsonl"
    begin, end = command.MARKS
    page.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
    places = ["--page", str(page), "--output", str(output)]
    arguments = ["--sets", "iris", "--seeds", "2", "--variants", DEFAULT]
    assert command.main([*arguments, *places]) == 0
    first = page.read_text()
    assert command.main(["--page-only", *places]) == 0
    assert page.read_text() == first
    assert first.startswith("before\n")
    assert first.endswith("\nafter\n")
    assert f"| {DEFAULT} |" in first
    assert "old" not in first
    page.write_text("no marks")
    with pytest.raises(ValueError, match="marks"):
        command.main(["--page-only", *places])
