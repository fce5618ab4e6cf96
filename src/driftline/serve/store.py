"""Base class of stores, which hold the log, the snapshots and the ids, in SQL that SQLite and PostgreSQL share."""

from __future__ import annotations

import json
import platform
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import driftline
from driftline.serve.models import EarlyLabel, Told
from driftline.serve.problems import StoreError
from driftline.serve.requests import Label
from driftline.serve.unit import Answer

FORMAT = 2
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS models (
  number INTEGER PRIMARY KEY, name TEXT NOT NULL, config TEXT NOT NULL, since REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS log (
  number INTEGER PRIMARY KEY, model INTEGER NOT NULL, kind TEXT NOT NULL, at REAL NOT NULL,
  body BLOB NOT NULL, note BLOB NOT NULL, checksum INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS snapshots (
  model INTEGER NOT NULL, key TEXT NOT NULL, place INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (model, key)
);
CREATE TABLE IF NOT EXISTS aliases (alias TEXT PRIMARY KEY, model TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS early (
  model INTEGER NOT NULL, id TEXT NOT NULL, key TEXT NOT NULL, y REAL NOT NULL, at REAL NOT NULL, PRIMARY KEY (model, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS classes (
  model INTEGER NOT NULL, number INTEGER NOT NULL, label TEXT NOT NULL, PRIMARY KEY (model, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS recent (model INTEGER PRIMARY KEY, place INTEGER NOT NULL, data TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS told (
  model INTEGER NOT NULL, id TEXT NOT NULL, label INTEGER NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL,
  y REAL NOT NULL, prediction REAL, lower REAL, upper REAL, PRIMARY KEY (model, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS told_quantiles (
  model INTEGER NOT NULL, id TEXT NOT NULL, label INTEGER NOT NULL, quantiles TEXT NOT NULL, PRIMARY KEY (model, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS told_by_label ON told (model, label);
CREATE TABLE IF NOT EXISTS room (filler BLOB)
"""


@dataclass(slots=True)
class LogEntry:
    """One call in the log.

    Attributes:
        number: its place, from 1, without gaps.
        model: the number of its model.
        kind: "predict" or "learn".
        at: when, in seconds since 1970.
        body: the body of the request.
        note: JSON that says which rows had an effect, the answers, and which rows were dropped.
    """

    number: int
    model: int
    kind: str
    at: float
    body: bytes
    note: bytes

    def checksum(self) -> int:
        """The checksum of the entry."""
        head = f"{self.number} {self.model} {self.kind} {self.at!r} {len(self.body)} ".encode()
        return zlib.crc32(self.note, zlib.crc32(self.body, zlib.crc32(head)))


@dataclass
class Group:
    """Entries that are committed together."""

    entries: list[LogEntry] = field(default_factory=list)
    told: list[tuple[int, int, Told]] = field(default_factory=list)  # the model, and the label's number in it
    learned: int = 0  # rows
    created: list[tuple[int, str, dict[str, Any], float]] = field(default_factory=list)
    deleted: list[int] = field(default_factory=list)
    aliases: dict[str, str | None] = field(default_factory=dict)  # the names of their models; None for those removed
    classes: list[tuple[int, int, Label]] = field(default_factory=list)  # the model, the number and the label
    early: dict[tuple[int, str], EarlyLabel | None] = field(default_factory=dict)  # by model and id; None once its row came
    snapshots: list[Snapshot] = field(default_factory=list)  # of created models that have learned elsewhere
    recent: list[tuple[int, int, dict[str, Any]]] = field(default_factory=list)  # as :meth:`Store.recent`, for the same

    def __bool__(self) -> bool:
        return bool(self.entries or self.created or self.deleted or self.aliases or self.early or self.classes)


@dataclass(frozen=True)
class Snapshot:
    """A unit of a model, as bytes, with its place in the log."""

    model: int
    key: str
    place: int
    data: bytes


class FullError(StoreError):
    """The disk is full, and nothing was written."""


class LostError(StoreError):
    """The store is no longer reachable. Whether the last group was written is known only when it is reachable again."""


class Store(ABC):
    """A log, snapshots and ids that survive the process.

    The queries are written once, in SQLite's dialect. A subclass has the connection, and translates them if needed.

    Attributes:
        where: names the store in messages.
        written_by: the :func:`setting` of the log's entries.
    """

    where: str
    written_by: dict[str, Any]

    @abstractmethod
    def lead(self) -> bool:
        """Whether this service, and no other, may use the store."""

    @abstractmethod
    def check(self) -> None:
        """Raises LostError if this service may not use the store any more."""

    @abstractmethod
    def close(self) -> None:
        """Ends the use of the store."""

    @abstractmethod
    def _read(self, query: str, *values: Any) -> list[Any]:
        """All rows of a short result."""

    def view(self) -> AbstractContextManager[None]:
        """A consistent view of what the leader has written, for a service that does not lead; LostError if there is none."""
        raise LostError("no other service can lead")

    @abstractmethod
    def _stream(self, query: str, *values: Any) -> Iterator[Any]:
        """Iterates over the rows of a long result."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[Any]:
        """A cursor whose changes are on disk when the block ends. FullError means a full disk, and no change."""

    def _prepare(self) -> None:
        """Creates the tables of a new store; raises StoreError if they are of another version."""
        first = {"format": str(FORMAT), "cut": "0", "number": "0", "setting": json.dumps(setting())}
        with self._transaction() as cursor:
            for statement in _TABLES.split(";"):
                cursor.execute(statement)
            if not self._read("SELECT 1 FROM meta"):
                cursor.executemany("INSERT INTO meta VALUES (?, ?)", list(first.items()))
            if (found := self._meta("format")) != str(FORMAT):
                raise StoreError(f"{self.where}: written in format {found}; this driftline reads format {FORMAT}")
        self.written_by = json.loads(self._meta("setting"))

    # Reading.

    def _meta(self, name: str) -> str:
        found = self._read("SELECT value FROM meta WHERE name = ?", name)
        if not found:
            raise StoreError(f"{self.where}: the table meta lacks {name}")
        return str(found[0][0])

    def newest_number(self) -> int:
        """The largest number that a model was ever given."""
        return int(self._meta("number"))

    def cut(self) -> int:
        """The number of the last entry that was removed from the log."""
        return int(self._meta("cut"))

    def models(self) -> list[tuple[int, str, dict[str, Any], float, int]]:
        """The models: number, name, configuration, time of creation, and the number of labels with an id."""
        query = """SELECT number, name, config, since, (SELECT coalesce(max(label), 0) FROM told WHERE model = number)
                   FROM models ORDER BY number"""
        return [(number, name, json.loads(text), *rest) for number, name, text, *rest in self._read(query)]

    def aliases(self) -> dict[str, str]:
        """The aliases, and the names of their models."""
        return dict(self._read("SELECT alias, model FROM aliases ORDER BY alias"))

    def snapshots(self) -> Iterator[Snapshot]:
        """All snapshots."""
        for row in self._stream("SELECT model, key, place, data FROM snapshots"):
            yield Snapshot(*row)

    def snapshot_places(self) -> list[tuple[int, str]]:
        """The model and the key of each snapshot."""
        return [(model, key) for model, key in self._read("SELECT model, key FROM snapshots ORDER BY model, key")]

    def snapshot(self, model: int, key: str) -> Snapshot:
        """One snapshot."""
        query = "SELECT model, key, place, data FROM snapshots WHERE model = ? AND key = ?"
        return Snapshot(*self._read(query, model, key)[0])

    def early(self) -> Iterator[tuple[int, str, EarlyLabel]]:
        """The labels that wait for their rows, the oldest first: the model, the id and the label."""
        for model, id, key, y in self._stream("SELECT model, id, key, y FROM early ORDER BY at"):
            yield model, id, EarlyLabel(key, y)

    def classes(self) -> dict[int, list[Label]]:
        """The classes of models, in the order of their numbers."""
        found: dict[int, list[Label]] = {}
        for model, label in self._read("SELECT model, label FROM classes ORDER BY model, number"):
            found.setdefault(model, []).append(json.loads(label))
        return found

    def recent(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """The slots of the recent scores of models: the model, the last entry that they include, and their state."""
        for model, place, data in self._stream("SELECT model, place, data FROM recent"):
            yield model, place, json.loads(data)

    def entries(self, after: int) -> Iterator[LogEntry]:
        """The entries of the log after a number; raises StoreError for the first that is damaged or missing."""
        expected = after + 1
        query = "SELECT number, model, kind, at, body, note, checksum FROM log WHERE number > ? ORDER BY number"
        for *fields, checksum in self._stream(query, after):
            entry = LogEntry(*fields)
            if entry.number != expected:
                raise StoreError(f"{self.where}: entry {expected} of the log is missing; the next is {entry.number}")
            if not isinstance(entry.body, bytes) or not isinstance(entry.note, bytes) or entry.checksum() != checksum:
                raise StoreError(f"{self.where}: entry {expected} of the log is damaged: its checksum does not match")
            expected += 1
            yield entry

    def remembered(self, model: int, id: str) -> Told | None:
        """The record of an id whose label was learned."""
        query = """SELECT key, digest, y, prediction, lower, upper, quantiles
                   FROM told LEFT JOIN told_quantiles ON told_quantiles.model = told.model AND told_quantiles.id = told.id
                   WHERE told.model = ? AND told.id = ?"""
        for key, digest, y, *answer, quantiles in self._read(query, model, id):
            return Told(
                id, key, digest, y, Answer.of_plain(answer if quantiles is None else [*answer, json.loads(quantiles)])
            )
        return None

    def told_among(self, model: int, ids: Sequence[str]) -> set[str]:
        """Those ids whose label was learned."""
        found: set[str] = set()
        for start in range(0, len(ids), 500):
            some = ids[start : start + 500]
            query = f"SELECT id FROM told WHERE model = ? AND id IN ({', '.join('?' * len(some))})"
            found.update(id for (id,) in self._read(query, model, *some))
        return found

    # Writing.

    def settle(self) -> None:
        """Records that all entries were replayed in the current setting."""
        self.written_by = setting()
        with self._transaction() as cursor:
            cursor.execute("UPDATE meta SET value = ? WHERE name = 'setting'", (json.dumps(self.written_by),))

    def commit(self, group: Group) -> None:
        """Writes a group, and returns once it is on disk. Raises FullError if the disk is full; nothing is written."""
        with self._transaction() as cursor:
            for number, name, config, since in group.created:
                cursor.execute("INSERT INTO models VALUES (?, ?, ?, ?)", (number, name, json.dumps(config), since))
                cursor.execute("UPDATE meta SET value = ? WHERE name = 'number'", (str(number),))
            _write_contents(cursor, group.snapshots, group.recent)
            cursor.executemany("DELETE FROM early WHERE model = ? AND id = ?", list(group.early))
            now = time.time()
            cursor.executemany(
                "INSERT INTO early VALUES (?, ?, ?, ?, ?)",
                [(*place, *label, now) for place, label in group.early.items() if label is not None],
            )
            for number in group.deleted:
                cursor.execute("DELETE FROM models WHERE number = ?", (number,))
                cursor.execute("DELETE FROM snapshots WHERE model = ?", (number,))
                cursor.execute("DELETE FROM recent WHERE model = ?", (number,))
                cursor.execute("DELETE FROM early WHERE model = ?", (number,))
                cursor.execute("DELETE FROM classes WHERE model = ?", (number,))
            cursor.executemany(
                "INSERT INTO classes VALUES (?, ?, ?)",
                [(model, number, json.dumps(label)) for model, number, label in group.classes if model not in group.deleted],
            )
            for alias, of in group.aliases.items():
                cursor.execute("DELETE FROM aliases WHERE alias = ?", (alias,))
                if of is not None:
                    cursor.execute("INSERT INTO aliases VALUES (?, ?)", (alias, of))
            cursor.executemany(
                "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(e.number, e.model, e.kind, e.at, e.body, e.note, e.checksum()) for e in group.entries],
            )
            cursor.executemany(
                "INSERT INTO told VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(model, t.id, label, t.key, t.digest, t.y, *t.answer[:3]) for model, label, t in group.told],
            )
            cursor.executemany(
                "INSERT INTO told_quantiles VALUES (?, ?, ?, ?)",
                [(model, t.id, label, json.dumps(q)) for model, label, t in group.told if (q := t.answer.quantiles)],
            )

    def save(self, snapshots: list[Snapshot], recent: list[tuple[int, int, dict[str, Any]]], cut: int) -> None:
        """Replaces snapshots and recent scores, and removes the log up to an entry."""
        with self._transaction() as cursor:
            _write_contents(cursor, snapshots, recent)
            cursor.execute("DELETE FROM log WHERE number <= ?", (cut,))
            cursor.execute("UPDATE meta SET value = ? WHERE name = 'cut'", (str(cut),))

    def forget(self, model: int, through: int) -> None:
        """Forgets the ids of labels up to a number."""
        with self._transaction() as cursor:
            for table in ("told", "told_quantiles"):
                cursor.execute(f"DELETE FROM {table} WHERE model = ? AND label <= ?", (model, through))

    def tidy(self) -> bool:
        """Removes some ids of deleted models; returns whether there may be more."""
        query = """DELETE FROM {0} WHERE (model, id) IN (
                     SELECT model, id FROM {0} WHERE model NOT IN (SELECT number FROM models) LIMIT 5000)"""
        with self._transaction() as cursor:
            removed = [cursor.execute(query.format(table)).rowcount for table in ("told", "told_quantiles")]
            return any(rows > 0 for rows in removed)

    def probe(self) -> bool:
        """Whether the disk has room again."""
        try:
            with self._transaction() as cursor:
                cursor.execute("INSERT INTO room VALUES (?)", (bytes(2**18),))
            with self._transaction() as cursor:
                cursor.execute("DELETE FROM room")
        except FullError:
            return False
        return True


def _write_contents(cursor: Any, snapshots: list[Snapshot], recent: list[tuple[int, int, dict[str, Any]]]) -> None:
    query = """INSERT INTO snapshots VALUES (?, ?, ?, ?)
               ON CONFLICT (model, key) DO UPDATE SET place = excluded.place, data = excluded.data"""
    cursor.executemany(query, [(each.model, each.key, each.place, each.data) for each in snapshots])
    query = """INSERT INTO recent VALUES (?, ?, ?)
               ON CONFLICT (model) DO UPDATE SET place = excluded.place, data = excluded.data"""
    cursor.executemany(query, [(model, place, json.dumps(state)) for model, place, state in recent])


def setting() -> dict[str, Any]:
    """Describes the versions and the hardware that decide whether a replay gives the same bits."""
    from driftline import _core

    return {"driftline": driftline.__version__, "machine": platform.machine(), "instructions": _core.instruction_set()}
