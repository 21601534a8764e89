"""Imports go down, never up: the picture of CONTRIBUTING.md, held to by reading the sources."""

import ast
from pathlib import Path

import pytest

import amclust

PACKAGE = Path(amclust.__file__).parent

# From the bottom up: a module imports from rows below its own, or from its own package.
LAYERS = [
    ["_docs", "cli._signals"],
    [
        "_kinds",
        "_version",
        "_native",
        "io",
        "io.files",
        "_colours",
        "_frames",
        "_k_means",
        "_features",
    ],
    ["_threads"],
    ["_categories", "_warnings"],
    ["_columns"],
    ["io.container", "_config", "_rows", "_objectives", "_recipe", "_metrics"],
    ["_mixtures", "_winsorising"],
    ["_cluster_mixtures", "_more_rows"],
    ["_completion"],
    ["_progress", "_geometry", "_parameters", "_clouds"],
    ["_validation", "_silhouettes"],
    ["backends.base"],
    ["backends.native", "backends", "torch.energies", "torch._device"],
    ["torch._dynamics", "torch._soft_silhouette", "torch._completion"],
    ["torch.functional", "torch._units"],
    ["torch.layer", "torch._training"],
    ["backends.torch"],
    ["_network"],
    ["_options", "_distant"],
    ["_runs", "_preparing"],
    ["_judging", "_callbacks"],
    ["_trimming", "_averaging", "_full_passes", "_likelihoods"],
    ["_size_limits"],
    ["_training"],
    ["_n_clusters", "_assemblies"],
    ["_fitting"],
    ["_estimator"],
    ["_space"],
    ["io.soundness"],
    ["_halving"],
    ["io.state"],
    ["_search"],
    ["_fitted"],
    ["dask"],
    ["io.model", "_plane", "datasets", "cli.tables", "_playground"],
    ["_voronoi"],
    ["plotting", "torch.autoencoders"],
    ["torch.deep"],
    ["report", "torch", "onnx", "mlflow"],
    ["cli.commands"],
    ["cli.program"],
    ["cli"],
    ["__main__"],
]
LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}

# What is imported upwards, inside a function and when it is called: an estimator writes files and
# pages, and finds its backend.
CALLED = {
    ("_assemblies", "plotting"),
    ("_estimator", "io.model"),
    ("_estimator", "report"),
    ("_network", "onnx"),
    ("backends.base", "backends.native"),
    ("backends.base", "backends.torch"),
}


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        yield name.removesuffix(".__init__").removesuffix("__init__"), path


def part_of(module):
    """Return the longest name of a layer that a module belongs to."""
    names = [name for name in LEVELS if module == name or module.startswith(f"{name}.")]
    return max(names, key=len, default=None)


def imports(path):
    """Yield what of amclust a file imports, and whether it does when it is imported itself."""
    tree = ast.parse(path.read_text())
    for node in tree.body:
        for parent in ast.walk(node):
            for child in ast.iter_child_nodes(parent):
                child.inside = parent
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        at_once, above = True, node
        while (above := getattr(above, "inside", None)) is not None:
            if isinstance(above, ast.FunctionDef):
                at_once = False
            if isinstance(above, ast.If) and ast.unparse(above.test) == "TYPE_CHECKING":
                break
        else:
            for module in imported(node):
                yield module, at_once


def imported(node):
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif node.module == "amclust" or (node.module or "").startswith("amclust."):
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        return
    for name in names:
        if name.startswith("amclust."):
            yield name.removeprefix("amclust.")


def test_every_module_has_a_layer():
    assert not [name for name, _ in modules() if name and part_of(name) is None]
    found = {part_of(name) for name, _ in modules()} | {"_native"}
    assert not set(LEVELS) - found


@pytest.mark.parametrize(("name", "path"), [pair for pair in modules() if pair[0]])
def test_imports_go_down(name, path):
    own = part_of(name)
    for module, at_once in imports(path):
        part = part_of(module)
        if part is None or part == own or LEVELS[part] < LEVELS[own]:
            continue
        if at_once or (own, part) not in CALLED:
            pytest.fail(f"amclust.{name} imports amclust.{module}, which is above it")
