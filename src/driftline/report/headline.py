"""The findings of a report, as sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from driftline.evaluate.baselines import BASELINES, OneSeasonAgo
from driftline.evaluate.metrics import BASELINE_ERRORS
from driftline.report import words
from driftline.report.alarms import NEAR, AlarmLine
from driftline.report.facts import Facts

FEW_ROWS = 30


def headline(facts: Facts, alarms: Sequence[AlarmLine]) -> list[str]:
    """Findings, a sentence or two each, the most important first."""
    if not facts.sums["counted"]:
        return ["No row had a label, a prediction and an earlier label, so there is no error to report."]
    return [
        _error(facts),
        *(f"{words}." for words in facts.model_summary.get("warnings", ())),
        *_drift(facts, alarms),
        *_memory(facts),
    ]


def _error(facts: Facts) -> str:
    errors = facts.errors
    if facts.sums["absolute"] == 0:
        return "Every prediction was right."
    if errors["model"] == 0:
        return "The errors are too small to be squared, so there is nothing to compare."
    best = min(BASELINES, key=errors.__getitem__)
    than = words.compared(errors["model"], errors[best])
    sentence = f"The error is {than} {'that of ' if 'times' in than else ''}predicting the {BASELINES[best].title}"
    if "fixed" in errors:
        than = words.compared(errors["model"], errors["fixed"])
        sentence += f", and {than} {'that of ' if 'times' in than else ''}the best fixed linear model in hindsight"
    rows = facts.sums["counted"]
    return f"{sentence}." if rows >= FEW_ROWS else f"{sentence}; with {words.count(rows, 'row')} that says little."


def _memory(facts: Facts) -> list[str]:
    if facts.memory is None:
        return []
    usual, now = facts.memory
    if now >= 0.95 * facts.sums["counted"]:
        return ["The model’s memory is the whole stream so far."]
    lately = f", and {words.about(now):,.0f} at the end" if not 2 / 3 < now / usual < 1.5 else ""
    return [f"The model’s memory is about {words.count(words.about(usual), 'row')}{lately}."]


def _drift(facts: Facts, alarms: Sequence[AlarmLine]) -> list[str]:
    """When errors rose, by how much, and whether they are still larger."""
    found = _alarms(facts, alarms) if alarms else []
    if not alarms and facts.sums["counted"] > FEW_ROWS:
        found.append("No alarm: the errors never became larger than before.")
    resets = int(facts.sums["resets"])
    if resets:
        found.append(f"The covariance was reset {words.times(resets)}, first {facts.place(facts.reset_rows[0])}.")
    return found


def _alarms(facts: Facts, alarms: Sequence[AlarmLine]) -> list[str]:
    """When the error rose most and last, by how much and why; and its current state."""
    largest, last = max(alarms, key=lambda line: line.ratio), alarms[-1]
    count = facts.log.alarms.count
    if count == 1:
        rises = [f"The error rose once, {_rise(facts, last)}"]
    elif largest is last:
        rises = [f"The error rose {words.times(count)}, most recently and most strongly {_rise(facts, last)}"]
    else:
        rises = [
            f"The error rose {words.times(count)}, most strongly {_rise(facts, largest)}",
            f"It last rose {_rise(facts, last)}",
        ]
    (error, rows), line = facts.lately, _measure(alarms)
    recovered = error <= NEAR * line.level
    now = f"{words.number(error, 3)} in the last {words.count(rows, 'row')}"
    than = f"usually {words.number(line.level, 3)}" if line.quiet else f"{words.number(line.level, 3)} before"
    than += " at the new scale" if line.scaled != 1 else ""
    first = alarms[0]
    rest = ""
    if recovered and not first.quiet and first.now > NEAR:
        rest = f" That is {words.factor(first.now)} the error before the first rise, {words.number(first.before, 3)}."
    return [*rises, f"It has {'' if recovered else 'not '}recovered: {now}, {than}.{rest}"]


def _rise(facts: Facts, line: AlarmLine) -> str:
    where = f"{'on' if facts.by_date else 'at'} {line.since}"
    return f"{where}, from {words.number(line.before, 3)} to {words.number(line.during, 3)}. Why: {line.causes[0]}"


def _measure(alarms: Sequence[AlarmLine]) -> AlarmLine:
    """The last alarm, or the first of several after which the error did not recover."""
    first = len(alarms) - 1
    while first > 0 and not (alarms[first - 1].back or np.inf) <= alarms[first].row:
        first -= 1
    return alarms[first]


def steps_ahead(figures: Sequence[Mapping[str, float | None]]) -> str:
    """The error of a forecast at its last step."""
    error, season = figures[-1]["rmse"], figures[-1][BASELINE_ERRORS[OneSeasonAgo.name]]
    if error is None or not season:
        return "This is about the first step."
    than = words.compared(error, season)
    of = "that of the" if "times" in than else "the"
    return f"This is about the first step. At step {len(figures):,} the error is {than} {of} seasonal value."


def intervals(facts: Facts) -> str:
    """The coverage of the intervals."""
    level, coverage = facts.log.level, facts.coverage
    if coverage is None:
        return "There were no intervals: ask for them with a level, such as 0.9."
    held = f"held {words.share(coverage)} of {words.count(facts.sums['judged'], 'label')}"
    return f"The intervals {held}." if level is None else f"The {words.level(level)} intervals {held}."
