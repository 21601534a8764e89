"""Files that are whole or not there."""

import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap

import pytest

from amclust.io.files import atomic_write

on_posix = pytest.mark.skipif(os.name != "posix", reason="permissions, links and devices of POSIX")


def write(path, content, *, overwrite=True):
    with atomic_write(path, overwrite=overwrite) as file:
        file.write(content)


def fail_after(path, content, failure):
    with atomic_write(path, overwrite=True) as file:
        file.write(content)
        raise failure


def test_the_content_appears_at_the_end(tmp_path):
    path = tmp_path / "a.bin"
    with atomic_write(path, overwrite=False) as file:
        file.write(b"one")
        assert not path.exists()
        file.seek(0)
        file.write(b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_the_content_is_on_disk_before_it_appears(tmp_path, monkeypatch):
    path = tmp_path / "a.bin"
    synced = []

    def sync(descriptor):
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        synced.append((regular, os.fstat(descriptor).st_size if regular else 0, path.exists()))

    monkeypatch.setattr(os, "fsync", sync)
    write(path, b"content")
    assert synced[0] == (True, 7, False)
    # Then the folder, where there is such a thing.
    assert synced[1:] in ([], [(False, 0, True)])


def test_a_name_as_long_as_the_disk_allows(tmp_path):
    path = tmp_path / ("ä" * 120)
    write(path, b"x")
    assert path.read_bytes() == b"x"


def test_a_file_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("a.bin", b"x")
    assert os.listdir(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, failure):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(failure):
        fail_after(path, b"new" * 100_000, failure)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_an_existing_file_is_refused_before_anything_is_written(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError, match="a.bin' exists; .* pass overwrite=True"):
        write(path, b"new", overwrite=False)
    assert path.read_bytes() == b"old"


def test_a_file_that_came_into_being_meanwhile_is_kept(tmp_path):
    path = tmp_path / "a.bin"
    file = atomic_write(path, overwrite=False)
    file.__enter__().write(b"mine")
    path.write_bytes(b"theirs")
    with pytest.raises(FileExistsError):
        file.__exit__(None, None, None)
    assert path.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["a.bin"]


@on_posix
def test_permissions_are_those_of_the_umask_or_of_the_replaced_file(tmp_path):
    path = tmp_path / "a.bin"
    umask = os.umask(0o027)
    try:
        write(path, b"new")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        write(path, b"newer")
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(umask)


@on_posix
@pytest.mark.parametrize("exists", [True, False])
def test_what_a_link_points_to_is_replaced(tmp_path, exists):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "a.bin", tmp_path / "link.bin"
    if exists:
        target.write_bytes(b"old")
    link.symlink_to(target)
    write(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert os.listdir(tmp_path / "folder") == ["a.bin"]


def test_a_missing_folder_and_a_folder_in_its_place_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="cannot write .*nowhere' does not exist"):
        write(tmp_path / "nowhere" / "a.bin", b"x")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        write(tmp_path, b"x")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError, match="cannot write .*a.bin': not a directory"):
        write(tmp_path / "file" / "a.bin", b"x")


@on_posix
@pytest.mark.skipif(hasattr(os, "getuid") and os.getuid() == 0, reason="root may write anywhere")
def test_write_protection_is_respected(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="cannot write .*a.bin': the file there"):
        write(path, b"new")
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(PermissionError, match="cannot write .*b.bin': permission denied"):
            write(tmp_path / "b.bin", b"new")
    finally:
        tmp_path.chmod(0o755)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("size", [10, 1_000_000])
def test_a_full_disk_is_named(size):
    with pytest.raises(OSError, match="cannot write '/dev/full': no space left") as caught:
        write("/dev/full", b"x" * size)
    assert caught.value.errno == errno.ENOSPC


@on_posix
def test_a_file_over_the_limit_leaves_the_old_one(tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(OSError, match="cannot write .*a.bin': file too large"):
            write(path, b"x" * 200_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


@on_posix
def test_a_device_is_written_to_and_stays_a_device():
    write(os.devnull, b"x")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@on_posix
def test_a_killed_process_leaves_the_old_file(tmp_path):
    """And a part, which the next one that writes this file removes."""
    path, other = tmp_path / "a.bin", tmp_path / ".b.bin.0123abcd.part"
    other.write_bytes(b"of another file")
    path.write_bytes(b"old")
    program = """
        import os, signal, sys
        from amclust.io.files import atomic_write
        with atomic_write(sys.argv[1], overwrite=True) as file:
            file.write(b"new" * 1_000_000)
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    (left,) = set(os.listdir(tmp_path)) - {"a.bin", other.name}
    assert left.endswith(".part")
    write(path, b"whole")
    assert set(os.listdir(tmp_path)) == {"a.bin", other.name}


@on_posix
def test_a_writer_that_is_alive_keeps_its_part(tmp_path):
    path = tmp_path / "a.bin"
    with atomic_write(path, overwrite=True) as slow:
        slow.write(b"slow")
        slow.flush()
        write(path, b"fast")
        assert path.read_bytes() == b"fast"
    assert path.read_bytes() == b"slow"
    assert os.listdir(tmp_path) == ["a.bin"]
