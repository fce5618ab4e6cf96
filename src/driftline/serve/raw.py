"""The features of a request as learners take them: JSON writes times as text, and gaps as null."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from math import nan
from typing import Any

from driftline.base.learner import Learner
from driftline.tables.categories import Categories

Json = dict[str, float | str | None] | list[float | None]  # as it came
_DATE, _CLOCK = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d(?::\d\d(?:\.\d+)?)?"
_TIME = re.compile(rf"{_DATE}(?:[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?)?|{_CLOCK}")


def as_raw(x: Json, learner: Learner) -> Any:
    """The features with their times and gaps. Text in ISO 8601 is a time, unless the column holds categories."""
    if type(x) is list:
        return [nan if value is None else value for value in x] if None in x else x
    assert type(x) is dict
    if str not in map(type, x.values()) or not learner._traits.encodes:
        return x
    columns = {} if learner._columns is None else learner._columns.columns
    return {
        name: _time_of(value) if type(value) is str and not isinstance(columns.get(name), Categories) else value
        for name, value in x.items()
    }


def _time_of(text: str) -> str | date | datetime | time:
    """The time that a text writes, in UTC if it has an offset, as in files; the text itself if it writes none."""
    if not _TIME.fullmatch(text):
        return text
    try:
        if len(text) == len("2026-12-31"):
            return date.fromisoformat(text)
        if text[2] == ":":
            return time.fromisoformat(text)
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):  # such as 30 February
        return text
