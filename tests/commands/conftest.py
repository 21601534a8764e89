"""The command line, driven inside this process, in an empty folder."""

import functools
import io
import json
import re
import sys
from typing import NamedTuple

import pytest
from clear_groups import rows

from amclust.cli import build_parser, main


class Done(NamedTuple):
    code: int
    out: str
    err: str

    def json(self):
        assert self.out.count("\n") == 1
        return json.loads(self.out)


@functools.cache
def documented_keys(command):
    """The words in the help of a command's --json: its keys are an interface."""
    commands = build_parser()._subparsers._group_actions[0].choices
    text = commands[command].format_help()
    section = re.search(r"--json +(.*?)(?:\n\n|\n  -)", text, flags=re.DOTALL).group(1)
    return set(re.findall(r"\w+", section))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def amclust(folder, capsys, monkeypatch):
    """Run a command line and return its exit code and what it printed."""

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        done = Done(code, *capsys.readouterr())
        assert "Traceback" not in done.err
        if "--json" in arguments and code == 0:
            assert set(done.json()) <= documented_keys(arguments[0])
        return done

    return run


@pytest.fixture
def table(folder):
    """A table with names of rows, two columns of numbers, two missing cells and a note."""
    X, groups = rows()
    lines = ["id,width,height,note"]
    for index, ((a, b), group) in enumerate(zip(X, groups, strict=True)):
        a = "" if index == 3 else f"{a:.4f}"
        b = "" if index == 10 else f"{b:.3f}"
        lines.append(f"{index:03},{a},{b},group {group}")
    path = folder / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def model_bytes(tmp_path_factory):
    """A model fitted to that table, made once."""
    import pandas as pd

    from amclust import ClAM
    from amclust.cli.tables import Choice, choose_columns
    from amclust.io.model import save_model

    frame = pd.DataFrame(rows()[0], columns=["width", "height"])
    frame["id"] = [f"{index:03}" for index in range(len(frame))]
    columns = choose_columns(frame, Choice(id="id"))
    X = columns.frame(columns.matrix(frame))
    model = ClAM(3, n_init=2, random_state=0, n_jobs=1).fit(X)
    path = tmp_path_factory.mktemp("model") / "model.amc"
    extra = {"columns": columns.to_json(), "source": {"table": "table.csv", "rows": len(frame)}}
    save_model(model, path, extra=extra)
    return path.read_bytes()


@pytest.fixture
def model(folder, model_bytes):
    path = folder / "model.amc"
    path.write_bytes(model_bytes)
    return path
