"""Where the log, the snapshots and the ids are kept: what every store offers, and the one in a file of SQLite."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import driftline
from driftline.serve import wal
from driftline.serve.models import Told
from driftline.serve.problems import StoreError
from driftline.storage import atomic

FORMAT = 1
FILE, LOCK = "service.sqlite", "service.lock"


@dataclass(slots=True)
class Entry:
    """One call in the log.

    Attributes:
        number: its place, from 1, without gaps.
        model: the number of its model.
        kind: "predict" or "learn".
        at: when, in seconds since 1970.
        body: the request as it came.
        note: JSON of which rows had an effect, what was answered, and which rows were let go.
    """

    number: int
    model: int
    kind: str
    at: float
    body: bytes
    note: bytes

    def checksum(self) -> int:
        """Over all of it."""
        head = f"{self.number} {self.model} {self.kind} {self.at!r} {len(self.body)} ".encode()
        return zlib.crc32(self.note, zlib.crc32(self.body, zlib.crc32(head)))


@dataclass
class Group:
    """What is committed together."""

    entries: list[Entry] = field(default_factory=list)
    told: list[tuple[int, int, Told]] = field(default_factory=list)  # the model, the label's number in it
    created: list[tuple[int, str, dict[str, Any], float]] = field(default_factory=list)
    deleted: list[int] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.entries or self.created or self.deleted)


@dataclass(frozen=True)
class Snapshot:
    """A unit of a model, as bytes, with its place in the log."""

    model: int
    key: str
    place: int
    data: bytes


class FullError(Exception):
    """There is no room for what was to be written, and nothing of it was."""


class LostError(StoreError):
    """The store cannot be reached any more. Whether the last group was written is known when it can be again."""


class Store(Protocol):
    """A log, snapshots and ids that survive the process.

    Attributes:
        written_by: the :func:`setting` of the log's entries.
    """

    written_by: dict[str, Any]

    def lead(self) -> bool:
        """Whether this service may use the store now, and no other."""

    def check(self) -> None:
        """Raises LostError where this service may not use the store any more."""

    def settle(self) -> None:
        """Notes that all entries were replayed in the present setting."""

    def newest_number(self) -> int:
        """The largest number that a model was ever given."""

    def models(self) -> list[tuple[int, str, dict[str, Any], float, int]]:
        """The models: number, name, configuration, when they were put, and how many labels came with an id."""

    def cut(self) -> int:
        """The last entry that was cut off."""

    def snapshots(self) -> Iterator[Snapshot]:
        """All of them."""

    def entries(self) -> Iterator[Entry]:
        """The log, from the first entry that was not cut off; StoreError at one that is damaged or missing."""

    def remembered(self, model: int, id: str) -> Told | None:
        """What is known of an id whose label was learned."""

    def commit(self, group: Group) -> None:
        """Returns once all of it is on disk. FullError where there is no room: then nothing of it is."""

    def save(self, snapshots: list[Snapshot], cut: int) -> None:
        """Replaces snapshots, and cuts the log behind an entry."""

    def forget(self, model: int, through: int) -> None:
        """Forgets the ids of labels up to a number."""

    def tidy(self) -> bool:
        """Removes some of what deleted models left behind; whether there may be more."""

    def probe(self) -> bool:
        """Whether there is room again."""

    def close(self) -> None:
        """Ends the use of the store."""


def setting() -> dict[str, Any]:
    """What decides whether a replay gives the same bits."""
    from driftline import _core

    return {"driftline": driftline.__version__, "machine": platform.machine(), "instructions": _core.instruction_set()}


_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE models (number INTEGER PRIMARY KEY, name TEXT NOT NULL, config TEXT NOT NULL, since REAL NOT NULL);
CREATE TABLE log (
  number INTEGER PRIMARY KEY, model INTEGER NOT NULL, kind TEXT NOT NULL, at REAL NOT NULL,
  body BLOB NOT NULL, note BLOB NOT NULL, checksum INTEGER NOT NULL
);
CREATE TABLE snapshots (
  model INTEGER NOT NULL, key TEXT NOT NULL, place INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (model, key)
);
CREATE TABLE told (
  model INTEGER NOT NULL, id TEXT NOT NULL, label INTEGER NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL,
  y REAL NOT NULL, prediction REAL NOT NULL, lower REAL, upper REAL, PRIMARY KEY (model, id)
) WITHOUT ROWID;
CREATE INDEX told_by_label ON told (model, label);
CREATE TABLE room (filler BLOB);
"""


class SqliteStore:
    """One file of SQLite with its write-ahead log, synchronous on every commit. One process at a time.

    Args:
        folder: is made where it is not there.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.path = folder / FILE
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
        """As the protocol says: the lock on the folder is held from the start."""
        return True

    def check(self) -> None:
        """As the protocol says: a lock on a folder is never lost."""

    def _prepare(self) -> None:
        db = self._db
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            db.executescript(f"BEGIN IMMEDIATE; {_TABLES}")
            first = {"format": str(FORMAT), "cut": "0", "number": "0", "setting": json.dumps(setting())}
            db.executemany("INSERT INTO meta VALUES (?, ?)", first.items())
            db.execute("COMMIT")
        found = self._meta("format")
        if found != str(FORMAT):
            raise StoreError(f"{self.path}: written in format {found}; this driftline reads format {FORMAT}")
        self.written_by: dict[str, Any] = json.loads(self._meta("setting"))

    def _meta(self, name: str) -> str:
        return str(self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()[0])

    def settle(self) -> None:
        """As the protocol says."""
        self.written_by = setting()
        self._db.execute("UPDATE meta SET value = ? WHERE name = 'setting'", (json.dumps(self.written_by),))

    # Reading.

    def models(self) -> list[tuple[int, str, dict[str, Any], float, int]]:
        """As the protocol says."""
        query = """SELECT number, name, config, since, (SELECT coalesce(max(label), 0) FROM told WHERE model = number)
                   FROM models ORDER BY number"""
        with _explained(self.path):
            return [(number, name, json.loads(text), since, labels)
                    for number, name, text, since, labels in self._db.execute(query)]  # fmt: skip

    def newest_number(self) -> int:
        """As the protocol says."""
        return int(self._meta("number"))

    def cut(self) -> int:
        """As the protocol says."""
        return int(self._meta("cut"))

    def snapshots(self) -> Iterator[Snapshot]:
        """As the protocol says."""
        with _explained(self.path):
            for row in self._db.execute("SELECT model, key, place, data FROM snapshots"):
                yield Snapshot(*row)

    def entries(self) -> Iterator[Entry]:
        """As the protocol says."""
        with _explained(self.path):
            rows = self._db.execute("SELECT number, model, kind, at, body, note, checksum FROM log ORDER BY number")
            yield from sound(rows, self.cut(), str(self.path))

    def remembered(self, model: int, id: str) -> Told | None:
        """As the protocol says."""
        query = "SELECT key, digest, y, prediction, lower, upper FROM told WHERE model = ? AND id = ?"
        row = self._db.execute(query, (model, id)).fetchone()
        return None if row is None else Told(id, row[0], row[1], row[2], (row[3], row[4], row[5]))

    # Writing.

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
                raise FullError(str(error)) from error
            raise

    def commit(self, group: Group) -> None:
        """As the protocol says."""
        with self._transaction() as db:
            for number, name, config, since in group.created:
                db.execute("INSERT INTO models VALUES (?, ?, ?, ?)", (number, name, json.dumps(config), since))
                db.execute("UPDATE meta SET value = ? WHERE name = 'number'", (str(number),))
            for number in group.deleted:
                db.execute("DELETE FROM models WHERE number = ?", (number,))
                db.execute("DELETE FROM snapshots WHERE model = ?", (number,))
            db.executemany(
                "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(e.number, e.model, e.kind, e.at, e.body, e.note, e.checksum()) for e in group.entries],
            )
            db.executemany(
                "INSERT INTO told VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(model, t.id, label, t.key, t.digest, t.y, *t.answer) for model, label, t in group.told],
            )

    def save(self, snapshots: list[Snapshot], cut: int) -> None:
        """As the protocol says."""
        with self._transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)",
                [(s.model, s.key, s.place, s.data) for s in snapshots],
            )
            db.execute("DELETE FROM log WHERE number <= ?", (cut,))
            db.execute("UPDATE meta SET value = ? WHERE name = 'cut'", (str(cut),))

    def forget(self, model: int, through: int) -> None:
        """As the protocol says."""
        with self._transaction() as db:
            db.execute("DELETE FROM told WHERE model = ? AND label <= ?", (model, through))

    def tidy(self) -> bool:
        """As the protocol says."""
        query = """DELETE FROM told WHERE (model, id) IN (
                     SELECT model, id FROM told WHERE model NOT IN (SELECT number FROM models) LIMIT 5000)"""
        with self._transaction() as db:
            return db.execute(query).rowcount > 0

    def probe(self) -> bool:
        """As the protocol says."""
        try:
            with self._transaction() as db:
                db.execute("INSERT INTO room VALUES (zeroblob(262144))")
            with self._transaction() as db:
                db.execute("DELETE FROM room")
        except FullError:
            return False
        return True

    def close(self) -> None:
        """As the protocol says."""
        self._db.close()
        os.close(self._lock)


def sound(rows: Any, cut: int, where: str) -> Iterator[Entry]:
    """Entries as they were written; StoreError names the first that is damaged or missing."""
    expected = cut + 1
    for number, model, kind, at, body, note, checksum in rows:
        if number != expected:
            raise StoreError(f"{where}: entry {expected} of the log is missing; the next is {number}")
        entry = Entry(number, model, kind, at, body, note)
        if not isinstance(body, bytes) or not isinstance(note, bytes) or entry.checksum() != checksum:
            raise StoreError(f"{where}: entry {number} of the log is damaged: its checksum does not agree")
        expected += 1
        yield entry


def backup(folder: Path, to: Path) -> None:
    """Copies a service's folder into a new one while the service runs: all that was acknowledged before the call."""
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
    """What SQLite finds wrong with its file, by the file's name."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path}: damaged, or not a service's log: {error}") from error
