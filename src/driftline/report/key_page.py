"""The page of a run with a model for each key: all keys, and a section for each that needs attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from driftline.report import svg, words
from driftline.report.charts import Chart, Line
from driftline.report.key_log import KeyFacts, KeyLog
from driftline.report.page import filled
from driftline.report.pool_facts import PoolFacts
from driftline.storage import atomic
from driftline.tables.inputs import Array

LISTED = 1000  # keys in the table
SHOWN = 60  # keys that get a section
DIFFERING = 20  # keys in the table of those that differ from the others


@dataclass(frozen=True)
class PoolPart:
    """What the page shows of a pooled fleet: the log of all rows as those of one key, and how the keys differ."""

    log: KeyLog
    facts: list[PoolFacts]


def write_key_page(log: KeyLog, keys: list[Any], path: Path, **of: Any) -> None:
    """Writes the page of :func:`render`, atomically."""
    atomic.write(path, render(log, keys, **of).encode())


def render(
    log: KeyLog,
    keys: list[Any],
    *,
    learner: str,
    target: str,
    column: str,
    command: str | None = None,
    pool: PoolPart | None = None,
) -> str:
    """The page as text.

    Args:
        log: the run.
        keys: the keys, in the order of their numbers.
        learner: the kind of model, for the title.
        target: the name of the label.
        column: the column of the keys.
        command: the command that repeats the run.
        pool: what keys that learn from each other have in common; None if they do not.
    """
    ranked = log.ranked(keys)
    facts = [found for _, found in ranked]
    common = None if pool is None else pool.log.ranked(["all keys"])[0][1]
    differing = {} if pool is None else {fact.key: fact for fact in pool.facts}
    return filled(
        "keys.html",
        title=f"{learner} following {target}, a model for each {column}",
        subtitle=[words.count(len(keys), "key"), words.count(sum(found.rows for found in facts), "row")],
        headline=[*([] if common is None else [shocks(common)]), *headline(facts)],
        common=None if pool is None or common is None or not common.rows else _pictures(pool.log.history(0), "source"),
        shocks=None if common is None else shocks(common),
        differing=differing,
        apart=list(differing.values())[:DIFFERING],
        column=column,
        facts=facts[:LISTED],
        left_out=max(0, len(facts) - LISTED),
        sections=[(number, found, _pictures(log.history(place))) for number, (place, found) in enumerate(ranked[:SHOWN])],
        shown=SHOWN,
        command=command,
        roles=("model", "target"),
    )


def headline(facts: Sequence[KeyFacts]) -> list[str]:
    """The first sentences of the page."""
    raised = [found for found in facts if found.alarms]
    if not raised:
        return [f"No alarm went off in {words.count(len(facts), 'key')}."]
    first = f"The alarm went off in {len(raised):,} of {words.count(len(facts), 'key')}."
    worst = raised[0]
    if worst.since is None or not worst.before:
        return [first]
    grown = f"{words.number(worst.factor, 2)} times as large"
    return [first, f"The errors of {worst.key} have grown most: since row {worst.last_alarm:,} they are {grown}."]


def shocks(common: KeyFacts) -> str:
    """A sentence about the alarms of the pool."""
    if not common.alarms:
        return "The alarm of the pool did not go off: the errors of the keys never changed together."
    when = f"at row {common.last_alarm:,}" if common.alarms == 1 else f"the last time at row {common.last_alarm:,}"
    return f"The alarm of the pool went off {words.times(common.alarms)}, {when}: the errors of many keys changed together."


def _pictures(history: dict[str, Array], of: str = "key") -> list[tuple[str, str]]:
    """Charts over the rows of a key, from its first one, with its alarms."""
    rows, marks = np.append(0.0, history["row"]), {"alarms": history["alarms"]}
    values = {name: np.append(np.nan, history[name]) for name in ("rmse", "label", "prediction")}
    both = (Line("label", values["label"], "target"), Line("prediction", values["prediction"], "model"))
    about = f"By row of the {of}."
    charts = [
        Chart("error", "Error (RMSE)", about, x=rows, lines=(Line("", values["rmse"], "model"),), level=0.0),
        Chart("values", "Mean label and mean prediction", about, x=rows, lines=both),
    ]
    return [(spec.title, svg.chart(replace(spec, marks=marks), False, svg.SMALL)) for spec in charts]
