"""Why the error rose, in words."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from driftline.base.events import Event
from driftline.report import words
from driftline.report.alarm_log import AFTER, AlarmRecord
from driftline.report.contributions import Contributions
from driftline.report.facts import Facts
from driftline.tables.inputs import Array

UNUSUAL = 3.0  # standard deviations
ONE_SIDED = 0.5  # share of the error: a larger mean error counts as predictions that are too low or too high
FEWEST_CHANGES = 3  # windows needed to know the usual change of contributions
NOTABLE = 0.05  # relative to the predictions' spread: smaller contributions are not mentioned
SHRUNK = 3.0  # a memory that shrank by this factor is mentioned
SHIFTED = 0.2  # a change of an expert's weight
DETAILS = 3
MOST_CHANGES = 64  # listed
NEARBY = 64  # rows before an onset in which an event may be its cause


def causes(facts: Facts, found: Contributions | None, record: AlarmRecord, usual: float | None) -> list[str]:
    """The cause, and then what else was unusual.

    Args:
        facts: the facts about the run.
        found: what the inputs contribute to the predictions.
        record: the alarm.
        usual: the usual error, if the error just before the onset was far below it.
    """
    quiet = [] if usual is None else [f"A quiet stretch ended: the error is usually {words.number(usual, 3)}."]
    effects = [] if found is None else _moved_effects(found, record)
    reason, *others = [*quiet, _reason(facts, record)]
    return [reason, *[*others, *_one_side(record), *effects, *_within(facts, record)][:DETAILS]]


def event_of(facts: Facts, record: AlarmRecord) -> Event | None:
    """The event nearest to the onset, no later than the alarm; None if nothing is known to have changed."""
    near = [event for event in facts.events if record.onset - NEARBY <= event.row <= record.row and event.kind != "unknown"]
    return min(near, key=lambda event: abs(event.row - record.onset)) if near else None


def _reason(facts: Facts, record: AlarmRecord) -> str:
    event = event_of(facts, record)
    if event is not None:
        return sentence(facts, event)
    return "No cause stands out in the labels and inputs." if facts.log.features else "No cause stands out in the labels."


def sentence(facts: Facts, event: Event) -> str:
    """An event in words."""
    named = replace(event, column=facts.names[event.column]) if isinstance(event.column, int) else event
    said = named.sentence(facts.log.target, lambda value: words.number(value, 3))
    return f"{said[0].upper() if event.kind in ('unknown', 'effect_changed') else said[0]}{said[1:]}."


def changes(facts: Facts) -> list[tuple[str, str, str]]:
    """The latest events: when, what, and how sure. New values of one column are one line."""
    events, fresh, lines = facts.events, defaultdict[object, list[Event]](list), []
    for event in events:
        if event.kind == "category_new":
            fresh[event.column].append(event)
    for event in events:
        first, *later = fresh[event.column] if event.kind == "category_new" else [event]
        if event is not first:
            continue
        said = sentence(facts, event)
        if later:
            since = words.count(len(later), "more new value")
            said = f"{said[:-1]}, and {since}; the last: {facts.moment(later[-1].row)}."
        lines.append((facts.moment(event.row), said, words.share(min(event.confidence, 0.99))))
    return lines[-MOST_CHANGES:]


def _one_side(record: AlarmRecord) -> list[str]:
    if not abs(record.bias) >= ONE_SIDED * record.during > 0:
        return []
    return [f"predictions too {'low' if record.bias > 0 else 'high'} by {words.number(abs(record.bias), 3)} on average"]


def _within(facts: Facts, record: AlarmRecord) -> list[str]:
    """Changes in the learner itself: how far its memory shrank, and which experts gained or lost weight."""
    trajectory, found = facts.trajectory, []
    before, after = _around(trajectory.rows[:-1], record)
    if before is not None and np.isfinite(trajectory.memory[[before, *after]]).all():
        then, now = float(trajectory.memory[before]), float(trajectory.memory[after].min())
        if now * SHRUNK <= then:
            found.append(f"memory {words.about(then):,.0f} → {words.count(words.about(now), 'row')}")
    before, after = _around(trajectory.share_rows, record)
    if before is not None and trajectory.experts:
        changes = trajectory.shares[after] - trajectory.shares[before]
        row, expert = np.unravel_index(np.abs(changes).argmax(), changes.shape)
        if abs(changes[row, expert]) >= SHIFTED:
            shares = (words.share(float(trajectory.shares[place, expert])) for place in (before, after[row]))
            change = " → ".join(shares).replace(" ", words.FIXED_SPACE)
            found.append(f"weight of {trajectory.experts[expert]} {change}")
    return found


def _around(rows: Array, record: AlarmRecord) -> tuple[int | None, Array]:
    """The place of the last snapshot before the onset, and those of the snapshots up to 64 rows after the alarm."""
    before = int(np.searchsorted(rows, record.onset)) - 1
    after = np.flatnonzero((rows >= record.onset) & (rows <= record.row + AFTER))
    return (before, after) if before >= 0 and len(after) else (None, after)


def _moved_effects(found: Contributions, record: AlarmRecord) -> list[str]:
    """Inputs whose contribution changed more than it usually does.

    Two windows before the onset are compared with two after it; the window that contains it is left out.
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
    noisier = max(record.during / record.before, 1.0) if record.before > 0 else 1.0  # effects vary more when errors do
    limits = np.maximum(
        noisier * UNUSUAL * 1.4826 * np.median(usual, axis=0), NOTABLE * float(np.sqrt(np.square(before).sum()))
    )
    order = np.argsort(-np.abs(change), kind="stable")
    return [
        f"effect of {found.names[j]} {words.number(float(before[j]), 3)} → {words.number(float(after[j]), 3)}"
        for j in order
        if np.abs(change[j]) > limits[j]
    ]
