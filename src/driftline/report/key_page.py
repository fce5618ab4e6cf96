"""The page of a run with a model for each key: all keys, and a section for each that needs attention."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftline.report import svg, words
from driftline.report.key_log import KeyFacts, KeyLog
from driftline.report.page import filled
from driftline.storage import atomic
from driftline.tables.inputs import Array

LISTED = 1000  # keys in the table
SHOWN = 60  # keys that get a section
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 380, 170, 52, 8, 8, 22


def write_key_page(
    log: KeyLog, keys: list[Any], path: Path, *, learner: str, target: str, column: str, command: str | None
) -> None:
    """Writes the page, atomically."""
    atomic.write(path, render(log, keys, learner=learner, target=target, column=column, command=command).encode())


def render(log: KeyLog, keys: list[Any], *, learner: str, target: str, column: str, command: str | None = None) -> str:
    """The page as text.

    Args:
        log: the run.
        keys: the keys, in the order of their numbers.
        learner: the kind of model, for the title.
        target: the name of the label.
        column: the column of the keys.
        command: the command that repeats the run.
    """
    ranked = log.ranked(keys)
    facts = [found for _, found in ranked]
    return filled(
        "keys.html",
        title=f"{learner} following {target}, a model for each {column}",
        subtitle=[words.count(len(keys), "key"), words.count(sum(found.rows for found in facts), "row")],
        headline=headline(facts),
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


def _pictures(history: dict[str, Array]) -> list[tuple[str, str]]:
    rows, alarms = history["row"], history["alarms"]
    return [
        ("Error (RMSE)", _picture(rows, [("model", history["rmse"])], alarms, "Error by row of the key", floor=0.0)),
        (
            "Label (grey) and prediction (blue)",
            _picture(
                rows,
                [("target", history["label"]), ("model", history["prediction"])],
                alarms,
                "Mean label and mean prediction by row of the key",
            ),
        ),
    ]


def _picture(rows: Array, lines: list[tuple[str, Array]], alarms: Array, label: str, floor: float | None = None) -> str:
    """Lines over the rows of a key, and its alarms."""
    values = np.concatenate([line for _, line in lines])
    values = values[np.isfinite(values)]
    if not len(values):
        return ""
    low, high = float(values.min()) if floor is None else floor, float(values.max())
    high = high if high > low else low + 1.0
    across = (WIDTH - LEFT - RIGHT) / float(rows[-1])
    bottom = HEIGHT - BOTTOM
    up = (bottom - TOP) / (high - low)
    parts = []
    for value in (low, high):
        at = bottom - (value - low) * up
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text class="tick" text-anchor="end" x="{LEFT - 5}" y="{at + 4:.1f}">{words.number(value, 3)}</text>')
    parts += [
        f'<line class="mark alarms" x1="{LEFT + at * across:.1f}" x2="{LEFT + at * across:.1f}" y1="{TOP}" y2="{bottom}"/>'
        for at in alarms
    ]
    parts += [svg.polyline(LEFT + rows * across, bottom - (line - low) * up, role) for role, line in lines]
    parts.append(f'<text class="tick" x="{LEFT}" y="{HEIGHT - 6}">row 0</text>')
    parts.append(f'<text class="tick" text-anchor="end" x="{WIDTH - RIGHT}" y="{HEIGHT - 6}">{rows[-1]:,.0f}</text>')
    return f'<svg class="static" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
