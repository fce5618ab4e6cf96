"""Redis streams, read by a consumer group."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from driftline.consume.entries import Entry, Json, Queue
from driftline.errors import missing_extra

try:
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry
except ImportError:
    raise missing_extra("Redis streams need", "redis", "redis") from None


class RedisStreams(Queue):
    """One stream of rows, or a second one of labels. Predictions are sent, and entries committed, in one transaction.

    Fields are numbers or text; an entry may also be one field with a JSON object. The group has one consumer, ``"1"``: the
    next process takes over what it had not acknowledged. The URL is ``redis://localhost:6379/0``.
    """

    lost: tuple[type[Exception], ...] = (redis.ConnectionError, redis.TimeoutError)

    consumer = "1"
    _db: Any = None

    def open(self) -> None:
        """Connects; the entries that were delivered and not committed come first."""
        self.close()
        never = Retry(NoBackoff(), 0)  # records of a transaction whose reply was lost would be sent twice
        self._db = redis.Redis.from_url(self.url, decode_responses=True, encoding_errors="replace", retry=never)
        for stream in self.read_from:
            try:
                self._db.xgroup_create(stream, self.group, id="0", mkstream=True)
            except redis.ResponseError as error:
                if "BUSYGROUP" not in str(error):
                    raise
        self._start = "0"

    def read(self, most: int, seconds: float) -> Sequence[Entry]:
        """The next entries of the streams."""
        streams = dict.fromkeys(self.read_from, self._start)
        wait = max(1, int(1000 * seconds)) if self._start == ">" else None
        found = self._db.xreadgroup(self.group, self.consumer, streams, most // len(streams) or 1, wait)
        pairs = found.items() if isinstance(found, dict) else found or ()
        entries = [_entry(stream, id, fields, stream == self.labels) for stream, items in pairs for id, fields in items]
        if not entries and self._start == "0":
            self._start = ">"
            return self.read(most, seconds)
        return entries

    def finish(self, entries: Sequence[Entry], predictions: Sequence[Json], rejected: Sequence[Json]) -> None:
        """Sends the records and acknowledges the entries, all or nothing."""
        with self._db.pipeline(transaction=True) as pipe:
            for stream, record in self.records(predictions, rejected):
                pipe.xadd(stream, {name: _text(value) for name, value in record.items() if value is not None})
            for stream in self.read_from:
                if ids := [entry.id for entry in entries if entry.position and entry.position[0] == stream]:
                    pipe.xack(stream, self.group, *ids)
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
