"""Kernel without a budget equals the linear learner, Gaussian-process regression, and plain forms in feature space."""

import numpy as np
import pytest

import driftline as dl
from driftline.base import registry
from driftline.linear.recursion import Recursive
from tests.cases import for_each

SECOND_ORDER = {
    name: kind()
    for name, kind in registry.regressors().items()
    if issubclass(kind, Recursive) and kind()._traits.plain_intercept
}
LEARNERS = SECOND_ORDER | {  # with settings that test more than the defaults do
    "ridge": dl.Ridge(ridge=0.5),
    "rls": dl.RLS(forgetting=0.97, ridge=0.3),
    "rls_with_its_prior": dl.RLS(forgetting=0.9, ridge=0.3, keep_prior=True),
    "rls_by_a_function": dl.RLS(forgetting=lambda t: 0.97 + 0.02 * (t % 2)),
    "aar": dl.AAR(ridge=0.2, clip=3.0),
    "arowr": dl.AROWR(noise=0.3, ridge=2.0),
    "crrls": dl.CRRLS(forgetting=0.98, period=30),
    "arcor": dl.ARCOR(noise=2.0, schedule=1.5),
    "arcor_in_a_ball": dl.ARCOR(noise=0.5, schedule=2.0, radius=0.8),
    "arcor_by_a_sequence": dl.ARCOR(schedule=[0.4, 0.2, 0.1, 0.01]),
    "wemm": dl.WEMM(ridge=40.0),
    "laser": dl.LASER(ridge=0.5, drift_cost=5.0, clip=4.0),
    "kalman": dl.Kalman(noise=0.5, drift=0.02),
    "dfop": dl.DFOP(forget_rate=0.03, prior=10.0),
    "glm": dl.GLM(loss="huber", forgetting=0.98),
    "complement": dl.SecondOrder(start=0.01, noise="complement"),
    "drift_with_everything": dl.SecondOrder(
        time=dl.Add(0.01), reset=dl.Below(2.0), radius=1.0, clip=2.0, shrink=True, noise=0.5, start=0.4
    ),
    "forgetting_with_resets": dl.SecondOrder(time=dl.Divide(0.98), reset=dl.Below(2.0), start=3.0),
    "resets_from_below_the_threshold": dl.SecondOrder(start=0.3, reset=dl.Below(2.0), noise=3.0),
}


def drifting(rows=200, features=4, seed=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) * [1.0, 0.5, 2.0, 1.0][:features]
    weights = np.cumsum(0.1 * rng.normal(size=(rows, features)), axis=0)
    return X, (X * weights).sum(axis=1) + 0.5 + 0.1 * rng.normal(size=rows)


@for_each("intercept", [True, False])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_linear_kernel_equals_the_linear_learner(name, intercept):
    X, y = drifting()
    primal = LEARNERS[name].clone({"intercept": intercept})
    dual = dl.Kernel(primal, kernel="linear")
    wanted, run = primal.run(X, y), dual.run(X, y)
    scale = np.abs(y).max()
    np.testing.assert_allclose(run.predictions, wanted.predictions, rtol=1e-9, atol=1e-10 * scale)
    np.testing.assert_allclose(dual.coef_, primal.coef_, rtol=1e-8, atol=1e-9)
    assert dual.intercept_ == pytest.approx(primal.intercept_, rel=1e-8, abs=1e-9)
    assert run.resets.tolist() == wanted.resets.tolist()
    ours, theirs = dual.certificate(), primal.certificate()
    assert ours.events == theirs.events
    assert ours.conditions == theirs.conditions
    for value, other in ((ours.loss, theirs.loss), (ours.comparator, theirs.comparator), (ours.bound, theirs.bound)):
        assert value == (None if other is None else pytest.approx(other, rel=1e-8))


def rbf(X, Z, gamma):
    return np.exp(-gamma * ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))


def laplace(X, Z, gamma):
    return np.exp(-gamma * np.abs(X[:, None, :] - Z[None, :, :]).sum(axis=2))


def inputs(shape, rng):
    if shape == "scattered":
        return rng.normal(size=(120, 3))
    if shape == "a line":
        return np.linspace(0, 4, 120)[:, None]
    if shape == "near duplicates":
        return np.repeat(rng.normal(size=(30, 2)), 4, axis=0) + 1e-8 * rng.normal(size=(120, 2))
    return np.repeat(rng.normal(size=(12, 2)), 10, axis=0)  # duplicates


@pytest.mark.parametrize("intercept", [0, 1])
@pytest.mark.parametrize("kernel", [rbf, laplace])
@pytest.mark.parametrize("shape", ["scattered", "a line", "near duplicates", "duplicates"])
def test_arowr_is_gaussian_process_regression(shape, kernel, intercept):
    """The prediction of row t is the posterior mean given rows 1 .. t-1, solved from scratch for every row."""
    rng = np.random.default_rng(2)
    X = inputs(shape, rng)
    y = np.sin(2 * X.sum(axis=1)) + 0.1 * rng.normal(size=len(X))
    noise, ridge, gamma = 0.05, 0.5, 0.7
    model = dl.Kernel(dl.AROWR(noise=noise, ridge=ridge, intercept=bool(intercept)), kernel=kernel.__name__, gamma=gamma)
    run = model.run(X, y, level=0.9)
    K = kernel(X, X, gamma) + intercept
    for t in range(0, len(X), 7):
        mean = K[t, :t] @ np.linalg.solve(K[:t, :t] + noise * ridge * np.eye(t), y[:t]) if t else 0.0
        assert run.predictions[t] == pytest.approx(mean, rel=1e-8, abs=1e-9)
    full = K + noise * ridge * np.eye(len(X))
    new = rng.normal(size=(5, X.shape[1]))
    kx = kernel(new, X, gamma) + intercept
    np.testing.assert_allclose(model.predict(new), kx @ np.linalg.solve(full, y), rtol=1e-8, atol=1e-9)
    fitted = (kernel(X, model.points_, gamma) + intercept) @ model.dual_coef_
    np.testing.assert_allclose(fitted, K @ np.linalg.solve(full, y), rtol=1e-7, atol=1e-8)
    cert = model.certificate()
    value = y @ np.linalg.solve(full, y) * noise * ridge
    assert cert.comparator == pytest.approx(value, rel=1e-8)
    assert cert.bound >= cert.loss
    growth = np.linalg.slogdet(full / (noise * ridge))[1]
    assert cert.bound == pytest.approx(value + (run.losses.max()) * growth, rel=1e-6)


def kernel_wemm(K, y, b):
    """Fig. 3.3 of the thesis, with alpha and beta computed entry by entry."""
    alpha, beta, said = np.zeros(0), np.zeros((0, 0)), []
    for t in range(len(y)):
        k = K[:t, t]
        said.append(alpha @ k)
        error = y[t] - said[-1]
        alpha = np.append(alpha + error * (beta @ k), error / b)
        old = beta
        beta = np.empty((t + 1, t + 1))
        beta[:t, :t] = old - np.outer(old @ k, k @ old)
        beta[t, :t] = -(k @ old) / b
        beta[:t, t] = -(old @ k) / b
        beta[t, t] = -1 / b**2
    return np.array(said), alpha, beta


@pytest.mark.parametrize("intercept", [0, 1])
def test_wemm_matches_the_figure_of_its_thesis(intercept):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(150, 2))
    y = np.cos(X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=150)
    model = dl.Kernel(dl.WEMM(ridge=5.0, intercept=bool(intercept)), gamma=0.5)
    K = rbf(X, X, 0.5) + intercept
    wanted, alpha, beta = kernel_wemm(K, y, 5.0)
    np.testing.assert_allclose(model.run(X, y).predictions, wanted, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(K @ model.dual_coef_, K @ alpha, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(K @ model.dual_covariance_ @ K, K @ beta @ K, rtol=1e-6, atol=1e-7)
    assert model.tau_ == pytest.approx(1 / 5.0, rel=1e-13)
    assert model.certificate().comparator == pytest.approx(((y - wanted) ** 2).sum(), rel=1e-8)  # Theorem 4


def monomials(X):
    """Features whose inner products are (x.z/2 + 1)^2, for x of two entries."""
    a, b = X.T / np.sqrt(2)
    return np.column_stack([a * a, b * b, np.sqrt(2) * a * b, np.sqrt(2) * a, np.sqrt(2) * b, np.ones(len(X))])


def plain_arcor(P, y, noise, radius, q):
    """Fig. 1 of the paper, with eigenvalues and a bisection for the ball."""
    w, S, i, said, resets, projections = np.zeros(P.shape[1]), np.eye(P.shape[1]), 1, [], [], 0
    for t, (x, label) in enumerate(zip(P, y, strict=True)):
        said.append(w @ x)
        k = S @ x
        w = w + k * (label - w @ x) / (noise + x @ k)
        S = S - np.outer(k, k) / (noise + x @ k)
        if np.linalg.eigvalsh(S)[0] < 1 / (i ** (q - 1) + 1):
            S, i = np.eye(len(w)), i + 1
            resets.append(t)
        if np.linalg.norm(w) > radius:
            low, high = 0.0, 1e12
            for _ in range(200):
                a = (low + high) / 2
                v = np.linalg.solve(np.eye(len(w)) + a * S, w)
                low, high = (a, high) if np.linalg.norm(v) > radius else (low, a)
            w, projections = v, projections + 1
    return np.array(said), resets, projections, w, S


@pytest.mark.parametrize(("intercept", "budget"), [(True, None), (False, None), (False, 7)])
def test_arcor_equals_the_plain_form_on_explicit_features(intercept, budget):
    """Resets by the smallest eigenvalue, the ball in the kernel's norm; a budget above the dimension changes nothing."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(200, 2))
    y = np.where(np.arange(200) < 100, 1, -1) * X[:, 0] * X[:, 1] + X[:, 1] + 0.1 * rng.normal(size=200)
    P = np.column_stack([monomials(X), np.ones(200)]) if intercept else monomials(X)
    learner = dl.ARCOR(noise=4.0, radius=0.9, schedule=2.0, intercept=intercept)
    model = dl.Kernel(learner, kernel="poly", degree=2, gamma=0.5, budget=budget, threshold=1e-9)
    said, resets, projections, w, S = plain_arcor(P, y, 4.0, 0.9, 2.0)
    run = model.run(X, y)
    assert len(resets) > 5
    assert projections > 20
    assert run.resets.tolist() == resets
    assert model.certificate().events["projections"] == projections
    np.testing.assert_allclose(run.predictions, said, rtol=1e-8, atol=1e-9)
    points = monomials(model.points_)
    points = np.column_stack([points, np.ones(len(points))]) if intercept else points
    np.testing.assert_allclose(model.dual_coef_ @ points, w, rtol=1e-7, atol=1e-8)
    covariance = model.tau_ * np.eye(len(w)) + points.T @ model.dual_covariance_ @ points
    np.testing.assert_allclose(covariance, S, rtol=1e-5, atol=1e-6)


def test_a_function_can_be_the_kernel():
    X, y = drifting(rows=60)
    named = dl.Kernel(dl.RLS(forgetting=0.98), kernel="poly", degree=2, gamma=0.3, coef0=0.5)
    own = dl.Kernel(dl.RLS(forgetting=0.98), kernel=lambda x, z: (0.3 * x @ z + 0.5) ** 2)
    np.testing.assert_allclose(own.run(X, y).predictions, named.run(X, y).predictions, rtol=1e-9, atol=1e-10)
