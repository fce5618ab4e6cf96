"""Parses arguments: lists, learners and their parameters."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import typer

from driftline.base import registry
from driftline.base.learner import Learner
from driftline.ensembles import Classifier, Transformed
from driftline.errors import closest
from driftline.features import Calendar
from driftline.files import Options
from driftline.files.options import REGRESS
from driftline.tables.missing import MEAN, Missing


def names_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Names, given one by one or separated by commas.

    >>> names_in(["a,b", "c"])
    ('a', 'b', 'c')
    """
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())


def policies_in(texts: Iterable[str]) -> dict[str, str]:
    """What replaces missing numbers: a word for all columns, ``column=word`` for one.

    >>> policies_in(["mean", "wind=zero,load=skip"])
    {'': 'mean', 'wind': 'zero', 'load': 'skip'}
    """
    found: dict[str, str] = {}
    for text in names_in(texts):
        column, _, policy = text.rpartition("=")
        found[column] = policy
    return found


def reading_of(typed: Mapping[str, Any]) -> Options:
    """The reading options from the arguments, with lists of columns split at commas."""
    missing = {"missing": policies_in(typed["missing"] or ())}
    lists = {name: names_in(typed[name]) for name in ("features", "drop", "text") if typed[name] is not None}
    try:
        return Options(**{name: value for name, value in typed.items() if value is not None} | lists | missing)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def words_in(policies: Mapping[str, str]) -> Missing:
    """What a missing value means, as a learner takes it: numbers become the mean by default.

    >>> words_in({}), words_in({"": "zero"}), words_in({"wind": "skip"})
    ('mean', 'zero', {'': 'mean', 'wind': 'skip'})
    """
    words = {"": MEAN, **policies}
    return words if len(words) > 1 else words[""]


def make_model(name: str, settings: Iterable[str], missing: Missing = MEAN) -> Learner:
    """A learner by its name, with parameters given as ``name=value``."""
    cls = regressor(name)
    values: dict[str, Any] = {"missing": missing}
    for setting in settings:
        key, equals, text = setting.partition("=")
        key = key.strip()
        if not equals:
            raise typer.BadParameter(f"--set takes name=value, got {setting!r}")
        require_parameter(cls, key)
        values[key] = value_of(text.strip())
    try:
        return cls(**values)
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(str(error)) from None


def make_models(names: Iterable[str], settings: Iterable[str], missing: Missing) -> dict[str, Learner]:
    """Several learners by name, with parameters given as ``model.name=value``."""
    given: dict[str, list[str]] = {name: [] for name in names_in(names)}
    for setting in settings:
        name, dot, rest = setting.partition(".")
        if not dot or name not in given:
            raise typer.BadParameter(f"--set takes model.name=value, with one of {', '.join(given)}, got {setting!r}")
        given[name].append(rest)
    return {name: make_model(name, values, missing) for name, values in given.items()}


def on_calendar(learner: Learner, holidays: Iterable[str] | None, zone: str | None) -> Learner:
    """The learner behind a calendar, if one is wanted."""
    if holidays is None and zone is None:
        return learner
    try:
        return Calendar(holidays=list(names_in(holidays or ())) or None, zone=zone) | learner
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def on_scale(learner: Learner, low: float | None, high: float | None, transform: str | None) -> Learner:
    """The learner for labels of a range, or of their transformation."""
    limits: dict[str, Any] = {name: value for name, value in (("low", low), ("high", high)) if value is not None}
    try:
        return learner.clone(limits) if transform is None else Transformed(learner, transform, **limits)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def for_task(learner: Learner, task: str) -> Learner:
    """The learner itself, or the classifier that is made of it."""
    if task == REGRESS:
        return learner
    try:
        return Classifier(learner)
    except ValueError as error:
        raise typer.BadParameter(f"--task classify: {error}") from None


def require_parameter(cls: type[Learner], name: str) -> None:
    """Raises BadParameter unless a learner has the parameter."""
    if name not in cls._params:
        hint = closest(name, cls._params) or f" It has {', '.join(cls._params)}"
        raise typer.BadParameter(f"{cls.__name__} has no parameter {name!r}.{hint}")


def regressor(name: str) -> type[Learner]:
    """A learner by name. BadParameter distinguishes a learner for Python only from an unknown name."""
    known = registry.of_numbers()
    if name in known:
        return known[name]
    all_known = registry.learners()
    unknown = f"there is no model {name!r}."
    found = next(iter(difflib.get_close_matches(name.casefold(), all_known, n=1)), None)
    if found is None or found in known:
        raise typer.BadParameter(unknown + (closest(name, known) or " driftline models lists them."))
    question = "" if name.casefold() == found else f"{unknown} Did you mean {found}? "
    raise typer.BadParameter(
        f"{question}{found} is not a regressor, and the command line runs only regressors. Use driftline."
        f"{all_known[found].__name__} from Python, where driftline.files.open_rows reads the same files"
    )


def value_of(text: str) -> Any:
    """Parses a typed value: a number, true or false, none, a list, a learner's name, or a word.

    >>> value_of("0.99"), value_of("3"), value_of("true"), value_of("none"), value_of("inf"), value_of("float32")
    (0.99, 3, True, None, inf, 'float32')
    >>> value_of("rls")
    RLS(forgetting=0.99, ridge=1.0, keep_prior=False)
    """
    words = {"true": True, "false": False, "none": None, "null": None, "inf": math.inf, "infinity": math.inf}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return float(text)
    except ValueError:
        cls = registry.of_numbers().get(text)
        return text if cls is None else cls()
