"""Where the numbers come from: code, packages, machine, and what is not on this one."""

import importlib
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import amclust
from benchmarks.folders import REPOSITORY

PACKAGES = (
    *("amclust", "numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "faiss-cpu"),
    *("superkmeans", "kmedoids", "genieclust", "torch"),
)

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
    """Say which code runs, with which packages, and where; `more` is added.

    ``source`` names the content of ``src`` whatever the commit, so that it tells whether the
    library is the same.
    """
    affinity = hasattr(os, "sched_getaffinity")
    return {
        "commit": _git("rev-parse", "--short", "HEAD")
        + _dirty("src", "benchmarks/*.py", "paper/*.py"),
        "source": _git("rev-parse", "--short", "HEAD:src") + _dirty("src"),
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in PACKAGES},
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if affinity else os.cpu_count() or 1,
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
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    try:
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def _dirty(*paths: str) -> str:
    return "+changes" if _git("status", "--porcelain", "--", *paths) else ""
