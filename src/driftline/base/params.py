"""Hyper-parameters that declare their own rule.

A learner lists its parameters as class attributes, ``ridge: float = params.real(default=1.0, gt=0)``. They become
keyword-only arguments of the constructor, are checked there and in ``set_params``, and are stored as given.

A copy made by scikit-learn's ``clone`` is checked later, when it first learns: a search sets the parameters of such copies
where an error would end it, and fits them where an error is a failed fit.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from operator import attrgetter
from types import MappingProxyType, SimpleNamespace
from typing import Any, ClassVar, Generic, Literal, TypeVar, dataclass_transform

from driftline.base import rules
from driftline.base.docstrings import Readable
from driftline.base.rules import Rule

T = TypeVar("T")
_SCALARS = (bool, int, float, str)  # defaults of these types pass their rule


class Param:
    """A parameter: its default and its rule."""

    def __init__(self, default: Any, rule: Rule, kw_only: bool = True) -> None:
        self.default, self.rule, self.kw_only = default, rule, kw_only
        self.may_be_none = default is None and rule.accepts(None)

    def attribute(self, name: str) -> property:
        """The property by which a class offers this parameter."""
        get, words = attrgetter(f"_values.{name}"), f"A parameter: {self.rule.words}."
        return property(get, lambda owner, value: owner.set_params(**{name: value}), doc=words)


def checked(*, default: Any, rule: Rule, optional: bool = False, kw_only: bool = True) -> Any:
    """A parameter with any rule; if ``optional``, None passes too. It is positional unless ``kw_only``."""
    return Param(default, rule.or_none() if optional else rule, kw_only)


def real(*, default: float | None, optional: bool = False, **bounds: float) -> Any:
    """A real number within the bounds of :func:`~driftline.base.rules.number`."""
    return checked(default=default, rule=rules.number(**bounds), optional=optional)


def integer(*, default: int | None, ge: int, le: int | None = None, optional: bool = False, kw_only: bool = True) -> Any:
    """A whole number within bounds."""
    return checked(default=default, rule=rules.whole(ge, le), optional=optional, kw_only=kw_only)


def seed(*, default: int, kw_only: bool = True) -> Any:
    """A key for the core's random number generator."""
    return Param(default, Rule(rules.whole(0, 2**64 - 1).check, "a whole number in [0, 2^64)"), kw_only)


def boolean(*, default: bool) -> Any:
    """True or False."""
    return Param(default, rules.BOOLEAN)


def choice(*, default: str, options: Iterable[str], kw_only: bool = True) -> Any:
    """One of several words."""
    return Param(default, rules.choice(options), kw_only)


def state(start: T, *, init: Literal[False] = False) -> T:
    """An attribute that is not a parameter, with its initial value; ``init`` tells type checkers so."""
    return start


class Derived(Generic[T]):
    """Decorates a method that computes a value from the parameters: on first use, and again after they have changed."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make, self.name, self.__doc__ = make, make.__name__, make.__doc__

    def __get__(self, model: Any, owner: type) -> T:
        found = self.make(model)
        setattr(model, self.name, found)  # which the attribute is from now on
        model._has_derived = True
        return found


@dataclass_transform(kw_only_default=True, field_specifiers=(real, integer, seed, boolean, choice, checked, state))
class Parametrised:
    """Turns the parameters of a class into its constructor, its attributes, ``get_params``, ``set_params`` and ``repr``.

    Attributes hold numbers as Python's own types; ``get_params`` returns what was given.
    """

    _params: ClassVar[dict[str, Param]] = {}
    _quiet: ClassVar[tuple[str, ...]] = ()  # parameters that repr omits at their default
    _given: dict[str, Any]  # parameters by name, as given
    _values: SimpleNamespace  # the same, numbers as Python's own types
    _checks_later: bool = False  # whether this is a copy by scikit-learn that has not learned
    _broken: Mapping[str, Any] = MappingProxyType({})  # parameters of such a copy that break a rule
    _derived: ClassVar[frozenset[str]] = frozenset()  # the values that are derived from the parameters
    _has_derived: bool = False  # whether one of them was

    def __init_subclass__(cls, *, init: bool = True, **kwargs: Any) -> None:  # init=False: type checkers are told otherwise
        super().__init_subclass__(**kwargs)
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Param)}
        inherited = {name: param for name, param in cls._params.items() if name not in own}
        cls._params = {**own, **inherited}
        cls._derived |= {name for name, value in vars(cls).items() if isinstance(value, Derived)}
        for name, param in own.items():
            setattr(cls, name, param.attribute(name))
        if isinstance(vars(cls).get("__doc__"), str):
            cls.__doc__ = Readable(vars(cls)["__doc__"])  # type: ignore[assignment]
        by_place, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        fields = [
            inspect.Parameter(name, keyword if param.kw_only else by_place, default=param.default)
            for name, param in cls._params.items()
        ]
        this = inspect.Parameter("self", by_place)
        places = [name for name, param in cls._params.items() if not param.kw_only]
        defaults = {name: param.default for name, param in cls._params.items()}
        refused = {name: value for name, value in defaults.items() if not cls._params[name].rule.accepts(value)}

        def construct(self: Parametrised, *given: Any, **values: Any) -> None:
            if len(given) > len(places) or not values.keys().isdisjoint(places[: len(given)]):
                raise TypeError(_misplaced(cls.__name__, places, len(given)))
            values.update(zip(places, given, strict=False))
            self._given, self._values = defaults, SimpleNamespace(**defaults)
            self._assign({**refused, **values})  # a default that breaks its rule makes the parameter required

        cls.__signature__ = inspect.Signature(fields)  # type: ignore[attr-defined]
        construct.__signature__ = inspect.Signature([this, *fields])  # type: ignore[attr-defined]
        construct.__name__, construct.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
        cls.__init__ = construct  # type: ignore[assignment,method-assign]

    def _assign(self, changes: Mapping[str, Any]) -> None:
        """Checks everything first, so that a refused change changes nothing."""
        owner = type(self).__name__
        for name in changes:
            if name not in self._params:
                raise TypeError(self._unknown(name))
        plain = {}
        for name, value in changes.items():
            param = self._params[name]
            if value is None and param.may_be_none:
                is_default = True
            else:
                is_default = type(value) in _SCALARS and type(value) is type(param.default) and value == param.default
            plain[name] = value if is_default else param.rule.require(owner, name, value)
        values = {**vars(self._values), **plain}
        self._check_relations(values)
        self._given, self._values = {**self._given, **changes}, SimpleNamespace(**values)
        if self._has_derived:
            self._derive_anew()

    def _change(self, changes: dict[str, Any]) -> None:
        """Changes parameters. A copy by scikit-learn keeps changes that break a rule, until others mend it or it learns."""
        if not self._checks_later:
            self._assign(changes)
            return
        together = {**self._broken, **changes}
        try:
            self._assign(together)
            self._broken = {}
        except ValueError:
            self._broken = together

    def _require_valid(self) -> None:
        """Raises ValueError if a parameter breaks a rule, of this model or of one among its parameters."""
        if self._broken:
            self._assign(self._broken)
        for value in self._given.values():
            for part in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(part, Parametrised):
                    part._require_valid()

    def _keep_valid(self) -> None:
        """If all parameters are valid: requires it from now on. Parts of a copy are never asked to."""
        self._checks_later = bool(self._broken)

    def _models(self) -> list[Parametrised]:
        """The models among the parameters."""
        items = [item for value in self._given.values() for item in (value if isinstance(value, (list, tuple)) else [value])]
        return [item for item in items if isinstance(item, Parametrised)]

    def _store(self, values: dict[str, Any]) -> None:
        """Stores parameters that have been checked before. Those of an older pickle may lack some."""
        if len(values) < len(self._params):
            values = {**{name: param.default for name, param in self._params.items()}, **values}
        self._given = values
        self._values = SimpleNamespace(**{name: rules.plain(value) for name, value in values.items()})
        if self._has_derived:
            self._derive_anew()

    def _derive_anew(self) -> None:
        for name in self._derived:
            with suppress(AttributeError):  # which was not derived
                delattr(self, name)

    def _check_relations(self, values: dict[str, Any]) -> None:
        """Checks rules that involve several parameters; raises ValueError if one is broken."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The hyper-parameters by name, as given."""
        return {**self._given, **self._broken}

    def set_params(self, **changes: Any) -> Any:
        """Changes hyper-parameters, all or none of them."""
        unknown = [name for name in changes if name not in self._params]
        if unknown:  # by scikit-learn's convention, where the constructor raises TypeError
            raise ValueError(self._unknown(unknown[0]))
        self._change(changes)
        return self

    def __repr__(self) -> str:
        shown = [
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if name not in self._quiet or value != self._params[name].default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _unknown(self, name: str) -> str:
        return f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(self._params)}"


def _misplaced(owner: str, places: list[str], given: int) -> str:
    if not places:
        return f"{owner} takes its parameters by keyword, got {given} positional"
    return f"{owner} takes {', '.join(places)} by position, once; got {given} positional parameters"
