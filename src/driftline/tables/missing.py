"""The words for what happens where a value is missing: one for all columns, or a word by column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RAISE, SKIP, MEAN, LAST, ZERO = "raise", "skip", "mean", "last", "zero"
FILLS = (MEAN, LAST, ZERO)  # a value takes the place of the missing one, and a feature marks it
WORDS = (RAISE, SKIP, *FILLS)
Missing = str | Mapping[Any, str]


def word(missing: Missing, column: Any, default: str = RAISE) -> str:
    """The word for a column. A mapping has a word for some columns, and under "" one for all others."""
    return missing if isinstance(missing, str) else missing.get(column, missing.get("", default))


def by_column(missing: Missing) -> bool:
    """Whether each column decides what a missing value means, so that every row passes the columns."""
    return not isinstance(missing, str) or missing in FILLS


def skips_labels(missing: Missing) -> bool:
    """Whether a row without a label is predicted and not learned, rather than refused."""
    return word(missing, "") != RAISE


def is_by_column(missing: Any) -> bool:
    """Whether it is a mapping to words."""
    return isinstance(missing, Mapping) and {*missing.values()} <= {*WORDS} and len(missing) > 0
