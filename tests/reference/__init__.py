"""Plain references: a slow second implementation of each learner, written as in its paper.

The reference of a learner is ``REFERENCE`` in its test file, ``tests/test_linear/test_rls.py`` for RLS. ``learners.py``
finds it by the learner's registered name; ``test_learners.py`` compares every learner with its reference.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp, mpf

from .traces import Array, Matrix, Outcome, Precise, Vector, outcome

__all__ = ["Array", "Case", "Matrix", "Outcome", "Precise", "Reference", "Vector", "at", "longest", "outcome"]

DIGITS = 50


class Case:
    """Parameters with which a learner is compared with its reference.

    Args:
        plainly: parameters that the reference spells differently, such as a loss object.
        parameters: the learner's parameters; others keep their defaults.
    """

    def __init__(self, *, plainly: Mapping[str, Any] | None = None, **parameters: Any) -> None:
        self.parameters = parameters
        self.plainly = {**parameters, **(plainly or {})}

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.parameters.items() if not callable(value)) or "defaults"


@dataclass(frozen=True)
class Reference:
    """A learner written out plainly.

    Attributes:
        plain: (X, y, *, parameters with the class's names and defaults) -> Outcome, in floats, with explicit inverses. The
            caller appends a column of ones for an intercept, unless ``plain`` has a parameter of that name.
        cases: parameters with which the learner is compared with ``plain``, and ``plain`` with ``precise``.
        precise: (rows, labels, *, the same parameters) -> Precise, in mpmath's numbers: the learner's row of the accuracy
            table. None for a meta-learner.
        accuracy: X -> the parameters for the accuracy table, if the defaults diverge or are slow on such rows.
    """

    plain: Callable[..., Outcome]
    cases: Sequence[Case]
    precise: Callable[..., Precise] | None = None
    accuracy: Callable[[Array], dict[str, Any]] = lambda X: {}

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters of ``plain`` with their defaults, without the intercept."""
        named = inspect.signature(self.plain).parameters.values()
        return {p.name: p.default for p in named if p.kind is p.KEYWORD_ONLY and p.name != "intercept"}

    @property
    def takes_intercept(self) -> bool:
        """Whether ``plain`` adds the intercept itself."""
        return "intercept" in inspect.signature(self.plain).parameters

    def in_50_digits(self, X: Any, y: Any, **parameters: Any) -> Precise:
        """Runs ``precise`` on the exact values of all floats.

        The numbers of the trace have 50 digits: do arithmetic on them under ``mp.workdps(DIGITS)``, or convert them.
        """
        return self.in_digits(DIGITS, X, y, **parameters)

    def in_digits(self, digits: int, X: Any, y: Any, **parameters: Any) -> Precise:
        """Runs ``precise`` with another number of digits."""
        assert self.precise is not None
        with mp.workdps(digits):
            rows, labels = [[mpf(float(v)) for v in x] for x in X], [mpf(float(v)) for v in y]
            merged = {**self.defaults, **parameters}
            return self.precise(rows, labels, **{name: _exact(value) for name, value in merged.items()})


def _exact(value: Any) -> Any:
    """Converts a number exactly, so that 1 - forget_rate is not rounded to a float."""
    return mpf(value) if type(value) in (int, float) else value


def at(schedule: Any, i: int) -> Any:
    """A schedule at i = 1, 2, ...: a number, a function, or a sequence that repeats its last value."""
    if callable(schedule):
        return schedule(i)
    return schedule[min(i, len(schedule)) - 1] if hasattr(schedule, "__len__") else schedule


def longest(X: Array) -> float:
    """The largest |x|^2."""
    return float(np.square(X, dtype=np.float64).sum(axis=1).max())
