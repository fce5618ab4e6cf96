"""Rows that follow the last one of a run: whether their times say so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftline.files import Block, DataError, Rows
from driftline.files.written_times import in_words
from driftline.tables.inputs import Array

ONE_STEP = "Each row is still forecast as one step after the row before"
UNLIKE = 1.5  # a gap is unusual if it is this many times larger than all learned gaps, or smaller


def check_kind(name: str, known: str, rows: Rows, raw: Block) -> None:
    """Raises DataError if times are of another kind than in the run."""
    words, before = in_words(raw.kinds[name]), in_words(known)
    if words != before:
        raise DataError(f"holds {words}, but the run had {before}: these cannot be compared", source=rows.name, column=name)


def refuse_learned(block: Block, recent: Sequence[float], source: str, rule: str) -> None:
    """Raises DataError if a row is not later than the last one learned, whose time ends ``recent``.

    A row at the same time may follow it if there were such rows before.
    """
    if block.times is None or not recent:
        return
    numbers, dates = _as_numbers(block.times), block.times.dtype.kind == "M"
    learned = numbers < recent[-1] if 0 in np.diff(recent) else numbers <= recent[-1]
    if learned.any():
        row = int(learned.argmax())
        words = f"the row is at {_shown(numbers[row], dates)}, the last one learned at {_shown(recent[-1], dates)}: {rule}"
        raise DataError(words, source=source, place=block.place(row))


def unlike_spacing(times: Array | None, recent: Sequence[float]) -> str | None:
    """A warning if rows that are forecast one step apart are spaced unlike the last rows learned."""
    learned = np.diff(recent)
    if times is None or max(learned, default=0) <= 0:
        return None
    numbers, dates = np.append(recent[-1], _as_numbers(times)), times.dtype.kind == "M"
    steps = np.diff(numbers)
    late = np.flatnonzero(steps > UNLIKE * max(learned))
    if len(late):
        before, after = (_shown(numbers[late[0] + place], dates) for place in (0, 1))
        if late[0] == 0:
            words = f"the first row is at {after}, the last one learned at {before}. It is forecast as the next row"
            return f"{words}, though rows were closer together so far"
        return f"the row at {before} is followed by one at {after}, but rows were closer together so far. {ONE_STEP}"
    if np.median(steps) < min(learned) / UNLIKE:
        return f"the rows are closer together than the last ones learned. {ONE_STEP}"
    return None


def _as_numbers(times: Array) -> Array:
    """Times as numbers, dates in seconds; NaN where one is missing."""
    if times.dtype.kind != "M":
        return times
    return np.where(np.isnat(times), np.nan, times.astype("datetime64[us]").astype(np.int64) / 1e6)


def _shown(number: float, dates: bool) -> str:
    """A time in readable form."""
    if not dates:
        return f"{number:.12g}"
    return str(np.datetime64(round(number), "s")).replace("T", " ")
