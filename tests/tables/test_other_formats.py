"""Reading what is not text: Parquet, Arrow, NumPy, Excel."""

import datetime
import io
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from frames import categories, choose, frames, read_chunks, read_table

from amclust.cli.tables import TableError, write_table

TABLE = pa.table(
    {
        "whole": pa.array([1, None, 2**60 + 1]),
        "real": [0.5, None, 2.5],
        "text": pa.array(["007", None, "x"], pa.large_string()),
        "yes": [True, None, False],
        "when": pa.array([datetime.date(2020, 1, 2), None, None]),
        "hue": pa.array(["red", None, "red"]).dictionary_encode(),
    }
)


def in_format(name, table=TABLE):
    file = io.BytesIO()
    if name == "parquet":
        pa.parquet.write_table(table, file)
    elif name == "feather":
        pa.feather.write_feather(table, file, compression="lz4")
    else:
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
    return file.getvalue()


def npy(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def npz(*arrays, **named):
    file = io.BytesIO()
    np.savez_compressed(file, *arrays, **named)
    return file.getvalue()


def xlsx(rows, title="data", more=()):
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    for other in more:
        book.create_sheet(other).append([other])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


@pytest.mark.parametrize("name", ["parquet", "arrow", "feather"])
@pytest.mark.parametrize("suffix", ["", ".csv", ".parquet", ".arrow"])
def test_the_bytes_tell_the_format(save, pipe_in, name, suffix):
    path = save(in_format(name), f"table{suffix}")
    frame = read_table(path)
    assert frame["whole"].dropna().tolist() == [1, 2**60 + 1]
    assert frame["text"].dropna().tolist() == ["007", "x"]
    assert frame["when"].dropna().tolist() == [datetime.date(2020, 1, 2)]
    columns = choose(frame, drop=["when", "text"])
    expected = [[1, 0.5, 1, 0], [np.nan] * 4, [2.0**60, 2.5, 0, 0]]
    np.testing.assert_array_equal(columns.matrix(frame), expected)

    pipe_in(path.read_bytes())
    pd.testing.assert_frame_equal(read_table("-"), frame)
    pipe_in(path.read_bytes())
    chunks = frames(read_chunks("-", chunk_rows=2))
    assert [len(chunk) for chunk in chunks] == [2, 1]
    pd.testing.assert_frame_equal(pd.concat(chunks, ignore_index=True), frame)


def level_of_text():
    """Return the newest layout of text that this pyarrow can read."""
    old = int(pa.__version__.split(".")[0]) < 18
    return pl.CompatLevel.oldest() if old else pl.CompatLevel.newest()


@pytest.mark.parametrize("name", ["arrow", "parquet"])
def test_tables_of_polars(tmp_path, name):
    hue = pl.Series(["red", None], dtype=pl.Categorical)
    frame = pl.DataFrame({"x": [1.5, None], "text": ["a", "b"], "hue": hue})
    if name == "parquet":
        frame.write_parquet(tmp_path / "table")
    else:
        frame.write_ipc(tmp_path / "table", compat_level=level_of_text())
    read = read_table(tmp_path / "table")
    assert read["text"].tolist() == ["a", "b"]
    assert categories(choose(read, drop=["text"])) == {"hue": ["red"]}


def test_the_index_pandas_hides_in_parquet_is_a_column(save):
    file = io.BytesIO()
    pd.DataFrame({"x": [1.5, 2.5, 9]}, index=[3, 4, 5]).to_parquet(file)
    frame = read_table(save(file.getvalue()))
    assert list(frame.columns) == ["x", "__index_level_0__"]
    with pytest.raises(TableError, match="'__index_level_0__' looks like the numbers of rows"):
        choose(frame)


@pytest.mark.parametrize("name", ["parquet", "arrow"])
def test_damaged_and_empty_files(save, name):
    content = in_format(name)
    with pytest.raises(TableError, match="damaged or cut short"):
        read_table(save(content[: len(content) // 2]))
    with pytest.raises(TableError, match="no rows"):
        read_table(save(in_format(name, TABLE.slice(0, 0))))
    twice = pa.table([[1], [2]], names=["a", "a"])
    with pytest.raises(TableError, match="repeated column names: 'a' \\(columns 1, 2\\)"):
        read_table(save(in_format(name, twice)))


def test_text_that_is_none_is_not_trusted(save):
    offsets = pa.array([0, 2, 4], pa.int32()).buffers()[1]
    text = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"ab\xff\xfe")])
    with pytest.raises(TableError, match="damaged or cut short: .*UTF8"):
        read_table(save(in_format("arrow", pa.table({"a": text}))))


def test_a_declared_format_is_held_to(save):
    with pytest.raises(TableError, match="is a Parquet file, not CSV"):
        read_table(save(in_format("parquet")), format="csv")
    with pytest.raises(TableError, match="is not an Arrow file, or it is damaged"):
        read_table(save("a,b\n1,2\n"), format="arrow")
    with pytest.raises(TableError, match="is not a Parquet file, or it is damaged"):
        read_table(save("a,b\n1,2\n", "table.parquet"))
    with pytest.raises(TableError, match="format must be one of csv, .* got 'json'"):
        read_table(save("a,b\n1,2\n"), format="json")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xd0\xcf\x11\xe0" + b"\0" * 100, "old or encrypted Excel"),
        (b"FEA1\0\0", "Feather file of version 1"),
        (b"\xff\xff\xff\xff\x10\0", "Arrow stream; write it as an Arrow file"),
        (b"BZh91AY", "bzip2"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x28\xb5\x2f\xfd\0", "zstd"),
        (b"SQLite format 3\0", "SQLite"),
        (b"\n <!DOCTYPE html>\n<html>", "web page"),
        (b'[{"a": 1}, {"a": 2}]', "JSON, which is not read"),
        (b'{\n  "a": [1, 2]\n}', "JSON, which is not read"),
        (b"\x80\x04\x95\x10", "pickle"),
        (b"PK\x03\x04" + b"\0" * 100, "damaged or cut short"),
    ],
)
def test_what_is_no_table(save, content, words):
    with pytest.raises(TableError, match=words):
        read_table(save(content))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">f4", "f2", "i1", ">u8", "?"])
def test_plain_arrays(save, order, dtype):
    array = np.asarray([[1, 0], [0, 1], [1, 1]], dtype=dtype, order=order)
    path = save(npy(array), "table.npy")
    frame = read_table(path)
    assert list(frame.columns) == ["x0", "x1"]
    matrix = choose(frame).matrix(frame)
    np.testing.assert_array_equal(matrix, array.astype(float))
    chunks = frames(read_chunks(path, chunk_rows=2))
    pd.testing.assert_frame_equal(pd.concat(chunks, ignore_index=True), frame)


def test_arrays_of_one_axis_text_and_dates(save):
    assert read_table(save(npy(np.arange(3.0))))["x0"].tolist() == [0, 1, 2]
    assert read_table(save(npy(np.array([["ä", "b"]]))))["x0"].tolist() == ["ä"]
    assert read_table(save(npy(np.array([b"a", b"b"]))))["x0"].tolist() == ["a", "b"]
    dates = np.array(["2020-01-02"], "M8[s]")
    with pytest.raises(TableError, match="dates or times"):
        choose(read_table(save(npy(dates))))


def test_structured_arrays_keep_their_names(save):
    array = np.array([("a", 1.5, 2), ("b", np.nan, 3)], [("name", "U5"), ("x", "f4"), ("n", "i8")])
    frame = read_table(save(npy(array)))
    columns = choose(frame, id="name")
    assert columns.names == ["x", "n"]
    np.testing.assert_array_equal(columns.matrix(frame), [[1.5, 2], [np.nan, 3]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy(np.array([{}, 1], dtype=object), allow_pickle=True), "holds Python objects"),
        (npy(np.zeros((2, 2, 2))), "has the shape \\(2, 2, 2\\)"),
        (npy(np.array(3.0)), "has the shape \\(\\)"),
        (npy(np.zeros((0, 3))), "no rows"),
        (npy(np.zeros(2, complex)), "real numbers or text"),
        (npy(np.zeros(2, [("a", "f8", 3)])), "fields of several values: 'a'"),
        (npy(np.zeros((100, 3)))[:-50], "damaged or cut short"),
        (npy(np.zeros((100, 3)))[:40], "damaged or cut short"),
        (npz(np.zeros(2)), ".npz archive, which is not read; save its array as .npy"),
    ],
)
def test_arrays_that_are_no_tables(save, content, message):
    path = save(content)
    with pytest.raises(TableError, match=message):
        read_table(path)
    with pytest.raises(TableError, match=message):
        list(read_chunks(path, chunk_rows=2))


def test_an_archive_of_something_else(save):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(TableError, match="a zip archive, but not an Excel workbook \\(.xlsx\\)"):
        read_table(save(file.getvalue()))


def test_excel(save, pipe_in):
    rows = [
        ["id", "x", "n", "yes", "when", "mixed", None],
        ["007", 1.5, 1, True, datetime.datetime(2020, 1, 2), 1, None],
        ["b", None, 2, False, None, "?", None],
        [None] * 7,
        ["c", 3, None, None, None, 2.5, None],
        [None] * 7,
    ]
    content = xlsx(rows)
    path = save(content, "table.xlsx")
    frame = read_table(path)
    assert list(frame.columns) == ["id", "x", "n", "yes", "when", "mixed"]
    assert len(frame) == 4
    columns = choose(frame, drop=["id", "when"])
    nan = np.nan
    expected = [[1.5, 1, 1, 1], [nan, 2, 0, nan], [nan] * 4, [3, nan, nan, 2.5]]
    np.testing.assert_array_equal(columns.matrix(frame), expected)
    pipe_in(content)
    pd.testing.assert_frame_equal(read_table("-"), frame)
    with pytest.raises(TableError, match="Excel workbook, which cannot be streamed"):
        read_chunks(path, chunk_rows=2).first()


def test_sheets_of_excel(save):
    path = save(xlsx([["a"], [1]], "first", ["second", "1"]), "table.xlsx")
    assert list(read_table(path).columns) == ["a"]
    assert list(read_table(path, sheet="first").columns) == ["a"]
    with pytest.raises(
        TableError, match="sheet 'second' of .* no rows|has column names but no rows"
    ):
        read_table(path, sheet="second")
    # A name goes before a number.
    with pytest.raises(TableError, match="sheet '1' of .* holds only numbers"):
        read_table(path, sheet="1")
    assert read_table(path, sheet="2", header=False)["x0"].tolist() == ["second"]
    with pytest.raises(TableError, match="no sheet 'third'; it has 'first', 'second', '1'"):
        read_table(path, sheet="third")


def test_headers_of_excel(save):
    path = save(xlsx([[1, 2], [3, 4]]), "table.xlsx")
    with pytest.raises(TableError, match="sheet 'data' of .*holds only numbers"):
        read_table(path)
    assert read_table(path, header=False)["x0"].tolist() == [1, 3]
    with pytest.raises(TableError, match="repeated column names: 'a' \\(columns 1, 2\\)"):
        read_table(save(xlsx([["a", "a"], [1, 2]])))
    with pytest.raises(TableError, match="sheet 'data' of .* is empty"):
        read_table(save(xlsx([])))


def test_a_workbook_that_tells_a_wrong_size(save):
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(xlsx([["a", "b"], [1, 2], [3, 4]]))) as good,
        zipfile.ZipFile(file, "w") as wrong,
    ):
        for name in good.namelist():
            content = good.read(name)
            wrong.writestr(name, content.replace(b'dimension ref="A1:B3"', b'dimension ref="A1"'))
    assert file.getvalue().count(b"A1:B3") == 0
    assert read_table(save(file.getvalue())).to_numpy().tolist() == [[1, 2], [3, 4]]


def test_a_damaged_workbook(save):
    content = xlsx([["a"], [1]])
    with pytest.raises(TableError, match="damaged"):
        read_table(save(content[: len(content) // 2]))


@pytest.mark.parametrize("name", ["parquet", "arrow", "npy", "xlsx"])
def test_damaged_bytes_are_an_error_of_the_table(save, name):
    packed = {
        "npy": npy(np.array([("a", 1.5)], [("name", "U5"), ("x", "f4")])),
        "xlsx": xlsx([["a", "b"], [1, "x"]]),
    }
    content = packed.get(name) or in_format(name)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(60):
        damaged = bytearray(content)
        # Behind the bytes that tell the format.
        for place in rng.integers(8, len(content), 3):
            damaged[place] = rng.integers(256)
        try:
            frame = read_table(save(bytes(damaged)))
            write_table(frame, "-", format="csv")
        except TableError:
            refused += 1
    assert refused > 0
