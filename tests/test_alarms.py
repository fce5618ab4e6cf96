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
    with pytest.raises(ValueError, match="false_every must be a number of at least 10"):
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


@pytest.mark.parametrize("make", [dl.Kalman, dl.LASER, dl.RLS, dl.ARCOR, dl.WEMM, dl.Auto, dl.SparseDFOP])
def test_memory_over_time_is_that_of_the_loop_and_survives_a_copy(make):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    y = X.sum(axis=1)
    run = make(missing="skip").run(np.where(np.arange(60)[:, None] == 20, np.nan, X), y, weights_every=25)
    model, seen = make(), []
    for t in range(60):
        if t != 20:
            model.learn_one(X[t], y[t])
        if (t + 1) % 25 == 0:
            seen.append(copy.deepcopy(model).memory_)
    np.testing.assert_allclose(run.memory, seen, rtol=1e-6)
    assert run.snapshots.tolist() == [24, 49]
    assert min(seen) >= 0
    assert max(seen) <= 60


def test_no_memory_where_none_is_known_or_asked_for():
    X, y = np.ones((4, 1)), np.ones(4)
    assert dl.NLMS().run(X, y, weights_every=2).memory is None
    run = dl.RLS().run(X, y)
    assert run.memory is None
    assert run.snapshots.size == 0
    assert run.alarms.size == 0
