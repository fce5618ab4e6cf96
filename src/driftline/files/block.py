"""Reads what learners take of the rows of a file: typed columns, labels and times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.files.columns import as_given, as_moments, as_numbers, as_texts, zone_of
from driftline.files.errors import DataError, Hint, left_out, not_as_values
from driftline.files.options import CLASSIFY, Options
from driftline.files.raw import Block
from driftline.files.written_times import EXAMPLE, LIKE_EXAMPLE
from driftline.tables import kinds
from driftline.tables.block import RowBlock, of_columns
from driftline.tables.calendar import MISSING
from driftline.tables.cells import missing_in
from driftline.tables.inputs import Array
from driftline.tables.numbers import all_finite

RECENT = 11  # times to keep: enough to see the steps of two working weeks


class BlockMaker:
    """Reads columns, labels and times of Arrow tables, and follows the times.

    Args:
        options: how the source is read.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.recent: list[float] = []  # the last times, dates in seconds
        self.backwards = 0  # rows whose time is before the previous row's
        self._kinds: dict[str, str] = {}  # what the columns hold that have had a value
        self.dated: str | None = None  # the first column of dates or timestamps, which could be the time of a row

    def block(self, raw: Block) -> Block:
        """The rows of an Arrow table."""
        labels, times = self.labels(raw), self.times(raw)
        zone = None if times is None else zone_of(raw.table.column(self.options.time))
        return replace(raw, X=self._features(raw), y=labels, times=times, zone=zone)

    def _features(self, raw: Block) -> RowBlock:
        order, found, begins, whole = self.options.time if self.is_order(raw) else None, {}, {}, set()
        for name, values in zip(raw.table.schema.names, raw.table.columns, strict=True):
            if name == order or not self.options.is_feature(name):
                continue
            found[name] = given = as_given(values, raw.kinds.get(name))
            if given.kind == kinds.NUMBER:
                if all_finite(given.values):
                    whole.add(name)
                else:
                    self._refuse_infinite(given.values, name, raw)
            elif self.dated is None and given.kind in (kinds.DATE, kinds.TIMESTAMP):
                self.dated = name
            known = self._kinds.get(name)
            if known is None:
                there = ~missing_in(given)
                begins[name] = int(there.argmax()) if there.any() else len(raw)
                self._kinds |= {name: given.kind} if given.kind and there.any() else {}
            elif given.kind not in (None, known) and {given.kind, known} != {kinds.DATE, kinds.TIMESTAMP}:
                raise DataError(f"holds {raw.kinds[name]}, but held {known} before", column=name)
        return of_columns(found, len(raw), self.options.categories, begins, frozenset(whole))

    def is_order(self, raw: Block) -> bool:
        """Whether the time is a plain number, which orders the rows and is not a feature."""
        return raw.kinds.get(self.options.time or "") == kinds.NUMBER

    def _refuse_infinite(self, values: Array, name: str, raw: Block) -> None:
        if (infinite := np.isinf(values)).any():
            row = int(infinite.argmax())
            what = "the target" if name == self.options.target else "the number"
            raise DataError(f"{what} is infinite", place=raw.place(row), column=name, hints=left_out(name, self.options))

    def labels(self, raw: Block) -> Array | None:
        """The labels of a block, NaN where one is missing (None for classes); None if the file has no target."""
        name = self.options.target
        if name is None or name not in raw.table.schema.names:
            return None
        values, kind = raw.table.column(name), raw.kinds.get(name)
        if self.options.task == CLASSIFY:
            return as_classes(values)
        if kind is None or pa.types.is_null(values.type):
            return np.full(len(raw.table), np.nan)
        if kind not in (kinds.NUMBER, kinds.TRUTH):
            raise DataError(f"the target must hold numbers, but holds {kind.partition(' ')[0]}", column=name)
        labels = as_numbers(values)
        if not all_finite(labels):
            self._refuse_infinite(labels, name, raw)
        return labels

    def times(self, raw: Block) -> Array | None:
        """The times of a block; None if the file has none."""
        name = self.options.time
        if name is None or name not in raw.table.schema.names or name not in raw.kinds:
            return None
        if self.is_order(raw):
            times = as_numbers(raw.table.column(name))
            numbers = times
        elif raw.kinds[name] == kinds.TEXT:
            first = next((text for text in as_texts(raw.table.column(name)).to_pylist() if text is not None), "")
            raise DataError(
                f"{first[:40]!r} is not a time in a known format",
                place=raw.place(0),
                column=name,
                hints=[Hint("time_format", EXAMPLE, LIKE_EXAMPLE), *not_as_values(name, self.options)],
            )
        else:
            moments = as_moments(raw.table.column(name), local=False)
            times = moments.astype("datetime64[us]")
            numbers = np.where(moments == MISSING, np.nan, moments / 1e6)
        self._watch(numbers)
        return times

    def _watch(self, numbers: Array) -> None:
        """Counts the rows that go back in time."""
        numbers = numbers[~np.isnan(numbers)]
        if len(numbers):
            times = np.concatenate([self.recent, numbers])
            self.backwards += int((np.diff(times[max(len(self.recent) - 1, 0) :]) < 0).sum())
            self.recent = times[-RECENT:].tolist()

    def state(self) -> dict[str, Any]:
        """The state, as plain values."""
        return {"recent": self.recent, "backwards": self.backwards, "dated": self.dated, "kinds": self._kinds}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what :meth:`state` returned."""
        self.recent = [float(time) for time in state["recent"]]
        self.backwards, self.dated, self._kinds = int(state["backwards"]), state["dated"], dict(state["kinds"])


def as_classes(values: Any) -> Array:
    """A column of classes as texts; None where one is missing."""
    found = np.full(len(values), None, dtype=object)
    if not pa.types.is_null(values.type):
        found[:] = as_texts(values).to_pylist()
    return found
