"""Reading CSV and TSV, the hostile ones above all."""

import gzip
import os
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pandas as pd
import pytest
from frames import choose, read_chunks, read_table

from amclust.cli.tables import TableError, TableWarning

NAN = float("nan")


def numbers(path, **options):
    frame = read_table(path, **options)
    columns = choose(frame)
    return pd.DataFrame(columns.matrix(frame), columns=columns.names)


def assert_numbers(path, names, rows, **options):
    matrix = numbers(path, **options)
    assert list(matrix.columns) == names
    np.testing.assert_array_equal(matrix.to_numpy(), rows)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", ["table.csv", "table.tsv", "table"])
def test_delimiters_and_line_ends_are_found_out(save, delimiter, end, name):
    lines = [delimiter.join(cells) for cells in (["a", "b"], ["1", "2"], ["3", ""])]
    assert_numbers(save(end.join(lines), name), ["a", "b"], [[1, 2], [3, NAN]])


def test_a_delimiter_within_cells_does_not_mislead(save):
    text = "a,b;c\n1,5;2\n1,5;3\n"
    assert list(read_table(save(text)).columns) == ["a,b", "c"]
    path = save('name,x\n"Ann; Bob",1\nCid; Dan,2\n')
    assert read_table(path)["name"].tolist() == ["Ann; Bob", "Cid; Dan"]
    # Both split evenly: the name of the file decides.
    assert list(read_table(save("a\tb,c\n1\t2,3\n", "table.tsv")).columns) == ["a", "b,c"]


@pytest.mark.parametrize(
    ("text", "given", "spoken"),
    [
        ("a;b;c\n1;2;3\n", ",", "semicolon"),
        ("a,b\n1,2\n", "tab", "comma"),
        ("a\tb\n1\t2\n", ";", "tab"),
        ("a b\n1 2\n3 4\n", None, "space"),
    ],
)
def test_a_wrong_delimiter_is_noticed(save, text, given, spoken):
    with pytest.raises(TableError, match=f"leaves one column .* say --delimiter {spoken}"):
        read_table(save(text), delimiter=given)
    assert (
        len(read_table(save(text), delimiter=spoken).columns) == len(text.split("\n")[0]) // 2 + 1
    )


def test_words_with_spaces_are_one_column(save):
    assert read_table(save("full name\nAnn Lee\nBob Ray\n"))["full name"].tolist() == [
        "Ann Lee",
        "Bob Ray",
    ]


@pytest.mark.parametrize("delimiter", [";;", "", '"', "\n", "é"])
def test_an_impossible_delimiter_is_refused(save, delimiter):
    with pytest.raises(TableError, match="delimiter must be one ASCII character"):
        read_table(save("a,b\n1,2\n"), delimiter=delimiter)


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("a,b\n1,2\n3\n5,6\n", 3, "1 cell,"),
        ("a,b\r\n1,2\r\n3,4,5\r\n", 3, "3 cells,"),
        ('a,b\n1,"two\nlines"\n\n3\n', 5, "1 cell,"),
        ("\n\na,b\n1,2\n3\n", 5, "1 cell,"),
        ("a,b\r1,2\r3\r", 3, "1 cell,"),
    ],
)
def test_ragged_rows_are_told_by_line(save, text, line, found):
    with pytest.raises(TableError, match=f"line {line}: {found} but the table has 2 columns"):
        read_table(save(text))


def test_too_many_cells_may_be_a_delimiter_without_quotes(save):
    with pytest.raises(
        TableError, match="'Rome, Italy,1'; a cell with ',' in it must be in quotes"
    ):
        read_table(save("city,x\nOslo,2\nRome, Italy,1\n"))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('a,b\n1,2\n3,"4\n5,6\n', "row 2, column 'b'"),
        ('a,b\n1,2\n"3,4\n5,6\n', "line 3"),
        ('a,"b\n1,2\n3,4\n', "first line"),
        ('a,b\n1,"' + "2\n" * 200_000, "row 1, column 'b'"),
    ],
)
def test_a_quote_that_never_closes_is_told(save, text, place):
    with pytest.raises(TableError, match=f"{place}.* never close"):
        read_table(save(text))


def test_quotes_may_hold_anything(save):
    path = save('"a,1","b ""x"""\n"1","2,5"\n"two\nlines",5" pipe\n')
    frame = read_table(path)
    assert list(frame.columns) == ["a,1", 'b "x"']
    assert frame.to_numpy().tolist() == [["1", "2,5"], ["two\nlines", '5" pipe']]


def test_repeated_names_are_listed(save):
    with pytest.raises(TableError, match="'a' \\(columns 1, 3\\), 'b' \\(columns 2, 4\\)"):
        read_table(save("a,b,a, b\n1,2,3,4\n"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks(save, encoding):
    assert_numbers(save("größe,b\n1,2\n".encode(encoding)), ["größe", "b"], [[1, 2]])


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark(save, encoding):
    assert_numbers(save("size,b\n1,2\n".encode(encoding)), ["size", "b"], [[1, 2]])


@pytest.mark.parametrize(("encoding", "byte"), [("cp1252", b"\xf6"), ("latin-1", b"\x81\xf6")])
def test_what_is_not_utf_8_is_read_with_a_warning(save, encoding, byte):
    path = save(b"h" + byte + b"he,b\n1,2\n")
    with pytest.warns(TableWarning, match=f"not UTF-8; reading it as {encoding}"):
        frame = read_table(path)
    assert frame.columns[0] == f"h{byte.decode(encoding)}he"
    assert read_table(path, encoding=encoding).equals(frame)


def test_an_encoding_that_does_not_fit_or_exist(save):
    with pytest.raises(TableError, match="line 2: the byte b'\\\\xf6' is not utf-8"):
        read_table(save(b"a,b\nh\xf6he,2\n"), encoding="utf-8")
    with pytest.raises(TableError, match="encoding must be one that Python knows.*'utf-9'"):
        read_table(save("a\n1\n"), encoding="utf-9")


@pytest.mark.parametrize("content", ["", "\n\n \n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_an_empty_file(save, content):
    with pytest.raises(TableError, match="'.*table.csv' is empty"):
        read_table(save(content))


@pytest.mark.parametrize("content", ["a,b\n", "a,b", "a,b\n\n\n"])
def test_a_header_without_rows(save, content):
    with pytest.raises(TableError, match="has column names but no rows"):
        read_table(save(content))


def test_a_table_without_header(save):
    path = save("1,2\n3,4\n")
    with pytest.raises(TableError, match="holds only numbers \\('1', '2'\\): say --no-header"):
        read_table(path)
    assert_numbers(path, ["x0", "x1"], [[1, 2], [3, 4]], header=False)
    assert_numbers(path, ["1", "2"], [[3, 4]], header=True)


def test_a_header_of_nothing(save):
    with pytest.raises(TableError, match="no column names in its first line"):
        read_table(save(",,\n1,2,3\n"))


def test_one_row_and_a_column_of_one_value(save):
    assert_numbers(save("a,b\n1,2\n"), ["a", "b"], [[1, 2]])
    assert_numbers(save("a,b\n1,2\n1,3\n"), ["a", "b"], [[1, 2], [1, 3]])


def test_ten_thousand_columns(save):
    names = [f"c{index}" for index in range(10_000)]
    row = ",".join(str(index / 8) for index in range(10_000))
    matrix = numbers(save(f"{','.join(names)}\n{row}\n{row}\n"))
    assert list(matrix.columns) == names
    np.testing.assert_array_equal(matrix.to_numpy(), np.arange(20_000).reshape(2, -1) % 10_000 / 8)


def test_a_header_longer_than_a_megabyte(save):
    names = [f"{'c' * 2_000}{index}" for index in range(600)]
    text = f"{','.join(names)}\n{','.join('1' * 600)}\n"
    assert list(read_table(save(text)).columns) == names
    assert list(read_chunks(save(text), chunk_rows=1).first().names) == names


def test_zero_bytes_are_refused(save):
    with pytest.raises(TableError, match="line 3: there is a zero byte"):
        read_table(save(b"a,b\n1,2\n1,\x003\n"))
    with pytest.raises(TableError, match="line 2: there is a zero byte"):
        read_table(save(b"a,b\n\xff\x00\x01,2\n"))
    with pytest.raises(TableError, match="line 500,002: there is a zero byte"):
        read_table(save(b"a,b\n" + b"1,2\n" * 500_000 + b"\0\n"))


@pytest.mark.parametrize("text", ["a,b,\n1,2,\n3,4,\n", "a,b\n1,2,\n3,4,\n"])
def test_delimiters_at_the_end_of_lines_make_no_column(save, text):
    assert_numbers(save(text), ["a", "b"], [[1, 2], [3, 4]])


def test_a_value_behind_the_last_column_is_told(save):
    text = "a,b\n" + "1,2,\n" * 100 + "3,4,5\n"
    with pytest.raises(TableError, match="row 101: the last cell \\('5'\\) has no column name"):
        read_table(save(text))


def test_empty_last_column_with_a_name_stays(save):
    assert list(read_table(save("a,b\n1,\n2,\n")).columns) == ["a", "b"]
    assert list(read_table(save("1,\n2,\n"), header=False).columns) == ["x0"]


@pytest.mark.filterwarnings("ignore:.* has one name less than its rows")
@pytest.mark.parametrize("text", [",a\n0,1.5\n1,2.5\n", "a\n1,1.5\n2,2.5\n"])
def test_the_index_of_pandas_and_r_is_not_clustered(save, text):
    frame = read_table(save(text), delimiter=",")
    assert list(frame.columns) == ["Unnamed: 0", "a"]
    with pytest.raises(TableError, match="numbers of rows .* --id 'Unnamed: 0' or --drop"):
        choose(frame)
    assert choose(frame, id="Unnamed: 0").names == ["a"]
    assert choose(frame, use=["Unnamed: 0", "a"]).names == ["Unnamed: 0", "a"]


def test_names_of_rows_as_r_writes_them(save):
    path = save("a,b\nfirst,1,2\nsecond,3,4\n")
    with pytest.warns(TableWarning, match="one name less than its rows have cells \\(2 and 3\\)"):
        frame = read_table(path)
    assert list(frame.columns) == ["Unnamed: 0", "a", "b"]
    assert choose(frame, id="Unnamed: 0").matrix(frame).tolist() == [
        [1, 2],
        [3, 4],
    ]


def test_decimal_commas_are_not_taken_for_names_of_rows(save):
    with pytest.raises(TableError, match="line 2: 3 cells, but the table has 2 columns"):
        read_table(save("a,b\n1,5,2\n3,5,4\n"))
    frame = read_table(save("a\n1,5\n2\n-3,25\n"))
    assert choose(frame, decimal=",").matrix(frame)[:, 0].tolist() == [1.5, 2, -3.25]
    with pytest.raises(TableError, match="say --decimal comma"):
        choose(frame)


def test_blank_lines_are_skipped_and_spaces_around_names_and_numbers(save):
    assert_numbers(save(" a , b\n\n 1,2 \n\n3,4\n\n"), ["a", "b"], [[1, 2], [3, 4]])


def test_cells_stay_as_they_stand(save):
    rows = [["007", "1.50", "NA", str(2**63 + 1), "2020-01-02"], ["0", "1e3", "", "1", " x "]]
    text = "\n".join(["a,b,c,d,e", *(",".join(row) for row in rows)])
    assert read_table(save(text)).to_numpy().tolist() == rows


def test_gzip_is_found_out(save):
    content = gzip.compress(b"a,b\n1,2\n")
    for name in ("table.csv.gz", "table.csv", "table"):
        assert_numbers(save(content, name), ["a", "b"], [[1, 2]])


def test_a_damaged_gzip_file(save):
    rows = "".join(f"{index * 7919 % 100_003},{index}\n" for index in range(50_000))
    content = gzip.compress(f"a,b\n{rows}".encode())
    for damaged in (content[:-20_000], content[:50_000] + b"\0" * 50 + content[50_050:]):
        with pytest.raises(TableError, match="damaged or cut short"):
            read_table(save(damaged, "table.csv.gz"))
        with pytest.raises(TableError, match="damaged or cut short"):
            list(read_chunks(save(damaged, "table.csv.gz"), chunk_rows=1_000))


def test_a_table_of_several_blocks(save):
    rows = np.arange(40_000).reshape(-1, 2)
    zeros = "0" * 300
    text = "a,b\n" + "".join(f"{a}.{zeros},{b}.{zeros}\n" for a, b in rows.tolist())
    assert_numbers(save(text), ["a", "b"], rows)


def test_standard_input(pipe_in):
    pipe_in(b"a;b\n1;2\n")
    assert read_table("-").to_numpy().tolist() == [["1", "2"]]
    pipe_in(gzip.compress(b"a;b\n1;2\n"))
    assert read_table("-").to_numpy().tolist() == [["1", "2"]]
    pipe_in(b"")
    with pytest.raises(TableError, match="standard input is empty"):
        read_table("-")


def test_the_line_in_which_excel_names_the_delimiter(save):
    assert_numbers(save("sep=;\r\na,x;b\r\n1;2\r\n"), ["a,x", "b"], [[1, 2]])
    with pytest.raises(TableError, match="line 4: 1 cell"):
        read_table(save("sep=;\na;b\n1;2\n3\n"))


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs /dev/fd")
def test_what_a_shell_puts_in_the_place_of_a_command():
    def piped(content):
        read, write = os.pipe()
        os.write(write, content)
        os.close(write)
        return read

    for content in (b"a,b\n1,2\n3,4\n", gzip.compress(b"a,b\n1,2\n3,4\n")):
        end = piped(content)
        assert len(read_table(f"/dev/fd/{end}")) == 2
        os.close(end)
    end = piped(b"a,b\n1,2\n3,4\n")
    chunks = read_chunks(f"/dev/fd/{end}", chunk_rows=1)
    assert not chunks.rereadable
    assert len(list(chunks)) == 2
    with pytest.raises(TableError, match="can be read only once"):
        chunks.first()
    os.close(end)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file '.*none.csv'"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_table(tmp_path)


def test_nothing_is_warned_of_a_good_table(save):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        numbers(save("a,b\n1,2\n3,\n"))


@pytest.mark.parametrize("bad", ["1,2,3", "x,2", "1,2"])
def test_a_process_may_end_while_arrow_reads_ahead(save, bad):
    """A thread of Arrow's that called Python then aborted the process."""
    path = save(f"a,b\n{bad}\n" + 2_000_000 * "1,2\n")
    program = """
        import sys
        from amclust.cli.tables import Chunks, open_table, ReadOptions
        with open_table(sys.argv[1], ReadOptions()) as table:
            next(table.batches(columns=["a"], numbers=["a"]))
        Chunks(sys.argv[1], 2).first()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == int(bad != "1,2")
    assert ("Error" in done.stderr) == (bad != "1,2")
