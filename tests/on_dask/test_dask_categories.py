"""Categories in frames of Dask: the levels, the answers and the bits of the concatenated rows."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from dask_rows import FEW, MANY, as_blocks, as_frame, assert_same_fit, computed, local, on_dask
from numpy.testing import assert_array_equal

from amclust._warnings import UnseenLevelsWarning

pytestmark = pytest.mark.filterwarnings("ignore:X is not persisted")
CUTS = {FEW: (50, 0, 1, 69), MANY: (200, 1, 0, 399)}


def people(n, *, ordered=False, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    frame = pd.DataFrame(
        {
            "height": rng.normal(size=n) + 3 * (y % 2),
            "town": pd.Categorical(np.array(["Rome", "Oslo", "Bern"])[y % 3], ordered=ordered),
            "weight": rng.normal(size=n) + 3 * (y // 2),
            "team": pd.array(np.array(["red", "blue", "sea", "sky"])[y], dtype="string"),
            "member": rng.random(n) < 0.2 + 0.2 * y,
        },
        index=pd.Index(np.arange(n) * 2 + 5, name="id"),
    )
    for name in ("height", "town", "team"):
        frame.loc[frame.index[rng.random(n) < 0.1], name] = None
    return frame


def as_unknown(frame, lengths):
    """Return a frame of Dask whose categories are not known before its blocks are."""
    table = as_frame(frame, lengths)
    table["town"] = table["town"].astype(object).astype("category")
    return table


@pytest.mark.parametrize("n", [FEW, MANY])
@pytest.mark.parametrize("kind", [as_frame, as_unknown, as_blocks])
def test_blocks_change_no_bit(kind, n):
    frame = people(n)
    table = kind(frame, CUTS[n])
    if kind is as_unknown:
        frame = frame.assign(town=frame["town"].astype(object).astype("category"))
    model, expected = on_dask().fit(table), local().fit(frame)
    assert_same_fit(model, expected)
    assert model.network_.geometry.categories == expected.network_.geometry.categories
    assert_array_equal(computed(model.labels_), expected.labels_)
    assert_array_equal(model.n_missing_, frame.isna().sum())
    assert_array_equal(computed(model.transform(table)), expected.transform(frame))
    assert_array_equal(computed(model.recall(table)), expected.recall(frame))
    assert model.score(table) == expected.score(frame)
    assert model.cluster_summary_["size"].sum() == n


def test_levels_of_an_ordered_category_keep_their_order():
    frame = people(FEW, ordered=True)
    frame["town"] = frame["town"].cat.reorder_categories(["Rome", "Bern", "Oslo"])
    model = on_dask().fit(as_frame(frame, CUTS[FEW]))
    assert model.network_.geometry.categories.levels[1] == ("Rome", "Bern", "Oslo")


def test_completed_frames_are_lazy_and_keep_their_types():
    frame = people(FEW)
    table = as_frame(frame, CUTS[FEW])
    model, expected = on_dask().fit(table), local().fit(frame)
    completed, std = model.complete(table, return_std=True)
    assert isinstance(completed, dd.DataFrame)
    filled, deviations = expected.complete(frame, return_std=True)
    pd.testing.assert_frame_equal(completed.compute(), filled)
    pd.testing.assert_frame_equal(std.compute(), deviations)
    assert list(completed.dtypes) == list(completed.compute().dtypes)


def test_pieces_go_on():
    frame = people(MANY)
    model = on_dask().partial_fit(as_frame(frame, CUTS[MANY]))
    whole = local().partial_fit(frame[:200]).partial_fit(frame[200:201]).partial_fit(frame[201:])
    assert_array_equal(model.network_.memories, whole.network_.memories)


def test_levels_that_no_fit_has_seen_are_missing_and_told():
    frame = people(FEW)
    model = on_dask().fit(as_frame(frame, CUTS[FEW]))
    new = frame.assign(team="green")
    gone = frame.assign(team=pd.array([pd.NA] * len(frame), dtype="string"))
    with pytest.warns(match=r"Block \d of X: Levels .* 'green' in column 'team'"):
        found = model.predict(as_frame(new, CUTS[FEW])).compute(scheduler="synchronous")
    assert_array_equal(found, model.predict(as_frame(gone, CUTS[FEW])).compute())


def test_names_of_rows_are_no_category():
    frame = people(FEW)
    frame["name"] = [f"row {at}" for at in range(FEW)]
    with pytest.raises(ValueError, match="Column 'name' has 120 levels in 120 rows"):
        on_dask().fit(as_frame(frame, CUTS[FEW]))


def test_text_among_numbers_is_named():
    frame = people(FEW)
    columns = ["team", "town", "member"]
    table = as_frame(frame.drop(columns=columns).assign(name="text"), CUTS[FEW])
    with pytest.raises(ValueError, match="All columns must be numbers; not so: 'name'"):
        on_dask(categorical_features=None).fit(table)


def two_kinds():
    """Return blocks of a column of objects: texts, and numbers."""
    x = np.random.default_rng(0).normal(size=60)
    texts, numbers = np.array(["x", "y"] * 30, dtype=object), np.array([1, 2] * 30, dtype=object)
    return pd.DataFrame({"x": x, "b": texts}), pd.DataFrame({"x": x, "b": numbers})


def test_numbers_in_a_block_and_texts_in_another_are_no_missing_values():
    texts, numbers = two_kinds()
    with pytest.raises(ValueError, match="Block 1 of X: column 'b' holds numbers here, but texts"):
        on_dask(2).fit([delayed(texts), delayed(numbers)])
    with pytest.raises(ValueError, match="'b'"):
        on_dask(2).fit([delayed(numbers), delayed(texts)])
    model = on_dask(2, categorical_features=["b"]).fit([delayed(texts), delayed(numbers)])
    assert model.network_.geometry.categories.levels[1] == (1, 2, "x", "y")
    assert_array_equal(model.n_missing_, [0, 0])


def test_a_column_of_objects_that_holds_numbers_is_no_category():
    _, numbers = two_kinds()
    frame = pd.concat([numbers.assign(b=None), numbers, numbers], ignore_index=True)
    frame["c"] = list("pq") * 90
    model, expected = on_dask(2).fit(as_blocks(frame, (60, 60, 60))), local(2).fit(frame)
    assert_same_fit(model, expected)
    assert model.network_.geometry.categories.levels == (None, None, ("p", "q"))


def test_truth_values_in_a_block_and_numbers_in_another_are_refused():
    texts, numbers = two_kinds()
    truths = texts.assign(b=texts["b"] == "x")
    with pytest.raises(ValueError, match="Block 1 of X: column 'b' has numbers here and truth"):
        on_dask(2, categorical_features=["b"]).fit([delayed(truths), delayed(numbers)])


def test_a_score_tells_of_levels_that_no_fit_has_seen():
    frame = people(FEW)
    model = on_dask().fit(as_frame(frame, CUTS[FEW]))
    with pytest.warns(UnseenLevelsWarning, match=r"Block \d of X: .*'green' in column 'team'"):
        model.score(as_frame(frame.assign(team="green"), CUTS[FEW]))


def test_blocks_of_objects_are_pieces_too():
    rows = people(FEW)[["height", "team"]].dropna(how="all").astype(object).to_numpy()
    rows[60:90] = None  # a block without any value
    model = on_dask(2, categorical_features=[1]).partial_fit(da.from_array(rows, chunks=(30, 2)))
    assert model.network_.geometry.categories.levels[1] == ("blue", "red", "sea", "sky")


@pytest.mark.parametrize("kind", [as_frame, as_blocks])
def test_pieces_know_the_levels_of_all_blocks(kind):
    x = np.random.default_rng(0).normal(size=240)
    team = np.repeat(["blue", "red", "sea"], 80)  # rows are sorted
    frame = pd.DataFrame({"x": x, "team": team, "town": np.tile(["a", "b"], 120)})
    table = kind(frame, (80, 80, 80))
    model = on_dask(2).partial_fit(table)
    layout = model.network_.geometry.categories
    assert layout.levels == (None, ("blue", "red", "sea"), ("a", "b"))
    assert np.isfinite(model.network_.memories).all()
    assert np.isfinite(model.cluster_centers_).all()
    memories = model.network_.memories
    model.partial_fit(table)
    assert model.network_.geometry.categories == layout
    assert (model.network_.memories != memories).any()
    with pytest.raises(ValueError, match="euclidean"):
        on_dask(2, metric="cosine").partial_fit(table)
