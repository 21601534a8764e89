"""Frames with categories on Dask: the same bits as in memory, however they are cut."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import amclust

dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

from amclust.dask import ClAM  # noqa: E402


def make_frame(n=120):
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=n)
    level = (kind + (rng.random(n) < 0.15)) % 2
    frame = pd.DataFrame(
        {
            "number": kind + rng.normal(0, 0.4, n),
            "category": pd.Categorical.from_codes(level, ["no", "yes"]),
            "ordered": pd.Categorical.from_codes(level, ["low", "high"], ordered=True),
            "text": np.array(["ja", "nein"])[level],
            "truth": level == 1,
        }
    )
    return frame.mask((rng.random(frame.shape) < 0.1) & (frame.columns != "truth"))


FRAME = make_frame()
GIVEN = {"n_clusters": 2, "n_init": 2, "random_state": 0}


@pytest.fixture(scope="module")
def local():
    return amclust.ClAM(**GIVEN).fit(FRAME)


@pytest.mark.parametrize("n_blocks", [1, 3])
def test_the_same_bits_however_the_frame_is_cut(local, n_blocks):
    frame = dd.from_pandas(FRAME, npartitions=n_blocks).persist()
    model = ClAM(**GIVEN).fit(frame)
    assert model.network_.geometry.categories.levels == local.network_.geometry.categories.levels
    assert_array_equal(model.memories_, local.memories_)
    assert_array_equal(model.labels_.compute(), local.labels_)
    assert_array_equal(model.n_missing_, FRAME.isna().sum())
    completed = model.complete(frame)
    full, expected = completed.compute(), local.complete(FRAME)
    assert list(completed.dtypes) == list(frame.dtypes)
    assert not full.isna().any().any()
    assert_array_equal(full.astype(str), expected.astype(str))
    assert_array_equal(model.energy(frame).compute(), local.energy(FRAME))


def test_levels_that_nobody_has_listed_are_found(local):
    frame = dd.from_pandas(FRAME, npartitions=3)
    frame["category"] = frame["category"].cat.as_unknown()
    model = ClAM(**GIVEN).fit(frame.persist())
    assert_array_equal(model.memories_, local.memories_)


def test_identifiers_are_refused_with_their_column():
    names = FRAME.assign(text=[f"name {at}" for at in range(len(FRAME))])
    with pytest.raises(ValueError, match="'text' has 120 levels .* looks like an identifier"):
        ClAM(**GIVEN).fit(dd.from_pandas(names, npartitions=2).persist())
