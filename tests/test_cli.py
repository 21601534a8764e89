"""The command line, as a shell sees it."""

import re
import subprocess
import sys

import pytest

import amclust
from amclust.cli import main

PNG = b"\x89PNG\r\n\x1a\n"


def run(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "amclust", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_demo_prints_a_table_and_draws_the_memories(tmp_path):
    done = run("demo", "--restarts", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert [path.name for path in tmp_path.iterdir()] == ["digits_memories.png"]
    assert (tmp_path / "digits_memories.png").read_bytes()[:8] == PNG
    lines = done.stdout.splitlines()
    (header,) = [n for n, line in enumerate(lines) if line.startswith("method")]
    assert lines[header].split() == ["method", "silhouette", "NMI", "ARI", "seconds"]
    for line, method in zip(lines[header + 1 :], ("k-means", "ClAM"), strict=False):
        name, *numbers = line.split()
        assert name == method
        silhouette, nmi, ari, seconds = map(float, numbers)
        assert 0.1 < silhouette < 0.3
        assert 0.5 < ari < nmi < 1
        assert seconds >= 0
    assert "2 restarts" in done.stdout
    assert "digits_memories.png" in lines[-1]


def test_demo_draws_where_told_to(empty, capsys):
    (empty / "pictures").mkdir()
    assert main(["demo", "--restarts", "1", "--seed", "3", "--output", "pictures/ten.svg"]) == 0
    assert "<svg" in (empty / "pictures" / "ten.svg").read_text()
    assert [path.name for path in empty.rglob("*")] == ["pictures", "ten.svg"]
    assert "pictures/ten.svg" in capsys.readouterr().out.replace("\\", "/")


def test_demo_replaces_an_old_picture(empty):
    picture = empty / "ten.png"
    picture.write_text("old")
    assert main(["demo", "--restarts", "1", "--output", str(picture)]) == 0
    assert picture.read_bytes()[:8] == PNG


def test_the_seed_decides_the_table(empty, capsys):
    def table(seed):
        assert main(["demo", "--restarts", "1", "--seed", seed]) == 0
        out = capsys.readouterr().out
        return re.findall(r"(?:k-means|ClAM) +(\S+ +\S+ +\S+)", out)

    assert table("1") == table("1") != table("2")


def test_no_such_folder(empty, capsys):
    assert main(["demo", "--output", "nowhere/ten.png"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""  # it is said before anything is computed
    assert captured.err.startswith("amclust: ")
    assert "nowhere" in captured.err
    assert "Traceback" not in captured.err
    assert list(empty.iterdir()) == []


def test_a_picture_that_cannot_be_drawn_leaves_nothing(empty, capsys):
    assert main(["demo", "--restarts", "1", "--output", "ten.nonsense"]) == 1
    assert "nonsense" in capsys.readouterr().err
    assert list(empty.iterdir()) == []


def test_an_interrupt_while_drawing_leaves_nothing(empty, capsys, monkeypatch):
    def interrupted(self, file, **more):
        file.write(PNG)
        file.flush()
        raise KeyboardInterrupt

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", interrupted)
    assert main(["demo", "--restarts", "1"]) == 130
    assert "interrupted" in capsys.readouterr().err
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "command"),
        (["dream"], "dream"),
        (["demo", "--restarts", "0"], "at least 1, got '0'"),
        (["demo", "--restarts", "-3"], "--restarts"),
        (["demo", "--restarts", "many"], "at least 1, got 'many'"),
        (["demo", "--seed", "-1"], "--seed"),
        (["demo", "--seed", "4294967296"], "0 to 4294967295"),
        (["demo", "--seed", "²"], "--seed"),
        (["demo", "--what"], "--what"),
    ],
)
def test_wrong_arguments(empty, capsys, arguments, words):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    assert list(empty.iterdir()) == []


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"amclust {amclust.__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"]])
def test_help(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert "usage: amclust" in out
    assert "demo" in out


def test_the_command_is_installed(tmp_path):
    from importlib.metadata import entry_points

    (command,) = entry_points(group="console_scripts", name="amclust")
    assert command.load() is main
    assert run("--version", cwd=tmp_path).stdout == f"amclust {amclust.__version__}\n"
