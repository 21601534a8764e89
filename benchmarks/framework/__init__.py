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

# ruff: noqa: F401
from benchmarks.framework.cases import Case, Key, Record
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
from benchmarks.framework.lines import Entry, Line, Skipped, Target, line_cells, print_entries
from benchmarks.framework.pages import (
    Grid,
    mean_and_deviation,
    number,
    replace_between,
    signed,
    write_text,
)
from benchmarks.framework.printing import amount, describe_error, say, warn_once
from benchmarks.framework.running import Failure, Unfinished, complete, execute
from benchmarks.framework.store import Store
from benchmarks.framework.timing import Timed, interleave, median_ratio, seconds_of, timed
from benchmarks.framework.values import (
    pack_array,
    pack_labels,
    plain,
    short_hash,
    unpack_array,
    unpack_labels,
)
