"""The log, the snapshots and the ids in PostgreSQL. Of several services that share a database, one leads."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from driftline.errors import missing_extra
from driftline.serve.problems import StoreError
from driftline.serve.requests import Label
from driftline.serve.store import FORMAT, FullError, LostError, Store

try:
    import psycopg
except ImportError:
    raise missing_extra("PostgreSQL needs", "psycopg", "postgres") from None

_LOCK = 0x64726966746C  # key of the lock that the leading session holds; PostgreSQL frees it when the session ends
_FULL = ("53100", "53200", "54000")  # disk full, out of memory, a limit of the program
_LEASE, _BEAT = 5.0, 1.0  # seconds that a sign of life of the leader lasts, and between two of them
_OPTIONS: dict[str, Any] = {
    "autocommit": True, "connect_timeout": 2, "client_encoding": "utf8", "application_name": "driftline",
    "tcp_user_timeout": 5000, "keepalives_idle": 2, "keepalives_interval": 1, "keepalives_count": 3,
}  # fmt: skip
_SESSION = """SET search_path TO driftline; SET synchronous_commit TO on; SET tcp_user_timeout TO 5000;
              SET tcp_keepalives_idle TO 2; SET tcp_keepalives_interval TO 1; SET tcp_keepalives_count TO 3"""
_DIALECT = {"?": "%s", "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION", "BLOB": "BYTEA", "WITHOUT ROWID": ""}

# One row: which session leads, until when unless it gives a sign of life, and a number that no other leader has.
_LEASES = """CREATE SCHEMA IF NOT EXISTS driftline;
             CREATE TABLE IF NOT EXISTS lease (one INTEGER PRIMARY KEY CHECK (one = 1), token BIGINT NOT NULL,
               until TIMESTAMPTZ NOT NULL, pid INTEGER NOT NULL, started TIMESTAMPTZ NOT NULL);
             INSERT INTO lease VALUES (1, 0, '-infinity', 0, '-infinity') ON CONFLICT DO NOTHING"""
_HOLDER = "pg_stat_activity AS holder WHERE holder.pid = lease.pid AND holder.backend_start = lease.started"
_IS_FREE = f"SELECT until < clock_timestamp() OR NOT EXISTS (SELECT FROM {_HOLDER}) FROM lease"
_DISMISS = f"SELECT pg_terminate_backend(holder.pid) FROM lease, {_HOLDER} AND until < clock_timestamp()"
_TAKE = f"""UPDATE lease SET token = token + 1, until = clock_timestamp() + interval '{_LEASE} s', pid = own.pid,
              started = own.backend_start
            FROM pg_stat_activity AS own WHERE own.pid = pg_backend_pid() AND pg_try_advisory_lock(?) RETURNING token"""
_RENEW = f"UPDATE lease SET until = clock_timestamp() + interval '{_LEASE} s' WHERE token = ?"
_HOLD = "SELECT 1 FROM lease WHERE token = ? FOR KEY SHARE"  # does not wait for a renewal


@cache
def _spelled(query: str) -> bytes:
    """Translates a query from SQLite's dialect to PostgreSQL's."""
    for word, own in _DIALECT.items():
        query = query.replace(word, own)
    return query.encode()


class _Cursor(psycopg.Cursor[Any]):
    """A cursor that accepts queries in SQLite's dialect."""

    def execute(self, query: Any, *more: Any, **options: Any) -> _Cursor:
        return super().execute(_spelled(query), *more, **options)

    def executemany(self, query: Any, *more: Any, **options: Any) -> None:
        super().executemany(_spelled(query), *more, **options)


class PostgresStore(Store):
    """A store in the schema ``driftline`` of a database, which several services may share.

    The leader renews a lease. If it stops, because its host vanished or is paused, another service ends its session, and
    with it all that the session has not committed, takes the lease with a new token, and takes over. Each transaction that
    writes checks its token, so that a former leader writes nothing. The lock on the session is for earlier versions, which
    know no lease.

    Args:
        address: ``postgresql://user@host/database``.
    """

    where = "PostgreSQL"

    def __init__(self, address: str) -> None:
        self._address = address
        self._db: psycopg.Connection[Any] | None = None
        self._token: int | None = None
        self._ended = threading.Event()  # ends the signs of life
        self.written_by = {}

    def lead(self) -> bool:
        """Takes the lease if it is free, or if its holder gave no sign of life for too long."""
        try:
            with self._checked() as db:
                if db.execute("SELECT to_regclass('driftline.lease')").fetchone() == (None,):
                    db.execute(_LEASES)
                if db.execute(_IS_FREE).fetchone() != (True,):
                    return False
                db.execute(_DISMISS)
                taken = db.execute(_TAKE, (_LOCK,)).fetchone()
        except LostError:
            return False
        if taken is None:  # the former holder's session is not over yet, or another service was faster
            return False
        self._token, self._ended = taken[0], threading.Event()
        threading.Thread(
            target=_renew, args=(self._address, self._token, self._ended), name="driftline-lease", daemon=True
        ).start()
        self._prepare()
        return True

    def check(self) -> None:
        """As the base class says."""
        if not self._read("SELECT 1 FROM lease WHERE token = ?", self._token):
            self.close()
            raise LostError("another service has taken over")

    def close(self) -> None:
        """As the base class says."""
        self._ended.set()
        self._token = None
        if self._db is not None:
            self._db.close()
        self._db = None

    @contextmanager
    def view(self) -> Iterator[None]:
        """As the base class says."""
        with self._checked() as db, db.transaction():
            db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            if (found := self._meta("format")) != str(FORMAT):
                raise StoreError(f"{self.where}: the leader writes format {found}; this driftline reads format {FORMAT}")
            self.written_by = json.loads(self._meta("setting"))
            yield

    @contextmanager
    def _checked(self) -> Iterator[psycopg.Connection[Any]]:
        """The connection, opened if needed; raises LostError if it is lost, because the lead is lost with it."""
        try:
            if self._db is None:
                self._db = _connect(self._address)
            yield self._db
        except psycopg.Error as error:
            if error.sqlstate in _FULL:
                raise FullError(f"PostgreSQL: {error.sqlstate}") from error
            self.close()
            raise LostError(f"the connection to PostgreSQL is lost, or failed: {type(error).__name__}") from error
        except LostError:
            self.close()
            raise

    def classes(self) -> dict[int, list[Label]]:
        """As the base class says; none while the leader is of a version that knew no classes."""
        return super().classes() if self._read("SELECT to_regclass('driftline.classes')") != [(None,)] else {}

    def _read(self, query: str, *values: Any) -> list[Any]:
        with self._checked() as db:
            return db.execute(query, values).fetchall()

    def _stream(self, query: str, *values: Any) -> Iterator[Any]:
        with self._checked() as db, db.transaction(), db.cursor(name="driftline") as cursor:
            yield from cursor.execute(_spelled(query), values)

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        with self._checked() as db, db.transaction(), db.cursor() as cursor:
            if cursor.execute(_HOLD, (self._token,)).fetchone() is None:
                raise LostError("another service has taken over")
            yield cursor


def _connect(address: str) -> psycopg.Connection[Any]:
    db = psycopg.connect(address, cursor_factory=_Cursor, **_OPTIONS)
    db.execute(_SESSION)
    return db


def _renew(address: str, token: int, ended: threading.Event) -> None:
    """Gives signs of life, in a thread and a session of its own, until the lead is lost or given up."""
    db: psycopg.Connection[Any] | None = None
    while not ended.wait(_BEAT):
        try:
            db = db or _connect(address)
            if db.execute(_RENEW, (token,)).rowcount == 0:
                break
        except psycopg.Error:
            if db is not None:
                db.close()
            db = None
    if db is not None:
        db.close()
