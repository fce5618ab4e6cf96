"""Which features of a row are known ahead, and the values used for the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from driftline.base.rules import COUNT
from driftline.tables import inputs
from driftline.tables.block import as_block
from driftline.tables.inputs import Array, Name


class Known:
    """The features that are known ahead.

    Args:
        given: a sequence of names or indices; None for all.
    """

    def __init__(self, given: Any) -> None:
        if isinstance(given, np.ndarray) and given.ndim == 1:
            given = given.tolist()
        if isinstance(given, (str, bytes)) or (given is not None and not isinstance(given, Sequence)):
            raise TypeError(f"Forecaster: known must be a list of names or indices, got {given!r}")
        self.given = None if given is None else [_plain(feature) for feature in given]
        if self.given is not None and len(set(self.given)) < len(self.given):
            raise ValueError(f"Forecaster: known lists a feature twice: {self.given!r}")
        self._places: list[int] | None = None  # once the names are known

    def check(self, width: int, names: list[Name] | None, where: str) -> None:
        """Finds the features among those of a row; raises ValueError if one is missing."""
        if self.given is None:
            return
        places, by_name = [], {name: place for place, name in enumerate(names or ())}
        for feature in self.given:
            if feature in by_name:
                places.append(by_name[feature])
            elif type(feature) is int and 0 <= feature < width:
                places.append(feature)
            else:
                raise ValueError(f"{where}: the known feature {feature!r} is not among those of the row")
        self._places = places

    def named(self, names: list[Name] | None) -> list[Name] | None:
        """The features by name, if they have names, because a file does not explain an index."""
        return self.given if self._places is None or names is None else [names[place] for place in self._places]

    def leaves_out(self, width: int) -> bool:
        """Whether some features are not known ahead."""
        return self._places is not None and len(set(self._places)) < width

    def seen(self, rows: Array, first: int, step: int) -> Array:
        """The rows from ``first`` on as seen ``step`` rows earlier, with old values for the features not known ahead."""
        seen = rows[first:]
        if not self.leaves_out(rows.shape[1]):
            return seen
        then = np.zeros_like(seen)
        origins = np.arange(first, len(rows)) - step
        then[origins >= 0] = rows[origins[origins >= 0]]
        then[:, self._places] = seen[:, self._places]
        return then

    def refuse_missing(self, last: Array, names: list[Name] | None, where: str) -> None:
        """Raises ValueError if the last row lacks a feature that is not known ahead."""
        ahead = None if self._places is None else set(self._places)
        for place in np.flatnonzero(np.isnan(last)).tolist():
            if ahead is not None and place not in ahead:
                feature = place if names is None else names[place]
                raise ValueError(
                    f"{where}: the last row has no value for the feature {feature!r}, which is not known ahead; "
                    "learn a row that has it first"
                )

    def of_count(self, count: int, last: Array, where: str) -> Array:
        """The next rows if no feature is known ahead: repeats the last row."""
        if len(last) and self._places != []:
            raise ValueError(f"{where}: X_next must hold the features that are known ahead, got {count}")
        return np.tile(last, (COUNT.require(where, "X_next", count), 1))

    def next_rows(self, X_next: Any, names: list[Name] | None, last: Array, where: str) -> Array:
        """The next rows, (n, features): the known features, and the values of the others in the last row."""
        width, places = len(last), self._places
        if isinstance(X_next, (list, tuple)) and not X_next:
            return np.empty((0, width))
        if is_featureless(X_next) and not width:
            return np.empty((len(X_next), 0))
        if isinstance(X_next, (list, tuple)) and X_next and isinstance(inputs.named(X_next[0]), Mapping):
            return self._of_mappings(X_next, names, last, where)
        if places is not None:
            X_next = _numbers_alone(X_next, names, places)
        table = as_block(X_next, where)
        given = np.concatenate([np.asarray(block, dtype=np.float64) for _, block in table.blocks()])
        if table.names is not None:
            items = dict(zip(table.names, given.T, strict=True))
            return self._of_columns(items, len(given), names, last, where)
        if given.shape[1] == width:
            return self.filled(given, last, names, where)
        if places is None or given.shape[1] != len(places):
            expected = str(width) if places is None else f"{len(places)} known ones or {width}"
            raise ValueError(f"{where}: X_next has {given.shape[1]} features, expected {expected}")
        rows = np.tile(last, (len(given), 1))
        rows[:, places] = given
        return _checked(rows, names, where)

    def _of_mappings(self, X_next: Sequence[Any], names: list[Name] | None, last: Array, where: str) -> Array:
        if names is None:
            raise ValueError(f"{where}: X_next has feature names, but earlier rows had none")
        rows = np.tile(last, (len(X_next), 1))
        for number, mapping in enumerate(X_next):
            given = inputs.named(mapping)
            for place in range(len(names)) if self._places is None else self._places:
                if names[place] not in given:
                    raise ValueError(
                        f"{where}: row {number} of X_next lacks the feature {names[place]!r}, which must be known ahead"
                    )
                rows[number, place] = inputs.as_items({names[place]: given[names[place]]}, where)[names[place]]
        return _checked(rows, names, where)

    def _of_columns(self, items: dict[Name, Array], count: int, names: list[Name] | None, last: Array, where: str) -> Array:
        if names is None:
            raise ValueError(f"{where}: X_next has feature names, but earlier rows had none")
        rows = np.tile(last, (count, 1))
        for place in range(len(names)) if self._places is None else self._places:
            if names[place] not in items:
                raise ValueError(f"{where}: X_next lacks the feature {names[place]!r}, which must be known ahead")
            rows[:, place] = items[names[place]]
        return _checked(rows, names, where)

    def filled(self, rows: Array, last: Array, names: list[Name] | None, where: str) -> Array:
        """The next rows, with the last row's values for features that are not known ahead."""
        if self._places is None:
            return _checked(rows, names, where)
        found = np.tile(last, (len(rows), 1))
        found[:, self._places] = rows[:, self._places]
        return _checked(found, names, where)


def _checked(rows: Array, names: list[Name] | None, where: str) -> Array:
    """The rows; raises ValueError if a value is not finite."""
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        row, column = bad[0].tolist()
        feature = column if names is None else names[column]
        raise ValueError(f"{where}: X_next has {inputs.spell(float(rows[row, column]))} in row {row}, feature {feature!r}")
    return rows


def is_featureless(X: Any) -> bool:
    """Whether a table has rows without features."""
    return len(getattr(X, "shape", ())) == 2 and X.shape[1] == 0


def _plain(feature: Any) -> Any:
    return feature.item() if isinstance(feature, np.generic) else feature


def _numbers_alone(X_next: Any, names: list[Name] | None, places: list[int]) -> Any:
    """A frame without the columns that are not known ahead, because these may hold anything."""
    columns = getattr(X_next, "columns", None)
    if columns is None or names is None:
        return X_next
    wanted = [names[place] for place in places]
    return X_next[wanted] if set(wanted) <= set(columns) else X_next
