"""The methods: each takes a task and returns its predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

import driftline as dl
from benchmarks.bench_rivals import autoregression, refitted, river_peers
from benchmarks.bench_rivals.refitted import FORMS, MANY, WINDOW, Form
from benchmarks.bench_rivals.task import Task
from benchmarks.data import Array
from driftline.base.levels import as_spread
from driftline.delayed.stepper import Stepper

Call = Callable[[], "Answer"]
LEVEL = 0.9
RIDGE_LAGS = tuple(lag for lag in MANY if lag <= 24)


@dataclass(frozen=True)
class Answer:
    """Predictions, and the bounds of intervals if a method has them."""

    predictions: Array
    lower: Array | None = None
    upper: Array | None = None


@dataclass(frozen=True)
class Method:
    """A method: its name, its preparation before the clock starts, and whether it is run with late labels."""

    words: str
    prepare: Callable[[Task], Call]
    late: bool = True


class Change:
    """Predicts the label's change from the newest label; other labels are also given relative to it.

    It follows scikit-learn's conventions: :class:`driftline.Refit` takes it. The labels are the last ``labels`` inputs, the
    newest of them first.
    """

    def __init__(self, estimator: Any, labels: int) -> None:
        self.estimator, self.labels = estimator, labels

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"estimator": self.estimator, "labels": self.labels}

    def __sklearn_tags__(self) -> Any:
        return self.estimator.__sklearn_tags__()

    def fit(self, X: Array, y: Array) -> Change:
        self.estimator.fit(self._seen(X), y - X[:, -self.labels])
        return self

    def predict(self, X: Array) -> Array:
        return np.asarray(self.estimator.predict(self._seen(X)) + X[:, -self.labels])

    def _seen(self, X: Array) -> Array:
        out = X.copy()
        out[:, 1 - self.labels :] -= X[:, [-self.labels]]
        return out


def boosting() -> Any:
    """LightGBM with common settings: 100 trees of 31 leaves, rate 0.1; one thread, so that times are comparable."""
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_jobs=1, verbose=-1)


@cache
def chosen(task: Task) -> Form:
    """The best inputs for LightGBM on the first tenth of a task."""
    return refitted.best_form(boosting, task)


def replayed(learner: dl.Learner, task: Task) -> Answer:
    """The predictions of a learner of this library on a task."""
    if task.delay == 0:
        run = learner.run(task.X, task.y, level=LEVEL)
        return Answer(run.predictions, run.lower, run.upper)
    out = Stepper(learner, task.delay).table(task.X, task.y, spread=as_spread("", LEVEL))
    return Answer(out.predictions, out.lower, out.upper)


def auto(task: Task) -> Call:
    return lambda: replayed(dl.Auto(), task)


def refit(task: Task, every: int) -> dl.Refit:
    """LightGBM with its best inputs, without the previous row, as a learner."""
    form = chosen(task)
    estimator = Change(boosting(), len(form.lags)) if form.change else boosting()
    return dl.Refit(estimator, every=task.every(every), window=WINDOW, lags=form.lags)


def refit_alone(task: Task, every: int) -> Call:
    learner = refit(task, every)
    return lambda: replayed(learner, task)


def auto_with_refit(task: Task, every: int) -> Call:
    learner = dl.Auto(experts=[refit(task, every)])
    return lambda: replayed(learner, task)


def lightgbm(task: Task, every: int, form: Form | None = None) -> Call:
    own = chosen(task) if form is None else form
    return lambda: Answer(refitted.run(boosting, own, task, task.every(every)))


def ridge(task: Task) -> Call:
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    form = Form("ridge", RIDGE_LAGS, row_before=True)
    make = lambda: make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), Ridge())  # noqa: E731
    return lambda: Answer(refitted.run(make, form, task, task.every(100)))


def autoreg(task: Task) -> Call:
    return lambda: Answer(autoregression.run(task, task.every(500)))


def river(task: Task, make: Callable[[], Any]) -> Call:
    return lambda: Answer(river_peers.run(task, make()))


METHODS = {
    "auto": Method("Auto", auto),
    "lightgbm_500": Method("LightGBM 500", partial(lightgbm, every=500)),
    "lightgbm_100": Method("LightGBM 100", partial(lightgbm, every=100), late=False),
    "lightgbm_three_lags": Method("LightGBM 500, 3 lags", partial(lightgbm, every=500, form=FORMS[1]), late=False),
    "refit_500": Method("Refit 500", partial(refit_alone, every=500)),
    "refit_100": Method("Refit 100", partial(refit_alone, every=100), late=False),
    "auto_refit_500": Method("Auto + Refit 500", partial(auto_with_refit, every=500)),
    "auto_refit_100": Method("Auto + Refit 100", partial(auto_with_refit, every=100), late=False),
    "ridge": Method("ridge", ridge),
    "autoreg": Method("AutoReg", autoreg),
    "hat": Method("HAT", partial(river, make=river_peers.tree)),
    "arf": Method("ARF", partial(river, make=river_peers.forest), late=False),
}
