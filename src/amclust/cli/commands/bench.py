"""``amclust bench``: ClAM beside k-means on a table."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from amclust._metrics import SCALES
from amclust.cli.commands import console, files, options
from amclust.cli.commands.console import count, say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from amclust._estimator import ClAM

SUMMARY = "compare with k-means, on a table or on scikit-learn's sets"
USAGE = "[table -k K] [options]"
EXAMPLES = """
amclust bench --restarts 2 --repeats 1
amclust demo --write-table wine.csv
amclust bench wine.csv -k 3 --id wine --label cultivar
"""


# Sets that come with scikit-learn, and how their columns are scaled: pixels share their units.
BUNDLED = {"iris": "standard", "wine": "standard", "breast_cancer": "standard", "digits": "none"}
# Silhouettes take the square of it.
MAX_ROWS_SCORED = 10_000

# How the methods did on one table, by the keys that --json has.
Result = dict[str, Any]


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
    options.add_memories(group)
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
        console.say_json(arguments, "restarts", "repeats", results=results)


def _bundled(arguments: argparse.Namespace) -> list[Result]:
    import numpy as np
    from sklearn import datasets

    results = []
    for name, scale in BUNDLED.items():
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        k = arguments.clusters or len(np.unique(y))
        results.append(_compare(arguments, name, X, y, k, arguments.scale or scale))
    return results


def _table(arguments: argparse.Namespace) -> Result:
    import numpy as np

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

    model = ClAM(
        n_clusters,
        n_memories=arguments.memories,
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
    return {
        "table": name,
        "rows": X.shape[0],
        "features": X.shape[1],
        "n_clusters": n_clusters,
        "methods": [asdict(outcome) for outcome in outcomes],
        "ratio": ratio,
    }


def scaled_rows(X: NDArray[Any], scale: str | None) -> NDArray[np.float64]:
    """Return rows as ClAM scales them, their missing values filled with the columns' means."""
    import numpy as np

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


# --- ClAM beside k-means: the same restarts, the same rule of choice, the same scaling ------------


@dataclass(frozen=True)
class Outcome:
    """How one method did."""

    method: str
    silhouette: float
    nmi: float | None
    ari: float | None
    seconds: float


def best_k_means(X: NDArray[Any], n_clusters: Any, restarts: int, seed: Any) -> NDArray[np.int32]:
    """Return the labels of the restart with the best silhouette: the rule that ClAM uses too."""
    from amclust._k_means import k_means_restarts

    labelings = [run.labels_ for run in k_means_restarts(X, n_clusters, restarts, seed)]
    best: NDArray[np.int32] = max(labelings, key=lambda labels: silhouette_of(X, labels))
    return best


def silhouette_of(X: NDArray[Any], labels: NDArray[Any]) -> float:
    """Return the silhouette, on a fixed sample of many rows; -1 for a single cluster."""
    import numpy as np
    from sklearn.metrics import silhouette_score

    if len(X) > MAX_ROWS_SCORED:
        rows = np.random.default_rng(0).choice(len(X), MAX_ROWS_SCORED, replace=False)
        X, labels = X[rows], labels[rows]
    if not 1 < len(np.unique(labels)) < len(X):
        return -1.0
    return float(silhouette_score(X, labels))


def compare(
    model: ClAM, X: Any, scaled: NDArray[Any], truth: NDArray[Any] | None, repeats: int = 1
) -> list[Outcome]:
    """Run k-means and ClAM in turns, so that a busy machine is busy for both; score their labels.

    ClAM gets `X`; k-means gets the rows as ClAM scales them, and both are scored on these.
    """
    import numpy as np
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    methods: dict[str, Callable[[], NDArray[Any]]] = {
        "k-means": lambda: best_k_means(scaled, model.n_clusters, model.n_init, model.random_state),
        "ClAM": lambda: model.fit(X).labels_,
    }
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    labels: dict[str, NDArray[Any]] = {}
    for _ in range(repeats):
        for name, labels_of in methods.items():
            start = time.perf_counter()
            labels[name] = labels_of()
            seconds[name].append(time.perf_counter() - start)
    return [
        Outcome(
            name,
            silhouette_of(scaled, labels[name]),
            None if truth is None else float(normalized_mutual_info_score(truth, labels[name])),
            None if truth is None else float(adjusted_rand_score(truth, labels[name])),
            float(np.median(seconds[name])),
        )
        for name in methods
    ]


def say_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Print how the methods did, as a table."""
    scored = outcomes[0].nmi is not None
    header = ["method", "silhouette", *(["NMI", "ARI"] if scored else []), "seconds"]
    rows = [
        [
            o.method,
            f"{o.silhouette:.4f}",
            *([f"{o.nmi:.3f}", f"{o.ari:.3f}"] if scored else []),
            f"{o.seconds:.2f}" if o.seconds >= 1 else f"{o.seconds:.3f}",
        ]
        for o in outcomes
    ]
    console.say_table(header, rows)
