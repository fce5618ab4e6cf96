"""How single rows are encoded as long as they bring nothing new."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from driftline.tables import cells
from driftline.tables.encoder import ColumnEncoder
from driftline.tables.inputs import Name


class RowPlan:
    """The columns of an encoder, compiled for single rows. It is valid as long as the encoder has the same features.

    Args:
        encoder: the encoder.
        largest: the largest number that a row may hold.
        fill: whether values may be missing.
    """

    def __init__(self, encoder: ColumnEncoder, largest: float, fill: bool) -> None:
        self.names, self._largest, self._fill = encoder.names, largest, fill
        self._known = frozenset(encoder.names)
        places: dict[Name, dict[str, int]] = {name: {} for name in encoder.columns}
        for place, (name, key) in enumerate(encoder.features):
            places[name][key] = place
        self._writers = {name: column.writer(places[name]) for name, column in encoder.columns.items()}
        changing = [(column, places[name]) for name, column in encoder.columns.items() if column.changing and places[name]]
        self._after = [column.after(found) for column, found in changing]
        self._owners = [column for column, _ in changing for _ in column.changing]
        self._attributes = [attribute for column, _ in changing for attribute in column.changing]

    def of_mapping(self, items: Iterable[tuple[Name, Any]], learned: bool) -> list[float] | None:
        """The features of a row; None if it has a bad value or brings something new."""
        row, largest = [0.0] * len(self.names), self._largest
        for name, value in items:
            if type(value) is not float:
                try:
                    value = cells.of_value(value, "", "")
                except (TypeError, ValueError):  # explained where the row is read with care
                    return None
            elif value != value:
                value = None
            if (value is None and not self._fill) or (type(value) is float and not -largest <= value <= largest):
                return None
            write = self._writers.get(name)
            if write is None:
                if learned or name in self._known:
                    return None
            elif not write(value, row, learned):
                return None
        return row

    def of_sequence(self, values: list[Any] | tuple[Any, ...], learned: bool) -> list[float] | None:
        """The same for the numbers of a row, in the order of the columns."""
        if len(values) != len(self._writers) or not {float, int}.issuperset(map(type, values)):
            return None
        return self.of_mapping(zip(self._writers, values, strict=True), learned)

    def learning(self, row: list[float]) -> Callable[[], None]:
        """A native call by which the columns learn a row."""
        values = [value for after in self._after for value in after(row)]
        nowhere: deque[None] = deque(maxlen=0)
        return partial(nowhere.extend, map(setattr, self._owners, self._attributes, values))
