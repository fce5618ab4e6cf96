"""The results of each key in a run: sums for the summary, and a short history for the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from driftline.evaluate.scores import GroupSums
from driftline.storage.resumable import Resumable
from driftline.tables.inputs import Array

PIECES = 48  # pieces of a key's history: when all are used, neighbours are joined
MARKS = 8  # the latest alarms of a key whose rows are kept
_PIECE = ("rows", "loss", "label", "prediction")


@dataclass(frozen=True)
class KeyFacts:
    """The results of one key.

    Attributes:
        key: its name.
        rows: the number of rows that have an error.
        rmse: the root mean squared error over these rows.
        alarms: the number of alarms.
        last_alarm: the row of the source that raised the last alarm; -1 without one.
        before: the RMSE up to the last alarm; None without one.
        since: the RMSE after it; None without one, or if no row followed.
    """

    key: str
    rows: int
    rmse: float | None
    alarms: int
    last_alarm: int
    before: float | None
    since: float | None

    @property
    def factor(self) -> float:
        """The RMSE since the last alarm, divided by that before; 0 without an alarm."""
        if not self.alarms:
            return 0.0
        return self.since / self.before if self.since is not None and self.before else 1.0


class KeyLog(Resumable):
    """Collects the results of a run block by block. Keys are numbered in order of appearance.

    Args:
        history: keep what the page draws, 1.6 kB a key.
    """

    _fields = ("totals", "later", "raised", "pieces", "width", "marks")

    def __init__(self, history: bool = False) -> None:
        self.totals, self.later = GroupSums(1), GroupSums(1)  # squared errors of each key, and those since its last alarm
        self.raised = np.zeros((0, 2), dtype=np.int64)  # alarms of each key, and the row of the last one
        self.pieces = np.zeros((0, PIECES, len(_PIECE))) if history else None
        self.width = np.zeros(0, dtype=np.int64)  # rows of a piece
        self.marks = np.zeros((0, MARKS))

    def add(self, places: Array, y: Array, predictions: Array, alarms: Array, start: int) -> None:
        """Adds rows.

        Args:
            places: the number of each row's key.
            y: labels.
            predictions: predicted labels; NaN where a row was skipped.
            alarms: rows of the block at which the alarm of their key went off.
            start: the first row's number in the source.
        """
        self._reserve(int(places.max(initial=-1)) + 1)
        raised = np.zeros(len(y), dtype=bool)
        raised[alarms] = True
        with np.errstate(over="ignore"):
            loss = (y - predictions) ** 2
        there = np.flatnonzero(~np.isnan(loss))
        order = there[np.argsort(places[there], kind="stable")]
        if not len(order):
            return
        key, loss, raised = places[order], loss[order], raised[order]
        firsts = np.flatnonzero(np.diff(key, prepend=-1))
        number = np.arange(len(key)) - np.repeat(firsts, np.diff(np.append(firsts, len(key))))
        number += self.totals.sums[key, 0].astype(np.int64)  # of the row among those of its key
        if self.pieces is not None:
            self._draw(key, number, loss, y[order], predictions[order])
        self.totals.add(key, [loss])
        for at in np.flatnonzero(raised):
            self.later.sums[key[at]] = 0.0
            self.raised[key[at]] = self.raised[key[at], 0] + 1, start + order[at]
            self.marks[key[at]] = np.append(self.marks[key[at], 1:], number[at] + 1)
        later = (self.raised[key, 0] > 0) & (number >= self.marks[key, -1])
        self.later.add(key[later], [loss[later]])

    def _draw(self, key: Array, number: Array, loss: Array, y: Array, predictions: Array) -> None:
        """Joins a key's pieces when a row arrives for which there is no room, wherever the block begins."""
        assert self.pieces is not None
        columns = np.column_stack([np.ones(len(key)), loss, y, predictions])
        while len(key):
            fits = number < PIECES * self.width[key]
            np.add.at(self.pieces, (key[fits], number[fits] // self.width[key[fits]]), columns[fits])
            key, number, columns = key[~fits], number[~fits], columns[~fits]
            full = np.unique(key)
            half = self.pieces[full].reshape(len(full), PIECES // 2, 2, len(_PIECE)).sum(axis=2)
            self.pieces[full] = np.concatenate([half, np.zeros_like(half)], axis=1)
            self.width[full] *= 2

    def _reserve(self, keys: int) -> None:
        more = keys - len(self.raised)
        if more <= 0:
            return
        self.totals.reserve(keys)
        self.later.reserve(keys)
        self.raised = np.concatenate([self.raised, np.tile([0, -1], (more, 1))])
        self.width = np.concatenate([self.width, np.ones(more, dtype=np.int64)])
        self.marks = np.concatenate([self.marks, np.full((more, MARKS), np.nan)])
        if self.pieces is not None:
            self.pieces = np.concatenate([self.pieces, np.zeros((more, PIECES, len(_PIECE)))])

    def ranked(self, keys: list[Any]) -> list[tuple[int, KeyFacts]]:
        """The keys with their numbers, those that need attention first.

        These are the keys with an alarm, by how much their errors have grown since the last one; then the others, by error.
        """
        found = [(place, self._facts(place, str(key))) for place, key in enumerate(keys)]
        return sorted(found, key=lambda item: (-item[1].factor, -(item[1].rmse or 0.0), item[0]))

    def _facts(self, place: int, key: str) -> KeyFacts:
        if place >= len(self.raised):
            return KeyFacts(key, 0, None, 0, -1, None, None)
        (rows, loss), (later_rows, later_loss) = self.totals.sums[place], self.later.sums[place]
        alarms, last = self.raised[place]
        before = _root(loss - later_loss, rows - later_rows) if alarms else None
        since = _root(later_loss, later_rows) if alarms else None
        return KeyFacts(key, int(rows), _root(loss, rows), int(alarms), int(last), before, since)

    def history(self, place: int) -> dict[str, Array]:
        """For each piece of a key: the rows up to its end, RMSE, mean label and prediction; and the rows of its alarms."""
        assert self.pieces is not None
        pieces = self.pieces[place]
        rows, loss, label, prediction = pieces[pieces[:, 0] > 0].T
        marks = self.marks[place]
        return {
            "row": np.cumsum(rows),
            "rmse": np.sqrt(loss / rows),
            "label": label / rows,
            "prediction": prediction / rows,
            "alarms": marks[~np.isnan(marks)],
        }


def _root(loss: float, rows: float) -> float | None:
    return float(np.sqrt(max(loss, 0.0) / rows)) if rows else None
