"""The framework of the benchmarks: nothing is run twice, nothing that was done is lost."""

from math import inf, nan
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from benchmarks.framework import running
from benchmarks.framework.cases import (
    Case,
    Record,
    pack_array,
    pack_labels,
    unpack_array,
    unpack_labels,
)
from benchmarks.framework.command import guarded
from benchmarks.framework.environment import UnavailableError
from benchmarks.framework.lines import Line, Target, print_entries
from benchmarks.framework.running import Failure, Unfinished, complete, execute
from benchmarks.framework.store import Store


class Key(NamedTuple):
    set: str
    seed: int


def make_case(name="iris", seed=0, data=None, **definition):
    return Case(Key(name, seed), definition, data)


def make_record(case, **results):
    return Record(case, results, 0.5, {"commit": "abc"}, "2026-01-01T00:00:00+00:00")


def double(case, unfinished):
    if case.key.seed == 3:
        raise ValueError("no\n  three")
    return {"double": 2 * case.key.seed}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "folder" / "some.jsonl", Key)


def test_records_are_read_to_the_last_bit(store):
    case = make_case(restarts=10, scale=(1, 2), data="d1")
    store.put(make_record(case, x=0.1 + 0.2, least=5e-324, none=nan, all=[inf, np.float32(0.1)]))
    found = Store(store.path, Key).get(case)
    assert found.results["x"] == 0.1 + 0.2
    assert found.results["least"] == 5e-324
    assert np.isnan(found.number("none"))
    assert found.results["all"] == [None, float(np.float32(0.1))]
    assert (found.seconds, found.environment) == (0.5, {"commit": "abc"})


def test_other_definitions_and_other_data_are_missing(store):
    store.put(make_record(make_case(restarts=10, data="d1")))
    assert store.missing([make_case(restarts=10, data="d1"), make_case(restarts=10)]) == []
    others = [make_case(restarts=9), make_case(restarts=10, data="d2"), make_case(seed=1)]
    assert store.missing(others) == others
    assert store.find(Key("iris", 0)) is not None


def test_a_file_is_sorted_with_every_environment_and_record_once(store):
    for seed in (10, 9, 10):
        store.put(make_record(make_case(seed=seed), value=seed))
    assert len(store.path.read_text().splitlines()) == 4
    store.compact()
    lines = store.path.read_text().splitlines()
    assert ['"id"' in line for line in lines] == [True, False, False]
    assert [record.key.seed for record in Store(store.path, Key).all()] == [9, 10]


@pytest.mark.parametrize(
    ("bad", "kept"),
    [
        (b'{"case": {"se', False),
        (b"\xff\xfe{}", False),
        (b"[]", True),
        (b'{"case": {}}', True),
        (b'{"case": {"set": "iris", "seeds": 0}}', True),  # the mistake may be the key's
        (b"null", True),
    ],
)
def test_a_line_that_is_no_record_counts_as_missing(store, capsys, bad, kept):
    cases = [make_case(seed=seed) for seed in range(3)]
    for case in cases[:2]:
        store.put(make_record(case))
    with store.path.open("ab") as file:
        file.write(bad)  # as a process that was killed leaves it
    again = Store(store.path, Key)
    assert again.missing(cases) == cases[2:]
    assert f"WARNING: line 4 of {store.path} is no record" in capsys.readouterr().out
    again.put(make_record(cases[2]))
    assert Store(store.path, Key).missing(cases) == []
    before = store.path.read_bytes()
    again.compact()
    lines = store.path.read_bytes().splitlines()
    assert (bad in lines, len(lines)) == (kept, 4 + kept)
    assert (store.path.read_bytes() == before) == kept


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_missing_is_run_and_kept_whatever_fails(store, jobs, capsys):
    cases = [make_case(seed=seed) for seed in range(5)]
    store.put(make_record(cases[1], double="as it was"))
    (failure,) = complete(cases, double, store, jobs=jobs)
    assert failure == Failure(cases[3], "ValueError: no three")
    printed = capsys.readouterr().out
    assert "5 cases, 1 of them in some.jsonl" in printed
    assert "iris 3  FAILED: ValueError: no three" in printed
    kept = {record.key.seed: record.results["double"] for record in Store(store.path, Key).all()}
    assert kept == {0: 0, 1: "as it was", 2: 4, 4: 8}
    complete(cases, double, store, fresh=True)
    assert store.find(Key("iris", 1)).results == {"double": 2}


def test_what_is_timed_comes_last(store):
    cases = [make_case(seed=seed) for seed in (0, 1, 2)]
    outcomes = execute(cases, double, store.unfinished_path, alone=lambda case: case.key.seed == 0)
    assert [outcome.case.key.seed for outcome in outcomes] == [1, 2, 0]


def test_an_interrupted_case_goes_on_where_it_was(store, monkeypatch):
    monkeypatch.setattr(running, "_SECONDS_BETWEEN_WRITES", 0.0)
    first, case, calls = make_case("first"), make_case(data="d1"), []

    def count(case, unfinished):
        if case is first:
            return {}
        found = (unfinished.state or {"found": []})["found"]
        while len(found) < 4:
            calls.append(len(found))
            if len(calls) == 3:
                raise KeyboardInterrupt
            found.append(len(found))
            unfinished.keep({"found": found})
        return {"found": found}

    assert guarded(lambda: len(complete([first, case], count, store))) == 130
    assert [record.key for record in Store(store.path, Key).all()] == [first.key]
    path = store.unfinished_path(case)
    assert Unfinished(path, "d1").state == {"found": [0, 1]}
    assert Unfinished(path, "d2").state is None
    complete([case], count, store)
    assert calls == [0, 1, 2, 2, 3]
    assert store.get(case).results == {"found": [0, 1, 2, 3]}
    assert not path.exists()


def test_what_stops_a_command_is_said_in_a_line(capsys):
    def unavailable():
        raise UnavailableError("no zoo")

    assert guarded(unavailable) == 1
    assert capsys.readouterr().out == "UNAVAILABLE: no zoo\n"


def test_packed_arrays():
    labels, values = np.array([4, 4, 0, 7]), np.array([[0.5, 2.0], [nan, -1.0]])
    assert unpack_labels(pack_labels(labels)).tolist() == [0, 0, 1, 2]
    many = np.random.default_rng(0).integers(9, size=200)
    assert adjusted_rand_score(many, unpack_labels(pack_labels(many))) == 1.0
    assert pack_labels(8 - many) == pack_labels(many)
    np.testing.assert_array_equal(unpack_array(pack_array(values)), values)


def test_lines_are_read_as_written():
    line = Line.of_pairs(
        "fit", "s", [1.0, 2.0], [2.0, 8.0], peer_name="k", target=Target("ratio", "<=", 0.375)
    )
    assert (line.ours, line.peer, line.value, line.reached) == (1.5, 5.0, 0.375, True)
    again = Line.from_json(line.as_json())
    assert again == line
    assert not Line.from_json({**line.as_json(), "value": None}).reached


def test_a_line_without_a_bound_is_shown_and_not_counted(capsys):
    shown, bound = Target("ratio"), Target("ratio", "<=", 1.0)
    lines = [Line("fit", 1.0, 2.0, "k", value=0.5, target=target) for target in (shown, bound)]
    assert [Line.from_json(line.as_json()).reached for line in lines] == [False, True]
    print_entries("some", lines)
    printed = capsys.readouterr().out
    assert [line.split()[-1] for line in printed.splitlines() if line[:3] == "fit"] == ["-", "yes"]
    assert "1 of 1 targets reached" in printed
