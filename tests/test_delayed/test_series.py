"""Forecasts from the labels alone, and how they are mixed with the learner's."""

import pickle

import numpy as np
import pytest

import driftline as dl
from driftline import _core
from driftline.errors import ModelFileError

STEPS = 6


def monthly(rows=96, seed=0, missing=()):
    """A series with a trend and a season that multiply."""
    rng = np.random.default_rng(seed)
    t = np.arange(rows)
    y = 100 * np.exp(0.01 * t + 0.3 * np.sin(2 * np.pi * t / 12) + 0.03 * rng.standard_normal(rows))
    y[list(missing)] = np.nan
    return y


def learned(y, seasons=(), steps=STEPS):
    """The core's state after a series, with a learner that always says 0."""
    core = _core.Horizon(steps, list(seasons))
    said = np.zeros((len(y), steps))
    out = np.empty((5, *said.shape))
    core.rows(said, y, out)
    return core, out[0]


def experts(core, steps=STEPS):
    """Each expert's forecasts, by weights that are solved for from the state."""
    numbers = core.get_state()["numbers"]
    rows = int(numbers[0])
    per_origin = numbers[-steps * steps * 11 :].reshape(steps, steps, 11)
    return per_origin[(rows - 1) % steps, :, :4].T


def test_a_series_without_features_needs_only_its_labels():
    y = monthly()
    forecaster = dl.Forecaster(dl.Auto(), steps=12).fit(y[:84])
    forecast = forecaster.forecast(12)
    last_season = np.abs(y[72:84] - y[84:]).mean()
    assert np.abs(forecast.predictions - y[84:]).mean() < 0.6 * last_season
    assert len(forecaster.forecast()) == 12
    np.testing.assert_array_equal(forecaster.forecast(5).predictions, forecast.predictions[:5])


def test_fit_starts_afresh_and_update_goes_on():
    y = monthly()
    once = dl.Forecaster(dl.Auto(), STEPS).fit(y)
    again = dl.Forecaster(dl.Auto(), STEPS).fit(y[::-1].copy()).fit(y[:50]).update(y[50:])
    assert once.to_bytes() == again.to_bytes()


def test_fit_that_fails_changes_nothing():
    forecaster = dl.Forecaster(dl.Auto(), STEPS).fit(monthly())
    before = forecaster.to_bytes()
    with pytest.raises(ValueError, match=r"^Forecaster\.fit: .*7"):
        forecaster.fit(monthly(missing=[7]))
    assert forecaster.to_bytes() == before


def test_rows_one_by_one_in_tables_or_across_files_give_the_same_bits():
    X, y = np.random.default_rng(1).standard_normal((90, 2)), monthly(90)
    make = lambda: dl.Forecaster(dl.Auto(), STEPS, known=[1])  # noqa: E731
    whole, single, cut = make(), make(), make()
    run = whole.run(X, y, level=0.8, quantiles=[0.1, 0.5])
    for x, label in zip(X, y, strict=True):
        single.learn_one(x, label)
    parts = []
    for start in range(0, 90, 13):
        parts.append(cut.run(X[start : start + 13], y[start : start + 13], level=0.8))
        cut = pickle.loads(pickle.dumps(dl.from_bytes(cut.to_bytes())))
    assert whole.to_bytes() == single.to_bytes() == cut.to_bytes()
    np.testing.assert_array_equal(run.upper, np.concatenate([part.upper for part in parts]))


def test_a_forecast_is_the_one_that_run_gives_for_those_rows():
    """Bit for bit, with its interval: the mixture at a step uses what was known at the origin."""
    y = monthly(80)
    empty = np.empty((80, 0))
    run = dl.Forecaster(dl.Auto(), STEPS).run(empty, y, level=0.8, quantiles=[0.3, 0.9])
    forecast = dl.Forecaster(dl.Auto(), STEPS).fit(y[:70]).forecast(level=0.8, quantiles=[0.3, 0.9])
    steps = np.arange(STEPS)
    for name in ("predictions", "lower", "upper", "quantiles"):
        np.testing.assert_array_equal(getattr(forecast, name), getattr(run, name)[70 + steps, steps])


def test_the_learner_alone_is_left_as_it_is():
    X, y = np.random.default_rng(1).standard_normal((60, 2)), monthly(60)
    plain = dl.Forecaster(dl.Auto(), STEPS, smoothing=False)
    mixed = dl.Forecaster(dl.Auto(), STEPS)
    plain.run(X, y)
    mixed.run(X, y)
    for one, other in zip(plain.learners_, mixed.learners_, strict=True):
        assert one.to_bytes() == other.to_bytes()
    assert not plain.smoothing
    assert mixed.smoothing
    assert not dl.Forecaster(dl.RLS(), 2).smoothing
    assert dl.Forecaster(dl.RLS(), 2, smoothing=True).clone().smoothing


def test_a_model_saved_before_there_was_smoothing_has_none():
    forecaster = dl.Forecaster(dl.Auto(), 2, smoothing=False)
    forecaster.run(np.empty((20, 0)), monthly(20))
    state = forecaster.__getstate__()
    for name in ("smoothing", "seasons", "series"):
        del state[name]
    loaded = dl.Forecaster.__new__(dl.Forecaster)
    loaded.__setstate__(state)
    np.testing.assert_array_equal(loaded.forecast().predictions, forecaster.forecast().predictions)


def test_a_line_and_a_repeated_season_are_continued_exactly():
    t = np.arange(60.0)
    y = 50 + np.tile([3.0, -1, 4, -6], 15)
    core, _ = learned(y)
    assert core.seasons == [4]
    np.testing.assert_allclose(experts(core), np.tile(y[:STEPS], (4, 1)), rtol=1e-3)
    line, _ = learned(10 + 2 * t, steps=3)
    assert line.seasons == []
    np.testing.assert_allclose(experts(line, 3)[3], 10 + 2 * (60 + np.arange(3)), rtol=1e-12)  # the drift method
    np.testing.assert_allclose(experts(line, 3)[0], 10 + 2 * (60 + np.arange(3)), rtol=0.02)


def test_simple_smoothing_of_the_theta_method_agrees_with_the_formula():
    """By a plain loop: the rate of least squared error, its level, and half of the slope of the line by least squares."""
    y = 20 + np.random.default_rng(3).standard_normal(40).cumsum()
    core, _ = learned(y, seasons=[30])  # longer than half of the series: no season
    z = np.log(y)
    slope, level = np.polyfit(np.arange(40), z, 1)
    fits = []
    for rate in (0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 0.98):
        at, squares = level, 0.0
        for value in z:
            squares += (value - at) ** 2
            at += rate * (value - at)
        fits.append((squares, at + slope / 2 / rate))
    assert core.seasons == []
    np.testing.assert_allclose(experts(core)[2, 0], np.exp(min(fits)[1]), rtol=1e-10)


@pytest.mark.parametrize("missing", [(), (20, 21, 50, 90), tuple(range(70, 86))])
def test_rows_without_a_label_keep_their_place(missing):
    y = monthly(96, missing=missing)
    forecaster = dl.Forecaster(dl.Auto(missing="mean"), 12).fit(y)
    whole = monthly(108)
    assert np.abs(forecaster.forecast().predictions / whole[96:] - 1).mean() < 0.12
    assert forecaster.seasons_ == [12]


def test_seasons_are_found_or_given():
    t = np.arange(1500)
    hours = 10 + 3 * np.sin(2 * np.pi * t / 24) + np.where(t // 24 % 7 > 4, 4.0, 0) * np.sin(2 * np.pi * t / 24)
    noise = np.random.default_rng(0).standard_normal(1500)
    assert learned(hours + noise)[0].seasons == [24, 168]
    assert learned(noise)[0].seasons == []
    assert learned(noise.cumsum())[0].seasons == []
    forecaster = dl.Forecaster(dl.Auto(), 2, seasons=9).fit(noise[:60])
    assert forecaster.seasons_ == [9]
    assert dl.Forecaster(dl.Auto(), 2, seasons=(9, 3)).fit(noise[:60]).seasons_ == [3, 9]
    assert "seasons=[9]" in repr(forecaster)


@pytest.mark.parametrize("seasons", [1, 0, (2, 3, 4), (), 2.5, 2000])
def test_seasons_are_one_or_two_numbers_of_rows(seasons):
    with pytest.raises((ValueError, TypeError), match="seasons must be"):
        dl.Forecaster(dl.Auto(), 2, seasons=seasons)


def test_weights_follow_what_paid_at_the_step():
    """A learner that is always right soon has nearly all the weight; one that is always wrong none."""
    y = monthly(200)
    for truth, reached in ((True, 0.95), (False, 0.0)):
        core = _core.Horizon(3, [])
        said = np.repeat(y[:, None], 3, axis=1) if truth else np.zeros((200, 3))
        core.rows(said, y, np.empty((5, *said.shape)))
        weights = core.weights()
        np.testing.assert_allclose(weights.sum(axis=1), 1)
        assert (weights[:, 0] >= reached).all() if truth else (weights[:, 0] < 1e-3).all()


def test_labels_of_any_size_and_sign_leave_the_forecasts_finite():
    rng = np.random.default_rng(0)
    for scale in (1e-290, 1e-8, 1.0, 1e8, 1e140):
        for y in (
            rng.standard_normal(80),
            np.ones(80),
            np.zeros(80),
            np.exp(3 * rng.standard_normal(80)),
            np.repeat([1.0, -1], 40),
        ):
            core, mixed = learned(scale * y)
            assert np.isfinite(mixed).all()
            assert np.isfinite(core.weights()).all()
            assert np.abs(mixed).max() <= 5 * scale * np.ptp(y) + 2 * scale * np.abs(y).max()


def test_the_mixture_stays_within_the_learners_limits():
    y = np.maximum(monthly(60) - 120, 0)
    run = dl.Forecaster(dl.Auto(low=0, high=30), STEPS).run(np.empty((60, 0)), np.minimum(y, 30), level=0.9)
    assert np.nanmin(run.lower) >= 0
    assert np.nanmax(run.upper) <= 30


def test_a_long_series_keeps_a_bounded_window():
    core, _ = learned(np.random.default_rng(0).standard_normal(6000), steps=1)
    assert len(core.get_state()["labels"]) <= 2100
    unknown, _ = learned(np.full(9000, np.nan), steps=1)
    assert len(unknown.get_state()["labels"]) <= 2100


def test_a_forged_state_is_refused():
    y = monthly(60)
    core, _ = learned(y)
    good = core.get_state()
    for name, value in (("fitted", 10_000), ("fitted", -1), ("labels", np.zeros(9000)), ("numbers", good["numbers"][1:])):
        with pytest.raises(ValueError, match="state"):
            _core.Horizon(STEPS, []).set_state({**good, name: value})
    forecaster = dl.Forecaster(dl.Auto(), 2).fit(y)
    state = forecaster.__getstate__()
    with pytest.raises(ModelFileError, match="series"):
        dl.Forecaster.__new__(dl.Forecaster).__setstate__({**state, "series": {**state["series"], "fitted": 10_000}})


def spread_of_sums(y, steps, count=4000):
    """The standard deviation of the sum over all steps, by the sampled paths."""
    return dl.Forecaster(dl.Auto(), steps).fit(y).forecast().samples(count).sum(axis=1).std()


def test_sums_of_sampled_paths_are_spread_as_those_of_the_labels():
    """Independent labels add their variances; a random walk's sum over h steps has the variance h (h + 1) (2 h + 1) / 6."""
    noise, steps = np.random.default_rng(2).standard_normal(400), 7
    assert spread_of_sums(10 + noise, steps) == pytest.approx(np.sqrt(steps), rel=0.2)
    walk = np.sqrt(steps * (steps + 1) * (2 * steps + 1) / 6)
    assert spread_of_sums(noise.cumsum(), steps) == pytest.approx(walk, rel=0.25)


def test_sampled_paths_have_the_forecasts_quantiles_at_each_step():
    levels = [0.05, 0.5, 0.9]
    forecast = dl.Forecaster(dl.Auto(low=0), STEPS).fit(monthly()).forecast(quantiles=levels)
    paths = forecast.samples(20_000, seed=1)
    np.testing.assert_allclose(np.quantile(paths, levels, axis=0).T, forecast.quantiles, rtol=0.02)
    np.testing.assert_array_equal(paths, forecast.samples(20_000, seed=1))
    assert paths.min() >= 0


def test_paths_need_some_labels_and_a_forecaster_that_learns_them():
    y = monthly()
    with pytest.raises(ValueError, match="smoothing=True"):
        dl.Forecaster(dl.RLS(), 2).fit(y).forecast().samples(3)
    with pytest.raises(ValueError, match="too few labels"):
        dl.Forecaster(dl.Auto(), 2).fit(y[:5]).forecast().samples(3)
    with pytest.raises(ValueError, match="count must be"):
        dl.Forecaster(dl.Auto(), 2).fit(y).forecast().samples(0)


def test_intervals_of_a_short_series_widen_with_the_step_and_are_earned_by_all_steps():
    y = np.random.default_rng(5).standard_normal(40).cumsum()
    forecaster = dl.Forecaster(dl.Auto(), 8).fit(y[:18])
    assert not np.isfinite(forecaster.forecast(level=0.95).upper).any()  # the level needs 19 labels
    width = np.subtract(*(getattr(forecaster.update(y[18:]).forecast(level=0.95), end) for end in ("upper", "lower")))
    assert np.isfinite(width).all()
    assert width[-1] > 1.3 * width[0]


def test_intervals_of_short_series_hold_their_level():
    """Eighty random walks of 60 labels, the last 20 of them judged; Auto alone covers less of them."""
    inside = []
    for seed in range(80):
        y = np.random.default_rng(seed).standard_normal(60).cumsum()
        run = dl.Forecaster(dl.Auto(), 4).run(np.empty((60, 0)), y, level=0.9)
        inside.append(((run.lower <= y[:, None]) & (y[:, None] <= run.upper))[40:].mean(axis=0))
    assert np.abs(np.mean(inside, axis=0) - 0.9).max() < 0.04


def test_a_forecast_draws_itself_after_the_labels_that_it_holds(tmp_path):
    y = monthly()
    forecast = dl.Forecaster(dl.Auto(), STEPS).fit(y).forecast()
    np.testing.assert_array_equal(forecast.labels, y[-4 * STEPS :])
    axes = forecast.plot(path=tmp_path / "fan.png")
    drawn = {line.get_label(): line.get_ydata() for line in axes.lines}
    np.testing.assert_array_equal(drawn["labels"], y[-4 * STEPS :])
    np.testing.assert_array_equal(drawn["prediction"], forecast.predictions)
    assert (tmp_path / "fan.png").stat().st_size > 1000
