"""Prequential evaluation: learners predict each row of a stream, then learn it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TextIO

import numpy as np

from driftline.base.levels import QUANTILES, Levels, Spread, as_spread
from driftline.base.rules import COUNT, WHOLE, number, whole
from driftline.base.run import Run
from driftline.evaluate.adapters import names_of, predicts_labels
from driftline.evaluate.driver import Driver, LearnerDriver
from driftline.evaluate.holdout import Holdout
from driftline.evaluate.metrics import LEVEL, IntervalScore, Metric, Predicted, as_metrics
from driftline.evaluate.progress import Progress
from driftline.evaluate.results import Prequential
from driftline.evaluate.scores import Score, Settings
from driftline.evaluate.sources import ARRAY_ROWS, Source, has_labels
from driftline.evaluate.steps import StepDriver, baseline_figures, baseline_scores, by_step, of_baselines
from driftline.tables import inputs
from driftline.tables.block import RowBlock
from driftline.tables.inputs import Array

WHERE = "prequential"
SLOW_ROWS = 2_048  # rows per block for learners that go row by row, to keep the progress moving
MOST_LATE = 10_000_000  # rows; all of them wait in memory


def prequential(
    learners: Any,
    data: Any,
    *,
    metrics: Any = None,
    window: int | None = 1_000,
    fading: float | None = 0.999,
    delay: int = 0,
    steps: int | None = None,
    rows: int | None = None,
    points: int | None = 1_000,
    level: float | None = None,
    quantiles: Levels | None = None,
    baselines: bool = False,
    holdout: int | None = None,
    holdout_every: int | None = None,
    seed: int = 0,
    keep_predictions: bool = False,
    progress: bool | TextIO = True,
) -> Prequential:
    """Evaluates learners on a stream: each predicts every row before learning it.

    Afterwards, the given learners have learned the stream. Arrays are processed in native code, even with late labels;
    mappings are processed one by one, and learners of other libraries through ``predict_one`` and ``learn_one``. Memory use
    does not grow with the stream.

    Args:
        learners: one learner, a list, or a mapping from names to learners. Any object with ``predict_one(x)`` and
            ``learn_one(x, y)`` works.
        data: (X, y), arrays or frames; a stream; a River dataset; or an iterable of (X, y) blocks or of (x, y) rows.
        metrics: names or :class:`Metric` objects: "mse", "rmse", "mae", "r2", "accuracy", "coverage", "width",
            "interval_score", "crps", "pinball". By default "mse", "mae" and "r2", or "accuracy" for classifiers and streams
            of labels; with ``level`` also "coverage" and "width", and with ``quantiles`` also "crps".
        window: the number of rows in the sliding window; None for none.
        fading: the weight of a row relative to the next one; None for none.
        delay: the number of rows by which labels are late: row t is predicted when those up to row t - delay - 1 have been
            learned.
        steps: the number of rows to forecast ahead, by a :class:`driftline.Forecaster` around each learner. Every step is
            measured (``by_step``), along with the baselines with the same known labels. The other figures are for step 1.
            Learners must be driftline's regressors, which stay unchanged, or forecasters.
        rows: the number of rows to use; required for an endless stream.
        points: the largest number of points of each curve, in addition to the last; None keeps every row, 0 only the last.
        level: predict intervals at this level, and measure their coverage and width.
        quantiles: predict quantiles of these levels, in ascending order, and measure their CRPS or pinball losses.
        baselines: measure the simple baselines too, by the same metrics: the last value, the running mean and the value one
            season ago. Their intervals and quantiles are those of their last 500 errors.
        holdout: the number of holdout rows to draw from the current distribution, if the stream can be sampled.
        holdout_every: the number of rows between two such samples; a hundredth of the stream by default.
        seed: the seed of the holdout rows.
        keep_predictions: keep every prediction, and the intervals and quantiles (``predictions``, ``runs``).
        progress: show progress on a terminal or in a notebook.

    >>> import driftline as dl
    >>> stream = dl.streams.Rotating(rate=0.5, unit="deg", noise=0.1)
    >>> result = prequential([dl.Ridge(), dl.RLS(forgetting=0.95)], stream, rows=2000)
    >>> result.totals["Ridge"]["mse"] > 10 * result.totals["RLS"]["mse"]
    True
    """
    named = names_of(learners, WHERE)
    if len({id(learner) for learner in named.values()}) < len(named):
        raise ValueError(f"{WHERE}: the same learner is given twice, and would learn every row twice")
    source = Source(data, rows, WHERE)
    delay = whole(0, MOST_LATE).require(WHERE, "delay", delay)
    spread = as_spread(WHERE, level, quantiles)
    settings, spread = _settings(metrics, window, fading, points, spread, named, data)
    if steps is not None:
        if delay or holdout:
            raise ValueError(f"{WHERE}: steps counts from the last label, and cannot be combined with delay or holdout")
        COUNT.require(WHERE, "steps", steps)
    drivers: dict[str, Driver] = {
        name: LearnerDriver(each, delay, spread, WHERE) if steps is None else StepDriver(each, steps, spread, WHERE)
        for name, each in named.items()
    }
    samples = Holdout.plan(data, settings.metrics, holdout, holdout_every, seed, source.rows, WHERE)
    beside = of_baselines(settings, spread, delay) if baselines else None
    if beside is not None and not (beside.numeric and all(not driver.classes for driver in drivers.values())):
        raise ValueError(f"{WHERE}: baselines are measured for labels that are numbers")
    runner = _Runner(settings, drivers, steps or 0, source.rows, samples, keep_predictions, spread, beside)
    most = ARRAY_ROWS if all(driver.native for driver in drivers.values()) else SLOW_ROWS
    with Progress(source.rows, "rows", show=progress) as bar:
        for block in source.blocks(samples.every if samples else None, most):
            runner.step(block, bar)
    return runner.result(settings, delay)


def _settings(
    metrics: Any, window: Any, fading: Any, points: Any, spread: Spread, named: dict[str, Any], data: Any
) -> tuple[Settings, Spread]:
    """The settings, and the intervals and quantiles that their metrics need."""
    level, quantiles = spread.level, spread.quantiles
    if metrics is None:
        labels = any(map(predicts_labels, named.values())) or has_labels(data)
        metrics = ("accuracy",) if labels else ("mse", "mae", "r2")
        metrics += () if level is None else ("coverage", "width")
        metrics += () if quantiles is None else ("crps",)
    levels = QUANTILES if quantiles is None else quantiles.tolist()
    chosen = as_metrics(metrics, WHERE, levels, LEVEL if level is None else level)
    scored = {metric.level for metric in chosen if isinstance(metric, IntervalScore)}
    if any(metric.intervals for metric in chosen):
        level = next(iter(scored), LEVEL) if level is None else level
        if scored - {level}:
            raise ValueError(
                f"{WHERE}: IntervalScore must have the level of the intervals, {level:g}, got {min(scored - {level}):g}"
            )
    elif level is not None:
        raise ValueError(f"{WHERE}: level gives intervals, but none of the metrics is about intervals")
    wanted = [metric.levels for metric in chosen if metric.levels is not None]
    if quantiles is not None and not wanted:
        raise ValueError(f"{WHERE}: quantiles are predicted, but neither crps nor pinball is among the metrics")
    if wanted and quantiles is None:
        quantiles = wanted[0]
    if quantiles is not None and any(not np.array_equal(each, quantiles) for each in wanted):
        raise ValueError(f"{WHERE}: all metrics of quantiles must have the levels {quantiles.tolist()}")
    return check_settings(chosen, window, fading, points, WHERE), as_spread(WHERE, level, quantiles)


def check_settings(metrics: tuple[Metric, ...], window: Any, fading: Any, points: Any, where: str) -> Settings:
    """Checks the settings."""
    return Settings(
        metrics,
        COUNT.or_none().require(where, "window", window),
        number(gt=0, le=1).or_none().require(where, "fading", fading),
        WHOLE.or_none().require(where, "points", points),
    )


def _joined(runs: list[Run]) -> Run:
    """The runs of successive blocks as one."""
    given = ([getattr(run, name) for run in runs] for name in ("predictions", "errors", "lower", "upper", "quantiles"))
    predictions, errors, lower, upper, quantiles = (None if parts[0] is None else np.concatenate(parts) for parts in given)
    assert predictions is not None
    assert errors is not None
    return replace(runs[0], predictions=predictions, errors=errors, lower=lower, upper=upper, quantiles=quantiles)


class _Runner:
    """Runs every learner over the same blocks."""

    def __init__(
        self,
        settings: Settings,
        drivers: dict[str, Driver],
        steps: int,
        rows: int | None,
        samples: Holdout | None,
        keep: bool,
        spread: Spread,
        beside: Score | None,
    ) -> None:
        self.drivers, self.samples, self.keep, self.spread = drivers, samples, keep, spread
        self.scores = {name: Score(settings, driver.classes, rows) for name, driver in drivers.items()}
        self.by_step = {name: [Score(Settings.totals(settings.metrics)) for _ in range(steps)] for name in drivers}
        self.beside = beside
        self.baselines = baseline_scores(steps, settings, spread)
        self.kept: dict[str, list[Array]] = {name: [] for name in drivers}
        self.runs: dict[str, list[Run]] = {name: [] for name in drivers}
        self.rows = 0

    def step(self, block: RowBlock, bar: Progress) -> None:
        self.rows = block.start + len(block)
        numbers: Array | None = None
        for name, driver in self.drivers.items():
            score = self.scores[name]
            taken = driver.step(block)
            if score.numeric and numbers is None:
                numbers = inputs.as_vector(block.labels, len(block), WHERE, "y")
            labels = numbers if score.numeric and numbers is not None else block.labels
            for each, step in [(score, taken[0]), *zip(self.by_step[name], taken, strict=False)]:
                each.add(step.predicted, labels, lost=step.lost, early=step.early)
            if self.keep:
                said = [step.predicted.predictions for step in taken]
                self.kept[name].append(np.column_stack(said) if self.by_step[name] else said[0])
                if score.numeric:
                    self.runs[name].append(self._run(taken[0].predicted, labels))
        for score in [*self.baselines, *(() if self.beside is None else (self.beside,))]:
            if numbers is None:
                numbers = inputs.as_vector(block.labels, len(block), WHERE, "y")
            score.add(Predicted(np.zeros(len(block))), numbers)
        bar.advance(len(block))
        if self.samples is not None and self.rows % self.samples.every == 0:
            self.samples.measure(self.rows, self.drivers)

    def _run(self, predicted: Predicted | Run, labels: Array) -> Run:
        """The predictions of a block, with the intervals and quantiles that were asked for."""
        ends = (predicted.lower, predicted.upper) if self.spread.level is not None else (None, None)
        quantiles = None if self.spread.quantiles is None else predicted.quantiles
        said = predicted.predictions
        return Run(
            said, labels - said, *ends, level=self.spread.level, quantiles=quantiles, quantile_levels=self.spread.quantiles
        )

    def result(self, settings: Settings, delay: int) -> Prequential:
        if not self.rows:
            raise ValueError(f"{WHERE}: there are no rows")
        for driver in self.drivers.values():
            driver.finish()
        return Prequential.of(
            settings,
            {name: score.finish() for name, score in self.scores.items()},
            rows=self.rows,
            seconds={name: driver.seconds for name, driver in self.drivers.items()},
            delay=delay,
            predictions={name: np.concatenate(kept) for name, kept in self.kept.items() if kept},
            runs={name: _joined(runs) for name, runs in self.runs.items() if runs},
            by_step={name: by_step(scores) for name, scores in self.by_step.items() if scores},
            baselines={} if self.beside is None else baseline_figures(self.beside.totals(), settings),
            baselines_by_step=baseline_figures(by_step(self.baselines), settings),
            forecasters={name: driver.learner for name, driver in self.drivers.items() if isinstance(driver, StepDriver)},
            _holdout=self.samples.curves() if self.samples is not None else {},
        )
