"""What ends a command: Ctrl-C, a request to terminate, a terminal that is closed."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

# As shells report a program that a signal has ended.
SIGNALLED = 128
# Those after which there is something to clean up, and what is said then.
WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "terminal closed"}
# Where an interrupt was lost, another comes after so many seconds.
AGAIN = 0.02


class Stopped(KeyboardInterrupt):
    """One of the signals has arrived."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.word = WORDS[signal.Signals(number).name]
        self.exit_code = SIGNALLED + number


class Listener:
    """Raises `Stopped` when a signal arrives, and knows of it when somebody makes light of that."""

    def __init__(self) -> None:
        self.stopped: Stopped | None = None

    def hear(self, number: int, _: object) -> NoReturn:
        """Take a signal; only Ctrl-C may come again."""
        if number != signal.SIGINT:
            signal.signal(number, signal.SIG_IGN)
        self.stopped = Stopped(number)
        raise self.stopped

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Listen to the signals that nobody else takes care of."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        ours: dict[int, Any] = {}
        for name in WORDS:
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is None:
                continue
            before = signal.getsignal(number)
            if before in (signal.SIG_DFL, signal.default_int_handler):
                ours[number] = before
                signal.signal(number, self.hear)
        told = sys.unraisablehook
        sys.unraisablehook = lambda lost: self._hear_again(lost, told)
        try:
            yield
        finally:
            sys.unraisablehook = told
            for number, before in ours.items():
                signal.signal(number, before)

    def _hear_again(self, lost: Any, told: Any) -> None:
        """Repeat a signal that arrived in a callback of Python, which cannot be stopped."""
        if not isinstance(lost.exc_value, Stopped):
            told(lost)
            return
        number = lost.exc_value.exit_code - SIGNALLED
        signal.signal(number, self.hear)
        threading.Timer(AGAIN, os.kill, (os.getpid(), number)).start()
