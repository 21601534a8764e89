"""The command line: fit the variants, store what they gave, write the table."""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks.availability import UnavailableError
from benchmarks.data import FloatArray, IntArray
from benchmarks.folders import DATA, REPOSITORY, RESULTS
from benchmarks.pages import replace_between
from benchmarks.printing import say
from benchmarks.quality.cells import Cell, run_cell, unpack_labels
from benchmarks.quality.grids import Grid, number, signed
from benchmarks.quality.results import Results, describe_environment
from benchmarks.quality.scoring import living_clusters, silhouettes, stability
from benchmarks.quality.sets import SETS, load_set
from benchmarks.recipe.variants import DEFAULT, VARIANTS
from benchmarks.store import write_json

# usps_train stays held out.
CHOSEN_BY = tuple(name for name in SETS if name != "usps_train")
K_MEANS = "k-means"
BEGIN, END = "<!-- the table of python -m benchmarks.recipe -->", "<!-- its end -->"
_COLUMNS = (
    "variant",
    "silhouette gain",
    "sets below k-means",
    "ARI gain",
    "worst ARI gain",
    "stability",
    "CPU time",
)
# Below k-means by less than this is equal, as in the targets.
_TOLERANCE = 0.0005

Scores = dict[str, float]


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit what is chosen, print the table, and write it into the page.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line; the process's own where not given.

    Returns
    -------
    int
        0, or 1 where the data are not on this machine.
    """
    options = _parser().parse_args(arguments)
    content = _read(options.output)
    if not options.page_only:
        try:
            _complete(content, options)
        except UnavailableError as error:
            say(f"UNAVAILABLE: {error}")
            return 1
    grid = table(content["scores"])
    say(grid.as_text())
    write_page(options.page, grid)
    return 0


def measure(name: str, variant: str, seeds: Sequence[int], data_dir: Path) -> Scores:
    """Fit a variant to a set with every seed, one thread, and average."""
    data = load_set(name, data_dir)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.process_time()  # in one thread, and whoever else is on the machine
        labelings = [
            VARIANTS[variant].labels(data.features, data.n_clusters, seed) for seed in seeds
        ]
        seconds = (time.process_time() - start) / len(seeds)
    return {**_score(data.features, data.classes, labelings), "seconds": round(seconds, 3)}


def measure_k_means(name: str, seeds: Sequence[int], data_dir: Path, results: Results) -> Scores:
    """Score k-means' cells of the quality benchmark; those that are not recorded are run."""
    cells = [Cell(name, "kmeans", seed) for seed in seeds]
    records = [results.records.get(cell) or run_cell(cell, data_dir, "") for cell in cells]
    data = load_set(name, data_dir)
    return _score(data.features, data.classes, [unpack_labels(one.labels) for one in records])


def _score(features: FloatArray, classes: IntArray, labelings: Sequence[IntArray]) -> Scores:
    """Average over the seeds; a partition is judged alone, since its k may differ."""
    return {
        "silhouette": round(
            fmean(float(silhouettes(features, one[None])[0]) for one in labelings), 5
        ),
        "ari": round(fmean(adjusted_rand_score(classes, one) for one in labelings), 5),
        "stability": round(stability(labelings), 5),
        "living": fmean(living_clusters(one) for one in labelings),
        "seeds": len(labelings),
    }


def table(scores: dict[str, dict[str, Scores]]) -> Grid:
    """Give a row a variant: means over the sets, less k-means'."""
    k_means = scores[K_MEANS]
    rows = [[K_MEANS, "0", "0", "0", "0", _mean(k_means, "stability"), "-"]]
    for variant in (name for name in VARIANTS if name in scores):
        found = scores[variant]
        gains = {
            key: {name: one[key] - k_means[name][key] for name, one in found.items()}
            for key in ("silhouette", "ari")
        }
        worst = min(gains["ari"], key=gains["ari"].__getitem__)
        seconds = fmean(one["seconds"] for one in found.values())
        reference = fmean(scores[DEFAULT][name]["seconds"] for name in found)
        rows.append(
            [
                variant,
                signed(fmean(gains["silhouette"].values()), 4),
                str(sum(gain < -_TOLERANCE for gain in gains["silhouette"].values())),
                signed(fmean(gains["ari"].values())),
                f"{signed(gains['ari'][worst])} {worst}",
                _mean(found, "stability"),
                number(seconds / reference, 2),
            ]
        )
    return Grid("variants of the recipe", _COLUMNS, rows)


def _mean(found: dict[str, Scores], key: str) -> str:
    return number(fmean(one[key] for one in found.values()), 2)


def write_page(path: Path, grid: Grid) -> None:
    """Put the table between the marks of a page."""
    replace_between(path, BEGIN, END, grid.as_markdown())


def _complete(content: dict[str, Any], options: argparse.Namespace) -> None:
    """Fit the chosen variants to the chosen sets; the file is written after each variant."""
    sets = [name for name in SETS if name in options.sets]
    seeds = range(options.seeds)
    content["environment"] = describe_environment()
    results = Results.load(RESULTS / "quality.json")
    scores = content["scores"]
    scores.setdefault(K_MEANS, {}).update(
        {name: measure_k_means(name, range(10), options.data_dir, results) for name in sets}
    )
    for variant in options.variants:
        tasks = (delayed(measure)(name, variant, seeds, options.data_dir) for name in sets)
        found = Parallel(options.jobs)(tasks)
        scores.setdefault(variant, {}).update(zip(sets, found, strict=True))
        write_json(options.output, content)
        say(f"{variant}: {sum(one['seconds'] for one in found):.1f} s a seed")


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {"scores": {}}
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.recipe",
        description="Compare variants of ClAM's default recipe with k-means, at equal restarts.",
    )
    parser.add_argument(
        "--variants", nargs="+", choices=tuple(VARIANTS), default=tuple(VARIANTS), metavar="VARIANT"
    )
    parser.add_argument("--sets", nargs="+", choices=SETS, default=CHOSEN_BY, metavar="SET")
    parser.add_argument("--seeds", type=int, default=5, help="how many (default: 5)")
    parser.add_argument("--jobs", type=int, default=1, help="sets at a time, each in one thread")
    parser.add_argument(
        "--page-only", action="store_true", help="write the table of the results; run nothing"
    )
    parser.add_argument("--page", type=Path, default=REPOSITORY / "docs" / "recipe.md")
    parser.add_argument("--output", type=Path, default=RESULTS / "recipe.json")
    parser.add_argument("--data-dir", type=Path, default=DATA, help="folder of the paper's tables")
    return parser
