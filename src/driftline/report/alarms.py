"""The alarms of a report: when, how much worse, for how long, and what moved then."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from driftline.report import words
from driftline.report.alarm_log import AFTER, AROUND, AlarmRecord
from driftline.report.contributions import Contributions
from driftline.report.facts import Facts
from driftline.tables.inputs import Array

UNUSUAL = 3.0  # standard deviations
BACK = 1.25  # times the error before the onset: not worse any more
ONE_SIDED = 0.5  # of the error: its mean, from which on predictions were too low or too high
FEWEST_CHANGES = 3  # of contributions, before which no change is usual
NOTABLE = 0.05  # of the predictions' spread: smaller contributions are not mentioned
SHRUNK = 3.0  # how many times shorter a memory is to be mentioned
SHIFTED = 0.2  # of an expert's weight
SHOWN_CAUSES = 3


@dataclass(frozen=True)
class AlarmLine:
    """A line of the table of alarms.

    Attributes:
        at, onset: places on the axis.
        view: the stretch of the axis that shows it.
        when, since: the alarm's and the onset's place in words.
        before, during: the error before and from the onset on.
        ratio: during / before.
        lasted: how long the errors were larger, in words.
        back: whether they are back to what they were.
        causes: what moved, in words.
        worst: rows with the largest errors: place, label, prediction, interval, error.
    """

    at: float
    onset: float
    view: tuple[float, float]
    when: str
    since: str
    before: float
    during: float
    ratio: float
    lasted: str
    back: bool
    causes: list[str]
    worst: list[tuple[str, float, float, str, float]]


def alarm_lines(facts: Facts, found: Contributions | None) -> list[AlarmLine]:
    """The alarms in their order."""
    records = facts.chronicle.alarms.records()
    return [_line(facts, found, record, later) for record, later in zip_longest(records, records[1:])]


def _line(facts: Facts, found: Contributions | None, record: AlarmRecord, later: AlarmRecord | None) -> AlarmLine:
    until = _recovered(facts, record, facts.chronicle.rows if later is None else later.onset)
    if until is not None:
        lasted = _duration(facts, record.onset, max(until, record.row + 1.0))
    else:
        lasted = "still worse" if later is None else "until the next alarm"
    places = facts.at(np.array([record.row, record.onset, record.onset - AROUND, record.row + AFTER - 1]))
    at, onset, *view = (float(place) for place in places)
    return AlarmLine(
        at=at,
        onset=onset,
        view=(view[0], view[1]),
        when=facts.moment(record.row),
        since=facts.moment(record.onset),
        before=record.before,
        during=record.during,
        ratio=record.during / record.before if record.before > 0 else np.inf,
        lasted=lasted,
        back=until is not None,
        causes=_causes(facts, found, record),
        worst=[_row(facts, row) for row in record.worst.tolist()],
    )


def _row(facts: Facts, row: list[float]) -> tuple[str, float, float, str, float]:
    number, _, y, prediction, lower, upper = row
    interval = f"{words.number(lower)} to {words.number(upper)}" if np.isfinite(lower) else "–"
    return facts.moment(number), y, prediction, interval, y - prediction


def _duration(facts: Facts, first: float, last: float) -> str:
    if facts.by_date:
        start, stop = facts.at(np.array([first, last]))
        return words.duration(float(stop - start))
    return words.count(last - first, "row")


def _recovered(facts: Facts, record: AlarmRecord, stop: float) -> float | None:
    """The first row from the onset on whose next 64 rows had an error near that before; None where there is none."""
    starts, ends = facts.ends
    each = max(1, AFTER // facts.chronicle.fine.width)
    inside = np.flatnonzero((starts >= record.onset) & (ends < stop))
    if len(inside) < each or not np.isfinite(record.before):
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        loss, counted = (np.cumsum(np.append(0.0, facts.fine[name][inside])) for name in ("loss", "counted"))
        errors = np.sqrt((loss[each:] - loss[:-each]) / (counted[each:] - counted[:-each]))
    back = np.flatnonzero(errors <= BACK * record.before)
    return float(starts[inside[back[0]]]) if len(back) else None


def _causes(facts: Facts, found: Contributions | None, record: AlarmRecord) -> list[str]:
    """What was unusual about the inputs, the predictions and what moves them, the most telling first."""
    causes = []
    for place, now, usual, spread in record.inputs.tolist():
        if spread > 0 and abs(now - usual) >= UNUSUAL * spread:
            name = facts.names[int(place) - 1] if place else facts.chronicle.target
            causes.append(f"{name} at {words.number(now, 3)}, usually {words.number(usual, 3)} ± {words.number(spread, 2)}")
    moved = [] if found is None else _moved(facts, found, record)
    causes += [f"effect of {facts.names[place]} {words.number(a, 3)} → {words.number(b, 3)}" for place, a, b in moved]
    causes += _within(facts, record)
    causes = causes[:SHOWN_CAUSES]
    if abs(record.bias) >= ONE_SIDED * record.during > 0:
        side = "low" if record.bias > 0 else "high"
        causes.append(f"predictions too {side} by {words.number(abs(record.bias), 3)} on average")
    return causes


def _within(facts: Facts, record: AlarmRecord) -> list[str]:
    """What the learner itself did: how far its memory shrank, and which expert gave way to which."""
    trail, found = facts.trail, []
    before, after = _around(trail.rows[:-1], record)
    if before is not None and np.isfinite(trail.memory[[before, *after]]).all():
        then, now = float(trail.memory[before]), float(trail.memory[after].min())
        if now * SHRUNK <= then:
            found.append(f"memory {words.about(then):,.0f} → {words.count(words.about(now), 'row')}")
    before, after = _around(trail.share_rows, record)
    if before is not None and trail.experts:
        changes = trail.shares[after] - trail.shares[before]
        row, expert = np.unravel_index(np.abs(changes).argmax(), changes.shape)
        if abs(changes[row, expert]) >= SHIFTED:
            shares = (words.share(float(trail.shares[place, expert])) for place in (before, after[row]))
            found.append(f"weight of {trail.experts[expert]} {' → '.join(shares)}")
    return found


def _around(rows: Array, record: AlarmRecord) -> tuple[int | None, Array]:
    """The place of the last snapshot before the onset, and those of the snapshots up to 64 rows after the alarm."""
    before = int(np.searchsorted(rows, record.onset)) - 1
    after = np.flatnonzero((rows >= record.onset) & (rows <= record.row + AFTER))
    return (before, after) if before >= 0 and len(after) else (None, after)


def _moved(facts: Facts, found: Contributions, record: AlarmRecord) -> list[tuple[int, float, float]]:
    """Features whose contribution changed more than it usually does: place, before, after.

    Two windows before the onset are compared with two after it; the one in which it lies is left out.
    """
    last = int(np.searchsorted(found.ends, record.onset, side="left")) - 1  # the last window that ended before the onset
    means = (found.windows[:-1] + found.windows[1:]) / 2  # of neighbouring windows, by the first of them
    if last < 1 or last + 2 >= len(means):
        return []
    changes = means[3:] - means[:-3]
    before, after, change = means[last - 1], means[last + 2], changes[last - 1]
    usual = np.abs(changes[: max(last - 3, 0)])  # of windows that ended before the onset
    if len(usual) < FEWEST_CHANGES:
        return []
    limits = np.maximum(UNUSUAL * 1.4826 * np.median(usual, axis=0), NOTABLE * float(np.sqrt(np.square(before).sum())))
    order = np.argsort(-np.abs(change), kind="stable")
    return [(int(j), float(before[j]), float(after[j])) for j in order if np.abs(change[j]) > limits[j]]
