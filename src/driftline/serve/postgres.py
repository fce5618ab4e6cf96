"""The log, the snapshots and the ids in PostgreSQL. Of several services that share a database, one leads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from driftline.errors import missing_extra
from driftline.serve.store import FullError, LostError, Store

try:
    import psycopg
except ImportError:
    raise missing_extra("PostgreSQL needs", "psycopg", "postgres") from None

_LOCK = 0x64726966746C  # key of the lock that the leading session holds; PostgreSQL frees it when the session ends
_FULL = ("53100", "53200", "54000")  # disk full, out of memory, a limit of the program
_OPTIONS: dict[str, Any] = {"autocommit": True, "connect_timeout": 5, "tcp_user_timeout": 5000, "client_encoding": "utf8"}
_DIALECT = {"?": "%s", "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION", "BLOB": "BYTEA", "WITHOUT ROWID": ""}


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
    """A store in the schema ``driftline`` of a database. Use it only after :meth:`lead` returned True.

    Args:
        address: ``postgresql://user@host/database``.
    """

    where = "PostgreSQL"

    def __init__(self, address: str) -> None:
        self._address = address
        self._db: psycopg.Connection[Any] | None = None
        self.written_by = {}

    def lead(self) -> bool:
        """Whether this service may write: whether its session holds the lock of the database."""
        self.close()
        try:
            db = psycopg.connect(self._address, cursor_factory=_Cursor, **_OPTIONS)
        except psycopg.OperationalError:
            return False
        row = db.execute("SELECT pg_try_advisory_lock(?)", (_LOCK,)).fetchone()
        if row is None or not row[0]:
            db.close()
            return False
        self._db = db
        with self._checked():
            db.execute("CREATE SCHEMA IF NOT EXISTS driftline")
            db.execute("SET search_path TO driftline")
            db.execute("SET synchronous_commit TO on")
        self._prepare()
        return True

    def check(self) -> None:
        """As the base class says."""
        self._read("SELECT 1")

    def close(self) -> None:
        """As the base class says."""
        if self._db is not None:
            self._db.close()
        self._db = None

    @contextmanager
    def _checked(self) -> Iterator[psycopg.Connection[Any]]:
        """The connection; raises LostError if it is lost, because the lock is lost with it."""
        if self._db is None:
            raise LostError("there is no connection to PostgreSQL")
        try:
            yield self._db
        except psycopg.Error as error:
            if error.sqlstate in _FULL:
                raise FullError(f"PostgreSQL: {error.sqlstate}") from error
            self.close()
            raise LostError(f"the connection to PostgreSQL is lost, or failed: {type(error).__name__}") from error

    def _read(self, query: str, *values: Any) -> list[Any]:
        with self._checked() as db:
            return db.execute(query, values).fetchall()

    def _stream(self, query: str) -> Iterator[Any]:
        with self._checked() as db, db.transaction(), db.cursor(name="driftline") as cursor:
            yield from cursor.execute(query.encode())

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        with self._checked() as db, db.transaction(), db.cursor() as cursor:
            yield cursor
