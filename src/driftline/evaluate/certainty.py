"""Whether quantiles hold, and what a forecast looks like: a table and two pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftline.base.run import Run
from driftline.delayed.forecast import Forecast
from driftline.evaluate.metrics import Metric, Predicted, ShareBelow
from driftline.evaluate.plots import COLOURS, legend, new_axes, save
from driftline.evaluate.results import as_run
from driftline.evaluate.scores import Score, Settings
from driftline.tables import inputs
from driftline.tables.inputs import Array

_NOW: dict[str, Any] = {"color": "0.6", "linewidth": 0.9, "linestyle": ":"}  # the line before the forecast
_CHANCE = 2  # standard deviations of a share of independent rows, on either side


def reliability(run: Run, y: Any) -> dict[str, Array]:
    """The share of labels below each quantile of a run, to be compared with its level.

    Rows without a label, or without finite quantiles of all levels, do not count.

    Args:
        run: a run with quantiles.
        y: (T,) the labels of its rows.

    Returns:
        Arrays by level: ``level``, ``below`` and ``at_most``, the shares of labels below the quantile and at most equal to
        it, and ``rows``. The two shares differ if labels are discrete; the level should then lie between them.

    >>> import numpy as np
    >>> from driftline import RLS
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 2))
    >>> y = X @ [1.0, -1.0] + rng.exponential(size=5000)
    >>> found = reliability(RLS(forgetting=0.999).run(X, y, quantiles=[0.05, 0.5, 0.95]), y)
    >>> found["below"].round(2).tolist(), int(found["rows"][0])
    ([0.05, 0.5, 0.95], 4981)
    """
    where = "reliability"
    run = as_run(run, where)
    if run.quantiles is None or run.quantile_levels is None:
        raise ValueError(f"{where}: the run has no quantiles: make it with quantiles, as in run(X, y, quantiles=[0.1, 0.9])")
    labels = inputs.as_vector(y, len(y), where, "y")
    if len(labels) != len(run):
        raise ValueError(f"{where}: y has {len(labels)} labels, the run has {len(run)} rows")
    known = ~np.isnan(labels) & np.isfinite(run.quantiles).all(axis=1)
    if not known.any():
        raise ValueError(f"{where}: no row has a label and finite quantiles of all levels")
    score = Score(Settings.totals(shares_below(run.quantile_levels)))
    score.add(Predicted(np.where(known, run.predictions, 0.0), quantiles=run.quantiles), np.where(known, labels, np.nan))
    return {**shares(score.totals(), run.quantile_levels), "rows": np.full(len(run.quantile_levels), int(known.sum()))}


def shares_below(levels: Array) -> list[Metric]:
    """The metrics behind :func:`shares`."""
    return [ShareBelow(level, levels, or_equal=equal) for level in levels.tolist() for equal in (False, True)]


def shares(totals: Mapping[str, float], levels: Array) -> dict[str, Array]:
    """The shares of labels below each quantile and at most equal to it, from the totals of a score."""
    found = np.array([totals[metric.name] for metric in shares_below(levels)]).reshape(-1, 2)
    return {"level": np.array(levels, dtype=np.float64), "below": found[:, 0], "at_most": found[:, 1]}


def plot_reliability(run: Run, y: Any, *, ax: Any = None, path: Any = None) -> Any:
    """Draws :func:`reliability`: the points of a run whose quantiles hold lie on the diagonal.

    The area around the diagonal is where the shares of independent rows would be by chance, 19 times in 20. For discrete
    labels a bar joins the shares below and at most equal to each quantile; the point is where it is nearest the diagonal.

    Args:
        run: a run with quantiles.
        y: (T,) the labels of its rows.
        ax: matplotlib axes to draw on; None for new ones.
        path: file for the picture.
    """
    found = reliability(run, y)
    ax = new_axes(ax, width=5.5, height=5.0)
    levels = np.linspace(0, 1, 101)
    room = _CHANCE * np.sqrt(levels * (1 - levels) / found["rows"][0])
    ax.fill_between(levels, levels - room, levels + room, color="0.5", alpha=0.25, linewidth=0, label="chance")
    ax.plot([0, 1], [0, 1], color="0.5", linewidth=1)
    ax.vlines(found["level"], found["below"], found["at_most"], color=COLOURS[0], linewidth=3)
    nearest = np.clip(found["level"], found["below"], found["at_most"])
    ax.plot(found["level"], nearest, "o", color=COLOURS[0], label="quantiles")
    ax.set(xlabel="level of the quantile", ylabel="share of labels below it", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.legend(frameon=False, fontsize=9, loc="upper left")
    return save(ax, path)


def plot_fan(forecast: Forecast, *, labels: Any = (), actual: Any = (), ax: Any = None, path: Any = None) -> Any:
    """Draws a forecast as a fan: the predictions, and an area between each pair of quantiles.

    The levels are paired from the outside in, so 0.05, 0.25, 0.75 and 0.95 give two areas. Without quantiles, the area is
    the forecast's interval.

    Args:
        forecast: what :meth:`driftline.Forecaster.forecast` returns.
        labels: the last labels before the forecast.
        actual: the labels that came, the next row first.
        ax: matplotlib axes to draw on; None for new ones.
        path: file for the picture.
    """
    ax = new_axes(ax, width=9.0)
    past, came = (np.asarray(values, dtype=np.float64) for values in (labels, actual))
    places = _places(forecast, len(past))
    steps, until = places[len(past) :], len(past)
    ends, names = _areas(forecast)
    for k, name in enumerate(names):
        low, high = np.where(np.isfinite(ends[:, [k, -1 - k]]), ends[:, [k, -1 - k]], np.nan).T
        ax.fill_between(steps, low, high, color=COLOURS[0], alpha=0.12 + 0.4 * k / len(names), linewidth=0, label=name)
    ax.plot(steps, forecast.predictions, color=COLOURS[0], linewidth=1.8, label="prediction")
    if len(past):
        ax.plot(places[:until], past, color="0.25", linewidth=1.2, label="labels")
    if len(came):
        ax.plot(steps[: len(came)], came[: len(steps)], ".", color="0.25", label="labels that came")
    dated = places.dtype.kind == "M"
    if not dated or until:
        ax.axvline(places[until - 1] + (places[until] - places[until - 1]) / 2 if until else 0.5, **_NOW)
    ax.set(xlabel="" if dated else "rows from the last label", ylabel="label")
    legend(ax)
    return save(ax, path)


def _places(forecast: Forecast, past: int) -> Array:
    """Where earlier labels and then the forecast are drawn: by their times if these are known, or else by their numbers."""
    known = forecast.clock
    if known is not None and past + len(forecast) <= len(known):
        return known[len(known) - past - len(forecast) :]
    return np.arange(1 - past, 1 + len(forecast))


def _areas(forecast: Forecast) -> tuple[Array, list[str]]:
    """Quantiles or ends, (steps, levels), and the names of the areas between them, from the outside in."""
    levels = forecast.quantile_levels
    if forecast.quantiles is not None and levels is not None and len(levels) > 1:
        return forecast.quantiles, [f"{levels[k]:g} to {levels[-1 - k]:g}" for k in range(len(levels) // 2)]
    return np.column_stack([forecast.lower, forecast.upper]), [f"{100 * forecast.level:g} % interval"]
