"""Every example in every help runs as it stands, in order, in an empty folder."""

import os
import re
import runpy
import shlex

import pytest

from amclust.cli import COMMANDS, build_parser, tables
from amclust.cli.commands import options
from amclust.cli.tables.schema import MISSING

NAMES = [command.__name__.rpartition(".")[2] for command in COMMANDS]


@pytest.mark.parametrize("command", NAMES)
def test_every_command_takes_a_number_of_threads(amclust, command):
    assert "--threads N" in help_of(amclust, command)


def help_of(amclust, *command):
    done = amclust(*command, "--help")
    assert done.code == 0
    assert done.err == ""
    return done.out


def examples_of(text):
    block = re.search(r"^examples.*?:\n(.*?)\n\n", text, flags=re.MULTILINE | re.DOTALL)
    return [line.strip() for line in block.group(1).splitlines()]


def run_example(amclust, line):
    """Run a line as a shell does; pipes and redirections as far as examples have them."""
    words = shlex.split(line)
    stdin, target = b"", None
    if words[0] == "cat":
        assert words[2] == "|"
        with open(words[1], "rb") as file:
            stdin = file.read()
        words = words[3:]
    if ">" in words:
        target = words[words.index(">") + 1]
        words = words[: words.index(">")]
    assert words[0] == "amclust"
    done = amclust(*words[1:], stdin=stdin)
    assert done.code == 0, (line, done.err)
    assert done.out != "" or "-o" in words
    if target:
        with open(target, "w") as file:
            file.write(done.out)
    return done


@pytest.mark.parametrize("name", ["", *NAMES])
def test_every_example_runs(amclust, folder, name):
    command = [name] if name else []
    examples = examples_of(help_of(amclust, *command))
    assert examples
    for line in examples:
        done = run_example(amclust, line)
        assert "warning" not in done.err, line
        assert ("--json" in line) == done.out.startswith("{"), line
    outputs = r"(?:-o|--output|>|--labels|--results|--checkpoint|--write-table) (\S+)"
    for written in re.findall(outputs, "\n".join(examples)):
        assert os.path.getsize(written) > 0


@pytest.mark.parametrize("name", NAMES)
def test_help_is_short_of_nothing(amclust, name):
    text = help_of(amclust, name)
    assert text.startswith(f"usage: amclust {name} ")
    assert "exit codes:" in text
    assert "--json" in text
    assert max(map(len, text.splitlines())) <= 100


def test_formats_and_missing_cells_are_those_of_tables():
    assert options.FORMATS == tables.FORMATS
    shown = {"", *options.MISSING}
    assert shown < set(MISSING)
    assert all(
        "#IND" in mark or "#QNAN" in mark or mark == "#N/A N/A" for mark in (set(MISSING) - shown)
    )


def test_all_commands_are_listed(amclust):
    text = help_of(amclust)
    for name in NAMES:
        assert re.search(rf"^    {name}\b", text, flags=re.MULTILINE)


def test_python_m_amclust(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["amclust", "--version"])
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("amclust", run_name="__main__")
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("amclust ")


def test_no_option_is_understood_by_its_beginning():
    """Else a new option could change what an old command line means."""
    with pytest.raises(SystemExit):
        build_parser().parse_args(["fit", "t.csv", "-k", "3", "--obj", "auto"])
