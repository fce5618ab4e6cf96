"""Locks on the files that a command writes: a second process is refused before it touches anything.

The lock is on a sidecar file, because the file itself may not exist yet, and is replaced while the command runs. The kernel
releases it when its process ends, even by ``kill -9``. A sidecar left behind locks nothing; the next command reuses it.
If somebody removes a sidecar that is in use, its command makes another before it writes, or ends if a second command
was quicker.
"""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import typer

from driftline.cli.options import STDOUT
from driftline.storage import atomic


class InUseError(Exception):
    """Another process is writing the file."""


@contextmanager
def locked(command: str, files: Mapping[str, str | Path | None]) -> Iterator[Callable[[], None]]:
    """Holds a lock on each file, by option. InUseError names the process that holds one of them.

    Yields a function to call before a file is written: it makes sure that the locks are still held. If the file system has
    no locks, the command continues after a warning.
    """
    with ExitStack() as stack:
        held = [
            stack.enter_context(_Lock(command, option, atomic.target(path)))
            for option, path in files.items()
            if path is not None and str(path) != STDOUT
        ]

        def confirm() -> None:
            for lock in held:
                lock.confirm()

        yield confirm


class _Lock:
    def __init__(self, command: str, option: str, place: Path) -> None:
        self.command, self.option, self.place = command, option, place
        self.path = atomic.lock_file(place)

    def __enter__(self) -> _Lock:
        self.handle = self._opened()
        return self

    def confirm(self) -> None:
        """Locks a new file if the old one was removed; raises InUseError if another process did so first."""
        if not atomic.is_at(self.handle, self.path):
            removed, self.handle = (
                self.handle,
                self._opened(f"{self.path.name} was removed while it was locked, and is now "),
            )
            os.close(removed)

    def _opened(self, words: str = "") -> int:
        """Opens and locks the file."""
        while True:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
            try:
                if self._take(handle, words):
                    return handle
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)

    def _take(self, handle: int, words: str) -> bool:
        """Takes the lock; False if the process that held it has removed the file meanwhile."""
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{self.path}: not a regular file")
        taken = atomic.lock(handle)
        if taken is False:
            raise InUseError(f"{self.option} {self.place}: {words}in use by {_holder(handle)}")
        if not atomic.is_at(handle, self.path):
            return False
        if taken is None:
            typer.echo(
                f"driftline {self.command}: {self.place.parent}: the file system has no locks. "
                f"Make sure that no other process writes {self.place.name}",
                err=True,
            )
        with suppress(OSError):  # a full disk: the lock holds anyway
            os.ftruncate(handle, 0)
            os.pwrite(handle, _own_entry().encode(), 0)
        return True

    def __exit__(self, *_: object) -> None:
        if atomic.is_at(self.handle, self.path):
            self.path.unlink()  # while locked, so that whoever opened it meanwhile sees that it is gone
        os.close(self.handle)


def _holder(handle: int) -> str:
    """The process that holds the lock, according to the file."""
    try:
        found = json.loads(os.pread(handle, 1000, 0))
        return f"process {int(found['pid'])} on {str(found['host'])[:100]!r}, since {str(found['since'])[:40]}"
    except (ValueError, KeyError, TypeError):
        return "another process"


def _own_entry() -> str:
    return json.dumps(
        {"pid": os.getpid(), "host": socket.gethostname(), "since": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"}
    )
