"""SecondOrder: the recursion through the inverse of S, with all its switches."""

from typing import Any

import numpy as np
from numpy.linalg import eigvalsh, inv

import driftline as dl
from tests.reference import Array, Case, Outcome, Reference, at, outcome
from tests.reference.recursion import restored, second_order
from tests.test_linear.test_arcor import project, threshold


def plain(
    X: Array,
    y: Array,
    *,
    start: float = 1.0,
    time: Any = None,
    noise: float | str = 1.0,
    shrink: bool = False,
    reset: Any = None,
    radius: float | None = None,
    clip: float | None = None,
) -> Outcome:
    """The table of docs/mathematics.md, row by row, with S as an inverse."""
    identity = np.eye(X.shape[1])
    S = start * identity
    w: Array = np.zeros(X.shape[1])
    prior = 1.0  # S^-1 is prior / start I, and what the rows told
    predictions, weights, resets = [], [], []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        if isinstance(time, dl.Divide):
            S = S / at(time.forgetting, t)
            prior *= at(time.forgetting, t)
        if isinstance(time, dl.Add):
            S = S + time.drift * identity
        s = x @ S @ x
        prediction = w @ x / (1 + s if shrink else 1)
        predictions.append(prediction if clip is None else min(max(prediction, -clip), clip))
        rho = 1 - s if noise == "complement" else noise
        w = w + (label - w @ x) / (rho + s) * (S @ x)
        S = inv(inv(S) + np.outer(x, x) / rho)
        below = isinstance(reset, dl.Below) and eigvalsh(S)[0] < threshold(reset.schedule, len(resets) + 1)
        if below or (isinstance(reset, dl.Every) and t % reset.period == 0):
            S, prior = identity, start
            resets.append(t - 1)
        if isinstance(time, dl.Divide) and time.keep_prior:
            A, before, prior = inv(S), prior, restored(prior, at(time.forgetting, t))
            S = inv(A + (prior - before) / start * identity)
            w = S @ A @ w
        w = project(w, S, radius)
        weights.append(w)
    return outcome(X, predictions, weights, S, resets)


def precise(rows, labels, *, time, reset, **switches):
    if isinstance(time, dl.Divide):
        switches["divide"], switches["keep_prior"] = time.forgetting, time.keep_prior
    if isinstance(time, dl.Add):
        switches["add"] = time.drift
    if isinstance(reset, dl.Every):
        switches["every"] = reset.period
    if isinstance(reset, dl.Below):
        switches["below"] = reset.schedule
    return second_order(rows, labels, **switches)


CASES = [
    Case(),
    Case(start=0.3, noise=2.5),
    Case(time=dl.Divide(0.9), radius=0.8),
    Case(time=dl.Divide([0.9, 0.8, 0.97]), start=2.0),
    Case(start=2.0, time=dl.Divide(0.95), reset=dl.Below(1.5)),
    Case(start=2.0, noise=0.5, time=dl.Divide(0.9, keep_prior=True), shrink=True, radius=1.5),
    Case(start=2.0, time=dl.Divide(0.95, keep_prior=True), reset=dl.Below(1.5)),
    Case(start=0.3, time=dl.Divide(0.8, keep_prior=True), reset=dl.Every(7)),
    Case(time=dl.Add(0.01), noise=0.5, reset=dl.Below(1.2), radius=2.0),
    Case(time=dl.Add(0.1), shrink=True, reset=dl.Every(5), clip=2.0),
    Case(start=0.001, time=dl.Add(1e-5), noise="complement"),
]
REFERENCE = Reference(plain, CASES, precise)
