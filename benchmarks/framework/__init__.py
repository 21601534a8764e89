"""What every benchmark is made of: cases, runs, a store of their records, and a page.

A benchmark lists its `Case` s, says how one is performed, and writes tables of the records:

>>> import tempfile
>>> from pathlib import Path
>>> from typing import NamedTuple
>>> class Key(NamedTuple):
...     set: str
...     seed: int
>>> cases = [Case(Key("iris", seed), {"restarts": 10}) for seed in range(2)]
>>> with tempfile.TemporaryDirectory() as folder:
...     store = Store(Path(folder) / "example.jsonl", Key)
...     failures = complete(cases, lambda case, unfinished: {"score": 1 + case.key.seed}, store)
...     [record.results["score"] for record in store.all()]
2 cases, 0 of them in example.jsonl
    1/2  iris 0  0.0 s
    2/2  iris 1  0.0 s
[1, 2]

``complete`` runs only what the store has not, or has with another definition or of other data; a
killed process loses nothing that was done. `Benchmark` makes a command of all that.
"""

from benchmarks.framework.cases import (
    Case,
    Key,
    Record,
    pack_array,
    pack_labels,
    plain,
    short_hash,
    unpack_array,
    unpack_labels,
)
from benchmarks.framework.command import (
    Benchmark,
    RefusedError,
    add_run_options,
    count,
    guarded,
    make_parser,
)
from benchmarks.framework.environment import (
    QUIET_LOAD,
    UnavailableError,
    describe_environment,
    load_average,
    optional_module,
)
from benchmarks.framework.lines import (
    Entry,
    Line,
    Skipped,
    Target,
    Timed,
    interleave,
    median_ratio,
    print_entries,
    seconds_of,
    timed,
)
from benchmarks.framework.pages import (
    Grid,
    amount,
    describe_error,
    mean_and_deviation,
    number,
    replace_between,
    say,
    signed,
    warn_once,
    write_text,
)
from benchmarks.framework.running import Failure, Unfinished, complete, execute
from benchmarks.framework.store import Store

__all__ = ["Case", "Failure", "Key", "Record", "Store", "Unfinished", "complete", "execute"]
__all__ += ["Benchmark", "RefusedError", "add_run_options", "count", "guarded", "make_parser"]
__all__ += ["QUIET_LOAD", "UnavailableError", "describe_environment", "load_average"]
__all__ += ["Entry", "Line", "Skipped", "Target", "Timed", "interleave", "optional_module"]
__all__ += ["Grid", "amount", "median_ratio", "number", "print_entries", "seconds_of", "timed"]
__all__ += ["describe_error", "mean_and_deviation", "replace_between", "say", "signed"]
__all__ += ["pack_array", "pack_labels", "plain", "short_hash", "warn_once", "write_text"]
__all__ += ["unpack_array", "unpack_labels"]
