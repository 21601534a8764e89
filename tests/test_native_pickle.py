"""Plans and records that are sent to another process."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from native import plan_of, rows_of

from amclust import _native

RECORD = [
    "memories",
    "log_weights",
    "loss_curve",
    "last_memories",
    "last_log_weights",
    "moments",
    "weight_moments",
    "energy",
    "last_energy",
    "energy_moments",
]
NUMBERS = ["n_epochs", "loss", "best_epoch", "reseeded", "converged", "improving", "steps"]


def copy_of(value):
    return pickle.loads(pickle.dumps(value))


def table():
    X = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    X[:150] += 5
    return X


def assert_same(a, b):
    for name in RECORD:
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes()
    assert [getattr(a, name) for name in NUMBERS] == [getattr(b, name) for name in NUMBERS]


def states(value):
    """Return a pickled state with arrays as bytes."""
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if hasattr(value, "__getstate__") and type(value).__module__.startswith("amclust"):
        return states(value.__getstate__())
    return [states(part) for part in value] if isinstance(value, tuple) else value


def test_every_field_of_a_plan_comes_back():
    plan = plan_of(table()[:3], "silhouette", beta=0.75, step_size=0.2, n_steps=3, metric="cosine")
    # Nothing is left as it is by default.
    plan.objective.seed, plan.objective.neighbours = 2**63 + 5, 7
    plan.schedule.enough_epochs, plan.schedule.early_stopping = 3, True
    plan.learn_weights, plan.reseed, plan.measure_first = True, False, True
    plan.starts_separated = plan.whole_epochs = plan.exact = True
    plan.keep = _native.Keep.LAST
    plan.pause_at = 4
    plan.energy = np.float32([1.5, 2.5])
    plan.resume(
        np.ones((2, 3, 4), np.float32), np.ones((2, 3), np.float32), 9, np.ones((2, 2), np.float32)
    )
    (plan.earlier,) = _native.train(rows_of(table()), None, None, [plan_of(table()[:3])], 1)
    back = copy_of(plan)
    assert states(back) == states(plan)
    for part, other in (
        (plan, back),
        (plan.objective, back.objective),
        (plan.schedule, back.schedule),
    ):
        for name in dir(part):
            value = getattr(part, name)
            if isinstance(value, bool | int | float | str):
                assert getattr(other, name) == value
    assert_same(back.earlier, plan.earlier)
    assert back.energy.tolist() == [1.5, 2.5]
    assert back.energy_moments.shape == (2, 2)


@pytest.mark.parametrize("exact", [False, True])
def test_records_come_back(exact):
    objective = "reconstruction" if exact else "completion"
    plan = plan_of(table()[:3], objective, exact=exact, learn_weights=not exact)
    (record,) = _native.train(rows_of(table()), None, None, [plan], 1)
    assert_same(copy_of(record), record)


def test_a_plan_trains_to_the_same_bits_elsewhere(tmp_path):
    plan = plan_of(table()[:3], "silhouette", learn_weights=True, batch_size=64)
    plan.pause_at = 2
    (plan.earlier,) = _native.train(rows_of(table()), None, None, [plan], 1)
    plan.pause_at = 2**31 - 1
    (here,) = _native.train(rows_of(table()), None, None, [plan], 1)
    sent, returned = tmp_path / "sent", tmp_path / "returned"
    sent.write_bytes(pickle.dumps((plan, table())))
    code = (
        "import pickle, sys, numpy as np; from pathlib import Path; from amclust import _native\n"
        "plan, X = pickle.loads(Path(sys.argv[1]).read_bytes())\n"
        "units = 'euclidean', np.zeros(4), np.ones(4, np.float32), False\n"
        "rows = _native.dense_rows(X).in_units(*units)\n"
        "Path(sys.argv[2]).write_bytes(pickle.dumps(_native.train(rows, None, None, [plan], 1)[0]))"
    )
    subprocess.run([sys.executable, "-c", code, sent, returned], check=True)
    assert_same(pickle.loads(returned.read_bytes()), here)


def test_damaged_states_are_refused():
    network = plan_of(table()[:3]).network
    state = network.__getstate__()
    with pytest.raises(ValueError, match="another version"):
        _native.Network.__new__(_native.Network).__setstate__(state[:-1])
    with pytest.raises(ValueError, match="does not fit"):
        _native.Network.__new__(_native.Network).__setstate__((7, *state[1:]))
