import signal

import pytest
from distributed import Client, LocalCluster

TIME_LIMIT = 100  # seconds: nothing that is right takes as long


@pytest.fixture(autouse=True)
def time_limit():
    """Let a test fail that hangs, instead of all tests."""
    if not hasattr(signal, "SIGALRM"):  # Windows
        yield
        return

    def fail(*_):
        msg = f"Not ended after {TIME_LIMIT} seconds."
        raise TimeoutError(msg)

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, TIME_LIMIT)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def shared_client():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture
def client(shared_client):
    """Return the client of two processes, which is the current one while a test runs."""
    with shared_client.as_current():
        yield shared_client
