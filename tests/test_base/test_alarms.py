"""Alarms on errors, and how many rows the weights rest on."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl


def plain_alarms(errors, false_every):
    """The alarm from its definition: ranks among the last 512 sizes, bets, their best product so far."""
    raised, sizes, evidence = [], [], 0.0
    for place, size in enumerate(np.abs(errors)):
        if np.isnan(size):
            continue
        if len(sizes) >= 64:
            seen = np.array(sizes[-512:])
            p = (np.sum(seen > size) + (np.sum(seen == size) + 1) / 2) / (1 + len(seen))
            evidence = max(0.0, evidence + math.log(0.6 * p**-0.4))
            if evidence > math.log(false_every):
                raised.append(place)
                sizes, evidence = [], 0.0
                continue
        sizes.append(size)
    return raised


def noisy(seed, scales=(1.0, 3.0, 1.0, 2.0), rows=700):
    rng = np.random.default_rng(seed)
    return np.concatenate([scale * rng.standard_t(4, size=rows) for scale in scales])


@pytest.mark.parametrize("false_every", [20, 10_000])
def test_alarms_are_those_of_the_definition(false_every):
    errors = noisy(1)
    errors[::50] = np.nan
    expected = plain_alarms(errors, false_every)
    assert expected
    assert dl.Alarm(false_every=false_every).update_many(errors).tolist() == expected


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 2800), max_size=4))
def test_how_the_errors_are_cut_makes_no_difference(seed, cuts):
    errors = noisy(seed)
    whole = dl.Alarm().update_many(errors).tolist()
    alarm, found, start = dl.Alarm(), [], 0
    for stop in [*sorted(cuts), len(errors)]:
        alarm = pickle.loads(pickle.dumps(alarm))
        found += (alarm.update_many(errors[start:stop]) + start).tolist()
        start = stop
    assert found == whole


@given(st.integers(0, 2**32 - 1), st.floats(0.2, 3.0), st.floats(1e-100, 1e100))
def test_only_the_ranks_count(seed, power, scale):
    errors = noisy(seed)
    bent = np.sign(errors) * np.abs(errors) ** power * scale
    assert dl.Alarm().update_many(bent).tolist() == dl.Alarm().update_many(errors).tolist()


@pytest.mark.parametrize("draw", [np.random.Generator.standard_normal, np.random.Generator.standard_cauchy])
def test_false_alarms_are_rarer_than_promised(draw):
    errors = draw(np.random.default_rng(5), 400_000)
    assert dl.Alarm(false_every=1000).update_many(errors).size <= 400


def test_equal_errors_raise_none():
    assert dl.Alarm(false_every=10).update_many(np.zeros(5000)).size == 0
    assert dl.Alarm(false_every=10).update_many(np.full(5000, np.inf)).size == 0


def test_mistakes_that_become_more_frequent_are_noticed():
    rng = np.random.default_rng(8)
    mistakes = np.concatenate([rng.random(2000) < 0.05, rng.random(500) < 0.5]).astype(float)
    (found,) = dl.Alarm().update_many(mistakes)
    assert 2000 <= found < 2060


def test_one_at_a_time():
    errors, alarm = noisy(3), dl.Alarm()
    assert [t for t, error in enumerate(errors) if alarm.update(error)] == dl.Alarm().update_many(errors).tolist()


def test_evidence_grows_to_an_alarm():
    alarm = dl.Alarm()
    alarm.update_many(np.random.default_rng(0).normal(size=500))
    seen = []
    while not alarm.update(100.0):
        seen.append(alarm.evidence)
    assert seen == sorted(seen)
    assert 0.8 < seen[-1] <= 1
    assert alarm.evidence == 0


@pytest.mark.parametrize("value", [0, 9.9, math.inf, math.nan, "many", None])
def test_bad_parameters(value):
    with pytest.raises(ValueError, match=r"^Alarm: false_every must be in \[10, inf\), got"):
        dl.Alarm(false_every=value)


def test_bad_errors_change_nothing():
    alarm = dl.Alarm()
    alarm.update_many(np.ones(100))
    before = pickle.dumps(alarm)
    for bad in ([[1.0]], ["a"]):
        with pytest.raises(ValueError, match=r"one dimension|could not convert"):
            alarm.update_many(bad)
    assert pickle.dumps(alarm) == before


@pytest.mark.parametrize(
    "change", [{"numbers": np.array([9.0, 10.0, 5.0])}, {"numbers": np.array([9.0, 1.0, 0.5])}, {"sizes": np.ones(3)}]
)
def test_impossible_states_are_refused(change):
    state = dl.Alarm().__getstate__()
    with pytest.raises(ValueError, match="state"):
        dl.Alarm().__setstate__({**state, **change})


def test_a_run_tells_when_the_target_jumped():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(3000, 4))
    w = np.where(np.arange(3000)[:, None] < 2000, [1.0, 2.0, 3.0, 4.0], [4.0, -3.0, 2.0, -1.0])
    y = np.sum(X * w, axis=1) + 0.5 * rng.normal(size=3000)
    for model in (dl.RLS(), dl.Kalman(), dl.NLMS(), dl.Auto()):
        alarms = model.run(X, y).alarms
        assert alarms.dtype == np.int64
        assert ((alarms >= 2000) & (alarms < 2020)).sum() == 1
        assert (alarms < 2000).sum() == 0


# How many rows the weights rest on.


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
    """With x = 1 the filter ends as an average with a constant gain, whose memory is 1 over the gain."""
    model = dl.Kalman(noise=noise, drift=drift, intercept=False)
    model.run(np.ones((20_000, 1)), np.zeros(20_000))
    before = model.coef_[0]
    model.learn_one([1.0], 1.0)
    assert model.memory_ == pytest.approx(1 / (model.coef_[0] - before), rel=1e-6)


def test_memory_begins_anew_at_a_reset():
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


@pytest.mark.parametrize("every", [1, 3, 25])
@pytest.mark.parametrize("name", PACED)
def test_memory_over_time_is_that_of_the_loop_and_survives_a_copy(name, every):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(160, 2))
    y = X.sum(axis=1) + 0.1 * rng.normal(size=160)
    weight = np.where(np.arange(160) % 9 == 4, 0.0, 1.0)
    holes = np.where(np.arange(160)[:, None] == 20, np.nan, X)
    run = PACED[name](missing="skip").run(holes, y, sample_weight=weight, weights_every=every)
    model, seen, drift = PACED[name](), [], []
    for t in range(160):
        if t != 20 and weight[t]:
            model.learn_one(X[t], y[t])
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
def test_memory_where_rows_go_in_blocks_is_that_of_the_loop(make):
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


def test_memory_under_added_drift_is_the_formula_of_the_variances():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    run = dl.Kalman(drift=0.02).run(X, y, weights_every=1)
    model = dl.Kalman(drift=0.02)
    for t in range(50):
        model.learn_one(X[t], y[t])
        rows = np.clip(1 + np.diag(model.covariance_) / 0.02, 1, t + 1)
        assert run.memory[t] == pytest.approx(np.prod(rows) ** 0.25, rel=1e-9)


def test_auto_tells_its_memory_and_drift_by_the_shares_of_its_experts():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(200, 2))
    model = dl.Auto()
    model.run(X, X.sum(axis=1) + rng.normal(size=200))
    experts = model._core.experts()
    assert model.memory_ == pytest.approx(np.exp(sum(one.share * np.log(one.memory) for one in experts)), rel=1e-12)
    assert model.drift_ == pytest.approx(sum(one.share * one.drift for one in experts), rel=1e-12)


def test_no_memory_where_none_is_known_or_asked_for():
    X, y = np.ones((4, 1)), np.ones(4)
    assert dl.NLMS().run(X, y, weights_every=2).memory is None
    run = dl.RLS().run(X, y)
    assert run.memory is None
    assert run.snapshots.size == 0
    assert run.alarms.size == 0
