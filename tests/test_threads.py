"""How many threads a call uses: what surrounds it decides, the nearest first."""

import os
import subprocess
import sys
import textwrap
import threading

import joblib
import numpy as np
import pytest
import threadpoolctl
from joblib import Parallel, delayed, parallel_config
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs

import amclust
from amclust import ClAM, _native, _threads

X = make_blobs(300, 4, centers=3, random_state=0)[0]
on_posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
on_linux = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux's affinity")


@pytest.fixture(autouse=True)
def four_cores(monkeypatch):
    """On any machine, and whatever the tests were started with."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(_threads, "available_cores", lambda: 4)


def threads():
    return _threads.n_threads(None)


def test_all_cores_without_anything_else():
    assert threads() == 4
    assert amclust.show_config()["threads"] == 4


@pytest.mark.parametrize(("given", "used"), [(1, 1), (3, 3), (-1, 4), (-2, 3), (-9, 1), (99, 8)])
def test_n_jobs_comes_first(given, used, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with parallel_config(n_jobs=2), threadpoolctl.threadpool_limits(2):
        assert _threads.n_threads(given) == used


@pytest.mark.parametrize("bad", [0, 1.5, "2"])
def test_n_jobs_is_checked(bad):
    with pytest.raises(ValueError, match="n_jobs must be None or an int other than 0"):
        _threads.n_threads(bad)


def test_then_joblib(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with threadpoolctl.threadpool_limits(1):
        with parallel_config(n_jobs=3):
            assert threads() == 3
        with parallel_config(n_jobs=-1):
            assert threads() == 4
        with parallel_config("threading"):
            assert threads() == 1


@pytest.mark.parametrize("backend", ["threading", "multiprocessing", "loky"])
def test_jobs_side_by_side_use_one_thread_each(backend):
    """Loky's processes as many as are left for each; the others are not told how many they are."""
    expected = {max(1, joblib.cpu_count() // 2) if backend == "loky" else 1}
    assert set(Parallel(2, backend=backend)(delayed(threads)() for _ in range(4))) == expected


def test_one_job_after_the_other_uses_all():
    assert Parallel(1)(delayed(threads)() for _ in range(2)) == [4, 4]


def test_then_threadpoolctl(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    for limits in (2, {"openmp": 2}):
        with threadpoolctl.threadpool_limits(limits):
            assert threads() == 2
            with threadpoolctl.threadpool_limits(1, user_api="openmp"):
                assert threads() == 1
            assert threads() == 2
        assert threads() == 3
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        assert threads() == 3
    assert _native.thread_limit() == 0  # nothing stays


def test_threadpoolctl_finds_the_pool():
    (found,) = [one for one in threadpoolctl.threadpool_info() if one["internal_api"] == "amclust"]
    assert found["user_api"] == "openmp"
    assert found["num_threads"] == 4
    assert found["version"] == amclust.__version__


def test_a_limit_is_of_the_thread_that_sets_it():
    """As OpenMP's."""
    seen = []
    with threadpoolctl.threadpool_limits(2):
        other = threading.Thread(target=lambda: seen.append(threads()))
        other.start()
        other.join()
        assert threads() == 2
    assert seen == [4]


@pytest.mark.parametrize(
    ("value", "used"), [("2", 2), ("3,1", 3), (" 1 ", 1), ("", 4), ("0", 4), ("many", 4)]
)
def test_then_the_environment(value, used, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert threads() == used


@on_linux
def test_then_the_cores_of_the_process(monkeypatch):
    monkeypatch.undo()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert threads() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert threads() == min(len(allowed), joblib.cpu_count())
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert threads() == 1


def test_a_quota_counts(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(joblib, "cpu_count", lambda: 1)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "977")  # it is asked anew
    assert _threads.available_cores() == 1


# --- BLAS ---------------------------------------------------------------------------------------


def blas_threads():
    info = threadpoolctl.threadpool_info()
    return [one["num_threads"] for one in info if one["user_api"] == "blas"]


def test_the_last_to_leave_gives_blas_its_threads_back():
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        inside, leave = threading.Barrier(2), threading.Event()

        def other():
            with _threads.single_threaded_blas():
                inside.wait(20)
                leave.wait(20)

        thread = threading.Thread(target=other)
        with _threads.single_threaded_blas():
            thread.start()
            inside.wait(20)
            assert set(blas_threads()) <= {1}
        assert set(blas_threads()) <= {1}
        leave.set()
        thread.join()
        assert blas_threads() == before


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_blas_has_one_thread_while_a_fit_lasts(method, monkeypatch):
    seen = []
    from amclust import _fitting

    of_rows = _fitting.Fitting.__init__

    def look(*args, **kwargs):
        seen.extend(blas_threads())
        of_rows(*args, **kwargs)

    monkeypatch.setattr(_fitting.Fitting, "__init__", look)
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        getattr(ClAM(3, n_init=1, random_state=0), method)(X)
        assert set(seen) <= {1}
        assert set(blas_threads()) <= {2}


# --- the pool -----------------------------------------------------------------------------------


def run(code, **environment):
    """Run a program of its own; what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
    )
    return done.stdout.split()


def test_the_process_has_one_pool():
    """Threads that fit side by side have one each for their work, and share the helpers."""
    out = run(
        """
        import threading
        import numpy as np
        from amclust import ClAM, _native
        X = np.random.default_rng(0).normal(size=(300, 4))
        print(_native.pool_size())
        ClAM(3, n_init=4, n_jobs=3, random_state=0).fit(X).predict(X)
        print(_native.pool_size())
        fits = [lambda: ClAM(3, n_init=4, n_jobs=3, random_state=0).fit(X) for _ in range(4)]
        for _ in range(2):
            threads = [threading.Thread(target=fit) for fit in fits]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        print(_native.pool_size() <= 4 + 2)
        """
    )
    assert out == ["0", "3", "True"]


def test_a_moment_of_work_starts_no_thread():
    out = run(
        """
        import numpy as np
        from amclust import _native
        rows = _native.dense_rows(np.random.default_rng(0).normal(size=(10_000, 10)))
        memories = np.eye(8, 10, dtype=np.float32)
        network = _native.Network(memories, np.zeros(8, np.float32), "euclidean", 1.0, 0.5, 10)
        _native.infer(network, rows, np.zeros(10, np.float32), _native.Want.LABELS, None, 4)
        print(_native.pool_size())
        """
    )
    assert out == ["0"]


@on_posix
def test_a_child_has_a_pool_of_its_own():
    """Its parent's threads stay behind, in the middle of a fit of another thread too."""
    out = run(
        """
        import os, threading, time
        import numpy as np
        from sklearn.datasets import make_blobs
        from amclust import ClAM
        X = make_blobs(300, 4, centers=4, random_state=0)[0]
        def fit(**more):
            return ClAM(4, n_init=2, n_jobs=2, random_state=0, **more).fit(X)
        expected = fit()
        other = threading.Thread(
            target=lambda: fit(max_epochs=10**8, early_stopping=False), daemon=True
        )
        other.start()
        time.sleep(0.2)
        for _ in range(2):
            child = os.fork()
            if not child:
                same = (fit().memories_ == expected.memories_).all()
                same &= (expected.predict(X) == expected.labels_).all()
                os._exit(0 if same else 1)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        os._exit(0)  # the other fit never ends
        """
    )
    assert out == ["0", "0"]


def test_the_same_bits_for_any_surroundings(monkeypatch):
    expected = ClAM(3, n_init=3, random_state=0, n_jobs=1).fit(X).memories_
    with parallel_config(n_jobs=3):
        assert_array_equal(ClAM(3, n_init=3, random_state=0).fit(X).memories_, expected)
    with threadpoolctl.threadpool_limits(2):
        assert_array_equal(ClAM(3, n_init=3, random_state=0).fit(X).memories_, expected)
    models = Parallel(2, backend="threading")(
        delayed(ClAM(3, n_init=3, random_state=0).fit)(X) for _ in range(3)
    )
    for model in models:
        assert_array_equal(model.memories_, expected)
        assert np.isfinite(model.loss_)
