"""Memory: the number of rows on which the weights are based."""

import copy

import numpy as np
import pytest

import driftline as dl
from tests.cases import for_each


def learned(model, rows=400, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d))
    return model, model.run(X, X.sum(axis=1) + rng.normal(size=rows), weights_every=7)


@pytest.mark.parametrize("forgetting", [0.5, 0.9, 0.999, 1.0])
def test_memory_under_forgetting_is_the_sum_of_the_weights(forgetting):
    model, run = learned(dl.RLS(forgetting=forgetting))
    expected = [sum(forgetting**i for i in range(t + 1)) for t in run.snapshots]
    np.testing.assert_allclose(run.memory, expected)
    assert model.memory_ == pytest.approx(sum(forgetting**i for i in range(400)))


@pytest.mark.parametrize("noise", [0.1, 1.0, 50.0])
@pytest.mark.parametrize("drift", [1e-4, 0.01, 1.0])
def test_memory_of_a_random_walk_is_that_of_its_exponential_average(noise, drift):
    """With x = 1 the filter becomes an average with a constant gain, whose memory is 1 / gain."""
    model = dl.Kalman(noise=noise, drift=drift, intercept=False)
    model.run(np.ones((20_000, 1)), np.zeros(20_000))
    before = model.coef_[0]
    model.learn_one([1.0], 1.0)
    assert model.memory_ == pytest.approx(1 / (model.coef_[0] - before), rel=1e-6)


def test_memory_restarts_at_a_reset():
    for model in (dl.ARCOR(schedule=2.0), dl.CRRLS(period=30, forgetting=1.0)):
        _, run = learned(model)
        assert run.resets.size > 2
        begun = [max([reset + 1 for reset in run.resets if reset <= t], default=0) for t in run.snapshots]
        np.testing.assert_allclose(run.memory, run.snapshots + 1 - begun)


PACED = {
    "rls": lambda **more: dl.RLS(**more),
    "rls, a sequence": lambda **more: dl.RLS(forgetting=[0.5, 0.9, 1.0, 0.99], **more),
    "rls, a function": lambda **more: dl.RLS(forgetting=lambda t: 1 - 1 / (t + 3), **more),
    "dfop": lambda **more: dl.DFOP(**more),
    "kalman": lambda **more: dl.Kalman(**more),
    "kalman, float32": lambda **more: dl.Kalman(dtype="float32", drift=0.3, **more),
    "laser": lambda **more: dl.LASER(**more),
    "arcor": lambda **more: dl.ARCOR(schedule=1.5, **more),
    "crrls": lambda **more: dl.CRRLS(period=7, **more),
    "wemm": lambda **more: dl.WEMM(**more),
    "sparse_dfop": lambda **more: dl.SparseDFOP(dim=5, **more),
    "second_order": lambda **more: dl.SecondOrder(time=dl.Add(0.01), reset=dl.Every(20), **more),
    "auto": lambda **more: dl.Auto(**more),
    "pipeline": lambda **more: dl.features.Standardize() | dl.Kalman(**more),
}


@for_each("every", [1, 3, 25])
@pytest.mark.parametrize("name", PACED)
def test_memory_over_time_equals_that_of_the_loop_and_survives_a_copy(name, every):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(160, 2))
    y = X.sum(axis=1) + 0.1 * rng.normal(size=160)
    weight = np.where(np.arange(160) % 9 == 4, 0.0, 1.0)
    holes = np.where(np.arange(160)[:, None] == 20, np.nan, X)
    run = PACED[name](missing="skip").run(holes, y, sample_weight=weight, weights_every=every)
    model, seen, drift = PACED[name](missing="skip"), [], []
    for t in range(160):
        if weight[t]:
            model.learn_one(holes[t], y[t])
        if (t + 1) % every == 0:
            seen.append(model._memory() if every == 1 else copy.deepcopy(model)._memory())
            drift.append(getattr(model, "drift_", None))
    np.testing.assert_allclose(run.memory, seen, rtol=1e-6)
    assert run.snapshots.tolist() == list(range(every - 1, 160, every))
    assert 0 <= min(seen) <= max(seen) <= 160
    if name == "auto":
        np.testing.assert_allclose(run.drift, drift, rtol=1e-6)
    else:
        assert run.drift is None


@pytest.mark.parametrize("make", [dl.RLS, dl.CRRLS, dl.Kalman])
def test_memory_of_rows_in_blocks_equals_that_of_the_loop(make):
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(50, 900)), rng.normal(size=50)
    params = {"period": 21} if make is dl.CRRLS else {}
    memory = make(**params).run(X, y, weights_every=7).memory
    model, seen = make(**params), []
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
        seen.append(model.memory_)
    np.testing.assert_allclose(memory, seen[6::7], rtol=1e-9)


def test_memory_of_several_outputs_is_that_of_one():
    rng = np.random.default_rng(4)
    X, Y = rng.normal(size=(80, 3)), rng.normal(size=(80, 2))
    for make in (dl.Kalman, dl.RLS, lambda: dl.CRRLS(period=30)):
        np.testing.assert_array_equal(
            make().run(X, Y, weights_every=1).memory, make().run(X, Y[:, 0], weights_every=1).memory
        )


def test_memory_under_added_drift_follows_the_formula_from_the_variances():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    run = dl.Kalman(drift=0.02).run(X, y, weights_every=1)
    model = dl.Kalman(drift=0.02)
    for t in range(50):
        model.learn_one(X[t], y[t])
        rows = np.clip(1 + np.diag(model.covariance_) / 0.02, 1, t + 1)
        assert run.memory[t] == pytest.approx(np.prod(rows) ** 0.25, rel=1e-9)


def test_autos_memory_and_drift_follow_from_the_shares_of_its_experts():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(200, 2))
    model = dl.Auto()
    model.run(X, X.sum(axis=1) + rng.normal(size=200))
    experts = model._core.experts()
    assert model.memory_ == pytest.approx(np.exp(sum(one.share * np.log(one.memory) for one in experts)), rel=1e-12)
    assert model.drift_ == pytest.approx(sum(one.share * one.drift for one in experts), rel=1e-12)


def test_memory_is_none_if_unknown_or_not_requested():
    X, y = np.ones((4, 1)), np.ones(4)
    assert dl.NLMS().run(X, y, weights_every=2).memory is None
    run = dl.RLS().run(X, y)
    assert run.memory is None
    assert run.snapshots.size == 0
    assert run.alarms.size == 0
