"""Models behind servers: a pyfunc of MLflow without pickle, and a handler of FastAPI."""

import asyncio
import importlib.util
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from amclust import ClAM, load
from amclust.mlflow import DATA, _load_pyfunc, save_model

EXAMPLES = Path(__file__).parents[1] / "examples"
WINE = load_wine(as_frame=True).data.iloc[:, :5].copy()
WINE.iloc[::7, 2] = np.nan


@pytest.fixture(scope="module")
def model():
    return ClAM(3, n_init=1, max_epochs=20, random_state=0).fit(WINE)


@pytest.mark.parametrize("is_folder", [False, True])
def test_the_pyfunc_needs_the_file_only(model, tmp_path, is_folder):
    model.save(tmp_path / DATA)
    served = _load_pyfunc(str(tmp_path) if is_folder else str(tmp_path / DATA))
    answers = served.predict(WINE.iloc[10:20, ::-1], params=None)  # columns in any order
    np.testing.assert_array_equal(answers["label"], model.labels_[10:20])
    np.testing.assert_allclose(answers["energy"], model.energy(WINE.iloc[10:20]))
    np.testing.assert_array_equal(answers.index, np.arange(10, 20))
    assert answers["membership"].between(1 / 3, 1).all()
    with pytest.raises(ValueError, match=r"\['ash'\] are not there"):
        served.predict(WINE.drop(columns="ash"))


@pytest.mark.filterwarnings("ignore")  # of MLflow's own
def test_mlflow(model, tmp_path):
    pyfunc = pytest.importorskip("mlflow.pyfunc")
    save_model(model, tmp_path / "served")
    assert not list((tmp_path / "served").rglob("*.pkl"))
    loaded = pyfunc.load_model(str(tmp_path / "served"))
    np.testing.assert_array_equal(loaded.predict(WINE)["label"], model.labels_)
    assert loaded.metadata.flavors["python_function"]["loader_module"] == "amclust.mlflow"
    (file,) = (tmp_path / "served").rglob(DATA)
    np.testing.assert_array_equal(load(file).predict(WINE), model.labels_)


@pytest.fixture
def post(tmp_path, monkeypatch, model):
    """A function that posts rows to the handler and returns the response."""
    pytest.importorskip("fastapi")
    httpx = pytest.importorskip("httpx")
    model.save(tmp_path / "model.amc")
    monkeypatch.setenv("AMCLUST_MODEL", str(tmp_path / "model.amc"))
    spec = importlib.util.spec_from_file_location("serve_fastapi", EXAMPLES / "serve_fastapi.py")
    served = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(served)

    async def answer(rows):
        transport = httpx.ASGITransport(app=served.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            return await client.post("/predict", json={"rows": rows})

    def posted(rows):
        # In a thread of its own: the browser's tests leave a running event loop in this one.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: asyncio.run(answer(rows))).result()

    return posted


def test_fastapi(post, model):
    rows = json.loads(WINE.head(30).to_json(orient="records"))
    del rows[1]["ash"]  # what is not there is missing
    table = WINE.head(30).copy()
    table.loc[1, "ash"] = np.nan
    answers = post(rows).json()
    assert [answer["label"] for answer in answers] == model.predict(table).tolist()
    completed = pd.DataFrame([answer["completed"] for answer in answers])
    np.testing.assert_allclose(completed, model.complete(table))
    assert post([]).json() == []
    refused = post([{"colour": 1.0}])
    assert refused.status_code == 422
    assert "row 0 has ['colour']" in refused.json()["detail"]
