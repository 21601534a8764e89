"""Writing tables, whole or not at all."""

import csv
import gzip
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from frames import read_table

from amclust.cli.tables import TableError, TableWriter, write_table

SUFFIXES = ["csv", "csv.gz", "tsv", "parquet", "feather", "npy"]
FRAME = pd.DataFrame({"x": [1.5, np.nan], "n": [1, 2], "text": ["a, b", 'c "d"\ne\tf']})


def cells(path):
    return [[str(cell) for cell in row] for row in read_table(path).to_numpy().tolist()]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_suffix_tells_the_format(tmp_path, suffix):
    path = tmp_path / f"table.{suffix}"
    write_table(FRAME, path)
    read = read_table(path)
    assert list(read.columns) == ["x", "n", "text"]
    assert read["text"].tolist() == FRAME["text"].tolist()
    assert read["n"].astype(int).tolist() == [1, 2]
    assert float(read["x"].iloc[0]) == 1.5
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_chunks_make_up_the_table(tmp_path, suffix):
    path, whole = tmp_path / f"chunks.{suffix}", tmp_path / f"whole.{suffix}"
    with TableWriter(path) as writer:
        writer.write(FRAME[:1])
        assert not path.exists()
        writer.write(FRAME[1:])
    write_table(FRAME, whole)
    pd.testing.assert_frame_equal(read_table(path), read_table(whole))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failure_between_chunks_leaves_nothing(tmp_path, suffix):
    path = tmp_path / f"table.{suffix}"
    writer = TableWriter(path).__enter__()
    writer.write(FRAME)
    failure = RuntimeError()
    assert not writer.__exit__(RuntimeError, failure, None)
    assert os.listdir(tmp_path) == []

    path.write_bytes(b"old")
    writer = TableWriter(path, overwrite=True).__enter__()
    writer.write(FRAME)
    writer.__exit__(RuntimeError, failure, None)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_existing_file_is_kept_unless_told(tmp_path, suffix):
    path = tmp_path / f"table.{suffix}"
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError, match=f"table.{suffix}' exists"):
        write_table(FRAME, path)
    assert path.read_bytes() == b"old"
    write_table(FRAME, path, overwrite=True)
    assert len(read_table(path)) == 2


@pytest.mark.parametrize("name", ["csv", "tsv", "parquet", "arrow", "npy"])
def test_standard_output_and_back(capsysbinary, pipe_in, name):
    write_table(FRAME, "-", format=name)
    pipe_in(capsysbinary.readouterr().out)
    read = read_table("-")
    assert read["text"].tolist() == FRAME["text"].tolist()
    assert not sys.stdout.buffer.closed


def test_standard_output_is_csv(capsysbinary):
    write_table(FRAME, "-")
    assert capsysbinary.readouterr().out == b'x,n,text\n1.5,1,"a, b"\n,2,"c ""d""\ne\tf"\n'


@pytest.mark.parametrize("name", ["table", "a.json", "a.gz", "a.csv.bz2", "a.npz", "a.arrows"])
def test_a_name_that_tells_no_format(tmp_path, name):
    with pytest.raises(TableError, match="cannot write .*\\.csv, .*\\.npy.* or \\.tsv\\.gz"):
        write_table(FRAME, tmp_path / name)
    with pytest.raises(TableError, match="format must be one of"):
        write_table(FRAME, tmp_path / name, format="json")
    assert os.listdir(tmp_path) == []
    write_table(FRAME, tmp_path / "table", format="tsv")
    assert (tmp_path / "table").read_bytes().startswith(b"x\tn\ttext\n")


def test_only_text_is_gzipped(tmp_path):
    with pytest.raises(TableError, match="only .csv and .tsv are gzipped"):
        write_table(FRAME, tmp_path / "table.parquet.gz")
    write_table(FRAME, tmp_path / "a.csv.gz")
    content = (tmp_path / "a.csv.gz").read_bytes()
    assert gzip.decompress(content).startswith(b"x,n,text\n")
    # No time and no name: the same table gives the same bytes.
    assert content[3:8] == bytes(5)


def test_impossible_places(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere' does not exist"):
        write_table(FRAME, tmp_path / "nowhere" / "table.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        write_table(FRAME, tmp_path / "folder.csv", overwrite=True)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("name", ["csv", "parquet", "arrow", "npy"])
@pytest.mark.parametrize("rows", [1, 20_000])
def test_a_full_disk_is_named(name, rows):
    frame = pd.DataFrame({"x": np.random.default_rng(0).random(rows)})
    with pytest.raises(OSError, match="cannot write '/dev/full': no space left on device"):
        write_table(frame, "/dev/full", format=name, overwrite=True)


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
def test_a_kill_in_the_middle_leaves_the_old_table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old\n1\n")
    program = """
        import os, signal, sys
        import pandas as pd
        from amclust.cli.tables import TableWriter
        with TableWriter(sys.argv[1], overwrite=True) as writer:
            for _ in range(10):
                writer.write(pd.DataFrame({"x": range(100_000)}))
            os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "old\n1\n"
    (left,) = set(os.listdir(tmp_path)) - {"table.csv"}
    assert left.endswith(".part")
    assert (tmp_path / left).stat().st_size > 1_000_000


def test_cells_of_a_text_table_are_written_as_they_stood(save, tmp_path):
    text = 'id,a,"b,c"\n007,1.50,NA\n12345678901234567890,+1e3,2020-01-02\n" x ",,"q""r"\n'
    frame = read_table(save(text))
    write_table(frame, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == text.replace('" x "', " x ")
    assert read_table(tmp_path / "again.csv").equals(frame)


def test_cells_of_a_text_table_get_types_where_nothing_is_lost(save, tmp_path):
    text = (
        "whole,real,zeros,big,plus,yes,when,hue,none\n"
        "1,1.50,007,12345678901234567890,+1,true,2020-01-02,red,\n"
        "-20,1e3,8,1,2,FALSE,,NA,?\n"
        ",NA,9,2,3,,,,\n"
    )
    frame = read_table(save(text))
    write_table(frame, tmp_path / "table.parquet")
    table = pa.parquet.read_table(tmp_path / "table.parquet")
    assert table.to_pydict() == {
        "whole": [1, -20, None],
        "real": [1.5, 1000.0, None],
        "zeros": ["007", "8", "9"],
        "big": ["12345678901234567890", "1", "2"],
        "plus": ["+1", "2", "3"],
        "yes": [True, False, None],
        "when": ["2020-01-02", None, None],
        "hue": ["red", None, None],
        "none": [None, None, None],
    }
    # Later chunks might hold anything.
    with TableWriter(tmp_path / "chunks.parquet") as writer:
        writer.write(frame[:1])
        writer.write(frame[1:])
    chunks = pa.parquet.read_table(tmp_path / "chunks.parquet")
    assert set(chunks.schema.types) == {pa.string()}
    assert chunks["whole"].to_pylist() == ["1", "-20", None]


def test_text_of_a_typed_table_stays_text(tmp_path):
    write_table(pd.DataFrame({"code": ["1", "2", "NA"]}), tmp_path / "a.parquet")
    write_table(read_table(tmp_path / "a.parquet"), tmp_path / "b.arrow")
    assert read_table(tmp_path / "b.arrow")["code"].tolist() == ["1", "2", "NA"]


def test_csv_is_what_others_read(tmp_path):
    frame = pd.DataFrame(
        {
            "real": [0.1, 1e300, np.nan, -3.0],
            "yes": [True, False, True, False],
            "when": pd.to_datetime(["2020-01-02 00:00:00", None, "2021-05-06 07:08:09", None]),
            "text": ["a,b", "c\rd", "", None],
            "mixed": [1, "x", None, 2.5],
        }
    )
    write_table(frame, tmp_path / "table.csv")
    with open(tmp_path / "table.csv", newline="") as file:
        rows = list(csv.reader(file, strict=True))
    assert rows[0] == list(frame.columns)
    assert [float(row[0] or "nan") for row in rows[1:]] == pytest.approx(
        frame["real"].tolist(), rel=0, abs=0, nan_ok=True
    )
    assert [row[1] for row in rows[1:]] == ["True", "False", "True", "False"]
    assert pd.to_datetime(rows[3][2]) == frame["when"][2]
    assert [row[3] for row in rows[1:]] == ["a,b", "c\rd", "", ""]
    assert [row[4] for row in rows[1:]] == ["1", "x", "", "2.5"]


def test_a_single_column_keeps_its_empty_cells(tmp_path):
    write_table(pd.DataFrame({"x": [1.5, np.nan, 2.5]}), tmp_path / "table.csv")
    assert cells(tmp_path / "table.csv") == [["1.5"], [""], ["2.5"]]


def test_many_rows_and_many_columns(tmp_path):
    tall = pd.DataFrame({"a": np.arange(140_000), "b": np.arange(140_000) / 8, "c": "x"})
    write_table(tall, tmp_path / "tall.csv")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "tall.csv"), tall, check_dtype=False)
    names = [f"c{index}" for index in range(1_000)]
    wide = pd.DataFrame(np.arange(3_000).reshape(3, -1) / 8, columns=names)
    wide.insert(500, "text", ["a", "b,c", "d"])
    write_table(wide, tmp_path / "wide.csv")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "wide.csv"), wide, check_dtype=False)


def test_a_matrix_without_names_is_a_plain_array(tmp_path):
    write_table(pd.DataFrame({"x0": [1.0, 2.0], "x1": [3.0, np.nan]}), tmp_path / "a.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), [[1, 3], [2, np.nan]])
    write_table(pd.DataFrame({"x0": [1], "x1": ["a"]}), tmp_path / "b.npy")
    assert np.load(tmp_path / "b.npy").dtype.names == ("x0", "x1")
    with pytest.raises(TableError, match="a NumPy array cannot hold column 'x'"):
        write_table(pd.DataFrame({"x": [[1], [2]]}), tmp_path / "c.npy")
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "b.npy"]


def test_csv_cannot_hold_lists(tmp_path):
    with pytest.raises(TableError, match="CSV cannot hold column 'x' \\(list"):
        write_table(pd.DataFrame({"x": [[1], [2]]}), tmp_path / "c.csv")


def test_excel_is_only_read(tmp_path):
    for name, options in (("table.xlsx", {}), ("table", {"format": "xlsx"})):
        with pytest.raises(TableError, match="Excel workbook .* is only read; end the name in"):
            write_table(FRAME, tmp_path / name, **options)
    assert os.listdir(tmp_path) == []


def test_chunks_must_fit_together(tmp_path):
    path = tmp_path / "table.parquet"
    with TableWriter(path) as writer:
        writer.write(pd.DataFrame({"x": [1.5]}))
        with pytest.raises(TableError, match="need the columns 'x', got 'y'"):
            writer.write(pd.DataFrame({"y": [1.5]}))
        with pytest.raises(TableError, match="a later chunk of the table has other types"):
            writer.write(pd.DataFrame({"x": ["text"]}))
        writer.write(pd.DataFrame({"x": [2]}))
    assert read_table(path)["x"].tolist() == [1.5, 2]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_writer_without_chunks(tmp_path, suffix):
    writer = TableWriter(tmp_path / f"table.{suffix}").__enter__()
    with pytest.raises(TableError, match=f"no chunk of a table was written to '.*table.{suffix}'"):
        writer.__exit__(None, None, None)
    assert os.listdir(tmp_path) == []


def test_repeated_names_are_not_written(tmp_path):
    with pytest.raises(TableError, match="repeated column names: 'a'"):
        write_table(pd.DataFrame([[1, 2]], columns=["a", "a"]), tmp_path / "table.csv")
    assert os.listdir(tmp_path) == []


def test_a_table_without_rows_can_be_written(tmp_path):
    for suffix in SUFFIXES:
        write_table(FRAME[:0], tmp_path / f"table.{suffix}")
        with pytest.raises(TableError, match="no rows"):
            read_table(tmp_path / f"table.{suffix}")


def test_the_index_is_not_written_and_does_not_matter(tmp_path):
    write_table(FRAME.set_axis(["p", "q"]), tmp_path / "table.csv")
    assert cells(tmp_path / "table.csv")[0] == ["1.5", "1", "a, b"]
