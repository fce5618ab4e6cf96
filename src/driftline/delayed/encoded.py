"""Columns of text and times in the rows of a forecaster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from driftline.base.intake import FILL, Intake, read
from driftline.base.learner import Learner
from driftline.delayed.forecast import ForecastRun
from driftline.delayed.known import Known, is_featureless
from driftline.tables import cells, inputs, kinds
from driftline.tables.cells import Given
from driftline.tables.encoder import Growth
from driftline.tables.inputs import Array, FrameTable, Name
from driftline.tables.unseen import Averages


def other_names(where: str, known: list[Name] | None, given: list[Name]) -> str:
    """How the feature names of a row differ from those of the first row, None if that had none."""
    if known is None:
        return f"{where}: the features have names, unlike those of the first row"
    parts = []
    for what, names in (("missing", set(known) - set(given)), ("new", set(given) - set(known))):
        if names:
            parts.append(f"{what} {', '.join(sorted(map(repr, names))[:5])}{', ...' if len(names) > 5 else ''}")
    return f"{where}: the feature names differ from those of the first row: {'; '.join(parts)}"


class Encoded:
    """The encoding of the columns, and which of them are known ahead.

    Args:
        intake: turns columns into features.
        ahead: the columns known ahead; None for all.
        averages: what stands for categories that some model has not learned; see :class:`driftline.tables.unseen.Row`.
    """

    def __init__(self, intake: Intake, ahead: list[Name] | None, averages: Averages | None = None) -> None:
        self.intake, self.ahead, self.averages = intake, ahead, averages or {}

    @classmethod
    def begin(cls, features: Sequence[Name], known: Sequence[Any] | None, columns: list[Name], where: str) -> Self:
        """The encoding for rows with these columns.

        Args:
            features: the features of the rows so far, which were numbers.
            known: columns that are known ahead, by name or place; None for all.
            columns: the columns of the row that holds text or times.
            where: the caller's name, for messages.
        """
        intake = Intake(fill=False)
        intake.know_numbers(features)
        places = Known(known)
        places.check(len(columns), columns, where)
        return cls(intake, places.named(columns))

    def copy(self) -> Encoded:
        """A copy that learns on its own."""
        return Encoded(self.intake.copy(), self.ahead, {**self.averages})

    def settle(self, names: set[Name]) -> None:
        """Drops the averages of features that all models have learned."""
        self.averages = {name: average for name, average in self.averages.items() if name not in names}

    def known(self) -> list[Name] | None:
        """The features that are known ahead; None for all."""
        if self.ahead is None:
            return None
        features = zip(self.intake.features, self.intake.names, strict=True)
        return [name for (column, _), name in features if column in self.ahead]

    def rows(self, given: Mapping[Name, Given], learned: Array, where: str) -> tuple[Array, Growth]:
        """Rows as numbers, and their new features."""
        columns = list(self.intake.columns)
        if columns and set(columns) != set(given):
            raise ValueError(other_names(where, columns, list(given)))
        found = self.intake.table({name: given[name] for name in columns or given}, where, learned)
        self.averages |= self.intake.new_averages()
        return found

    def next_rows(self, X_next: Any, known: Known, last: Array, where: str) -> Array:
        """The next rows: their known values, and the last row's values for the others."""
        columns = list(self.intake.columns) if self.ahead is None else self.ahead
        if not columns:
            return known.filled(np.zeros((len(X_next), len(last))), last, self.intake.names, where)
        if isinstance(X_next, (list, tuple)) and all(isinstance(inputs.named(x), Mapping) for x in X_next):
            parts = [cells.of_row(cells.of_mapping(inputs.named(x), where)) for x in X_next]
        else:
            table = inputs.as_table(X_next, where)
            if table.names is None:
                raise ValueError(f"{where}: X_next must be a frame or a list of mappings: earlier rows held text or times")
            parts = [cells.of_table(table, 0, table.rows, where)] if table.rows else []
        blocks = [np.empty((0, len(last)))]
        for number, part in enumerate(parts):
            for name in columns:
                if name not in part or cells.missing_in(part[name]).any():
                    row = f"row {number} of X_next" if len(parts) > 1 else "X_next"
                    raise ValueError(f"{where}: {row} has no value for {name!r}, which must be known ahead")
            blocks.append(self.intake.copy().table({name: part[name] for name in columns}, where, None)[0])
        return known.filled(np.concatenate(blocks), last, self.intake.names, where)

    def plain(self) -> dict[str, Any]:
        """The encoding as plain values."""
        averages = [[name, [*average.items()]] for name, average in self.averages.items()]
        return {**self.intake.plain(), "ahead": self.ahead, "averages": averages}

    @classmethod
    def restored(cls, state: dict[str, Any], names: list[Name] | None) -> Self:
        """Restores the result of :meth:`plain`; raises ModelFileError if it does not match the features."""
        return cls(read(state, names, fill=False), state["ahead"], {name: dict(items) for name, items in state["averages"]})


def columns_of(x: Any, encoded: bool, where: str) -> dict[Name, Given] | None:
    """A row or a table by columns; None if it should be read as numbers.

    Args:
        x: a mapping or a frame, or anything else.
        encoded: whether earlier rows had columns of text or times.
        where: the caller's name, for messages.
    """
    given = inputs.named(x)
    if isinstance(given, Mapping):
        if not encoded and not any(map(kinds.is_special, given.values())):
            return None
        return cells.of_row(cells.of_mapping(given, where))
    if is_featureless(x) and not encoded:
        return None
    if not (hasattr(type(x), "columns") or hasattr(type(x), "column_names")):
        if encoded:
            raise ValueError(f"{where}: rows must have feature names: earlier rows held text or times")
        return None
    table = inputs.as_table(x, where)
    if not isinstance(table, FrameTable) or not table.rows or not (encoded or cells.has_special(table)):
        return None
    return cells.of_table(table, 0, table.rows, where)


def lost_rows(learner: Learner, given: Mapping[Name, Given], where: str, start: int | None) -> Array:
    """The rows with a missing value, which are skipped; raises ValueError for the first if the learner refuses them."""
    missing = {name: cells.missing_in(values) for name, values in given.items()}
    lost: Array = np.any(list(missing.values()), axis=0)
    if learner.missing == "raise" and lost.any():
        row = int(lost.argmax())
        name = next(name for name, absent in missing.items() if absent[row])
        place = "" if start is None else f"row {start + row}, "
        learner._door.refuse_value(np.nan, where, "x", f"{place}feature {name!r}")
    return np.zeros_like(lost) if learner.missing == FILL else lost


def joined(parts: Sequence[ForecastRun]) -> ForecastRun:
    """Concatenates runs."""
    ends = [
        None if parts[0].lower is None else np.concatenate([getattr(part, end) for part in parts])
        for end in ("lower", "upper")
    ]
    uninformed = np.zeros_like(parts[0].uninformed)
    for place, part in enumerate(parts):
        before = sum(map(len, parts[:place]))
        uninformed += np.where(uninformed == before, part.uninformed, 0)
    predictions, errors = (np.concatenate([getattr(part, name) for part in parts]) for name in ("predictions", "errors"))
    return ForecastRun(predictions, errors, ends[0], ends[1], parts[0].level, uninformed)
