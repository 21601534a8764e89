"""What the machine may have against a command, and what the command says then: one line each."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.framework.environment import UnavailableError

AMCLUST = [sys.executable, "-m", "amclust"]
FIT = ["fit", "t.csv", "-k", "3", "--restarts", "2", "--quiet"]
# Patches the clocks of Python before the command begins: each look is a second earlier.
BACKWARDS = """
import itertools, sys, time
looks = itertools.count()
for name in ("time", "monotonic", "perf_counter"):
    began = getattr(time, name)()
    setattr(time, name, lambda began=began: began - next(looks))
from amclust.cli import main
sys.exit(main(sys.argv[1:]))
"""


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def _amclust(arguments: Sequence[str], *, program: Sequence[str] = AMCLUST, **options: Any) -> Done:
    environment = dict(os.environ) | options.pop("env", {})
    done = subprocess.run(
        [*program, *arguments],
        capture_output="stdout" not in options,
        stderr=subprocess.PIPE if "stdout" in options else None,
        env=environment,
        check=False,
        **options,
    )
    return Done(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())


def _table(path: Path, rows: int = 3000) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4)) + 5 * rng.integers(0, 3, size=(rows, 1))
    np.savetxt(path, X, fmt="%.4f", delimiter=",", header="a,b,c,d", comments="")


@contextlib.contextmanager
def _mounted(*options: str) -> Iterator[Path]:
    """Mount a small disk of memory, which root can do."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "none", folder]
        if (
            shutil.which("mount") is None
            or subprocess.run(command, capture_output=True, check=False).returncode
        ):
            msg = "nothing can be mounted here"
            raise UnavailableError(msg)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def _refused(done: Done, *words: str) -> dict[str, Any]:
    """Tell whether a command said in one line what was wrong."""
    lines = done.err.strip().splitlines()
    kept = (
        done.code == 1
        and len(lines) == 1
        and lines[0].startswith("amclust: error: ")
        and "a mistake in amclust" not in done.err
        and all(word in done.err for word in words)
    )
    return {"kept": kept, "said": lines[-1] if lines else "", "code": done.code}


def _worked(done: Done, same: bool) -> dict[str, Any]:
    said = done.err.strip() or "nothing: it works as ever"
    return {"kept": done.code == 0 and same, "said": said, "code": done.code}


def full_disk() -> dict[str, Any]:
    """A model file, on a disk that is full."""
    with _mounted("size=16k") as disk:
        found = _refused(_amclust([*FIT, "-o", str(disk / "m.amc")]), "no space")
        left = [one.name for one in disk.iterdir()]
    return found | {"kept": found["kept"] and not left}


def full_disk_of_labels() -> dict[str, Any]:
    """A table of labels, on a disk that becomes full while it is written."""
    _amclust([*FIT, "-o", "m.amc"])
    with _mounted("size=16k") as disk:
        asked = ["predict", "m.amc", "t.csv", "--proba", "-o", str(disk / "l.csv")]
        found = _refused(_amclust(asked), "no space")
        left = [one.name for one in disk.iterdir()]
    return found | {"kept": found["kept"] and not left}


def full_output() -> dict[str, Any]:
    """Standard output that is a full device."""
    _amclust([*FIT, "-o", "m.amc"])
    with open("/dev/full", "wb") as full:
        return _refused(_amclust(["predict", "m.amc", "t.csv"], stdout=full), "no space")


def read_only() -> dict[str, Any]:
    """A folder on a disk that is read-only."""
    with _mounted("size=1m") as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        return _refused(_amclust([*FIT, "-o", str(disk / "m.amc")]), "cannot be written to")


def read_only_checkpoint() -> dict[str, Any]:
    """A search whose checkpoint is on such a disk."""
    with _mounted("size=1m") as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        asked = ["search", "t.csv", "-k", "3", "--budget", "100", "--quiet"]
        return _refused(
            _amclust([*asked, "--checkpoint", str(disk / "c.amc")]), "cannot be written to"
        )


def no_temporary_files() -> dict[str, Any]:
    """Standard input, which is copied to a temporary file, without space for that."""
    with _mounted("size=16k") as disk, open("t.csv", "rb") as table:
        arguments = ["fit", "-", *FIT[2:]]
        done = _amclust(arguments, stdin=table, env={"TMPDIR": str(disk)})
        found = _refused(done, "no space", "TMPDIR")
        left = [one.name for one in disk.iterdir()]
    return found | {"kept": found["kept"] and not left}


def no_temporary_folder() -> dict[str, Any]:
    """Standard input, where no folder for temporary files can be written to."""
    with _mounted("size=1m") as disk, open("t.csv", "rb") as table:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        program = [sys.executable, "-c", ONLY_THERE, str(disk)]
        return _refused(_amclust(["fit", "-", *FIT[2:]], stdin=table, program=program), "TMPDIR")


# Leaves Python no other folder to look for.
ONLY_THERE = """
import sys, tempfile
folder = sys.argv.pop(1)
tempfile._candidate_tempdir_list = lambda: [folder]
from amclust.cli import main
sys.exit(main(sys.argv[1:]))
"""


def clock_backwards() -> dict[str, Any]:
    """Clocks that go backwards."""
    _amclust([*FIT, "-o", "m.amc"])
    program = [sys.executable, "-c", BACKWARDS]
    done = _amclust([*FIT, "-o", "again.amc"], program=program)
    same = done.code == 0 and Path("m.amc").read_bytes() == Path("again.amc").read_bytes()
    return _worked(done, same)


def decimal_commas() -> dict[str, Any]:
    """A locale whose decimals have commas; it is made here, and set for Python and C."""
    _amclust([*FIT, "-o", "m.amc"])
    _amclust(["predict", "m.amc", "t.csv", "--energy", "-o", "l.csv"])
    with tempfile.TemporaryDirectory() as folder:
        made = ["localedef", "-i", "de_DE", "-f", "UTF-8", f"{folder}/de_DE.UTF-8"]
        if (
            shutil.which("localedef") is None
            or subprocess.run(made, capture_output=True, check=False).returncode
        ):
            msg = "there is no localedef with de_DE here"
            raise UnavailableError(msg)
        env = {"LOCPATH": folder, "LC_ALL": "de_DE.UTF-8"}
        program = [sys.executable, "-c", IN_GERMAN]
        done = _amclust([*FIT, "-o", "again.amc"], program=program, env=env)
        asked = ["predict", "again.amc", "t.csv", "--energy", "-o", "again.csv"]
        second = _amclust(asked, program=program, env=env)
    same = second.code == 0 and all(
        Path(a).read_bytes() == Path(b).read_bytes()
        for a, b in (("m.amc", "again.amc"), ("l.csv", "again.csv"))
    )
    return _worked(done, same)


IN_GERMAN = """
import locale, sys
locale.setlocale(locale.LC_ALL, "")
assert locale.str(1.5) == "1,5"
from amclust.cli import main
sys.exit(main(sys.argv[1:]))
"""


def no_home() -> dict[str, Any]:
    """A home folder that does not exist."""
    _amclust([*FIT, "-o", "m.amc"])
    env = {"HOME": "/nowhere/at/all", "XDG_CACHE_HOME": "", "MPLCONFIGDIR": ""}
    done = _amclust([*FIT, "-o", "again.amc"], env=env)
    same = done.code == 0 and Path("m.amc").read_bytes() == Path("again.amc").read_bytes()
    page = _amclust(["report", "t.csv", "--model", "again.amc", "-q", "-o", "r.html"], env=env)
    return _worked(page if page.code else done, same and page.code == 0)


KINDS: dict[str, Callable[[], dict[str, Any]]] = {
    "disk full, a model": full_disk,
    "disk full, labels": full_disk_of_labels,
    "standard output full": full_output,
    "read-only folder": read_only,
    "read-only folder, a checkpoint": read_only_checkpoint,
    "no space for temporary files": no_temporary_files,
    "no folder for temporary files": no_temporary_folder,
    "clocks going backwards": clock_backwards,
    "locale with decimal commas": decimal_commas,
    "no home folder": no_home,
}


def measure(name: str) -> dict[str, Any]:
    """Meet one kind of trouble, in a folder that is empty else."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            _table(Path("t.csv"))
            found = KINDS[name]()
        finally:
            os.chdir(before)
    words = re.sub(rf"{re.escape(tempfile.gettempdir())}/tmp\w+", "FOLDER", found["said"])
    return found | {"said": words}
