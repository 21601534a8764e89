"""amclust fit and predict with --dask: workers read, learn, label and write."""

import itertools
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed")

from clear_groups import FAST, rows

import amclust as package


@pytest.fixture(scope="module")
def scheduler():
    """The address of a cluster that is there already."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        processes=True,
        dashboard_address=":0",
        scheduler_kwargs={"dashboard": False},
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def on(scheduler):
    return ("--dask", scheduler)


@pytest.fixture
def parts(folder):
    """The same rows as Parquet and CSV parts, one of them empty, and in one file."""
    X, groups = rows(240)
    X[5, 0] = X[100, 1] = np.nan
    frame = pd.DataFrame(X, columns=["width", "height"])
    frame.insert(0, "id", [f"{index:03}" for index in range(len(frame))])
    frame["note"] = [f"group {group}" for group in groups]
    frame.to_parquet("whole.parquet", index=False)
    for name in ("parts", "texts"):
        (folder / name).mkdir()
    edges = [0, 100, 100, 130, 240]
    for at, (start, stop) in enumerate(itertools.pairwise(edges)):
        frame[start:stop].to_parquet(f"parts/{at}.parquet", index=False)
        frame[start:stop].to_csv(f"texts/{at}.csv", index=False)
    return frame


COLUMNS = ("--id", "id", "--drop", "note")


def left_behind(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("table", ["parts/*.parquet", "parts", "texts/*.csv", "file://{}/texts/*"])
def test_a_fit_is_that_of_the_whole_table(amclust, folder, parts, on, table):
    whole = amclust("fit", "whole.parquet", "-k", 3, *COLUMNS, *FAST, "-o", "w.amc", "--json")
    table = table.format(folder)
    form = ("--format", "csv") if table.endswith("/*") else ()
    done = amclust(
        *("fit", table, "-k", 3, *COLUMNS, *FAST, *on, *form, "-o", "m.amc"),
        *("--labels", "labels", "--json"),
    )
    assert done.code == 0, done.err
    found, expected = done.json(), whole.json()
    names = {"table", "model", "labels"}
    assert {k: v for k, v in found.items() if k not in names} == {
        k: v for k, v in expected.items() if k not in names
    }
    model = package.load("m.amc")
    np.testing.assert_array_equal(model.memories_, package.load("w.amc").memories_)
    written = sorted(path.name for path in (folder / "labels").iterdir())
    assert written == [f"part-{at:06}.parquet" for at in (0, 2, 3)]  # one a part that has rows
    labels = pd.read_parquet("labels")
    assert labels["id"].tolist() == parts["id"].tolist()
    np.testing.assert_array_equal(labels["label"], model.predict(parts[["width", "height"]]))
    assert not left_behind(folder)


def test_predict_writes_what_it_writes_in_one_file(amclust, folder, parts, model, on):
    asked = ("--proba", "--distances", "--energy", "--entropy", "--append", "--prefix", "c_")
    assert amclust("predict", model, "whole.parquet", *asked, "-o", "w.parquet", "-q").code == 0
    done = amclust("predict", model, "parts/*.parquet", *asked, *on, "-o", "p.parquet", "--json")
    assert done.code == 0, done.err
    assert done.json()["rows"] == len(parts)
    assert sum(done.json()["sizes"]) == len(parts)
    pd.testing.assert_frame_equal(pd.read_parquet("p.parquet"), pd.read_parquet("w.parquet"))
    plain = amclust("predict", model, "parts/*.parquet", *on, "-o", "q")
    assert plain.out.endswith("q: 240 rows\n")
    assert list(pd.read_parquet("q").columns) == ["id", "label"]


def test_categories_of_all_parts_are_encoded(amclust, folder, parts, on):
    more = ("--use", "width,height,note", *FAST, "--json")
    parts[:100].assign(note="first").to_parquet("parts/0.parquet", index=False)
    pd.read_parquet("parts").to_parquet("whole.parquet", index=False)
    done, whole = (
        amclust("fit", "parts/*.parquet", "-k", 3, *more, *on),
        amclust("fit", "whole.parquet", "-k", 3, *more),
    )
    assert done.code == 0, done.err
    assert done.json()["features"] == whole.json()["features"]
    assert done.json()["missing"] == whole.json()["missing"]


def test_a_fault_names_its_part_and_leaves_nothing(amclust, folder, parts, model, on):
    bad = parts[130:].astype({"width": object})
    bad.iloc[7, 1] = "wide"
    bad.astype({"width": str}).to_csv("texts/3.csv", index=False)
    command = ("fit", "texts/*.csv", "-k", 3, *COLUMNS, *FAST, "--labels", "labels")
    done = amclust(*command, *on)
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "part 3" in done.err
    assert "3.csv" in done.err
    assert "wide" in done.err
    done = amclust("predict", model, "texts/*.csv", *on, "-o", "labels", "-q")
    assert done.code == 1
    assert "part 3" in done.err
    assert "row 8" in done.err
    assert not (folder / "labels").exists()
    assert not left_behind(folder)
    (folder / "texts" / "3.csv").write_text("id,width,height,note\n1,2\n")
    assert "Expected 4 columns" in amclust("predict", model, "texts/*.csv", *on, "-o", "y").err
    (folder / "texts" / "3.csv").write_text("id,height,width,note\n1,2,3,4\n")
    assert "its columns are" in amclust("predict", model, "texts/*.csv", *on, "-o", "y").err


def test_a_folder_is_replaced_only_when_forced_and_only_by_labels(
    amclust, folder, parts, model, on
):
    (folder / "out").mkdir()
    (folder / "out" / "old.parquet").write_text("old")
    command = ("predict", model, "parts/*.parquet", *on, "-q")
    done = amclust(*command, "-o", "out")
    assert (done.code, "--force" in done.err) == (1, True)
    assert (folder / "out" / "old.parquet").read_text() == "old"
    assert amclust(*command, "-o", "out", "--force").code == 0
    assert not (folder / "out" / "old.parquet").exists()
    (folder / "out" / "thesis.txt").write_text("precious")
    done = amclust(*command, "-o", "out", "--force")
    assert (done.code, "thesis.txt" in done.err) == (1, True)
    done = amclust(*command, "-o", "parts", "--force")
    assert (done.code, "what is read" in done.err) == (1, True)
    assert not left_behind(folder)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--stream"], "choose one"),
        (["--chunk-rows", 5], "only with --stream"),
        (["--sheet", 1], "workers read Parquet"),
        (["--labels", "-"], "not standard output"),
        (["--labels", "labels.csv"], "folder of Parquet files, not .csv"),
        (["--delimiter", ";"], "which has none"),
    ],
)
def test_what_does_not_go_with_dask(amclust, folder, parts, on, arguments, words):
    done = amclust("fit", "parts/*.parquet", "-k", 3, *FAST, *on, *arguments)
    assert done.code == 2
    assert words in done.err.splitlines()[-1]
    assert not (folder / "labels.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "--dask", "parts/*.parquet", "-k", "3"], "stands after the table"),
        (["fit", "t.parquet", "-k", "3", "--dask", "tcp://nowhere"], "address of a scheduler"),
        (["fit", "-", "-k", "3", "--dask"], "standard input"),
        (["predict", "m.amc", "t.parquet", "--dask"], "with -o"),
    ],
)
def test_wrong_arguments_start_nothing(amclust, monkeypatch, arguments, words):
    monkeypatch.setattr("distributed.LocalCluster", None)
    done = amclust(*arguments)
    assert done.code == 2
    assert words in done.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("nothing/*.parquet", "no file matches"),
        ("nothing.csv", "there is no file"),
        ("nothing://*.csv", "Protocol not known"),
        ("empty", "has no Parquet files"),
        ("odd.parquet", "is not Parquet, or it is damaged"),
    ],
)
def test_tables_that_are_not_there(amclust, folder, on, table, words):
    (folder / "empty").mkdir()
    (folder / "odd.parquet").write_text("a,b\n1,2\n")
    done = amclust("fit", table, "-k", 3, *FAST, *on)
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert words in done.err


def test_without_dask_the_extra_is_named(amclust, folder, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("amclust.dask")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = amclust("fit", "t.parquet", "-k", 3, "--dask")
    assert done.code == 1
    assert 'pip install "amclust[dask]"' in done.err
    assert done.err.count("\n") == 1


def ends_soon(group):
    """Whether all processes of a group come to an end; those that nobody waits for have ended."""
    for _ in range(100):
        listed = subprocess.run(
            ["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True
        )
        rows = [line.split() for line in listed.stdout.splitlines()]
        if not [stat for pgid, stat in rows if int(pgid) == group and stat[0] != "Z"]:
            return True
        time.sleep(0.1)
    return False


ENDLESS = ("--epochs", "2000000000", "--set", "early_stopping=false")


@pytest.mark.slow
def test_the_cluster_that_a_command_starts_ends_with_it(folder, parts):
    """It fits; interrupted in the middle of another fit, it leaves no process and no file."""
    command = [sys.executable, "-m", "amclust", "fit", "parts/*.parquet", "-k", "3", *COLUMNS]
    command += ["--threads", "1", "--labels", "labels", "-o", "m.amc", "--dask"]
    done = subprocess.run(
        [*command, *FAST, "--epochs", "400"],  # enough not to be warned of
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(pd.read_parquet("labels")) == len(parts)
    asked = [sys.executable, "-m", "amclust", "predict", "m.amc", "parts/*.parquet", "--id", "id"]
    done = subprocess.run([*asked, "--dask", "-o", "asked", "-q"], timeout=300, check=False)
    assert done.returncode == 0
    assert pd.read_parquet("asked").equals(pd.read_parquet("labels"))
    os.remove("m.amc")
    running = subprocess.Popen(
        [*command, *ENDLESS, "--force"], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    before = (folder / "labels").stat().st_ino
    while not left_behind(folder):
        time.sleep(0.05)
    time.sleep(4)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: workers hear it, too
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert said.endswith("amclust: interrupted\n")
    assert "Traceback" not in said
    assert ends_soon(running.pid)
    assert not left_behind(folder)
    assert not (folder / "m.amc").exists()
    assert (folder / "labels").stat().st_ino == before
