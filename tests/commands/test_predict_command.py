"""amclust predict and complete: what a model file says about a table."""

import sys
import threading

import numpy as np
import pandas as pd
import pytest
from clear_groups import FAST, rows

import amclust as package
from amclust import ClAM
from amclust._progress import ProgressLine
from amclust.cli.commands import files
from amclust.cli.tables.text import TextTable

COLUMNS = ("--id", "id", "--drop", "note")


def read(path):
    return pd.read_csv(path, dtype={"id": str})


def test_labels_come_with_the_names_of_the_rows(amclust, table, model):
    done = amclust("predict", model, table)
    assert done.code == 0, done.err
    assert done.err == ""
    lines = done.out.splitlines()
    assert lines[0] == "id,label"
    assert lines[1].startswith("000,")
    X = read(table)[["width", "height"]]
    expected = package.load(model).predict(X)
    assert [int(line.split(",")[1]) for line in lines[1:]] == expected.tolist()


@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_a_feature_that_names_the_rows_is_told_as_it_is_written(amclust, folder, stream):
    names = ["0.130", "00.2", "8.0", "8.10"]
    (folder / "t.csv").write_text("a,b\n" + "".join(f"{name},{name}\n" for name in names))
    assert amclust("fit", "t.csv", "-k", 2, *FAST, "-o", "m.amc").code == 0
    lines = amclust("predict", "m.amc", "t.csv", "--id", "a", *stream).out.splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == names


def test_everything_that_can_be_asked(amclust, table, model):
    done = amclust(
        "predict", model, table, "--proba", "--distances", "--energy", "--entropy", "-o", "all.csv"
    )
    assert done.code == 0, done.err
    found, asked = read("all.csv"), package.load(model)
    X = read(table)[["width", "height"]]
    assert list(found.columns) == [
        "id",
        "label",
        *(f"probability_{m}" for m in range(3)),
        *(f"distance_{m}" for m in range(3)),
        "energy",
        "entropy",
    ]
    np.testing.assert_array_equal(found.filter(like="probability"), asked.predict_proba(X))
    np.testing.assert_array_equal(found.filter(like="distance"), asked.transform(X))
    np.testing.assert_array_equal(found["energy"], asked.energy(X))
    np.testing.assert_array_equal(found["entropy"], asked.entropy(X))


def test_append_leaves_the_table_as_it_is(amclust, table, model):
    done = amclust("predict", model, table, "--append")
    before, after = table.read_text().splitlines(), done.out.splitlines()
    assert after[0] == before[0] + ",label"
    assert [line.rpartition(",")[0] for line in after] == before


def test_reordered_and_additional_columns_do_not_matter(amclust, table, model):
    frame = read(table)
    frame.assign(more="x")[["more", "height", "note", "width", "id"]].to_csv("o.csv", index=False)
    assert amclust("predict", model, "o.csv").out == amclust("predict", model, table).out


def test_a_table_without_the_names_of_rows_will_do(amclust, table, model):
    read(table).drop(columns="id").to_csv("o.csv", index=False)
    assert amclust("predict", model, "o.csv").out.splitlines()[0] == "label"


def test_another_column_may_name_the_rows(amclust, table, model):
    assert amclust("predict", model, table, "--id", "note").out.startswith("note,label\ngroup 0,")
    done = amclust("predict", model, table, "--id", "name")
    assert done.code == 1
    assert "'name'" in done.err


def test_decimal_commas_of_another_table(amclust, table, model):
    text = table.read_text().replace(",", ";").replace(".", ",")
    (table.parent / "c.csv").write_text(text)
    done = amclust("predict", model, "c.csv", "--decimal", "comma")
    assert done.out == amclust("predict", model, table).out


def test_a_taken_name_is_refused_and_a_prefix_helps(amclust, table, model):
    read(table).assign(label=1).to_csv("o.csv", index=False)
    done = amclust("predict", model, "o.csv", "--append")
    assert done.code == 1
    assert "'label'" in done.err
    done = amclust("predict", model, "o.csv", "--append", "--prefix", "am_")
    assert done.out.splitlines()[0].endswith(",label,am_label")


@pytest.mark.parametrize("stream", [[], ["--stream"]])
@pytest.mark.parametrize("fault", ["1e999", "word", "wide"])
def test_faults_are_the_same_where_only_the_columns_of_the_model_are_read(
    amclust, table, model, fault, stream
):
    text = f"{table.read_text()}900,{fault},2,group 0\n"
    table.write_text(text.replace("width", fault) if fault == "wide" else text)
    narrow = amclust("predict", model, table, *stream)
    assert (narrow.code, narrow.out) == (1, "")
    assert repr(fault) in narrow.err
    assert narrow.err == amclust("predict", model, table, *stream, "--append").err


@pytest.mark.parametrize("chunk_rows", [1, 7, 1000])
def test_a_stream_gives_the_same_bytes(amclust, table, model, chunk_rows):
    options = ("--energy", "--append")
    whole = amclust("predict", model, table, *options)
    chunks = ("--stream", "--chunk-rows", chunk_rows)
    assert amclust("predict", model, table, *options, *chunks).out == whole.out
    piped = amclust("predict", model, "-", *options, *chunks, stdin=table.read_bytes())
    assert piped.out == whole.out


@pytest.mark.parametrize("suffix", ["csv", "tsv.gz", "parquet", "arrow"])
def test_formats_go_in_and_out(amclust, table, model, suffix):
    done = amclust("predict", model, table, "--append", "-o", f"a.{suffix}")
    assert done.code == 0, done.err
    again = amclust("predict", model, f"a.{suffix}", "--prefix", "p_")
    assert again.out == amclust("predict", model, table, "--prefix", "p_").out


def test_json(amclust, table, model):
    found = amclust("predict", model, table, "--energy", "--json").json()
    assert found["rows"] == 40
    assert sum(found["sizes"]) == 40
    assert list(found["columns"]) == ["id", "label", "energy"]
    assert found["columns"]["id"][:2] == ["000", "001"]
    to_file = amclust("predict", model, table, "--json", "-o", "l.csv").json()
    assert to_file["output"] == "l.csv"
    assert "columns" not in to_file
    assert amclust("predict", model, table, "--json", "-o", "-").code == 2
    for command in (("fit", table, "-k", 2, "--labels"), ("search", table, "-k", 2, "--results")):
        assert "standard output" in amclust(*command, "-", "--json").err


def test_json_of_odd_names(amclust, folder):
    names = ["a\u200b\x85b", "größe \U0001f600"]
    pd.DataFrame(rows()[0], columns=names).to_csv("t.csv", index=False)
    done = amclust("fit", "t.csv", "-k", 3, *FAST, "--json")
    assert done.code == 0, done.err
    assert done.json()["features"] == names


def test_models_of_python_are_understood(amclust, folder):
    X = rows()[0]
    pd.DataFrame(X, columns=["a", "b"]).assign(c=1.0).to_csv("t.csv", index=False)
    ClAM(3, n_init=1, random_state=0).fit(pd.DataFrame(X, columns=["a", "b"])).save("named.amc")
    ClAM(3, n_init=1, random_state=0).fit(X).save("plain.amc")
    named = amclust("predict", "named.amc", "t.csv")
    assert named.code == 0, named.err
    pd.DataFrame({"b": X[:, 1], "a": np.nan}).to_csv("half.csv", index=False)
    assert amclust("predict", "named.amc", "half.csv").code == 0
    plain = amclust("predict", "plain.amc", "t.csv", "--drop", "c")
    assert plain.out == named.out
    done = amclust("predict", "plain.amc", "t.csv")
    assert done.code == 1
    assert "fitted on 2 columns" in done.err
    assert "--use" in done.err


@pytest.mark.parametrize("command", ["predict", "complete"])
def test_progress_on_a_terminal(amclust, table, model, monkeypatch, command):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    options = (model, table, "-o", "o.csv", "--force")
    done = amclust(command, *options, "--stream", "--chunk-rows", 20)
    assert "amclust: 20 rows" in done.err
    assert done.err.endswith("\r\x1b[K")
    assert amclust(command, *options, "--stream", "--chunk-rows", 20, "-q").err == ""


def test_slow_reading_is_told_on_a_terminal(amclust, table, model, monkeypatch):
    def slowly(table, **what):
        told.wait(timeout=10)
        return batches(table, **what)

    def show(self, text):
        shown.append(text)
        told.set()

    told, shown, batches = threading.Event(), [], TextTable.batches
    monkeypatch.setattr(TextTable, "batches", slowly)
    monkeypatch.setattr(files, "PATIENCE", 0.0)
    monkeypatch.setattr(ProgressLine, "show", show)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert amclust("predict", model, table).code == 0
    assert shown[0] == "amclust: reading table.csv"


# --- complete -----------------------------------------------------------------------------------


def test_only_missing_cells_are_filled(amclust, table, model):
    done = amclust("complete", model, table)
    assert done.code == 0, done.err
    before, after = table.read_text().splitlines(), done.out.splitlines()
    assert len(before) == len(after)
    changed = [n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    assert changed == [4, 11]
    X = read(table)[["width", "height"]]
    expected = package.load(model).complete(X)
    assert float(after[4].split(",")[1]) == pytest.approx(expected["width"][3], rel=1e-4)
    assert float(after[11].split(",")[2]) == pytest.approx(expected["height"][10], rel=1e-4)


def test_complete_fits_by_itself(amclust, table):
    done = amclust("complete", table, "-k", 3, *COLUMNS, *FAST, "-o", "f.csv", "--json")
    assert done.code == 0, done.err
    assert done.json()["filled"] == 2
    assert not read("f.csv").isna().to_numpy().any()


def test_a_streamed_completion_gives_the_same_bytes(amclust, table, model):
    whole = amclust("complete", model, table).out
    assert amclust("complete", model, table, "--stream", "--chunk-rows", 4).out == whole


def test_missing_categories_are_filled_with_categories(amclust, table):
    text = table.read_text().replace("group 1", "", 1)
    table.write_text(text)
    options = ("--id", "id")
    done = amclust("complete", table, "-k", 3, *options, *FAST)
    assert done.code == 0, done.err
    assert done.out.splitlines()[2].split(",")[3] == "group 1"
    done = amclust("complete", table, "-k", 3, *options, *FAST, "-o", "f.csv", "--json")
    assert done.json()["filled"] == 3  # the category is one cell


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["t.csv"], "give -k"),
        (["m.amc", "t.csv", "-k", "3"], "leave out -k"),
        (["a", "b", "c"], "got 3 files"),
        (["t.csv", "-k", "3", "--stream"], "needs a model file"),
        (["m.amc", "t.csv", "--json"], "needs -o"),
    ],
)
def test_what_cannot_be_meant(amclust, arguments, words):
    done = amclust("complete", *arguments)
    assert done.code == 2
    assert words in done.err


def test_a_model_computes_with_the_threads_that_are_asked_for(model):
    from amclust.cli.commands.files import load

    assert load("model.amc").model.n_jobs == 1
    assert load("model.amc", threads=2).model.n_jobs == 2
