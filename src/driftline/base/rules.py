"""Rules for parameters: which values are accepted, in code and in words.

A function calls ``COUNT.require("sweep", "jobs", jobs)``. A dataclass derives from :class:`Checked` and annotates its
fields, ``noise: NotNegative = 0.0``. Learners and transformers declare their parameters with :mod:`driftline.base.params`.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import operator
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, TypeGuard, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")
_PLAIN: tuple[type, ...] = (bool, int, float, str, type(None))


@dataclasses.dataclass(frozen=True)
class Rule:
    """Predicates, one of which a value must pass, and their description.

    >>> number(gt=0, le=1).require("RLS", "forgetting", 1.2)
    Traceback (most recent call last):
    ...
    ValueError: RLS: forgetting must be in (0, 1], got 1.2
    """

    check: Callable[[Any], bool]
    words: str
    others: tuple[Callable[[Any], bool], ...] = ()

    def accepts(self, value: Any) -> bool:
        """Whether the value passes. It does not if the predicates raise an error."""
        for check in (self.check, *self.others):
            try:
                if check(value):
                    return True
            except Exception:  # such as a comparison that the value does not support
                continue
        return False

    def require(self, owner: str, name: str, value: T) -> T:
        """Returns the value, numbers as Python's own types. Raises ValueError if the rule is broken."""
        if not self.accepts(value):
            raise ValueError(f"{owner}: {name} must be {self.words}, got {value!r}")
        accepted: T = value if type(value) in _PLAIN else plain(value)
        return accepted

    def or_none(self) -> Rule:
        """This rule, but accepting None too."""
        return Rule(lambda value: value is None, f"None or {self.words}", (self.check, *self.others))

    def __or__(self, other: Rule) -> Rule:
        return Rule(self.check, f"{self.words}, or {other.words}", (*self.others, other.check, *other.others))


def plain(value: Any) -> Any:
    """Converts a number to Python's own type, since NumPy's types compute in their own precision and range."""
    if not isinstance(value, numbers.Real) or type(value) in _PLAIN:
        return value
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def number(*, gt: float = -math.inf, ge: float | None = None, lt: float = math.inf, le: float | None = None) -> Rule:
    """A real number within bounds; ``le=math.inf`` accepts infinity.

    >>> number(gt=0, le=math.inf).words, number(ge=0, lt=1).words, number().words
    ('in (0, inf]', 'in [0, 1)', 'a finite number')
    """
    low, above, left = (gt, operator.gt, "(") if ge is None else (ge, operator.ge, "[")
    high, below, right = (lt, operator.lt, ")") if le is None else (le, operator.le, "]")

    def check(value: Any) -> bool:
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        return real and above(float(value), low) and below(float(value), high)

    words = f"in {left}{low:g}, {high:g}{right}"
    return Rule(check, "a finite number" if words == "in (-inf, inf)" else words)


def whole(ge: int, le: int | None = None) -> Rule:
    """A whole number within bounds."""

    def check(value: Any) -> bool:
        integral = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        return integral and int(value) >= ge and (le is None or int(value) <= le)

    return Rule(check, f"a whole number of at least {ge}" if le is None else f"a whole number in [{ge}, {le}]")


def choice(options: Iterable[Hashable]) -> Rule:
    """One of several values.

    >>> choice(["raise", "skip"]).words, choice(["complement"]).words
    ("one of 'raise', 'skip'", "'complement'")
    """
    known = dict.fromkeys(options)  # unlike a tuple, a dict does not compare arrays element by element
    return Rule(known.__contains__, ("one of " if len(known) > 1 else "") + ", ".join(map(repr, known)))


def is_sequence(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether the value is a non-empty sequence or array; text does not count."""
    return isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes)) and len(value) > 0


def sequence(item: Rule) -> Rule:
    """One or more values that all pass the same rule."""
    return Rule(lambda value: is_sequence(value) and all(map(item.accepts, value)), f"one or more values, each {item.words}")


POSITIVE, NOT_NEGATIVE = number(gt=0), number(ge=0)
PROBABILITY = number(gt=0, lt=1)
WHOLE, COUNT = whole(0), whole(1)
BOOLEAN = Rule(lambda value: isinstance(value, bool), "True or False")

Positive = Annotated[float, POSITIVE]
NotNegative = Annotated[float, NOT_NEGATIVE]
Share = Annotated[float, number(ge=0, le=1)]
Whole = Annotated[int, WHOLE]
Count = Annotated[int, COUNT]
CountOrNone = Annotated[int | None, COUNT.or_none()]


@cache
def rules_of(cls: type[Any]) -> Mapping[str, Rule]:
    """The rules of a dataclass's fields, from ``Annotated`` and ``Literal`` annotations."""
    rules: dict[str, Rule] = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        if get_origin(hint) is Literal:
            rules[name] = choice(get_args(hint))
        elif get_origin(hint) is Annotated:
            rules[name] = hint.__metadata__[0]
    return rules


class Checked:
    """Base class for dataclasses: checks every field by the rule in its annotation."""

    def __post_init__(self) -> None:
        cls: Any = type(self)
        for name, rule in rules_of(cls).items():
            value = getattr(self, name)
            if value is not getattr(cls, name, self) and not rule.accepts(value):  # defaults pass
                rule.require(cls.__name__, name, value)
