"""Functions for workers to die in, to fail in and to wait in."""

import os
import signal
import time


def die_once(marker, function, *given, **named):
    """Kill the process of the first call; a file says that this has happened."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        os.kill(os.getpid(), signal.SIGKILL)
    except FileExistsError:
        pass
    return function(*given, **named)


def wait_long(block, marker):
    """Say by a file that a block is being read, which ends when the file is gone."""
    with open(marker, "w"):
        while os.path.exists(marker):
            time.sleep(0.05)
    return block


def task_names(dask_scheduler):
    """Return the keys of tasks that a scheduler knows."""
    return [str(key) for key in dask_scheduler.tasks]
