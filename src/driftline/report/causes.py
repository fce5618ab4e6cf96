"""Why the error rose, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftline.report import words
from driftline.report.alarm_log import AFTER, AlarmRecord
from driftline.report.contributions import Contributions
from driftline.report.facts import Facts
from driftline.tables.inputs import Array

UNUSUAL = 3.0  # standard deviations
ONE_SIDED = 0.5  # share of the error: a larger mean error counts as predictions that are too low or too high
FOLLOWED = 0.2  # share of the squared errors that must follow the inputs for a changed relation
IN_STEP = 0.3  # correlation of neighbouring errors above which they count as dependent
MORE_SPREAD = 0.6  # exponent of the rise that the label's own spread must explain
FEWEST_CHANGES = 3  # windows needed to know the usual change of contributions
NOTABLE = 0.05  # relative to the predictions' spread: smaller contributions are not mentioned
SHRUNK = 3.0  # a memory that shrank by this factor is mentioned
SHIFTED = 0.2  # a change of an expert's weight
DETAILS = 3
MEAN = 0  # the kind of a line of ``AlarmRecord.inputs`` about a mean; other lines are about spreads


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
    reason, *others = said = [*quiet, *(_moved_inputs(facts, record) or [_other_reason(facts, record, effects)])]
    further = [effect for effect in effects if not any(effect in sentence for sentence in said)]
    return [reason, *[*others, *_one_side(record), *further, *_within(facts, record)][:DETAILS]]


def _moved_inputs(facts: Facts, record: AlarmRecord) -> list[str]:
    """The inputs that moved further than chance explains, and the label if an input did."""
    lines = [line for line in record.inputs.tolist() if _distance(line) >= record.evidence.limit]
    if not any(line[0] for line in lines):
        return []
    return [_moved(facts, line) for line in sorted(lines, key=lambda line: line[0] == 0)]


def _distance(line: list[float]) -> float:
    *_, now, usual, strayed = line
    return abs(now - usual) / strayed if strayed > 0 else np.inf


def _moved(facts: Facts, line: list[float]) -> str:
    place, kind, now, usual, strayed = line
    name = facts.names[int(place) - 1] if place else facts.log.target
    if kind == MEAN:
        what = f"{name} moved to {words.number(now, 3)} on average"
    else:
        what = f"{name} varies {'more' if now > usual else 'less'}, by {words.number(now, 3)}"
    if not strayed > 0:
        return f"{what} (always {words.number(usual, 3)} before)."
    deviations = words.number(_distance(line), 2)
    return f"{what} (usually {words.number(usual, 3)} ± {words.number(strayed, 2)}: {deviations} deviations away)."


def _other_reason(facts: Facts, record: AlarmRecord, effects: Sequence[str]) -> str:
    """The first reason that holds if no input moved: a few rows, the relation, the label's level or spread, or noise."""
    known, y = record.evidence, facts.log.target
    label = next((line for line in record.inputs.tolist() if line[:2] == [0, MEAN]), None)
    level = label is not None and _distance(label) >= known.limit
    still = _none_moved(record)
    if known.few and not level:
        return _few(facts, record)
    if known.followed >= FOLLOWED:
        leader = f"{facts.names[int(known.leader)]} (correlation {_decimals(known.correlation)})"
        return f"{still}: the relation itself changed. The errors follow {leader}."
    if level and label is not None:
        return f"{_moved(facts, label)} {still}."
    rise = np.log(record.during / record.before) if record.before > 0 else np.inf
    if known.spread_before > 0 and np.log(known.spread / known.spread_before) >= MORE_SPREAD * rise > 0:
        spreads = f"{words.number(known.spread, 3)}, and was {words.number(known.spread_before, 3)} before"
        return f"{y} itself varies more: its spread is {spreads}. {still}."
    if effects:
        return f"{still}: the relation itself changed ({effects[0]})."
    if abs(record.bias) >= ONE_SIDED * record.during > 0:
        return f"{still}: the relation itself changed, in its level."
    if not record.watched:
        return f"{still}, and {y} varies as before."
    if known.in_step >= IN_STEP:
        return f"{still}: the relation itself changed. Neighbouring errors agree (correlation {_decimals(known.in_step)})."
    return f"{still}, and the errors follow none of them: noise, or something that the inputs do not show."


def _none_moved(record: AlarmRecord) -> str:
    if not record.watched:
        return "The inputs were not followed"
    return (
        "None of the inputs moved" if np.isfinite(record.evidence.limit) else "It is too early to say whether an input moved"
    )


def _few(facts: Facts, record: AlarmRecord) -> str:
    """Whether a few rows account for the rise, and what was unusual about the worst of them."""
    few, made = int(record.evidence.few), f"{min(100 * record.evidence.made, 100):.0f} %"
    worst = facts.moment(record.worst[0, 0])
    which = f"A single row, {worst}, accounts for" if few == 1 else f"{few} rows, the worst of them {worst}, account for"
    parts = [f"{which} {made} of the rise in the squared error."]
    for place, value, low, high in record.outside[:1].tolist():
        before = words.number(low, 3) if low == high else f"{words.number(low, 3)} to {words.number(high, 3)}"
        parts.append(f"In that row, {facts.names[int(place)]} was {words.number(value, 3)}; until then, it was {before}.")
    if few > 1:
        parts.append("The rows are outliers, or the model adapted within these rows to a change that lasts.")
    return " ".join(parts)


def _one_side(record: AlarmRecord) -> list[str]:
    if not abs(record.bias) >= ONE_SIDED * record.during > 0:
        return []
    return [f"predictions too {'low' if record.bias > 0 else 'high'} by {words.number(abs(record.bias), 3)} on average"]


def _decimals(correlation: float) -> str:
    return f"{correlation:.2f}".replace("-", words.MINUS)


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
