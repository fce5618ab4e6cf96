"""How single rows are encoded as long as they bring nothing new."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from driftline.tables import cells
from driftline.tables.cells import Row
from driftline.tables.columns import VALUE, Column, Filled
from driftline.tables.inputs import Name


class RowPlan:
    """Columns, compiled for single rows. It is valid as long as they have the same features.

    Args:
        names: the names of the features.
        features: the column and the key of each.
        columns: the columns by name.
        gaps: the columns whose missing values are filled in.
        largest: the largest number that a row may hold.
    """

    def __init__(
        self,
        names: list[Name],
        features: Iterable[tuple[Name, str]],
        columns: Mapping[Name, Column],
        gaps: Iterable[Name],
        largest: float,
    ) -> None:
        self.names, self._largest, self._gaps = names, largest, frozenset(gaps)
        self._known = frozenset(names)
        places: dict[Name, dict[str, int]] = {name: {} for name in columns}
        for place, (name, key) in enumerate(features):
            places[name][key] = place
        self._expected = {
            name: {names[place] for place in places[name].values()}
            for name, column in columns.items()
            if column.met and not column.is_zero_if_absent
        }
        self._numbers = {name: found[VALUE] for name, found in places.items() if VALUE in found and name in self._gaps}
        self._writers = {name: column.writer(places[name]) for name, column in columns.items()}
        changing = [(column, places[name]) for name, column in columns.items() if column.changing and places[name]]
        self._after = [column.after(found) for column, found in changing]
        self._owners = [column for column, _ in changing for _ in column.changing]
        self._attributes = [attribute for column, _ in changing for attribute in column.changing]

    def completed(self, x: Mapping[Name, Any]) -> Mapping[Name, Any]:
        """A row with None for the text and times that it lacks; absent numbers are 0.

        A row that has a feature of such a column, as ``tree=oak``, does not lack it.
        """
        absent = self._expected.keys() - x.keys()
        absent = {name for name in absent if self._expected[name].isdisjoint(x)} if absent else absent
        return {**x, **dict.fromkeys(absent)} if absent else x

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
            if (value is None and name not in self._gaps) or (type(value) is float and not -largest <= value <= largest):
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

    def as_given(self, x: Iterable[tuple[Name, Any]], row: list[float], named: bool) -> Row:
        """A row by columns, with the values that fill it in."""
        given = Row(((name, cells.of_value(value, "", "")) for name, value in x), named)
        return Row(
            {**given, **{name: Filled(row[at]) for name, at in self._numbers.items() if given.get(name, 0.0) is None}}, named
        )

    def learning(self, row: list[float]) -> Callable[[], None]:
        """A native call by which the columns learn a row."""
        values = [value for after in self._after for value in after(row)]
        nowhere: deque[None] = deque(maxlen=0)
        return partial(nowhere.extend, map(setattr, self._owners, self._attributes, values))
