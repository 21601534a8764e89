"""Where the numbers come from: processor, cores, instruction set, versions."""

from __future__ import annotations

import contextlib
import io
import os
import platform
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

import amclust

PACKAGES = (
    "amclust",
    "numpy",
    "scipy",
    "scikit-learn",
    "faiss-cpu",
    "kmedoids",
    "torch",
    "threadpoolctl",
)

# A load average above this before a run means that others use the machine.
QUIET_LOAD = 0.5


@dataclass(frozen=True)
class Machine:
    """The machine and the software of one run."""

    processor: str
    cores: int
    usable_cores: int
    load_average: float | None
    system: str
    python: str
    versions: dict[str, str]
    thread_pools: list[str]
    amclust_config: Any

    def as_json(self) -> dict[str, Any]:
        """Give the record as plain values."""
        return asdict(self)


def describe_machine() -> Machine:
    """Ask the running system and the installed packages."""
    return Machine(
        processor=_processor(),
        cores=os.cpu_count() or 1,
        usable_cores=_usable_cores(),
        load_average=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        versions={package: _version(package) for package in PACKAGES},
        thread_pools=[_thread_pool(pool) for pool in threadpool_info()],
        amclust_config=_amclust_config(),
    )


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


def _thread_pool(pool: dict[str, Any]) -> str:
    name = pool.get("internal_api") or pool.get("user_api")
    architecture = pool.get("architecture")
    detail = f" {pool.get('version')}" + (f" {architecture}" if architecture else "")
    return f"{name}{detail}, {pool.get('num_threads')} threads"


def _amclust_config() -> Any:
    """Whatever ``amclust.show_config()`` returns, else what it prints, else None."""
    show_config = getattr(amclust, "show_config", None)
    if show_config is None:
        return None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        config = show_config()
    if config is None:
        return printed.getvalue().strip()
    return config if isinstance(config, (dict, list, str)) else str(config)
