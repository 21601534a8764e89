"""
A fitted model behind FastAPI
=============================

A handler that labels rows of JSON, missing values and all.

    pip install amclust fastapi uvicorn
    AMCLUST_MODEL=model.amc uvicorn serve_fastapi:app

    curl localhost:8000/predict -H "content-type: application/json" \
        -d '{"rows": [{"size": 1.0, "price": null}]}'
"""

import os
from functools import cache

import numpy as np
import pandas as pd
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

import amclust

app = FastAPI(title="amclust")


class Rows(BaseModel):
    rows: list[dict[str, float | str | bool | None]]


class Answer(BaseModel):
    label: int  # -1: belongs nowhere
    membership: float
    completed: dict[str, float | str | bool | None]


@cache
def model():  # once a process; the file is data, not code
    return amclust.load(os.environ["AMCLUST_MODEL"])


@app.post("/predict")
def predict(given: Rows) -> list[Answer]:
    names = list(model().feature_names_in_)
    for number, row in enumerate(given.rows):
        if unknown := sorted(set(row) - set(names)):
            raise HTTPException(422, f"row {number} has {unknown}, columns are {names}")
    if not given.rows:
        return []
    table = pd.DataFrame(given.rows, columns=names)  # what a row does not have is missing
    if model().network_.geometry.categories is None:
        table = table.astype(float)
    labels, shares = model().predict(table), np.max(model().predict_proba(table), axis=1)
    rows = model().complete(table).to_dict("records")
    return [
        Answer(label=label, membership=share, completed=row)
        for label, share, row in zip(labels.tolist(), shares.tolist(), rows, strict=True)
    ]
