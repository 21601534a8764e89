import json
import subprocess
import sys

import pytest

import amclust


def loaded_by(statement):
    """Names of the modules that a fresh interpreter has loaded after the statement."""
    code = f"{statement}; import json, sys; json.dump(sorted(sys.modules), sys.stdout)"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(json.loads(out.stdout))


def test_import_is_light():
    loaded = loaded_by("import amclust; amclust.ClAM")
    assert "sklearn" in loaded
    heavy = {"torch", "jinja2", "matplotlib", "pandas", "plotly", "polars", "pooch", "pyarrow"}
    assert not loaded & heavy - loaded_by("import sklearn.cluster")
    assert not loaded & {"torch", "jinja2", "matplotlib", "plotly", "dask", "distributed", "fsspec"}
    assert "amclust.datasets" not in loaded
    assert not loaded & {"sklearn.cluster", "sklearn.metrics"}


def test_the_command_line_starts_with_nothing_heavy():
    """So that ``amclust --help`` takes a tenth of a second."""
    loaded = loaded_by("import amclust.cli; amclust.cli.build_parser()")
    assert not loaded & {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl", "amclust._native"}


def test_public_names_are_found():
    """They are imported when they are asked for."""
    code = "import amclust; assert set(amclust.__all__) <= set(dir(amclust))"
    loaded_by(f"{code}; [getattr(amclust, name) for name in amclust.__all__]")
    with pytest.raises(AttributeError, match="no attribute 'klam'"):
        amclust.klam  # noqa: B018
