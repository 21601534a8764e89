"""Fitted models for MLflow: a pyfunc whose data is the model file, and no pickle.

MLflow asks the module that a model names as its loader for ``_load_pyfunc``. A server needs amclust
and the file; what it loads is data, not code. Nothing here imports MLflow but `save_model` and
`log_model`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from amclust.io.model import load

if TYPE_CHECKING:
    from amclust._estimator import ClAM

__all__ = ["Served", "load_served", "log_model", "save_model"]

DATA = "model.amc"


class Served:
    """A fitted model as MLflow asks it.

    Parameters
    ----------
    model : ClAM
        The fitted model.

    Examples
    --------
    >>> import pandas as pd
    >>> from amclust import ClAM
    >>> from amclust.mlflow import Served
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, None], "price": [2.0, 2.1, 9.0, 9.1]})
    >>> served = Served(ClAM(2, random_state=0).fit(table))
    >>> list(served.predict(table).columns)
    ['label', 'membership', 'energy']
    """

    def __init__(self, model: ClAM) -> None:
        self.model = model

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Return what the model says of rows.

        Parameters
        ----------
        model_input : DataFrame or array-like of shape (n_samples, n_columns)
            Rows; columns of a frame may be in any order.

        params : dict, default=None
            None are known; MLflow hands them over.

        Returns
        -------
        answers : DataFrame of shape (n_samples, 3)
            The label of each row, its largest membership, and its energy.
        """
        import pandas as pd

        names = getattr(self.model, "feature_names_in_", None)
        index = getattr(model_input, "index", None)
        if names is not None and hasattr(model_input, "columns"):
            missing = [name for name in names if name not in model_input.columns]
            if missing:
                msg = f"model_input must have the columns {list(names)}, {missing} are not there."
                raise ValueError(msg)
            model_input = model_input[list(names)]
        model, X = self.model, model_input
        answers = {
            "label": model.predict(X),
            "membership": np.asarray(model.predict_proba(X)).max(axis=1),
            "energy": np.asarray(model.energy(X)),
        }
        return pd.DataFrame(answers, index=index)


def load_served(path: str | os.PathLike[str]) -> Served:
    """Read a model file, or the folder that MLflow has put it into.

    Parameters
    ----------
    path : str or path
        Where it is.

    Returns
    -------
    served : Served
        The model as MLflow asks it.
    """
    found = Path(path)
    return Served(load(found / DATA if found.is_dir() else found))


# The name that MLflow looks for.
_load_pyfunc = load_served


def save_model(model: Any, path: str | os.PathLike[str], **more: Any) -> None:
    """Write a fitted model as an MLflow model. Needs ``pip install mlflow-skinny``.

    Parameters
    ----------
    model : ClAM
        The fitted model.

    path : str or path
        The folder to write; it must not be there.

    **more
        Of ``mlflow.pyfunc.save_model``: a signature, an example of the input, ...
    """
    import mlflow.pyfunc

    with tempfile.TemporaryDirectory() as folder:
        given = _given(model, folder, more)
        mlflow.pyfunc.save_model(path=os.fspath(path), **given)


def log_model(model: Any, name: str = "model", **more: Any) -> Any:
    """Log a fitted model to the active run of MLflow. Needs ``pip install mlflow-skinny``.

    Parameters
    ----------
    model : ClAM
        The fitted model.

    name : str, default="model"
        What the model is called.

    **more
        Of ``mlflow.pyfunc.log_model``: a signature, a name in the registry, ...

    Returns
    -------
    info : mlflow.models.model.ModelInfo
        Where it is.
    """
    import mlflow.pyfunc

    with tempfile.TemporaryDirectory() as folder:
        return mlflow.pyfunc.log_model(name=name, **_given(model, folder, more))


def _given(model: Any, folder: str, more: dict[str, Any]) -> dict[str, Any]:
    """Write the model file and return what MLflow is told of it."""
    from amclust._version import __version__

    path = Path(folder, DATA)
    model.save(path)
    requirements = [f"amclust=={__version__}", "pandas"]
    found = {"loader_module": __name__, "data_path": str(path), "pip_requirements": requirements}
    return found | more
