"""Learners and runs in notebooks: a few lines of HTML in the notebook's own colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np

from driftline.base.explained import RowExplanation
from driftline.base.learner import Learner
from driftline.base.run import Run
from driftline.delayed.forecast import Forecast
from driftline.fleet import Fleet
from driftline.report import svg, words
from driftline.tables.inputs import Array

WEIGHTS = 8
LINES = 24
POINTS = 120
TOO_MANY = 100_000  # features: a projected learner takes seconds to work out their weights
_STYLE = (
    "<style>.driftline{font:13px/1.5 system-ui,sans-serif;max-width:46em}.driftline b{font-weight:600}"
    ".driftline table{border-collapse:collapse;margin:.4em 0;font:inherit}"
    ".driftline td{text-align:left;padding:.1em 1.2em .1em 0}"
    ".driftline td+td{font-variant-numeric:tabular-nums}.driftline svg{width:24em;max-width:100%;height:3.2em;display:block}"
    ".driftline .line{fill:none;stroke:#0072b2;stroke-width:1.4;vector-effect:non-scaling-stroke}"
    ".driftline i{display:inline-block;height:.6em;background:#0072b2;border-radius:2px}</style>"
)


def _shown(title: str, facts: list[tuple[str, str]], rest: str = "") -> str:
    lines = "".join(f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in facts)
    return f'{_STYLE}<div class="driftline"><b>{escape(title)}</b><table>{lines}</table>{rest}</div>'


def run_html(run: Run) -> str:
    """The summary of a run, and its error along the rows."""
    errors = np.asarray(run.errors, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        known = errors[np.isfinite(errors)]
        size = float(np.sqrt(np.mean(known**2))) if len(known) else np.nan
    facts = [("root mean squared error", words.number(size))]
    if run.lower is not None and run.upper is not None:
        facts.append(("intervals", f"at level {words.level(run.level)}" if run.level is not None else "kept"))
    facts += [(name, words.count(number, "row")) for name, number in (("skipped", run.skipped),) if number]
    facts += [
        (name, _places(rows)) for name, rows in (("resets after", run.resets), ("alarms at", _alarms(run))) if len(rows)
    ]
    curve = svg.sparkline(_by_window(errors), width=POINTS, height=40)
    return _shown(f"Run of {words.count(len(run), 'row')}", facts, curve and f"<div>error over time{curve}</div>")


def _alarms(run: Run) -> Array:
    return run.alarms if run.predictions.dtype.kind == "f" and run.predictions.ndim == 1 else np.empty(0)


def _places(rows: Array) -> str:
    return f"{'row' if len(rows) == 1 else 'rows'} {words.listed([f'{row:,}' for row in rows], 5)}"


def _by_window(errors: Array) -> Array:
    """Root mean squared errors of up to 120 windows."""
    if len(errors) < 2:
        return np.empty(0)
    starts = np.unique(np.linspace(0, len(errors), POINTS, endpoint=False).astype(np.int64))
    if errors.ndim > 1:  # several labels a row
        with np.errstate(over="ignore", invalid="ignore"):
            errors = np.sqrt(np.mean(np.square(errors), axis=1))
    known = np.isfinite(errors)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        sums = np.add.reduceat(np.where(known, np.square(errors), 0.0), starts)
        return np.sqrt(sums / np.add.reduceat(known.astype(np.float64), starts))


def learner_html(learner: Learner) -> str:
    """The call that makes the learner, and what it has learned."""
    seen = learner.n_seen_
    facts = [("learned", words.count(seen, "row"))]
    if learner.n_skipped_:
        facts.append(("skipped", words.count(learner.n_skipped_, "row")))
    if not seen:
        return _shown(repr(learner), facts)
    memory = learner._memory()
    if memory is not None:
        facts.append(("memory", words.count(words.about(memory), "row")))
    facts.append(("features", f"{learner.n_features_in_:,}"))
    if shares := learner._experts()[0]:
        return _shown(repr(learner), facts, _bars("weight of each expert", shares, words.share))
    if not learner._traits.by_feature or learner.n_features_in_ > TOO_MANY or learner.coef_.ndim > 1:
        return _shown(repr(learner), facts)
    if learner.intercept:
        facts.append(("intercept", words.number(learner.intercept_)))
    names = getattr(learner, "feature_names_in_", [f"x{place}" for place in range(learner.n_features_in_)])
    return _shown(
        repr(learner), facts, _bars("weights", dict(zip(names, learner.coef_.tolist(), strict=True)), words.number)
    )


def fleet_html(fleet: Fleet) -> str:
    """The call that makes the fleet, and the keys that have learned most."""
    table = fleet.summary()
    columns = [name for name in ("key", "rows", "mse", "share", "alarms") if name in table and (table[name] != -1).any()]
    most = np.argsort(-table["rows"], kind="stable")[:WEIGHTS]
    rows = [[_cell(table[name][key]) for name in columns] for key in most.tolist()]
    facts = [("keys", f"{len(table['rows']):,}"), ("learned", words.count(int(table["rows"].sum()), "row"))]
    return _shown(repr(fleet), facts, _table(columns, rows, len(table["rows"])) if rows else "")


def forecast_html(forecast: Forecast) -> str:
    """The forecast, row by row."""
    places = (
        [f"{step + 1}" for step in range(len(forecast))] if forecast.times is None else [str(at) for at in forecast.times]
    )
    ends = (forecast.predictions, forecast.lower, forecast.upper)
    rows = [[place, *map(_cell, values)] for place, *values in zip(places[:LINES], *ends, strict=False)]
    columns = ["step" if forecast.times is None else "time", "prediction", "lower", "upper"]
    facts = [("intervals", f"at level {words.level(forecast.level)}")]
    return _shown(f"Forecast of {words.count(len(forecast), 'row')}", facts, _table(columns, rows, len(places)))


def explanation_html(found: RowExplanation) -> str:
    """What the features contribute to a prediction."""
    facts = [("interval", f"{words.number(found.lower)} to {words.number(found.upper)}")]
    title = f"Prediction {words.number(found.prediction)}"
    return _shown(title, facts, _bars("contributions", dict(found.contributions), words.number))


def _cell(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return words.number(float(value))
    return f"{value:,}" if isinstance(value, (int, np.integer)) else str(value)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], of_all: int) -> str:
    lines = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in [columns, *rows])
    more = f"<div>and {of_all - len(rows):,} more</div>" if of_all > len(rows) else ""
    return f"<table>{lines}</table>{more}"


def _bars(title: str, values: dict[Any, float], spell: Callable[[float], str]) -> str:
    """The largest values, each with a bar."""
    shown = sorted(values.items(), key=lambda item: -abs(item[1]))[:WEIGHTS]
    most = max((abs(value) for _, value in shown), default=0.0) or 1.0
    lines = "".join(
        f"<tr><td>{escape(str(name))}</td><td>{spell(value)}</td>"
        f'<td><i style="width:{9 * abs(value) / most:.2f}em"></i></td></tr>'
        for name, value in shown
    )
    of_all = f", the {len(shown)} largest of {len(values):,}" if len(shown) < len(values) else ""
    return f"<div>{title}{of_all}<table>{lines}</table></div>"
