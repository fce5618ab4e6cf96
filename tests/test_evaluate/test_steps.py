"""Forecasts scored at every step, compared with a separate forecaster and plain formulas."""

import json

import numpy as np
import pandas as pd
import pytest

import driftline as dl
from driftline import evaluate
from tests.test_evaluate.test_scores import one_season_ago

STEPS = 3


def rows(count=400):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(count, 2))
    return X, X @ [1.0, 2.0] + 4 * np.sin(np.arange(count) * np.pi / 12) + 0.2 * rng.normal(size=count)


def mappings(X):
    return [dict(zip("ab", row, strict=True)) for row in X.tolist()]


@pytest.mark.parametrize("shape", ["array", "blocks", "frame", "mappings"])
def test_every_step_has_the_scores_of_a_forecaster(shape):
    X, y = rows()
    data = {
        "array": (X, y),
        "blocks": [(X[:1], y[:1]), (X[1:130], y[1:130]), (X[130:], y[130:])],
        "frame": (pd.DataFrame(X, columns=["a", "b"]), y),
        "mappings": (mappings(X), y),
    }[shape]
    learner = dl.Auto()
    result = evaluate.prequential({"it": learner}, data, steps=STEPS, level=0.8, keep_predictions=True)
    run = dl.Forecaster(dl.Auto(), STEPS).run(X, y, level=0.8)
    assert np.array_equal(result.predictions["it"], run.predictions, equal_nan=True)
    for step in range(STEPS):
        there = slice(step + 1, None)  # the rows whose forecast used a label
        errors, inside = run.errors[there, step], (run.lower <= y[:, None]) & (y[:, None] <= run.upper)
        finite = np.isfinite(run.upper[:, step])
        assert result.by_step["it"]["mse"][step] == pytest.approx(np.mean(errors**2))
        assert result.by_step["it"]["mae"][step] == pytest.approx(np.mean(np.abs(errors)))
        assert result.by_step["it"]["coverage"][step] == pytest.approx(np.mean(inside[finite, step]))
    assert result.totals["it"] == pytest.approx({name: own[0] for name, own in result.by_step["it"].items()})
    assert learner.n_seen_ == 0
    after = result.forecasters["it"].forecast(mappings(X[:2]) if shape in ("frame", "mappings") else X[:2])
    expected = dl.Forecaster(dl.Auto(), STEPS)
    expected.run(X, y)
    assert np.array_equal(after.predictions, expected.forecast(X[:2]).predictions)


def test_quantiles_of_every_step_are_scored():
    X, y = rows()
    levels = np.array([0.1, 0.5, 0.9])
    result = evaluate.prequential({"it": dl.RLS()}, (X, y), steps=STEPS, quantiles=levels)
    run = dl.Forecaster(dl.RLS(), STEPS).run(X, y, quantiles=levels)
    for step in range(STEPS):
        errors = y[:, None] - run.quantiles[:, step]
        finite = np.isfinite(errors).all(axis=1)
        expected = 2 * np.where(errors < 0, (levels - 1) * errors, levels * errors)[finite].mean()
        assert result.by_step["it"]["crps"][step] == pytest.approx(expected)
        last = np.concatenate([np.full(step + 1, np.nan), y[: -step - 1]])
        loss = []
        for t in range(len(y)):
            known = (y - last)[step + 1 : max(0, t - step)]  # the errors of rows whose label has come
            known = known[: len(known) // 20 * 20] if len(known) > 20 else known
            if len(known):
                error = y[t] - last[t] - np.quantile(known[-500:], levels)
                loss.append(2 * np.maximum(levels * error, (levels - 1) * error).mean())
        assert result.baselines_by_step["last value"]["crps"][step] == pytest.approx(np.mean(loss))


def test_baselines_use_the_labels_known_at_their_step():
    X, y = rows()
    result = evaluate.prequential(dl.RLS(), (X, y), steps=STEPS)
    for step in range(1, STEPS + 1):
        late = pd.Series(y).shift(step)
        expected = {
            "last value": y - late,
            "running mean": y - late.expanding().mean(),
            "seasonal value": y - one_season_ago(y, step - 1),
        }
        for title, errors in expected.items():
            found = result.baselines_by_step[title]
            assert found["mse"][step - 1] == pytest.approx(np.nanmean(errors**2))
            assert found["mae"][step - 1] == pytest.approx(np.nanmean(np.abs(errors)))


def test_rows_that_cannot_be_forecast_are_skipped_but_a_breakdown_raises():
    X, y = rows()
    X[200, 0] = np.nan
    y[300] = np.nan
    model = dl.Forecaster(dl.RLS(missing="skip"), STEPS, known=[1])
    result = evaluate.prequential({"it": model}, (X, y), steps=STEPS, keep_predictions=True)
    predicted = result.predictions["it"]
    for step in range(1, STEPS + 1):
        assert np.flatnonzero(np.isnan(predicted[:, step - 1])).tolist() == [*range(step), 200 + step]
        scored = np.isfinite(predicted[:, step - 1]) & np.isfinite(y)
        scored[: 2 * step] = False  # before the first label of the step is learned
        assert scored[200]  # its missing value is in a feature that is not known ahead
        assert result.by_step["it"]["mse"][step - 1] == pytest.approx(np.mean((y - predicted[:, step - 1])[scored] ** 2))
    broken = dl.LMS(rate=1e3, missing="skip")  # diverges within a few rows
    with pytest.raises(FloatingPointError):
        evaluate.prequential(broken, rows(), steps=STEPS)


def test_tables_and_json_have_every_step():
    X, y = rows()
    result = evaluate.prequential([dl.RLS(), dl.Kalman()], (X, y), steps=2)
    table = result.step_table()
    assert [row[:2] for row in table.rows[:5]] == [
        [1, "RLS"], [1, "Kalman"], [1, "(last value)"], [1, "(running mean)"], [1, "(seasonal value)"],
    ]  # fmt: skip
    assert len(table.rows) == 10
    assert "one step ahead" in str(result)
    found = json.loads(result.to_json())
    assert found["by_step"]["Kalman"]["mse"] == result.by_step["Kalman"]["mse"].tolist()
    with pytest.raises(ValueError, match="nothing was forecast"):
        evaluate.prequential(dl.RLS(), (X, y)).step_table()


@pytest.mark.parametrize(
    ("learner", "options", "error", "words"),
    [
        (dl.RLS(), {"delay": 2}, ValueError, "cannot be combined with delay or holdout"),
        (dl.RLS(), {"steps": 0}, ValueError, "steps must be"),
        (dl.Forecaster(dl.RLS(), 5), {}, ValueError, "steps is 3, but"),
        (dl.Classifier(dl.RLS()), {}, TypeError, "must be a regressor"),
    ],
)
def test_conflicting_arguments_are_refused(learner, options, error, words):
    with pytest.raises(error, match=words):
        evaluate.prequential(learner, rows(), **{"steps": STEPS} | options)


def test_feature_names_that_change_are_refused():
    X, y = rows()
    data = [*zip(mappings(X[:10]), y[:10], strict=True), ({"a": 1.0, "c": 2.0}, 1.0)]
    with pytest.raises(ValueError, match="the feature names differ from the first row"):
        evaluate.prequential(dl.RLS(), data, steps=STEPS)
