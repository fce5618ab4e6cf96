"""Alarms on errors."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

import driftline as dl
from driftline.demo import demand
from tests.cases import for_each
from tests.reference.alarm import plain_alarms


def noisy(seed, scales=(1.0, 3.0, 1.0, 2.0), rows=700):
    rng = np.random.default_rng(seed)
    return np.concatenate([scale * rng.standard_t(4, size=rows) for scale in scales])


@pytest.mark.parametrize("false_every", [20, 10_000])
def test_alarms_match_the_definition(false_every):
    errors = noisy(1)
    errors[::50] = np.nan
    expected = plain_alarms(errors, false_every)
    assert expected
    assert dl.Alarm(false_every=false_every).update_many(errors).tolist() == expected


@pytest.mark.parametrize("seed", range(9))
def test_alarms_of_dependent_errors_that_change_often_match_the_definition(seed):
    """Changes up and down, every 200 rows; ties, and errors without a change for the dependence estimate to see."""
    rng = np.random.default_rng(seed)
    errors = autocorrelated(rng, 2800, [0.0, 0.5, 0.9][seed % 3])
    errors[600:] *= np.repeat(rng.choice([1, 3, 0.5, 8, 0.2], 11), 200)
    if seed % 4 == 0:
        errors = np.round(errors, 1)
    for false_every in (20, 10_000):
        expected = plain_alarms(errors, false_every)
        assert expected
        assert dl.Alarm(false_every=false_every).update_many(errors).tolist() == expected


@pytest.mark.parametrize("seed", range(6))
def test_early_alarms_match_the_definition(seed):
    """A change after 100 rows, for errors with more or less dependence."""
    rng = np.random.default_rng(seed)
    errors = autocorrelated(rng, 400, [0.0, 0.3, 0.6][seed % 3])
    errors[100:] *= 8
    errors[250:260] = 1.0
    expected = plain_alarms(errors, 10_000)
    assert expected[0] < 200
    assert dl.Alarm().update_many(errors).tolist() == expected


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 2800), max_size=4), st.lists(st.integers(60, 400), max_size=4))
def test_cutting_the_errors_into_blocks_changes_no_alarm(seed, cuts, early_cuts):
    errors, cuts = noisy(seed), cuts + early_cuts
    errors[100:400] *= 3
    whole = dl.Alarm().update_many(errors).tolist()
    alarm, found, start = dl.Alarm(), [], 0
    for stop in [*sorted(cuts), len(errors)]:
        alarm = pickle.loads(pickle.dumps(alarm))
        found += (alarm.update_many(errors[start:stop]) + start).tolist()
        start = stop
    assert found == whole


@given(st.integers(0, 2**32 - 1), st.floats(0.2, 3.0), st.floats(1e-100, 1e100))
def test_only_the_ranks_of_errors_matter(seed, power, scale):
    errors = noisy(seed)
    bent = np.sign(errors) * np.abs(errors) ** power * scale
    assert dl.Alarm().update_many(bent).tolist() == dl.Alarm().update_many(errors).tolist()


def autocorrelated(rng, rows, kept):
    return lfilter([math.sqrt(1 - kept**2)], [1, -kept], rng.standard_normal(rows))


def seasonal(rng, rows):
    """Errors whose standard deviation swings from 1/e to e and back within 96 rows."""
    return rng.standard_normal(rows) * np.exp(np.sin(2 * np.pi * np.arange(rows) / 96))


AT_REST = {
    "Gaussian": lambda rng, rows: rng.standard_normal(rows),
    "Cauchy": lambda rng, rows: rng.standard_cauchy(rows),
    "positive": lambda rng, rows: rng.exponential(size=rows),
    "autocorrelation 0.5": lambda rng, rows: autocorrelated(rng, rows, 0.5),
    "autocorrelation 0.9": lambda rng, rows: autocorrelated(rng, rows, 0.9),
    "autocorrelation 0.99": lambda rng, rows: autocorrelated(rng, rows, 0.99),
    "a season of 96 rows": seasonal,
}


@pytest.mark.parametrize("name", AT_REST)
@for_each("false_every", [1_000, 10_000])
def test_false_alarms_are_at_least_as_rare_as_promised(name, false_every):
    errors = AT_REST[name](np.random.default_rng(5), 200_000)
    assert dl.Alarm(false_every=false_every).update_many(errors).size <= 200_000 / false_every


@pytest.mark.parametrize("name", [name for name in AT_REST if name != "autocorrelation 0.99"])
def test_short_streams_have_few_false_alarms(name):
    """This holds before the errors' dependence is known. 1,000 rows cannot show a correlation over hundreds of rows."""
    raised = [dl.Alarm().update_many(AT_REST[name](np.random.default_rng(seed), 1000)).size for seed in range(60)]
    assert sum(raised) <= 12


# Twice the median delays, over such streams, of a CUSUM of the bets on sizes with the limit log(false_every).
@pytest.mark.parametrize(
    ("change", "most"),
    [(lambda e: 1.5 * e, 104), (lambda e: 2 * e, 38), (lambda e: 3 * e, 22), (lambda e: e + 1, 116), (lambda e: e - 2, 12)],
)
def test_changes_of_independent_errors_are_noticed_soon(change, most):
    delays = []
    for seed in range(40):
        errors = np.random.default_rng(seed).standard_normal(3000)
        errors[1000:] = change(errors[1000:])
        alarms = dl.Alarm().update_many(errors)
        delays.append(next((t - 999 for t in alarms if t >= 1000), math.inf))
    assert np.median(delays) <= most


@pytest.mark.parametrize("name", ["autocorrelation 0.9", "a season of 96 rows"])
def test_changes_of_dependent_errors_are_noticed(name):
    found = []
    for seed in range(20):
        errors = AT_REST[name](np.random.default_rng(seed), 4000)
        errors[2000:] *= 3
        found.append(any(2000 <= t < 2500 for t in dl.Alarm().update_many(errors)))
    assert sum(found) >= 14


@pytest.mark.parametrize("name", ["Gaussian", "Cauchy", "positive", "autocorrelation 0.5"])
def test_few_of_many_short_streams_have_a_false_alarm(name):
    rng = np.random.default_rng(3)
    assert sum(dl.Alarm().update_many(AT_REST[name](rng, 200)).size for _ in range(2500)) <= 1


def test_a_jump_in_a_short_stream_is_found():
    """Errors that become 8 times as large after 100 rows; the first 15 are those of an untrained model."""
    found, rng = [], np.random.default_rng(4)
    for _ in range(200):
        errors = rng.standard_normal(200)
        errors[:15] *= 8
        errors[100:] *= 8
        alarms = dl.Alarm().update_many(errors)
        found.append(100 <= next(iter(alarms), 0) < 140)
    assert np.mean(found) >= 0.95


def test_strongly_dependent_errors_that_grow_are_found_soon():
    delays = []
    for seed in range(40):
        errors = autocorrelated(np.random.default_rng(seed), 1300, 0.9)
        errors[1000:] *= 3
        delays.append(next((t - 999 for t in dl.Alarm().update_many(errors) if t >= 1000), math.inf))
    assert np.median(delays) <= 60
    assert np.isinf(delays).sum() <= 2


@pytest.mark.parametrize("every", [400, 1000])
@pytest.mark.parametrize("kind", ["slopes", "levels", "noise"])
def test_changes_that_repeat_are_all_found(kind, every):
    """An alarm within 100 rows of each rise, and at most one elsewhere in 2,000 rows."""
    rises, found, strays, rows = 0, 0, 0, 8 * every
    odd = np.arange(rows) // every % 2 == 1
    for seed, model in [(seed, model) for seed in range(4) for model in (dl.RLS(forgetting=0.99), dl.Kalman())]:
        rng = np.random.default_rng([seed, every])
        x, noise = rng.standard_normal((2, rows))
        slope, level = np.where(odd & (kind == "slopes"), -2.0, 1.0), 3.0 * (odd & (kind == "levels"))
        y = slope * x + level + np.where(odd & (kind == "noise"), 1.0, 0.5) * noise
        alarms = model.run(x[:, None], y).alarms
        changes = range(every, rows, 2 * every if kind == "noise" else every)
        near = [((alarms >= row) & (alarms < row + 100)) for row in changes]
        rises, found = rises + len(changes), found + sum(map(np.any, near))
        strays += (~np.any(near, axis=0)).sum()
    assert found >= 0.95 * rises
    assert strays <= 8 * rows / 2000


def test_a_season_is_no_series_of_changes():
    """Errors grow sevenfold within 500 rows and shrink again. Starting anew at each turn, an alarm would find every rise."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        errors = rng.standard_normal(200_000) * np.exp(np.sin(2 * np.pi * np.arange(200_000) / 1000))
        assert dl.Alarm().update_many(errors).size <= 20


def test_dependence_that_has_ended_is_forgotten():
    rng = np.random.default_rng(2)
    errors = np.concatenate([seasonal(rng, 20_000), rng.standard_normal(40_000)])
    errors[-100:] *= 3
    assert any(len(errors) - 100 <= t < len(errors) - 60 for t in dl.Alarm().update_many(errors))


def test_errors_that_become_smaller_raise_no_alarm():
    rng = np.random.default_rng(4)
    for before, after in ((rng.normal(-5, 1, 2000), rng.normal(0, 1, 500)), (rng.normal(0, 3, 2000), rng.normal(0, 1, 500))):
        assert dl.Alarm().update_many(np.concatenate([before, after])).size == 0


def test_two_outliers_in_succession_raise_no_alarm():
    errors = np.random.default_rng(6).standard_normal(4000)
    errors[3000:3002] = 1e6
    assert dl.Alarm().update_many(errors).size == 0


def test_errors_before_a_burst_still_count_after_it():
    """Ranked only among the errors since, the second burst would not be extreme enough."""
    errors = np.random.default_rng(9).standard_normal(4000)
    errors[3000:3004] = errors[3100:3104] = 3.5
    first, second = dl.Alarm().update_many(errors).tolist()
    assert 3000 <= first < 3004
    assert 3100 <= second < 3104


def test_the_sample_forgets_old_errors_and_keeps_its_spread():
    """The shares of old and new errors in the sample are those of a memory of about 384 times 4 rows.

    The errors change their sign, but neither become larger nor smaller.
    """
    alarm, rng = dl.Alarm(false_every=1e9), np.random.default_rng(0)
    assert alarm.update_many(np.concatenate([-rng.random(5000), rng.random(1536)])).size == 0
    sample = alarm.__getstate__()["sample"]
    assert np.mean(sample < 0) == pytest.approx(math.exp(-1), abs=0.06)
    np.testing.assert_allclose(np.quantile(sample[sample >= 0], [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.06)


def test_the_jumps_of_the_demo_raise_alarms():
    columns = demand.make()
    X = np.column_stack([columns[name] for name in ("temperature", "wind", "price")])
    alarms = dl.Auto().run(X, columns["demand"]).alarms
    for jump in (demand.NEW_PIPES, demand.NEW_DISTRICT):
        assert ((alarms >= jump) & (alarms < jump + 10)).sum() == 1
    assert len(alarms) <= 3


def test_equal_errors_raise_no_alarm():
    assert dl.Alarm(false_every=10).update_many(np.zeros(5000)).size == 0
    assert dl.Alarm(false_every=10).update_many(np.full(5000, np.inf)).size == 0


def test_mistakes_that_become_more_frequent_are_noticed():
    rng = np.random.default_rng(8)
    mistakes = np.concatenate([rng.random(2000) < 0.05, rng.random(500) < 0.5]).astype(float)
    (found,) = dl.Alarm().update_many(mistakes)
    assert 2000 <= found < 2060


def test_errors_one_at_a_time_and_all_at_once_agree():
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
def test_bad_parameters_are_refused(value):
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


def changed(name, place, value):
    return lambda state: {**state, name: np.where(np.arange(len(state[name])) == place, value, state[name])}


@for_each(
    "change",
    [
        *(changed("evidence", place, 10.0) for place in range(6)),
        changed("share", 1, 2.0),
        changed("share", 5, 0.0),
        changed("began", 3, 301.0),
        changed("began", 3, 0.5),
        changed("early", 0, 9.5),
        changed("before", 8, np.nan),
        changed("counts", 0, 300.5),
        changed("counts", 1, 301.0),
        changed("counts", 1, 20.0),
        changed("counts", 2, 1.0),
        changed("counts", 3, 5.0),
        changed("counts", 9, 65.0),
        changed("counts", 4, 65.0),
        changed("counts", 5, 301.0),
        changed("counts", 6, 65.0),
        changed("counts", 7, 300.0),
        changed("counts", 8, 300.0),
        changed("numbers", 1, 33.0),
        changed("numbers", 2, 0.0),
        changed("numbers", 5, 1.0),
        changed("numbers", 6, -1.0),
        changed("sign_half", 0, 10.0),
        changed("news_variance", 0, -1.0),
        changed("pairs", 8, 100.0),
        changed("recent", 7, 10.0),
        changed("sample", 0, 9.0),
        changed("sample", 0, np.nan),
        lambda state: {**state, "latest": np.ones(3)},
        lambda state: {name: values for name, values in state.items() if name != "news"},
    ],
)
def test_impossible_states_are_refused(change):
    alarm = dl.Alarm()
    alarm.update_many(np.random.default_rng(0).standard_normal(300))
    state = alarm.__getstate__()
    dl.Alarm().__setstate__(state)
    with pytest.raises((ValueError, KeyError), match=r"state|news"):
        dl.Alarm().__setstate__(change(state))


def test_a_run_reports_when_the_target_jumped():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(3000, 4))
    w = np.where(np.arange(3000)[:, None] < 2000, [1.0, 2.0, 3.0, 4.0], [4.0, -3.0, 2.0, -1.0])
    y = np.sum(X * w, axis=1) + 0.5 * rng.normal(size=3000)
    for model in (dl.RLS(), dl.Kalman(), dl.NLMS(), dl.Auto()):
        alarms = model.run(X, y).alarms
        assert alarms.dtype == np.int64
        assert ((alarms >= 2000) & (alarms < 2020)).sum() == 1
        assert (alarms < 2000).sum() == 0


@pytest.mark.parametrize("seed", range(6))
def test_a_second_early_alarm_matches_the_definition(seed):
    """The errors gathered for the first alarm are part of the sample again."""
    errors = np.random.default_rng(seed).normal(size=384)
    errors[90:] *= 3.0
    at = plain_alarms(errors, 1000)[0]
    errors[at + 80 :] *= 10.0
    expected = plain_alarms(errors, 1000)
    assert len(expected) > 1
    assert dl.Alarm(false_every=1000).update_many(errors).tolist() == expected
