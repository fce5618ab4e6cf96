"""Rules of parameters, in their annotations: ``noise: NotNegative = 0.0``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from driftline.base.params import Check, choice, integer, number

Rule = tuple[Check, str]


def whole(ge: int, optional: bool = False) -> Rule:
    """A whole number, at least ``ge``."""
    param = integer(default=None, ge=ge, optional=optional)
    return param.check, param.rule


NotNegative = Annotated[float, number(ge=0)]
Positive = Annotated[float, number(gt=0)]
Share = Annotated[float, number(ge=0, le=1)]
Seed = Annotated[int, whole(0)]
Count = Annotated[int, whole(1)]
RowIndex = Annotated[int, whole(0)]
CountOrNone = Annotated[int | None, whole(1, optional=True)]


def rules_of(cls: type[Any]) -> Mapping[str, Rule]:
    """The rule of every field of a dataclass that has one: a check, and its words.

    >>> from driftline.streams import Switching
    >>> rules_of(Switching)["every"][1]
    'a whole number of at least 1'
    """
    hints = get_type_hints(cls, include_extras=True)
    found = {field.name: _rule(hints[field.name]) for field in dataclasses.fields(cls)}
    return {name: rule for name, rule in found.items() if rule is not None}


def _rule(hint: Any) -> Rule | None:
    if get_origin(hint) is Literal:
        word = choice(default="", options=get_args(hint))
        return word.check, word.rule
    if get_origin(hint) is Annotated:
        rule: Rule = hint.__metadata__[0]
        return rule
    return None


def check_fields(instance: Any) -> None:
    """Raises ValueError where a field of a dataclass breaks its rule."""
    owner = type(instance).__name__
    for name, (check, words) in rules_of(type(instance)).items():
        value = getattr(instance, name)
        if not check(value):
            raise ValueError(f"{owner}: {name} must be {words}, got {value!r}")


def check_whole(value: Any, where: str, name: str, low: int, high: int | None = None) -> int:
    """A whole number within bounds that the caller was given."""
    check, words = whole(low)
    if high is not None:
        words = f"a whole number in [{low}, {high}]"
    if not check(value) or (high is not None and value > high):
        raise ValueError(f"{where}: {name} must be {words}, got {value!r}")
    return int(value)
