"""The charts of a report as data, drawn by the page, as static pictures, and by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from driftline.evaluate.baselines import BASELINES as KINDS
from driftline.evaluate.metrics import BASELINE_ERRORS
from driftline.report import words
from driftline.report.contributions import Contributions, most_moving
from driftline.report.facts import BASELINES, Facts
from driftline.tables.inputs import Array

MOST_MARKS = 120  # more lines would hide the curve
MOST_WEIGHTS = 7
MOST_EFFECTS = 12
TOO_FAR = 3  # times the model's error: a worse baseline would flatten the other lines
LEAST_SHARE = 0.02  # the smallest weight of an expert that is drawn
TOGETHER = 3  # lines that one chart of effects can hold; more get panels
NOTHING_COUNTED = "No row had a label, a prediction and an earlier label."


@dataclass(frozen=True)
class Line:
    """One series. ``role`` names its colour; a line without a label is the edge of a band, or belongs to another line."""

    label: str
    values: Array
    role: str
    dashed: bool = False
    faint: bool = False
    cut: bool = False  # outliers do not widen the scale
    hidden: bool = False  # until its name is clicked


@dataclass(frozen=True)
class Chart:
    """Lines over one axis, areas between two of them, and marks at places of the axis."""

    key: str
    title: str
    about: str
    y: str = ""
    x: Array = field(default_factory=lambda: np.empty(0))
    lines: tuple[Line, ...] = ()
    bands: tuple[tuple[int, int, str], ...] = ()  # upper line, lower line, role
    marks: dict[str, Array] = field(default_factory=dict)
    level: float | None = None  # a horizontal line
    log: bool = False
    rest: str = ""  # the caption if windows change with the zoom
    missing: str = ""  # why there is nothing to draw
    height: float = 0.0  # the smallest range of the scale, so that small differences look small
    apart: bool = False  # each line in its own small panel, on a common scale


def limits(chart: Chart) -> tuple[float, float] | None:
    """The scale of a chart: it covers all values, except for outliers of lines that may be cut off."""
    found = [] if chart.level is None else [chart.level]
    for line in shown_at_first(chart):
        values = line.values[np.isfinite(line.values) & ((line.values > 0) | (not chart.log))]
        if len(values):
            low, high = float(values.min()), float(values.max())
            if line.cut:
                most = np.quantile(values, (0.05, 0.95))
                low, high = max(low, 2 * most[0] - most[1]), min(high, 2 * most[1] - most[0])
            found += [low, high]
    if not found:
        return None
    more = max(0.0, chart.height - (max(found) - min(found))) / 2
    return min(found) - more, max(found) + more


def shown_at_first(chart: Chart) -> list[Line]:
    """The lines that a static picture shows."""
    return [line for line in chart.lines if not line.hidden]


def charts(facts: Facts, found: Contributions | None) -> list[Chart]:
    """All charts in the order of the page. Alarms are marked on each."""
    moving = weights(facts) if found is None else effects(facts, found)
    drawn = [errors(facts), predictions(facts), moving, shares(facts), memory(facts), coverage(facts), regret(facts)]
    alarms = _marks(facts, "alarms", facts.alarm_rows)
    return [replace(chart, marks={**alarms, **chart.marks}) for chart in drawn if chart is not None]


def by_step(figures: Sequence[Mapping[str, float | None]], facts: Facts) -> list[Chart]:
    """Error and coverage at each step ahead, from the figures of each."""
    steps = np.arange(1.0, len(figures) + 1)

    def values(name: str) -> Array:
        return np.array([np.nan if own[name] is None else own[name] for own in figures], dtype=np.float64)

    model = facts.model_summary.get("learner", "model")
    lines = [Line(kind.title, values(BASELINE_ERRORS[name]), name, dashed=name == "mean") for name, kind in KINDS.items()]
    errors = (*reversed(lines), Line(model, values("rmse"), "model"))
    about = "Root mean squared error of forecasts made this many rows ahead, when the labels up to then were known."
    found = [Chart("step_errors", "Error by step", about, f"error of {facts.log.target}", steps, errors)]
    level = facts.log.level
    if level is not None and np.isfinite(values("coverage")).any():
        asked = Line(f"asked for: {words.level(level)}", np.full(len(steps), level), "mean", dashed=True)
        inside = Line("share inside", values("coverage"), "model")
        about = "The share of labels inside the intervals given this many rows ahead."
        found.append(
            Chart("step_coverage", "Calibration by step", about, "share inside", steps, (asked, inside), height=0.1)
        )
    return found


def _marks(facts: Facts, kind: str, rows: Array) -> dict[str, Array]:
    return {kind: facts.at(rows)} if 0 < len(rows) <= MOST_MARKS else {}


def _about_resets(facts: Facts) -> str:
    """A sentence if there are too many resets to draw."""
    too_many = len(facts.reset_rows) > MOST_MARKS
    return f" {words.count(facts.sums['resets'], 'reset')} are too many to mark one by one." if too_many else ""


def _far_apart(lines: tuple[Line, ...], ratio: float) -> bool:
    """Whether to use a logarithmic scale; not if some errors are only rounding."""
    values = np.concatenate([np.empty(0), *(line.values for line in lines if not line.hidden)])
    values = values[np.isfinite(values)]
    return bool(len(values) and values.min() > 0 and ratio < float(values.max()) / float(values.min()) < 1e7)


def errors(facts: Facts) -> Chart:
    """The error by window, compared with the baselines."""
    key, title = "errors", "Error over time"
    if not facts.sums["counted"]:
        return Chart(key, title, "", missing=NOTHING_COUNTED)
    roles = {"model": facts.model_summary.get("learner", "model"), **BASELINES}
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = {name: np.sqrt(loss / facts.windows["counted"]) for name, loss in facts.losses.items()}
    best = min(KINDS, key=lambda name: np.nan_to_num(facts.errors[name], nan=np.inf))
    far = {name for name, error in facts.errors.items() if error > TOO_FAR * facts.errors["model"]} - {best}
    lines = tuple(
        Line(roles[name], found[name], name, dashed=name in ("mean", "fixed"), hidden=name in far)
        for name in reversed(found)
    )
    about = (
        f"Root mean squared error of each {words.count(facts.window, 'row')}, drawn at the last of them; "
        "every row was predicted before its label was seen."
    )
    if facts.window == 1:
        about = "The size of each row’s error; every row was predicted before its label was seen."
    unfixed = f" There is no best fixed model to compare with: {facts.log.unfixed}." if facts.log.unfixed else ""
    rest = f", drawn at the last of them; every row was predicted before its label was seen.{unfixed}"
    return Chart(
        key, title, about + unfixed, f"error of {facts.log.target}", facts.at(facts.window_ends), lines,
        log=_far_apart(lines, 1000), rest=rest,
    )  # fmt: skip


def predictions(facts: Facts) -> Chart:
    """The target, the predictions and the intervals."""
    fine, target = facts.fine, facts.log.target
    key, title = "predictions", "Predictions over the target"
    if not facts.sums["predicted"]:
        return Chart(key, title, "", missing="No row was predicted with an earlier label known.")
    x = facts.at((facts.ends[0] + facts.ends[1]) / 2)
    lines = [
        Line(target, _mean(fine["y"], fine["labels"]), "target"),
        Line("prediction", _mean(fine["prediction"], fine["predicted"]), "model"),
    ]
    bands: list[tuple[int, int, str]] = []
    width = facts.log.fine.width
    about = "Each row’s label, and the prediction made before it was seen."
    if width > 1:
        lines += [
            Line("", fine["y_high"], "target", faint=True),
            Line("", fine["y_low"], "target", faint=True),
        ]
        bands.append((2, 3, "target"))
        about = f"Means of each {width:,} rows; the pale band spans their lowest to their highest label."
    if facts.sums["bounded"]:
        at = len(lines)
        name = "interval" if facts.log.level is None else f"{words.level(facts.log.level)} interval"
        lines += [
            Line(name, _mean(fine["upper"], fine["bounded"]), "model", faint=True, cut=True),
            Line("", _mean(fine["lower"], fine["bounded"]), "model", faint=True, cut=True),
        ]
        bands.append((at, at + 1, "model"))
    return Chart(key, title, about, target, x, tuple(lines), tuple(bands))


def _mean(total: Array, count: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return total / count


def weights(facts: Facts) -> Chart:
    """The weights that matter most, with resets and alarms."""
    key, title = "weights", "Weights over time"
    kept = facts.trajectory
    if facts.model_summary and not facts.model_summary["by_feature"]:
        return Chart(key, title, "", missing="This learner does not have one weight for each feature.")
    if len(kept.rows) < 2 or not kept.weights.shape[1]:
        return Chart(key, title, "", missing="No weights were recorded: run with weights_every to record them.")
    order = most_moving(facts, kept.weights)[:MOST_WEIGHTS]
    lines = tuple(
        Line(facts.names[place], kept.weights[:, place], f"weight{n}", dashed=n > 3, cut=True)
        for n, place in enumerate(order)
    )
    count = kept.weights.shape[1]
    about = "The weights of the model."
    if count > len(order) and facts.spreads is None:
        about = f"The {len(order)} weights that were the largest on average, of {count:,}."
    elif count > len(order):
        about = (
            f"The {len(order)} weights with the most influence along the stream, of {count:,}: "
            "their size on average, times the standard deviation of their feature."
        )
    chart = Chart(key, title, about, "weight", facts.at(kept.rows), lines, marks=_marks(facts, "resets", facts.reset_rows))
    spikes = " Spikes beyond the scale are cut off." if _leave_the_scale(chart) else ""
    return replace(chart, about=about + spikes + _about_resets(facts))


def effects(facts: Facts, found: Contributions) -> Chart:
    """The effects of the features on the predictions."""
    size = np.sqrt(np.mean(np.square(found.windows), axis=0))
    order = np.argsort(-size, kind="stable")[:MOST_EFFECTS]
    order = order[size[order] > 0]
    if not len(order) or len(found.ends) < 2:
        reason = "The predictions do not follow any input." if len(found.ends) > 1 else "There are too few rows to tell."
        return Chart("weights", "What moves the predictions", "", missing=reason)
    lines = tuple(
        Line(found.names[place], found.windows[:, place], f"weight{n % MOST_WEIGHTS}", dashed=n >= MOST_WEIGHTS)
        for n, place in enumerate(order)
    )
    rows = int(found.ends[0]) + 1
    about = (
        f"How far each input moves the predictions in each {words.count(rows, 'row')}, in {facts.log.target}: up "
        "if the input raises them, down if it lowers them. Inputs with the same information share their effect."
    )
    if any(len(own) > 1 for own in found.places):
        about += " Sine and cosine of an angle are one input, without a sign."
    if len(order) < len(size):
        about += f" The {len(order)} strongest of {len(size):,}."
    return Chart(
        "weights",
        "What moves the predictions",
        about + _about_resets(facts),
        facts.log.target,
        facts.at(found.ends),
        lines,
        level=0.0,
        marks=_marks(facts, "resets", facts.reset_rows),
        apart=len(lines) > TOGETHER,
    )


def shares(facts: Facts) -> Chart | None:
    """The weights of the experts; None if the learner has none."""
    kept = facts.trajectory
    if not kept.experts or len(kept.share_rows) < 2:
        return None
    size = np.abs(kept.shares).mean(axis=0)
    order = [int(place) for place in np.argsort(-size, kind="stable")[:MOST_WEIGHTS] if size[place] >= LEAST_SHARE]
    lines = tuple(
        Line(kept.experts[place], kept.shares[:, place], f"weight{n}", dashed=n > 3) for n, place in enumerate(order)
    )
    about = "The weight of each expert in the prediction."
    if len(order) < len(kept.experts):
        about += f" The {len(order)} heaviest of {len(kept.experts)}; the others have little weight."
    return Chart("shares", "Weights of the experts", about, "weight", facts.at(kept.share_rows), lines)


def _leave_the_scale(chart: Chart) -> bool:
    low, high = limits(chart) or (-np.inf, np.inf)
    return any(((line.values < low) | (line.values > high)).any() for line in chart.lines)


def memory(facts: Facts) -> Chart:
    """The memory of the model over time."""
    key, title = "memory", "Memory over time"
    kept = facts.trajectory
    if np.isfinite(kept.memory).sum() < 2:
        return Chart(key, title, "", missing="This run did not record the memory of the model.")
    line = Line("rows", np.where(kept.memory > 0, kept.memory, np.nan), "model")
    about = "The approximate number of rows that count for a prediction. It shrinks when the target moves faster."
    marks = _marks(facts, "resets", facts.reset_rows)
    return Chart(key, title, about, "rows", facts.at(kept.rows), (line,), marks=marks, log=_far_apart((line,), 10))


def regret(facts: Facts) -> Chart:
    """Summed loss minus that of the baselines."""
    key, title = "regret", "Regret"
    if not facts.sums["counted"]:
        return Chart(key, title, "", missing=NOTHING_COUNTED)
    with np.errstate(over="ignore", invalid="ignore"):
        ahead = {name: np.cumsum(facts.losses["model"] - facts.losses[name]) for name in BASELINES if name in facts.losses}
    lines = tuple(Line(f"against {BASELINES[name]}", ahead[name], name, dashed=name != "last") for name in reversed(ahead))
    about = "Summed squared errors so far, minus those of each baseline. Below zero the model is ahead."
    return Chart(key, title, about, "summed squared error", facts.at(facts.window_ends), lines, level=0.0)


def coverage(facts: Facts) -> Chart:
    """The share of labels inside their intervals, by window."""
    key, title = "coverage", "Calibration over time"
    if facts.coverage is None:
        return Chart(key, title, "", missing="There were no intervals to judge.")
    inside, judged = facts.windows["inside finite"], facts.windows["judged"]
    each = max(1, int(np.ceil(60 / max(facts.window, 1))))  # a share needs more rows than an error
    starts = np.arange(0, len(inside), each)
    inside, judged = np.add.reduceat(inside, starts), np.add.reduceat(judged, starts)
    rows = np.add.reduceat(facts.windows["rows"], starts)
    line = Line("share inside", _mean(inside, judged), "model")
    about = f"The share of labels inside their intervals, in each {words.count(rows[0], 'row')}."
    ends = facts.at(np.cumsum(rows) - 1)
    return Chart(key, title, about, "share inside", ends, (line,), level=facts.log.level, rest=".")
