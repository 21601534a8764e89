"""A bar that is written over on a terminal, plain lines elsewhere."""

import io

import pytest

from amclust import _progress
from amclust._progress import ProgressLine, SearchBar, reporter


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that is moved by hand."""
    now = [100.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    return now


def test_a_terminal_has_a_bar_on_one_line(monkeypatch, clock):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("COLUMNS", "60")
    report = reporter(1, 2, 10)
    report(0, 4, 0.5)
    report(1, 4, 0.5)  # too soon to be shown
    clock[0] += 1
    report(0, 9, 0.25)
    first, second = stream.getvalue().split("\r\x1b[K")[1:]
    assert first.startswith("ClAM: [#######                       ]  25%, restart 1 of 2")
    assert "[######################        ]  75%" in second
    assert len(second) < 60
    assert "\n" not in stream.getvalue()


def test_a_run_that_stopped_early_counts_as_done(monkeypatch, clock):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    report = reporter(1, 2, 1000)
    report(0, 0, 0.5)
    for epoch in range(100):
        report(1, epoch, 0.5)
    clock[0] += 3
    report(1, 100, 0.5)
    assert stream.getvalue().startswith("ClAM:  55%, restart 2 of 2, epoch 101")


def test_elsewhere_lines_come_now_and_then(monkeypatch, clock):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    bar = SearchBar(10)
    bar(0, 0, 0.0)
    assert stream.getvalue() == ""  # it may be over soon
    for _ in range(4):
        clock[0] += 1
        bar(0, 0, 0.0)
    assert stream.getvalue() == (
        "ClAMSearch:  30%, 3 of 10 run-epochs\nClAMSearch:  50%, 5 of 10 run-epochs\n"
    )


def test_a_line_without_a_bar(monkeypatch, clock):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    ProgressLine().show("ClAM: pass 1")
    assert stream.getvalue() == "ClAM: pass 1\n"
