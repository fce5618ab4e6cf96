"""Forecasts, and their errors over a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftline import extensions
from driftline.base.levels import quantile_names
from driftline.base.rules import whole
from driftline.base.run import Run
from driftline.delayed.paths import Paths
from driftline.tables.inputs import Array
from driftline.tables.outputs import as_frame, library_of_series

_COUNT = whole(1, 10_000_000)


@dataclass(frozen=True, eq=False)
class Forecast:
    """A forecast of the next rows.

    Attributes:
        predictions: (n,), the next row first.
        lower, upper: ends of the intervals, (n,); infinite at steps that have not seen enough labels yet.
        level: the level of the intervals.
        quantiles: of the labels, (n, k), infinite at such steps too; None if not requested.
        quantile_levels: their levels, (k,).
        times: of the rows, in a series of the library whose times were learned, or in an array; None if they are unknown.
        clock: local times of the last labels and of the rows, as datetime64; None if they are unknown.
        labels: the last labels before the forecast; empty unless forecasts from the labels alone are mixed in.
    """

    predictions: Array
    lower: Array
    upper: Array
    level: float
    quantiles: Array | None = None
    quantile_levels: Array | None = None
    times: Any = None
    labels: Array = field(default_factory=lambda: np.empty(0), repr=False)
    paths: Paths | None = field(default=None, repr=False)
    clock: Array | None = field(default=None, repr=False)

    def samples(self, count: int, seed: int | None = 0) -> Array:
        """Draws whole paths of the next rows, (count, n), for questions about several rows at once.

        At each step, their values are spread like the forecast's quantiles. From step to step, they depend on each other as
        the errors of earlier forecasts did. So their sums, maxima and so on are spread like those of the labels.

        Args:
            count: how many.
            seed: of the random numbers; None for other ones each time.

        >>> import driftline as dl
        >>> y = np.random.default_rng(0).standard_normal(200).cumsum()
        >>> paths = dl.Forecaster(dl.Auto(), steps=7).fit(y).forecast().samples(1000)
        >>> paths.shape
        (1000, 7)
        >>> lower, upper = np.quantile(paths.sum(axis=1), [0.05, 0.95])  # how much in the next week
        """
        if self.paths is None:
            raise ValueError("Forecast.samples: only a forecaster with smoothing=True learns how its steps hang together")
        return self.paths.draw(_COUNT.require("Forecast.samples", "count", count), seed)

    def plot(self, labels: Any = None, *, actual: Any = (), ax: Any = None, path: Any = None) -> Any:
        """Draws the forecast as a fan, see :func:`driftline.evaluate.plot_fan`. Needs the extra ``plot``.

        Args:
            labels: the last labels before the forecast; None for those that it holds.
            actual: the labels that came, the next row first.
            ax: matplotlib axes to draw on; None for new ones.
            path: file for the picture.
        """
        (fan,) = extensions.load("fan")
        return fan.plot_fan(self, labels=self.labels if labels is None else labels, actual=actual, ax=ax, path=path)

    def to_frame(self, like: Any = None) -> Any:
        """The rows as a pandas, polars or Arrow frame, the next one first.

        The columns are step, which counts from 1, time if it is known, prediction, lower, upper, and quantile_0.05 and so on
        if quantiles were requested.

        Args:
            like: "pandas", "polars" or "pyarrow", or a frame of one of them, such as that of the rows to forecast; the index
                of a pandas frame is kept. By default that of the times, or else the first that is imported.

        >>> import driftline as dl
        >>> y = 10 + 3 * np.sin(np.arange(240) * np.pi / 12)
        >>> forecast = dl.Forecaster(dl.Auto(), steps=2).fit(y).forecast(quantiles=[0.1, 0.9])
        >>> forecast.to_frame("pandas").columns.tolist()
        ['step', 'prediction', 'lower', 'upper', 'quantile_0.1', 'quantile_0.9']
        """
        columns = {"step": np.arange(1, 1 + len(self))} | ({} if self.times is None else {"time": self.times})
        columns |= {"prediction": self.predictions, "lower": self.lower, "upper": self.upper}
        if self.quantiles is not None and self.quantile_levels is not None:
            columns |= dict(zip(quantile_names(self.quantile_levels), self.quantiles.T, strict=True))
        return as_frame(columns, like, library_of_series(self.times), "Forecast.to_frame")

    def _repr_html_(self) -> str:
        return str(extensions.load("report")[0].forecast_html(self))

    def __len__(self) -> int:
        return len(self.predictions)


@dataclass(frozen=True, eq=False)
class ForecastRun:
    """Forecasts of each row from several rows before it, and their errors.

    Attributes:
        predictions: ``predictions[t, k - 1]`` is the forecast of row t, made when the labels through row t - k were known.
            NaN for t < k - 1, for rows without an origin if not all features are known ahead, and for skipped rows.
        errors: label minus prediction.
        lower, upper: ends of the intervals; None if no level was given.
        level: the level of the intervals; None if not given.
        uninformed: the number of rows before each step had learned a label, (steps,). ``mse`` and ``coverage`` leave them
            out.
        quantiles: of the labels, (T, steps, k); None if not requested.
        quantile_levels: their levels, (k,).
    """

    predictions: Array
    errors: Array
    lower: Array | None
    upper: Array | None
    level: float | None
    uninformed: Array
    quantiles: Array | None = None
    quantile_levels: Array | None = None

    @property
    def losses(self) -> Array:
        """Squared errors, (T, steps)."""
        with np.errstate(over="ignore"):
            return np.square(self.errors)

    @property
    def mse(self) -> Array:
        """The mean squared error at each step, (steps,)."""
        return _mean(self.informed(self.losses))

    @property
    def coverage(self) -> Array | None:
        """The share of labels inside their interval at each step, over the rows whose interval is finite."""
        if self.lower is None or self.upper is None:
            return None
        inside = (self.errors >= self.lower - self.predictions) & (self.errors <= self.upper - self.predictions)
        counted = np.isfinite(self.informed(self.errors)) & np.isfinite(self.upper - self.lower)
        return _mean(np.where(counted, inside, np.nan))

    def at_step(self, step: int) -> Run:
        """The forecasts of one step, counted from 1, as a run."""
        parts = (self.predictions, self.errors, self.lower, self.upper, self.quantiles)
        predictions, errors, lower, upper, quantiles = (None if part is None else part[:, step - 1] for part in parts)
        assert predictions is not None
        assert errors is not None
        return Run(
            predictions, errors, lower, upper, level=self.level, quantiles=quantiles, quantile_levels=self.quantile_levels
        )

    def informed(self, values: Array) -> Array:
        """Values by row and step, with NaN where the step had not learned a label yet."""
        found: Array = np.where(np.arange(len(self))[:, None] < self.uninformed, np.nan, values)
        return found

    def __len__(self) -> int:
        return len(self.predictions)

    def __repr__(self) -> str:
        rows, steps = self.predictions.shape
        return f"ForecastRun(rows={rows}, steps={steps}, mse={self.mse[0]:.6g} to {self.mse[-1]:.6g})"


def joined(parts: Sequence[ForecastRun]) -> ForecastRun:
    """Concatenates runs."""
    lower, upper, quantiles = (
        None if getattr(parts[0], name) is None else np.concatenate([getattr(part, name) for part in parts])
        for name in ("lower", "upper", "quantiles")
    )
    uninformed = np.zeros_like(parts[0].uninformed)
    for place, part in enumerate(parts):
        before = sum(map(len, parts[:place]))
        uninformed += np.where(uninformed == before, part.uninformed, 0)
    predictions, errors = (np.concatenate([getattr(part, name) for part in parts]) for name in ("predictions", "errors"))
    return ForecastRun(predictions, errors, lower, upper, parts[0].level, uninformed, quantiles, parts[0].quantile_levels)


def _mean(values: Array) -> Array:
    known = np.isfinite(values)
    counts = known.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        means: Array = np.where(counts, np.where(known, values, 0.0).sum(axis=0) / counts, np.nan)
    return means
