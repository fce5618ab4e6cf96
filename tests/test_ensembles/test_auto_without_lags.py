"""Predictions without lags, for rows that need not follow the last one learned, as in scikit-learn's ``score``."""

import numpy as np
import pytest

import driftline as dl


def alternating(rows=1000, seed=0):
    """Labels that change sign from row to row, and two unrelated features."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, 2)), 5.0 * (-1.0) ** np.arange(rows) + 0.1 * rng.standard_normal(rows)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_predictions_without_lags_do_not_depend_on_earlier_labels(dtype):
    X, y = alternating()
    model = dl.Auto(dtype=dtype).fit(X, y)
    np.testing.assert_allclose(model.predict(X[:50]), -y[-1], atol=1.0)
    assert np.abs(model.predict(X[:50], lags=False)).max() < 2.0
    assert model.score(X, y) == pytest.approx(0.0, abs=0.1)


def test_a_fixed_target_is_predicted_as_by_least_squares():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((3000, 4))
    y = X @ [1.0, 2.0, -1.0, 0.5] + 3.0 + 0.1 * rng.standard_normal(3000)
    model = dl.Auto().fit(X[:2000], y[:2000])
    weights = np.linalg.lstsq(np.c_[X[:2000], np.ones(2000)], y[:2000], rcond=None)[0]
    np.testing.assert_allclose(model.predict(X[2000:], lags=False), np.c_[X[2000:], np.ones(1000)] @ weights, atol=0.05)
    order = rng.permutation(1000)
    assert model.score(X[2000:][order], y[2000:][order]) == pytest.approx(model.score(X[2000:], y[2000:]), rel=1e-12)


def test_names_missing_values_and_errors_work_as_with_lags():
    pandas = pytest.importorskip("pandas")
    X, y = alternating(200)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    model = dl.Auto(missing="skip").fit(frame, y)
    holed = frame.copy()
    holed.iloc[3, 1] = np.nan
    found = model.predict(holed, lags=False)
    assert np.isnan(found).tolist() == [row == 3 for row in range(200)]
    np.testing.assert_array_equal(np.delete(found, 3), np.delete(model.predict(frame, lags=False), 3))
    with pytest.raises(ValueError, match="features"):
        dl.Auto().fit(X, y).predict(X[:, :1], lags=False)
    assert model.predict_one({"a": 1.0, "b": 0.5}) == dl.from_bytes(model.to_bytes()).predict_one({"a": 1.0, "b": 0.5})
