"""Data for the page's zoomable charts: sums and samples by bucket, and the single rows that are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftline.evaluate import baselines
from driftline.report.alarm_log import AFTER
from driftline.report.facts import Facts
from driftline.report.recent import COLUMNS
from driftline.report.rows import SAMPLED
from driftline.tables.inputs import Array

DIGITS, PLACE_DIGITS = 5, 13
FEWEST_ROWS = 16  # rows of a window of errors


def rounded(values: Array, digits: int = DIGITS) -> list[float | int | None]:
    """Numbers for JSON, rounded to significant digits; null for values that are not finite."""
    return [_shortest(float(f"{value:.{digits}g}")) if np.isfinite(value) else None for value in values.tolist()]


def _shortest(value: float) -> float | int:
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def view(facts: Facts) -> dict[str, Any]:
    """Buckets and rows as plain values."""
    fine = facts.fine
    losses = {"model": fine["squared"]} | {name: fine[f"squared {name}"] for name in baselines.BASELINES}
    if "fixed" in facts.losses:
        losses["fixed"] = _spread_out(facts)
    return {
        "width": facts.log.fine.width,
        "begin": rounded(facts.at(np.zeros(1)), PLACE_DIGITS)[0],
        "ends": rounded(facts.at(facts.ends[1]), PLACE_DIGITS) if facts.by_time else None,
        "rows": facts.log.rows,
        "fewest": FEWEST_ROWS if facts.log.rows > FEWEST_ROWS**2 else 1,
        "counted": rounded(fine["counted"]),
        "losses": {name: rounded(loss) for name, loss in losses.items()},
        "judged": rounded(fine["judged"]),
        "inside": rounded(fine["inside finite"]),
        "sample": {name: rounded(fine["sample"][:, 1 + n]) for n, name in enumerate(SAMPLED[1:])},
        "raw": [_as_rows(facts, segment) for segment in _segments(facts)],
    }


def _spread_out(facts: Facts) -> Array:
    """The loss of the best fixed model by bucket; that of a window is distributed over its counted rows."""
    each = max(facts.window // facts.log.fine.width, 1)
    counted = facts.fine["counted"]
    window = np.arange(len(counted)) // each
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean = facts.losses["fixed"] / facts.windows["counted"]
        return np.where(counted > 0, mean[window] * counted, 0.0)


def _segments(facts: Facts) -> list[tuple[int, Array]]:
    """The stored stretches of rows, as (first row, rows): around earlier alarms, and the latest rows."""
    if facts.log.fine.width == 1:
        return []  # every bucket is a row
    recent = facts.log.recent.values
    begin = facts.log.rows - len(recent)
    around = [
        (min(record.row + AFTER, facts.log.rows) - len(record.rows), record.rows)
        for record in facts.log.alarms.records()
        if len(record.rows)
    ]
    return [*((first, rows) for first, rows in around if first < begin), (begin, recent)]


def _as_rows(facts: Facts, segment: tuple[int, Array]) -> dict[str, Any]:
    first, values = segment
    places = {} if not facts.by_time else {"at": rounded(values[:, 0], PLACE_DIGITS)}
    return {"first": first, **places, **{name: rounded(values[:, n]) for n, name in enumerate(COLUMNS) if n}}
