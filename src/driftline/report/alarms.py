"""The alarms of a report: when the error rose, by how much, why, and whether it has recovered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftline.evaluate.baselines import OneSeasonAgo, RunningMean
from driftline.report import words
from driftline.report.alarm_log import AFTER, AROUND, AlarmRecord
from driftline.report.causes import causes, event_of
from driftline.report.contributions import Contributions
from driftline.report.facts import LATELY, Facts
from driftline.tables.inputs import Array

NEAR = 1.25  # times the earlier error: counts as unchanged
LONGEST = 512  # rows; at most this many decide whether the error has recovered
QUIET = 2 / 3  # relative to the usual error: below this, the rows before an onset were quiet
TYPICAL = 256  # rows of a stretch; the median over stretches is the usual error
FEWEST_STRETCHES = 8  # stretches needed for a usual error


@dataclass(frozen=True)
class AlarmLine:
    """A line of the table of alarms.

    Attributes:
        at, onset: places on the axis.
        row: the row of the onset.
        view: the stretch of the axis that shows it.
        when, since: the places of the alarm and of the onset, in words.
        before, during: the error before the onset and from it on.
        ratio: during / before.
        level: the error to return to: the earlier one, or the usual one if it had been quiet before.
        quiet: whether it had been quiet.
        scaled: the factor by which the labels were multiplied, and the level with them; 1 if they were not.
        back: the row at which the error had returned to the level; None if it has not.
        now: the error of the latest rows divided by the level.
        worse: whether the error is still larger, and this is the last alarm that explains it.
        outcome: whether the error is still larger, in words.
        causes: why the error rose, and what else was unusual then, in words.
        worst: rows with the largest errors: place, label, prediction, interval, error.
    """

    at: float
    onset: float
    row: int
    view: tuple[float, float]
    when: str
    since: str
    before: float
    during: float
    ratio: float
    level: float
    quiet: bool
    scaled: float
    back: float | None
    now: float
    worse: bool
    outcome: str
    causes: list[str]
    worst: list[tuple[str, float, float, str, float]]


def alarm_lines(facts: Facts, found: Contributions | None) -> list[AlarmLine]:
    """The alarms in order."""
    records = list(facts.log.alarms.records())
    return [_line(facts, found, record, last=record is records[-1]) for record in records]


def _line(facts: Facts, found: Contributions | None, record: AlarmRecord, *, last: bool) -> AlarmLine:
    places = facts.at(np.array([record.row, record.onset, record.onset - AROUND, record.row + AFTER - 1]))
    at, onset, *view = (float(place) for place in places)
    usual = _usual(facts, record.onset)
    quiet = usual is not None and record.before < QUIET * usual
    event = event_of(facts, record)
    scaled = event.after / event.before if event is not None and event.kind == "label_scale" and event.before else 1.0
    level = scaled * (usual if usual is not None and quiet else record.before)
    back, now = _back(facts, record, level), _lately(facts, record.onset) / level if level > 0 else np.inf
    return AlarmLine(
        at=at,
        onset=onset,
        row=record.onset,
        view=(view[0], view[1]),
        when=facts.moment(record.row),
        since=facts.moment(record.onset),
        before=record.before,
        during=record.during,
        ratio=record.during / record.before if record.before > 0 else np.inf,
        level=level,
        quiet=quiet,
        scaled=scaled,
        back=back,
        now=now,
        worse=not now <= NEAR and (back is None or last),
        outcome=_outcome(facts, record, back, now, quiet, scaled),
        causes=causes(facts, found, record, usual if quiet else None),
        worst=[_row(facts, row) for row in record.worst.tolist()],
    )


def _row(facts: Facts, row: list[float]) -> tuple[str, float, float, str, float]:
    number, _, y, prediction, lower, upper = row
    interval = f"{words.number(lower)} to {words.number(upper)}" if np.isfinite(lower) else "–"
    return facts.moment(number), y, prediction, interval, y - prediction


def _usual(facts: Facts, onset: int) -> float | None:
    """The median error of stretches of 256 rows before the onset; None if there are too few."""
    each = max(1, TYPICAL // facts.log.fine.width)
    buckets = int(np.searchsorted(facts.ends[1], onset)) // each * each
    if buckets < FEWEST_STRETCHES * each:
        return None
    loss, counted = (facts.fine[name][:buckets].reshape(-1, each).sum(axis=1) for name in ("squared", "counted"))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        errors = np.sqrt(loss / counted)
    return float(np.median(errors[np.isfinite(errors)])) if np.isfinite(errors).any() else None


def _back(facts: Facts, record: AlarmRecord, level: float) -> float | None:
    """The first row after the alarm at which the error had returned to its level; None if it has not.

    It must be near the level over the next 64 rows, and for as long as it took to raise the alarm or a season lasts: a night
    of small errors is no recovery.
    """
    starts, width = facts.ends[0], facts.log.fine.width
    later = np.flatnonzero(starts > record.row)
    long = min(max(AFTER, record.row - record.onset + 1, _season(facts)), LONGEST)
    each, few = (max(1, -(-rows // width)) for rows in (long, AFTER))
    if len(later) < each or not np.isfinite(level):
        return None
    errors = np.maximum(_errors(facts, later, each), _errors(facts, later, few)[: len(later) - each + 1])
    near = np.flatnonzero(errors <= NEAR * level)
    return float(starts[later[near[0]]]) if len(near) else None


def _season(facts: Facts) -> int:
    """The length of a season in rows; 0 if the label one season ago predicts worse than the mean."""
    season = facts.log.baselines.known[OneSeasonAgo.name]
    seasonal = facts.errors[OneSeasonAgo.name] < facts.errors[RunningMean.name]
    return season.rows_ago if seasonal and isinstance(season, OneSeasonAgo) else 0


def _errors(facts: Facts, buckets: Array, each: int) -> Array:
    """Root mean squared errors of ``each`` neighbouring buckets, from each of them on."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        loss, counted = (np.cumsum(np.append(0.0, facts.fine[name][buckets])) for name in ("squared", "counted"))
        found: Array = np.sqrt((loss[each:] - loss[:-each]) / (counted[each:] - counted[:-each]))
    return found


def _lately(facts: Facts, onset: int) -> float:
    """The error of the latest rows since the onset."""
    starts, _ = facts.ends
    inside = starts >= max(facts.log.rows - LATELY, onset)
    inside[-1] = True
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return float(np.sqrt(facts.fine["squared"][inside].sum() / facts.fine["counted"][inside].sum()))


def _outcome(facts: Facts, record: AlarmRecord, back: float | None, now: float, quiet: bool, scaled: float) -> str:
    """Whether the error is still larger or since when it has recovered, and the current factor."""
    level = "the usual error" if quiet else "the earlier error"
    level += f", which is {words.number(scaled, 3)} times as large at the new scale" if scaled != 1 else ""
    factor = f"now {words.factor(now)} {level}" if np.isfinite(now) else f"{level} was 0"
    if back is not None:
        when = f"{'on' if facts.by_date else 'at'} {facts.moment(back)}, after {_duration(facts, record.onset, back)}"
        return f"No, recovered {when}: {factor}." if now <= NEAR else f"It recovered {when}, but rose again: {factor}."
    rows = facts.log.rows - record.row - 1
    if rows < AFTER:
        return f"Too early to say: {factor}, {words.count(rows, 'row')} after the alarm."
    return f"Perhaps not: {factor}, but only recently." if now <= NEAR else f"Yes, ever since: {factor}."


def _duration(facts: Facts, first: float, last: float) -> str:
    if facts.by_date:
        start, stop = facts.at(np.array([first, last]))
        return words.duration(float(stop - start))
    return words.count(last - first, "row")
