"""Each reference against the recursion in 50 digits, and its parts against their definition.

Nothing here touches the package: these tests say that the yardstick is straight.
"""

import numpy as np
import pytest
from scipy.optimize import minimize

from . import REFERENCES, precise
from .losses import LOSSES, huber, pinball
from .precise_second_order import smaller
from .resetting import project

arcor, crrls, wemm = (REFERENCES[name] for name in ("arcor", "crrls", "wemm"))

CASES: list[tuple[str, dict[str, object]]] = [
    ("lms", {"rate": 0.05}),
    ("lms", {"rate": 0.3, "implicit": True}),
    ("nlms", {"rate": 0.5, "eps": 0.1}),
    *(("gd", {"rate": 0.05, "loss": loss}) for loss in LOSSES),
    *(("eg", {"rate": 0.1, "loss": loss}) for loss in LOSSES),
    *(("eg", {"rate": 0.02, "norm": 3.0, "loss": loss}) for loss in LOSSES),
    ("gd", {"rate": 0.1, "loss": huber(threshold=0.4)}),
    ("eg", {"rate": 0.1, "norm": 2.0, "loss": pinball(level=0.8)}),
    ("ridge", {"ridge": 0.7}),
    ("rls", {"forgetting": 0.9, "ridge": 0.7}),
    ("rls", {"forgetting": lambda t: 1 - 0.5 / t, "ridge": 0.7}),
    ("aar", {"ridge": 0.7}),
    ("aar", {"ridge": 0.7, "clip": 0.5}),
    ("arowr", {"noise": 2.5, "ridge": 0.7}),
    ("crrls", {"forgetting": 0.9, "period": 7}),
    ("arcor", {"noise": 2.5, "radius": None, "schedule": None}),
    ("arcor", {"noise": 2.5, "radius": 100.0, "schedule": 1.0}),
    ("arcor", {"noise": 0.6, "radius": np.inf, "schedule": 1.7}),
    ("arcor", {"noise": 2.5, "radius": 100.0, "schedule": [0.5, 0.2, 0.1]}),
    ("arcor", {"noise": 2.5, "radius": 100.0, "schedule": lambda i: 2.0**-i}),
    ("wemm", {"ridge": 30.0}),
    ("laser", {"ridge": 0.7, "drift_cost": 4.0}),
    ("laser", {"ridge": 0.7, "drift_cost": 4.0, "clip": 0.5}),
    ("kalman", {"noise": 2.5, "drift": 0.1, "ridge": 0.7}),
    ("dfop", {"forget_rate": 0.08, "prior": 20.0}),
    ("sparse_dfop", {"forget_rate": 0.08, "prior": 20.0, "dim": 3}),
    ("sparse_dfop", {"forget_rate": 0.08, "prior": 20.0, "dim": 9, "seed": 5, "matrix": "sparse"}),
]


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_the_papers_form_is_the_recursion(name, parameters, stream):
    X, y = stream
    if parameters.get("loss") == "logistic":
        y = np.where(y > 0, 1.0, -1.0)
    ours, exact = REFERENCES[name](X, y, **parameters), precise.run(name, X, y, **parameters)
    predictions = np.array([float(value) for value in exact.predictions])
    np.testing.assert_allclose(ours.predictions, predictions, rtol=1e-9, atol=1e-9)
    weights = [float(value) for value in exact.weights]
    np.testing.assert_allclose(ours.weights[-1], weights, rtol=1e-9, atol=1e-9)
    assert ours.resets == exact.resets
    assert (ours.covariance is None) == (exact.covariance is None)
    if exact.covariance is not None:
        covariance = [[float(value) for value in row] for row in exact.covariance]
        np.testing.assert_allclose(ours.covariance, covariance, rtol=1e-9, atol=1e-9)


def test_every_reference_is_compared_with_the_recursion():
    made_of_others = {"network", "averaged", "pipeline"}
    assert {name for name, _ in CASES} == set(REFERENCES) - made_of_others


def test_arcor_and_crrls_cases_do_reset(stream):
    X, y = stream
    assert crrls(X, y, forgetting=0.9, period=7).resets == [6, 13, 20, 27, 34, 41, 48, 55]
    assert len(arcor(X, y, noise=2.5, radius=100.0, schedule=1.0).resets) > 5
    assert len(arcor(X, y, noise=0.6, radius=100.0, schedule=1.7).resets) > 5


@pytest.mark.parametrize("loss", [*LOSSES.values(), huber(0.3), pinball(0.9)])
def test_a_gradient_is_the_slope_of_its_loss(loss):
    for y, f in [(1.0, 0.8), (1.0, 4.0), (-1.0, 0.2), (-1.0, -3.0)]:
        slope = (loss.value(y, f + 1e-4) - loss.value(y, f - 1e-4)) / 2e-4
        assert float(loss.gradient(y, f)) == pytest.approx(float(slope), rel=1e-6, abs=1e-6)


def test_wemm_refuses_a_row_that_is_too_large():
    with pytest.raises(ValueError, match="row 1"):
        wemm(np.array([[1.0, 0.0], [0.0, 2.0]]), np.zeros(2), ridge=3.0)


def test_the_projection_meets_the_kkt_conditions():
    """Eq. (5): sigma^-1 (v - w) + a v = 0 with a > 0 and |v| = radius, or v = w inside."""
    rng = np.random.default_rng(2)
    for scale in (1.0, 1e-3, 1e3):
        root = rng.normal(size=(5, 5)) * scale
        sigma = root @ root.T + 1e-3 * scale**2 * np.eye(5)
        w = rng.normal(size=5) * 4
        assert project(w, sigma, 100.0) is w
        v = project(w, sigma, 1.5)
        assert np.linalg.norm(v) == pytest.approx(1.5, rel=1e-13)
        pull = np.linalg.solve(sigma, w - v)
        a = pull @ v / (v @ v)
        assert a > 0
        np.testing.assert_allclose(v + a * sigma @ v, w, rtol=1e-9)


def test_the_projection_is_the_nearest_point_of_the_ball():
    sigma = np.array([[2.0, 0.5], [0.5, 0.3]])
    w = np.array([3.0, -1.0])
    metric = np.linalg.inv(sigma)
    found = minimize(
        lambda angle: (p := np.array([np.cos(angle[0]), np.sin(angle[0])]) - w) @ metric @ p,
        x0=[0.0],
        tol=1e-12,
    )
    point = [np.cos(found.x[0]), np.sin(found.x[0])]
    np.testing.assert_allclose(project(w, sigma, 1.0), point, atol=1e-5)


def test_arcor_keeps_the_weights_in_the_ball_and_resets_as_without_it(stream):
    free = arcor(*stream, noise=2.5, radius=np.inf, schedule=1.5)
    held = arcor(*stream, noise=2.5, radius=1.0, schedule=1.5)
    sizes = np.linalg.norm(held.weights, axis=1)
    assert sizes.max() <= 1.0 + 1e-13
    assert np.sum(sizes > 1.0 - 1e-13) > 10
    assert held.resets == free.resets


@pytest.mark.parametrize("schedule", [None, 1.5, lambda i: 1 - 1e-9])
def test_arcor_projects_with_the_covariance_kept_after_the_test(schedule, stream):
    X, y = stream
    result = arcor(X, y, noise=2.5, radius=1.0, schedule=schedule)
    precision, w = np.eye(4), np.zeros(4)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        sigma = np.linalg.inv(precision)
        w = w + (label - w @ x) * (sigma @ x) / (2.5 + x @ sigma @ x)
        precision = np.eye(4) if t in result.resets else precision + np.outer(x, x) / 2.5
        w = project(w, np.linalg.inv(precision), 1.0)
        np.testing.assert_allclose(result.weights[t], w, rtol=1e-9, atol=1e-9)


def test_the_pivots_decide_as_the_smallest_eigenvalue_does():
    rng = np.random.default_rng(3)
    for _ in range(50):
        root = rng.normal(size=(4, 4))
        S = root @ root.T
        bound = float(np.linalg.eigvalsh(S)[0])
        assert smaller(S.tolist(), bound * 1.001)
        assert not smaller(S.tolist(), bound * 0.999)
    assert not smaller([[1.0, 0.0], [0.0, 2.0]], 1.0)
    assert smaller([[1.0, 0.5], [0.5, 2.0]], 1.0)
