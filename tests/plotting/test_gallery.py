"""The examples of the gallery run without a warning, and show what they say."""

import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
FIGURES = {
    "plot_basins": 3,
    "plot_codebook": 2,
    "plot_colours": 1,
    "plot_energy_and_trajectories": 3,
    "plot_memories": 3,
    "plot_missing_values": 3,
    "plot_search": 2,
    "plot_silhouette_and_sizes": 4,
}

pytestmark = pytest.mark.skipif(
    not EXAMPLES.is_dir(), reason="the examples are not part of this checkout"
)


@pytest.mark.parametrize("name", FIGURES)
def test_an_example_draws_its_figures(name, capsys):
    path = EXAMPLES / f"{name}.py"
    assert re.match('"""\n(=+)\n.+\n=+\n\n', path.read_text(encoding="utf-8"))
    runpy.run_path(str(path))
    assert len(plt.get_fignums()) == FIGURES[name]
    if name == "plot_missing_values":
        pattern = r"error of the means: (\S+), of ClAM: (\S+)"
        means, completed = re.search(pattern, capsys.readouterr().out).groups()
        assert float(completed) < 0.9 * float(means)
