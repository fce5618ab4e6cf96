"""Redis streams, read by a consumer group."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from driftline.consume.entries import Entry, Json
from driftline.errors import missing_extra

try:
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry
except ImportError:
    raise missing_extra("Redis streams need", "redis", "redis") from None


class RedisStreams:
    """One stream of rows, or a second one of labels. Predictions are sent, and entries committed, in one transaction.

    Fields are numbers or text; an entry may also be one field with a JSON object. If a consumer is killed, the next one of
    the same name takes its entries over.

    Args:
        url: the address, such as ``redis://localhost:6379/0``.
        rows, labels, predictions, rejected: the names of the streams.
        group, consumer: the names of the consumer group and the consumer.
    """

    lost: tuple[type[Exception], ...] = (redis.ConnectionError, redis.TimeoutError)

    def __init__(
        self,
        url: str,
        rows: str,
        *,
        labels: str | None = None,
        predictions: str | None = None,
        rejected: str | None = None,
        group: str = "driftline",
        consumer: str = "1",
    ) -> None:
        self._url, self._labels, self._predictions, self._rejected = url, labels, predictions, rejected or f"{rows}.rejected"
        self._streams = [rows] if labels in (None, rows) else [rows, str(labels)]
        self._group, self._consumer = group, consumer
        self._db: Any = None

    def open(self) -> None:
        """Connects; the entries that were delivered and not committed come first."""
        self.close()
        never = Retry(NoBackoff(), 0)  # records of a transaction whose reply was lost would be sent twice
        self._db = redis.Redis.from_url(self._url, decode_responses=True, encoding_errors="replace", retry=never)
        for stream in self._streams:
            try:
                self._db.xgroup_create(stream, self._group, id="0", mkstream=True)
            except redis.ResponseError as error:
                if "BUSYGROUP" not in str(error):
                    raise
        self._start = "0"

    def read(self, most: int, seconds: float) -> Sequence[Entry]:
        """The next entries of the streams."""
        streams = dict.fromkeys(self._streams, self._start)
        wait = max(1, int(1000 * seconds)) if self._start == ">" else None
        found = self._db.xreadgroup(self._group, self._consumer, streams, most // len(streams) or 1, wait)
        pairs = found.items() if isinstance(found, dict) else found or ()
        entries = [_entry(stream, id, fields, stream == self._labels) for stream, items in pairs for id, fields in items]
        if not entries and self._start == "0":
            self._start = ">"
            return self.read(most, seconds)
        return entries

    def finish(self, entries: Sequence[Entry], predictions: Sequence[Json], rejected: Sequence[Json]) -> None:
        """Sends the records and acknowledges the entries, all or nothing."""
        with self._db.pipeline(transaction=True) as pipe:
            for stream, records in ((self._predictions, predictions), (self._rejected, rejected)):
                for record in records if stream is not None else ():
                    pipe.xadd(stream, {name: _text(value) for name, value in record.items() if value is not None})
            for stream in self._streams:
                if ids := [entry.id for entry in entries if entry.position and entry.position[0] == stream]:
                    pipe.xack(stream, self._group, *ids)
            pipe.execute()

    def close(self) -> None:
        """Disconnects."""
        if self._db is not None:
            self._db.close()


def _entry(stream: str, id: str, fields: dict[str, str] | None, label: bool) -> Entry:
    whole = fields is not None and len(fields) == 1 and next(iter(fields.values())).lstrip()[:1] == "{"
    content = next(iter(fields.values())) if fields is not None and whole else fields
    return Entry(id, content, label, (stream, [int(part) for part in id.split("-")]), text=not whole)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
