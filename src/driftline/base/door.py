"""The one door for rows: conversion, names, widths and bad values, for learners, transformers and fleets."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from driftline.base.batch import numbered
from driftline.errors import RowRefusedError, warn
from driftline.tables import inputs
from driftline.tables.block import RowBlock
from driftline.tables.inputs import Array, Name
from driftline.tables.missing import Missing

LARGEST = {name: np.float64(np.finfo(name).max) for name in ("float64", "float32")}  # float64, for exact comparisons


@dataclass(frozen=True, slots=True)
class Door:
    """Checks and converts the rows that a model accepts.

    Attributes:
        owner: the name of the model's class, for messages.
        features: number of features of a row; None before the first row.
        names: feature names, if there are any.
        dtype: values must be in its range.
        missing: the learner's parameter of this name; None for models that have none.
        low, high: the range of the label; None where it has no end.
        words: what to say of a label beyond a limit that is not the user's low or high.
    """

    owner: str
    features: int | None
    names: list[Name] | None
    dtype: str = "float64"
    missing: Missing | None = None
    low: float | None = None
    high: float | None = None
    words: Mapping[float, str] = field(default_factory=dict)

    # One row.

    def read(self, x: Any, where: str, *, grow: bool) -> tuple[Array, list[Name] | None]:
        """A row as float64, and the names of its features, if there are any; :func:`inputs.named` has seen the row.

        A missing key of a mapping counts as 0. With ``grow``, names that the model does not know are added after the known
        ones. Without it, unknown names are ignored, though their values must be numbers.
        """
        if not isinstance(x, Mapping):
            row = inputs.as_row(x, where)
            if self.features is not None and row.size != self.features:
                self.require_width(row.size, where)
            return row, self.names
        items = inputs.as_items(x, where)
        names = self.known_names(where)
        if grow or self.features is None:
            names = list(dict.fromkeys([*names, *inputs.as_names(items, where)]))
        return np.array([items.get(name, 0.0) for name in names], dtype=np.float64), names

    def known_names(self, where: str) -> list[Name]:
        """The names so far; raises ValueError if the model learned from features without names."""
        if self.names is None and self.features is not None:
            raise ValueError(
                f"{where}: x is a mapping, but {self.owner} learned from features without names; "
                "give their values in order, or train a model with mappings or a frame"
            )
        return self.names or []

    def require_width(self, width: int, where: str) -> None:
        """Raises ValueError unless a row has as many features as the model."""
        if self.features is not None and width != self.features:
            raise ValueError(f"{where}: x has {width} features, expected {self.features}")

    # Many rows.

    def check(self, block: RowBlock, where: str, *, warn: bool = False) -> None:
        """Raises ValueError unless a block has the model's features, in their order.

        With ``warn`` it warns, as scikit-learn does, if only one of block and model has names.
        """
        if self.features is None:
            return
        if warn and (block.names is None) != (self.names is None):
            self._warn_of_names(block)
        if block.names is not None and self.names is not None and block.names != self.names:
            raise ValueError(different_names(where, self.names, block.names))
        if block.columns != self.features:
            raise ValueError(
                f"{where}: X has {block.columns} features, but {self.owner} is expecting {self.features} features as input"
            )

    def _warn_of_names(self, block: RowBlock) -> None:
        if "sklearn.utils.validation" not in sys.modules:
            return
        if block.names is None:
            text = f"X does not have valid feature names, but {self.owner} was fitted with feature names"
        else:
            text = f"X has feature names, but {self.owner} was fitted without feature names"
        warn(text, UserWarning)

    # Bad values.

    @property
    def largest(self) -> float:
        """The largest finite value of the model's type."""
        return LARGEST[self.dtype]

    def is_whole(self, values: Any) -> bool:
        """Whether all values are numbers within the range."""
        return bool(np.all(np.abs(values) <= self.largest))

    def whole_rows(self, block: Array) -> Array:
        """Which rows of a block have only values within the range."""
        good = np.abs(block) <= self.largest
        if good.all():  # much faster than row by row
            return np.ones(len(good), dtype=bool)
        return np.asarray(good.all(axis=1))

    def refuse_bad(self, row: Array, where: str, names: list[Name] | None = None, what: str = "x", place: str = "") -> None:
        """Raises ValueError for the first value that is NaN, infinite or out of range, and names its place."""
        bad = ~(np.abs(row) <= self.largest)
        if bad.any():
            column = int(bad.argmax())
            names = names or self.names
            feature = repr(names[column]) if names else str(column)
            self.refuse_value(float(row[column]), where, what, f"{place}feature {feature}")

    def refuse_bad_items(self, x: Any, where: str) -> None:
        """The same for the values of a mapping, those of unknown names included."""
        if isinstance(x, Mapping):
            for name, value in inputs.as_items(x, where).items():
                if not abs(value) <= self.largest:
                    self.refuse_value(value, where, "x", f"feature {name!r}")

    def refuse_bad_label(self, y: Any, where: str, place: str = "") -> NoReturn:
        """Raises ValueError for a bad label, or for the first bad one of several."""
        labels = np.atleast_1d(y)
        output = int((~(np.abs(labels) <= self.largest)).argmax())
        value = float(labels[output])
        which = f", output {output}" if np.ndim(y) else ""
        raise ValueError(
            f"{where}: y is {inputs.spell(value)}{place}{which}{self._beyond(value)}{self._remedy(value, True)}"
        )

    def refuse_outside(self, labels: Array, where: str, start: int | None = 0) -> None:
        """Raises ValueError for the first label outside the limits; ``start`` is the first row's number, if it has one."""
        low, high = -np.inf if self.low is None else self.low, np.inf if self.high is None else self.high
        outside = (labels < low) | (labels > high)
        outside &= np.abs(labels) <= self.largest  # others are bad, or missing
        if outside.any():
            row, *output = (int(place) for place in np.argwhere(outside)[0])
            value = float(labels[row, *output])
            limit, said = (low, "below low") if value < low else (high, "above high")
            end = self.words.get(limit, f"{said}={limit:g}")
            which = f", output {output[0]}" if output and labels.shape[1] > 1 else ""
            number = None if start is None else start + row
            place = numbered(number, " in ")
            shown = inputs.spell(value)
            message, reason = f"{where}: y is {shown}{place}{which}, {end}", f"the label is {shown}{which}, {end}"
            raise RowRefusedError(message, number, of_label=True, reason=reason)

    def refuse_row(self, x: Array, y: Any, where: str, row: int | None, names: list[Name] | None = None) -> NoReturn:
        """Raises ValueError that names the bad value in a row or its label."""
        self.refuse_bad(x, where, names, "x" if row is None else "X", numbered(row, after=", "))
        if y is not None and not self.is_whole(y):
            self.refuse_bad_label(y, where, numbered(row, " in "))
        if y is not None:
            self.refuse_outside(np.atleast_1d(y)[None], where, row)
        raise ValueError(f"{where}: {numbered(row) or 'the row'} cannot be read")

    def refuse_value(self, value: float, where: str, what: str, place: str) -> NoReturn:
        """Raises ValueError that names a bad value and its place."""
        raise ValueError(f"{where}: {what} has {inputs.spell(value)} in {place}{self._beyond(value)}{self._remedy(value)}")

    def refuse_absent(self, where: str, name: Name) -> NoReturn:
        """Raises ValueError for a row that lacks a column of text or times."""
        raise ValueError(f"{where}: x lacks {name!r}, which is not a number that could be 0{self._remedy(np.nan)}")

    def _remedy(self, value: float, of_label: bool = False) -> str:
        """What can be done about a value that is not finite."""
        if np.isfinite(value) or self.missing in (None, "skip"):
            return ""
        skipping = '; missing="skip" leaves out such rows'
        return skipping if of_label or np.isinf(value) else f'{skipping}, missing="mean" fills in such values'

    def _beyond(self, value: float) -> str:
        return f", beyond the range of {self.dtype}" if np.isfinite(value) else ""


def different_names(where: str, known: list[Name], given: list[Name]) -> str:
    """How two lists of names differ, in scikit-learn's words."""
    lines = [f"{where}: The feature names should match those that were passed during fit."]
    unseen = sorted(set(given) - set(known), key=str)
    absent = sorted(set(known) - set(given), key=str)
    for title, names in (("unseen at fit time", unseen), ("seen at fit time, yet now missing", absent)):
        if names:
            lines.append(f"Feature names {title}:")
            lines += [f"- {name}" for name in names[:5]] + (["- ..."] if len(names) > 5 else [])
    if not unseen and not absent:
        lines.append("Feature names must be in the same order as they were in fit.")
    return "\n".join(lines) + "\n"
