"""driftline's learners in the same protocol: the paper's DFOP and RLS, and learners that are not in the paper.

ARCOR and Kalman take the parameters that are best on the first tenth of a data set, from a small grid. DFOP's rate for
regression is chosen in the same way if the paper states none. Auto has its defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

import numpy as np

import driftline as dl
from benchmarks.data import Array
from papers.dfop_contest import PRIOR, dfop_at
from papers.dfop_data import rate_of
from papers.dfop_table4 import RATES, TUNED_ON

Run = Callable[[Array, Array, int], Array]
Make = Callable[[], dl.Learner]

LAGS = 3

ARCORS: list[Make] = [
    lambda n=noise, q=power: dl.ARCOR(noise=n, schedule=q)  # type: ignore[misc]
    for noise, power in product((0.1, 1.0, 10.0), (1.0, 1.5, 2.0, 3.0))
]
KALMANS: list[Make] = [
    lambda d=drift: dl.Kalman(drift=d, ridge=1 / PRIOR)  # type: ignore[misc]
    for drift in 10.0 ** np.arange(-8, 1)
]


def signs(values: Array) -> Array:
    return np.where(values >= 0, 1.0, -1.0)


def squared(predictions: Array, y: Array) -> float:
    return float(np.mean(np.square(predictions - y)))


def mistakes(predictions: Array, y: Array) -> float:
    return float(np.mean(signs(predictions) != y))


def best(runs: Iterable[Run], X: Array, y: Array, loss: Callable[[Array, Array], float]) -> Run:
    """The learner with the smallest loss on the first tenth of the rows."""
    first = max(2, int(TUNED_ON * len(y)))
    return min(runs, key=lambda run: loss(run(X[:first], y[:first], 0), y[:first]))


def of(make: Make) -> Run:
    return lambda X, y, seed: make().run(X, y).predictions


def label_before(X: Array, y: Array, seed: int) -> Array:
    """A baseline: the previous label, or 0 for the first row."""
    return np.concatenate([[0.0], y[:-1]])


def with_labels(run: Run) -> Run:
    """Rows with the last three labels appended; Auto uses such inputs, the paper's methods do not."""

    def wider(X: Array, y: Array, seed: int) -> Array:
        before = np.concatenate([np.zeros(LAGS), y])
        lags = [before[LAGS - k : len(before) - k] for k in range(1, LAGS + 1)]
        return run(np.column_stack([X, *lags]), y, seed)

    return wider


def classifiers(name: str, X: Array, y: Array) -> dict[str, Run]:
    """Functions of rows, labels and a seed, by method; their parameters depend on the data set's name and rows."""

    def by_classifier(X: Array, y: Array, seed: int) -> Array:
        return np.array([label or 1.0 for label in dl.Classifier(dl.Auto()).run(X, y).predictions])

    dfop = of(lambda: dfop_at(rate_of(name)))
    return {
        "DFOP": dfop,
        "RLS": of(lambda: dfop_at(0.0)),
        "the label before": label_before,
        "DFOP, 3 labels": with_labels(dfop),
        "Auto": of(dl.Auto),
        "Classifier(Auto())": by_classifier,
        "ARCOR": best(map(of, ARCORS), X, y, mistakes),
        "Kalman": best(map(of, KALMANS), X, y, mistakes),
    }


def regressors(name: str, X: Array, y: Array) -> dict[str, Run]:
    """The same for regression. DFOP and RLS have no intercept, as in the paper; "DFOP, tuned" may have one."""
    rates = [rate_of(name)] if name == "hyperplane" else list(RATES[1:])
    plain, free = (
        [of(lambda r=r, i=i: dl.DFOP(forget_rate=r, prior=PRIOR, intercept=i)) for r in rates for i in also]  # type: ignore[misc]
        for also in ((False,), (False, True))
    )
    return {
        "DFOP": best(plain, X, y, squared),
        "DFOP, tuned": best(free, X, y, squared),
        "RLS": of(lambda: dl.RLS(forgetting=1.0, ridge=1 / PRIOR, intercept=False)),
        "the label before": label_before,
        "DFOP, 3 labels": best(map(with_labels, free), X, y, squared),
        "Auto": of(dl.Auto),
        "ARCOR": best(map(of, ARCORS), X, y, squared),
        "Kalman": best(map(of, KALMANS), X, y, squared),
    }
