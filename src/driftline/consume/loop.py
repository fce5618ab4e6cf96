"""The loop: entries are read, given to the model, and committed once the model has acknowledged them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

from driftline.consume.entries import Entry, Fields, Json, Reply, Row, Source


class Model(Protocol):
    """Where rows go. What it has acknowledged survives a crash, and a repeated entry gets its reply again."""

    @property
    def lost(self) -> tuple[type[Exception], ...]:
        """What ``take`` raises if a connection is lost: the batch is then read again."""

    def take(self, rows: Sequence[Row]) -> list[Reply]:
        """Predicts and learns rows, each once; returns when that is on disk."""

    def finished(self, rows: Sequence[Row]) -> None:
        """Told when the source has committed rows, so that their replies are not needed again."""


@dataclass
class Counts:
    """What a consumer has done since it started.

    Attributes:
        entries: entries that were read and committed.
        predicted: predictions that were sent.
        learned: labels that the model learned.
        known: entries and labels that came again.
        early: labels that wait for their rows.
        rejected: entries that were set aside.
        batches: commits.
        lost: connections that were lost, to the source or the service.
        last: when the last batch was committed, in seconds since 1970.
    """

    entries: int = 0
    predicted: int = 0
    learned: int = 0
    known: int = 0
    early: int = 0
    rejected: int = 0
    batches: int = 0
    lost: int = 0
    last: float = 0.0

    def text(self) -> str:
        """The counts in Prometheus's text format."""
        kinds = {name: "gauge" if name == "last" else "counter" for name in asdict(self)}
        names = {name: "last_commit_seconds" if name == "last" else f"{name}_total" for name in kinds}
        lines = [
            f"# TYPE driftline_consume_{names[name]} {kind}\ndriftline_consume_{names[name]} {getattr(self, name)}\n"
            for name, kind in kinds.items()
        ]
        return "".join(lines)


def consume(
    source: Source,
    model: Model,
    fields: Fields | None = None,
    *,
    batch: int = 500,
    seconds: float = 1.0,
    until_idle: bool = False,
    stop: Callable[[], bool] = lambda: False,
    counts: Counts | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Counts:
    """Takes entries from a source to a model until it is stopped, each learned exactly once.

    A batch is read once the one before is committed, so a slow model slows down the reading, and nothing piles up. If a
    connection is lost, the source is opened again, and goes back to the first entry that was not committed; the model
    recognises what it has learned.

    Args:
        source: the queue.
        model: a :class:`ServiceModel` or a :class:`StateModel`.
        fields: which fields of an entry are not features.
        batch: the most entries to take at once. Rows of one batch are predicted before its labels are learned by a
            service, and one after the other by a :class:`StateModel`.
        seconds: how long to wait for an entry before ``stop`` is asked again.
        until_idle: return once no entry has come for that long.
        stop: asked between batches.
        counts: counts to add to, for metrics that are read meanwhile.
        say: takes a line about each lost connection and each rejected entry.
    """
    fields, counts = fields or Fields(), counts or Counts()
    opened, failing = False, ""
    try:
        while not stop():
            try:
                if not opened:
                    source.open()
                    opened = True
                entries = source.read(batch, seconds)
                if entries:
                    _pass_on(source, model, fields, entries, counts, say)
                elif until_idle:
                    break
                failing = ""
            except (*source.lost, *model.lost) as error:
                counts.lost, opened = counts.lost + 1, False
                if failing != (failing := f"{type(error).__name__}: {error}"):
                    say(f"the connection was lost, and is tried again: {failing}")
                time.sleep(min(seconds, 0.5))
    finally:
        source.close()
    return counts


def _pass_on(
    source: Source, model: Model, fields: Fields, entries: Sequence[Entry], counts: Counts, say: Callable[[str], None]
) -> None:
    """One batch: to the model, then its replies to the source."""
    rows, refused = [], {}
    for index, entry in enumerate(entries):
        try:
            rows.append(fields.read(entry))
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            refused[index] = str(error)
    taken = iter(model.take(rows))
    replies = [Reply(None, refused[index], "rejected") if index in refused else next(taken) for index in range(len(entries))]
    predictions = [reply.prediction for reply in replies if reply.prediction is not None]
    rejected = [_set_aside(entry, reply.error) for entry, reply in zip(entries, replies, strict=True) if reply.error]
    source.finish(entries, predictions, rejected)
    model.finished(rows)
    for each in rejected:
        say(f"set aside {each['id']}: {each['error']}")
    for reply in replies:
        if reply.result in ("learned", "known", "early", "rejected"):
            setattr(counts, reply.result, getattr(counts, reply.result) + 1)
    counts.entries, counts.batches = counts.entries + len(entries), counts.batches + 1
    counts.predicted, counts.last = counts.predicted + len(predictions), time.time()


def _set_aside(entry: Entry, error: str) -> Json:
    text = entry.content.decode(errors="replace") if isinstance(entry.content, bytes) else entry.content
    return {"id": entry.id, "error": error, "content": text if isinstance(text, str) else json.dumps(text, default=str)}
