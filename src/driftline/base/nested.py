"""Learners among the parameters of a learner."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

from driftline.base import params
from driftline.base.learner import Learner
from driftline.base.traits import Traits, times_of
from driftline.tables import missing
from driftline.tables.inputs import Array
from driftline.tables.missing import SKIP, Missing

_OPTIONS = ("intercept", "dtype", "missing", "low", "high")
_LIMITS: dict[str, Callable[[list[float]], float]] = {"low": max, "high": min}


class _Inherited(params.Param):
    """A learner option; None means the value that the learners within have."""

    def attribute(self, name: str) -> property:
        """The option as given, or the value that the learners within have."""
        own = super().attribute(name)

        def get(owner: Any) -> Any:
            value = owner._given[name]
            return owner._of_the_learners(name) if value is None else value

        return own.getter(get)


def _inherited(name: str) -> Any:
    return _Inherited(None, Learner._params[name].rule.or_none())


class Nested(Learner):
    """A learner with learners among its parameters.

    The learners given are base learners: it learns with copies of them, and never changes them. Their parameters
    are set as in scikit-learn, ``set_params(learner__rate=0.1)``.

    Args:
        intercept: for every learner within; None keeps each learner's own.
        dtype: for every learner within; None keeps theirs, which must then be equal.
        missing: for every learner within; None keeps theirs, which must then be equal.
        low: for every learner within, and for their common predictions; None for the largest ``low`` of a learner within.
        high: likewise; None for the smallest ``high`` of a learner within.
    """

    intercept: bool = _inherited("intercept")
    dtype: str = _inherited("dtype")
    missing: str = _inherited("missing")
    low: float | None = _inherited("low")
    high: float | None = _inherited("high")

    _shares_labels = True  # the learners within learn the same labels

    def _base_learners(self) -> list[Learner]:
        """The learners that see the rows: those given, or the default ones."""
        raise TypeError(f"{type(self).__name__} cannot be used by itself")

    def _make_traits(self) -> Traits:
        inner = [learner._traits for learner in self._base_learners()]
        return Traits(
            looks_back=any(each.looks_back for each in inner), bends=any(each.bends for each in inner), times=times_of(inner)
        )

    def _unit_test_skips(self) -> frozenset[str]:
        return frozenset().union(*(learner._unit_test_skips() for learner in self._base_learners()))

    def _of_the_learners(self, name: str) -> Any:
        if name in _LIMITS:
            return _narrowest(name, [*self._base_learners(), *self._top_learners()]) if self._shares_labels else None
        values = [getattr(learner, name) for learner in self._base_learners()]
        return any(values) if name == "intercept" else values[0]

    def _top_learners(self) -> list[Learner]:
        """The learners that see the other learners' predictions."""
        return []

    def _check_relations(self, values: dict[str, Any]) -> None:
        learners = self._base_learners_in(values)
        inner = {name: _narrowest(name, learners) for name in _LIMITS if self._shares_labels and values[name] is None}
        super()._check_relations({**values, **inner})
        for name in ("dtype", "missing"):
            found = [getattr(learner, name) for learner in learners]
            others = [each for each in found if each != found[0]]
            if values[name] is None and others:
                one, other = sorted((found[0], others[0]), key=repr)
                raise ValueError(
                    f"{type(self).__name__}: {name} is {one!r} in one learner and {other!r} in another; "
                    f"give {name} for all of them"
                )

    def _check_labels(self, labels: Array, where: str, start: int | None = 0) -> None:
        super()._check_labels(labels, where, start)
        for learner in self._base_learners() if self._shares_labels else ():
            learner._check_labels(labels, where, start)

    def _base_learners_in(self, values: dict[str, Any]) -> list[Learner]:
        """The learners among parameters that are not yet set."""
        found: list[Learner] = []
        for value in values.values():
            found += [item for item in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(item, Learner)]
        return found

    def _copies(self, learners: list[Learner]) -> list[Learner]:
        """Copies of learners, with the options that were given for all of them."""
        options = {name: self._given[name] for name in _OPTIONS if self._given[name] is not None}
        if not self._shares_labels:
            options = {name: value for name, value in options.items() if name not in _LIMITS}
        if missing.by_column(self.missing):
            options["missing"] = self._missing_within
        return [learner.clone(options) for learner in learners]

    @property
    def _missing_within(self) -> Missing:
        """How the learners within treat missing values; values that are filled in never reach them."""
        return SKIP if missing.by_column(self.missing) else self.missing

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The hyper-parameters by name, as given; ``deep`` adds those of the learners within."""
        found = super().get_params(deep=False)
        for name, value in dict(found).items() if deep else ():
            for place, learner in _learners_in(name, value):
                found |= {f"{place}__{inner}": item for inner, item in learner.get_params().items()}
        return found

    def set_params(self, **changes: Any) -> Self:
        """Changes hyper-parameters, all or none. A trained learner uses them from the next row on.

        ``learner__rate=0.1`` replaces the given learner by a copy with that rate.
        """
        plain = {name: value for name, value in changes.items() if "__" not in name}
        within: dict[str, dict[str, Any]] = {}
        for name in changes.keys() - plain.keys():
            places = dict(_learners_in(*self._owner(name, plain)))
            place = max((place for place in places if name.startswith(place + "__")), key=len, default=None)
            if place is None:
                raise ValueError(self._unknown(name))
            within.setdefault(place, {})[name[len(place) + 2 :]] = changes[name]
        for place, inner in within.items():
            name, value = self._owner(place, plain)
            learner = dict(_learners_in(name, value))[place]
            copied = learner.clone() if not self._checks_later else learner.__sklearn_clone__()
            changed = copied.set_params(**inner)
            changed._keep_valid()
            plain[name] = changed if value is learner else [changed if item is learner else item for item in value]
        return super().set_params(**plain)

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """An untrained learner with the same parameters, except for ``new_params``; see :meth:`set_params`."""
        plain = {name: value for name, value in (new_params or {}).items() if "__" not in name}
        within = {name: value for name, value in (new_params or {}).items() if "__" in name}
        other = super().clone(plain, include_attributes)
        return other.set_params(**within) if within else other

    def _owner(self, place: str, plain: dict[str, Any]) -> tuple[str, Any]:
        """The parameter that a nested name begins with, and its value."""
        name = place.partition("__")[0]
        if name not in self._params:
            raise ValueError(self._unknown(place))
        return name, plain.get(name, self.get_params(deep=False)[name])


def _narrowest(name: str, learners: list[Learner]) -> float | None:
    """The limit that holds for the labels of all learners."""
    given = [(getattr(learner, name), getattr(learner._limits, name)) for learner in learners]  # a loss may have limits
    values = [own if value is None else value for value, own in given if math.isfinite(own)]
    return _LIMITS[name](values) if values else None


def _learners_in(name: str, value: Any) -> list[tuple[str, Any]]:
    """The models in a parameter that have parameters of their own, each with its prefix."""
    if isinstance(value, params.Parametrised):
        return [(name, value)]
    if isinstance(value, (list, tuple)):
        return [(f"{name}__{place}", item) for place, item in enumerate(value) if isinstance(item, params.Parametrised)]
    return []
