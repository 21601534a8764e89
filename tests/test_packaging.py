"""What is said about versions in several places is the same in all of them."""

import re
import tomllib
from pathlib import Path

import pytest

version = pytest.importorskip("packaging.version")

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def bounds(requirements):
    """Lower bounds by name, of requirements like "numpy>=1.24"."""
    found = (re.match(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", one) for one in requirements)
    return {match[1]: version.parse(match[2]) for match in found if match}


def declared(*extras):
    requirements = list(PROJECT["project"]["dependencies"])
    for extra in extras:
        requirements += PROJECT["project"]["optional-dependencies"][extra]
    return bounds(requirements)


def test_the_oldest_versions_are_tested():
    lines = (ROOT / "constraints-lowest.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    pins = {name: version.parse(pin) for name, pin in pins.items()}
    assert declared("dask", "data", "onnx", "plot", "table").keys() <= pins.keys()
    bounded = declared("dask", "data", "onnx", "plot", "table", "test")
    assert pins.keys() - bounded.keys() <= {"pyparsing"}  # which old plots need
    assert {name: bounded[name] for name in pins if name in bounded} == {
        name: pin for name, pin in pins.items() if name in bounded
    }


def test_conda_has_the_same_bounds():
    lines = (ROOT / "recipe/recipe.yaml").read_text().split("  run:\n")[1].split("tests:")[0]
    listed = [line.strip("- ").replace(" ", "") for line in lines.splitlines()]
    assert bounds(listed) == declared()
    recipe = (ROOT / "recipe/recipe.yaml").read_text()
    assert f'version: "{PROJECT["project"]["version"]}"' in recipe
    host = recipe.split("  host:\n")[1].split("  run:")[0]
    listed = [line.strip("- ").replace(" ", "") for line in host.splitlines()]
    assert bounds(listed) == bounds(PROJECT["build-system"]["requires"])


def test_pythons_are_those_that_wheels_are_built_for():
    oldest = version.parse(PROJECT["project"]["requires-python"].removeprefix(">="))
    named = [
        version.parse(match[1])
        for line in PROJECT["project"]["classifiers"]
        if (match := re.search(r"Python :: (3\.\d+)$", line))
    ]
    built = PROJECT["tool"]["cibuildwheel"]["build"]
    assert min(named) == oldest
    assert {f"cp3{one.minor}-*" for one in named} | {"cp314t-*"} == set(built)
    cmake = (ROOT / "CMakeLists.txt").read_text()
    assert f"find_package(Python {oldest} " in cmake
    for page in ("README.md", "CONTRIBUTING.md", "docs/index.md"):
        assert f"Python {oldest} or newer" in (ROOT / page).read_text(), page
