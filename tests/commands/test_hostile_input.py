"""What can go wrong: a clear line, the right exit code, and nothing left behind."""

import os
import signal
import subprocess
import sys
import threading

import pandas as pd
import pytest
from clear_groups import FAST, rows

import amclust as package
from amclust.cli import main
from amclust.cli.tables import TableWriter
from amclust.io import container
from amclust.io.model import MODEL

LINES = [f"{a:.3f},{b:.3f}" for a, b in rows(20)[0]]


def lines_with(line):
    return "a,b\n" + "\n".join([*LINES[:4], line, *LINES[4:]]) + "\n"


def failed(done, *words):
    assert done.code == 1, done
    assert done.out == ""
    last = done.err.splitlines()[-1]
    assert last.startswith("amclust: error: ")
    for word in words:
        assert word in last
    return last


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["empty"]),
        ("a,b\n", ["no rows"]),
        ("a,b\n1,2\n", ["-k 2: the ", " has only 1 distinct row"]),
        ("# of 2024\na,b\n" + "\n".join(LINES), ["2 cells", "#", "remove them"]),
        (lines_with("# more"), ["1 cell", "#", "remove them"]),
        ("a,b\n" + "%\n".join(LINES) + "%\n", ["'b'", "strip the %"]),
        (lines_with("1,2,3"), ["3 cells", "2 columns"]),
        (lines_with("1"), ["1 cell", "2 columns"]),
        ("a,a\n" + "\n".join(LINES), ["repeated", "'a'"]),
        (lines_with("inf,2"), ["'a'", "inf", "row 5"]),
        (lines_with("1e300,2"), ["'a'", "1e+300"]),
        (lines_with("x,2"), ["'a'", "'x'", "row 5"]),
        (lines_with("2024-02-03,2"), ["'a'", "row 5"]),
        ("a;b\n" + "\n".join(LINES).replace(",", ";").replace(".", ","), ["--decimal comma"]),
        ("\n".join(LINES), ["--no-header"]),
        ("a,b\n" + '"1,2\n', ["quote", "never closed"]),
    ],
)
@pytest.mark.parametrize("stream", [(), ("--stream", "--chunk-rows", "3")])
def test_bad_tables(amclust, folder, content, words, stream):
    (folder / "t.csv").write_text(content)
    done = amclust("fit", "t.csv", "-k", 2, *(stream or FAST), "-o", "m.amc", "--labels", "l.csv")
    failed(done, *words)
    assert os.listdir() == ["t.csv"]


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("\ufeffa,b\n" + "\n".join(LINES), ()),
        ("a;b\r\n" + "\r\n".join(LINES).replace(",", ";"), ()),
        ("a|b\n" + "\n".join(LINES).replace(",", "|"), ("--delimiter", "|")),
        ("a;b\n" + "\n".join(LINES).replace(",", ";").replace(".", ","), ("--decimal", "comma")),
        ("\n".join(LINES), ("--no-header",)),
        ("a,b,c\n" + "\n".join(f"{line},7" for line in LINES), ()),
        ("a,b,c\n" + "\n".join(f"{line},{n % 2 == 0}" for n, line in enumerate(LINES)), ()),
    ],
)
def test_odd_tables_that_are_fine(amclust, folder, content, options):
    (folder / "t.csv").write_text(content, encoding="utf-8", newline="")
    done = amclust("fit", "t.csv", "-k", 2, *options, *FAST)
    assert done == (0, "", "")


def test_columns_of_dates_are_listed_with_what_to_do(amclust, folder):
    table = "a,b,c,d\n" + "\n".join(f"{line},2020-01-02,12:30" for line in LINES)
    (folder / "t.csv").write_text(table)
    failed(amclust("fit", "t.csv", "-k", 2), "'c'", "'d'", "dates", "--drop")


def test_latin_1_is_read_with_a_warning(amclust, folder):
    (folder / "t.csv").write_bytes(("größe,b\n" + "\n".join(LINES)).encode("latin-1"))
    done = amclust("fit", "t.csv", "-k", 2, *FAST, "--json")
    assert done.json()["features"] == ["größe", "b"]
    (line,) = done.err.splitlines()
    assert line.startswith("amclust: warning: ")
    assert "--encoding" in line


def test_an_empty_name_of_a_row(amclust, folder):
    lines = [f"{n},{line}" for n, line in enumerate(LINES)]
    lines[7] = "," + LINES[7]
    (folder / "t.csv").write_text("id,a,b\n" + "\n".join(lines))
    for stream in ((), ("--stream", "--chunk-rows", 3)):
        done = amclust("fit", "t.csv", "-k", 2, "--id", "id", *(stream or FAST))
        failed(done, "'id'", "row 8")


# --- files that are not there, are in the way, or cannot be written -----------------------------


def test_missing_files_and_folders(amclust, table, model):
    failed(amclust("fit", "none.csv", "-k", 2), "none.csv")
    failed(amclust("fit", ".", "-k", 2), "folder")
    failed(amclust("predict", "none.amc", table), "none.amc")
    failed(amclust("predict", ".", table), "folder")
    failed(amclust("info", "none.amc"), "none.amc")
    failed(amclust("predict", model, table, "-o", "nowhere/l.csv"), "nowhere")
    failed(amclust("predict", model, table, "-o", "."), "folder")
    failed(amclust("predict", model, table, "-o", "/dev/stdout"), "--output - for standard output")


def test_an_existing_output_stays_unless_forced(amclust, table, model):
    outputs = {
        "f.amc": ("fit", table, "-k", 3, "--use", "width,height", *FAST, "-o", "f.amc"),
        "l.csv": ("fit", table, "-k", 3, "--use", "width,height", *FAST, "--labels", "l.csv"),
        "p.csv": ("predict", model, table, "-o", "p.csv"),
        "c.csv": ("complete", model, table, "-o", "c.csv"),
        "r.html": ("report", table, "--model", model, "-o", "r.html"),
        "pl.html": ("playground", "--no-browser", "-o", "pl.html"),
        "b.amc": ("search", table, "-k", 3, "--use", "width", "-q", "-o", "b.amc"),
    }
    for name, command in outputs.items():
        (table.parent / name).write_text("mine")
        failed(amclust(*command), name, "--force")
        assert (table.parent / name).read_text() == "mine"
    for name in ("f.amc", "l.csv", "p.csv", "c.csv"):
        assert amclust(*outputs[name], "--force").code == 0
        assert (table.parent / name).read_text(errors="replace") != "mine"


def test_a_table_may_be_filled_in_its_place(amclust, table, model):
    for stream in ((), ("--stream", "--chunk-rows", 5)):
        done = amclust("complete", model, table, "-o", table, "--force", *stream)
        assert done.code == 0, done.err
    assert ",," not in table.read_text()


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_an_output_never_replaces_what_is_read(amclust, table, model, force):
    learn = (table, "-k", 3, "--use", "width,height", *FAST)
    commands = (
        ("fit", *learn, "-o", "./table.csv"),
        ("fit", *learn, "--labels", table),
        ("report", *learn, "-o", table),
        ("report", table, "--model", model, "-o", model),
        ("predict", model, table, "-o", table),
        ("predict", model, table, "--append", "-o", "as_table.csv"),
        ("search", table, "-k", 3, "-o", table),
        ("search", table, "-k", 3, "--results", table),
        ("search", table, "-k", 3, "--checkpoint", table),
    )
    (table.parent / "as_table.csv").symlink_to(model)
    before = table.read_bytes(), model.read_bytes()
    for command in commands:
        failed(amclust(*command, *force), "that is read, name another file")
        assert (table.read_bytes(), model.read_bytes()) == before


def test_a_table_may_be_extended_in_its_place(amclust, table, model):
    assert amclust("predict", model, table, "--append", "-o", table, "--force").code == 0
    assert table.read_text().startswith("id,width,height,note,label\n")


def test_two_outputs_in_one_file(amclust, table):
    failed(amclust("fit", table, "-k", 2, "-o", "x.csv", "--labels", "./x.csv"), "same file")


def test_a_name_that_tells_no_format_is_refused_before_the_fit(amclust, table, monkeypatch):
    monkeypatch.setattr(package.ClAM, "fit", None)
    failed(amclust("fit", table, "-k", 2, "--use", "width", "--labels", "l.what"), "l.what")
    failed(amclust("search", table, "-k", 2, "--results", "r"), "'r'")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_the_model_is_kept_when_the_labels_cannot_be(amclust, table, folder):
    (folder / "full.csv").symlink_to("/dev/full")
    options = ("-k", 2, "--use", "width,height", *FAST, "--force")
    failed(amclust("fit", table, *options, "-o", "m.amc", "--labels", "full.csv"), "no space left")
    assert amclust("info", "m.amc").code == 0


def test_a_bad_row_late_in_a_stream_leaves_no_output(amclust, table, model):
    table.write_text(table.read_text() + "999,oops,1,late\n")
    done = amclust("predict", model, table, "--stream", "--chunk-rows", 10, "-o", "l.csv")
    failed(done, "'width'", "'oops'", "row 41")
    assert sorted(os.listdir()) == ["model.amc", "table.csv"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk(amclust, table, model, folder, monkeypatch):
    (folder / "full.csv").symlink_to("/dev/full")
    failed(amclust("predict", model, table, "-o", "full.csv", "--force"), "no space left")
    (folder / "full.amc").symlink_to("/dev/full")
    options = ("-k", 2, "--use", "width,height", *FAST)
    failed(amclust("fit", table, *options, "-o", "full.amc", "--force"), "no space left")
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        code = main(["predict", str(model), str(table)])
    assert code == 1


def test_a_reader_that_goes_away(table, model, monkeypatch, capsys):
    """As in amclust predict ... | head."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        code = main(["predict", str(model), str(table)])
        monkeypatch.undo()
    assert code == 141
    assert capsys.readouterr().err == ""


# --- models -------------------------------------------------------------------------------------


def test_a_damaged_model(amclust, table, model):
    content = bytearray(model.read_bytes())
    content[len(content) // 2] ^= 1
    model.write_bytes(content)
    for command in (("predict", model, table), ("info", model), ("complete", model, table)):
        failed(amclust(*command), "damaged")
    failed(amclust("report", table, "--model", model, "-o", "r.html"), "damaged")
    failed(amclust("predict", table, table), "not a model file")


def test_a_table_before_its_model(amclust, table, model):
    for command in ("predict", "complete"):
        done = amclust(command, table, model)
        assert done.code == 2
        assert "the model comes first, then the table" in done.err


def test_more_clusters_than_rows(amclust, table):
    for command in ("fit", "search", "complete"):
        done = amclust(command, table, "-k", 41, "--use", "width,height", "-q")
        failed(done, "-k 41: the table has only 40 distinct rows")


def test_a_model_of_the_future(amclust, table, model, monkeypatch):
    header, arrays = container.read(model, MODEL, "")
    with monkeypatch.context() as future:
        future.setattr(container, "FORMAT_VERSION", 7)
        future.setattr(container, "__version__", "9.1")
        container.write(model, MODEL, {"parameters": header["parameters"]}, arrays)
    failed(amclust("predict", model, table), "newer amclust (9.1)", "pip install --upgrade")


def test_columns_that_do_not_match(amclust, table, model):
    frame = pd.read_csv(table)
    frame.rename(columns={"width": "Width"}).to_csv("t.csv", index=False)
    failed(amclust("predict", model, "t.csv"), "'width'", "did you mean 'Width'")
    frame.assign(width="wide").to_csv("u.csv", index=False)
    failed(amclust("predict", model, "u.csv"), "'width'", "'wide'")


def test_names_that_talk_to_the_terminal_are_shown_as_text(amclust, folder):
    evil = "\x1b]0;owned\x07name"
    frame = pd.DataFrame(rows(20)[0], columns=[evil, "b"])
    package.ClAM(2, n_init=1, random_state=0).fit(frame).save("m.amc")
    out = amclust("info", "m.amc").out
    assert "\\x1b]0;owned\\x07name" in out
    assert "\x1b" not in out
    frame.drop(columns=evil).to_csv("t.csv", index=False)
    assert "\x1b" not in amclust("predict", "m.amc", "t.csv").err


# --- interrupts and mistakes --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "terminated"),
        (getattr(signal, "SIGHUP", signal.SIGTERM), 129, "terminal closed"),
    ],
)
def test_an_interrupt_leaves_nothing(amclust, table, number, code, word):
    """While a long fit goes on; the signal comes as it does from a terminal."""
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("what runs under nohup goes on when its terminal is closed")
    timer = threading.Timer(0.3, os.kill, (os.getpid(), number))
    timer.daemon = True
    before = sorted(os.listdir())
    timer.start()
    done = amclust(
        *("fit", table, "-k", 3, "--use", "width,height", "--epochs", 10**8, "--threads", 1),
        *("--set", "early_stopping=false", "-o", "m.amc", "--labels", "l.csv", "-q"),
    )
    timer.cancel()
    assert done.code == code
    assert done.err == f"amclust: {word}\n"
    assert sorted(os.listdir()) == before
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_termination_while_writing_leaves_no_part(amclust, table, model, monkeypatch):
    write = TableWriter.write

    def terminated(self, frame):
        write(self, frame)
        os.kill(os.getpid(), signal.SIGTERM)

    before = sorted(os.listdir())
    monkeypatch.setattr(TableWriter, "write", terminated)
    assert amclust("predict", model, table, "-o", "l.csv").code == 143
    assert sorted(os.listdir()) == before


def test_a_thread_may_run_a_command(model, capsys):
    codes = []
    thread = threading.Thread(target=lambda: codes.append(main(["info", str(model)])))
    thread.start()
    thread.join(timeout=20)
    assert codes == [0]


def test_a_kill_while_writing_leaves_the_old_file(table, model):
    """Killed after half of the output, in a process of its own."""
    out = table.parent / "l.csv"
    out.write_text("old")
    code = (
        "import os, signal, sys\n"
        "from amclust.cli.tables import TableWriter\n"
        "write = TableWriter.write\n"
        "def die(self, frame):\n"
        "    write(self, frame)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "TableWriter.write = die\n"
        "from amclust.cli import main\n"
        f"main(['predict', {str(model)!r}, {str(table)!r}, '-o', {str(out)!r}, '--force'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert out.read_text() == "old"


def test_streams_that_are_closed(model, monkeypatch):
    """As a service may start a program."""
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    codes = [main(["info", str(model)]), main(["fit", "-", "-k", "2"]), main(["info", "none.amc"])]
    for name in ("stdin", "stdout", "stderr"):
        getattr(sys, name).close()
    monkeypatch.undo()
    assert codes == [0, 1, 1]


def test_a_mistake_of_ours_is_no_traceback_either(amclust, table, model, monkeypatch):
    monkeypatch.setattr(package.ClAM, "predict", lambda self, X: {}["oops"])
    failed(amclust("predict", model, table), "KeyError", "report it")
    monkeypatch.setenv("AMCLUST_TRACEBACK", "1")
    with pytest.raises(KeyError):
        main(["predict", str(model), str(table)])


def test_without_pandas_the_extra_is_named(amclust, table, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("amclust.cli.tables")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pandas", None)
    failed(amclust("fit", table, "-k", 2), 'pip install "amclust[table]"')


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "t.csv"], "-k"),
        (["fit", "-k", "3"], "table"),
        (["fit", "t.csv", "-k", "0"], "'0'"),
        (["fit", "t.csv", "-k", "5:2"], "'5:2'"),
        (["fit", "t.csv", "-k", "2,x"], "'2,x'"),
        (["fit", "t.csv", "-k", "3", "-o", "-"], "to a file"),
        (["fit", "t.csv", "-k", "3", "--beta", "0"], "--beta"),
        (["fit", "t.csv", "-k", "3", "--weights", "1,-1"], "--weights"),
        (["fit", "t.csv", "-k", "3", "--scale", "maybe"], "--scale"),
        (["fit", "t.csv", "-k", "3", "--set", "dream=1"], "'dream'"),
        (["fit", "t.csv", "-k", "3", "--set", "n_steps"], "NAME=VALUE"),
        (["fit", "t.csv", "-k", "3", "--set", "n_steps=many"], "n_steps"),
        (["fit", "t.csv", "-k", "3", "--chunk-rows", "0"], "--chunk-rows"),
        (["fit", "t.csv", "-k", "3", "--stream", "--chunk-rows", "2"], "as many rows"),
        (["fit", "t.csv", "-k", "3", "--decimal", "x"], "point or comma"),
        *(
            (["predict", "m.amc", "t.csv", "--encoding", name], "an encoding that Python knows")
            for name in ("klingon", "rot13", "hex", "")
        ),
        *((["info", "m.amc", "--threads", threads], "--threads") for threads in ("0", "-1", "x")),
        (["fit", "t.csv", "-k", "3", "--set", "n_clusters=5"], "n_clusters has an option"),
        (["fit", "t.csv", "-k", "3", "--set", "n_jobs=5"], "--threads"),
        (["fit", "t.csv", "-k", "3", "--chunk-rows", "9"], "--chunk-rows: counts only with"),
        (["fit", "t.csv", "-k", "3", "--passes", "1"], "--passes: counts only with --stream"),
        (["fit", "t.csv", "-k", "3", "--stream", "--restarts", "5"], "only without --stream"),
        (["fit", "t.csv", "-k", "3", "--stream", "--epochs", "5"], "only without --stream"),
        (["predict", "m.amc", "t.csv", "--chunk-rows", "9"], "counts only with --stream"),
        (["complete", "m.amc", "t.csv", "--chunk-rows", "9"], "counts only with --stream"),
        (["search", "t.csv", "-k", "auto"], "-k"),
        (["search", "t.csv", "-k", "3", "--memories", "20"], "compares round clusters"),
        (["predict", "m.amc"], "table"),
        (["report", "t.csv"], "--model"),
    ],
)
def test_wrong_arguments(amclust, arguments, words):
    done = amclust(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert words in done.err
    assert done.err.startswith("usage: amclust ")
    assert f"amclust {arguments[0]}: error: " in done.err


def test_options_that_do_not_go_with_the_format(amclust, table):
    pd.read_csv(table).to_parquet("t.parquet")
    pd.read_csv(table).to_excel("t.xlsx", index=False)
    for name, *option in (
        (table.name, "--sheet", "2"),
        ("t.parquet", "--sheet", "2"),
        ("t.parquet", "--delimiter", ";"),
        ("t.parquet", "--encoding", "latin-1"),
        ("t.xlsx", "--delimiter", ";"),
    ):
        done = amclust("fit", name, "-k", 3, *option)
        assert done.code == 2
        assert f"error: {' '.join(option)}: '{name}' is " in done.err
