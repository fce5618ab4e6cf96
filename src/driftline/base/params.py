"""Hyper-parameters that declare their own rule.

A learner lists its parameters as class attributes, ``ridge: float = params.real(default=1.0, gt=0)``. They become
keyword-only arguments of the constructor, are checked there and in ``set_params``, and are stored as they were given.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, dataclass_transform

Check = Callable[[Any], bool]


class Param:
    """A parameter: its default and its rule in code and in words."""

    name: str

    def __init__(self, default: Any, check: Check, rule: str, kw_only: bool = True) -> None:
        self.default, self.check, self.rule, self.kw_only = default, check, rule, kw_only

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else _plain(instance.__dict__[self.name])

    def __set__(self, instance: Any, value: Any) -> None:
        instance.set_params(**{self.name: value})

    def validate(self, owner: str, value: Any) -> None:
        """Raises ValueError with the rule and the value where the rule is broken."""
        try:
            passes = self.check(value)
        except Exception:  # a value that cannot even be compared
            passes = False
        if not passes:
            raise ValueError(f"{owner}: {self.name} must be {self.rule}, got {value!r}")


def _plain(value: Any) -> Any:
    """A number as Python's own: NumPy's would compute in their own precision and range."""
    if isinstance(value, (bool, str)) or not isinstance(value, numbers.Real):
        return value
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def _is_real(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and isinstance(value, numbers.Real) and not math.isnan(value)
    except OverflowError:  # a whole number that no float can hold
        return False


def _interval(low: float | None, open_low: bool, high: float | None, open_high: bool) -> str:
    if low is None and high is None:
        return "a finite number"
    left = "(" if open_low or low is None else "["
    right = ")" if open_high or high is None else "]"
    return f"in {left}{-math.inf if low is None else low:g}, {math.inf if high is None else high:g}{right}"


def number(
    *,
    gt: float | None = None,
    ge: float | None = None,
    lt: float | None = None,
    le: float | None = None,
    infinite: bool = False,
) -> tuple[Check, str]:
    """A check of real numbers and its words."""

    def check(value: Any) -> bool:
        return bool(
            _is_real(value)
            and (infinite or math.isfinite(value))
            and (gt is None or value > gt)
            and (ge is None or value >= ge)
            and (lt is None or value < lt)
            and (le is None or value <= le)
        )  # fmt: skip

    low, high = (ge if gt is None else gt), (le if lt is None else lt)
    words = _interval(low, gt is not None, high, lt is not None or (infinite is False and high is None))
    if infinite and high is None:
        words = words[:-1] + "]"
    return check, words


def real(*, default: float | None, optional: bool = False, **bounds: Any) -> Any:
    """A real number within bounds; None too where it is optional."""
    check, words = number(**bounds)
    if not optional:
        return Param(default, check, words)
    return Param(default, lambda value: value is None or check(value), f"None or {words}")


def is_whole(value: Any, least: int, most: float = math.inf) -> bool:
    """Whether this is a whole number within bounds."""
    return not isinstance(value, bool) and isinstance(value, numbers.Integral) and least <= int(value) <= most


def integer(*, default: int | None, ge: int, optional: bool = False, kw_only: bool = True) -> Any:
    """A whole number, at least ``ge``."""

    def check(value: Any) -> bool:
        return optional if value is None else is_whole(value, ge)

    return Param(default, check, f"{'None or ' if optional else ''}a whole number of at least {ge}", kw_only)


def seed(*, default: int, kw_only: bool = True) -> Any:
    """A key of the core's random generator."""
    rule = "a whole number of at least 0 and below 2^64"
    return Param(default, lambda value: is_whole(value, 0, 2**64 - 1), rule, kw_only)


def boolean(*, default: bool) -> Any:
    """True or False."""
    return Param(default, lambda value: isinstance(value, bool), "True or False")


def choice(*, default: str, options: Iterable[str], kw_only: bool = True) -> Any:
    """One of several words."""
    known = tuple(options)
    rule = "one of " + ", ".join(map(repr, known))
    return Param(default, lambda value: isinstance(value, str) and value in known, rule, kw_only)


def checked(*, default: Any, check: Check, rule: str, kw_only: bool = True) -> Any:
    """Anything that passes ``check``; ``rule`` says in words what passes. It may be given by place where not ``kw_only``."""
    return Param(default, check, rule, kw_only)


@dataclass_transform(kw_only_default=True, field_specifiers=(real, integer, seed, boolean, choice, checked))
class Parametrised:
    """Turns the parameters of a class into its constructor, ``get_params``, ``set_params`` and ``repr``."""

    _params: ClassVar[dict[str, Param]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Param)}
        inherited = {name: param for name, param in cls._params.items() if name not in own}
        cls._params = {**own, **inherited}
        by_place, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        fields = [
            inspect.Parameter(name, keyword if param.kw_only else by_place, default=param.default)
            for name, param in cls._params.items()
        ]
        this = inspect.Parameter("self", by_place)
        places = [name for name, param in cls._params.items() if not param.kw_only]

        def init(self: Parametrised, *given: Any, **values: Any) -> None:
            if len(given) > len(places) or any(name in values for name in places[: len(given)]):
                raise TypeError(_misplaced(cls.__name__, places, len(given)))
            values.update(zip(places, given, strict=False))
            self._assign({name: param.default for name, param in cls._params.items()}, values)

        init.__signature__ = inspect.Signature([this, *fields])  # type: ignore[attr-defined]
        init.__name__, init.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
        cls.__init__ = init  # type: ignore[assignment,method-assign]

    def _assign(self, before: dict[str, Any], changes: dict[str, Any]) -> None:
        """Checks everything first: a change that is refused changes nothing."""
        owner = type(self).__name__
        for name in changes:
            if name not in self._params:
                raise TypeError(self._unknown(name))
        values = {**before, **changes}
        for name, value in values.items():
            self._params[name].validate(owner, value)
        self._check_relations({name: _plain(value) for name, value in values.items()})
        self.__dict__.update(values)

    def _check_relations(self, values: dict[str, Any]) -> None:
        """Rules that tie several parameters together: raise ValueError where one is broken."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The hyper-parameters by name, as they were given."""
        return {name: self.__dict__[name] for name in self._params}

    def set_params(self, **changes: Any) -> Any:
        """Changes hyper-parameters, all or none of them."""
        unknown = [name for name in changes if name not in self._params]
        if unknown:  # by scikit-learn's convention, where the constructor raises TypeError
            raise ValueError(self._unknown(unknown[0]))
        self._assign(self.get_params(deep=False), changes)
        return self

    def _unknown(self, name: str) -> str:
        return f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(self._params)}"


def _misplaced(owner: str, places: list[str], given: int) -> str:
    if not places:
        return f"{owner} takes its parameters by keyword, got {given} without one"
    return f"{owner} takes {', '.join(places)} by place, once; got {given} parameters without a keyword"
