"""The cases: one a promise, and for trouble one a kind of it."""

from argparse import Namespace
from typing import Any, NamedTuple

from benchmarks.framework.cases import Case
from benchmarks.framework.running import Unfinished
from benchmarks.soak import kills, memory, teams, trouble
from fuzz.running import TARGETS, run

PARTS = ("memory", "threads", "kills", "input", "trouble")


class Key(NamedTuple):
    """A promise."""

    part: str
    name: str


def cases(options: Namespace) -> list[Case[Key]]:
    size = {"predictions": options.predictions, "fits": options.fits}
    team = {"threads": options.threads, "seconds": options.seconds}
    found = [
        Case(Key("memory", "predictions and fits"), size),
        Case(Key("threads", "fits and predictions"), team),
        *(
            Case(Key("kills", name), {"kills": max(1, options.kills // len(kills.COMMANDS))})
            for name in kills.COMMANDS
        ),
        *(Case(Key("input", name), {"cases": options.cases}) for name in TARGETS),
        *(Case(Key("trouble", name)) for name in trouble.KINDS),
    ]
    return [case for case in found if case.key.part in options.parts]


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    part, chosen = case.key.part, case.definition
    if part == "memory":
        return memory.measure(**chosen)
    if part == "threads":
        return teams.measure(**chosen)
    if part == "kills":
        return kills.measure(case.key.name, **chosen)
    if part == "input":
        found = run(TARGETS[case.key.name], seed=0, cases=chosen["cases"])
        return {"cases": found.total(), "wrong": 0, **found}
    return trouble.measure(case.key.name)
