"""Tables in chunks are the same tables."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frames import categories, choose, frames, read_chunks, read_table

from amclust._warnings import UnseenLevelsWarning
from amclust.cli.tables import TableError, write_table

FORMATS = ["csv", "csv.gz", "tsv", "parquet", "arrow", "npy"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of 23 rows in every format that can be streamed."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": [f"{index:03d}" for index in range(23)],
            "x": np.where(rng.random(23) < 0.2, np.nan, rng.standard_normal(23)),
            "n": rng.integers(0, 9, 23),
            "hue": rng.choice(["red", "green, dark", 'a "b"\nc'], 23),
        }
    )
    path = tmp_path_factory.mktemp("streamed")
    for suffix in FORMATS:
        write_table(frame, path / f"table.{suffix}")
    return path


@pytest.mark.parametrize("suffix", FORMATS)
def test_chunks_of_any_size_make_up_the_table(folder, suffix):
    path = folder / f"table.{suffix}"
    whole = read_table(path)
    choice = {"id": "id", "categorical": ["hue"]}
    columns = choose(whole, **choice)
    for rows in (1, 2, 7, 22, 23, 24, 1_000):
        chunks = read_chunks(path, chunk_rows=rows)
        assert choose(chunks, **choice) == columns
        parts = frames(chunks)
        assert {len(part) for part in parts[:-1]} <= {rows}
        assert all((part.dtypes == whole.dtypes).all() for part in parts)
        pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), whole)
        joined = np.concatenate([columns.matrix(part) for part in parts])
        np.testing.assert_array_equal(joined, columns.matrix(whole))


def test_chunks_can_be_gone_through_again(folder):
    chunks = read_chunks(folder / "table.csv", chunk_rows=5)
    first = chunks.first().to_pandas()
    for _ in range(3):
        parts = frames(chunks)
        assert len(parts) == 5
        pd.testing.assert_frame_equal(parts[0], first)


def test_chunks_larger_and_smaller_than_blocks(save):
    rows = np.arange(30_000)
    zeros = "0" * 300
    path = save("a\n" + "".join(f"{row}.{zeros}\n" for row in rows.tolist()))
    for chunk_rows in (7_001, 29_000):
        chunks = read_chunks(path, chunk_rows=chunk_rows)
        columns = choose(chunks)
        values = np.concatenate([columns.matrix(chunk)[:, 0] for chunk in chunks])
        np.testing.assert_array_equal(values, rows)


def test_rows_longer_than_a_block(save):
    cells = [letter * 1_500_000 for letter in "xyz"]
    path = save("a,b\n" + "".join(f'"{cell}\n",1\n' for cell in cells))
    for chunk, cell in zip(read_chunks(path, chunk_rows=1), cells, strict=True):
        assert chunk["a"].to_pylist() == [f"{cell}\n"]


def test_text_that_appears_late_is_told_by_its_row(save):
    chunks = read_chunks(save("a,b\n" + "1,2\n" * 7 + "1,oops\n1,2\n"), chunk_rows=3)
    columns = choose(chunks)
    parts = list(chunks)
    columns.matrix(parts[1], first_row=3)
    with pytest.raises(TableError, match="column 'b' \\('oops'; first in row 8\\)"):
        columns.matrix(parts[2], first_row=6)


def test_all_categories_are_found_before_the_first_row(save):
    path = save("x,hue\n1,red\n2,5\n3,blue\n4,\n5,6\n")
    chunks = read_chunks(path, chunk_rows=1)
    columns = choose(chunks, categorical=["hue"])
    assert categories(columns) == {"hue": ["5", "6", "blue", "red"]}


def test_truth_values_across_chunks(save):
    chunks = read_chunks(save("a,b\nTrue,1\nFalse,2\n,3\n1,4\n"), chunk_rows=1)
    columns = choose(chunks)
    values = np.concatenate([columns.matrix(chunk)[:, 0] for chunk in chunks])
    np.testing.assert_array_equal(values, [1, 0, np.nan, 1])


def test_a_column_may_be_empty_in_the_first_chunk(save):
    chunks = read_chunks(save("a,b\n1,\n2,3\n"), chunk_rows=1)
    assert choose(chunks).names == ["a", "b"]


def test_ragged_rows_and_open_quotes_are_told_when_they_come(save):
    chunks = read_chunks(save("a,b\n" + "1,2\n" * 5 + "3\n"), chunk_rows=2)
    with pytest.raises(TableError, match="line 7: 1 cell, but the table has 2 columns"):
        list(chunks)
    with pytest.raises(TableError, match="line 3: a quote is opened that is never closed"):
        list(read_chunks(save('a,b\n1,2\n"3,4\n5,6\n'), chunk_rows=1))
    with pytest.raises(TableError, match="the quote opened in row 2, column 'b', never closes"):
        list(read_chunks(save('a,b\n1,2\n3,"4\n5,6\n'), chunk_rows=1))
    text = "a,b\n" + "1,2\n" * 400_000 + '3,"' + "4\n" * 1_500_000
    with pytest.raises(TableError, match="line 400,002: a quote is opened that is never closed"):
        list(read_chunks(save(text), chunk_rows=100_000))


def test_an_encoding_that_is_wrong_only_later_is_told_by_its_line(save):
    path = save(b"a,b\n" + b"1,2\n" * 400_000 + b"\xff,2\n")
    with pytest.raises(TableError, match="line 400,002: the byte b'\\\\xff' is not utf-8"):
        list(read_chunks(path, chunk_rows=100_000))


@pytest.mark.parametrize("content", ["", "a,b\n"])
def test_a_table_without_rows(save, content):
    with pytest.raises(TableError, match="is empty|no rows"):
        list(read_chunks(save(content), chunk_rows=2))


def test_chunks_need_rows(save):
    with pytest.raises(TableError, match="chunk_rows must be at least 1, got 0"):
        read_chunks(save("a\n1\n"), chunk_rows=0)


def test_standard_input_is_streamed_once(pipe_in):
    pipe_in(gzip.compress(b"a,b\n1,2\n3,4\n5,6\n"))
    chunks = read_chunks("-", chunk_rows=2)
    columns = choose(chunks)
    assert [columns.matrix(chunk).tolist() for chunk in chunks] == [
        [[1, 2], [3, 4]],
        [[5, 6]],
    ]
    with pytest.raises(TableError, match="standard input can be read only once"):
        list(chunks)


def test_of_standard_input_the_first_chunk_tells_the_levels(pipe_in):
    pipe_in(b"a,hue\n1,red\n2,blue\n3,teal\n")
    chunks = read_chunks("-", chunk_rows=2)
    columns = choose(chunks)
    assert categories(columns) == {"hue": ["blue", "red"]}
    with pytest.warns(UnseenLevelsWarning, match="'teal'"):
        found = [columns.matrix(chunk)[:, 1].tolist() for chunk in chunks]
    np.testing.assert_array_equal(np.concatenate(found), [1, 0, np.nan])


def test_a_long_table_takes_little_memory(tmp_path):
    path = tmp_path / "table.csv.gz"
    rows = b"0.12345678,1.5,2.25,3.125\n" * 10_000
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"a,b,c,d\n")
        for _ in range(200):
            file.write(rows)
    before = pa.total_allocated_bytes()
    chunks = read_chunks(path, chunk_rows=50_000)
    used = [pa.total_allocated_bytes() - before for _ in chunks]
    assert len(used) == 40
    # The text has 52 MB.
    assert max(used) < 26_000_000
