"""driftline's learners in the same protocol: the paper's DFOP and RLS, and learners that the paper does not have.

ARCOR and Kalman take the parameters that are best on the first tenth of a data set, from a small grid. DFOP's rate for
regression is chosen in the same way where the paper states none. Auto has its defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

import driftline as dl
from benchmarks.data import Array
from driftline.reproduce.dfop_contest import PRIOR, plain_rls
from driftline.reproduce.dfop_data import rate_of
from driftline.reproduce.dfop_table4 import RATES, TUNED_ON

Run = Callable[[Array, Array, int], Array]
Make = Callable[[], dl.Learner]

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


def best(makers: list[Make], X: Array, y: Array, loss: Callable[[Array, Array], float]) -> Make:
    """The learner with the least loss on the first tenth of the rows."""
    first = max(2, int(TUNED_ON * len(y)))
    return min(makers, key=lambda make: loss(make().run(X[:first], y[:first]).predictions, y[:first]))


def of(make: Make) -> Run:
    return lambda X, y, seed: make().run(X, y).predictions


def classifiers(name: str, X: Array, y: Array) -> dict[str, Run]:
    """By method, a function of rows, labels and a seed; the data set's name and rows are for its parameters."""

    def by_classifier(X: Array, y: Array, seed: int) -> Array:
        return np.array([label or 1.0 for label in dl.Classifier(dl.Auto()).run(X, y).predictions])

    return {
        "DFOP": of(lambda: dl.DFOP(forget_rate=rate_of(name), prior=PRIOR)),
        "RLS": of(plain_rls),
        "Auto": of(dl.Auto),
        "Classifier(Auto())": by_classifier,
        "ARCOR": of(best(ARCORS, X, y, mistakes)),
        "Kalman": of(best(KALMANS, X, y, mistakes)),
    }


def regressors(name: str, X: Array, y: Array) -> dict[str, Run]:
    """Likewise. DFOP and RLS have no intercept, as in the paper; "DFOP, tuned" may have one."""
    rates = [rate_of(name)] if name == "hyperplane" else list(RATES[1:])
    plain, free = (
        [lambda r=r, i=i: dl.DFOP(forget_rate=r, prior=PRIOR, intercept=i) for r in rates for i in also]  # type: ignore[misc]
        for also in ((False,), (False, True))
    )
    return {
        "DFOP": of(best(plain, X, y, squared)),
        "DFOP, tuned": of(best(free, X, y, squared)),
        "RLS": of(lambda: dl.RLS(forgetting=1.0, ridge=1 / PRIOR, intercept=False)),
        "Auto": of(dl.Auto),
        "ARCOR": of(best(ARCORS, X, y, squared)),
        "Kalman": of(best(KALMANS, X, y, squared)),
    }
