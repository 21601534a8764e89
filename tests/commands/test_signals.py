"""Signals that end a command, whatever it is doing."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from amclust.cli._signals import Listener, Stopped

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

STARTING = """
    import sys
    from amclust.cli import main
    print("up", flush=True)
    endless = ["--set", "early_stopping=false", "--epochs", "99999999"]
    sys.exit(main(["fit", sys.argv[1], "-k", "3", "--use", "width,height", *endless]))
"""


def test_ctrl_c_while_a_command_starts(table):
    """A line and 130, whatever it is importing."""
    moments = (0.0, 0.15, 0.5)
    code = textwrap.dedent(STARTING)
    starting = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(table)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in moments
    ]
    for moment, process in zip(moments, starting, strict=True):
        assert process.stdout.readline() == "up\n"
        time.sleep(moment)
        process.send_signal(signal.SIGINT)
    for process in starting:
        _, words = process.communicate(timeout=60)
        assert words.endswith("amclust: interrupted\n")
        assert "Traceback" not in words
        assert process.returncode == 130


class Deaf:
    """Python drops exceptions of its end."""

    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)


def test_an_interrupt_that_python_loses_comes_again():
    listener = Listener()

    def lose_one():
        with listener.listening():
            Deaf()
            time.sleep(20)

    with pytest.raises(Stopped):
        lose_one()
    assert listener.stopped.exit_code == 130


def test_what_an_import_makes_of_an_interrupt_is_one(amclust, table, monkeypatch):
    def importing(*_):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(20)
        except KeyboardInterrupt:
            msg = "Unable to import required dependencies"
            raise ImportError(msg) from None

    monkeypatch.setattr("amclust.cli.commands.options.model_of", importing)
    done = amclust("fit", table, "-k", 3, "--use", "width,height")
    assert (done.code, done.err) == (130, "amclust: interrupted\n")


def test_signals_that_others_take_care_of_are_left_to_them():
    heard = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: heard.set())
    try:
        with Listener().listening():
            os.kill(os.getpid(), signal.SIGTERM)
            assert heard.wait(20)
    finally:
        signal.signal(signal.SIGTERM, before)
