"""Clustering beyond one machine: the estimator of `amclust` on Dask (``amclust[dask]``)."""

try:
    import dask.array
    import dask.dataframe  # noqa: F401
    import distributed  # noqa: F401
except ModuleNotFoundError as error:
    msg = f'amclust.dask needs {error.name}: pip install "amclust[dask]"'
    raise ModuleNotFoundError(msg, name=error.name) from error

from amclust.dask._estimator import ClAM

__all__ = ["ClAM"]
