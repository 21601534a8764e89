"""A deep fit that is killed, interrupted or stopped goes on from its file, to the same bits."""

import contextlib
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import make_blobs

torch = pytest.importorskip("torch")

from deep_fits import assert_same_fit, modules, small  # noqa: E402

from amclust.io.container import read, write  # noqa: E402
from amclust.torch.deep._checkpoint import FIT  # noqa: E402

X = make_blobs(150, 6, centers=3, random_state=0)[0]
# Three epochs of pre-training, the seeding and four epochs of training end with a save each.
N_SAVES = 8


class StoppedError(Exception):
    """A fit was stopped."""


@contextlib.contextmanager
def stopped_at(n, *, killed=False):
    """Make the n-th save fail half way, which ends the fit."""
    left = n

    def fsync(descriptor):
        nonlocal left
        left -= stat.S_ISREG(os.fstat(descriptor).st_mode)  # not of the folder
        if left == 0 and killed:
            os.kill(os.getpid(), signal.SIGKILL)
        if left == 0:
            raise StoppedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(StoppedError):
            yield


def history(path):
    """Return the epochs that are in a file."""
    return dict(read(path, FIT, "")[0]["state"]["items"])["history"]


@pytest.mark.parametrize("with_modules", [False, True])
def test_a_fit_stopped_anywhere_goes_on_to_the_same_bits(tmp_path, with_modules):
    pair = modules() if with_modules else ((16,), None)
    whole = small(3, *pair).fit(X)
    for stop in range(1, N_SAVES + 1):
        path = tmp_path / f"{stop}.amc"
        with stopped_at(stop):
            small(3, *pair, checkpoint=path).fit(X)
        assert path.exists() == (stop > 1)  # the last whole one
        assert_same_fit(small(3, *pair, checkpoint=path).fit(X), whole)
        assert [file.name for file in tmp_path.iterdir()] == [path.name]
        path.unlink()


def test_a_finished_fit_is_read_from_its_file(tmp_path, monkeypatch):
    model = small(checkpoint=tmp_path / "fit.amc").fit(X)
    monkeypatch.setattr(os, "fsync", None)  # nothing is saved any more
    assert_same_fit(small(checkpoint=str(tmp_path / "fit.amc")).fit(X), model)


def test_chance_that_was_drawn_before_is_kept(tmp_path):
    path = tmp_path / "fit.amc"
    with stopped_at(5):
        small(checkpoint=path, random_state=None).fit(X)
    half = path.read_bytes()
    one = small(checkpoint=path, random_state=None).fit(X)
    path.write_bytes(half)
    assert_same_fit(small(checkpoint=path, random_state=None).fit(X), one)


def test_fewer_saves_change_nothing(tmp_path):
    path = tmp_path / "fit.amc"
    with stopped_at(2):
        small(checkpoint=path, checkpoint_every=3).fit(X)
    model = small(checkpoint=path, checkpoint_every=2, verbose=0).fit(X)
    assert_same_fit(model, small().fit(X))
    assert len(history(path)) == 5  # the end is saved in any case


KILLED = """
import sys, torch
torch.set_num_threads(1)
from test_deep_checkpoint import X, small, stopped_at

with stopped_at(6, killed=True):  # in the midst of that save
    small(checkpoint=sys.argv[1]).fit(X)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_fit_goes_on(tmp_path):
    path = tmp_path / "fit.amc"
    command = [sys.executable, "-c", KILLED, str(path)]
    here = Path(__file__).parent
    killed = subprocess.run(command, check=False, capture_output=True, text=True, cwd=here)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert len(list(tmp_path.glob(".fit.amc.*.part"))) == 1
    assert len(history(path)) == 2  # the seeding and an epoch
    assert_same_fit(small(checkpoint=path).fit(X), small().fit(X))


def test_the_file_of_another_fit_is_refused_with_what_differs(tmp_path):
    path = tmp_path / "fit.amc"
    small(3, *modules(), checkpoint=path, max_epochs=0).fit(X)
    other = X.copy()
    other[3, 1] += 1
    with pytest.raises(ValueError, match="is of another deep fit, which differs in: X. Name"):
        small(3, *modules(), checkpoint=path, max_epochs=0).fit(other)
    message = r"differs in: max_epochs \(0 there, 9 here\), n_steps \(5 there, 4 here\)"
    with pytest.raises(ValueError, match=message):
        small(3, *modules(), checkpoint=path, max_epochs=9, n_steps=4).fit(X)
    with pytest.raises(ValueError, match=r"encoder \(Sequential \w+ there, Sequential \w+ here\)"):
        small(3, *modules(seed=1), checkpoint=path, max_epochs=0).fit(X)
    with pytest.raises(ValueError, match="differs in: random_state"):
        small(3, *modules(), checkpoint=path, max_epochs=0, random_state=1).fit(X)
    # These change nothing in what is computed.
    small(3, *modules(), checkpoint=path, max_epochs=0, device="cpu", checkpoint_every=3).fit(X)


def damages(content):
    middle = len(content) // 2
    yield b"", "is not a checkpoint of DeepClAM: it is empty"
    yield b"nothing of the kind", "is not a checkpoint of DeepClAM: it has another format"
    yield content[:middle], "is damaged: .*checksum"
    yield content[:middle] + bytes(64) + content[middle + 64 :], "is damaged: .*checksum"


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "fit.amc"
    small(checkpoint=path, max_epochs=0).fit(X)
    for content, message in damages(path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"fit.amc' {message}"):
            small(checkpoint=path, max_epochs=0).fit(X)
        assert path.read_bytes() == content
    write(path, FIT._replace(name="something else"), {}, {})
    with pytest.raises(ValueError, match="it is the file of a something else"):
        small(checkpoint=path).fit(X)


@pytest.mark.parametrize(
    "change",
    [
        {"optimizer": {"items": []}},
        {"history": [[1, 2]]},
        {"best": {"items": [["other", 1]]}},
        *({"generator": state} for state in ([1, 2], {"tensor": "no such"})),
        {"generator": {"tensor": "state/network/memory.memories"}},
        {"network": {"items": [["memory.memories", {"tensor": "state/generator"}]]}},
        *({"network": state} for state in (None, {"import": "os"})),
    ],
)
def test_a_state_that_does_not_fit_is_refused(tmp_path, change):
    path = tmp_path / "fit.amc"
    small(checkpoint=path, max_epochs=0).fit(X)
    header, arrays = read(path, FIT, "")
    state = dict(header["state"]["items"]) | change
    write(path, FIT, header | {"state": {"items": list(state.items())}}, arrays)
    with pytest.raises(ValueError, match="fit.amc' is damaged"):
        small(checkpoint=path, max_epochs=0).fit(X)


def test_a_file_cannot_run_code(tmp_path):
    path = tmp_path / "fit.amc"
    torch.save({"kind": FIT.name, "fingerprint": {}, "state": StoppedError}, path)
    with pytest.raises(ValueError, match="is not a checkpoint of DeepClAM"):
        small(checkpoint=path).fit(X)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({1, 2}, "tensors, numbers and text, got a set"),
        (torch.zeros(2, dtype=torch.bfloat16), "dense tensors .*got a tensor of torch.bfloat16"),
        (torch.eye(2).to_sparse(), "dense tensors .*torch.sparse_coo"),
    ],
)
def test_what_a_file_cannot_hold_is_named(tmp_path, state, words):
    class Strange(torch.nn.Linear):
        def get_extra_state(self):
            return state

        def set_extra_state(self, state):
            pass

    pair = Strange(6, 2), torch.nn.Linear(2, 6)
    with pytest.raises(TypeError, match=f"A checkpoint holds {words}.* in .*_extra_state"):
        small(3, *pair, checkpoint=tmp_path / "fit.amc").fit(X)
    assert list(tmp_path.iterdir()) == []


def test_places_that_no_file_can_have_are_refused(tmp_path):
    with pytest.raises(ValueError, match="is a folder; name a file"):
        small(checkpoint=tmp_path).fit(X)
    with pytest.raises(ValueError, match="there is no folder"):
        small(checkpoint=tmp_path / "none" / "fit.amc").fit(X)
