"""The report as one HTML file. jinja2 is imported when a page is written."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import driftline
from driftline.errors import missing_extra
from driftline.evaluate.baselines import OneSeasonAgo
from driftline.report import svg, words
from driftline.report.alarms import AlarmLine, alarm_lines
from driftline.report.causes import changes
from driftline.report.certainty import certainty
from driftline.report.certified import certified, happened
from driftline.report.charts import MOST_WEIGHTS, Chart, by_step, charts
from driftline.report.contributions import Contributions, contributions, ranked
from driftline.report.facts import BASELINES, Facts
from driftline.report.headline import headline, intervals, steps_ahead
from driftline.report.run_log import RunLog
from driftline.report.view import PLACE_DIGITS, rounded, view
from driftline.storage import atomic

HERE = Path(__file__).parent
TEMPLATES, VENDOR = HERE / "templates", HERE / "vendor"
SHOWN_FEATURES = 25
BARS = 30
ZOOMED = ("errors", "predictions", "coverage")  # charts that the script recomputes at every zoom
ROLES = ("model", "target", *BASELINES, *(f"weight{n}" for n in range(MOST_WEIGHTS)))  # of lines, each with a colour


Figures = Sequence[Mapping[str, float | None]]  # of each step ahead


def write_page(
    log: RunLog,
    path: str | os.PathLike[str],
    *,
    command: str | None,
    title: str | None = None,
    steps: Figures = (),
) -> None:
    """Writes the page atomically."""
    atomic.write(path, render(log, command=command, title=title, steps=steps).encode())


RunLog._write_page = write_page


def render(log: RunLog, *, command: str | None = None, title: str | None = None, steps: Figures = ()) -> str:
    """The page as text. ``steps`` holds a forecast's figures at each step; the run log follows only the first step."""
    if not log.rows:
        raise ValueError("the report needs at least one row: nothing was added")
    script, style, licence = (_vendored(name) for name in ("uPlot.iife.min.js", "uPlot.min.css", "LICENSE"))
    facts = Facts(log)
    found = contributions(facts)
    drawn, alarms = charts(facts, found), alarm_lines(facts, found)
    ahead = by_step(steps, facts) if steps else []
    return filled(
        "report.html",
        title=title or f"{facts.model_summary.get('learner', 'A model')} following {log.target}",
        subtitle=[*_subtitle(facts), *([f"forecast {words.count(len(steps), 'step')} ahead"] if steps else [])],
        headline=[*headline(facts, alarms), *([steps_ahead(steps)] if steps else [])],
        tiles=_tiles(facts),
        charts=drawn,
        zoomed=ZOOMED,
        pictures={} if script else {chart.key: svg.chart(chart, facts.by_date) for chart in drawn if not chart.missing},
        data=_embedded(_as_json(facts, drawn, alarms)) if script else "",
        alarms=alarms,
        changes=changes(facts),
        earlier_alarms=log.alarms.count - len(alarms),
        ratio=words.ratio,
        resets=facts.sums["resets"],
        steps=[(chart, svg.chart(chart, False)) for chart in ahead],
        step_lines=_step_lines(ahead),
        places=_places(facts),
        intervals=intervals(facts),
        groupings=facts.log.groups.groupings(facts.names),
        certainty=certainty(log.certainty, facts.model_summary.get("learner", "model")),
        reliability=svg.reliability,
        **_table(facts, found),
        windows=_windows(facts),
        model_summary=facts.model_summary,
        certified=certified(facts.model_summary["certificate"]) if facts.model_summary else [],
        happened=happened(facts.model_summary["certificate"]) if facts.model_summary else [],
        command=command,
        sparkline=svg.sparkline,
        vendored_script=script,
        vendored_style=style,
        vendored_licence=licence,
        roles=ROLES,
        baselines=[label for name, label in BASELINES.items() if name in facts.losses],
    )


def filled(template: str, **values: Any) -> str:
    """Fills a template."""
    check_jinja()
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    made = f"driftline {driftline.__version__}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    return environment.get_template(template).render(made=made, number=words.number, **values)


def check_jinja() -> None:
    """Raises ImportError, naming the extra to install, if jinja2 is missing."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise missing_extra("reports need", "jinja2", "report") from error


def _vendored(name: str) -> str:
    """A file of uPlot, fetched when the package was built; empty if that failed."""
    path = VENDOR / name
    return path.read_text(encoding="utf-8").strip() if path.is_file() else ""


def _embedded(value: Any) -> str:
    """JSON that is safe inside an element of a page, whatever names it contains."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _as_json(facts: Facts, drawn: Sequence[Chart], alarms: Sequence[AlarmLine]) -> dict[str, Any]:
    places = np.array([[line.at, line.onset, *line.view] for line in alarms]).reshape(-1, 4)
    return {
        "dates": facts.by_date,
        "axis": facts.axis,
        "target": facts.log.target,
        "alarms": [rounded(line, PLACE_DIGITS) for line in places],
        "view": view(facts),
        "charts": [_as_data(chart) for chart in drawn if not chart.missing],
    }


def _as_data(chart: Chart) -> dict[str, Any]:
    zoomed = chart.key in ZOOMED
    return {
        "key": chart.key,
        "y": chart.y,
        "x": [] if zoomed else rounded(chart.x, PLACE_DIGITS),
        "lines": [{**vars(line), "values": [] if zoomed else rounded(line.values)} for line in chart.lines],
        "bands": [list(band) for band in chart.bands],
        "marks": {kind: rounded(places, PLACE_DIGITS) for kind, places in chart.marks.items()},
        "level": chart.level,
        "log": chart.log,
        "apart": chart.apart,
        "title": chart.title,
    }


def _subtitle(facts: Facts) -> list[str]:
    first, last = facts.span
    parts = [words.count(facts.log.rows, "row")]
    if facts.log.features or facts.model_summary:
        parts.append(words.count(len(facts.names), "feature"))
    if facts.by_date:
        parts.append(f"{words.date(first, last - first)} to {words.date(last, last - first)}")
    elif facts.log.clock is not None:
        kept = facts.by_time
        parts.append(
            f"times {words.number(first, 6)} to {words.number(last, 6)}"
            if kept
            else "times are not in order: rows are numbered"
        )
    early = facts.sums["early"]
    if early:
        parts.append(f"{words.count(early, 'row')} before the first known label not counted")
    skipped = facts.log.rows - facts.sums["counted"] - early
    if skipped:
        parts.append(f"{words.count(skipped, 'row')} without an error, because a value was missing")
    return parts


def _tiles(facts: Facts) -> list[tuple[str, str, str]]:
    """The figures at the top: value, name, and explanation."""
    errors = facts.errors
    learner = facts.model_summary.get("learner", "the model")
    tiles = [(words.number(errors["model"]), f"root mean squared error of {learner}", "large errors count more")]
    if facts.sums["counted"]:
        mean = facts.sums["absolute"] / facts.sums["counted"]
        tiles.append((words.number(mean), f"mean absolute error of {learner}", "all errors count equally"))
    season = facts.log.baselines.known[OneSeasonAgo.name]
    ago = f" ({words.count(season.rows_ago, 'row')} before)" if isinstance(season, OneSeasonAgo) else ""
    tiles += [
        (
            words.number(errors[name]),
            f"root mean squared error of the {label}{ago if name == OneSeasonAgo.name else ''}",
            f"{learner}: {words.compared(errors['model'], errors[name])}",
        )
        for name, label in BASELINES.items()
        if name in errors
    ]
    if facts.coverage is not None:
        level = facts.log.level
        tiles.append(
            (
                words.share(facts.coverage),
                "of labels inside their intervals",
                "of no known level" if level is None else f"asked for: {words.level(level)}",
            )
        )
    if facts.memory is not None:
        usual, now = facts.memory
        tiles.append((f"{words.about(usual):,.0f}", "rows of memory, usually", f"{words.about(now):,.0f} at the end"))
    return tiles


def _places(facts: Facts) -> str:
    """The positions of labels relative to their intervals."""
    if facts.coverage is None:
        return ""
    counts = facts.log.places.reshape(BARS, -1).sum(axis=1).tolist()
    third = BARS // 3
    below, above = sum(counts[:third]), sum(counts[2 * third :])
    label = f"Where labels fell: {below:,} below their interval, {above:,} above it"
    return svg.bars(counts, range(third, 2 * third), label)


def _table(facts: Facts, found: Contributions | None) -> dict[str, Any]:
    features, others, rest = ranked(facts, found, SHOWN_FEATURES)
    unexplained = None if found is None else words.share(max(0.0, 1.0 - float(found.explained.sum())))
    return {
        "features": features,
        "others": others,
        "others_share": words.share(rest),
        "followed": found is not None,
        "unfollowed": facts.log.unfixed or "nothing could be compared",
        "spread_known": facts.spreads is not None,
        "weighted": any(feature.weight is not None for feature in features),
        "unexplained": unexplained,
        "target": facts.log.target,
        "share": words.share,
    }


def _step_lines(ahead: list[Chart]) -> list[list[str]]:
    """The charts by step as a table, its head first: up to 32 lines."""
    if not ahead:
        return []
    lines = [line for chart in ahead for line in reversed(chart.lines) if not line.label.startswith("asked for")]
    steps = len(ahead[0].x)
    each = -(-steps // 32)
    shown = [step for step in range(steps) if step % each == 0 or step == steps - 1]
    head = ["step", *(line.label for line in lines)]
    return [head, *([f"{step + 1:,}", *(words.number(float(line.values[step])) for line in lines)] for step in shown)]


def _windows(facts: Facts) -> list[list[str]]:
    """The chart of errors as a table: up to 32 lines of it."""
    if not facts.sums["counted"]:
        return []
    each = max(1, -(-len(facts.window_ends) // 32))
    starts = np.arange(0, len(facts.window_ends), each)
    counted = np.add.reduceat(facts.windows["counted"], starts)
    ends = np.append(facts.window_ends[starts[1:] - 1], facts.window_ends[-1])
    found = []
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        errors = [np.sqrt(np.add.reduceat(loss, starts) / counted) for loss in facts.losses.values()]
    for place, end in enumerate(ends):
        found.append([facts.moment(float(end)), *(words.number(float(error[place])) for error in errors)])
    return found
