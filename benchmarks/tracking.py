"""Accuracy and speed on the papers' streams: the error of each learner, tuned on one sequence, and its cost a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from river import linear_model, optim, preprocessing

import driftline as dl
from benchmarks.data import Array
from benchmarks.peers import mapping_rows
from benchmarks.report import Report, Table
from benchmarks.timing import Case, compare

ROWS, SEEDS, TUNING_SEED, NOISE = 2000, 5, 1000, 0.05
Rows = tuple[Array, Array]
STREAMS: dict[str, Callable[[int], Any]] = {
    "rotating": lambda seed: dl.streams.Rotating(rate=0.01, noise=NOISE, seed=seed),
    "switching": lambda seed: dl.streams.Switching(power=1, every=500, noise=NOISE, seed=seed),
}


@dataclass(frozen=True)
class Contender:
    """A kind of model, and the values to try for its one parameter."""

    label: str
    make: Callable[..., Any]
    parameter: str = ""
    values: tuple[float, ...] = ()
    prepare: Callable[[Array], Any] = lambda X: X
    run: Callable[[Any, Any, Array], Array] = lambda model, X, y: model.run(X, y).predictions

    def error(self, settings: dict[str, float], rows: Rows) -> float:
        X, y = rows
        with np.errstate(over="ignore"):  # caused by a rate that is too large
            return float(np.mean((y - self.run(self.make(**settings), self.prepare(X), y)) ** 2))

    def tuned(self, rows: Rows) -> dict[str, float]:
        tried = [{self.parameter: value} for value in self.values] if self.parameter else [{}]
        return min(tried, key=lambda settings: self.error(settings, rows))


def _river(model: Any, xs: list[dict[str, float]], y: Array) -> Array:
    predictions = []
    for x, label in zip(xs, y.tolist(), strict=True):
        predictions.append(model.predict_one(x))
        model.learn_one(x, label)
    return np.array(predictions)


def _river_linear(rate: float) -> Any:
    return preprocessing.StandardScaler() | linear_model.LinearRegression(optim.SGD(rate))


RATES = (0.0003, 0.001, 0.003, 0.01)
CONTENDERS = (
    Contender("Auto", dl.Auto),
    Contender("Kalman", partial(dl.Kalman, noise=NOISE), "drift", (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)),
    Contender("LASER", partial(dl.LASER, ridge=1e-3), "drift_cost", (1e2, 1e3, 1e4, 1e5, 1e6)),
    Contender("RLS", dl.RLS, "forgetting", (0.7, 0.8, 0.9, 0.95, 0.98, 0.99)),
    Contender("DFOP", dl.DFOP, "forget_rate", (0.05, 0.1, 0.2, 0.3)),
    Contender("ARCOR", dl.ARCOR, "schedule", (1.0, 1.5, 2.0, 3.0)),
    Contender("CRRLS", dl.CRRLS, "period", (6, 12, 25, 50, 100)),
    Contender("Ridge", dl.Ridge),
    Contender("NLMS", dl.NLMS, "rate", (0.1, 0.3, 0.5, 1.0, 1.5)),
    Contender("LMS", dl.LMS, "rate", RATES),
    Contender("River, scaled LinearRegression", _river_linear, "rate", (0.003, 0.01, 0.03, 0.1), mapping_rows, _river),
    Contender(
        "River BayesianLinearRegression",
        linear_model.BayesianLinearRegression,
        "smoothing",
        (0.8, 0.9, 0.95),
        mapping_rows,
        _river,
    ),
)


def measure(quick: bool) -> Report:
    seeds = range(1 if quick else SEEDS)
    settings, errors = {}, {}
    for one in CONTENDERS:
        settings[one.label] = [one.tuned(make(TUNING_SEED).take(ROWS)) for make in STREAMS.values()]
        errors[one.label] = [
            float(np.mean([one.error(chosen, make(seed).take(ROWS)) for seed in seeds]))
            for chosen, make in zip(settings[one.label], STREAMS.values(), strict=True)
        ]
    X, y = STREAMS["rotating"](0).take(ROWS)
    cases = [Case(one.label, partial(_fresh, one, settings[one.label][0], one.prepare(X), y), ROWS) for one in CONTENDERS]
    timed = compare(cases, 3 if quick else 9)
    cost = {label: 1e6 * timed.median(label) for label in timed.rounds}
    rows = [(label, cost[label], *errors[label], _spell(settings[label])) for label in cost]
    header = ("learner", "us a row", *(f"mean squared error, {name}" for name in STREAMS), "settings")
    note = (
        f"20 inputs and an intercept, {ROWS:,} rows, {len(seeds)} seeds; the noise variance is {NOISE}, the lowest possible "
        "error. Rotating: 0.01 radians a row. Switching: the rotation slows down, and the target jumps every 500 rows. Each "
        "learner has one parameter, tuned on a separate sequence, as in the papers; Auto and Ridge have none. driftline "
        "runs in native code, River row by row."
    )
    table = Table("Accuracy and speed", header, rows, note)
    return Report([table], pictures={"tracking": partial(draw, cost=cost, errors=errors)})


def _fresh(one: Contender, settings: dict[str, float], X: Any, y: Array) -> object:
    return one.run(one.make(**settings), X, y)


def _spell(settings: list[dict[str, float]]) -> str:
    names = list(settings[0])
    return f"{names[0]} {', '.join(f'{chosen[names[0]]:g}' for chosen in settings)}" if names else "-"


def draw(path: Path, cost: dict[str, float], errors: dict[str, list[float]]) -> None:
    """One plot for each stream: fast learners on the left, accurate ones at the bottom."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.5), layout="constrained")
    both = figure.subplots(1, 2, sharey=True)
    for place, (axes, name) in enumerate(zip(both, STREAMS, strict=True)):
        for number, (label, us) in enumerate(cost.items()):
            axes.plot(us, errors[label][place], "os^vDP"[number % 6], color=f"C{number % 10}", label=label)
        axes.axhline(NOISE, color="grey", linestyle="--", linewidth=1, label="variance of the noise")
        axes.set(xscale="log", yscale="log", xlabel="microseconds a row", title=name)
        axes.grid(which="both", alpha=0.3)
    both[0].set_ylabel("mean squared error")
    figure.legend(*both[0].get_legend_handles_labels(), loc="outside right center", fontsize="small")
    figure.savefig(path, dpi=130)
