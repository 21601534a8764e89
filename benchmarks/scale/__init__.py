"""Beyond one machine: amclust.dask beside dask-ml and beside the local fit."""
