"""``amclust demo``: a first look, and a first table."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amclust.cli.commands import console, files, options
from amclust.cli.commands.console import count, say

if TYPE_CHECKING:
    from numpy.typing import NDArray

PICTURE = "digits_memories.png"
SUMMARY = "cluster scikit-learn's digits, beside k-means; or write a table to try"
USAGE = "[options]"
EXAMPLES = """
amclust demo --restarts 2 -o memories.svg
amclust demo --write-table wine.csv
"""


def add_options(parser: options.Parser) -> None:
    """Add what the command takes."""
    options.add_number(parser, "--restarts", "restarts of each", 10)
    words = "random seed (default: 0)"
    parser.add_argument("--seed", metavar="N", type=options.seed, default=0, help=words)
    words = f"picture of the memories, replaced if it exists (default: {PICTURE})"
    parser.add_argument("-o", "--output", metavar="FILE", default=PICTURE, help=words)
    words = "write the table of wines here, and do nothing else"
    parser.add_argument("--write-table", metavar="FILE", help=words)
    words = "replace a file that --write-table names"
    parser.add_argument("--force", action="store_true", help=words)
    options.add_json(
        parser,
        "command, rows, features, restarts, results (method, silhouette, nmi, ari, seconds), "
        "picture; or command, table, rows, columns",
    )


def run(parser: options.Parser, arguments: argparse.Namespace) -> None:
    """Cluster scikit-learn's digits with ClAM and with k-means, and draw the memories.

    Both have the same number of restarts, and it is printed how they compare. Or write a small
    table to try the other commands with: wines, with their names, cultivars (text) and some missing
    cells.
    """
    if arguments.write_table is not None:
        _write_table(arguments)
    else:
        _show(arguments)


def _write_table(arguments: argparse.Namespace) -> None:
    files.check_outputs(arguments, "write_table", tables=("write_table",))
    from amclust.cli.tables import write_table

    frame = wines()
    write_table(frame, arguments.write_table, overwrite=arguments.force)
    if arguments.json:
        columns = list(frame.columns)
        console.say_json(arguments, table=arguments.write_table, rows=len(frame), columns=columns)
    elif arguments.write_table != "-":
        say(f"{arguments.write_table}: {len(frame)} wines, {len(frame.columns)} columns")
        say(f"next: amclust fit {arguments.write_table} -k 3 --id wine --drop cultivar")


def wines() -> Any:
    """Return scikit-learn's wines as people keep tables: with names, text and missing cells."""
    import numpy as np
    from sklearn.datasets import load_wine

    # In any order: chunks of a table that is sorted by what is to be found would mislead.
    frame = load_wine(as_frame=True).frame.sample(frac=1.0, random_state=0, ignore_index=True)
    cultivar = frame.pop("target")
    frame = frame.rename(columns={"od280/od315_of_diluted_wines": "od280_od315"})
    hidden = np.random.default_rng(0).random(frame.shape) < 0.02
    frame = frame.mask(hidden)
    frame.insert(0, "wine", [f"wine-{number:03}" for number in range(1, len(frame) + 1)])
    frame["cultivar"] = cultivar.map(dict(enumerate(("barolo", "grignolino", "barbera"))))
    return frame


def _show(arguments: argparse.Namespace) -> None:
    import numpy as np

    output = Path(arguments.output)
    if not output.parent.is_dir():
        msg = f"--output {output}: there is no folder {output.parent}"
        raise FileNotFoundError(msg)
    if find_spec("matplotlib") is None:
        msg = 'drawing the memories needs matplotlib: pip install "amclust[plot]"'
        raise ModuleNotFoundError(msg, name="matplotlib")
    from sklearn.datasets import load_digits

    from amclust._estimator import ClAM
    from amclust.cli.commands.bench import compare, say_outcomes

    X, y = load_digits(return_X_y=True)
    k, restarts = len(np.unique(y)), arguments.restarts
    seed, threads = arguments.seed, arguments.threads
    # All columns are pixels: they share their units, and so need no scaling.
    model = ClAM(n_clusters=k, scale=None, n_init=restarts, random_state=seed, n_jobs=threads)
    if not arguments.json:
        say(f"scikit-learn's digits: {X.shape[0]} rows, {X.shape[1]} features, {k} clusters")
        say(f"{count(restarts, 'restart')} each, the best silhouette is kept\n")
    outcomes = compare(model, X, X, y)
    if not arguments.json:
        say_outcomes(outcomes)
    digits = np.array([np.bincount(y[model.labels_ == m], minlength=1).argmax() for m in range(k)])
    order = np.argsort(digits)
    titles = [f"mostly {digit}" for digit in digits[order]]
    draw_memories(model.cluster_centers_[order], titles, (8, 8), output)
    if arguments.json:
        rows, features = X.shape
        results = [asdict(outcome) for outcome in outcomes]
        found = {"rows": rows, "features": features, "results": results, "picture": str(output)}
        console.say_json(arguments, "restarts", **found)
    else:
        say(f"\nthe memories, by the digit that most of their rows show: {output}")


def draw_memories(
    memories: NDArray[Any], titles: list[str], shape: tuple[int, int], path: Path
) -> None:
    """Draw memories as images; the file appears whole or not at all."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from amclust.io.files import atomic_write
    from amclust.plotting import MemoriesDisplay

    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    ink = {"cmap": "gray_r", "vmin": 0, "vmax": max(16.0, memories.max())}
    MemoriesDisplay(memories=memories, image_shape=shape, titles=titles).plot(
        figure.add_subplot(), colorbar=False, **ink
    )
    with atomic_write(path, overwrite=True) as file:
        figure.savefig(file, dpi=150, format=(path.suffix or ".png")[1:])
