"""Rows and columns without any value, and the types of completed columns, on the command line."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from clear_groups import FAST, FAST_STREAM, rows

STREAM = ("--stream", "--chunk-rows", 10)


@pytest.fixture
def holed(folder):
    """A table of which rows 3, 4 and 40 to 49 have no value, and one column has none."""
    X, _ = rows(60)
    X[[2, 3, *range(39, 49)]] = np.nan
    frame = pd.DataFrame(X, columns=["width", "height"]).round(3)
    frame.insert(0, "id", [f"{index:03}" for index in range(len(frame))])
    frame.to_csv("t.csv", index=False)
    frame.to_parquet("t.parquet", index=False)
    return frame


def warnings_of(done):
    return [line for line in done.err.splitlines() if "no value" in line]


TOLD = "amclust: warning: 12 of 60 rows have no value in the columns used: they "
TRAINED = f"{TOLD}do not count in training; in answers, they get the answer for an unknown row"
ASKED = f"{TOLD}get the answer for an unknown row"


@pytest.mark.parametrize("stream", [False, True])
def test_rows_without_any_value_are_told_once(amclust, holed, stream):
    given = (*FAST_STREAM, *STREAM, "--passes", 2) if stream else FAST
    done = amclust(
        *("fit", "t.csv", "-k", 3, "--id", "id", *given, "-o", "m.amc", "--labels", "l.csv")
    )
    assert done.code == 0, done.err
    assert warnings_of(done) == [TRAINED]
    given = STREAM if stream else ()
    done = amclust("predict", "m.amc", "t.csv", "--id", "id", *given, "--proba", "--energy")
    assert done.code == 0, done.err
    assert warnings_of(done) == [ASKED]
    assert len(done.out.splitlines()) == 61
    done = amclust("complete", "m.amc", "t.csv", *given, "-o", "f.csv", "-q")
    assert warnings_of(done) == [ASKED]
    filled = pd.read_csv("f.csv")
    assert not filled.isna().to_numpy().any()
    assert len(filled.loc[39:48, ["width", "height"]].drop_duplicates()) == 1
    labels = pd.read_csv("l.csv")["label"]
    predicted = amclust("predict", "m.amc", "t.csv", "-o", "p.csv")
    assert predicted.code == 0
    assert labels.tolist() == pd.read_csv("p.csv")["label"].tolist()


def test_other_commands_tell_them_too(amclust, holed):
    done = amclust("complete", "t.csv", "-k", 3, "--id", "id", *FAST, "-o", "f.csv")
    assert warnings_of(done) == [TRAINED]
    some = ("-k", 3, "--id", "id", "--budget", 200, "--restarts", 1, "--epochs", 20, "-q")
    done = amclust("search", "t.csv", *some)
    assert (done.code, warnings_of(done)) == (0, [TRAINED])
    done = amclust("report", "t.csv", "-k", 3, "--id", "id", *FAST, "-o", "r.html")
    assert (done.code, warnings_of(done)) == (0, [TRAINED])


def test_workers_leave_them_to_the_client(amclust, holed):
    pytest.importorskip("distributed")
    from distributed import LocalCluster

    off = {"dashboard_address": ":0", "scheduler_kwargs": {"dashboard": False}}
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=True, **off) as cluster:
        on = ("--dask", cluster.scheduler_address)
        done = amclust("fit", "t.parquet", "-k", 3, "--id", "id", *FAST, *on, "-o", "m.amc")
        assert done.code == 0, done.err
        (told,) = warnings_of(done)
        assert "12 of 60 rows have no value at all" in told
        done = amclust("predict", "m.amc", "t.parquet", "--id", "id", *on, "-o", "l", "-q")
        assert warnings_of(done) == [ASKED]
    assert len(pd.read_parquet("l")) == 60


def test_a_table_without_any_value(amclust, folder):
    (folder / "t.csv").write_text("a,b\n" + ",\n" * 5)
    done = amclust("fit", "t.csv", "-k", 2, *FAST)
    assert done.code == 1
    assert "columns 'a', 'b' have no value at all" in done.err
    assert "--drop-empty" in done.err


@pytest.mark.parametrize("command", ["fit", "search", "report", "complete"])
def test_empty_columns_are_dropped_where_asked(amclust, holed, command):
    holed.insert(1, "gone", np.nan)
    holed.to_csv("e.csv", index=False)
    given = (
        ("--budget", 200, "--restarts", 1, "--epochs", 20, "-q") if command == "search" else FAST
    )
    given = ("e.csv", "-k", 3, "--id", "id", *given)
    done = amclust(command, *given, "-o", "out.csv")
    assert done.code == 1
    assert "column 'gone' has no value at all: leave out with --drop gone" in done.err
    done = amclust(command, *given, "--drop-empty", "-o", "out.csv")
    assert done.code == 0, done.err
    assert "amclust: warning: column 'gone' has no value at all: dropped\n" in done.err
    if command == "fit":
        done = amclust("predict", "out.csv", "e.csv", "--drop-empty")
        assert done.code == 0, done.err
        assert "--drop-empty does not count" in done.err
    if command == "complete":
        assert pd.read_csv("out.csv")["gone"].isna().all()


@pytest.mark.parametrize("way", [("--stream",), ("--dask",)])
def test_empty_columns_of_a_table_in_parts_are_not_dropped(amclust, holed, way):
    if way == ("--dask",):
        pytest.importorskip("distributed")
    done = amclust("fit", "t.csv", "-k", 3, "--drop-empty", *way)
    assert done.code == 2
    assert "--drop-empty: needs all rows" in done.err


@pytest.mark.parametrize("stream", [(), ("--stream", "--chunk-rows", 7)])
def test_completed_files_keep_types(amclust, holed, stream):
    rng = np.random.default_rng(0)
    for name, kind in {"count": "Int16", "old": "boolean", "share": "Float32"}.items():
        values = pd.Series(rng.integers(0, 2, 60)).astype(kind)
        holed[name] = values.mask(rng.random(60) < 0.3)
    holed.to_parquet("typed.parquet", index=False)
    holed.to_csv("typed.csv", index=False)
    done = amclust("fit", "typed.parquet", "-k", 3, "--id", "id", *FAST, "-o", "m.amc")
    assert done.code == 0, done.err
    assert amclust("complete", "m.amc", "typed.parquet", *stream, "-o", "f.parquet").code == 0
    filled, before = (pq.read_table(name) for name in ("f.parquet", "typed.parquet"))
    for name in ("count", "old", "share"):
        assert filled[name].type == before[name].type
        assert filled[name].null_count == 0
        pairs = zip(filled[name].to_pylist(), before[name].to_pylist(), strict=True)
        assert all(new == old for new, old in pairs if old is not None)
    done = amclust("fit", "typed.csv", "-k", 3, "--id", "id", *FAST, "-o", "c.amc")
    assert done.code == 0, done.err
    assert amclust("complete", "c.amc", "typed.csv", *stream, "-o", "f.csv").code == 0
    cells = pd.read_csv("f.csv", dtype=str)
    assert set(cells["count"]) <= {"0", "1"}
    assert set(cells["old"]) == {"True", "False"}


@pytest.mark.parametrize("stream", [False, True])
def test_cells_that_are_left_are_told(amclust, holed, stream):
    frame = holed.assign(empty=np.nan, note=["?", *["seen"] * 59])
    frame.to_csv("t.csv", index=False)
    given = ("--id", "id", "--drop", "note", "--drop-empty", *FAST)
    assert amclust("fit", "t.csv", "-k", 3, *given, "-o", "m.amc").code == 0
    given = STREAM if stream else ()
    done = amclust("complete", "m.amc", "t.csv", *given, "-o", "f.csv")
    told = "amclust: 61 missing cells left in columns 'empty', 'note', not used by the model"
    assert told in done.err.splitlines()
    filled = pd.read_csv("f.csv", na_values="?")
    assert filled.isna().to_numpy().sum() == 61
    done = amclust("complete", "m.amc", "t.csv", *given, "-o", "f.csv", "--force", "--json")
    assert (done.json()["filled"], done.json()["left"]) == (24, 61)
    done = amclust("complete", "m.amc", "t.csv", *given, "-o", "f.csv", "--force", "-q")
    assert "left" not in done.err
