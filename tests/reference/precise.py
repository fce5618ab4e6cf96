"""The one recursion of the second-order learners, and the first-order steps, in 50 digits.

run(name, X, y, **parameters) takes the public names and parameters; replay(X, y,
**switches) takes the recursion's own switches. Inputs and parameters are taken as the
exact values of their floats. The numbers that come back carry 50 digits: do arithmetic on
them under mpmath's workdps(DIGITS), or take their float.
"""

from collections.abc import Callable
from typing import Any

import mpmath
from mpmath import fdot, mp, mpf

from .high_dimension import random_matrix
from .outcome import Precise, Vector
from .precise_first_order import eg, gd, lms, nlms
from .precise_second_order import second_order

DIGITS = 50


def run(name: str, X: Any, y: Any, **parameters: Any) -> Precise:
    """Replay a learner by name: predict, then learn, row by row."""
    with mp.workdps(DIGITS):
        parameters = exact(parameters)
        rows, labels = convert(X, y)
        if name in FIRST_ORDER:
            return FIRST_ORDER[name](rows, labels, **parameters)
        if name == "sparse_dfop":
            return sparse_dfop(rows, labels, **parameters)
        if name == "wemm" and parameters.get("ridge") is None:
            parameters["ridge"] = 2 * fdot(rows[0], rows[0]) + 1
        return second_order(rows, labels, **TABLE[name](**parameters))


def replay(X: Any, y: Any, **switches: Any) -> Precise:
    """Replay the recursion with the switches of second_order."""
    with mp.workdps(DIGITS):
        return second_order(*convert(X, y), **exact(switches))


def convert(X: Any, y: Any) -> tuple[list[Vector], Vector]:
    """Rows and labels as lists of 50-digit numbers."""
    return [[mpf(float(v)) for v in x] for x in X], [mpf(float(v)) for v in y]


def exact(parameters: dict[str, Any]) -> dict[str, Any]:
    """Floats become 50-digit numbers, so that 1 - forget_rate is not rounded to a float."""
    return {name: mpf(value) if type(value) in (int, float) else value for name, value in parameters.items()}


def thresholds(schedule: Any) -> Callable[[int], mpf] | None:
    """ARCOR's Lambda_i as a function of i = 1, 2, ..."""
    if schedule is None:
        return None
    if callable(schedule):
        return lambda i: mpf(schedule(i))
    if hasattr(schedule, "__len__"):
        return lambda i: mpf(schedule[min(i, len(schedule)) - 1])
    return lambda i: 1 / (mpf(i) ** (schedule - 1) + 1)


def rls(forgetting: Any, ridge: mpf) -> dict[str, Any]:
    """RLS's row of the table; a function of the row gives floats, taken exactly."""
    divide = (lambda t: mpf(forgetting(t))) if callable(forgetting) else forgetting
    return {"start": 1 / ridge, "divide": divide}


def sparse_dfop(
    rows: list[Vector], labels: Vector, dim: mpf, seed: mpf = 0, matrix: str = "gaussian", **parameters: mpf
) -> Precise:
    """DFOP on M x, with the entries of M taken exactly; the weights are those of x."""
    columns = [[mpf(entry) for entry in column] for column in random_matrix(int(dim), len(rows[0]), int(seed), matrix).T]
    psi = [[fdot(row, entries) for entries in zip(*columns, strict=True)] for row in rows]
    compressed = second_order(psi, labels, **TABLE["dfop"](**parameters))
    weights = [fdot(column, compressed.weights) for column in columns]
    return Precise(compressed.predictions, weights, compressed.covariance)


TABLE: dict[str, Callable[..., dict[str, Any]]] = {
    "ridge": lambda ridge: {"start": 1 / ridge},
    "rls": rls,
    "aar": lambda ridge, clip=None: {"start": 1 / ridge, "shrink": True, "clip": clip},
    "arowr": lambda noise, ridge: {"start": 1 / ridge, "noise": noise},
    "crrls": lambda forgetting, period: {"start": mpf(1), "divide": forgetting, "every": period},
    "arcor": lambda noise, radius, schedule: {
        "start": mpf(1),
        "noise": noise,
        "below": thresholds(schedule),
        "radius": mpmath.inf if radius is None else radius,
    },
    "wemm": lambda ridge: {"start": 1 / ridge, "noise": "complement"},
    "laser": lambda ridge, drift_cost, clip=None: {
        "start": 1 / ridge - 1 / drift_cost,
        "add": 1 / drift_cost,
        "shrink": True,
        "clip": clip,
    },
    "kalman": lambda noise, drift, ridge: {"start": 1 / ridge, "add": drift, "noise": noise},
    "dfop": lambda forget_rate, prior: {
        "start": prior,
        "divide": 1 - forget_rate,
        "noise": 1 / forget_rate,
    },
}

FIRST_ORDER: dict[str, Callable[..., Precise]] = {"lms": lms, "nlms": nlms, "gd": gd, "eg": eg}
