"""Many threads at the same time: what they share stays whole, with the GIL and without it."""

import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_info

from amclust import ClAM, _native
from amclust._threads import single_threaded_blas

N_THREADS = 8


def together(task, n=N_THREADS):
    """Results of a task in threads that begin at the same moment."""
    barrier = threading.Barrier(n)

    def begin(number):
        barrier.wait()
        return task(number)

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(begin, range(n)))


def table(n=400, missing=0.0):
    X = make_blobs(n, 5, centers=4, random_state=0)[0]
    X[np.random.default_rng(0).uniform(size=X.shape) < missing] = np.nan
    return X


def blas_threads():
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="Python has the GIL")
def test_the_core_leaves_the_gil_disabled():
    assert not sys._is_gil_enabled()


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_fits_at_the_same_time_find_what_one_finds_alone(missing):
    X = table(missing=missing)
    before = blas_threads()

    def fit(number):
        return ClAM(4, n_init=2, random_state=number % 2, n_jobs=2).fit(X)

    alone = [fit(0), fit(1)]
    for number, model in enumerate(together(fit)):
        assert_array_equal(model.memories_, alone[number % 2].memories_)
        assert_array_equal(model.labels_, alone[number % 2].labels_)
    assert blas_threads() == before


def test_a_network_answers_many_threads():
    X, missing = table(), table(missing=0.2)
    model = ClAM(4, n_init=2, random_state=0, n_jobs=1).fit(X)
    expected = model.labels_.copy(), model.predict(missing), model.predict_proba(X)
    # Another network of the same memories: the first to ask it prepares it, for all.
    model = ClAM(4, n_init=2, random_state=0, n_jobs=1).fit(X)

    def ask(number):
        ways = model.predict, (lambda _: model.predict(missing)), model.predict_proba
        return [(number + at) % 3 for at in range(3)], [
            ways[(number + at) % 3](X) for at in range(3)
        ]

    for order, found in together(ask):
        for which, values in zip(order, found, strict=True):
            assert_array_equal(values, expected[which])


def test_statistics_are_added_by_many_threads():
    X = table(64)
    rows = _native.dense_rows(X)
    total = _native.partial_statistics(rows, None, None, 1)
    together(lambda _: total.add(_native.partial_statistics(rows, None, None, 1)))
    assert total.n_rows == 64 * (N_THREADS + 1)
    assert_array_equal(total.finish().mean, _native.statistics(rows, None, None, 1).mean)


def test_blas_has_one_thread_while_any_wants_it():
    before, inside, go_on, after = blas_threads(), threading.Event(), threading.Event(), []

    def second():
        with single_threaded_blas(), single_threaded_blas():
            inside.set()
            go_on.wait(10)
            after.append(blas_threads())

    thread = threading.Thread(target=second)
    with single_threaded_blas():
        thread.start()
        inside.wait(10)
        threading.Timer(0.05, go_on.set).start()
    # The first thread was ready to lift the limit before the second had done its work.
    thread.join(10)
    assert set(after[0]) <= {1}
    assert blas_threads() == before
