"""amclust fit: the same as ClAM.fit, from files to files."""

import json
import os
import re
import shlex
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from clear_groups import FAST, FAST_STREAM, rows
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import amclust as package
from amclust import ClAM
from amclust.cli.tables import Choice, Chunks, ReadOptions, open_table, read_matrix
from amclust.cli.tables.streaming import Sample, in_turns

COLUMNS = ("--id", "id", "--drop", "note")


def matrix(table):
    with open_table(table, ReadOptions()) as opened:
        return read_matrix(opened, Choice(id="id", drop=["note"])).frame


def test_a_fit_is_that_of_the_estimator(amclust, table, monkeypatch):
    monkeypatch.setattr(ClAM, "predict", None)  # the labels are those of the fit
    done = amclust("fit", table, "-k", 3, *COLUMNS, *FAST, "-o", "m.amc", "--labels", "l.csv")
    assert done == (0, "", "")
    expected = ClAM(3, n_init=1, max_epochs=40, random_state=0).fit(matrix(table))
    model = package.load("m.amc")
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    assert list(model.feature_names_in_) == ["width", "height"]
    assert model.verbose == 0
    labels = pd.read_csv("l.csv", dtype={"id": str})
    assert list(labels.columns) == ["id", "label"]
    assert labels["id"].tolist()[:2] == ["000", "001"]
    np.testing.assert_array_equal(labels["label"], expected.labels_)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv"])
def test_names_of_rows_keep_their_type(amclust, folder, suffix):
    frame = pd.DataFrame({"id": np.arange(5, 11), "x": [0.0, 0.1, 0.2, 9.0, 9.1, 9.2]})
    frame.to_parquet("t.parquet")
    done = amclust("fit", "t.parquet", "-k", 2, "--id", "id", *FAST, "--labels", f"l.{suffix}")
    assert done.code == 0, done.err
    reader = {"parquet": pd.read_parquet, "arrow": pd.read_feather, "csv": pd.read_csv}[suffix]
    assert reader(f"l.{suffix}")["id"].tolist() == frame["id"].tolist()


def test_all_options_reach_the_estimator(amclust, table):
    options = (
        "--objective completion --metric cosine --scale none --beta 2.5 --weights learn "
        "--restarts 3 --epochs 7 --seed 5 --threads 1 --set n_steps=4 --set lr_factor=0.5 "
        "--set early_stopping=false --set mask_value=max"
    )
    with_note = amclust("fit", table, "-k", 2, *COLUMNS, *options.split(), "-o", "m.amc", "-q")
    assert with_note.code == 0, with_note.err
    found = package.load("m.amc").get_params()
    expected = ClAM(
        2,
        objective="completion",
        metric="cosine",
        scale=None,
        beta=2.5,
        weights="learn",
        n_init=3,
        max_epochs=7,
        random_state=5,
        n_jobs=1,
        n_steps=4,
        lr_factor=0.5,
        early_stopping=False,
        mask_value="max",
    ).get_params()
    assert found == expected


def test_sizes_within_limits(amclust, table):
    limits = ("--size-min", 13, "--size-max", 14)
    done = amclust("fit", table, "-k", 3, *COLUMNS, *FAST, *limits, "-o", "m.amc")
    assert done.code == 0, done.err
    model = package.load("m.amc")
    assert (model.size_min, model.size_max) == (13, 14)
    assert set(np.bincount(model.labels_)) <= {13, 14}
    impossible = amclust("fit", table, "-k", 3, *COLUMNS, *FAST, "--size-min", 20)
    assert impossible.code == 1
    assert "size_min=20 cannot be met: n_clusters=3" in impossible.err
    crossed = amclust("fit", table, "-k", 3, *COLUMNS, "--size-min", 9, "--size-max", 8)
    assert crossed.code == 2
    assert "size_min=9 must not be larger than size_max=8" in crossed.err
    stream = amclust("fit", table, "-k", 3, *COLUMNS, "--stream", "--size-max", 20)
    assert stream.code == 2
    assert "--size-max: needs all rows" in stream.err


@pytest.mark.parametrize(("given", "expected"), [("3", 3), ("2:4", range(2, 5)), ("2,4", [2, 4])])
def test_numbers_of_clusters(amclust, table, given, expected):
    done = amclust("fit", table, "-k", given, *COLUMNS, *FAST, "-o", "m.amc")
    assert done.code == 0, done.err
    assert package.load("m.amc").n_clusters == expected


def test_weights_are_numbers_too(amclust, table):
    amclust("fit", table, "-k", 3, *COLUMNS, *FAST, "--weights", "1,2,1", "-o", "m.amc")
    np.testing.assert_allclose(package.load("m.amc").weights_, [1, 2, 1], rtol=1e-6)


def test_what_is_said(amclust, table):
    done = amclust("fit", table, "-k", 3, *COLUMNS, *FAST[:-1], "-o", "m.amc")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == f"{table}: 40 rows, 2 features, 2 missing cells"
    assert lines[1].startswith("3 clusters, silhouette 0.")
    assert lines[3].split() == ["cluster", "rows", "share"]
    assert sum(int(line.split()[1]) for line in lines[4:7]) == 40
    assert lines[8].startswith("cluster  what tells it: ")
    assert [line.split()[0] for line in lines[9:12]] == ["0", "1", "2"]
    assert all(re.search(r"(width|height) -?[\d.]+ \(-?[\d.]+\)", line) for line in lines[9:12])
    assert lines[12:-1] == [""]
    assert lines[-1].startswith("m.amc: ")
    assert done.err.startswith("ClAM: chose restart 1 of 1")


def test_json(amclust, table):
    done = amclust("fit", table, "-k", 3, *COLUMNS, *FAST, "--json")
    found = done.json()
    assert found["rows"] == 40
    assert found["missing"] == 2
    assert found["features"] == ["width", "height"]
    assert sum(found["sizes"]) == 40
    assert found["model"] is None
    single = amclust("fit", table, "-k", 1, *COLUMNS, *FAST, "--json")
    assert single.json()["silhouette"] is None  # NaN is no JSON


def test_top_features_are_those_of_the_model(amclust, table):
    done = amclust("fit", table, "-k", 3, *COLUMNS, *FAST, "-o", "m.amc", "--top", 1, "--json")
    model = package.load("m.amc")
    found = done.json()["top_features"]
    expected = model.top_features(1, two_sided=True)
    assert found == [[feature._asdict() for feature in features] for features in expected]
    assert amclust("info", "m.amc", "--top", 1, "--json").json()["top_features"] == found
    assert [len(of) for of in amclust("info", "m.amc", "--json").json()["top_features"]] == [2] * 3
    # Where columns share their units, only what a cluster has more of: it may be nothing.
    amclust("fit", table, "-k", 2, *COLUMNS, *FAST, "--scale", "none", "-o", "n.amc")
    unscaled = amclust("info", "n.amc", "--json").json()["top_features"]
    assert all(feature["weight"] > feature["mean"] for features in unscaled for feature in features)
    assert amclust("fit", table, "-k", 3, *COLUMNS, "--top", 0).code == 2
    assert "tells it" not in amclust("fit", table, "-k", 1, *COLUMNS, *FAST[:-1]).out


def test_many_features_and_long_names_stay_readable(amclust, folder):
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(35, 40), 2, axis=0) + rng.random((70, 40)) / 100
    names = [f"the {j}th of the columns with rather a long name, {'x' * 80}" for j in range(40)]
    pd.DataFrame(X, columns=names).to_csv("t.csv", index=False)
    done = amclust("fit", "t.csv", "-k", 35, *FAST[:-1], "--top", 12)
    told = done.out.partition("what tells it")[2]
    assert "... and 5 more" in told
    assert max(map(len, told.splitlines())) <= 96


def test_standard_input(amclust, table):
    content = table.read_bytes()
    done = amclust("fit", "-", "-k", 3, *COLUMNS, *FAST, "-o", "m.amc", stdin=content)
    assert done.code == 0, done.err
    amclust("fit", table, "-k", 3, *COLUMNS, *FAST, "-o", "n.amc")
    one, other = package.load("m.amc"), package.load("n.amc")
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)


def test_labels_on_standard_output(amclust, table):
    done = amclust("fit", table, "-k", 3, *COLUMNS, *FAST[:-1], "--labels", "-")
    assert done.out.splitlines()[0] == "id,label"
    assert len(done.out.splitlines()) == 41


def test_a_column_with_a_comma_in_its_name(amclust, folder):
    pd.DataFrame(rows()[0], columns=["a,b", "c"]).to_csv("t.csv", index=False)
    done = amclust("fit", "t.csv", "-k", 3, "--use", "a,b", "--use", "c", *FAST, "--json")
    assert done.json()["features"] == ["a,b", "c"]
    done = amclust("fit", "t.csv", "-k", 3, "--use", '"a,b", c', *FAST, "--json")
    assert done.json()["features"] == ["a,b", "c"]


def test_the_advice_about_a_name_with_a_comma_can_be_followed(amclust, folder):
    frame = pd.DataFrame(rows()[0], columns=["a", "b"]).assign(
        **{"c,d": "2020-01-31", "e": "12:30"}
    )
    frame.to_csv("t.csv", index=False)
    advice = re.search(r"--drop ('[^']*')", amclust("fit", "t.csv", "-k", 3).err).group(1)
    done = amclust("fit", "t.csv", "-k", 3, "--drop", *shlex.split(advice), *FAST, "--json")
    assert done.json()["features"] == ["a", "b"]


def test_text_is_taken_as_categories(amclust, table):
    done = amclust("fit", table, "-k", 3, "--id", "id", *FAST, "--json", "-o", "m.amc")
    assert done.json()["features"] == ["width", "height", "note"]
    told = {feature["name"] for of in done.json()["top_features"] for feature in of}
    assert told & {"note=group 0", "note=group 1", "note=group 2"}
    other = table.read_text().replace("group 1", "group 9")
    table.with_name("other.csv").write_text(other)
    done = amclust("predict", "m.amc", "other.csv", "--json")
    assert done.code == 0
    assert "'group 9' in column 'note'" in done.err
    done = amclust("fit", table, "-k", 3, "--id", "id", "--numeric", "note", *FAST)
    assert "column 'note' has no value at all" in done.err


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "npy"])
def test_a_stream_is_partial_fit_over_a_sample_and_turns(amclust, folder, passes, suffix):
    X = rows(50)[0]
    if suffix == "npy":
        np.save("t.npy", X)
    elif suffix == "parquet":
        pd.DataFrame(X, columns=["a", "b"]).to_parquet("t.parquet")
    else:
        pd.DataFrame(X, columns=["a", "b"]).to_csv(f"t.{suffix}", index=False)
    options = ("-k", 3, "--stream", "--chunk-rows", 20, "--passes", passes, *FAST_STREAM)
    done = amclust("fit", f"t.{suffix}", *options, "-o", "m.amc", "--labels", "l.csv")
    assert done.code == 0, done.err
    read = [chunk.to_pandas().astype(float) for chunk in Chunks(f"t.{suffix}", 20)]
    names, chunks = read[0].columns, [chunk.to_numpy() for chunk in read]
    rng = np.random.default_rng(0)
    sample = Sample(20, rng)
    for chunk in chunks:
        sample.add(chunk)
    turns = [sample.rows(), *(X for _ in range(passes) for X in in_turns(chunks, sample, rng, 20))]
    expected = ClAM(3, random_state=0)
    for turn in turns:
        expected.partial_fit(pd.DataFrame(turn, columns=names))
    model = package.load("m.amc")
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    labels = pd.read_csv("l.csv")["label"]
    np.testing.assert_array_equal(
        labels, expected.predict(pd.DataFrame(X, columns=expected.feature_names_in_))
    )


@pytest.fixture
def sorted_table(folder):
    """Rows in the order of their groups, which overlap; and the groups."""
    X, groups = make_blobs(2400, 4, centers=6, cluster_std=2.0, random_state=2)
    order = np.argsort(groups, kind="stable")
    pd.DataFrame(X[order], columns=list("abcd")).to_csv(folder / "s.csv", index=False)
    return groups[order]


def test_a_sorted_table_is_streamed_about_as_well_as_read(amclust, sorted_table, folder):
    options = ("-k", 6, "--stream", "--chunk-rows", 200, "--threads", 1, "-q")
    done = amclust("fit", "s.csv", *options, "-o", "m.amc", "--labels", "l.csv")
    assert done.code == 0, done.err
    (line,) = done.err.splitlines()
    assert line.startswith("amclust: warning: the rows of s.csv come in an order: ")
    assert "a sample of the whole table" in line
    found = adjusted_rand_score(sorted_table, pd.read_csv("l.csv")["label"])
    X = pd.read_csv("s.csv").to_numpy()
    in_memory = adjusted_rand_score(
        sorted_table, ClAM(6, n_init=3, random_state=0, n_jobs=1).fit_predict(X)
    )
    assert found > in_memory - 0.05
    by_chunks = ClAM(6, random_state=0, n_jobs=1)
    for start in range(0, len(X), 200):
        by_chunks.partial_fit(X[start : start + 200])
    assert found > adjusted_rand_score(sorted_table, by_chunks.predict(X)) + 0.2


def test_a_sorted_stream_that_is_read_once_is_warned_of(amclust, sorted_table, folder):
    options = ("-k", 6, "--stream", "--chunk-rows", 200, "--threads", 1, "-q", "-o", "m.amc")
    done = amclust("fit", "-", *options, stdin=(folder / "s.csv").read_bytes())
    assert done.code == 0
    assert "standard input come in an order" in done.err
    assert "what comes late counts less" in done.err
    shuffled = pd.read_csv("s.csv").sample(frac=1.0, random_state=0)
    done = amclust("fit", "-", *options, "--force", stdin=shuffled.to_csv(index=False).encode())
    assert done == (0, "", "")


@pytest.mark.parametrize("source", ["t.csv", "-"])
def test_a_column_may_be_empty_in_the_first_chunk(amclust, folder, source):
    X = pd.DataFrame(rows(120)[0], columns=["a", "b"])
    X.loc[:40, "b"] = np.nan
    X.to_csv("t.csv", index=False)
    options = ("-k", 3, "--stream", "--chunk-rows", 20, *FAST_STREAM, "-o", "m.amc")
    done = amclust("fit", source, *options, stdin=Path("t.csv").read_bytes())
    assert done.code == 0, done.err
    assert package.load("m.amc").feature_names_in_.tolist() == ["a", "b"]


def test_a_stream_says_what_it_has_seen(amclust, table):
    options = ("--stream", "--chunk-rows", 20, "--passes", 2, "--threads", 1)
    done = amclust("fit", table, "-k", 3, *COLUMNS, *options)
    assert "40 rows, 2 features, 2 missing cells" in done.out
    assert "2 passes" in done.out
    assert "share" not in done.out
    done = amclust("fit", table, "-k", 3, *COLUMNS, *options, "--labels", "l.csv", "--json", "-q")
    assert sum(done.json()["sizes"]) == 40
    done = amclust("fit", table, "-k", 3, *COLUMNS, *options, "-o", "m.amc", "--json", "-q")
    assert done.json()["sizes"] is None  # the model knows those of the last chunk
    assert amclust("info", "m.amc", "--json").json()["sizes"] is None
    assert "share" not in amclust("info", "m.amc").out


def test_a_stream_from_standard_input(amclust, table):
    content = table.read_bytes()
    options = ("-k", 3, *COLUMNS, "--stream", "--chunk-rows", 20, *FAST_STREAM)
    assert amclust("fit", "-", *options, "-o", "m.amc", stdin=content).code == 0
    assert amclust("fit", "-", *options, "-o", "n.amc", stdin=content).code == 0
    one, other = package.load("m.amc"), package.load("n.amc")
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    for more in (["--passes", 2], ["--labels", "l.csv"]):
        done = amclust("fit", "-", *options, *more, stdin=content)
        assert done.code == 2
        assert "only once" in done.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("stream", [(), ("--stream", "--chunk-rows", 20)])
def test_a_pipe_with_a_name(amclust, table, stream):
    """As <(command) in a shell."""
    content = table.read_bytes()
    os.mkfifo("pipe.csv")
    options = ("-k", 3, *COLUMNS, *stream, *(FAST_STREAM if stream else FAST))
    writer = threading.Thread(target=(table.parent / "pipe.csv").write_bytes, args=(content,))
    writer.start()
    done = amclust("fit", "pipe.csv", *options, "-o", "m.amc")
    writer.join(timeout=10)
    assert done == (0, "", "")
    amclust("fit", "-" if stream else table, *options, "-o", "n.amc", stdin=content)
    one, other = package.load("m.amc"), package.load("n.amc")
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    if stream:
        assert "only once" in amclust("fit", "pipe.csv", *options, "--passes", 2).err


def test_warnings_are_plain_lines(amclust, table):
    done = amclust("fit", table, "-k", 3, *COLUMNS, "--epochs", 1, "--quiet")
    assert done.code == 0
    (line,) = done.err.splitlines()
    assert line.startswith("amclust: warning: ")
    assert "still improving" in line


def test_the_model_file_tells_where_it_comes_from(amclust, table):
    amclust("fit", table, "-k", 3, *COLUMNS, *FAST, "-o", "m.amc")
    told = json.loads(amclust("info", "m.amc", "--json").out)
    assert told["source"] == {"table": "table.csv", "rows": 40}
    assert told["features"] == ["width", "height"]


def test_rows_that_belong_nowhere_are_counted(amclust, table):
    done = amclust("fit", table, "-k", 3, *COLUMNS, "--contamination", 0.1, "-o", "m.amc")
    assert done.code == 0, done.err
    assert "-1 (nowhere)" in done.out
    done = amclust("predict", "m.amc", table, "-o", "labels.csv")
    assert "-1 (nowhere)" in done.out
