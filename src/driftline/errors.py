"""Exceptions and warnings of driftline, and helpers for their messages."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable


class RowRefusedError(ValueError):
    """A row with sound values that the learner cannot learn with its parameters.

    Attributes:
        row: its number, as in the message; None if it has none.
        of_label: whether the label is the reason.
        reason: the message without the method's name and the row, for those who called no method; else the whole message.
    """

    def __init__(self, message: str, row: int | None = None, *, of_label: bool = False, reason: str = "") -> None:
        super().__init__(message)
        self.row = row
        self.of_label = of_label
        self.reason = reason or message


class DivergenceError(RowRefusedError, FloatingPointError):
    """The weights of a first-order learner left the range of their type: its rate is above the stable one."""


class DriftlineWarning(UserWarning):
    """Predictions may be wrong: the rows in memory do not determine the weights, or predictions diverged."""


class ModelFileError(ValueError):
    """A file is not a saved model, or it is damaged."""


def warn(words: str, category: type[Warning] = DriftlineWarning) -> None:
    """Issues a warning that points at the line that called driftline."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("driftline."):
        level, frame = level + 1, frame.f_back
    warnings.warn(words, category, stacklevel=level)


def not_fitted(message: str) -> Exception:
    """scikit-learn's NotFittedError if scikit-learn is installed, otherwise a stand-in with the same base classes."""
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return MissingFitError(message)
    return NotFittedError(message)  # type: ignore[no-any-return]


def missing_extra(what: str, packages: str, extra: str) -> ImportError:
    """The error for packages that an extra would install.

    >>> missing_extra("reports need", "jinja2", "report")
    ImportError('reports need jinja2. The extra "report" installs it: pip install "driftline[report]"')
    """
    them = "them" if " and " in packages else "it"
    return ImportError(f'{what} {packages}. The extra "{extra}" installs {them}: pip install "driftline[{extra}]"')


class MissingFitError(ValueError, AttributeError):
    """Stands in for scikit-learn's NotFittedError if scikit-learn is not installed."""


def ordinal(number: int) -> str:
    """An ordinal number in English.

    >>> [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 102, 111, 1013)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '102nd', '111th', '1013th']
    """
    last = 0 if number % 100 in (11, 12, 13) else number % 10
    return f"{number}{('th', 'st', 'nd', 'rd')[last] if last < 4 else 'th'}"


def closest(word: str, known: Iterable[str]) -> str:
    """Suggests known words that resemble a misspelt one; empty if there are none.

    >>> closest("temprature", ["temperature", "wind"])
    ' Did you mean temperature?'
    """
    options = list(known)
    folded = {option.casefold(): option for option in reversed(options)}
    found = difflib.get_close_matches(word.casefold(), folded, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(folded[name] for name in found)}?" if found else ""
