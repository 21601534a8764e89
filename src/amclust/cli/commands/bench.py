"""``amclust bench``: ClAM beside k-means on a table."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from amclust._parameters import SCALES
from amclust.cli.commands import console, files, options
from amclust.cli.commands.console import count, say

if TYPE_CHECKING:
    from amclust.cli.commands.comparison import Outcome

SUMMARY = "compare with k-means, on a table or on scikit-learn's sets"
USAGE = "[table -k K] [options]"
EXAMPLES = """
amclust bench --restarts 2 --repeats 1
amclust demo --write-table wine.csv
amclust bench wine.csv -k 3 --id wine --label cultivar
"""


def add_options(parser: options.Parser) -> None:
    """Add what the command takes."""
    options.add_table(parser, nargs="?")
    words = "number of clusters (default for scikit-learn's sets: their number of classes)"
    parser.add_argument("-k", "--clusters", metavar="K", type=options.positive, help=words)
    words = "the column with the true classes, for NMI and ARI"
    parser.add_argument("--label", metavar="NAME", help=words)
    options.add_number(parser, "--repeats", "times to run each, for the median", 3)
    group = parser.add_argument_group("model")
    words = "what columns are divided by (default: standard; for digits, nothing)"
    group.add_argument("--scale", choices=[*SCALES, options.NONE], help=words)
    options.add_number(group, "--restarts", "of both", 10)
    options.add_seed(group)
    options.add_words(
        parser,
        "command, restarts, repeats, results: for each table its name, rows, features, n_clusters, "
        "methods (method, silhouette, nmi, ari, seconds) and ratio, of ClAM's seconds to k-means'",
    )


def run(parser: options.Parser, arguments: argparse.Namespace) -> None:
    """Compare ClAM with k-means: as many restarts, the best silhouette kept, the same scaling.

    They are timed in turns, and medians are shown. k-means takes no missing cells: it gets the
    means of their columns, and both are scored on the table so filled.
    """
    if arguments.table is None:
        results = _bundled(arguments)
    else:
        if arguments.clusters is None:
            parser.error("a table needs -k, the number of clusters")
        results = [_table(arguments)]
    if arguments.json:
        console.say_json(
            command="bench",
            restarts=arguments.restarts,
            repeats=arguments.repeats,
            results=[asdict(result) for result in results],
        )


@dataclass(frozen=True)
class Result:
    """How the methods did on one table; the names of these fields are part of the interface."""

    table: str
    rows: int
    features: int
    n_clusters: int
    methods: list[Outcome]
    ratio: float


def _bundled(arguments: argparse.Namespace) -> list[Result]:
    from amclust.cli.commands.comparison import BUNDLED

    results = []
    for name, (load, scale) in BUNDLED.items():
        X, y = load(return_X_y=True)
        k = arguments.clusters or len(np.unique(y))
        chosen = arguments.scale or scale or options.NONE
        results.append(_compare(arguments, name, X, y, k, chosen))
    return results


def _table(arguments: argparse.Namespace) -> Result:
    from amclust.cli.tables import TableError, read_matrix

    label, truth = arguments.label, None
    with files.opened(arguments) as table:
        if label is not None:
            if label not in table.names:
                msg = f"--label: there is no column {label!r}"
                raise TableError(msg, column=label)
            batches = table.batches(columns=[label])
            truth = np.array([str(cell) for batch in batches for cell in batch[label].to_pylist()])
            arguments.drop = [*(arguments.drop or []), label]
        X = read_matrix(table, files.choice_of(arguments, table.names)).values
    scale = arguments.scale or "standard"
    return _compare(arguments, arguments.table, X, truth, arguments.clusters, scale)


def _compare(
    arguments: argparse.Namespace,
    name: str,
    X: NDArray[Any],
    truth: NDArray[Any] | None,
    n_clusters: int,
    scale: str,
) -> Result:
    from amclust._estimator import ClAM
    from amclust.cli.commands.comparison import compare, say_outcomes

    model = ClAM(
        n_clusters,
        scale=None if scale == options.NONE else scale,
        n_init=arguments.restarts,
        random_state=arguments.seed,
        n_jobs=arguments.threads,
    )
    outcomes = compare(model, X, scaled_rows(X, model.scale), truth, arguments.repeats)
    ratio = outcomes[1].seconds / outcomes[0].seconds
    if not (arguments.json or arguments.quiet):
        restarts = count(arguments.restarts, "restart")
        shape = f"{count(X.shape[0], 'row')}, {count(X.shape[1], 'feature')}"
        say(f"{name}: {shape}, {count(n_clusters, 'cluster')}, {restarts} each")
        say_outcomes(outcomes)
        say(f"ClAM took {ratio:.2f} times as long as k-means\n")
    return Result(name, X.shape[0], X.shape[1], n_clusters, outcomes, ratio)


def scaled_rows(X: NDArray[Any], scale: str | None) -> NDArray[np.float64]:
    """Return rows as ClAM scales them, their missing values filled with the columns' means."""
    from amclust._geometry import Geometry
    from amclust._rows import TableRows

    rows = TableRows(X)
    geometry = Geometry.fit(
        rows,
        rows.statistics(None, None, 1),
        metric="euclidean",
        scale=scale,
        mask_value="mean",
        indices=None,
        weights=None,
        threads=1,
    )
    centred = np.asarray((X - geometry.center) * geometry.column_scale, dtype=np.float64)
    return np.nan_to_num(centred, nan=0.0)
