"""SecondOrder: the recursion in terms of the inverse of S, with all options."""

from typing import Any

import numpy as np
import pytest
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
    """The table of docs/mathematics.md, row by row, with S computed as an explicit inverse."""
    identity = np.eye(X.shape[1])
    S = start * identity
    w: Array = np.zeros(X.shape[1])
    prior = 1.0  # S^-1 = prior / start I + the sum over the rows
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


@pytest.mark.parametrize("reset", [dl.Below([0.95, 0.9, 0.85]), dl.Below(1.0), dl.Every(4)], ids=str)
@pytest.mark.parametrize("d", [1, 3, 20])
def test_rows_after_a_reset_use_complement_noise_too(d, reset):
    """A reset makes S = I, so rows must be shorter than 1. The shortcut for a row that resets S again must not be taken."""
    rng = np.random.default_rng(d)
    X = rng.normal(size=(60, d))
    X *= rng.uniform(0.2, 0.95, size=(60, 1)) / np.linalg.norm(X, axis=1, keepdims=True)
    y = X.sum(axis=1) + 0.1 * rng.normal(size=60)
    expected = plain(X, y, noise="complement", reset=reset)
    model = dl.SecondOrder(noise="complement", reset=reset, intercept=False)
    run = model.run(X, y, weights_every=1)
    assert np.any(np.diff(expected.resets) == 1) or isinstance(reset, dl.Every)
    np.testing.assert_array_equal(run.resets, expected.resets)
    np.testing.assert_allclose(run.predictions, expected.predictions, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(run.weights, expected.weights, rtol=1e-10, atol=1e-12)
