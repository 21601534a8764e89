"""What the evaluation has to show, and whether it does."""

from benchmarks.framework.pages import Grid, number
from paper import sets
from paper.experiments.timings import DEFAULT, PUBLISHED, TITLES
from paper.experiments.toys import ELONGATED, TOY_METHODS, TOYS
from paper.published import SILHOUETTES
from paper.records import NOT_RUN, View
from paper.tables.timings import made, ratio

CLOSE = 0.01
_SETS_TO_REACH = 8
_SAME_DATA = ("zoo", "ecoli", "movement_libras", "mice_protein", "ctg", "segment")
_TOLD_APART = ("clam", "kmeans", "dec")
_RATIOS = dict.fromkeys(("zoo", "ecoli", "movement_libras", "yale"), 0.1) | {
    "cifar10_features": 1.0,
    "japanese_vowels": 1.0,
}

Row = list[str]


def targets(view: View) -> Grid:
    """One line each; what has no record is not reached."""
    rows = [
        *(_same_data(view, name) for name in _SAME_DATA),
        _reached_sets(view),
        *(_toy(view, toy, method) for toy in ELONGATED for method in _TOLD_APART),
        _toy(view, "noisy", "clam"),
    ]
    for method in (DEFAULT, PUBLISHED):
        rows += [_efficiency(view, name, method, limit) for name, limit in _RATIOS.items()]
    return Grid("What this was to show", ["what", "found", "aim", "reached"], rows, False)


def _row(what: str, found: str, asked: str, reached: bool) -> Row:
    return [what, found, asked, "yes" if reached else "**no**"]


def _same_data(view: View, name: str) -> Row:
    chosen, paper = view.chosen(name, "kmeans"), SILHOUETTES[name]["kmeans"]
    assert paper is not None
    what, asked = f"silhouette of k-means, {sets.title(name)}", f"{number(paper)} ± {CLOSE}"
    if chosen is None:
        return _row(what, NOT_RUN, asked, False)
    score = chosen["silhouette"]
    return _row(what, number(score), asked, abs(score - paper) <= CLOSE)


def _reached_sets(view: View) -> Row:
    reached = {
        sets.title(name): chosen["silhouette"] >= (row["clam"] or 0.0) - CLOSE
        for name, row in SILHOUETTES.items()
        if (chosen := view.chosen(name, "clam")) is not None
    }
    missed = [title for title, is_reached in reached.items() if not is_reached]
    found = f"{sum(reached.values())} of {len(reached)}"
    if missed:
        found += f" (not {', '.join(missed)})"
    what = f"sets on which ClAM has its published silhouette (less {CLOSE}) or more, by the paper's"
    enough = sum(reached.values()) >= _SETS_TO_REACH
    return _row(f"{what} rule", found, f"{_SETS_TO_REACH}", enough)


def _toy(view: View, toy: str, method: str) -> Row:
    """Ask ClAM to be right, and what it is compared with to be wrong."""
    # Adding zero takes the sign from a zero.
    scores = [round(score, 3) + 0.0 for score in view.toys(toy, method, "ari")]
    right = method == "clam"
    what = f"ARI of {TOY_METHODS[method].title}, {TOYS[toy].title}"
    asked = "1 in every drawing" if right else "below 1 in every drawing"
    if not scores:
        return _row(what, NOT_RUN, asked, False)
    found = f"{min(scores):.3f} to {max(scores):.3f} in {len(scores)} drawings"
    return _row(what, found, asked, min(scores) == 1.0 if right else max(scores) < 1.0)


def _efficiency(view: View, name: str, method: str, limit: float) -> Row:
    record = view.timing(name)
    what = f"{sets.title(name)}: time of {TITLES[method]}, as a part of that of k-means"
    if record is None:
        return _row(what, NOT_RUN, f"at most {limit:g}", False)
    value = ratio(record, method)
    return _row(what, f"{value:.2g}{made(record)}", f"at most {limit:g}", value <= limit)
