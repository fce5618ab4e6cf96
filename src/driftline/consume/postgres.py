"""A PostgreSQL table, read along a growing column."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from driftline.consume.entries import Entry, Json, Queue
from driftline.errors import missing_extra

try:
    import psycopg
    from psycopg.rows import dict_row
    from psycopg.sql import SQL, Identifier, Placeholder
    from psycopg.types.json import Jsonb
except ImportError:
    raise missing_extra("PostgreSQL tables need", "psycopg", "postgres") from None

_OFFSETS = "driftline_offsets"
_MAKE = (
    "CREATE TABLE IF NOT EXISTS {} (consumer text, source text, position bigint, PRIMARY KEY (consumer, source))",
    """CREATE TABLE IF NOT EXISTS {}
    (id text PRIMARY KEY, key text, prediction float8, lower float8, upper float8, quantiles jsonb)""",
    "CREATE TABLE IF NOT EXISTS {} (id text, error text, content text)",
)
_MOVE = f"""UPDATE {_OFFSETS} SET position = %s
    WHERE (consumer, source) = (%s, %s) AND position IS NOT DISTINCT FROM %s"""
_WRITERS = """SELECT virtualtransaction FROM pg_locks WHERE relation = to_regclass(%s) AND granted
    AND mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')"""


class PostgresTable(Queue):
    """A table of rows, or a second one of labels. Predictions are inserted, and the position is kept, in one transaction.

    A transaction may commit a number of the growing column after another one has committed a larger one. So rows are read up
    to the largest number that was visible, once all transactions have ended that were writing the table then.

    Args:
        url: the address, such as ``postgresql://service@db/plant``.
        rows, places: as for :class:`Queue`, of tables. Those of the records are created if they do not exist; the group is
            the name under which ``driftline_offsets`` keeps the position.
        by: a column of distinct integers that grow, such as an identity; it is the id of entries without one.
        notify: a channel to LISTEN to; without one, the table is polled ten times a second.
    """

    lost: tuple[type[Exception], ...] = (psycopg.OperationalError, psycopg.InterfaceError)
    set_aside = "{rows}_rejected"

    def __init__(self, url: str, rows: str, *, by: str = "id", notify: str | None = None, **places: Any) -> None:
        super().__init__(url, rows, **places)
        self._by, self._notify = by, notify
        self._db: Any = None

    def open(self) -> None:
        """Connects, and goes to the positions that were committed."""
        self.close()
        self._db = psycopg.connect(self.url, autocommit=True, client_encoding="utf8", row_factory=dict_row)
        for words, name in zip(_MAKE, (_OFFSETS, self.predictions, self.rejected), strict=True):
            if name is not None:
                self._db.execute(SQL(words).format(_table(name)))
        for table in self.read_from:
            self._db.execute(f"INSERT INTO {_OFFSETS} VALUES (%s, %s, NULL) ON CONFLICT DO NOTHING", (self.group, table))
        found = self._db.execute(f"SELECT source, position FROM {_OFFSETS} WHERE consumer = %s", (self.group,))
        self._committed = {row["source"]: row["position"] for row in found if row["source"] in self.read_from}
        self._at, self._ahead = dict(self._committed), dict[str, tuple[int, set[str]]]()
        if self._notify is not None:
            self._db.execute(SQL("LISTEN {}").format(Identifier(self._notify)))

    def read(self, most: int, seconds: float) -> Sequence[Entry]:
        """The next rows of the tables."""
        until = time.monotonic() + seconds
        while True:
            entries = [entry for table in self.read_from for entry in self._next(table, most)]
            left = until - time.monotonic()
            if entries or left <= 0:
                return entries
            if self._notify is None or self._ahead:
                time.sleep(min(left, 0.1))
            else:
                next(self._db.notifies(timeout=left, stop_after=1), None)

    def _next(self, table: str, most: int) -> list[Entry]:
        by, after = Identifier(self._by), self._at[table]
        if table not in self._ahead:
            top = self._db.execute(SQL("SELECT max({}) AS top FROM {}").format(by, _table(table))).fetchone()["top"]
            if top is None or (after is not None and top <= after):
                return []
            if type(top) is not int:
                raise TypeError(f"{table}.{self._by} must be a column of integers, got {top!r}")
            self._ahead[table] = top, self._writers(table)
        top, writers = self._ahead[table]
        if writers and writers & self._writers(table):
            return []
        self._ahead[table] = top, set()
        query = SQL("SELECT * FROM {0} WHERE {1} <= %s AND (%s::bigint IS NULL OR {1} > %s) ORDER BY {1} LIMIT %s")
        found = self._db.execute(query.format(_table(table), by), (top, after, after, most)).fetchall()
        if len(found) < most:
            del self._ahead[table]
        self._at[table] = found[-1][self._by] if found else top
        return [self._entry(table, row.pop(self._by), row) for row in found]

    def _entry(self, table: str, place: int, row: Json) -> Entry:
        content = {name: _plain(value) for name, value in row.items()}
        return Entry(str(place), content, table == self.labels, (table, place))

    def _writers(self, table: str) -> set[str]:
        return {row["virtualtransaction"] for row in self._db.execute(_WRITERS, (_table(table).as_string(self._db),))}

    def finish(self, entries: Sequence[Entry], predictions: Sequence[Json], rejected: Sequence[Json]) -> None:
        """Inserts the records and moves the positions, all or nothing."""
        with self._db.transaction(), self._db.cursor() as cursor:
            for table, before in self._committed.items():
                if self._at[table] != before:
                    cursor.execute(_MOVE, (self._at[table], self.group, table, before))
                    if cursor.rowcount == 0:
                        raise psycopg.OperationalError(f"another consumer of the group {self.group} is at work")
            for name, records in ((self.predictions, predictions), (self.rejected, rejected)):
                if name is not None and records:
                    fields = sorted({field for record in records for field in record})
                    words = SQL("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT DO NOTHING")
                    columns = SQL(", ").join(map(Identifier, fields)), SQL(", ").join([Placeholder()] * len(fields))
                    values = [[_bound(record.get(field)) for field in fields] for record in records]
                    cursor.executemany(words.format(_table(name), *columns), values)
        self._committed = dict(self._at)

    def close(self) -> None:
        """Disconnects."""
        if self._db is not None:
            self._db.close()


def _table(name: str) -> Identifier:
    return Identifier(*name.split("."))


def _bound(value: Any) -> Any:
    return Jsonb(value) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    """A value of a column as one of JSON."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    return float(value) if isinstance(value, Decimal) else value.isoformat() if hasattr(value, "isoformat") else value
