"""``amclust search``: find the best model under a budget."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from amclust.cli.commands import console, files, options
from amclust.cli.commands.console import count, say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SUMMARY = "find the best configuration, and number of clusters, under a budget"
USAGE = "table -k K [options]"
EXAMPLES = """
amclust demo --write-table wine.csv
amclust search wine.csv -k 2:4 --id wine --drop cultivar --budget 3000 -o best.amc
amclust search wine.csv -k 3 --use alcohol,ash,hue --budget 2000 --results runs.csv
amclust predict best.amc wine.csv
"""
# What a table of configurations does not repeat: numbers of runs, and what is the same in all rows.
MEASURES = ("run", "config", "seed", "rung", "epochs", "loss", "converged", "chosen", "beta")

# A configuration with what its best run found, by the names of the results.
Configuration = Mapping[str, Any]


def add_options(parser: options.Parser) -> None:
    """Add what the command takes."""
    options.add_clusters(parser, auto=False)
    options.add_output(parser, "write the best model here (best.amc, say)")
    words = "most run-epochs to train; a fit with 10 restarts of 200 epochs takes 2,000"
    options.add_number(parser, "--budget", words, 20_000)
    words = "what to try: variations of the default, or the grid of the paper"
    parser.add_argument("--space", choices=["default", "paper"], default="default", help=words)
    words = "keep the search here; if it exists, the search goes on from there"
    parser.add_argument("--checkpoint", metavar="FILE", help=words)
    words = "write all runs here, as a table; - is standard output"
    parser.add_argument("--results", metavar="FILE", help=words)
    options.add_number(parser, "--top", "configurations to show", 5)
    options.add_words(
        parser,
        "command, table, rows, features, n_clusters, n_memories, n_features, sizes, silhouette, "
        "loss, beta, epochs, restarts, best_parameters, budget_used, configurations, "
        "best (the top ones), model, results",
    )
    options.add_table(parser)
    group = parser.add_argument_group("model")
    options.add_distances(group)
    # Not an option, but those who look for it are told.
    group.add_argument("--memories", type=options.memories, help=argparse.SUPPRESS)
    options.add_number(group, "--restarts", "seeds of each configuration", 10)
    options.add_number(group, "--epochs", "most epochs of a run", 200)
    options.add_seed(group)


def run(parser: options.Parser, arguments: argparse.Namespace) -> None:
    """Train many configurations for a few epochs, go on with the best of them, and so on.

    This successive halving goes on until the budget is used. Runs with empty clusters never win
    over one without.
    """
    from amclust._estimator import ClAM
    from amclust._search import ClAMSearch

    if arguments.memories is not None:
        parser.error(
            "argument --memories: a search compares round clusters, of one memory each; amclust "
            "fit makes them of several"
        )
    if arguments.output == "-":
        parser.error("argument -o/--output: a model goes to a file, not to standard output")
    if arguments.json and arguments.results == "-":
        parser.error("--json and --results - would both go to standard output")
    outputs = ("output", "results", "checkpoint")
    files.check_outputs(arguments, *outputs, tables=("results",), continued="checkpoint")
    matrix = files.matrix_of(arguments)
    scale = None if arguments.scale == options.NONE else arguments.scale
    search = ClAMSearch(
        arguments.clusters,
        space=arguments.space,
        budget=arguments.budget,
        estimator=ClAM(
            metric=arguments.metric, scale=scale, feature_weights=arguments.feature_weights
        ),
        n_init=arguments.restarts,
        max_epochs=arguments.epochs,
        min_epochs=min(10, arguments.epochs),
        checkpoint=arguments.checkpoint,
        n_jobs=arguments.threads,
        random_state=arguments.seed,
        verbose=0 if arguments.quiet else 1,
    )
    try:
        files.learn(search.fit, matrix.frame)
    except KeyboardInterrupt:
        if not arguments.checkpoint:
            console.note("with --checkpoint FILE the same command could have gone on from here")
        elif os.path.exists(arguments.checkpoint):
            console.note(f"the same command goes on from {arguments.checkpoint}")
        else:
            console.note(f"nothing was kept yet in {arguments.checkpoint}")
        raise
    model = search.best_estimator_
    if arguments.output:
        files.save(model, arguments, matrix.columns, len(matrix))
    if arguments.results:
        _write_results(search, arguments)
    best = best_configurations(search.results_dict_, arguments.top)
    sizes = console.cluster_sizes(model.labels_, model.n_clusters_)
    if arguments.json:
        console.say_json(
            arguments,
            *("table", "results"),
            rows=len(matrix),
            features=matrix.columns.names,
            **console.describe(model, sizes),
            best_parameters=search.best_params_,
            budget_used=search.budget_used_,
            configurations=search.n_configs_,
            best=best,
            model=arguments.output,
        )
    elif not arguments.quiet and arguments.results != "-":
        _say(arguments, search, best, sizes)


def best_configurations(results: Mapping[str, NDArray[Any]], top: int) -> list[Configuration]:
    """Return the configurations by their best run; those with empty clusters come last."""
    import numpy as np

    has_empty = results["living_clusters"] < results["n_clusters"]
    order = np.lexsort((-np.nan_to_num(results["silhouette"], nan=-np.inf), has_empty))
    seen: set[tuple[int, int]] = set()
    best: list[Configuration] = []
    names = [name for name in results if name not in MEASURES]
    for row in order:
        key = (results["config"][row], results["n_clusters"][row])
        if key not in seen and len(best) < top:
            seen.add(key)
            best.append({name: results[name][row] for name in names})
    return best


def _write_results(search: Any, arguments: argparse.Namespace) -> None:
    from amclust.cli.tables import write_table

    table = search.results_
    mixed = table.select_dtypes(include="object").columns
    table[mixed] = table[mixed].astype(str)  # None, words and numbers in one column
    write_table(table, arguments.results, overwrite=arguments.force)


def _say(
    arguments: argparse.Namespace, search: Any, best: list[Configuration], sizes: NDArray[np.int64]
) -> None:
    say(
        f"{count(search.n_configs_, 'configuration')} tried, {search.budget_used_:,} of "
        f"{arguments.budget:,} run-epochs used\n"
    )
    last = ("silhouette", "living_clusters", "largest_share")
    names = [name for name in best[0] if name not in last]
    words = {"n_clusters": "k", "living_clusters": "living", "largest_share": "largest"}
    rows = [
        [str(place + 1), *(_cell(config[name]) for name in (*names, *last))]
        for place, config in enumerate(best)
    ]
    console.say_table(["", *(words.get(name, name) for name in (*names, *last))], rows)
    say("\nthe best:")
    console.say_sizes(sizes, len(search.best_estimator_.labels_))
    if arguments.output or arguments.results:
        say()
    if arguments.results:
        say(f"{arguments.results}: all runs")
    if arguments.output:
        say(f"{arguments.output}: the best model, for amclust predict, complete, report and info")


def _cell(value: Any) -> str:
    import numpy as np

    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "-"
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
