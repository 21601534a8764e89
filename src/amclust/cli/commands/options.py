"""Options that several commands share, and what their values may be."""

from __future__ import annotations

import argparse
import codecs
import contextlib
import json
import math
import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from amclust._metrics import NATIVE_METRICS, SCALES
from amclust._objectives import AUTO, OBJECTIVES

if TYPE_CHECKING:
    from amclust._estimator import ClAM

Parser = argparse.ArgumentParser

WIDTH = 79  # of a help text
# Of tables; those of `amclust.cli.tables`, which takes long to import.
FORMATS = ("csv", "tsv", "parquet", "arrow", "npy", "xlsx")
# Cells that count as missing in text, besides empty ones and those of old C libraries (1.#IND).
MISSING = (
    *("NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan"),
    *("NULL", "null", "None", "?", "-"),
)
# For commands that read a model file, which knows the names of its columns.
KNOWN_COLUMNS = (
    "\nA model file has its columns: only --id counts, unless it was made without names."
)
READING = f"""Found out from the file where not given; .txt is read as CSV, and JSON not at all.
Missing values are empty cells or one of
{textwrap.fill(" ".join(MISSING), WIDTH - 4)}"""
# Marks in numbers, by names that need no quotes in a shell.
MARKS = {"point": ".", "comma": ",", "space": " ", "apostrophe": "'", "underscore": "_"}
# Of --scale and --weights: what ClAM calls None.
NONE = "none"
# Rows of a chunk with --stream, and ClAM's restarts and epochs. They are no defaults of argparse:
# those who give one of these where it does not count are told.
CHUNK_ROWS, RESTARTS, EPOCHS = 16_384, 10, 200
# Features that are told of every cluster.
TOP = 5
# Parameters of ClAM that have an option of their own, which --set could contradict.
OWN_OPTIONS = {
    "n_clusters": "-k",
    "n_memories": "--memories",
    "objective": "--objective",
    "metric": "--metric",
    "scale": "--scale",
    "feature_weights": "--feature-weights",
    "contamination": "--contamination",
    "size_min": "--size-min",
    "size_max": "--size-max",
    "beta": "--beta",
    "weights": "--weights",
    "n_init": "--restarts",
    "max_epochs": "--epochs",
    "random_state": "--seed",
    "n_jobs": "--threads",
}


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Leaves examples as they are, and room for the names of options."""

    def __init__(self, prog: str, **more: Any) -> None:
        super().__init__(prog, **{"max_help_position": 25, "width": WIDTH, **more})

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """Write -o, --output FILE where argparse would write FILE twice."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


class Command(Protocol):
    """What a module of a command has; the docstring of `run` is the description in the help."""

    SUMMARY: str
    USAGE: str
    EXAMPLES: str  # lines that run in an empty folder, in order

    def add_options(self, parser: Parser) -> None:
        """Add the arguments and options to the parser of the command."""

    def run(self, parser: Parser, arguments: argparse.Namespace) -> None:
        """Run the command with its parsed arguments."""


def add_command(commands: Any, name: str, command: Command) -> None:
    """Add a command to argparse's commands."""
    parser: Parser = commands.add_parser(
        name,
        help=command.SUMMARY,
        usage=f"amclust {name} {command.USAGE}",
        description=textwrap.fill(" ".join((command.run.__doc__ or "").split()), WIDTH),
        epilog=epilog(command.EXAMPLES),
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    command.add_options(parser)
    add_number(parser, "--threads", "to compute with (default: all cores, unless limited)")
    parser.set_defaults(command=name, run=partial(command.run, parser))


def epilog(examples: str, more: str = "") -> str:
    """Return what stands below the options."""
    shown = "".join(f"\n  {line}" for line in examples.strip().splitlines())
    return (
        f"examples, which run in this order in an empty folder:{shown}\n\n{more}"
        "exit codes:\n"
        "  0 fine, 1 the work failed (a table, a model, the disk), 2 wrong arguments,\n"
        "  130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP"
    )


def add_table(parser: Parser, *, nargs: str | None = None, note: str = "") -> None:
    """Add the table to read, its columns and how to read it."""
    words = "CSV or TSV (also .gz), Parquet, Arrow, NumPy or Excel file; - is standard input"
    parser.add_argument("table", nargs=nargs, help=words)
    add_columns(parser, note)
    add_reading(parser)


def add_columns(parser: Parser, note: str = "") -> None:
    """Add the choice of columns."""
    group = parser.add_argument_group(
        "columns",
        "Names are separated by commas. Quote names with commas, as in '\"a,1\",c', or\n"
        f"give the option again; --use=-x for names that begin with a dash.{note}",
    )
    group.add_argument("--use", metavar="NAMES", action="append", help="only these columns")
    group.add_argument("--drop", metavar="NAMES", action="append", help="all but these columns")
    words = "leave out columns without any value, rather than refuse them"
    group.add_argument("--drop-empty", action="store_true", help=words)
    group.add_argument("--id", metavar="NAME", help="the column that names the rows")
    words = "these are numbers; cells that are none count as missing"
    group.add_argument("--numeric", metavar="NAMES", action="append", help=words)
    words = "these are categories, as text and truth values are anyway"
    group.add_argument("--categorical", metavar="NAMES", action="append", help=words)


def add_reading(parser: Parser) -> None:
    """Add how to read a table."""
    group = parser.add_argument_group("reading", READING)
    group.add_argument(
        "--format", metavar="NAME", choices=FORMATS, help=f"one of {', '.join(FORMATS)}"
    )
    group.add_argument("--delimiter", metavar="TEXT", help='between cells, ";" or "tab" say')
    words = "of a text file, latin-1 say"
    group.add_argument("--encoding", metavar="NAME", type=encoding, help=words)
    group.add_argument("--sheet", metavar="NAME", help="of an Excel file: its name or number")
    words = "in text files: point or comma (default: point)"
    group.add_argument("--decimal", metavar="MARK", type=decimal_mark, help=words)
    words = "between groups of three digits: comma, point, space, apostrophe"
    group.add_argument("--thousands", metavar="MARK", type=thousands_mark, help=words)
    group.add_argument(
        "--no-header", action="store_true", help="the first line is a row, not the columns' names"
    )


def add_number(group: Any, flag: str, words: str, default: int | None = None) -> None:
    """Add a whole number of at least 1; a `default` is told."""
    words = words if default is None else f"{words} (default: {default})"
    group.add_argument(flag, metavar="N", type=positive, default=default, help=words)


def add_top(parser: Parser) -> None:
    """Add how much is told of a cluster."""
    add_number(parser, "--top", "features told of every cluster", TOP)


def add_stream(parser: Parser, what: str) -> None:
    """Add reading in chunks."""
    parser.add_argument("--stream", action="store_true", help=what)
    add_number(parser, "--chunk-rows", f"rows of a chunk with --stream (default: {CHUNK_ROWS})")


def check_stream(parser: Parser, arguments: argparse.Namespace) -> None:
    """Refuse options that count only with --stream, or only without."""
    with_stream, without = ("chunk_rows", "passes"), ("restarts", "epochs")
    for name in without if arguments.stream else with_stream:
        if getattr(arguments, name, None) is not None:
            word = "without" if arguments.stream else "with"
            parser.error(f"argument --{name.replace('_', '-')}: counts only {word} --stream")
    for name in ("size_min", "size_max"):
        if arguments.stream and getattr(arguments, name, None) is not None:
            parser.error(
                f"argument --{name.replace('_', '-')}: needs all rows, of which --stream reads "
                "some at a time"
            )
    if arguments.stream and arguments.drop_empty:
        parser.error(
            "argument --drop-empty: needs all rows, of which --stream reads some at a time; name "
            "the columns with --drop"
        )
    arguments.chunk_rows = arguments.chunk_rows or CHUNK_ROWS


def add_clusters(parser: Parser, *, required: bool = True, auto: bool = True) -> None:
    """Add the number of clusters."""
    kind: Callable[[str], Any] = clusters_to_try
    words = "2:10 (2 to 10) or 2,3,5 tries several"
    if auto:
        kind, words = clusters, "auto, 2:10 (2 to 10) or 2,3,5 let the rows decide"
    words = f"number of clusters, say 7; {words}"
    parser.add_argument("-k", "--clusters", metavar="K", type=kind, required=required, help=words)


def add_model(parser: Parser) -> None:
    """Add the main parameters of ClAM."""
    summaries = (f"{known.name} ({known.summary})" for known in OBJECTIVES.values())
    objectives = ", ".join(summaries).replace("%", "%%")
    group = parser.add_argument_group("model")
    group.add_argument(
        "--objective",
        choices=[AUTO, *OBJECTIVES],
        default=AUTO,
        help=f"what training is for (default: {AUTO}): {objectives}",
    )
    add_distances(group)
    group.add_argument(
        "--beta", type=beta, default="auto", help="inverse temperature (default: auto)"
    )
    words = "of the memories: none, learn, or a number each, as 1,2,1 (default: none)"
    group.add_argument("--weights", type=weights, default=None, help=words)
    add_memories(group)
    add_contamination(group)
    add_number(group, "--size-min", "rows that every cluster has at least")
    add_number(group, "--size-max", "rows that every cluster has at most")
    add_number(group, "--restarts", f"default: {RESTARTS}")
    add_number(group, "--epochs", f"of a restart (default: {EPOCHS})")
    group.add_argument(
        "--set",
        metavar="NAME=VALUE",
        type=setting,
        action="append",
        default=[],
        help="any other parameter of amclust.ClAM, as --set n_steps=20",
    )
    add_seed(group)


def add_memories(group: Any) -> None:
    """Add of how many memories clusters are made."""
    words = "none: clusters are round; a number, as 100, or auto: they are made of several memories"
    group.add_argument("--memories", type=memories, default=None, help=f"{words} (default: none)")


def add_distances(group: Any) -> None:
    """Add what decides distances."""
    words = f"distance between rows (default: {NATIVE_METRICS[0]})"
    group.add_argument("--metric", choices=NATIVE_METRICS, default=NATIVE_METRICS[0], help=words)
    group.add_argument(
        "--scale",
        choices=[*SCALES, NONE],
        default=SCALES[0],
        help="what columns are divided by: standard deviation, quartile distance, nothing "
        "(default: %(default)s)",
    )
    words = "what columns weigh in distances, as alcohol=2,hue=0.5 (default: 1 each; 0: left out)"
    group.add_argument(
        "--feature-weights", metavar="NAME=W,...", type=feature_weights, default=None, help=words
    )


def add_contamination(group: Any) -> None:
    """Add which part of the rows belongs nowhere."""
    words = "part of the rows that belong nowhere, below 0.5: they are labelled -1 (default: none)"
    group.add_argument("--contamination", metavar="PART", type=float, default=None, help=words)


def add_seed(group: Any) -> None:
    """Add what decides draws."""
    group.add_argument(
        "--seed", metavar="N", type=seed, default=0, help="random seed (default: %(default)s)"
    )


def add_output(parser: Parser, what: str) -> None:
    """Add the main output and whether it may replace a file."""
    parser.add_argument("-o", "--output", metavar="FILE", help=what)
    parser.add_argument("--force", action="store_true", help="replace files that exist")


def add_words(parser: Parser, keys: str) -> None:
    """Add what is said: progress or not, words or JSON."""
    words = "no progress and no summary, only warnings and errors"
    parser.add_argument("-q", "--quiet", action="store_true", help=words)
    add_json(parser, keys)


def add_json(parser: Parser, keys: str) -> None:
    """Add JSON instead of words; its keys are part of the interface."""
    words = f"print one JSON object instead of words, with {keys}"
    parser.add_argument("--json", action="store_true", help=words)


def model_of(arguments: argparse.Namespace, parser: Parser) -> ClAM:
    """Return the ClAM that the options describe; exit with 2 where they are wrong."""
    from amclust._estimator import ClAM
    from amclust._parameters import PARAMETERS, check_parameters
    from amclust._size_limits import given_limits

    model = ClAM(
        arguments.clusters,
        n_memories=arguments.memories,
        objective=arguments.objective,
        metric=arguments.metric,
        scale=None if arguments.scale == NONE else arguments.scale,
        feature_weights=arguments.feature_weights,
        contamination=arguments.contamination,
        size_min=arguments.size_min,
        size_max=arguments.size_max,
        beta=arguments.beta,
        weights=arguments.weights,
        n_init=arguments.restarts or RESTARTS,
        max_epochs=arguments.epochs or EPOCHS,
        random_state=arguments.seed,
        n_jobs=arguments.threads,
        verbose=0 if arguments.quiet else 1,
    )
    for name, value in arguments.set:
        if name not in PARAMETERS:
            known = ", ".join(sorted(PARAMETERS))
            parser.error(f"argument --set: ClAM has no parameter {name!r}; it has {known}")
        if name in OWN_OPTIONS:
            parser.error(f"argument --set: {name} has an option of its own, {OWN_OPTIONS[name]}")
        model.set_params(**{name: value})
    try:
        check_parameters(model.get_params(deep=False))
        given_limits(model)
    except ValueError as error:
        parser.error(str(error))
    return model


# --- values -------------------------------------------------------------------------------------


def _refused(allowed: str, text: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"must be {allowed}, got {text!r}")


def seed(text: str) -> int:
    """Return a random seed."""
    if not text.isdecimal() or int(text) >= 2**32:
        raise _refused(f"a whole number from 0 to {2**32 - 1}", text)
    return int(text)


def feature_weights(text: str) -> dict[str, float]:
    """Return weights by column name."""
    weights = {}
    for part in text.split(","):
        name, mark, number = part.rpartition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            mark = ""
        if not mark or not name:
            raise _refused("weights by column name, as alcohol=2,hue=0.5", text)
    return weights


def memories(text: str) -> int | str | None:
    """Return the number of memories."""
    if text in (NONE, AUTO):
        return None if text == NONE else AUTO
    if not text.isdecimal() or int(text) < 1:
        raise _refused(f"{NONE}, {AUTO} or a whole number of at least 1", text)
    return int(text)


def positive(text: str) -> int:
    """Return a whole number of at least 1."""
    if not text.isdecimal() or not 1 <= int(text) < 2**31:
        raise _refused("a whole number of at least 1", text)
    return int(text)


def encoding(text: str) -> str:
    """Return the name of an encoding of text."""
    with contextlib.suppress(LookupError, ValueError):  # the latter for a zero byte
        codecs.lookup(text)
        # Some are known, but are none of text, or cannot go on after a byte that is none.
        codecs.getincrementaldecoder(text)("replace").decode(" ".encode(text), final=True)
        return text
    raise _refused("an encoding that Python knows, such as latin-1", text)


def thousands_mark(text: str, allowed: Mapping[str, str] = MARKS) -> str:
    """Return the mark between groups of three digits."""
    found = allowed.get(text, text)
    if found not in allowed.values():
        raise _refused(" or ".join(allowed), text)
    return found


def decimal_mark(text: str) -> str:
    """Return the decimal mark."""
    return thousands_mark(text, {"point": ".", "comma": ","})


def clusters(text: str) -> Any:
    """Return a number of clusters, "auto", or several numbers."""
    return "auto" if text == "auto" else clusters_to_try(text, auto='"auto", ')


def clusters_to_try(text: str, auto: str = "") -> Any:
    """Return a number of clusters, or several: 2:10 is 2 to 10, both included."""
    first, colon, last = text.partition(":")
    parts = [first, last] if colon else text.split(",")
    if all(part.isdecimal() and 1 <= int(part) < 2**31 for part in parts):
        numbers = [int(part) for part in parts]
        if not colon:
            return numbers[0] if len(numbers) == 1 else numbers
        if numbers[0] <= numbers[1]:
            return range(numbers[0], numbers[1] + 1)
    allowed = f"a whole number of at least 1, {auto}a range as 2:10 or a list as 2,3,5"
    raise _refused(allowed, text)


def beta(text: str) -> float | str:
    """Return an inverse temperature."""
    return "auto" if text == "auto" else _positive_number(text, 'a number above 0 or "auto"')


def weights(text: str) -> Any:
    """Return weights of the memories."""
    if text in (NONE, "learn"):
        return None if text == NONE else text
    words = '"none", "learn" or numbers above 0 with commas between'
    return [_positive_number(part, words) for part in text.split(",")]


def _positive_number(text: str, allowed: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < float(text) < math.inf:
            return float(text)
    raise _refused(allowed, text)


def setting(text: str) -> tuple[str, Any]:
    """Return the name and the value of a parameter."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise _refused("NAME=VALUE", text)
    with contextlib.suppress(ValueError):
        words = {"None": "null", "True": "true", "False": "false"}
        return name, json.loads(words.get(value, value))
    return name, value  # a word
