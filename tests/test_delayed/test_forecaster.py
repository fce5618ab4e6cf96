"""Forecasts: the model of each step equals a learner that had only the labels known at that step."""

from itertools import product

import narwhals
import numpy as np
import pandas as pd
import pytest

import driftline as dl
from driftline.features import Lags

STEPS = 5
LEARNERS = {
    "rls": dl.RLS,
    "auto": dl.Auto,
    "pipeline": lambda: Lags(y=[1, 24]) | dl.RLS(),
    "network": lambda: dl.Network([dl.RLS(), dl.Kalman()]),
}


def stream(rows=300):
    rng = np.random.default_rng(4)
    t = np.arange(rows)
    X = np.column_stack([rng.standard_normal(rows), np.sin(t * np.pi / 12)])
    return X, 2 * X[:, 1] + X[:, 0] + 0.1 * rng.standard_normal(rows)


def plainly(learner, X, y, step, known):
    """Predictions of one step from the beginning of the stream, by ask and tell in order of time."""
    predicted, waiting = np.full(len(y), np.nan), []
    for t in range(len(y)):
        row = X[t].copy()
        if known is not None:
            if t < step:
                continue
            others = [j for j in range(X.shape[1]) if j not in known]
            row[others] = X[t - step, others]
        ticket = learner.ask(row, step - 1)
        predicted[t] = ticket.prediction if t >= step - 1 else np.nan
        waiting.append((ticket, y[t]))
        if len(waiting) == step:
            learner.tell(*waiting.pop(0))
    return predicted, waiting


@pytest.mark.parametrize("known", [None, [1]])
@pytest.mark.parametrize("name", LEARNERS)
def test_run_equals_one_learner_per_step_with_late_labels(name, known):
    X, y = stream()
    run = dl.Forecaster(LEARNERS[name](), STEPS, known, smoothing=False).run(X, y)
    for step in range(1, STEPS + 1):
        predicted, _ = plainly(LEARNERS[name](), X, y, step, known)
        np.testing.assert_array_equal(run.predictions[:, step - 1], predicted)
    np.testing.assert_array_equal(run.errors, y[:, None] - run.predictions)


@pytest.mark.parametrize("known", [None, [1]])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_forecast_uses_every_label(name, known):
    """The model of step k first learns the waiting labels, then predicts k rows ahead."""
    X, y = stream()
    rows = 200
    forecaster = dl.Forecaster(LEARNERS[name](), STEPS, known, smoothing=False)
    forecaster.run(X[:rows], y[:rows])
    forecast = forecaster.forecast(X[rows : rows + STEPS] if known is None else X[rows : rows + STEPS, known], level=0.8)
    for step in range(1, STEPS + 1):
        learner = LEARNERS[name]()
        _, waiting = plainly(learner, X[:rows], y[:rows], step, known)
        for told in waiting:
            learner.tell(*told)
        row = X[rows + step - 1].copy()
        if known is not None:
            row[0] = X[rows - 1, 0]
        ticket = learner.ask(row, step - 1)
        assert forecast.predictions[step - 1] == ticket.prediction
        assert (forecast.lower[step - 1], forecast.upper[step - 1]) == ticket.interval(0.8)


@pytest.mark.parametrize("known", [None, ["wave"]])
def test_learning_row_by_row_in_tables_or_across_serialization_is_the_same(known, tmp_path):
    X, y = stream(120)
    names = ["noise", "wave"]
    whole, single, cut = (dl.Forecaster(dl.Auto(), STEPS, known) for _ in range(3))
    frame = pd.DataFrame(X, columns=names)
    whole.run(frame, y)
    for x, label in zip(X, y, strict=True):
        single.learn_one(dict(zip(names, x.tolist(), strict=True)), label)
    for start in range(0, 120, 17):
        cut.run(frame[start : start + 17], y[start : start + 17])
        cut.save(tmp_path / "f.drift")
        cut = dl.load(tmp_path / "f.drift")
    assert whole.to_bytes() == single.to_bytes() == cut.to_bytes()
    ahead = [{"wave": 0.1 * k, "noise": 0.5} for k in range(STEPS)]
    expected = whole.forecast(ahead).predictions
    np.testing.assert_array_equal(cut.forecast(pd.DataFrame(ahead)).predictions, expected)
    np.testing.assert_array_equal(single.forecast(ahead[:2]).predictions, expected[:2])


def test_forecasts_change_nothing():
    X, y = stream(150)
    asked, quiet = dl.Forecaster(dl.Auto(), 3), dl.Forecaster(dl.Auto(), 3)
    for t in range(150):
        asked.learn_one(X[t], y[t])
        quiet.learn_one(X[t], y[t])
        if t > 5:
            asked.forecast(X[:3])
    assert asked.to_bytes() == quiet.to_bytes()


def test_features_not_known_ahead_are_taken_from_the_origin():
    """If the first feature of the predicted row were used, the error would be close to 0."""
    X, y = stream(1000)
    seen = dl.Forecaster(dl.RLS(), 3).run(X, y).mse
    unseen = dl.Forecaster(dl.RLS(), 3, known=[1]).run(X, y).mse
    assert (seen < 0.1).all()
    assert (unseen > 0.9).all()


@pytest.mark.parametrize(("known", "first"), [(None, 1), ([1], 2)])
def test_no_row_counts_before_its_step_has_learned_a_label(known, first):
    """A step's first forecast needs a label that is k rows old and, unless all features are known ahead, an origin."""
    X, y = stream(40)
    X[0, 0] = np.nan  # so that the first label of a step comes later
    cut = dl.Forecaster(dl.RLS(missing="skip"), 6, known)
    runs = [cut.run(X[part], y[part], level=0.5) for part in (slice(0, 3), slice(3, 11), slice(11, 40))]
    predicted = np.concatenate([run.predictions for run in runs])
    informed = np.concatenate([run.informed(run.errors) for run in runs])
    for step in range(1, 7):
        expected = first * step + 1
        assert np.isfinite(informed[:, step - 1]).argmax() == expected
        assert np.isnan(informed[:expected, step - 1]).all()
    whole = dl.Forecaster(dl.RLS(missing="skip"), 6, known).run(X, y)
    np.testing.assert_array_equal(whole.predictions, predicted)
    np.testing.assert_allclose(whole.mse, [np.mean(column[~np.isnan(column)] ** 2) for column in informed.T])


def test_prequential_by_steps_counts_the_same_rows():
    X, y = stream(80)
    run = dl.Forecaster(dl.RLS(), 4, known=[1]).run(X, y, level=0.8)
    result = dl.evaluate.prequential(dl.Forecaster(dl.RLS(), 4, known=[1]), (X, y), steps=4, level=0.8, progress=False)
    (figures,) = result.by_step.values()
    np.testing.assert_allclose(figures["mse"], run.mse, rtol=1e-12)
    np.testing.assert_allclose(figures["coverage"], run.coverage, rtol=1e-12)
    assert list(result.skipped.values()) == [0]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_bad_value_of_a_feature_not_known_ahead_is_refused_at_once(value):
    """Later steps would use it only when it can no longer be undone."""
    forecaster = dl.Forecaster(dl.RLS(), 3, known=["hour"])
    for t in range(20):
        forecaster.learn_one({"hour": t % 24, "temp": 20.0 + t % 5}, t % 24)
    before = forecaster.to_bytes()
    with pytest.raises(ValueError, match=r"learn_one: x has (NaN|infinity) in feature 'temp'"):
        forecaster.learn_one({"hour": 2.0, "temp": value}, 2.0)
    with pytest.raises(ValueError, match=r"run: X has (NaN|infinity) in row 1, feature 'temp'"):
        forecaster.run(pd.DataFrame({"hour": [1.0, 2.0], "temp": [1.0, value]}), [1.0, 2.0])
    assert forecaster.to_bytes() == before
    forecaster.learn_one({"hour": 2.0, "temp": 1.0}, 2.0)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_forecaster_that_skips_missing_values_waits_for_a_complete_row(value):
    forecaster = dl.Forecaster(dl.RLS(missing="skip"), 3, known=["hour"])
    for t in range(20):
        forecaster.learn_one({"hour": t % 24, "temp": 20.0 + t % 5}, t % 24)
    forecaster.learn_one({"hour": 2.0, "temp": value}, 2.0)
    forecaster = dl.from_bytes(forecaster.to_bytes())
    with pytest.raises(ValueError, match="the last row has no value for the feature 'temp', which is not known ahead"):
        forecaster.forecast([{"hour": 3.0}])
    forecaster.learn_one({"hour": 3.0, "temp": 21.0}, 3.0)
    assert np.isfinite(forecaster.forecast([{"hour": 4.0}] * 3).predictions).all()


@pytest.mark.parametrize("make", [dl.NLMS, dl.LMS, dl.GD, dl.EG, dl.RLS, dl.Auto], ids=lambda make: make.__name__)
def test_fewer_rows_than_steps_are_learned(make):
    X, y = np.abs(stream(5)[0]), stream(5)[1]
    single, whole = (dl.Forecaster(make(), 3, known=[1]) for _ in range(2))
    for x, label in zip(X, y, strict=True):
        single.learn_one(x, label)
    whole.run(X[:3], y[:3])
    whole.run(X[3:], y[3:])
    assert single.to_bytes() == whole.to_bytes()
    assert len(whole.forecast(X[:3])) == 3


def test_intervals_are_earned_step_by_step():
    X, y = stream(100)
    run = dl.Forecaster(dl.RLS(), 10).run(X, y, level=0.9)
    for step in range(1, 11):
        finite = np.isfinite(run.upper[:, step - 1])
        assert finite.argmax() == 9 + step - 1  # nine labels, the last of them known ``step`` rows before
        assert finite[9 + step - 1 :].all()
    assert run.level == 0.9
    assert run.coverage.shape == (10,)


def test_coverage_holds_at_every_step():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((6000, 2))
    y = X @ [1.0, -1.0] + np.cumsum(0.1 * rng.standard_normal(6000))
    for learner in (dl.Kalman(), dl.Auto()):
        coverage = dl.Forecaster(learner, 12).run(X, y, level=0.9).coverage
        assert np.abs(coverage - 0.9).max() < 0.02, learner


def test_an_error_leaves_all_steps_unchanged():
    X, y = stream(60)
    forecaster = dl.Forecaster(dl.RLS(), 4)
    forecaster.run(X, y)
    before = forecaster.to_bytes()
    bad = X.copy()
    bad[40, 1] = np.nan
    with pytest.raises(ValueError, match=r"(?i)nan"):
        forecaster.run(bad, y)
    with pytest.raises(ValueError, match=r"(?i)nan"):
        forecaster.learn_one(X[0], np.nan)
    assert forecaster.to_bytes() == before


@pytest.mark.parametrize("known", [[np.int64(1)], np.array([1]), (1,)], ids=["numpy's number", "array", "tuple"])
def test_known_features_may_be_any_sequence(known):
    X, y = stream(60)
    found, expected = (dl.Forecaster(dl.RLS(), 2, given) for given in (known, [1]))
    found.run(X, y)
    expected.run(X, y)
    assert found.to_bytes() == expected.to_bytes()


def test_errors_name_the_bad_input():
    X, y = stream(60)
    forecaster = dl.Forecaster(dl.RLS(), 4, known=["wave"])
    with pytest.raises(ValueError, match="seen no row"):
        forecaster.forecast([{"wave": 1.0}])
    with pytest.raises(ValueError, match="known feature 'wave' is not among"):
        forecaster.run(X, y)
    forecaster.run(pd.DataFrame(X, columns=["noise", "wave"]), y)
    with pytest.raises(ValueError, match="5 rows, but the forecaster has 4 steps"):
        forecaster.forecast([{"wave": 1.0}] * 5)
    with pytest.raises(ValueError, match="row 1 of X_next lacks the feature 'wave'"):
        forecaster.forecast([{"wave": 1.0}, {"noise": 1.0}])
    with pytest.raises(ValueError, match="X_next lacks the feature 'wave'"):
        forecaster.forecast(pd.DataFrame({"noise": [1.0]}))
    with pytest.raises(ValueError, match="X_next has NaN in row 1, feature 'wave'"):
        forecaster.forecast([{"wave": 1.0}, {"wave": np.nan}])
    with pytest.raises(ValueError, match=r"differ from those of the first row: missing 'wave'; new 'other'$"):
        forecaster.learn_one({"noise": 1.0, "other": 2.0}, 1.0)
    with pytest.raises(ValueError, match="x has 3 features, expected 2"):
        forecaster.learn_one([1.0, 2.0, 3.0], 1.0)
    with pytest.raises(TypeError, match="regressor"):
        dl.Forecaster(dl.Classifier(), 3)
    with pytest.raises(ValueError, match="steps must be"):
        dl.Forecaster(dl.RLS(), 0)
    with pytest.raises(ValueError, match=r"steps must be a whole number in \[1, 10000\], got 100000000"):
        dl.Forecaster(dl.RLS(), 100_000_000)
    assert len(forecaster.forecast([])) == 0
    with pytest.raises(TypeError, match="known must be a list"):
        dl.Forecaster(dl.RLS(), 1, known="wave")


def test_filled_rows_are_learned_in_parts_as_in_one_run():
    X, y = stream(40)
    X[[0, 3, 9], 0] = np.nan
    whole = dl.Forecaster(dl.RLS(missing="mean"), 4).run(X, y)
    cut = dl.Forecaster(dl.RLS(missing="mean"), 4)
    predicted = np.concatenate([cut.run(X[t : t + 1], y[t : t + 1]).predictions for t in range(40)])
    np.testing.assert_allclose(predicted, whole.predictions, rtol=1e-12)
    assert whole.uninformed.tolist() == [1, 2, 3, 4]


def test_a_number_of_rows_is_enough_if_no_feature_is_known_ahead():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    blind, informed = dl.Forecaster(dl.RLS(), 5, known=[]), dl.Forecaster(dl.RLS(), 5)
    blind.run(X, y)
    informed.run(X, y)
    np.testing.assert_array_equal(blind.forecast(3).predictions, blind.forecast(np.full((3, 2), np.nan)).predictions)
    for count, words in ((0, "at least 1"), (6, "has 5 steps")):
        with pytest.raises(ValueError, match=words):
            blind.forecast(count)
    with pytest.raises(ValueError, match="X_next must hold the features that are known ahead, got 3"):
        informed.forecast(3)


def test_a_feature_that_is_listed_twice_is_refused():
    with pytest.raises(ValueError, match=r"known lists a feature twice: \['a', 'a'\]"):
        dl.Forecaster(dl.RLS(), 2, known=["a", "a"])


@pytest.mark.parametrize("learner", [dl.RLS(), dl.Auto()], ids=["rls", "auto"])
def test_quantiles_of_every_step_are_those_of_late_labels(learner):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((260, 2))
    y, levels, steps = X[:, 0] + rng.exponential(size=260), [0.1, 0.5, 0.9], 3
    forecaster = dl.Forecaster(learner, steps, smoothing=False)
    run = forecaster.run(X[:257], y[:257], quantiles=levels)
    forecast = forecaster.forecast(X[257:], quantiles=levels)
    assert forecaster.forecast(X[257:]).quantiles is None
    for delay in range(steps):
        model, tickets = learner.clone(), []
        for t in range(257):
            tickets.append(model.ask(X[t], delay))
            if t >= delay:
                model.tell(tickets[t - delay], y[t - delay])
        for t in range(257 - delay, 257):
            model.tell(tickets[t], y[t])
        wanted = np.array([ticket.quantiles(levels) for ticket in tickets])
        assert np.array_equal(run.quantiles[delay:, delay], wanted[delay:])
        assert np.isnan(run.quantiles[:delay, delay]).all()
        assert np.array_equal(forecast.quantiles[delay], model.ask(X[257 + delay], delay).quantiles(levels))


@pytest.mark.parametrize("missing", ["mean", "last", "zero", "skip", {"a": "zero", "b": "mean"}])
@pytest.mark.parametrize("known", [None, ["a"]])
def test_a_forecaster_fills_gaps_of_numbers_alike_however_the_rows_come(missing, known):
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(40, 2))
    rows[[7, 20], 1] = np.nan
    y = rows[:, 0] + np.nan_to_num(rows[:, 1])
    frame = pd.DataFrame(rows, columns=["a", "b"])
    named = [dict(zip("ab", row, strict=True)) for row in rows]
    new = {"a": 1.0, "b": 2.0}

    def learned(ways, next_row, known=known):
        f = dl.Forecaster(dl.RLS(missing=missing), steps=3, known=known)
        for way, begin, end in ways:
            if isinstance(way, list):
                for x, label in zip(way[begin:end], y[begin:end], strict=True):
                    f.learn_one(x, label)
            else:
                f.run(way[begin:end], y[begin:end])
        return f.forecast([next_row] * 3).predictions

    expected = learned([(named, 0, 40)], new)
    for first, second in product([named, frame], repeat=2):
        np.testing.assert_allclose(learned([(first, 0, 20), (second, 20, 40)], new), expected, rtol=1e-9)
    if isinstance(missing, str):
        for first, second in product([rows, rows.tolist()], repeat=2):
            unnamed = learned([(first, 0, 20), (second, 20, 40)], [1.0, 2.0], known and [0])
            np.testing.assert_allclose(unnamed, expected, rtol=1e-9)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_forecast_is_a_frame_of_any_library(library):
    X, y = stream(200)
    f = dl.Forecaster(dl.RLS(), 3)
    f.run(X, y)
    forecast = f.forecast(X[:3], level=0.8, quantiles=[0.25, 0.5])
    frame = narwhals.from_native(forecast.to_frame(library), eager_only=True)
    assert frame.columns == ["step", "prediction", "lower", "upper", "quantile_0.25", "quantile_0.5"]
    columns = [np.arange(1, 4), forecast.predictions, forecast.lower, forecast.upper, *forecast.quantiles.T]
    np.testing.assert_array_equal(frame.to_numpy(), np.column_stack(columns))


def test_a_frame_of_a_forecast_keeps_the_index_of_the_rows_to_forecast():
    X, y = stream(200)
    f = dl.Forecaster(dl.RLS(), 3)
    f.run(X, y)
    rows = pd.DataFrame(X[:2], index=["mon", "tue"])
    frame = f.forecast(X[:2]).to_frame(rows)
    assert frame.index.tolist() == ["mon", "tue"]
    assert frame.columns.tolist() == ["step", "prediction", "lower", "upper"]
    with pytest.raises(ValueError, match=r"^Forecast\.to_frame: like has 2 rows instead of 3$"):
        f.forecast(X[:3]).to_frame(rows)


@pytest.mark.parametrize("library", [None, "pandas", "polars", "pyarrow"])
def test_a_frame_of_a_forecast_has_its_times_in_any_library(library):
    times = pd.Series(pd.date_range("2024-01-01", periods=120, freq="h", tz="Europe/Berlin"))
    forecast = dl.Forecaster(dl.RLS(), 3, smoothing=True).fit(np.sin(np.arange(120.0)), times=times).forecast()
    frame = narwhals.from_native(forecast.to_frame(library), eager_only=True)
    assert frame.columns == ["step", "time", "prediction", "lower", "upper"]
    found = [moment.isoformat() for moment in frame["time"].to_list()]
    assert found == [f"2024-01-06T0{hour}:00:00+01:00" for hour in range(3)]
