"""Where the numbers come from: code, packages, machine, and what is not on this one."""

from __future__ import annotations

import importlib
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import amclust
from benchmarks.folders import REPOSITORY

PACKAGES = ("amclust", "numpy", "scipy", "scikit-learn", "faiss-cpu", "kmedoids", "torch")

# A load average above this before a run means that others use the machine.
QUIET_LOAD = 0.5


class UnavailableError(RuntimeError):
    """A peer or a data set that a benchmark needs is not on this machine."""


def optional_module(name: str, package: str) -> Any:
    """Import a peer, or raise an UnavailableError that says which package brings it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        message = f"{name} is not installed (pip install {package}): {error}"
        raise UnavailableError(message) from error


def describe_environment(**more: Any) -> dict[str, Any]:
    """Say which code runs, with which packages, and where.

    ``source`` names the content of ``src`` whatever the commit, so that it tells whether the
    library is the same. `more` is added, for instance the number of threads.
    """
    return {
        "commit": _git("rev-parse", "--short", "HEAD")
        + _dirty("src", "benchmarks/*.py", "paper/*.py"),
        "source": _git("rev-parse", "--short", "HEAD:src") + _dirty("src"),
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in PACKAGES},
        "processor": _processor(),
        "cores": _usable_cores(),
        "instruction_set": amclust.show_config()["instruction_set"],
        "system": f"{platform.system()} {platform.machine()}",
        **more,
    }


def load_average() -> float | None:
    """Say how busy the machine was over the last minute, where the system tells."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def _processor() -> str:
    """Read the model name that Linux gives, or what the platform says elsewhere."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def _dirty(*paths: str) -> str:
    return "+changes" if _git("status", "--porcelain", "--", *paths) else ""
