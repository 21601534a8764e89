"""A benchmark as a command: ``python -m benchmarks.NAME``, with the same options for all."""

import argparse
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, NoReturn

from benchmarks.folders import DATA, REPOSITORY, RESULTS
from benchmarks.framework.cases import Case, K, Record
from benchmarks.framework.environment import UnavailableError, describe_environment
from benchmarks.framework.pages import describe_error, say
from benchmarks.framework.running import Failure, complete, execute
from benchmarks.framework.store import Store

FAILED, REFUSED, INTERRUPTED, TERMINATED = 1, 2, 130, 143


class RefusedError(ValueError):
    """What is asked for cannot be, or would spoil what is there."""


class TerminatedError(KeyboardInterrupt):
    """SIGTERM came."""


@dataclass(frozen=True)
class Benchmark(Generic[K]):
    """What ``python -m benchmarks.NAME`` does: run what is missing, print, write the page.

    Records are in ``benchmarks/results/NAME.jsonl``, the page in ``docs/PAGE``; a quick run has
    records of its own, and no page. `key` is the NamedTuple that names a case. `cases` lists them
    from the options of the command line; `perform` is called with a case, its `Unfinished` and the
    options, and gives the results; `report` prints what is in the store, for the keys that were
    chosen; `write_page` writes the page from the store. `choices`, `seeds`, `jobs` and `quick` are
    those of `add_run_options`, `options` more of argparse's by their flags, `alone` and `tell`
    those of `complete`. With `same`, which says whether a record made again is as the one before,
    there is an option ``--check``. `program` is what follows ``python -m``, where that is not
    ``benchmarks.NAME``.
    """

    name: str
    page: str
    description: str
    key: Callable[..., K]
    cases: Callable[[argparse.Namespace], list[Case[K]]]
    perform: Callable[..., Mapping[str, Any]]
    report: Callable[[Store[K], set[K], argparse.Namespace], object]
    write_page: Callable[[Path, Store[K]], None]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    seeds: int | None = None
    jobs: bool = True
    quick: bool = False
    alone: Callable[[Case[K]], bool] = lambda case: False
    tell: Sequence[str] = ()
    same: Callable[[Record[K], Record[K]], bool] | None = None
    environment: Callable[[argparse.Namespace], dict[str, Any]] = lambda _: describe_environment()
    program: str = ""

    def main(self, arguments: Sequence[str] | None = None) -> int:
        return guarded(partial(self._work, self._parser().parse_args(arguments)))

    def _work(self, options: argparse.Namespace) -> int:
        folder = RESULTS / "quick" if options.quick else RESULTS
        output = options.output or folder / f"{self.name}.jsonl"
        committed = output == RESULTS / f"{self.name}.jsonl"
        page = options.page or (REPOSITORY / "docs" / self.page if committed else None)
        store, failures = Store(output, self.key), []
        if options.page_only and page is None:
            raise RefusedError("--page-only with another --output needs --page")
        if not options.page_only:
            cases = self.cases(options)
            work = partial(self.perform, options=options)
            if self.same is not None and options.check:
                again = [case for case in cases if store.find(case.key) and not self.alone(case)]
                say(f"{len(again)} of {len(cases)} cases are recorded")
                outcomes = execute(again, work, store.unfinished_path, jobs=options.jobs)
                return self._check(store, outcomes)
            failures = complete(
                cases,
                work,
                store,
                jobs=options.jobs,
                alone=self.alone,
                environment=self.environment(options),
                fresh=options.fresh,
                tell=self.tell,
            )
            self.report(store, {case.key for case in cases}, options)
            say(f"records in {output}")
        if page is not None:
            self.write_page(page, store)
            say(f"page in {page}")
        return FAILED if failures else 0

    def _check(self, store: Store[K], outcomes: Iterator[Record[K] | Failure[K]]) -> int:
        """Compare cases that were run once more with their records; write nothing."""
        assert self.same is not None
        differing = 0
        for outcome in outcomes:
            before = store.find(outcome.case.key)
            if isinstance(outcome, Failure):
                end = f"FAILED: {outcome.reason}"
            elif before is not None and self.same(outcome, before):
                end = "the same"
            else:
                end = "DIFFERS from the record"
            differing += end != "the same"
            say(f"{outcome.case}  {end}")
        say(f"{differing} of them differ")
        return int(differing > 0)

    def _parser(self) -> argparse.ArgumentParser:
        parser = make_parser(self.program or f"benchmarks.{self.name}", self.description)
        add_run_options(
            parser, choices=self.choices, seeds=self.seeds, jobs=self.jobs, quick=self.quick
        )
        for flag, more in self.options.items():
            parser.add_argument(flag, **more)
        if self.same is not None:
            what = "run recorded cases again and compare only"
            parser.add_argument("--check", action="store_true", help=what)
        where = f"records (default: benchmarks/results/{self.name}.jsonl)"
        parser.add_argument("--output", type=Path, metavar="FILE", help=where)
        where = f"(default: docs/{self.page}; none with another --output)"
        parser.add_argument("--page", type=Path, metavar="FILE", help=where)
        parser.add_argument("--page-only", action="store_true", help="write the page, run nothing")
        return parser


def guarded(work: Callable[[], int]) -> int:
    """Do what a command is for, and turn what may stop it into a line and an exit code.

    0: all is done. 1: data are missing, a case failed, or a file could not be written. 2: refused,
    nothing was done. 130, 143: interrupted, terminated; all that was done is kept.
    """
    try:
        with _terminable():
            return work()
    except RefusedError as error:
        say(f"ERROR: {error}")
        return REFUSED
    except UnavailableError as error:
        say(f"UNAVAILABLE: {error}")
        return FAILED
    except OSError as error:
        say(f"ERROR: {describe_error(error)}")
        return FAILED
    except KeyboardInterrupt as error:
        say("interrupted; what was done is kept, and the same command goes on (--fresh: anew)")
        return TERMINATED if isinstance(error, TerminatedError) else INTERRUPTED


def make_parser(name: str, description: str) -> argparse.ArgumentParser:
    """Start the parser of ``python -m`` `name`, with the folder of the data sets."""
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=description)
    where = "folder of the paper's tables (default: $AMCLUST_DATA, else %(default)s)"
    parser.add_argument("--data-dir", type=Path, default=DATA, help=where)
    return parser


def add_run_options(
    parser: argparse.ArgumentParser,
    *,
    choices: Mapping[str, Sequence[str]],
    seeds: int | None = None,
    jobs: bool = True,
    quick: bool = False,
) -> None:
    """Add what chooses the cases.

    `choices` are options that take some of these names, for instance ``{"sets": SETS}``; an option
    that is not given is None. `seeds` is how many there are by default, None: there is no such
    option. `jobs` and `quick` say whether cases may run beside each other, and whether there is a
    short run.
    """
    parser.set_defaults(jobs=1, quick=False)
    for option, allowed in choices.items():
        parser.add_argument(
            f"--{option}",
            nargs="+",
            choices=tuple(allowed),
            metavar=option.upper().removesuffix("S"),
            help=f"only these of: {', '.join(allowed)}",
        )
    if seeds is not None:
        what = f"a count, or start:stop (default: {seeds})"
        parser.add_argument("--seeds", type=_seeds, default=range(seeds), help=what)
    if jobs:
        what = "cases at a time, each in one thread (default: 1)"
        parser.add_argument("--jobs", type=count, default=1, help=what)
    if quick:
        parser.add_argument("--quick", action="store_true", help="small budgets: does it all work?")
    parser.add_argument("--fresh", action="store_true", help="run also what has a record")


def count(text: str) -> int:
    """Read an integer of at least 1 from the command line."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, {text!r} is not")
    return int(text)


def _seeds(text: str) -> range:
    """Read ``10`` as 0 ... 9, and ``3:5`` as 3, 4."""
    first, colon, last = text.partition(":")
    seeds = range(int(first), int(last)) if colon else range(int(first))
    if not seeds or seeds[0] < 0:
        message = f"expected a count or start:stop of seeds from 0 on, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return seeds


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end everything as Ctrl-C does, workers too."""

    def terminate(*_: object) -> NoReturn:
        raise TerminatedError

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
