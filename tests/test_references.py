"""Every learner against the plain reference of its paper's own form, at every row, in both ways of learning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import driftline as dl
from driftline.base import registry
from tests.reference import REFERENCES, Outcome
from tests.reference.losses import huber, pinball
from tests.streams import Array, drifting, loop, signs, with_ones

DIMENSIONS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 33]
LOSSES = ["squared", "absolute", "huber", "pinball", "logistic"]

# Learner, its parameters, and those of the reference where they are spelt differently.
CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("lms", {"rate": 0.01}, {}),
    ("lms", {"rate": 0.3, "implicit": True}, {}),
    ("nlms", {"rate": 0.5, "eps": 1.0}, {}),
    ("nlms", {"rate": 1.5, "eps": 0.0}, {}),
    *(("gd", {"rate": 0.005, "loss": loss}, {}) for loss in LOSSES),
    *(("eg", {"rate": 0.05, "loss": loss}, {}) for loss in LOSSES),
    *(("eg", {"rate": 0.01, "norm": 3.0, "loss": loss}, {}) for loss in LOSSES),
    ("gd", {"rate": 0.1, "loss": dl.losses.Huber(threshold=0.4)}, {"loss": huber(threshold=0.4)}),
    ("eg", {"rate": 0.1, "norm": 2.0, "loss": dl.losses.Pinball(level=0.8)}, {"loss": pinball(level=0.8)}),
    ("ridge", {"ridge": 0.7}, {}),
    ("ridge", {"ridge": 50.0}, {}),
    ("rls", {"forgetting": 0.9, "ridge": 0.7}, {}),
    ("rls", {"forgetting": 0.999, "ridge": 3.0}, {}),
    ("rls", {"forgetting": lambda t: 1 - 0.5 / t, "ridge": 0.7}, {}),
    ("rls", {"forgetting": [0.8, 1.0, 0.95], "ridge": 0.7}, {"forgetting": lambda t: [0.8, 1.0, 0.95][min(t, 3) - 1]}),
    ("aar", {"ridge": 0.7}, {}),
    ("aar", {"ridge": 5.0, "clip": 0.5}, {}),
    ("arowr", {"noise": 2.5, "ridge": 0.7}, {}),
    ("arowr", {"noise": 0.1, "ridge": 4.0}, {}),
    ("crrls", {"forgetting": 0.9, "period": 7}, {}),
    ("crrls", {"forgetting": 1.0, "period": 1}, {}),
    ("crrls", {"forgetting": 0.95, "period": None}, {"period": np.inf}),
    ("arcor", {"noise": 2.5, "radius": None, "schedule": None}, {}),
    ("arcor", {"noise": 2.5, "radius": None, "schedule": 1.0}, {}),
    ("arcor", {"noise": 0.6, "radius": np.inf, "schedule": 1.7}, {}),
    ("arcor", {"noise": 2.5, "radius": 0.7, "schedule": 1.5}, {}),
    ("arcor", {"noise": 20.0, "radius": 0.1, "schedule": None}, {}),
    ("arcor", {"noise": 2.5, "radius": 100.0, "schedule": [0.5, 0.2, 0.1]}, {}),
    ("arcor", {"noise": 2.5, "radius": 1.5, "schedule": lambda i: 2.0**-i}, {}),
    ("wemm", {"ridge": 400.0}, {}),
    ("laser", {"ridge": 0.7, "drift_cost": 4.0}, {}),
    ("laser", {"ridge": 2.0, "drift_cost": 1000.0, "clip": 0.5}, {}),
    ("kalman", {"noise": 2.5, "drift": 0.1, "ridge": 0.7}, {}),
    ("kalman", {"noise": 0.3, "drift": 1e-4, "ridge": 2.0}, {}),
    ("dfop", {"forget_rate": 0.08, "prior": 20.0}, {}),
    ("dfop", {"forget_rate": 0.2, "prior": 1.0}, {}),
    ("sparse_dfop", {"forget_rate": 0.08, "prior": 20.0, "dim": 6, "seed": 3}, {}),
    ("sparse_dfop", {"forget_rate": 0.05, "prior": 2.0, "dim": 20, "matrix": "sparse"}, {}),
    ("network", {}, {}),
    ("averaged", {}, {}),
    ("pipeline", {}, {}),
]


def words(case: tuple[str, dict[str, Any], dict[str, Any]]) -> str:
    name, parameters, _ = case
    return f"{name}({', '.join(f'{key}={value}' for key, value in parameters.items() if not callable(value))})"


def labels(y: Array, parameters: dict[str, Any]) -> Array:
    return signs(y) if parameters.get("loss") == "logistic" else y


def expected(case: tuple[str, dict[str, Any], dict[str, Any]], X: Array, y: Array, intercept: bool) -> Outcome:
    name, parameters, spelling = case
    if name in ("sparse_dfop", "pipeline"):  # whose intercept is no column of X
        return REFERENCES[name](X, y, intercept=intercept, **parameters)
    return REFERENCES[name](with_ones(X) if intercept else X, y, **{**parameters, **spelling})


def close(ours: Any, theirs: Any, tolerance: float) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("case", CASES, ids=words)
def test_a_learner_is_its_papers_own_form_at_every_row(case, intercept):
    name, parameters, _ = case
    for d in DIMENSIONS:
        X, y = drifting(seed=100 * d + intercept, rows=40, d=d)
        y = labels(y, parameters)
        reference = expected(case, X, y, intercept)
        at_once, one_by_one = (registry.learners()[name](**parameters, intercept=intercept) for _ in range(2))

        run = at_once.run(X, y, weights_every=1)
        close(run.predictions, reference.predictions, 1e-9)
        close(run.weights, reference.weights, 1e-9)
        np.testing.assert_array_equal(run.errors, y - run.predictions)
        np.testing.assert_array_equal(run.losses, run.errors**2)
        assert run.resets.tolist() == reference.resets

        predictions, weights = loop(one_by_one, X, y)
        close(predictions, reference.predictions, 1e-9)
        close(weights, reference.weights, 1e-9)
        if reference.covariance is not None:
            close(at_once.covariance_, reference.covariance, 1e-9)
            close(one_by_one.covariance_, reference.covariance, 1e-9)


def test_every_learner_has_a_reference_and_every_reference_a_case():
    assert {name for name, _, _ in CASES} == set(REFERENCES)
    elsewhere = {"second_order", "auto", "kernel"}  # made of the others; the last two have plain forms in their own tests
    assert set(registry.regressors()) - elsewhere == set(REFERENCES)


@pytest.mark.parametrize("case", CASES, ids=words)
def test_float32_stays_within_two_in_a_hundred_thousand(case):
    """Resets may fall on other rows where a threshold is met to seven digits: they do not on these streams."""
    name, parameters, _ = case
    for d in (1, 3, 8, 17):
        X, y = drifting(seed=d, rows=40, d=d)
        X, y = X.astype(np.float32).astype(float), labels(y, parameters)
        reference = expected(case, X, y, intercept=True)
        run = registry.learners()[name](**parameters, dtype="float32").run(X, y, weights_every=1)
        size = np.abs(reference.weights).max()
        assert np.abs(run.weights - reference.weights).max() < 2e-5 * max(1.0, size)
        assert run.resets.tolist() == reference.resets


def test_the_cases_do_what_they_are_there_for():
    X, y = drifting(seed=400, rows=40, d=4)
    assert dl.ARCOR(noise=2.5, radius=0.7, schedule=1.5, intercept=False).run(X, y).resets.size > 3
    model = dl.ARCOR(noise=20.0, radius=0.1, schedule=None, intercept=False)
    model.run(X, y)
    assert model.certificate().events["projections"] > 20
    assert np.abs(dl.AAR(ridge=5.0, clip=0.5).run(X, y).predictions).max() == 0.5


def test_a_custom_loss_is_the_built_in_one_of_the_same_formula():
    class Mine:
        def value(self, y: float, prediction: float) -> float:
            return (prediction - y) ** 2

        def gradient(self, y: float, prediction: float) -> float:
            return 2 * (prediction - y)

    X, y = drifting(seed=5, d=5)
    for make in (lambda loss: dl.GD(rate=0.01, loss=loss), lambda loss: dl.EG(rate=0.02, norm=2.0, loss=loss)):
        ours, theirs = make(Mine()).run(X, y, weights_every=1), make("squared").run(X, y, weights_every=1)
        close(ours.predictions, theirs.predictions, 1e-12)
        close(ours.weights, theirs.weights, 1e-12)


@pytest.mark.parametrize("d", [1, 5, 12])
def test_a_new_wemm_sets_its_ridge_from_the_first_row(d):
    X, y = drifting(seed=d, d=d)
    X[0] *= 3 / np.linalg.norm(X[0])
    X[1:] *= 2 / np.linalg.norm(X[1:], axis=1)[:, None]
    model = dl.WEMM(intercept=False)
    run = model.run(X, y, weights_every=1)
    assert model.ridge_ > 2 * 9
    reference = REFERENCES["wemm"](X, y, ridge=model.ridge_)
    close(run.predictions, reference.predictions, 1e-9)
    close(run.weights, reference.weights, 1e-9)


# Sample weights.


def weighted_batch(X: Array, y: Array, weight: Array, ridge: float) -> Array:
    return np.asarray(np.linalg.solve(ridge * np.eye(X.shape[1]) + (X.T * weight) @ X, (X.T * weight) @ y))


@pytest.fixture
def weighted() -> tuple[Array, Array, Array]:
    X, y = drifting(seed=11, rows=50, d=5)
    weight = np.random.default_rng(0).exponential(size=50)
    weight[[3, 7, 30]] = 0.0
    return X, y, weight


def test_weighted_ridge_is_the_weighted_batch_solution_at_every_row(weighted):
    X, y, weight = weighted
    run = dl.Ridge(ridge=0.7, intercept=False).run(X, y, sample_weight=weight, weights_every=1)
    for t in range(len(y)):
        close(run.weights[t], weighted_batch(X[: t + 1], y[: t + 1], weight[: t + 1], 0.7), 1e-9)


def test_weighted_arowr_is_ridge_with_the_weights_over_the_noise(weighted):
    X, y, weight = weighted
    model = dl.AROWR(noise=2.5, ridge=0.7, intercept=False)
    model.run(X, y, sample_weight=weight)
    close(model.coef_, weighted_batch(X, y, weight / 2.5, 0.7), 1e-9)


def test_weighted_rls_is_the_weighted_and_discounted_batch_solution(weighted):
    """A row of weight 0 is not learned, so it does not age the others either."""
    X, y, weight = weighted
    model = dl.RLS(forgetting=0.9, ridge=0.7, intercept=False)
    model.run(X, y, sample_weight=weight)
    learned = weight > 0
    discount = 0.9 ** np.arange(learned.sum())[::-1]
    close(model.coef_, weighted_batch(X[learned], y[learned], weight[learned] * discount, 0.7 * 0.9 ** learned.sum()), 1e-9)


def test_a_weight_of_two_is_the_row_twice():
    X, y = drifting(seed=12, d=4)
    for make in (lambda: dl.Ridge(), lambda: dl.AROWR(noise=0.3), lambda: dl.AAR(ridge=2.0)):
        once, twice = make(), make()
        once.run(X, y, sample_weight=2.0)
        twice.run(np.repeat(X, 2, axis=0), np.repeat(y, 2))
        close(once.coef_, twice.coef_, 1e-9)
        close(once.covariance_, twice.covariance_, 1e-9)


@pytest.mark.parametrize("name", ["LMS", "implicit", "GD", "EG"])
def test_a_weight_multiplies_the_rate_of_a_first_order_learner(name, weighted):
    X, y, weight = weighted
    make = {
        "LMS": lambda rate: dl.LMS(rate=rate),
        "implicit": lambda rate: dl.LMS(rate=rate, implicit=True),
        "GD": lambda rate: dl.GD(rate=rate, loss="huber"),
        "EG": lambda rate: dl.EG(rate=rate, norm=2.0),
    }[name]
    at_once, one_by_one, stepped = make(0.02), make(0.02), make(0.02)
    run = at_once.run(X, y, sample_weight=weight)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        assert one_by_one.predict_one(x) == run.predictions[t]
        one_by_one.learn_one(x, label, sample_weight=weight[t])
        if weight[t] > 0:
            stepped.set_params(rate=0.02 * weight[t])
            stepped.learn_one(x, label)
    np.testing.assert_array_equal(at_once.coef_, one_by_one.coef_)
    close(at_once.coef_, stepped.coef_, 1e-12)
    assert at_once.n_seen_ == np.sum(weight > 0)
