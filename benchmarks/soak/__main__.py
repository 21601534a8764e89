"""``python -m benchmarks.soak``: test what is missing, print, write the page."""

from argparse import Namespace
from pathlib import Path
from typing import NamedTuple

from benchmarks.framework.cases import Record
from benchmarks.framework.command import Benchmark, count
from benchmarks.framework.environment import describe_environment
from benchmarks.framework.pages import Grid, amount, number, render, say, versions
from benchmarks.framework.store import Store
from benchmarks.soak.cases import PARTS, Key, cases, perform

MAX_GROWTH = 5.0  # MB


class Promise(NamedTuple):
    """A promise, what was found, and whether it was kept."""

    what: str
    promised: str
    found: str
    kept: bool


def promises(records: list[Record[Key]]) -> list[Promise]:
    """Tell of each promise whether it was kept, at the sizes that ran."""
    by_part = {part: [one for one in records if one.key.part == part] for part in PARTS}
    found = []
    for record in by_part["memory"]:
        for name in ("predictions", "fits"):
            growth = record.number(f"{name}_growth")
            done = int(record.number(name))
            found.append(
                Promise(
                    f"{done:,} {name} in one process: growth of resident memory",
                    f"at most {MAX_GROWTH:g} MB",
                    f"{number(growth, 2)} MB",
                    growth <= MAX_GROWTH,
                )
            )
    for record in by_part["threads"]:
        size, results = record.case.definition, record.results
        words = (
            f"{size['threads']} threads of one process, {amount(size['seconds'] / 60)} minutes: "
            f"{results['fits']:,} fits, {results['predictions']:,} predictions"
        )
        wrong = f"{results['differing']} other bits, {results['errors']} errors"
        kept = not results["differing"] and not results["errors"]
        found.append(Promise(words, "the same bits, no error", wrong, kept))
    for record in by_part["kills"]:
        results = record.results
        damaged = sum(results[name] for name in ("lost", "damaged", "parts_of_sigterm"))
        words = f"`amclust {record.key.name}`, killed {results['kills']:,} times"
        told = f"{damaged} damaged, lost or left, {results['other_ends']} other exit codes"
        told += f", {results['ended_before']} had ended before"
        wrong = damaged + results["other_ends"]
        promised = "no damaged file"
        if "resumed" in results:
            told += f"; {results['resumed_differing']} of {results['resumed']} resumed differ"
            wrong += results["resumed_differing"]
            promised += ", resumed to the same bits"
        found.append(Promise(words, promised, told, not wrong))
    names = {
        "tables": "hostile tables",
        "parameters": "hostile parameters",
        "models": "changed model files",
        "dialects": "text tables of any dialect",
    }
    for record in by_part["input"]:
        results = record.results
        words = f"{results['cases']:,} {names[record.key.name]}"
        told = ", ".join(f"{results.get(word, 0):,} {word}" for word in ("answered", "refused"))
        promised = "a right answer, or an error with a name"
        found.append(Promise(words, promised, f"{told}, {results['wrong']} wrong", True))
    return found


def promise_grid(records: list[Record[Key]]) -> Grid:
    rows = [[p.what, p.promised, p.found, "yes" if p.kept else "**no**"] for p in promises(records)]
    return Grid("promises", ["", "promised", "found", "kept"], rows, numbers=False)


def trouble_grid(records: list[Record[Key]]) -> Grid:
    rows = [
        [
            record.key.name,
            f"`{record.results['said']}`",
            str(record.results["code"]),
            "yes" if record.results["kept"] else "**no**",
        ]
        for record in records
        if record.key.part == "trouble"
    ]
    return Grid("trouble", ["", "what the command says", "exit code", "as promised"], rows, False)


def report(store: Store[Key], keys: set[Key], options: Namespace) -> None:
    records = [record for record in store.all() if record.key in keys]
    for grid in (promise_grid(records), trouble_grid(records)):
        if grid.rows:
            say(f"\n{grid.as_text()}")
    source = describe_environment()["source"]
    other = sum(record.environment["source"] != source for record in records)
    if other:
        say(f"{other} cases were run with other code in src/: --fresh repeats them")


def write_page(path: Path, store: Store[Key]) -> None:
    records = store.all()
    render(
        path,
        Path(__file__).with_name("page.md.jinja"),
        promises=promise_grid(records).as_markdown(),
        troubles=trouble_grid(records).as_markdown(),
        environments=store.environments().values(),
        versions=versions,
        max_growth=f"{MAX_GROWTH:g}",
    )


_PARTS = {"nargs": "+", "choices": PARTS, "default": PARTS, "metavar": "PART"}
_PARTS |= {"help": f"only these of: {', '.join(PARTS)}"}


def _size(default: int, words: str) -> dict[str, object]:
    return {
        "type": count,
        "default": default,
        "metavar": "N",
        "help": f"{words} (default: {default:,})",
    }


main = Benchmark(
    "soak",
    "soak.md",
    "Test what amclust promises: memory, threads, kills, hostile input, a machine in trouble.",
    Key,
    cases,
    perform,
    report,
    write_page,
    options={
        "--parts": _PARTS,
        "--predictions": _size(1_000_000, "predictions in one process"),
        "--fits": _size(1000, "fits in one process"),
        "--threads": _size(24, "threads that fit and predict"),
        "--seconds": _size(600, "for so long"),
        "--kills": _size(1000, "kills, over all commands"),
        "--cases": _size(10_000, "cases of each kind of hostile input"),
    },
    jobs=False,
).main

if __name__ == "__main__":
    raise SystemExit(main())
