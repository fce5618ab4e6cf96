"""The clock of a model whose rows have times, and the order of its rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from driftline.base.batch import numbered
from driftline.base.durations import CLOCK
from driftline.base.durations import NUMBER as COUNTED
from driftline.tables.block import RowBlock
from driftline.tables.times import LOCAL, NUMBER, UTC, Times, shown, times_of

if TYPE_CHECKING:
    from driftline.base.learner import Learner

ACCEPT, RAISE = "accept", "raise"
_HOUR = 3600 * 10**6


@dataclass(frozen=True)
class Clock:
    """The clock of a model whose rows have times.

    Attributes:
        kind: what the times are; empty if only labels of rows asked before have come.
        last: the latest time, as the core has it.
        late: rows that came after a row with a later time.
        repeated: rows with the same time as the row before them.
    """

    kind: str
    last: float
    late: int = 0
    repeated: int = 0

    def state(self) -> dict[str, Any]:
        """The fields, for files."""
        return asdict(self)

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Clock:
        """The clock of a state; raises ValueError if it is invalid."""
        clock = cls(**state)
        good = clock.kind in ("", NUMBER, UTC, LOCAL) and type(clock.last) is float and not math.isnan(clock.last)
        if not good or any(type(count) is not int or count < 0 for count in (clock.late, clock.repeated)):
            raise ValueError("the state's clock is out of range")
        return clock


def stepped(learner: Learner, kind: str, at: float, where: str) -> Clock:
    """The clock after one row; see :func:`advanced`."""
    clock = learner._clock
    if clock is None:
        return advanced(learner, Times(kind, np.array([at])), where, None)
    if clock.kind != kind:
        _require_kind(learner, clock, kind, where)
    if at > clock.last:
        return Clock(kind, at, clock.late, clock.repeated)
    if at == clock.last:
        return Clock(kind, at, clock.late, clock.repeated + 1)
    if learner.late_rows == RAISE:
        _refuse_late(at, clock.last, kind, where, None)
    return Clock(kind, clock.last, clock.late + 1, clock.repeated)


def advanced(learner: Learner, times: Times, where: str, start: int | None) -> Clock:
    """The clock after rows with these times. Raises ValueError for a time of another kind, or before that of an earlier row.

    Args:
        learner: the learner.
        times: the times of the rows.
        where: the caller's name, for messages.
        start: the number of the first row, for messages; None for a single row.
    """
    clock, at = learner._clock, times.at
    if clock is None or clock.kind != times.kind:
        _require_kind(learner, clock, times.kind, where)
    if clock is None and learner.n_seen_:
        raise ValueError(f"{where}: rows with times cannot follow rows without; the {learner.n_seen_} rows so far had none")
    if not len(at):
        return clock or Clock(times.kind, -math.inf)
    before, late_rows, repeated = -math.inf if clock is None else clock.last, 0, 0
    top, falls = float(at[0]), before > at[0]
    if len(at) > 1:
        falls = falls or bool((at[1:] < at[:-1]).any())
        repeated = int((at[1:] == at[:-1]).sum())
        top = float(at.max()) if falls else float(at[-1])
    repeated += int(at[0] == before)
    if falls:
        latest = np.maximum.accumulate(np.concatenate([[before], at]))[:-1]
        is_late = at < latest
        if learner.late_rows == RAISE:
            row = int(is_late.argmax())
            _refuse_late(float(at[row]), float(latest[row]), times.kind, where, None if start is None else start + row)
        late_rows = int(is_late.sum())
    kept = Clock("", before) if clock is None else clock
    return replace(
        kept, kind=times.kind, last=max(before, top), late=kept.late + late_rows, repeated=kept.repeated + repeated
    )


def _require_kind(learner: Learner, clock: Clock | None, kind: str, where: str) -> None:
    if clock is not None and clock.kind not in (kind, ""):
        hint = "" if NUMBER in (clock.kind, kind) else "; give all of them a zone, or none"
        raise ValueError(f"{where}: {kind} cannot follow {clock.kind}{hint}")
    require_fitting(learner, kind, where)


def require_fitting(learner: Learner, kind: str, where: str) -> None:
    """Raises ValueError if a parameter of the learner measures another kind of times."""
    own = COUNTED if kind == NUMBER else CLOCK
    for name, value, measured in learner._durations:
        if measured != own:
            fitting = "a number in their unit" if own == COUNTED else "a duration such as '6h'"
            raise ValueError(f"{where}: {name} is {value!r}, but the times are {kind}; it must be {fitting}")


def _refuse_late(at: float, before: float, kind: str, where: str, row: int | None) -> None:
    place = numbered(row, " in ")
    hint = ""
    if kind == LOCAL and 0 < before - at <= _HOUR:
        hint = "; local times repeat an hour when the clocks go back: give times with a zone, or in UTC"
    raise ValueError(
        f"{where}: time goes back{place}: {shown(at, kind)} after {shown(before, kind)}{hint}. "
        'With late_rows="accept", rows are learned as of their time'
    )


def require_time(learner: Learner, where: str) -> None:
    """Raises ValueError if a row without a time comes to a learner whose rows need one."""
    if not math.isnan(learner._at):
        return
    if learner._clock is not None:
        raise ValueError(f"{where}: the row has no time, but the rows before it had: at=, times= or --time")
    for name, value, measured in learner._durations:
        if measured == CLOCK:
            raise ValueError(f"{where}: {name}={value!r} needs the rows' times: at=, times= or --time")


def of_rows(learner: Learner, X: Any, times: Any, rows: int, where: str) -> Times | None:
    """The times of a table's rows: those given, its own or, if the learner goes by them, a frame's index of times."""
    if times is not None:
        return times_of(times, rows, where)
    own = X.times if isinstance(X, RowBlock) else None
    if own is None and goes_by_time(learner):
        index = getattr(X, "index", None)
        if getattr(getattr(index, "dtype", None), "kind", "") == "M":
            return times_of(index, rows, where, "the index")
        require_time(learner, where)
    return own


# Rows with times.


@contextmanager
def row_at(learner: Learner, at: float) -> Iterator[None]:
    """What the learner does within happens at a time."""
    before = learner._at
    set_time(learner, at)
    try:
        yield
    finally:
        set_time(learner, before)


def set_time(learner: Learner, at: float) -> None:
    """Tells a learner and its core the time of the next row."""
    learner._at = at
    if learner._core is not None:
        learner._core.at = at


def start(learner: Learner, clock: Clock) -> None:
    """Sets the learner's clock. From now on, its core leaves rows without times to Python."""
    learner._clock = clock
    if learner._core is not None:
        learner._core.needs_time = True


def told(learner: Learner, ticket: Any) -> None:
    """Moves the clock to the time of a row whose label was told, if that is later; labels may come in any order."""
    clock, at = learner._clock, ticket.at
    if math.isnan(at):
        return
    if clock is None:
        start(learner, Clock("", at))
    elif at > clock.last:
        learner._clock = replace(clock, last=at)


def reached(learner: Learner, kind: str | None, at: float) -> None:
    """Moves the clock to the time of the latest of some rows that were learned, if that is later."""
    clock = learner._clock or Clock(kind or "", at)
    start(learner, replace(clock, kind=kind or clock.kind, last=max(clock.last, at)))


def goes_by_time(learner: Any) -> bool:
    """Whether the learner needs the times of rows: a parameter measures time, or its rows had times."""
    return getattr(learner, "_clock", None) is not None or bool(getattr(learner, "_durations", ()))
