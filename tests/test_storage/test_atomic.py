"""Temporary files: unpredictable, exclusive, never written through a link, and cleaned up after a killed writer."""

import os
import subprocess
import sys

import pytest

from driftline.storage import atomic

KILLED = """
import os, sys
from driftline.storage import atomic

os.replace = lambda *_: os.kill(os.getpid(), 9)
atomic.write(sys.argv[1], b"new")
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def leftover(tmp_path):
    """A temporary file of ``a`` left by a killed writer."""
    subprocess.run([sys.executable, "-c", KILLED, tmp_path / "a"], check=False)
    (part,) = tmp_path.iterdir()
    assert atomic.is_sidecar(part)
    return part


def test_a_file_is_replaced_whole_with_the_permissions_of_a_new_file(tmp_path):
    path = tmp_path / "a"
    atomic.write(path, b"one")
    atomic.write(path, iter([b"two", memoryview(b" and three")]))
    (tmp_path / "plain").touch()
    assert path.read_bytes() == b"two and three"
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert names(tmp_path) == ["a", "plain"]


def test_a_users_part_file_and_a_link_in_its_place_are_left_alone(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / "a.part").symlink_to(victim)
    (tmp_path / "b.part").write_bytes(b"mine")
    for name in "ab":
        atomic.write(tmp_path / name, b"new")
    assert (tmp_path / "a.part").is_symlink()
    assert (victim.read_bytes(), (tmp_path / "b.part").read_bytes()) == (b"precious", b"mine")


def test_a_link_with_the_name_of_a_temporary_file_is_neither_followed_nor_removed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    part = atomic.temporary(tmp_path / "a", atomic.new_token())
    part.symlink_to(victim)
    with pytest.raises(FileExistsError):
        atomic.create(part)
    with pytest.raises(OSError, match=r"[Ll]ink"):
        atomic.reopen(part)
    atomic.write(tmp_path / "a", b"new")
    assert part.is_symlink()
    assert victim.read_bytes() == b"precious"


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "there").mkdir()
    for name in ("old", "absent"):
        (tmp_path / name).symlink_to(tmp_path / "there" / name)
    (tmp_path / "there" / "old").write_bytes(b"old")
    for name in ("old", "absent"):
        atomic.write(tmp_path / name, b"new")
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "there" / name).read_bytes() == b"new"
    assert names(tmp_path / "there") == ["absent", "old"]


def test_the_next_writer_removes_the_file_of_a_killed_one(leftover, tmp_path):
    atomic.write(tmp_path / "b", b"another file")
    assert leftover.exists()
    atomic.write(tmp_path / "a", b"new")
    assert names(tmp_path) == ["a", "b"]


def test_a_temporary_file_in_use_is_not_removed(tmp_path):
    part = atomic.temporary(tmp_path / "a", atomic.new_token())
    with atomic.create(part):
        atomic.write(tmp_path / "a", b"new")
        assert part.exists()
    atomic.sweep(tmp_path / "a")
    assert names(tmp_path) == ["a"]


def test_without_locks_no_temporary_file_is_removed(leftover, tmp_path, monkeypatch):
    """Without locks it is unknown whether the writer is alive."""

    def flock(*_):
        raise OSError(atomic.errno.ENOTSUP, "no locks here")

    monkeypatch.setattr(atomic.fcntl, "flock", flock)
    atomic.write(tmp_path / "a", b"new")
    assert names(tmp_path) == ["a", leftover.name]


def test_a_temporary_file_removed_before_it_is_locked_is_created_again(tmp_path, monkeypatch):
    part, lock = atomic.temporary(tmp_path / "a", atomic.new_token()), atomic.lock

    def late(handle):
        monkeypatch.setattr(atomic, "lock", lock)
        part.unlink()
        return lock(handle)

    monkeypatch.setattr(atomic, "lock", late)
    with atomic.create(part) as file:
        assert atomic.is_at(file.fileno(), part)


@pytest.mark.parametrize("length", [200, 224, 255])
def test_the_longest_names_have_temporary_files_too(tmp_path, length):
    path = tmp_path / ("n" * length)
    atomic.write(path, b"new")
    assert atomic.is_sidecar(atomic.temporary(path, atomic.new_token()))
    assert names(tmp_path) == [path.name]


def test_only_regular_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to(os.devnull)
    for name in ("pipe", "null", "."):
        with pytest.raises(OSError, match="not a regular file"):
            atomic.write(tmp_path / name, b"new")
    assert names(tmp_path) == ["null", "pipe"]


def test_an_error_names_the_file(tmp_path):
    def full():
        yield b"some"
        raise OSError(atomic.errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=r"No space left on device: .*target"):
        atomic.write(tmp_path / "target", full())
    assert names(tmp_path) == []
