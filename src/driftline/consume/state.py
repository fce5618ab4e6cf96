"""A model in a file, saved together with the positions of what it has learned."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.base.ticket import Ticket
from driftline.consume.entries import Json, Reply, Row
from driftline.errors import ModelFileError
from driftline.fleet import Fleet, FleetTicket
from driftline.serve.raw import as_raw
from driftline.storage import model_file
from driftline.storage.model_file import Extra

KIND = "consume"
_DIGEST = 16  # bytes of the digest of an id


class StateModel:
    """A learner or a fleet in a file, which is replaced after each batch, before its entries are committed.

    The file also has the last position in each part of the queue, the ids of the last rows and labels, the rows that wait
    for labels and the labels that wait for rows, and the replies that are not committed yet. ``dl.load`` reads the learner.

    Args:
        path: the file. If it exists, it must be one that this class wrote, and the model goes on from it.
        model: the learner to start with, or a fleet for rows with keys.
        level: of the intervals.
        waiting: the most rows that wait for labels, and labels that wait for rows; beyond that, the oldest are dropped.
        remember: how many ids are remembered, for queues without positions and for entries that were sent twice.
    """

    lost: tuple[type[Exception], ...] = ()

    def __init__(
        self,
        path: str | os.PathLike[str],
        model: Learner | Fleet,
        *,
        level: float = 0.9,
        waiting: int = 10_000,
        remember: int = 20_000,
    ) -> None:
        self.path, self.model, self._level, self._most, self._remember = Path(path), model, level, waiting, remember
        self.waiting: OrderedDict[str, bytes] = OrderedDict()
        self.early: OrderedDict[str, float] = OrderedDict()
        self.done: dict[str, Any] = {}
        self.seen: OrderedDict[bytes, None] = OrderedDict()
        self._replies: OrderedDict[str, list[Any]] = OrderedDict()
        self.dropped = 0
        if self.path.exists():
            self._load()

    def take(self, rows: Sequence[Row]) -> list[Reply]:
        """Predicts and learns rows in order, and saves the file if one of them was new."""
        replies, changed = [], False
        for row in rows:
            part, place = row.entry.position or ("", None)
            if part in self.done and place <= self.done[part]:
                reply = self._known(row)
            else:
                changed = True
                try:
                    reply = self._take_one(row)
                except (ValueError, TypeError, OverflowError) as error:
                    reply = Reply(None, str(error), "rejected")
                self._replies[_name(row)] = [reply.prediction, reply.error]
                if place is not None:
                    self.done[part] = place
            replies.append(reply)
        if changed:
            self._trim(self._replies, self._remember)
            self._save()
        return replies

    def finished(self, rows: Sequence[Row]) -> None:
        """Forgets the replies to rows, which the source has committed."""
        for row in rows:
            self._replies.pop(_name(row), None)

    def _known(self, row: Row) -> Reply:
        prediction, error = self._replies.get(_name(row), (None, None))
        return Reply(prediction, error, "known" if error is None else "rejected")

    def _take_one(self, row: Row) -> Reply:
        """Takes a row or a label that is not known by its position. Raises ValueError, and changes nothing, if refused."""
        if row.x is None:
            return Reply(None, None, self._tell(row.id, float(row.y or 0.0)))
        if self._is_seen("x", row.id):
            return self._known(row)
        y = self.early.get(row.id) if row.y is None else row.y
        ticket = self._ask(row, None if row.y is None else 0)
        prediction: Json = {"id": row.id, "prediction": _finite(ticket.prediction), "lower": None, "upper": None}
        lower, upper = ticket.interval(self._level)
        if isfinite(lower) and isfinite(upper):
            prediction |= {"lower": lower, "upper": upper}
        if row.key is not None:
            prediction["key"] = row.key
        if y is None:
            self.waiting[row.id] = ticket.to_bytes()
            self.dropped += self._trim(self.waiting, self._most)
        else:
            self.model.tell(ticket, y)  # type: ignore[arg-type]
            self.early.pop(row.id, None)
            self._see("y", row.id)
        self._see("x", row.id)
        return Reply(prediction, None, "waiting" if y is None else "learned")

    def _ask(self, row: Row, delay: int | None) -> Ticket | FleetTicket:
        if isinstance(self.model, Fleet):
            return self.model.ask(row.key, as_raw(row.x or {}, self.model.learner), delay)
        return self.model.ask(as_raw(row.x or {}, self.model), delay)

    def _tell(self, id: str, y: float) -> str:
        """Learns a label of a row that waits, or keeps it until its row comes."""
        if self._is_seen("y", id):
            return "known"
        if id not in self.waiting:
            self.early[id] = y
            self.dropped += self._trim(self.early, self._most)
            return "early"
        self.model.tell(model_file.from_bytes(self.waiting[id]), y)
        del self.waiting[id]
        self._see("y", id)
        return "learned"

    def _is_seen(self, kind: str, id: str) -> bool:
        return _digest(kind, id) in self.seen

    def _see(self, kind: str, id: str) -> None:
        self.seen[_digest(kind, id)] = None
        self._trim(self.seen, 2 * self._remember)

    @staticmethod
    def _trim(held: OrderedDict[Any, Any], most: int) -> int:
        """Drops the oldest beyond a number; returns how many."""
        excess = max(0, len(held) - most)
        for _ in range(excess):
            held.popitem(last=False)
        return excess

    def _save(self) -> None:
        plain: Json = {name: [*getattr(self, name).items()] for name in ("early", "done", "_replies")}
        plain |= {"kind": KIND, "dropped": self.dropped, "waiting": [[id, len(data)] for id, data in self.waiting.items()]}
        parts = {"seen": self.seen, "tickets": self.waiting.values()}
        arrays = {name: np.frombuffer(b"".join(part), np.uint8) for name, part in parts.items() if part}
        model_file.save(self.model, self.path, Extra(plain, arrays))

    def _load(self) -> None:
        self.model, extra = model_file.load_with_extra(self.path)
        if extra is None or extra.plain.get("kind") != KIND:
            raise ModelFileError(f"{self.path}: was not written by driftline consume, which would replace it")
        plain = extra.plain
        for name in ("early", "done", "_replies"):
            getattr(self, name).update((key, value) for key, value in plain[name])
        self.dropped, at = plain["dropped"], 0
        seen, tickets = (extra.arrays.get(name, np.empty(0, np.uint8)).tobytes() for name in ("seen", "tickets"))
        self.seen.update((seen[start : start + _DIGEST], None) for start in range(0, len(seen), _DIGEST))
        for id, size in plain["waiting"]:
            self.waiting[id], at = tickets[at : at + size], at + size


def _name(row: Row) -> str:
    return ("y" if row.x is None else "x") + row.id


def _digest(kind: str, id: str) -> bytes:
    return blake2b((kind + id).encode(errors="surrogatepass"), digest_size=_DIGEST).digest()


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
