"""Torch in a process that was forked from one that had it."""

import os
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")

PROGRAM = """
    import os, signal
    import numpy as np
    import torch
    from amclust import ClAM
    from amclust.torch import DeepClAM

    torch.set_num_threads(2)
    X = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)

    def fit(backend="torch"):
        return ClAM(2, backend=backend, n_init=1, max_epochs=2, random_state=0).fit(X)

    def in_child(work):
        child = os.fork()
        if not child:
            signal.alarm(40)
            try:
                work()
            except RuntimeError as error:
                assert "torch.set_num_threads(1)" in str(error)
                os._exit(3)
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def with_one_thread():
        torch.set_num_threads(1)
        fit()

    fit()
    works = (
        fit, lambda: DeepClAM(2, random_state=0).fit(X), with_one_thread, lambda: fit("native")
    )
    print(*(in_child(work) for work in works))
    fit()  # the parent goes on
"""


def test_a_forked_process_refuses_instead_of_hanging():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(PROGRAM)],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"OMP_NUM_THREADS": "2"},
    )
    assert done.stdout.split() == ["3", "3", "0", "0"]
