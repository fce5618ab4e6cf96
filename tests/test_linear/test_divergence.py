"""Rates above the stable one: the error names a stable rate, and nothing is learned."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import driftline as dl
from tests.streams import Array, drifting, loop, state_of, weights_of

DIVERGING = {
    "LMS": lambda **kw: dl.LMS(**{"rate": 1.0, **kw}),
    "GD": lambda **kw: dl.GD(**{"rate": 0.5, **kw}),
}


def stable_rate(message: str) -> float:
    found = re.search(r"a rate below ([0-9.e+-]+) = [12] / max\|x\|\^2 is stable", message)
    assert found, message
    return float(found[1])


def snapshot(model: Any) -> dict[str, Array]:
    return {name: values.copy() for name, values in state_of(model).items()}


def assert_untouched(model: Any, before: dict[str, Array]) -> None:
    for name, values in state_of(model).items():
        np.testing.assert_array_equal(values, before[name], err_msg=name)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", DIVERGING)
def test_a_diverging_run_names_a_stable_rate_and_learns_nothing(name, dtype):
    X, y = drifting(1, 4000, 5)
    model = DIVERGING[name](dtype=dtype)
    model.run(X[:3], y[:3])
    before = snapshot(model)
    with pytest.raises(dl.DivergenceError, match=rf"{name}\.run: the weights left the range of {dtype} at row") as found:
        model.run(X, y)
    assert_untouched(model, before)
    stable = DIVERGING[name](dtype=dtype, rate=0.99 * stable_rate(str(found.value)))
    losses = stable.run(X, y).losses
    assert np.mean(losses[1000:]) < 10 * np.var(y)


@pytest.mark.parametrize("name", DIVERGING)
def test_a_fresh_learner_that_diverges_is_fresh_again(name):
    X, y = drifting(1, 4000, 5)
    model = DIVERGING[name]()
    with pytest.raises(dl.DivergenceError):
        model.run(X, y)
    assert model.n_seen_ == 0
    assert model.predict_one(X[0][:2]) == 0.0


@pytest.mark.parametrize("name", DIVERGING)
def test_learn_one_raises_at_the_row_that_diverges(name):
    X, y = drifting(1, 4000, 5)
    model = DIVERGING[name]()
    twin = DIVERGING[name]()
    with pytest.raises(dl.DivergenceError) as found:
        twin.run(X, y)
    last = int(re.search(r"at row (\d+)", str(found.value))[1])
    assert last > 10
    loop(model, X[:last], y[:last])
    before = snapshot(model)
    with pytest.raises(dl.DivergenceError, match=rf"{name}\.learn_one") as found:
        model.learn_one(X[last], y[last])
    assert stable_rate(str(found.value)) < model.rate
    assert_untouched(model, before)
    assert np.isfinite(model.predict_one(X[last]))
    assert np.isfinite(weights_of(model)).all()


def test_divergence_errors_are_value_errors_and_floating_point_errors():
    assert issubclass(dl.DivergenceError, ValueError)
    assert issubclass(dl.DivergenceError, FloatingPointError)


def test_a_learner_that_diverged_can_continue_at_a_lower_rate():
    X, y = drifting(1, 4000, 5)
    model = dl.LMS(rate=1.0)
    with pytest.raises(dl.DivergenceError):
        model.run(X, y)
    model.set_params(rate=0.01)
    assert np.mean(model.run(X, y).losses[1000:]) < np.var(y)


@pytest.mark.parametrize(
    "make",
    [
        lambda: dl.LMS(rate=1e6, implicit=True),
        lambda: dl.NLMS(rate=1.99, eps=0.0),
        lambda: dl.GD(rate=10.0, loss="absolute"),
        lambda: dl.GD(rate=10.0, loss="pinball"),
        lambda: dl.GD(rate=10.0, loss="logistic"),
        lambda: dl.GD(rate=0.02, loss="huber"),
        lambda: dl.EG(rate=1e6),
        lambda: dl.EG(rate=1e6, norm=10.0),
    ],
    ids=["implicit LMS", "NLMS", "absolute", "pinball", "logistic", "huber", "EG", "EG, signed"],
)
def test_bounded_steps_never_diverge(make):
    X, y = drifting(1, 4000, 5)
    model = make()
    predictions, weights = loop(model, X[:50], y[:50])
    run = model.run(X, y)
    for values in (predictions, weights, run.predictions, weights_of(model)):
        assert np.isfinite(values).all()


def test_eg_at_a_huge_rate_stays_on_its_simplex():
    X, y = drifting(1, 200, 5)
    for norm in (None, 4.0):
        weights = dl.EG(rate=1e6, norm=norm).run(1e3 * X, y, weights_every=1).weights
        assert np.abs(weights).sum(axis=1).max() <= (norm or 1.0) * (1 + 1e-14)
        if norm is None:
            assert weights.min() >= 0
            np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-14)


def test_inputs_too_large_for_any_rate_are_reported():
    model = dl.LMS(rate=0.1)
    with pytest.raises(dl.DivergenceError, match="the inputs are too large"):
        model.run(np.full((5, 2), 1e200), np.ones(5))
