"""Cases of a test that need no report of their own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any


def for_each(names: str, cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Calls a test with each case in turn, where ``parametrize`` would make a test of each.

    For cases that take the same path, and tests that make what they change: fixtures are shared by all cases. The first
    case that fails is named by a note.

    Args:
        names: the arguments that a case gives, separated by commas.
        cases: a value each; a tuple of values if there are several names.
    """
    given, cases = [name.strip() for name in names.split(",")], list(cases)
    assert cases, f"{names}: there are no cases"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def every_case(**fixtures: Any) -> None:
            for case in cases:
                values = dict(zip(given, case if len(given) > 1 else [case], strict=True))
                try:
                    test(**values, **fixtures)
                except Exception as error:
                    error.add_note(f"the case is {values}")
                    raise

        signature = inspect.signature(test)
        others = [one for name, one in signature.parameters.items() if name not in given]
        every_case.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return every_case

    return decorate
