"""The result of an evaluation: totals, curves, tables and pictures."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from driftline.base.rules import choice
from driftline.base.run import Run
from driftline.delayed import Forecaster
from driftline.delayed.forecast import ForecastRun
from driftline.evaluate import plots
from driftline.evaluate.metrics import Metric
from driftline.evaluate.scores import Curve, Measured, Settings
from driftline.evaluate.tables import Cell, Table, finite, shown, write
from driftline.tables.inputs import Array

TITLES = {
    "cumulative": "all rows so far",
    "window": "the last {window:,} rows",
    "fading": "fading by {fading:g} a row",
    "holdout": "fresh rows of the same distribution",
}


@dataclass(frozen=True, eq=False)
class Prequential:
    """Metrics of one or several learners on one stream; each row was predicted before it was learned.

    Attributes:
        rows: the number of rows of the stream.
        metrics: the metrics by name.
        totals: learner -> metric -> value over all rows.
        loss: learner -> sum of the squared errors, if they were measured.
        skipped: learner -> rows that could not be scored, because a value was missing.
        seconds: learner -> time spent predicting and learning.
        window, fading, delay: as given.
        predictions: learner -> (T,) predictions, if requested; (T, steps) for forecasts.
        runs: learner -> the predictions, intervals and quantiles as a :class:`driftline.Run`, if requested, for
            :func:`coverage_by` and :func:`reliability`; of the first step for forecasts; none for class labels.
        by_step: learner -> metric -> (steps,) values, for forecasts; the other figures are for step 1.
        baselines: baseline -> metric -> value over all rows that it predicts, if requested.
        baselines_by_step: baseline -> metric -> (steps,) values, with the labels known at each step.
        forecasters: learner -> the trained forecaster.
    """

    rows: int
    metrics: Mapping[str, Metric]
    totals: dict[str, dict[str, float]]
    loss: dict[str, float]
    skipped: dict[str, int]
    seconds: dict[str, float]
    window: int | None = None
    fading: float | None = None
    delay: int = 0
    predictions: dict[str, Array] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    by_step: dict[str, dict[str, Array]] = field(default_factory=dict)
    baselines: dict[str, dict[str, float]] = field(default_factory=dict)
    baselines_by_step: dict[str, dict[str, Array]] = field(default_factory=dict)
    forecasters: dict[str, Forecaster] = field(default_factory=dict)
    _scores: dict[str, Measured] = field(default_factory=dict, repr=False)
    _holdout: dict[str, dict[str, Curve]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, settings: Settings, scores: dict[str, Measured], **others: Any) -> Self:
        """Builds a result from the settings and the scores of each learner."""
        return cls(
            metrics={metric.name: metric for metric in settings.metrics},
            totals={name: score.last("cumulative") for name, score in scores.items()},
            loss={name: score.loss for name, score in scores.items() if score.loss is not None},
            skipped={name: score.skipped for name, score in scores.items()},
            window=settings.window,
            fading=settings.fading,
            _scores=scores,
            **others,
        )

    @property
    def learners(self) -> list[str]:
        """The names of the learners."""
        return list(self.totals)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The available versions of every metric: "cumulative", "window", "fading", "holdout"."""
        first = next(iter(self._scores.values()))
        return (*first.curves, *(["holdout"] if self._holdout else []))

    def curve(self, learner: str, metric: str | None = None, kind: str = "cumulative") -> Curve:
        """A metric along the stream; by default the first metric."""
        where = "Prequential.curve"
        choice(self.learners).require(where, "learner", learner)
        metric = choice(self.metrics).require(where, "metric", metric or next(iter(self.metrics)))
        choice(self.kinds).require(where, "kind", kind)
        if kind == "holdout":
            if metric not in self._holdout[learner]:
                raise ValueError(f"{where}: {metric} is not measured on fresh rows, which get no intervals or quantiles")
            return self._holdout[learner][metric]
        scores = self._scores[learner]
        return Curve(scores.rows, scores.curves[kind][metric])

    def last(self, kind: str = "window") -> dict[str, dict[str, float]]:
        """The final values of the curves, by learner and metric: over the window, fading, or on the last holdout rows."""
        choice(self.kinds).require("Prequential.last", "kind", kind)
        if kind == "holdout":
            return {name: {m: float(c.values[-1]) for m, c in curves.items()} for name, curves in self._holdout.items()}
        return {name: scores.last(kind) for name, scores in self._scores.items()}

    def table(self) -> Table:
        """One learner a row: its metrics over all rows, the best in bold, and its speed; baselines are in parentheses."""
        best = {name: self._best(metric) for name, metric in self.metrics.items()}
        rows = []
        for learner, total in self.totals.items():
            cells = [Cell(value, shown(value), learner in best[metric]) for metric, value in total.items()]
            seconds = self.seconds.get(learner, 0.0)
            rows.append([learner, *cells, self.rows / seconds if seconds else None])
        rows += [[f"({title})", *own.values(), None] for title, own in self.baselines.items()]
        late = f", labels {self.delay:,} rows late" if self.delay else ", one step ahead" if self.by_step else ""
        return Table(["learner", *self.metrics, "rows/s"], rows, f"{self.rows:,} rows, each predicted, then learned{late}")

    def _best(self, metric: Metric) -> list[str]:
        values = {name: total[metric.name] for name, total in self.totals.items()}
        if not metric.ranked or len(values) < 2:
            return []
        best = (min if metric.lower_is_better else max)(values.values())
        return [name for name, value in values.items() if value == best]

    def step_table(self) -> Table:
        """The metrics of forecasts, one step and learner a row; baselines are in parentheses."""
        if not self.by_step:
            raise ValueError("Prequential.step_table: nothing was forecast: call prequential with steps")
        found = self.by_step | {f"({title})": own for title, own in self.baselines_by_step.items()}
        steps = len(next(iter(next(iter(self.by_step.values())).values())))
        rows: list[list[Any]] = []
        for step in range(steps):
            for name, own in found.items():
                rows.append(
                    [step + 1, name, *(float(own[metric][step]) if metric in own else None for metric in self.metrics)]
                )
        return Table(["step", "learner", *self.metrics], rows, f"{self.rows:,} rows, each forecast this many rows ahead")

    def curve_table(self) -> Table:
        """Every curve, one point a row: kind, learner, metric, rows, value."""
        rows: list[list[Any]] = []
        for kind in self.kinds:
            for learner in self.learners:
                for metric in self._holdout[learner] if kind == "holdout" else self.metrics:
                    curve = self.curve(learner, metric, kind)
                    pairs = zip(curve.rows.tolist(), curve.values.tolist(), strict=True)
                    rows += [[kind, learner, metric, at, value] for at, value in pairs]
        return Table(["kind", "learner", "metric", "rows", "value"], rows)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The totals as comma-separated values; for the curves: ``curve_table().to_csv(...)``."""
        return self.table().to_csv(path)

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """The totals as a table in Markdown."""
        return self.table().to_markdown(path)

    def to_latex(self, path: str | os.PathLike[str] | None = None) -> str:
        """The totals as a table in LaTeX."""
        return self.table().to_latex(path)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Everything but the predictions: the settings, the totals and the curves."""
        curves: dict[Any, Any] = {}
        for kind, learner, metric, at, value in self.curve_table().rows:
            place = curves.setdefault(kind, {}).setdefault(learner, {}).setdefault(metric, {"rows": [], "values": []})
            place["rows"].append(at)
            place["values"].append(value)
        names = ("rows", "window", "fading", "delay", "totals", "loss", "skipped", "seconds")
        content = {name: getattr(self, name) for name in names} | {"curves": curves}
        if self.baselines:
            content["baselines"] = self.baselines
        for name in ("by_step", "baselines_by_step") if self.by_step else ():
            of_all = getattr(self, name).items()
            content[name] = {who: {metric: values.tolist() for metric, values in own.items()} for who, own in of_all}
        return write(json.dumps(finite(content), ensure_ascii=False) + "\n", path)

    def plot(self, metric: str | None = None, kind: str | None = None, *, ax: Any = None, path: Any = None) -> Any:
        """Plots a metric along the stream, one line a learner; returns matplotlib's axes.

        Args:
            metric: by default the first one.
            kind: "cumulative", "window", "fading" or "holdout"; by default the window if there is one.
            ax: axes to draw on; new ones by default.
            path: a file to write the picture to.
        """
        kind = kind or ("window" if "window" in self.kinds else "cumulative")
        name = metric or next(iter(self.metrics))
        curves = {learner: self.curve(learner, name, kind) for learner in self.learners}
        title = TITLES[kind].format(window=self.window or 0, fading=self.fading or 0.0)
        return plots.draw_curves(curves, self.metrics[name].title, title, ax=ax, path=path)

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def as_run(given: Any, where: str) -> Run:
    """The run itself; TypeError that says where the run is if something else is given."""
    if isinstance(given, Run):
        return given
    advice = {Prequential: "its runs['NAME'], with keep_predictions=True", ForecastRun: "a step of it, as in at_step(1)"}
    instead = next((f": give {words}" for kind, words in advice.items() if isinstance(given, kind)), "")
    raise TypeError(f"{where}: run must be a Run, got {type(given).__name__}{instead}")
