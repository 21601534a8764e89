"""Which columns are clustered, and how their cells become numbers."""

import datetime
import decimal
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from frames import categories, choose, read_table

from amclust._warnings import UnseenLevelsWarning
from amclust.cli.tables import (
    Choice,
    Columns,
    TableError,
    TableWarning,
    open_table,
    read_matrix,
    write_table,
)

NAN = float("nan")


def table(text, save):
    return read_table(save(text))


def column(cells, save, name="a"):
    """Return a text table with a column of these cells beside one of numbers."""
    return table(f"{name};n\n" + "".join(f"{cell};1\n" for cell in cells), save)


def values(frame, **choice):
    return choose(frame, **choice).matrix(frame)


def test_columns_are_chosen_by_name(save):
    frame = table("id,a,b,c\nx,1,2,3\n", save)
    assert choose(frame, id="id").names == ["a", "b", "c"]
    assert choose(frame, id="id", drop=["b"]).names == ["a", "c"]
    columns = choose(frame, use=["c", "a"])
    assert columns.names == ["c", "a"]
    assert columns.matrix(frame).tolist() == [[3, 1]]
    assert columns.ids(frame) is None


@pytest.mark.parametrize("choice", [{"use": ["heigth"]}, {"drop": ["HEIGHT"]}, {"id": "hight"}])
def test_unknown_names_are_errors_with_the_closest(save, choice):
    frame = table("Height,weight\n1,2\n", save)
    with pytest.raises(TableError, match="did you mean 'Height'.*; the table has 'Height', 'w"):
        choose(frame, **choice)


def test_a_choice_that_contradicts_itself(save):
    frame = table("a,b\n1,2\n", save)
    with pytest.raises(TableError, match="named once; see 'a'"):
        choose(frame, use=["a"], drop=["a"])
    with pytest.raises(TableError, match="named once; see 'b'"):
        choose(frame, use=["a", "b"], id="b")
    with pytest.raises(TableError, match="no column is left"):
        choose(frame, drop=["a", "b"])
    for option in ("numeric", "categorical"):
        with pytest.raises(TableError, match=f"--{option}: .*no column 'b'"):
            choose(frame, use=["a"], **{option: ["b"]})
    with pytest.raises(TableError, match="either --numeric or --categorical; see 'a'"):
        choose(frame, numeric=["a"], categorical=["a", "b"])


def test_a_frame_with_repeated_names():
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(TableError, match="repeated column names: 'a'"):
        choose(frame)


def test_columns_of_dates_are_listed_with_what_to_do(save):
    frame = table("x,day,the hour\n1,2020-01-31,12:30\n2,2020-02-01,23:59\n", save)
    with pytest.raises(TableError) as caught:
        choose(frame)
    message = str(caught.value)
    assert "'day' ('2020-01-31', '2020-02-01'; first in row 1), 'the hour' ('12:30'" in message
    assert "--drop 'day,the hour'" in message
    assert "'x'" not in message


def test_a_hundred_bad_columns_are_not_all_listed():
    frame = pd.DataFrame({f"c{index}": ["2020-01-31"] for index in range(100)})
    with pytest.raises(TableError, match="92 more hold dates"):
        choose(frame)


def test_text_among_numbers_is_told_by_row(save):
    cells = ["1.5"] * 700 + ["oops", "2", "2"]
    with pytest.raises(
        TableError, match="'a' \\('oops'; first in row 701\\) holds text among numb"
    ):
        choose(column(cells, save))


@pytest.mark.parametrize(
    "cells",
    [
        ["2020-01-31", "2020-02-01"],
        ["2020/1/31 12:00", ""],
        ["31.01.2020", "01.02.2020"],
        ["1/31/20", "2/1/20"],
        ["12:30", "23:59:59.5"],
        ["2020-01-31T10:00:00Z"],
        ["3 Jan 2020", "14-Feb-2021"],
        ["Jan 3, 2020"],
    ],
)
def test_dates_in_text_are_told(save, cells):
    with pytest.raises(TableError, match="holds dates or times: leave out with --drop a, or turn"):
        choose(column(cells, save))


@pytest.mark.parametrize("value", [datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3)])
@pytest.mark.parametrize("dtype", [None, "object"])
def test_typed_dates_are_told(value, dtype):
    frame = pd.DataFrame({"when": pd.Series([value], dtype=dtype), "x": [1]})
    with pytest.raises(TableError, match="'when' \\('2020-01-02.*holds dates or times"):
        choose(frame)


@pytest.mark.parametrize("cell", ["inf", "-inf", "Infinity", "1e999", "-1" + "0" * 400])
def test_infinite_values_are_told_by_column_and_row(save, cell):
    with pytest.raises(TableError, match="column 'a' .*first in row 2\\) holds infinite values"):
        choose(column(["1", cell, "2"], save))


def test_typed_infinite_values():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.inf]})
    with pytest.raises(TableError, match="column 'b' \\('inf'; first in row 2\\)"):
        choose(frame)


@pytest.mark.parametrize(
    ("cells", "advice", "choice", "expected"),
    [
        (["1,5", "2"], "decimal commas: say --decimal comma", {"decimal": ","}, [1.5, 2]),
        (
            ["1.234,5", "-2,25"],
            "decimal commas: say --decimal comma",
            {"decimal": ",", "thousands": "."},
            [1234.5, -2.25],
        ),
        (["1,234,567.5", "2"], "--thousands comma", {"thousands": ","}, [1234567.5, 2]),
        (["1 234", "1\u00a0234", "7"], "--thousands space", {"thousands": " "}, [1234, 1234, 7]),
        (["1'234", "7"], "--thousands apostrophe", {"thousands": "'"}, [1234, 7]),
        (["1,234", "7"], "--decimal comma or --thousands comma", {"thousands": ","}, [1234, 7]),
        (["1,234", "7"], "--decimal comma or --thousands comma", {"decimal": ","}, [1.234, 7]),
    ],
)
def test_other_spellings_of_numbers(save, cells, advice, choice, expected):
    frame = column(cells, save)
    with pytest.raises(TableError, match=advice):
        choose(frame)
    assert values(frame, **choice)[:, 0].tolist() == expected


def test_a_spelling_is_not_stretched(save):
    with pytest.raises(TableError, match="'1.5'"):
        choose(column(["1.5", "2,5"], save), decimal=",")
    with pytest.raises(TableError, match="'1,5'"):
        choose(column(["1,5", "1,000"], save), thousands=",")


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"decimal": ";"}, "decimal must be '.' or ','"),
        ({"thousands": "ab"}, "thousands must be one character"),
        ({"thousands": "1"}, "thousands must be one character"),
        ({"decimal": ",", "thousands": ","}, "must differ"),
    ],
)
def test_impossible_spellings(save, choice, message):
    with pytest.raises(TableError, match=message):
        choose(column(["1"], save), **choice)


@pytest.mark.parametrize(
    "cell", ["", " ", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?", "-", "#N/A", " NA "]
)
def test_spellings_of_missing(save, cell):
    np.testing.assert_array_equal(values(column(["1", cell], save))[:, 0], [1, NAN])
    frame = column(["red", cell], save)
    np.testing.assert_array_equal(values(frame)[:, 0], [0, NAN])


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("+1", 1),
        ("-.5", -0.5),
        ("5.", 5),
        ("1E-3", 0.001),
        ("007", 7),
        ("1" * 50, float("1" * 50)),
        ("0." + "3" * 500, 1 / 3),
        ("1e-400", 0),
        ("-0", 0),
        (" 4 ", 4),
    ],
)
def test_spellings_of_numbers(save, cell, value):
    assert values(column([cell, "", "2"], save))[0, 0] == value


@pytest.mark.parametrize("cell", ["0x10", "1_0", "1d3", "12%", "$5", "١", "1 2", "--1", "e5", "."])
def test_what_is_no_number(save, cell):
    with pytest.raises(TableError, match="column 'a' "):
        choose(column([cell, "2"], save))


def test_numbers_are_those_of_python(save):
    numbers = np.random.default_rng(0).standard_normal(1_000) * 10.0 ** np.arange(-300, 300, 0.6)
    frame = column([repr(float(number)) for number in numbers], save)
    np.testing.assert_array_equal(values(frame)[:, 0], numbers)


def test_truth_values_become_0_and_1(save):
    frame = column(["True", "FALSE", "", "true", "1", "0"], save)
    np.testing.assert_array_equal(values(frame)[:, 0], [1, 0, NAN, 1, 1, 0])
    frame = pd.DataFrame({"a": [True, False], "b": pd.array([True, None], dtype="boolean")})
    np.testing.assert_array_equal(values(frame), [[1, 1], [0, NAN]])
    with pytest.raises(TableError, match="'True'"):
        choose(column(["True", "3"], save))


def test_columns_without_a_value_are_named(save):
    frame = table("a,b,c\n1,,NA\n2,?,\n", save)
    with pytest.raises(TableError, match="columns 'b', 'c' have no value at all: .*--drop b,c"):
        choose(frame)
    with pytest.raises(TableError, match="column 'b' has no value at all"):
        choose(frame, drop=["c"], categorical=["b"])
    with pytest.raises(TableError, match="column 'x' has no value at all"):
        choose(pd.DataFrame({"x": [None, None], "y": [1, 2]}))


def test_text_becomes_categories(save):
    frame = table("x,hue,size\n1,red,10\n2,,9\n3,blue ,10\n", save)
    columns = choose(frame, categorical=["size"])
    # Numbers are sorted as such.
    assert columns.names == ["x", "hue", "size"]
    assert categories(columns) == {"hue": ["blue", "red"], "size": ["9", "10"]}
    found = columns.matrix(frame)
    np.testing.assert_array_equal(found, [[1, 1, 1], [2, NAN, 0], [3, 0, 1]])
    made = columns.frame(found)
    assert made["hue"].dropna().tolist() == ["red", "blue"]
    assert str(made.dtypes["size"]) == "category"
    np.testing.assert_array_equal(columns.coded(made), found)
    assert categories(choose(frame)) == {"hue": ["blue", "red"]}


def test_truth_values_are_a_category_unless_they_are_wanted_as_numbers(save):
    frame = column(["True", "FALSE", "", "true"], save)
    assert choose(frame).frame(values(frame))["a"].dropna().tolist() == [True, False, True]
    numbers = choose(frame, numeric=["a"])
    assert numbers.frame(numbers.matrix(frame))["a"].tolist()[:2] == [1.0, 0.0]
    filled = numbers.fill(frame, np.array([[1.0, 1], [0.0, 1], [0.9, 1], [1.0, 1]]))
    assert filled["a"].to_pylist() == ["True", "FALSE", "True", "true"]


def test_numbers_that_are_wanted_lack_what_is_none(save):
    frame = column(["1", "unknown", "3", ""], save)
    with pytest.raises(TableError, match="text among numbers: .*--numeric a.*--categorical a"):
        choose(frame)
    with pytest.warns(TableWarning, match="column 'a': 1 cell is no number and counted as miss"):
        columns = choose(frame, numeric=["a"])
    np.testing.assert_array_equal(columns.matrix(frame)[:, 0], [1, NAN, 3, NAN])


def test_levels_that_were_not_seen_count_as_missing(save):
    columns = choose(table("hue\nred\nblue\n", save))
    with pytest.warns(UnseenLevelsWarning, match="'teal' in column 'hue'"):
        found = columns.matrix(table("hue\nred\nteal\n", save))
    np.testing.assert_array_equal(found[:, 0], [1, NAN])


def test_a_level_for_every_row_is_a_name(save):
    frame = table("name,a\n" + "".join(f"n{index},{index % 3}\n" for index in range(1_001)), save)
    with pytest.raises(TableError, match="'name' has more than 255 levels.*--drop name.*--id name"):
        choose(frame)
    few = table("name,a\n" + "".join(f"n{index},{index % 3}\n" for index in range(20)), save)
    with pytest.raises(TableError, match="'name' has 20 levels, which looks like an identifier"):
        choose(few)


def test_later_tables_need_the_columns_but_not_their_order(save):
    columns = choose(table("a,b\n1,2\n", save))
    assert columns.matrix(table("b,z,a\n3,x,4\n", save)).tolist() == [[4, 3]]
    with pytest.raises(TableError, match="no column 'b' \\(did you mean 'B'\\?\\)"):
        columns.matrix(table("a,B\n1,2\n", save))
    with pytest.raises(TableError, match="'b' \\('x'; first in row 8\\) .*only numbers and empty"):
        columns.matrix(table("a,b\n1,x\n", save), first_row=7)


@pytest.mark.parametrize("cell", ["", "NaN", "null", " "])
def test_a_missing_id_is_an_error(save, cell):
    frame = table(f"id,a\nx,1\n{cell},2\n", save)
    with pytest.raises(TableError, match="the id column 'id' is empty in row 2:"):
        choose(frame, id="id")


def test_a_missing_id_in_a_typed_column():
    frame = pd.DataFrame({"id": [1.0, NAN, NAN], "a": [1, 2, 3]})
    with pytest.raises(TableError, match="'id' is empty in row 2 and 1 more"):
        choose(frame, id="id")


def test_ids_stay_as_they_are_and_may_repeat(save):
    frame = table("id,a\n007,1\nNA,2\n007,3\n", save)
    columns = choose(frame, id="id")
    assert columns.ids(frame).to_pylist() == ["007", "NA", "007"]
    with pytest.raises(TableError, match="no column 'id'"):
        columns.ids(table("a\n1\n", save))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (pd.Series([1, 2], dtype="int8"), [1, 2]),
        (pd.Series([1, None], dtype="Int64"), [1, NAN]),
        (pd.Series([1.5, None], dtype="float32"), [1.5, NAN]),
        (pd.Series([1, 2], dtype="uint64"), [1, 2]),
        (pd.Series([decimal.Decimal("1.5"), None]), [1.5, NAN]),
        (pd.Series(["1.5", None]), [1.5, NAN]),
        (pd.Series(["1.5", None], dtype="category"), [1.5, NAN]),
        (pd.Series([1, "2.5"], dtype=object), [1, 2.5]),
        (pd.Series([1, pd.NA, "?"], dtype=object), [1, NAN, NAN]),
        (pd.Series([2**60, 1], dtype="int64"), [2.0**60, 1]),
    ],
)
def test_typed_columns(cells, expected):
    frame = pd.DataFrame({"a": cells})
    np.testing.assert_array_equal(values(frame)[:, 0], expected)


@pytest.mark.parametrize("cells", [[[1, 2], [3]], [{"a": 1}, {"a": 2}], [b"x", b"y"]])
def test_values_that_are_no_cells(cells):
    with pytest.raises(TableError, match="column 'a' .* holds values that are no numbers"):
        choose(pd.DataFrame({"a": cells}))


def test_the_table_is_left_alone(save):
    frame = table("a,hue\n1,red\n,blue\n", save)
    before = frame.copy()
    columns = choose(frame)
    columns.fill(frame, np.nan_to_num(columns.matrix(frame)))
    pd.testing.assert_frame_equal(frame, before)


def test_only_missing_cells_are_filled(save):
    text = "id,a,hue,yes,n,when\n007,1.50,,TRUE,3,2020\n008,?,red,,,\n009, 2,blue,FALSE,4,\n"
    frame = table(text, save)
    columns = choose(frame, id="id", drop=["when"])
    completed = np.array([[9, 0, 9, 9], [0.1, 9, 0.7, 3.5], [9, 9, 9, 9]])
    filled = columns.fill(frame, completed).to_pandas()
    assert filled.to_numpy().tolist() == [
        ["007", "1.50", "blue", "TRUE", "3", "2020"],
        ["008", "0.1", "red", "TRUE", "4", ""],  # 3 and 4 are whole numbers
        ["009", " 2", "blue", "FALSE", "4", ""],
    ]
    with pytest.raises(ValueError, match="shape \\(3, 4\\), got \\(3, 3\\)"):
        columns.fill(frame, completed[:, 1:])


def test_filled_numbers_are_spelled_as_the_others(save):
    frame = column(["1,5", ""], save)
    columns = choose(frame, decimal=",")
    assert columns.fill(frame, [[0, 1], [2.25, 1]])["a"].to_pylist() == ["1,5", "2,25"]


def test_typed_cells_are_filled_by_type():
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None], dtype="Int64"),
            "rounded": pd.array([1, None], dtype="Int64"),
            "real": [0.5, NAN],
            "yes": pd.array([True, None], dtype="boolean"),
            "hue": ["red", None],
            "kept": [1, 2],
        }
    )
    columns = choose(frame, drop=["kept"])
    completed = np.array([[0] * 5, [7, 7.5, 8.5, 0.2, 0]])
    filled = columns.fill(frame, completed).to_pandas()
    assert filled.to_numpy().tolist() == [
        [1, 1, 0.5, True, "red", 1],
        [7, 8, 8.5, False, "red", 2],
    ]
    assert filled["whole"].dtype.kind == "i"
    assert filled["kept"].tolist() == frame["kept"].tolist()


def test_categories_that_are_not_text():
    frame = pd.DataFrame(
        {
            "whole": pd.array([10, None, 9], dtype="Int64"),
            "real": [0.5, NAN, 2.0],
            "yes": pd.array([True, None, False], dtype="boolean"),
            "day": [datetime.date(2020, 1, 2), None, datetime.date(2019, 1, 2)],
        }
    )
    columns = choose(frame, categorical=list(frame.columns))
    assert categories(columns) == {
        "whole": ["9", "10"],
        "real": ["0.5", "2"],
        "yes": ["False", "True"],
        "day": ["2019-01-02", "2020-01-02"],
    }
    filled = columns.fill(frame, np.ones((3, 4))).to_pandas()
    assert filled.iloc[1].tolist() == [10, 2.0, True, datetime.date(2020, 1, 2)]
    assert filled.iloc[::2].to_numpy().tolist() == frame.iloc[::2].to_numpy().tolist()
    with pytest.raises(TableError, match="column 'a' \\(list.* has no categories"):
        choose(pd.DataFrame({"a": [[1], [2]]}), categorical=["a"])


def test_a_choice_survives_json(save):
    frame = table("id;a;yes;hue\n1;1,5;true;red\n2;;;blue\n", save)
    columns = choose(frame, id="id", decimal=",", thousands=".")
    again = Columns.from_json(json.loads(json.dumps(columns.to_json())))
    assert again == columns
    np.testing.assert_array_equal(again.matrix(frame), columns.matrix(frame))


@pytest.mark.parametrize(
    "change",
    [
        {"columns": []},
        {"columns": None},
        {"columns": ["a"]},
        {"columns": [{"name": 1, "kind": "number"}]},
        {"columns": [{"name": "a", "kind": "code"}]},
        {"columns": [{"name": "a", "kind": "category"}]},
        {"columns": [{"name": "a", "kind": "number", "categories": ["x"]}]},
        {"columns": [{"name": "a", "kind": "category", "categories": [None]}]},
        {"columns": [{"name": "a", "kind": "category", "categories": "xy"}]},
        {"columns": [{"name": "a", "kind": "number"}] * 2},
        {"id": 3},
        {"decimal": None},
        {"thousands": 3},
    ],
)
def test_json_of_strangers_is_checked(change):
    good = choose(pd.DataFrame({"a": [1]})).to_json()
    assert Columns.from_json(good).names == ["a"]
    with pytest.raises(ValueError, match="column|decimal|thousands"):
        Columns.from_json({**good, **change})
    with pytest.raises(ValueError, match="not a choice of columns"):
        Columns.from_json({key: good[key] for key in good if key not in change})


def test_a_parquet_table_keeps_what_is_not_used(tmp_path):
    frame = pd.DataFrame(
        {
            "id": pd.Series([2**60 + 1, None], dtype=pd.ArrowDtype(pa.int64())),
            "when": pd.to_datetime(["2020-01-02", None]),
            "x": [1.0, NAN],
        }
    )
    write_table(frame, tmp_path / "a.parquet")
    read = read_table(tmp_path / "a.parquet")
    filled = choose(read, use=["x"]).fill(read, [[0], [2]])
    write_table(filled, tmp_path / "b.parquet")
    again = read_table(tmp_path / "b.parquet")
    assert again["id"].tolist()[0] == 2**60 + 1
    pd.testing.assert_frame_equal(again.drop(columns="x"), read.drop(columns="x"))
    assert again["x"].tolist() == [1, 2]


def test_filled_numbers_have_no_digits_of_rounding(save):
    frame = read_table(save("a;b\n1,5;2\n;3\n"))
    columns = choose(frame, decimal=",")
    completed = np.array([[1.5, 2.0], [17.851547284858912, 3.0]])
    assert columns.fill(frame, completed)["a"].to_pylist() == ["1,5", "17,8515473"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_table_is_written_back_with_its_delimiter(save, tmp_path, delimiter):
    text = "a,b\n1.5,2\n,3\n".replace(",", delimiter)
    frame = read_table(save(text))
    filled = choose(frame).fill(frame, np.array([[1.5, 2.0], [7.25, 3.0]]))
    write_table(filled, tmp_path / "filled.csv")
    assert (tmp_path / "filled.csv").read_text() == text.replace(
        f"\n{delimiter}3", f"\n7.25{delimiter}3"
    )


@pytest.mark.parametrize(
    ("cell", "message", "fields"),
    [
        ("x,2", "column 'a' \\('x'; first in row 301\\) holds text among", (301, "a", "x")),
        ("True,2", "'True'; first in row 301\\) holds text among numbers", (301, "a", "True")),
        ("1,1e999", "column 'b' \\('1e999'; .* infinite", (301, "b", "1e999")),
        ("1", "line 302: 1 cell, but the table has 2 columns", (None, None, "1")),
    ],
)
def test_what_comes_late_is_told_as_what_comes_early(save, cell, message, fields):
    """Columns that begin with numbers are parsed as such, until one is none."""
    path = save("a,b\n" + "3,4\n" * 300 + f"{cell}\n3,4\n")
    with pytest.raises(TableError, match=message) as caught, open_table(path) as opened:
        read_matrix(opened, Choice())
    assert (caught.value.row, caught.value.column, caught.value.value) == fields


@pytest.mark.parametrize("late", ["true, NA ", "0,5", '"1",5'])
def test_odd_cells_that_come_late_are_numbers_all_the_same(save, late):
    path = save("a,b\n" + "0,4\n" * 300 + f"{late}\n")
    with open_table(path) as opened:
        matrix = read_matrix(opened, Choice())
    table = read_table(path)
    np.testing.assert_array_equal(matrix.values, choose(table).matrix(table))
    assert matrix.columns == choose(table)
    assert matrix.missing == np.isnan(matrix.values).sum()


# --- rows and columns without any value -----------------------------------------------------------


def test_rows_without_any_value_are_counted(save):
    path = save("a,b\n" + "3,4\n" * 300 + ",\nNA,?\n3,4\n")
    with open_table(path) as opened:
        matrix = read_matrix(opened, Choice())
    assert (len(matrix), matrix.n_empty, matrix.missing) == (303, 2, 4)


EMPTIES = "a,gone,hue,lost,b,none\n1,,red,NA,5,\n,,,?,6,\n3,,blue,,,\n"


def test_columns_without_any_value_are_dropped_where_asked(save):
    path = save(EMPTIES)
    choice = Choice(categorical=["hue", "none"], drop_empty=True)
    with pytest.warns(TableWarning) as told, open_table(path) as opened:
        matrix = read_matrix(opened, choice)
    assert [str(warning.message) for warning in told] == [
        "column 'none' has no value at all: dropped",
        "columns 'gone', 'lost' have no value at all: dropped",
    ]
    assert matrix.columns.names == ["a", "hue", "b"]
    expected = [[1, 1, 5], [NAN, NAN, 6], [3, 0, NAN]]
    np.testing.assert_array_equal(matrix.values, expected)
    assert matrix.missing == 3
    with pytest.warns(TableWarning):
        assert (
            choose(read_table(path), categorical=["hue", "none"], drop_empty=True) == matrix.columns
        )
    with pytest.raises(
        TableError, match="'none' has no value .* --drop none, or with --drop-empty"
    ):
        choose(read_table(path), categorical=["hue", "none"])


def test_no_column_is_left(save):
    with pytest.raises(TableError, match="columns 'a', 'b' have no value at all: no column is lef"):
        choose(table("a,b\n,\nNA,?\n", save), drop_empty=True)


# --- types of completed columns -------------------------------------------------------------------


def test_a_column_of_whole_numbers_is_filled_with_such(save):
    frame = table("a;b;c;n\n1;1,5;2,0;1\n;;;1\n30;2;3;1\n", save)
    columns = choose(frame, decimal=",")
    assert [column.whole for column in columns.columns] == [True, False, True, True]
    kept = Columns.from_json(json.loads(json.dumps(columns.to_json())))
    assert kept == columns
    completed = [[0] * 4, [17.4, 17.4, 2.6, 1], [0] * 4]
    chunk = frame.iloc[1:2]  # alone it does not tell
    for some, values in [(frame, completed), (chunk, completed[1:2])]:
        filled = kept.fill(some, values)
        found = [filled[name].to_pylist()[-2 if len(some) > 1 else 0] for name in "abc"]
        assert found == ["17", "17,4", "3"]


def test_numbers_too_large_to_be_told_apart_are_not_whole_ones(save):
    columns = choose(table("a,b\n1e300,1\n2,3\n", save))
    assert [column.whole for column in columns.columns] == [False, True]


@pytest.mark.parametrize(
    ("kind", "cell", "completed", "expected"),
    [
        (pa.int8(), 3, 2.6, 3),
        (pa.int8(), 3, 300.0, 127),
        (pa.uint16(), 3, -2.0, 0),
        (pa.int64(), 2**60 + 1, 1e30, 2**63 - 1),
        (pa.bool_(), True, 0.4, False),
        (pa.bool_(), False, 0.5, True),
        (pa.float32(), 0.5, 1.25, 1.25),
        (pa.decimal128(9, 2), decimal.Decimal("1.25"), 2.349, decimal.Decimal("2.35")),
    ],
)
def test_columns_of_a_file_keep_their_types(tmp_path, kind, cell, completed, expected):
    made = pa.table({"a": pa.array([cell, None], kind), "b": [1.0, 2.0]})
    pa.parquet.write_table(made, tmp_path / "a.parquet")
    frame = read_table(tmp_path / "a.parquet")
    filled = choose(frame).fill(frame, [[9.0, 1.0], [completed, 2.0]])
    assert filled["a"].type == kind
    assert filled["a"].to_pylist() == [cell, expected]
