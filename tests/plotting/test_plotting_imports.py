"""matplotlib is loaded when something is drawn, not before, and asked for where it is missing."""

import inspect
import json
import subprocess
import sys

import numpy as np
import pytest

from amclust import plotting

DISPLAYS = [getattr(plotting, name) for name in plotting.__all__]


def test_importing_does_not_load_matplotlib():
    code = "import amclust.plotting, json, sys; json.dump(sorted(sys.modules), sys.stdout)"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = {name.partition(".")[0] for name in json.loads(out.stdout)}
    assert "amclust" in loaded
    assert not loaded & {"matplotlib", "plotly", "torch"}


@pytest.fixture
def no_matplotlib(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: display.__name__)
def test_without_matplotlib_displays_say_what_to_install(display, iris, no_matplotlib):
    signature = inspect.signature(display.from_estimator)
    arguments = (iris.model, iris.X) if "X" in signature.parameters else (iris.model,)
    with pytest.raises(ModuleNotFoundError) as error:
        display.from_estimator(*arguments)
    assert display.__name__ in str(error.value)
    assert 'pip install "amclust[plot]"' in str(error.value)
    assert error.value.name == "matplotlib"


def test_without_matplotlib_plot_says_so_too(no_matplotlib):
    display = plotting.SizesDisplay(sizes=np.array([1, 2]))
    with pytest.raises(ModuleNotFoundError, match="SizesDisplay.plot needs matplotlib"):
        display.plot()


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: display.__name__)
def test_displays_have_scikit_learns_manners(display):
    assert display.__name__.endswith("Display")
    plot = inspect.signature(display.plot).parameters
    assert list(plot)[:2] == ["self", "ax"]
    assert plot["ax"].default is None
    assert inspect.signature(display.from_estimator).parameters["ax"].default is None
