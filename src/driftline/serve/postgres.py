"""The log, the snapshots and the ids in PostgreSQL. Several services may share a database: one of them leads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from driftline.errors import missing_extra
from driftline.serve.models import Told
from driftline.serve.problems import StoreError
from driftline.serve.store import FORMAT, Entry, FullError, Group, LostError, Snapshot, setting, sound

try:
    import psycopg
except ImportError:
    raise missing_extra("PostgreSQL needs", "psycopg", "postgres") from None

_LOCK = 0x64726966746C  # of the session that leads; PostgreSQL frees it when the session ends
_FULL = ("53100", "53200", "54000")  # disk full, out of memory, a limit of the program
_OPTIONS: dict[str, Any] = {"autocommit": True, "connect_timeout": 5, "tcp_user_timeout": 5000, "client_encoding": "utf8"}
_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE models (number BIGINT PRIMARY KEY, name TEXT NOT NULL, config TEXT NOT NULL, since DOUBLE PRECISION NOT NULL);
CREATE TABLE log (
  number BIGINT PRIMARY KEY, model BIGINT NOT NULL, kind TEXT NOT NULL, at DOUBLE PRECISION NOT NULL,
  body BYTEA NOT NULL, note BYTEA NOT NULL, checksum BIGINT NOT NULL
);
CREATE TABLE snapshots (
  model BIGINT NOT NULL, key TEXT NOT NULL, place BIGINT NOT NULL, data BYTEA NOT NULL, PRIMARY KEY (model, key)
);
CREATE TABLE told (
  model BIGINT NOT NULL, id TEXT NOT NULL, label BIGINT NOT NULL, key TEXT NOT NULL, digest BYTEA NOT NULL,
  y DOUBLE PRECISION NOT NULL, prediction DOUBLE PRECISION NOT NULL, lower DOUBLE PRECISION, upper DOUBLE PRECISION,
  PRIMARY KEY (model, id)
);
CREATE INDEX told_by_label ON told (model, label);
CREATE TABLE room (filler BYTEA);
"""


class PostgresStore:
    """A store in the schema ``driftline`` of a database. It may be used once :meth:`lead` has said so.

    Args:
        address: ``postgresql://user@host/database``.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._db: psycopg.Connection[Any] | None = None
        self.written_by: dict[str, Any] = {}

    def lead(self) -> bool:
        """Whether this service may write now: it holds the lock of the database, on the session by which it writes."""
        self._leave()
        try:
            db = psycopg.connect(self._address, **_OPTIONS)
        except psycopg.OperationalError:
            return False
        row = db.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK,)).fetchone()
        if row is None or not row[0]:
            db.close()
            return False
        self._db = db
        with self._checked() as connection:
            connection.execute("CREATE SCHEMA IF NOT EXISTS driftline")
            connection.execute("SET search_path TO driftline")
            connection.execute("SET synchronous_commit TO on")
            self._prepare(connection)
        return True

    def check(self) -> None:
        """As the protocol says."""
        with self._checked() as db:
            db.execute("SELECT 1")

    def _prepare(self, db: psycopg.Connection[Any]) -> None:
        found = db.execute("SELECT to_regclass('driftline.meta')").fetchone()
        if found is None or found[0] is None:
            with db.transaction():
                db.execute(_TABLES.encode())
                first = {"format": str(FORMAT), "cut": "0", "number": "0", "setting": json.dumps(setting())}
                db.cursor().executemany("INSERT INTO meta VALUES (%s, %s)", list(first.items()))
        if self._meta("format") != str(FORMAT):
            raise StoreError(f"PostgreSQL: written in format {self._meta('format')}; this driftline reads format {FORMAT}")
        self.written_by = json.loads(self._meta("setting"))

    @contextmanager
    def _checked(self) -> Iterator[psycopg.Connection[Any]]:
        """The connection. Without one, and with it the lock, nothing may be written any more: LostError."""
        if self._db is None:
            raise LostError("there is no connection to PostgreSQL")
        try:
            yield self._db
        except psycopg.Error as error:
            if error.sqlstate in _FULL:
                raise FullError(f"PostgreSQL: {error.sqlstate}") from error
            self._leave()
            raise LostError(f"the connection to PostgreSQL is lost, or failed: {type(error).__name__}") from error

    def _leave(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db = None

    def _meta(self, name: str) -> str:
        with self._checked() as db:
            row = db.execute("SELECT value FROM meta WHERE name = %s", (name,)).fetchone()
        if row is None:
            raise StoreError(f"PostgreSQL: the table meta lacks {name}")
        return str(row[0])

    def settle(self) -> None:
        """As the protocol says."""
        self.written_by = setting()
        with self._checked() as db:
            db.execute("UPDATE meta SET value = %s WHERE name = 'setting'", (json.dumps(self.written_by),))

    # Reading.

    def models(self) -> list[tuple[int, str, dict[str, Any], float, int]]:
        """As the protocol says."""
        query = """SELECT number, name, config, since, (SELECT coalesce(max(label), 0) FROM told WHERE model = number)
                   FROM models ORDER BY number"""
        with self._checked() as db:
            rows = db.execute(query).fetchall()
        return [(number, name, json.loads(text), since, labels) for number, name, text, since, labels in rows]

    def newest_number(self) -> int:
        """As the protocol says."""
        return int(self._meta("number"))

    def cut(self) -> int:
        """As the protocol says."""
        return int(self._meta("cut"))

    def snapshots(self) -> Iterator[Snapshot]:
        """As the protocol says."""
        for row in self._rows("SELECT model, key, place, data FROM snapshots"):
            yield Snapshot(*row)

    def entries(self) -> Iterator[Entry]:
        """As the protocol says."""
        rows = self._rows("SELECT number, model, kind, at, body, note, checksum FROM log ORDER BY number")
        yield from sound(rows, self.cut(), "PostgreSQL")

    def _rows(self, query: str) -> Iterator[Any]:
        """Rows of a query of any length, some at a time."""
        with self._checked() as db, db.transaction(), db.cursor(name="driftline") as cursor:
            yield from cursor.execute(query.encode())

    def remembered(self, model: int, id: str) -> Told | None:
        """As the protocol says."""
        query = "SELECT key, digest, y, prediction, lower, upper FROM told WHERE model = %s AND id = %s"
        with self._checked() as db:
            row = db.execute(query, (model, id)).fetchone()
        return None if row is None else Told(id, row[0], row[1], row[2], (row[3], row[4], row[5]))

    # Writing.

    def commit(self, group: Group) -> None:
        """As the protocol says."""
        with self._checked() as db, db.transaction(), db.cursor() as cursor:
            for number, name, config, since in group.created:
                cursor.execute("INSERT INTO models VALUES (%s, %s, %s, %s)", (number, name, json.dumps(config), since))
                cursor.execute("UPDATE meta SET value = %s WHERE name = 'number'", (str(number),))
            for number in group.deleted:
                cursor.execute("DELETE FROM models WHERE number = %s", (number,))
                cursor.execute("DELETE FROM snapshots WHERE model = %s", (number,))
            cursor.executemany(
                "INSERT INTO log VALUES (%s, %s, %s, %s, %s, %s, %s)",
                [(e.number, e.model, e.kind, e.at, e.body, e.note, e.checksum()) for e in group.entries],
            )
            cursor.executemany(
                "INSERT INTO told VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
                [(model, t.id, label, t.key, t.digest, t.y, *t.answer) for model, label, t in group.told],
            )

    def save(self, snapshots: list[Snapshot], cut: int) -> None:
        """As the protocol says."""
        query = """INSERT INTO snapshots VALUES (%s, %s, %s, %s)
                   ON CONFLICT (model, key) DO UPDATE SET place = excluded.place, data = excluded.data"""
        with self._checked() as db, db.transaction(), db.cursor() as cursor:
            cursor.executemany(query, [(each.model, each.key, each.place, each.data) for each in snapshots])
            cursor.execute("DELETE FROM log WHERE number <= %s", (cut,))
            cursor.execute("UPDATE meta SET value = %s WHERE name = 'cut'", (str(cut),))

    def forget(self, model: int, through: int) -> None:
        """As the protocol says."""
        with self._checked() as db:
            db.execute("DELETE FROM told WHERE model = %s AND label <= %s", (model, through))

    def tidy(self) -> bool:
        """As the protocol says."""
        query = """DELETE FROM told WHERE (model, id) IN (
                     SELECT model, id FROM told WHERE model NOT IN (SELECT number FROM models) LIMIT 5000)"""
        with self._checked() as db:
            return db.execute(query).rowcount > 0

    def probe(self) -> bool:
        """As the protocol says."""
        try:
            with self._checked() as db:
                db.execute("INSERT INTO room VALUES (decode(repeat('00', 262144), 'hex'))")
                db.execute("DELETE FROM room")
        except FullError:
            return False
        return True

    def close(self) -> None:
        """As the protocol says."""
        self._leave()
