"""What is written is what is read, whatever the cells."""

import math
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frames import choose, read_chunks, read_table
from frames import frames as frames_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amclust.cli.tables import TableWriter, write_table

# Without control characters, which not every format can hold, but with line ends and quotes.
letters = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]) | st.sampled_from(
    '\n",;\t|'
)
texts = st.text(letters, max_size=8)
names = st.lists(
    texts.map(str.strip).filter(lambda name: name and "\n" not in name),
    min_size=1,
    max_size=4,
    unique=True,
).map(lambda found: [f"c{name}" for name in found])
floats = st.none() | st.floats(allow_nan=False, allow_infinity=False)
few = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def frames(draw):
    columns = draw(names)
    rows = draw(st.integers(1, 5))
    data = {}
    for name in columns:
        kind = draw(st.sampled_from(["real", "whole", "text", "yes"]))
        cells, dtype = {
            "real": (floats, "float64"),
            "whole": (st.integers(-(2**63), 2**63 - 1), "int64"),
            "text": (texts, "object"),
            "yes": (st.booleans(), "bool"),
        }[kind]
        drawn = draw(st.lists(cells, min_size=rows, max_size=rows))
        data[name] = pd.Series(drawn, dtype=dtype)
    return pd.DataFrame(data)


def written_and_read(frame, suffix, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"table.{suffix}")
        write_table(frame, path)
        return read_table(path, **options)


def same(left, right):
    missing = left is None or left is pd.NA or (isinstance(left, float) and math.isnan(left))
    return pd.isna(right) if missing else left == right


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@few
@given(frame=frames())
def test_typed_formats(suffix, frame):
    read = written_and_read(frame, suffix)
    assert list(read.columns) == list(frame.columns)
    for name in frame.columns:
        pairs = zip(frame[name].tolist(), read[name].tolist(), strict=True)
        assert all(same(*pair) for pair in pairs)


@pytest.mark.parametrize(("suffix", "delimiter"), [("csv", ","), ("tsv", "\t"), ("csv.gz", ",")])
@few
@given(frame=frames())
def test_text_formats(suffix, delimiter, frame):
    read = written_and_read(frame, suffix, delimiter=delimiter, header=True)
    assert list(read.columns) == list(frame.columns)
    for name in frame.columns:
        for before, after in zip(frame[name].tolist(), read[name].tolist(), strict=True):
            if isinstance(before, float):
                assert same(before, float(after or "nan"))
            else:
                assert str(before) == after
    again = written_and_read(read, suffix, delimiter=delimiter, header=True)
    pd.testing.assert_frame_equal(again, read)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "npy", "parquet", "arrow"])
@few
@given(
    values=st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(floats, min_size=width, max_size=width), min_size=1, max_size=5
        )
    ),
    plain=st.booleans(),
)
def test_numbers_are_the_same_to_the_last_bit(suffix, values, plain):
    X = np.array(values, dtype=float)
    X[0, np.isnan(X).all(axis=0)] = 0.5
    columns = [f"x{index}" if plain else f"n{index}" for index in range(X.shape[1])]
    read = written_and_read(pd.DataFrame(X, columns=columns), suffix)
    assert choose(read).names == columns
    np.testing.assert_array_equal(choose(read).matrix(read), X)


@few
@given(frame=frames(), rows=st.integers(1, 6), suffix=st.sampled_from(["csv", "parquet", "arrow"]))
def test_chunks_written_and_read(frame, rows, suffix):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"table.{suffix}")
        with TableWriter(path) as writer:
            for start in range(0, len(frame), rows):
                writer.write(frame[start : start + rows])
        options = {"delimiter": ",", "header": True} if suffix == "csv" else {}
        whole = read_table(path, **options)
        chunks = frames_of(read_chunks(path, chunk_rows=rows, **options))
    pd.testing.assert_frame_equal(pd.concat(chunks, ignore_index=True), whole)
    assert len(whole) == len(frame)


@few
@given(cells=st.lists(texts, min_size=1, max_size=6), chunk=st.integers(1, 6))
def test_any_category_is_found_again(cells, chunk):
    array = pa.array([*cells, "zz"], pa.large_string())
    frame = pd.DataFrame({"hue": pd.Series(pd.arrays.ArrowExtensionArray(array))})
    columns = choose(frame, categorical=["hue"])
    matrix = columns.matrix(frame)
    missing = np.isnan(matrix).any(axis=1)
    [categories] = [column.categories for column in columns.columns if column.name == "hue"]
    for row, cell in zip(matrix[~missing], frame["hue"][~missing], strict=True):
        assert categories[int(row[0])] == cell.strip()
    parts = [columns.matrix(frame[start : start + chunk]) for start in range(0, len(frame), chunk)]
    np.testing.assert_array_equal(np.concatenate(parts), matrix)
