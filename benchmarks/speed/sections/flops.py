"""Floating-point rate of the training loop against BLAS on the same cores."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from amclust._native import EPOCH_ROWS
from benchmarks.data import FASHION_MNIST_SHAPE, FloatArray, load_fashion_mnist
from benchmarks.framework import Entry, Line, Target, UnavailableError, timed
from benchmarks.protocol import PROTOCOLS, Protocol, paper_clam

_N_CLUSTERS = 10
_SQUARE = 2048
_BLAS_SECONDS = 0.3


def operations_a_sample(n_features: int, n_clusters: int, protocol: Protocol) -> int:
    """Count the operations of design section 1: visible forward and back, then the recursion.

    Examples
    --------
    >>> operations_a_sample(784, 10, PROTOCOLS["fashion_mnist"])
    78160
    """
    hidden = round(protocol.mask_prob * n_features)
    visible = 2 * n_clusters * n_features
    return 2 * visible + 12 * n_clusters * hidden * protocol.n_steps


def run(options: Namespace) -> Iterator[Entry]:
    """Measure our rate and BLAS's two rates in turn."""
    features, source = _features(options)
    protocol = PROTOCOLS["fashion_mnist"]
    few, many = (1, 5) if options.quick else (8, 40)
    repeats = 1 if options.quick else 5
    n_features = features.shape[1]
    ours: list[float] = []
    batch_product: list[float] = []
    square_product: list[float] = []
    _fit_seconds(features[:1000], protocol, 1)
    for _ in range(repeats):
        batch_product.append(_blas_rate(protocol.batch_size, n_features, _N_CLUSTERS))
        square_product.append(_blas_rate(_SQUARE, _SQUARE, _SQUARE))
        ours.append(_our_rate(features, protocol, few, many))
    note = (
        f"{source}; seconds an epoch from fits of {few} and {many} epochs; "
        f"median of {repeats} interleaved; {operations_a_sample(n_features, _N_CLUSTERS, protocol)}"
        " operations a sample; BLAS with one thread or all, the faster"
    )
    batch_title = f"BLAS {protocol.batch_size}x{n_features} by {n_features}x{_N_CLUSTERS}"
    yield _line(ours, batch_product, batch_title, 1.0, note)
    yield _line(ours, square_product, f"BLAS {_SQUARE}x{_SQUARE}", 0.25, note)


def _features(options: Namespace) -> tuple[FloatArray, str]:
    """Fashion-MNIST, or noise of its shape: the rate is the shape's, not the images'."""
    try:
        return load_fashion_mnist(options.fashion_mnist_dir), "Fashion-MNIST"
    except UnavailableError:
        generator = np.random.default_rng(0)
        noise = generator.standard_normal(FASHION_MNIST_SHAPE, dtype=np.float32)
        return noise, "noise of Fashion-MNIST's shape"


def _our_rate(features: FloatArray, protocol: Protocol, few: int, many: int) -> float:
    """GFLOP/s of one epoch; what a fit does only once cancels in the difference.

    Zero where noise swallowed the difference: not a rate anybody may claim.
    """
    difference = _fit_seconds(features, protocol, many) - _fit_seconds(features, protocol, few)
    if difference <= 0.0:
        return 0.0
    n_samples, n_features = features.shape
    rows = min(n_samples, EPOCH_ROWS)  # what one epoch goes through
    operations = rows * operations_a_sample(n_features, _N_CLUSTERS, protocol)
    return float(operations * (many - few) / difference / 1e9)


def _fit_seconds(features: FloatArray, protocol: Protocol, epochs: int) -> float:
    model = paper_clam(_N_CLUSTERS, protocol, restarts=1, epochs=epochs)
    return timed(lambda: model.fit(features)).seconds


def _blas_rate(rows: int, inner: int, columns: int) -> float:
    """GFLOP/s of a float32 matrix product, with one thread or with all, whichever is faster.

    On small products the threads of BLAS wait for each other, on a busy machine a hundred times
    longer than the product takes: a peer must not be beaten by that.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        one_thread = _product_rate(rows, inner, columns)
    return max(one_thread, _product_rate(rows, inner, columns))


def _product_rate(rows: int, inner: int, columns: int) -> float:
    """GFLOP/s of a float32 matrix product, repeated for a fixed time."""
    generator = np.random.default_rng(0)
    left = generator.standard_normal((rows, inner), dtype=np.float32)
    right = generator.standard_normal((inner, columns), dtype=np.float32)
    product = np.empty((rows, columns), dtype=np.float32)
    np.matmul(left, right, out=product)
    calls = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < _BLAS_SECONDS:
        np.matmul(left, right, out=product)
        calls += 1
    return 2 * rows * inner * columns * calls / elapsed / 1e9


def _line(ours: list[float], peer: list[float], peer_name: str, limit: float, note: str) -> Line:
    others = {"peer_name": peer_name, "target": Target("ratio", ">=", limit), "note": note}
    return Line.of_pairs("training loop, 60000x784, k=10, T=5", "GFLOP/s", ours, peer, **others)
