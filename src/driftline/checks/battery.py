"""Finds the checks and runs them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator

from driftline.base.learner import Learner

Check = Callable[[Learner], None]


def battery() -> Iterator[Check]:
    """Every check: the public functions of the modules ``driftline.checks.on_*``.

    A check takes a learner, which it never changes, and raises AssertionError if a copy of it misbehaves.
    """
    package = importlib.import_module(__package__)
    for found in pkgutil.iter_modules(package.__path__):
        if not found.name.startswith("on_"):
            continue
        module = importlib.import_module(f"{__package__}.{found.name}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and not name.startswith("_"):
                yield function


def check_learner(learner: Learner | type[Learner]) -> None:
    """Runs the whole battery on a learner, or on a class with its defaults.

    Raises:
        AssertionError: names each failed check on a line.
    """
    pattern = learner() if isinstance(learner, type) else learner
    failures: dict[str, Exception] = {}
    for check in battery():
        try:
            check(pattern)
        except Exception as error:
            failures[check.__name__] = error
    if failures:
        lines = [f"{name}: {type(error).__name__}: {error}" for name, error in failures.items()]
        raise AssertionError(f"{pattern!r} fails {len(lines)} checks\n" + "\n".join(lines)) from next(
            iter(failures.values())
        )
