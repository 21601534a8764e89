"""The benchmark of amclust.dask: what it measures, whatever the time."""

from argparse import Namespace

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("psutil")

import dask

from benchmarks.framework.cases import Case, Record
from benchmarks.framework.lines import Line, Skipped, Target
from benchmarks.framework.sections import entries_of
from benchmarks.framework.store import Store
from benchmarks.scale import phases
from benchmarks.scale.__main__ import SECTIONS, Key, cases, write_page
from benchmarks.scale.fits import _inertia, _nothing
from benchmarks.scale.rows import N_CLUSTERS, N_FEATURES, Made

MACHINE = {"processor": "p", "cores": 2, "instruction_set": "i", "python": "3", "versions": {}}


def counted(n_blocks):
    """Return what two workers would be seen to do with so many blocks."""
    one = {"tasks": n_blocks + 1.0, "transitions": 5.0 * n_blocks, "moved": 1e6}
    one |= {"results": 1e3 * n_blocks, "largest": 4e7, "network": 1600.0}
    passes = {name: one | {"seconds": 0.1 * n_blocks} for name in phases.PASSES}
    restarts = {"tasks": 4.0, "transitions": 16.0, "moved": 0.0, "seconds": 8.0}
    made = {key: len(passes) * value for key, value in passes[phases.PASSES[0]].items()}
    return passes | {"restarts": restarts, phases.MADE: made}


@pytest.fixture
def measured():
    numbers = [20, 80]
    return {
        "tasks_per_second": 1000.0,
        "transitions_per_second": 5000.0,
        "seconds_per_transition": 1e-4,
        "block_rows": 250_000,
        "blocks": numbers,
        "phases": [counted(number) for number in numbers],
    }


def test_rows_are_made_block_by_block():
    made = Made(1050, 500)
    rows = made.array()
    assert rows.chunks == ((500, 500, 50), (N_FEATURES,))
    local = made.local()
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_array_equal(rows.compute(), local)
        labels = np.arange(1050) % N_CLUSTERS
        found = sum(
            _inertia(block, labels[at : at + 500, None], np.zeros((N_CLUSTERS, N_FEATURES)))[0, 0]
            for at, block in zip((0, 500, 1000), (made.block(n) for n in range(3)), strict=True)
        )
        assert rows.map_blocks(_nothing, dtype=float).sum().compute() == 0
    np.testing.assert_allclose(found, np.sum(local**2))
    assert rows.name != made.array().name  # nothing of it is found in the workers


def test_every_section_is_a_case(capsys):
    found = cases(Namespace(quick=True, only=None))
    assert [case.key.section for case in found] == list(SECTIONS)
    assert all(case.definition == {"quick": True} for case in found)
    assert "QUICK RUN" in capsys.readouterr().out


def test_figures_are_drawn_out_by_a_line(measured):
    assert phases.drawn_out(measured, phases.PASSES[0], "tasks", 1000) == pytest.approx(2002)
    assert phases.drawn_out(measured, "restarts", "tasks", 1000) == pytest.approx(4)
    moved = [phases.moved_at_most(measured, name, 1000, 40_000) for name in phases.PHASES]
    assert moved == pytest.approx([8e7, 1.6e8, 1.6e6])
    # A block takes 0.2 s of a worker, and ten transitions of 0.1 ms.
    assert phases.stops_at(measured, phases.PASSES[0]) == pytest.approx(200)


def test_records_round_trip_and_the_page_has_a_table_for_every_section(tmp_path, measured):
    store = Store(tmp_path / "scale.jsonl", Key)
    bound = Line("bound", 1.0, 2.0, "peer", value=0.5, target=Target("ratio", "<=", 1.0))
    entries = [one.as_json() for one in (bound, Skipped("other", "not there"))]
    for name in SECTIONS:
        results = {"entries": entries, "measured": measured if name == "paper" else {}}
        store.put(Record(Case(Key(name)), results, 1.0, MACHINE, "2026-12-01"))
    again = Store(store.path, Key)
    assert entries_of(again.find(Key("rows"))) == [
        Line.from_json(bound.as_json()),
        Skipped("other", "not there"),
    ]
    write_page(tmp_path / "scale.md", again)
    page = (tmp_path / "scale.md").read_text()
    assert all(f"<!-- {name} -->" in page for name in SECTIONS)
    assert page.count("| bound |") == 2 * len(SECTIONS)
    assert "| 1,000 | 10,000,000,000 | statistics and drawing | 80,002 |" in page


def test_the_page_of_some_sections(tmp_path):
    store = Store(tmp_path / "scale.jsonl", Key)
    store.put(Record(Case(Key("rows")), {"entries": [], "measured": {}}, 1.0, MACHINE))
    write_page(tmp_path / "scale.md", store)
    assert "on paper" not in (tmp_path / "scale.md").read_text()
