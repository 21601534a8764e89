"""The documentation is true: its code runs and prints what it says, its pages are complete."""

import importlib.util
import re
import shlex
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from amclust.cli import main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Whose code runs elsewhere: in tests/torch_layer/test_guide.py.
ELSEWHERE = {"torch.md"}
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*")

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the guide is not part of this checkout")


def blocks(page):
    """Give the code of a page: language, code, and the output that the page claims, or none."""
    pattern = r"^( *)```(python|sh)\n(.*?)^\1```(?:\n+\1```text\n(.*?)^\1```)?"
    found = re.findall(pattern, page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [(language, dedent(code), claimed) for _, language, code, claimed in found]


PAGES = [
    "../README.md",
    *sorted(
        name
        for page in [*DOCS.glob("*.md"), *DOCS.glob("guide/*.md")]
        if (name := page.relative_to(DOCS).as_posix()) not in ELSEWHERE and blocks(page)
    ),
]


def assert_same_output(printed, claimed):
    """Compare words exactly and numbers loosely: instruction sets round differently."""
    assert NUMBER.sub("#", " ".join(printed.split())) == NUMBER.sub("#", " ".join(claimed.split()))
    for ours, theirs in zip(NUMBER.findall(printed), NUMBER.findall(claimed), strict=True):
        value, expected = (float(one.replace(",", "")) for one in (ours, theirs))
        assert value == pytest.approx(expected, rel=0.05, abs=0.04), (printed, claimed)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs_and_prints_what_it_says(page, capsys, tmp_path, monkeypatch):
    for package in ("pandas", "plotly"):
        pytest.importorskip(package)
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for language, code, claimed in blocks(DOCS / page):
        if language == "sh":
            for line in code.splitlines():
                program, *arguments = shlex.split(line)
                assert program == "amclust"
                assert main(arguments) == 0, line
        else:
            for package in ("torch", "dask", "polars"):
                if f"import {package}" in code:
                    pytest.importorskip(package)
            exec(compile(code, page, "exec"), names)
        printed = capsys.readouterr().out
        if claimed:
            assert_same_output(printed, claimed)
    plt.close("all")


def public_names():
    modules = ["amclust", "amclust.datasets", "amclust.mlflow"]
    for optional, needs in (
        ("amclust.dask", "distributed"),
        ("amclust.onnx", "onnx"),
        ("amclust.plotting", "matplotlib"),
        ("amclust.torch", "torch"),
    ):
        if importlib.util.find_spec(optional) and importlib.util.find_spec(needs):
            modules.append(optional)
    for module in modules:
        for name in importlib.import_module(module).__all__:
            if isinstance(getattr(importlib.import_module(module), name), type(sys)):
                modules.append(f"{module}.{name}")
            else:
                yield f"{module}.{name}"


def listed_names():
    """Give what the API page lists, by the module that is current there."""
    names, module = {"amclust.__version__"}, ""
    for line in (DOCS / "api.md").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   \w+", line):
            names.add(f"{module}.{line.strip()}")
    return names


def test_every_public_name_is_on_the_api_page():
    assert set(public_names()) <= listed_names()


def test_the_api_page_lists_nothing_else():
    for package in ("distributed", "onnx", "torch", "matplotlib"):
        pytest.importorskip(package)
    assert listed_names() <= set(public_names())


def test_no_docstring_has_an_entry_to_fill_in():
    for name in public_names():
        module, _, own = name.rpartition(".")
        kind = getattr(importlib.import_module(module), own)
        members = [getattr(kind, member) for member in dir(kind) if member[0] != "_"]
        for doc in [thing.__doc__ or "" for thing in (kind, *members)]:
            assert not re.search(r"^ *\{\w+\}$", doc, flags=re.MULTILINE), name


@pytest.mark.parametrize(
    ("module", "page"),
    [
        ("benchmarks.quality.__main__", "quality.md"),
        ("benchmarks.quality.shapes", "shapes.md"),
        ("benchmarks.missing.__main__", "missing.md"),
        ("benchmarks.speed.__main__", "speed.md"),
        ("benchmarks.scale.__main__", "scale.md"),
        ("benchmarks.cluster_number.__main__", "number_of_clusters.md"),
        ("benchmarks.limits.__main__", "limits.md"),
        ("benchmarks.mixed.__main__", "mixed.md"),
        ("benchmarks.recipe.__main__", "recipe.md"),
        ("benchmarks.manners.__main__", "manners.md"),
        ("benchmarks.deep.__main__", "deep.md"),
        ("paper.__main__", "paper.md"),
    ],
)
def test_a_page_of_results_is_what_its_command_writes(module, page, tmp_path):
    if module in ("benchmarks.deep.__main__", "paper.__main__"):
        pytest.importorskip("torch")
    if module == "benchmarks.scale.__main__":
        pytest.importorskip("distributed")
    if not (ROOT / "benchmarks" / "results").is_dir():
        pytest.skip("the source distribution has no records")
    copy = tmp_path / page
    copy.write_bytes((DOCS / page).read_bytes())
    assert importlib.import_module(module).main(["--page-only", "--page", str(copy)]) == 0
    assert copy.read_text(encoding="utf-8") == (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_beside_the_pages_lead_to_files(name):
    links = re.findall(r"\]\(([^)#]+)", (ROOT / name).read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert not [link for link in local if not (ROOT / link).exists()]
