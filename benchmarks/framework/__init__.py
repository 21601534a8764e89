"""What every benchmark is made of: cases, runs, a store of their records, and a page.

A benchmark lists its `Case` s, says how one is performed, and writes tables of the records:

>>> import tempfile
>>> from pathlib import Path
>>> from typing import NamedTuple
>>> from benchmarks.framework.cases import Case
>>> from benchmarks.framework.running import complete
>>> from benchmarks.framework.store import Store
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
killed process loses nothing that was done. `command.Benchmark` makes a command of all that.
"""
