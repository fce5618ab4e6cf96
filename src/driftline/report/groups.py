"""How often intervals held, and how wide they were, by group: hour, weekday, size of the prediction, value of a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from driftline.evaluate.metrics import Coverage, Predicted, Width
from driftline.evaluate.scores import Score, Settings
from driftline.report import clock, words
from driftline.report.rows import RunRows
from driftline.storage.resumable import Resumable, part_of
from driftline.tables.inputs import Array

MOST_VALUES = 31  # of a column whose values are groups
MOST_COLUMNS = 64  # columns that are followed, from the first
SHOWN_COLUMNS = 8
ENOUGH = 100  # rows of a group that is named as the worst
TENTHS, FINE = 10, 1024  # predictions are sorted into bins, of which tenths are made at the end
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
PREDICTION, HOUR, WEEKDAY = "prediction", "hour", "weekday"


class Groups(Resumable):
    """One way to divide rows into groups: sums by key, in the order in which the keys appeared.

    Args:
        most: with more keys than these, nothing is kept.
    """

    def __init__(self, most: float = np.inf) -> None:
        self.most = most
        self.keys: list[float] = []
        self.places: dict[float, int] = {}
        self.score = Score(Settings.by_group([Coverage(), Width()]))

    def add(self, keys: Array, rows: Predicted, labels: Array) -> None:
        """Adds rows with their keys; rows whose label is NaN do not count."""
        if len(self.keys) > self.most:
            return
        values, first, numbers = np.unique(keys, return_index=True, return_inverse=True, equal_nan=True)
        for value in values[np.argsort(first)].tolist():
            if value not in self.places and value == value:
                self.places[value] = len(self.keys)
                self.keys.append(value)
        if len(self.keys) <= self.most:
            known = np.array([self.places.get(value, 0) for value in values.tolist()], dtype=np.int64)
            self.score.add(rows, np.where(np.isnan(keys), np.nan, labels), groups=known[numbers])

    def found(self) -> dict[str, Array]:
        """Arrays of keys in ascending order, and the places of their sums; empty with too many keys."""
        keys = np.array(self.keys if len(self.keys) <= self.most else [], dtype=np.float64)
        order = np.argsort(keys)
        rows = self.score.by_group()["rows"] if len(keys) else np.zeros(0, dtype=int)
        return {"key": keys[order], "place": order, "rows": rows[order]}

    def state(self) -> dict[str, Any]:
        """Keys, and the sums of each."""
        sums = [self.score.group_state(place) for place in range(len(self.keys))]
        names = list(next(filter(None, sums), {}))
        return {
            "keys": np.array(self.keys),
            "names": names,
            "sums": np.array([[own.get(name, 0.0) for name in names] for own in sums]).reshape(len(sums), len(names)),
        }

    def resume(self, state: Mapping[str, Any]) -> Self:
        """Continues from a state."""
        self.keys = np.asarray(state["keys"]).tolist()
        self.places = {key: place for place, key in enumerate(self.keys)}
        for place, sums in enumerate(np.asarray(state["sums"]).tolist()):
            self.score.restore_group(place, dict(zip(state["names"], sums, strict=True)))
        return self


@dataclass(frozen=True)
class GroupLine:
    """A group as the page shows it."""

    name: str
    rows: int
    coverage: float
    width: float


@dataclass(frozen=True)
class Grouping:
    """One way to divide rows into groups, as the page shows it."""

    name: str
    lines: list[GroupLine]

    @property
    def worst(self) -> GroupLine | None:
        """The group in which the fewest labels were inside, among those with enough rows."""
        return min((line for line in self.lines if line.rows >= ENOUGH), key=lambda line: line.coverage, default=None)


class GroupLog(Resumable):
    """Collects groups of rows block by block; the result does not depend on how the stream is cut."""

    def __init__(self) -> None:
        self.named = {PREDICTION: Groups()}
        self.columns: list[Groups] = []

    def add(self, rows: RunRows, start: int, X: Array | None, kind: str | None) -> None:
        """Adds rows from ``start`` on: their features, None if unknown, and the kind of their times."""
        run = rows.run
        if run.lower is None or run.upper is None:
            return
        piece = slice(start, len(rows.y) if X is None else start + len(X))
        own = Predicted(rows.predictions[piece], run.lower[piece], run.upper[piece])
        assert own.lower is not None
        assert own.upper is not None
        judged = rows.counted[piece] & np.isfinite(own.lower) & np.isfinite(own.upper)
        labels = np.where(judged, rows.y[piece], np.nan)
        mantissa, power = np.frexp(np.where(judged, own.predictions, np.nan))
        self.named[PREDICTION].add(np.ldexp(np.floor(mantissa * FINE) / FINE, power), own, labels)
        if rows.moments is not None and kind in (clock.DATES, clock.ZONED):
            hours = np.floor(rows.moments[piece] / 3600)
            for name, keys in ((HOUR, hours % 24), (WEEKDAY, (hours // 24 + 3) % 7)):  # 1970 began on a Thursday
                self.named.setdefault(name, Groups()).add(keys, own, labels)
        for place in range(0 if X is None else min(X.shape[1], MOST_COLUMNS)):
            assert X is not None
            if place == len(self.columns):
                self.columns.append(Groups(MOST_VALUES))
            self.columns[place].add(X[:, place], own, labels)

    def groupings(self, names: list[str]) -> list[Grouping]:
        """All ways that have at least two groups; of the columns, those with the lowest coverage of a group."""
        shown = [_tenths(self.named[PREDICTION])]
        for name, spell in ((HOUR, lambda key: f"{key:.0f} h"), (WEEKDAY, lambda key: WEEKDAYS[int(key)])):
            if name in self.named:
                shown.append(_by_key(name, self.named[name], spell))
        columns = [_by_key(name, groups, words.number) for name, groups in zip(names, self.columns, strict=False)]
        columns = [grouping for grouping in columns if grouping.worst is not None and len(grouping.lines) > 1]
        columns.sort(key=lambda grouping: grouping.worst.coverage if grouping.worst else 1.0)
        return [grouping for grouping in shown if len(grouping.lines) > 1] + columns[:SHOWN_COLUMNS]

    def state(self) -> dict[str, Any]:
        """The groups of each way."""
        parts = {**self.named, **{str(place): groups for place, groups in enumerate(self.columns)}}
        own = {f"{name}/{part}": value for name, groups in parts.items() for part, value in groups.state().items()}
        return {"named": list(self.named), "columns": len(self.columns), **own}

    def resume(self, state: Mapping[str, Any]) -> Self:
        """Continues from a state."""
        self.named = {name: Groups().resume(part_of(state, name)) for name in state["named"]}
        self.columns = [Groups(MOST_VALUES).resume(part_of(state, str(place))) for place in range(state["columns"])]
        return self


def _line(name: str, groups: Groups, places: Array, rows: int) -> GroupLine:
    totals = groups.score.totals(places)
    return GroupLine(name, rows, totals["coverage"], totals["width"])


def _by_key(name: str, groups: Groups, spell: Any) -> Grouping:
    found = groups.found()
    lines = zip(found["key"].tolist(), found["place"], found["rows"].tolist(), strict=True)
    return Grouping(name, [_line(spell(key), groups, np.array([place]), rows) for key, place, rows in lines if rows])


def _tenths(groups: Groups) -> Grouping:
    """The predictions in tenths, as far as the bins allow."""
    found = groups.found()
    used = found["rows"] > 0
    keys, places, rows = found["key"][used], found["place"][used], found["rows"][used]
    tenths = (TENTHS * (np.cumsum(rows) - rows / 2) / max(1, rows.sum())).astype(int)
    lines = []
    for tenth in np.unique(tenths):
        own = tenths == tenth
        name = f"{words.number(keys[own][0])} to {words.number(keys[own][-1])}"
        lines.append(_line(name, groups, places[own], int(rows[own].sum())))
    return Grouping(PREDICTION, lines)
