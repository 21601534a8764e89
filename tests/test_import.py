import json
import subprocess
import sys


def loaded_by(statement):
    """Names of the modules that a fresh interpreter has loaded after the statement."""
    code = f"{statement}; import json, sys; json.dump(sorted(sys.modules), sys.stdout)"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(json.loads(out.stdout))


def test_import_is_light():
    loaded = loaded_by("import amclust.cli; amclust.cli.build_parser()")
    assert "sklearn" in loaded
    heavy = {"torch", "jinja2", "matplotlib", "pandas", "plotly", "polars", "pooch", "pyarrow"}
    assert not loaded & heavy - loaded_by("import sklearn.cluster")
    assert not loaded & {"torch", "jinja2", "matplotlib", "plotly", "dask", "distributed", "fsspec"}
    assert "amclust.datasets" not in loaded
    assert not loaded_by("import amclust") & {"sklearn.cluster", "sklearn.metrics"}
