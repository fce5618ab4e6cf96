"""Kernel with a budget: the plain recursion on function values, replaced points, near duplicates, bounded memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl


def rbf(X, Z):
    return np.exp(-((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))


def plain(X, y, budget, threshold, *, start=1.0, noise=1.0, forgetting=1.0, drift=0.0, limits=None):
    """Mean and covariance of the function's values at the points; every inverse is computed from scratch."""
    points, use, mean, cov, tau = np.zeros((0, X.shape[1])), np.zeros(0), np.zeros(0), np.zeros((0, 0)), start
    said, resets = [], []
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        G, k = rbf(points, points), rbf(points, x[None])[:, 0]
        cov, tau = cov / forgetting + drift * G, tau / forgetting + drift
        a = np.linalg.solve(G, k)
        rest = 1 - k @ a
        said.append(a @ mean)
        beside, own = cov @ a, a @ cov @ a
        newcomer = rest > threshold or start * rest > threshold * noise
        use = use + 0.2 / budget * (a**2 - use)
        if newcomer:
            own += tau * rest
            use = np.append(use, use.mean() if len(use) else 1.0)
            points = np.vstack([points, x])
            mean = np.append(mean, said[-1])
            cov = np.block([[cov, beside[:, None]], [beside[None], np.array([[own]])]])
            beside = np.append(beside, own)
        mean = mean + beside * (label - said[-1]) / (noise + own)
        cov = cov - np.outer(beside, beside) / (noise + own)
        G = rbf(points, points)
        if limits is not None:
            half = np.linalg.inv(np.linalg.cholesky(G))
            if min(tau, np.linalg.eigvalsh(half @ cov @ half.T)[0]) < limits[len(resets)]:
                cov, tau = G.copy(), 1.0
                resets.append(t)
        if len(points) > budget:
            inverse = np.linalg.inv(G)
            change = (inverse @ mean / np.diag(inverse)) ** 2 * use
            stay = np.arange(len(points)) != np.argmin(change)
            points, use, mean, cov = points[stay], use[stay], mean[stay], cov[np.ix_(stay, stay)]
    return np.array(said), points, resets


LEARNERS = {
    "arowr": (dl.AROWR(noise=0.3, ridge=0.5), {"noise": 0.3, "start": 2.0}),
    "rls": (dl.RLS(forgetting=0.97, ridge=0.5), {"forgetting": 0.97, "start": 2.0}),
    "kalman": (dl.Kalman(noise=0.2, drift=0.05), {"noise": 0.2, "drift": 0.05}),
    "arcor": (dl.ARCOR(noise=2.0, schedule=[0.4, 0.3, 0.2]), {"noise": 2.0, "limits": [0.4, 0.3] + [0.2] * 400}),
}


@pytest.mark.parametrize("budget", [1, 2, 7, 12])
@pytest.mark.parametrize("name", LEARNERS)
def test_kernel_with_a_budget_is_the_plain_recursion_on_function_values(name, budget):
    """Including every removal: which point is removed, and how the remaining state changes."""
    learner, parameters = LEARNERS[name]
    rng = np.random.default_rng(budget)
    X = rng.normal(size=(200, 2)) + np.linspace(0, 3, 200)[:, None]
    y = np.sin(X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=200)
    model = dl.Kernel(learner, gamma=1.0, budget=budget, threshold=0.05, intercept=False)
    run = model.run(X, y)
    said, points, resets = plain(X, y, budget, 0.05, **parameters)
    np.testing.assert_allclose(run.predictions, said, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(model.points_, points)
    assert run.resets.tolist() == resets
    assert name != "arcor" or budget < 3 or len(resets) > 3
    events = model.certificate().events
    assert events["removed"] > 20
    assert model.certificate().comparator is None


def test_points_that_the_stream_has_left_are_replaced():
    rng = np.random.default_rng(1)
    x = (np.repeat([0.0, 50.0], 1500) + rng.uniform(0, 6, 3000))[:, None]
    y = np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=3000)
    for learner in (dl.AROWR(noise=0.01), dl.RLS(forgetting=0.995, ridge=0.01), dl.Kalman(noise=0.01, drift=1e-4)):
        model = dl.Kernel(learner, gamma=1.0, budget=15)
        run = model.run(x, y)
        assert run.losses[2500:].mean() < 0.02
        assert (model.points_ > 25).mean() > 0.6


@pytest.mark.parametrize(
    "learner",
    [dl.AROWR(noise=0.01), dl.RLS(forgetting=0.999), dl.Kalman(noise=0.01, drift=1e-4)],
    ids=["arowr", "rls", "kalman"],
)
def test_points_follow_wandering_inputs(learner):
    """Nearly every row becomes a point, so only new points show which of the old ones are in use."""
    X = np.cumsum(0.3 * np.random.default_rng(0).normal(size=(4000, 2)), axis=0)
    model = dl.Kernel(learner, gamma=1.0, budget=30)
    run = model.run(X, np.sin(X[:, 0]) + np.cos(X[:, 1]))
    assert run.losses[2000:].mean() < 0.04
    late = (model.points_[:, None] == X[None, 3000:]).all(axis=2).any(axis=1)
    assert late.sum() > 20


@pytest.mark.parametrize(
    "learner",
    [dl.RLS(ridge=300), dl.Kalman(ridge=1e4), dl.LASER(ridge=500), dl.WEMM(ridge=300), dl.AROWR(noise=300),
     dl.ARCOR(noise=300), dl.DFOP(forget_rate=0.001, prior=1)],
    ids=lambda learner: type(learner).__name__,
)  # fmt: skip
def test_rows_with_a_weak_signal_become_points_too(learner):
    """A single row carries little information, but many do. A budget must learn from them as a full kernel does."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (600, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=600)
    wanted = dl.Kernel(learner, gamma=1.0).run(X, y).predictions
    assert np.abs(wanted).max() > 0.05
    model = dl.Kernel(learner, gamma=1.0, budget=100)
    np.testing.assert_allclose(model.run(X, y).predictions, wanted, atol=2e-3)
    assert 0 < len(model.points_) <= 20


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e2, 1e4])
@pytest.mark.parametrize(
    "learner", [dl.AROWR(), dl.RLS(forgetting=0.999), dl.Kalman(), dl.AAR()], ids=["arowr", "rls", "kalman", "aar"]
)
def test_a_linear_kernel_within_a_budget_is_the_linear_learner_at_every_size(learner, size):
    rng = np.random.default_rng(0)
    X = size * rng.normal(size=(300, 5))
    y = X @ rng.normal(size=5) / size + 0.1 * rng.normal(size=300)
    learner = learner.clone().set_params(intercept=False)
    model = dl.Kernel(learner, kernel="linear", intercept=False, budget=50)
    np.testing.assert_allclose(model.run(X, y).predictions, learner.run(X, y).predictions, atol=1e-10)
    assert len(model.points_) == 5


@given(
    seed=st.integers(0, 10_000), gap=st.sampled_from([0.0, 1e-15, 1e-9, 1e-6, 1e-3]), budget=st.sampled_from([None, 3, 10])
)
@settings(max_examples=25)
def test_nearly_equal_points_break_nothing(seed, gap, budget):
    """The state is finite, S is positive definite, and predictions equal the batch solution if every row is a point."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(5, 2)), 16, axis=0) + gap * rng.normal(size=(80, 2))
    y = rng.normal(size=80)
    model = dl.Kernel(dl.AROWR(noise=0.1, intercept=False), gamma=0.5, budget=budget, threshold=0.0)
    said = model.run(X, y).predictions
    assert np.isfinite(said).all()
    assert np.linalg.eigvalsh(model._core.covariance())[0] > 0
    assert (np.linalg.eigvalsh(model._core.covariance()) <= 1 + 1e-9).all()
    if budget is None:
        K = rbf(X, X) ** 0.5
        batch = K @ np.linalg.solve(K + 0.1 * np.eye(80), y)
        np.testing.assert_allclose(model.predict(X), batch, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(
    "learner",
    [dl.RLS(forgetting=0.9), dl.DFOP(forget_rate=0.2), dl.RLS(forgetting=lambda t: 0.9)],
    ids=["rls", "dfop", "by t"],
)
def test_wind_up_is_capped_and_reported(learner):
    X = np.random.default_rng(0).normal(size=(3000, 2))
    model = dl.Kernel(learner, gamma=0.5, budget=20)
    run = model.run(X, np.sin(X[:, 0]))
    cert = model.certificate()
    assert cert.events["capped"] > 0
    assert cert.conditions["the growth of S was never capped"] is False
    assert 1e3 < model.tau_ < 1e10
    assert np.abs(run.predictions).max() < 1e3


def test_a_budget_bounds_the_size_of_the_state():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, 3))
    model = dl.Kernel(dl.RLS(), budget=10)
    model.run(X[:400], X[:400, 0] ** 2)
    before = {name: array.shape for name, array in model.__getstate__()["core"].items()}
    model.run(X[400:], X[400:, 0] ** 2)
    assert {name: array.shape for name, array in model.__getstate__()["core"].items()} == before


@pytest.mark.parametrize("kernel", ["rbf", "laplace", "poly"])
def test_gamma_is_set_by_the_first_rows_which_are_then_learned_again(kernel):
    """After row 256 the state equals that of a learner that had this gamma from the start."""
    rng = np.random.default_rng(6)
    X = 1000 * rng.normal(size=(400, 2)) + 300
    y = np.sin(X[:, 0] / 1000) + 0.1 * rng.normal(size=400)
    first = X[:256]
    wanted = {
        "rbf": 1 / first.var(axis=0).sum(),
        "laplace": 1 / first.std(axis=0).sum(),
        "poly": 1 / (first**2).sum(axis=1).mean(),
    }[kernel]
    for budget, learner in ((None, dl.RLS(forgetting=0.99)), (20, dl.ARCOR(schedule=lambda i: 0.5 / i))):
        model = dl.Kernel(learner, kernel=kernel, budget=budget)
        run = model.run(X, y)
        given_it = dl.Kernel(learner, kernel=kernel, budget=budget, gamma=model.gamma_)
        assert model.gamma_ == pytest.approx(wanted, rel=1e-12)
        np.testing.assert_allclose(run.predictions[256:], given_it.run(X, y).predictions[256:], rtol=1e-9, atol=1e-9)
        assert model.certificate().loss == pytest.approx(run.losses.sum(), rel=1e-12)
        assert model.certificate().conditions["gamma was given"] is False


def test_the_base_estimators_parameters_can_change_but_the_kernels_cannot():
    X, y = np.random.default_rng(2).normal(size=(2, 50, 1))
    model = dl.Kernel(dl.RLS(forgetting=0.9), gamma=1.0, budget=10).fit(X, y[:, 0])
    model.set_params(learner__forgetting=0.99)
    assert model.certificate().conditions["the rows were learned one by one, with these parameters"] is False
    for change in ({"gamma": 2.0}, {"kernel": "linear"}, {"budget": 20}, {"learner": dl.AROWR()}, {"intercept": False}):
        before = model.__getstate__()
        with pytest.raises(ValueError, match=r"Kernel: .* cannot change once the learner has learned"):
            model.set_params(**change)
        assert dl.checks.tools.same(model.__getstate__(), before)


def test_invalid_kernel_parameters_are_refused_by_name():
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = X[:, 0]
    for bad in ({"kernel": "sigmoid"}, {"gamma": 0.0}, {"degree": 0}, {"degree": 1.5}, {"coef0": -1.0}, {"budget": 0},
                {"budget": 20_000}, {"threshold": -1.0}):  # fmt: skip
        with pytest.raises(ValueError, match=rf"Kernel: {next(iter(bad))} must be"):
            dl.Kernel(**bad)
    for learner in (dl.LMS(), dl.SparseDFOP(), dl.Kernel(), "RLS"):
        with pytest.raises(ValueError, match="Kernel: learner must be None or a second-order learner"):
            dl.Kernel(learner)
    with pytest.raises(ValueError, match="must return a finite number for two rows, got nan"):
        dl.Kernel(kernel=lambda x, z: float("nan")).run(X, y)
    with pytest.raises(ZeroDivisionError):
        dl.Kernel(kernel=lambda x, z: 1 / 0).run(X, y)
    with pytest.raises(ValueError, match=r"row 1 .*not positive definite"):
        dl.Kernel(kernel=lambda x, z: 1.0 if (x == z).all() else -5.0, intercept=False).run(X, y)
    with pytest.raises(ValueError, match="row 0 has no finite kernel"):
        dl.Kernel(kernel="poly", degree=9, gamma=1.0).run(1e40 * X, y)
    with pytest.raises(ValueError, match="weights_every needs a learner with one weight per feature"):
        dl.Kernel().run(X, y, weights_every=5)
    with pytest.raises(AttributeError, match="only a linear kernel has coef_"):
        _ = dl.Kernel().fit(X, y).coef_
