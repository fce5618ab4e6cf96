"""The log, the snapshots and the ids in an SQLite file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from driftline.serve import wal
from driftline.serve.problems import StoreError
from driftline.serve.store import FullError, Store
from driftline.storage import atomic

FILE, LOCK = "service.sqlite", "service.lock"


class SqliteStore(Store):
    """One file of SQLite with its write-ahead log, synchronous on every commit. One process at a time.

    Args:
        folder: created if it does not exist.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.path = folder / FILE
        self.where = str(self.path)
        self._lock = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        if atomic.lock(self._lock) is False:
            raise StoreError(f"{folder}: another service uses this folder")
        wal.check(self.path)
        with _explained(self.path):
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, cached_statements=64)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._prepare()

    def lead(self) -> bool:
        """Always True: the lock on the folder is held from the start."""
        return True

    def check(self) -> None:
        """Does nothing: a lock on a folder is never lost."""

    def close(self) -> None:
        """As the base class says."""
        self._db.close()
        os.close(self._lock)

    def _read(self, query: str, *values: Any) -> list[Any]:
        with _explained(self.path):
            return self._db.execute(query, values).fetchall()

    def _stream(self, query: str, *values: Any) -> Iterator[Any]:
        with _explained(self.path):
            for row in self._db.execute(query, values):  # noqa: UP028 - yield from would close the cursor too late
                yield row

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield self._db
            self._db.execute("COMMIT")
        except BaseException as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.OperationalError):
                raise FullError(f"{self.path}: {error}") from error
            raise


def backup(folder: Path, to: Path) -> None:
    """Copies the folder of a running service, with everything acknowledged before the call."""
    source = folder / FILE
    if not source.is_file():
        raise FileNotFoundError(f"{folder}: not the folder of a service: it has no {FILE}")
    to.mkdir(parents=True, exist_ok=True, mode=0o700)
    if (to / FILE).exists():
        raise FileExistsError(f"{to}: has a {FILE} already")
    part = to / f"{FILE}.part"
    part.unlink(missing_ok=True)
    with _explained(source):
        reading, writing = sqlite3.connect(f"file:{source}?mode=rw", uri=True), sqlite3.connect(part)
        try:
            reading.backup(writing)
        finally:
            reading.close()
            writing.close()
    with open(part, "rb+") as file:
        atomic.sync(file)
    os.replace(part, to / FILE)
    handle = os.open(to, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turns SQLite's errors about its file into a StoreError that names the file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path}: damaged, or not a service's log: {error}") from error
