"""Commands that are killed at random moments.

Each runs in a process of its own, forked from one that has imported everything and started no
thread, so that the moments fall into the work and not into imports.
"""

import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

ROWS = 1500
# The command, and the file that it makes.
COMMANDS = {
    "fit": ("fit t.csv -k 5 --restarts 4 -o new.amc", "new.amc"),
    "predict": ("predict m.amc t.csv --proba -o new.csv", "new.csv"),
    "complete": ("complete m.amc t.csv -o new.csv", "new.csv"),
    "search": (
        "search t.csv -k 3:5 --budget 600 --restarts 2 --epochs 40 --checkpoint c.amc -o new.amc",
        "new.amc",
    ),
    "report": ("report t.csv --model m.amc -o new.html", "new.html"),
}
COMMON = ["--quiet", "--threads", "2", "--force"]
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def measure(name: str, kills: int) -> dict[str, Any]:
    """Kill a command so often, in a process that has nothing else to do."""
    command = [sys.executable, "-m", "benchmarks.soak.kills", name, str(kills)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    pairs = (word.split("=") for word in done.stdout.split())
    return {key: float(value) if "." in value else int(value) for key, value in pairs}


def _table(path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 6)) + 4 * rng.integers(0, 4, size=(ROWS, 1))
    cells = np.char.mod("%.4f", X)
    cells[rng.random(X.shape) < 0.05] = ""
    lines = ["a,b,c,d,e,f", *(",".join(row) for row in cells)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _start(command: str) -> int:
    """Run a command in a child, quietly; return its id."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            from amclust.cli import main

            code = main([*command.split(), *COMMON])
    except KeyboardInterrupt:  # before the command has begun
        code = 130
    finally:
        os._exit(code)


def _wait(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _run(command: str) -> float:
    """Run a command to its end; return the seconds."""
    start = time.perf_counter()
    if code := _wait(_start(command)):
        msg = f"{command} ended with {code}"
        raise RuntimeError(msg)
    return time.perf_counter() - start


def _kill_often(name: str, kills: int) -> dict[str, Any]:
    command, output = COMMANDS[name]
    rng = np.random.default_rng(list(name.encode()))
    _table(Path("t.csv"))
    _run("fit t.csv -k 5 --restarts 2 -o m.amc")
    seconds = _run(command)
    good = _content(output)
    for path in ("c.amc", output):
        Path(path).unlink(missing_ok=True)
    found: Counter[str] = Counter(kills=kills)
    before = False  # whether the output was there when the command began
    for number in range(kills):
        child = _start(command)
        time.sleep(rng.random() * seconds)
        sent = SIGNALS[number % len(SIGNALS)]
        os.kill(child, sent)
        code = _wait(child)
        found["ended_before"] += code == 0
        # SIGKILL cannot be answered, SIGTERM not before the command has begun; else they end it
        # with an exit code of its own.
        allowed = (-signal.SIGKILL,) if sent == signal.SIGKILL else (130, 143, -signal.SIGTERM)
        found["other_ends"] += code != 0 and code not in allowed
        exists = Path(output).exists()
        found["lost"] += before and not exists
        found["damaged"] += exists and _content(output) != good
        before = exists
        parts = list(Path.cwd().glob(".*.part"))
        found["parts_of_sigterm"] += sent != signal.SIGKILL and bool(parts)
        for part in parts:
            part.unlink()
        if name == "search" and number % 5 == 4:  # it goes on where it was killed
            _run(command)
            found["resumed"] += 1
            found["resumed_differing"] += _content(output) != good
            for path in ("c.amc", output):
                Path(path).unlink(missing_ok=True)
            before = False
    names = ["kills", "ended_before", "other_ends", "lost", "damaged", "parts_of_sigterm"]
    names += ["resumed", "resumed_differing"] if name == "search" else []
    return {key: found[key] for key in names} | {"seconds_alone": seconds}


def _content(path: str) -> Any:
    """Return what a file says: of a model, what was learned; else its bytes."""
    if not path.endswith(".amc"):
        return Path(path).read_bytes()
    from amclust.io.model import load_model

    saved = load_model(path)
    model = saved.model
    arrays = model.cluster_centers_, model.labels_, model.runs_, model.network_.memories
    return [array.tobytes() for array in arrays]


def _child() -> None:
    from threadpoolctl import threadpool_limits

    import amclust.cli.tables
    import amclust.report  # noqa: F401 - imported once, for all children

    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        os.chdir(folder)
        found = _kill_often(sys.argv[1], int(sys.argv[2]))
        sys.stdout.write(" ".join(f"{key}={value}" for key, value in found.items()) + "\n")
        os.chdir("/")


if __name__ == "__main__":
    _child()
