"""Hyper-parameters: checked, never changed by learning, and shown as given."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import driftline
from driftline.base.learner import Learner
from driftline.checks.tools import fresh, require, require_same, require_same_state, trained

_JUNK: tuple[Any, ...] = (object(), math.nan, "no such word", 1j, b"bytes", {}, [], -math.inf)


def _require_refused_value(
    owner: str, name: str, value: Any, act: Callable[..., object], /, *arguments: Any, **options: Any
) -> None:
    try:
        act(*arguments, **options)
    except ValueError as error:
        require(str(error).startswith(owner), f"{name}={value!r}: the message does not start with {owner}: {error}")
        require(name in str(error), f"{name}={value!r}: the message does not name the parameter: {error}")
    else:
        raise AssertionError(f"{name}={value!r} was accepted")


def bad_values_are_refused_by_the_constructor(learner: Learner) -> None:
    """The ValueError names the learner, the parameter, its rule and the value."""
    owner = type(learner).__name__
    for name in learner.get_params(deep=False):
        for value in _JUNK:
            _require_refused_value(owner, name, value, fresh, learner, **{name: value})


def bad_values_are_refused_by_set_params(learner: Learner) -> None:
    """Also by assignment. Nothing changes, not even good values given along with a bad one."""
    owner = type(learner).__name__
    for model in (fresh(learner), trained(learner)):
        before = model.__getstate__()
        for name in learner.get_params(deep=False):
            for value in _JUNK:
                change = {"missing": "skip", name: value}
                _require_refused_value(owner, name, value, model.set_params, **change)
                _require_refused_value(owner, name, value, setattr, model, name, value)
        require_same(model.__getstate__(), before, "a refused parameter changed the state")


def unknown_parameters_are_refused(learner: Learner) -> None:
    """By keyword, by position, and in set_params."""
    model = fresh(learner)
    kind: Any = type(learner)
    for act in (lambda: kind(no_such_parameter=1), lambda: kind(1.0), lambda: model.set_params(no_such_parameter=1)):
        try:
            act()
        except (TypeError, ValueError) as error:
            require(type(learner).__name__ in str(error), f"the message does not name the learner: {error}")
        else:
            raise AssertionError("an unknown parameter was accepted")


def learning_changes_no_parameter(learner: Learner) -> None:
    """Parameters stay the very objects that were given."""
    given = learner.get_params(deep=False)
    after = trained(learner).get_params(deep=False)
    require(after.keys() == given.keys() and all(after[name] is given[name] for name in given), f"{given} became {after}")


def set_params_to_what_they_are_changes_nothing(learner: Learner) -> None:
    """Even once the learner is trained."""
    for model in (fresh(learner), trained(learner)):
        before = model.__getstate__()
        require(model.set_params(**model.get_params(deep=False)) is model, "set_params returns something else")
        require_same(model.__getstate__(), before, "state")


def the_shape_of_the_state_is_fixed_once_it_has_learned(learner: Learner) -> None:
    """Intercept and dtype can change only before the first row."""
    free, held = fresh(learner), trained(learner)
    before = held.__getstate__()
    other = {"intercept": not learner.intercept, "dtype": "float32" if learner.dtype == "float64" else "float64"}
    for name, value in other.items():
        _require_refused_value(type(learner).__name__, name, value, held.set_params, **{name: value})
    require_same(held.__getstate__(), before, "state")
    require_same_state(free.set_params(**other), fresh(learner, **other), "set_params before learning")


def repr_evaluates_back(learner: Learner) -> None:
    """It gives a learner with the same parameters, unless one has no literal form."""
    text = repr(fresh(learner))
    if "<" in text:
        return
    known = {
        **vars(driftline),
        **vars(driftline.losses),
        **vars(driftline.features),
        "inf": math.inf,
        "np": np,
        "array": np.array,
    }
    twin = eval(text, {**known, type(learner).__name__: type(learner)})
    require(type(twin) is type(learner), f"{text} is a {type(twin).__name__}")
    require_same_state(twin, fresh(learner), text)
