import signal

import pytest

from amclust import _native

# They have no doctests, and modules of one name in several folders cannot be collected.
collect_ignore_glob = ["*conftest.py"]


@pytest.fixture(scope="session", autouse=True)
def interrupts_are_heard():
    """Take Ctrl-C also where the shell has it ignored, as for what runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def available_instruction_sets():
    best = _native.instruction_set()
    names = [name for name in ("avx512", "avx2", "baseline") if _native.use_instruction_set(name)]
    _native.use_instruction_set(best)
    return names


@pytest.fixture(params=available_instruction_sets())
def instruction_set(request):
    """Run a test once with the kernels of every instruction set that this machine has."""
    before = _native.instruction_set()
    _native.use_instruction_set(request.param)
    yield request.param
    _native.use_instruction_set(before)
