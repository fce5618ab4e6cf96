"""Transformations of the label, and the way back to the user's scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from driftline._core import Limits
from driftline.base.rules import Checked, Rule, choice, number
from driftline.storage.codec import storable
from driftline.tables.inputs import Array

Function = Callable[[Any], Any]
Transformation = str | Sequence[Function]

_LARGEST = np.finfo(np.float64).max
_PLAIN: tuple[Function, Function] = (np.array, np.array)
_FUNCTIONS: dict[str, tuple[Function, Function]] = {
    "log": (np.log, np.exp),
    "log1p": (np.log1p, np.expm1),
    "sqrt": (np.sqrt, lambda z: np.square(np.maximum(z, 0.0))),
    "logit": (lambda y: np.log(y) - np.log1p(-y), lambda z: 0.5 + 0.5 * np.tanh(0.5 * z)),
    "asinh": (np.arcsinh, np.sinh),
}
_DOMAINS = {  # the labels that a transformation takes, and what takes others
    "log": 'takes labels above 0; "log1p" takes those above -1, "asinh" any',
    "log1p": 'takes labels above -1; "asinh" takes any',
    "sqrt": 'takes labels of at least 0; "asinh" takes any',
    "logit": "takes labels between 0 and 1",
    "asinh": "takes any label",
}
_RANGES = {"log": (0.0, np.inf), "log1p": (-1.0, np.inf), "sqrt": (0.0, np.inf), "logit": (0.0, 1.0)}  # of these labels


def _is_pair(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(map(callable, value))


NAMES = tuple(_FUNCTIONS)
_LIMIT = number().or_none()
TRANSFORMATION = choice(NAMES) | Rule(_is_pair, "a pair of functions (forward, inverse)")


@storable
@dataclass(frozen=True)
class Scale(Checked):
    """A monotone transformation of the label.

    Attributes:
        transformation: its name, or the functions (forward, inverse) of arrays or of numbers; None for labels as they are.
        low, high: the range of the label on the user's scale; None for no limit.
    """

    transformation: Annotated[Transformation | None, TRANSFORMATION.or_none()]
    low: Annotated[float | None, _LIMIT] = None
    high: Annotated[float | None, _LIMIT] = None

    @property
    def _functions(self) -> Sequence[Function]:
        given = self.transformation
        return _PLAIN if given is None else _FUNCTIONS[given] if isinstance(given, str) else given

    @property
    def is_named(self) -> bool:
        """Whether the functions are driftline's own, which cannot fail."""
        return self.transformation is None or isinstance(self.transformation, str)

    @property
    def limits(self) -> Limits:
        """The range of the labels, and of all answers."""
        least, most = _RANGES.get(str(self.transformation), (-np.inf, np.inf))
        given = Limits(self.low, self.high)
        return Limits(max(least, given.low), min(most, given.high))

    def forward(self, labels: Array) -> Array:
        """Labels as they are learned; not finite if they are outside the domain. Missing and infinite labels stay so."""
        known = np.isfinite(labels)
        found: Array = np.where(known, _applied(self._functions[0], np.where(known, labels, 0.5)), labels)
        return found

    def inverse(self, values: Array) -> Array:
        """Values on the user's scale, without limits. Finite values stay finite; ValueError if one becomes NaN."""
        found = _applied(self._functions[1], values)
        lost = np.isnan(found) & np.isfinite(values)
        if lost.any():
            value = float(values[lost][0])
            raise ValueError(f"Transformed: inverse makes nan of {value:g}, but it must take every number: clip it there")
        return np.where(np.isfinite(values), np.clip(found, -_LARGEST, _LARGEST), found)

    def ends(self, values: Array) -> Array:
        """Ends of intervals on the user's scale."""
        limits = self.limits
        return np.clip(self.inverse(values), limits.low, limits.high)

    def __call__(self, value: float) -> float:
        """One end of an interval on the user's scale, as tickets ask for it."""
        return float(self.ends(np.array([value]))[0])

    def words(self, label: float) -> str:
        """Why a label cannot be learned."""
        given = self.transformation
        if isinstance(given, str):
            return f'but "{given}" {_DOMAINS[given]}'
        return f"for which forward gives {self.forward(np.array([label]))[0]:g}"


def _applied(function: Function, values: Array) -> Array:
    """A function of arrays, or else of numbers, on every value. Outside its domain the result is not finite."""
    with np.errstate(all="ignore"):
        try:
            found = np.asarray(function(values), dtype=np.float64)
            if found.shape == values.shape:
                return found
        except (TypeError, ValueError):
            pass
        return np.array([_number(function, value) for value in values.ravel().tolist()]).reshape(values.shape)


def _number(function: Function, value: float) -> float:
    try:
        return float(function(value))
    except (ValueError, OverflowError, ZeroDivisionError):  # as Python's math raises
        return np.nan
