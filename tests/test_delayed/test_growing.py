"""Rows without features, and loaded forecasters."""

import numpy as np
import pandas as pd
import pytest

import driftline as dl


def rows(count=150):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(count, 2))
    X[:60, 1] = 0.0  # a feature that appears at row 60
    return X, X @ [1.0, 2.0] + np.sin(np.arange(count) / 4) + 0.1 * rng.normal(size=count)


def test_a_loaded_forecaster_still_knows_which_features_are_known_ahead():
    X, y = rows()
    forecaster = dl.Forecaster(dl.RLS(), 3, known=[1])
    forecaster.run(X, y)
    before = forecaster.forecast(X[:3, 1:]).predictions
    loaded = dl.from_bytes(forecaster.to_bytes())
    assert np.array_equal(loaded.forecast(X[:3, 1:]).predictions, before)
    assert np.array_equal(loaded.forecast(np.column_stack([[9e9] * 3, X[:3, 1]])).predictions, before)


def test_a_forecaster_keeps_its_names_when_a_table_has_none():
    X, y = rows()
    forecaster = dl.Forecaster(dl.RLS(), 2)
    for row, label in zip(X[:50].tolist(), y[:50], strict=True):
        forecaster.learn_one(dict(zip("ab", row, strict=True)), label)
    forecaster.run(X[50:], y[50:])
    assert len(forecaster.forecast([{"a": 1.0, "b": 0.0}])) == 1


@pytest.mark.parametrize("make", [dl.Auto, dl.RLS], ids=lambda make: make.__name__)
def test_a_series_without_features_can_be_forecast(make):
    y = rows()[1]
    forecaster = dl.Forecaster(make(), 3, smoothing=False)
    for part in (slice(0, 40), slice(40, 150)):
        run = forecaster.run(np.empty((len(y[part]), 0)), y[part], level=0.8)
    for step in (1, 2, 3):
        model, predicted, waiting = make(), [], []
        for label in y.tolist():
            waiting.append((model.ask({}, delay=step - 1), label))
            predicted.append(waiting[-1][0].prediction)
            if len(waiting) >= step:
                model.tell(*waiting.pop(0))
        assert run.predictions[:, step - 1].tolist() == predicted[40:]
        for ticket, label in waiting:
            model.tell(ticket, label)
        assert forecaster.forecast(np.empty((3, 0)), 0.8).predictions[step - 1] == model.ask({}, step - 1).prediction


@pytest.mark.parametrize("X", [np.empty((40, 0)), pd.DataFrame(index=range(40))], ids=["array", "frame"])
def test_rows_without_features_are_learned_one_by_one_or_as_a_table(X):
    y = rows()[1][:40]
    single, whole = dl.Forecaster(dl.Auto(), 3), dl.Forecaster(dl.Auto(), 3)
    for label in y:
        single.learn_one({}, label)
    whole.run(X, y)
    assert whole.to_bytes() == single.to_bytes()
    assert whole.forecast(X[:2]).predictions.tolist() == single.forecast([{}, {}]).predictions.tolist()


def test_known_indices_of_named_features_are_saved_by_name():
    X, y = rows()
    forecaster = dl.Forecaster(dl.RLS(), 2, known=[1])
    forecaster.run(pd.DataFrame(X, columns=["a", "b"]), y)
    loaded = dl.from_bytes(forecaster.to_bytes())
    assert loaded.known == ["b"]
    assert loaded.forecast([{"b": 1.0}]).predictions == forecaster.forecast([{"b": 1.0}]).predictions


def test_a_forecaster_can_be_saved_after_a_row_with_a_missing_value():
    X, y = rows()
    X[-1, 0] = np.nan
    forecaster = dl.Forecaster(dl.RLS(missing="skip"), 2)
    forecaster.run(X, y)
    assert np.isfinite(dl.from_bytes(forecaster.to_bytes()).forecast(X[:2]).predictions).all()
