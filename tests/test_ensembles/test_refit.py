"""Refit: a scikit-learn regressor as a learner, against the equivalent loop."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import driftline as dl


def stream(rows=700, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, 2))
    y = np.where(X[:, 0] > 0.5, 3.0, 0.0) + np.sin(np.arange(rows) / 3) + 0.1 * rng.normal(size=rows)
    return X, y


def by_hand(estimator, X, y, every, window, lags, delay=0, takes_missing=True, skipped=()):
    """The predictions of a loop that refits; NaN before the first row that a fit predicts."""
    out, serving, coming, rows = np.full(len(y), np.nan), None, None, {}
    near = 0
    while near < len(lags) and lags[near] == near + 1:
        near += 1  # lags 1, 2, ... stand for the newest known labels if theirs are unknown
    for t in range(len(y)):
        back = [-(-(delay + 1) // lag) * lag if k >= near or lag > delay else delay + 1 + k for k, lag in enumerate(lags)]
        row = np.concatenate([X[t], [y[t - place] if t >= place else np.nan for place in back]])
        gaps = np.isnan(row).sum()
        if gaps < max(len(lags), 1) if takes_missing else gaps == 0:
            rows[t] = row
        if serving is not None and t in rows:
            model, low, high = serving
            predicted, reach = model.predict(rows[t][None])[0], 0.5 * (high - low)
            out[t] = np.clip(predicted, low - reach, high + reach)
        count = t - delay + 1  # labels known after this row
        if count < 1:
            continue
        if coming is not None and count >= coming[0]:
            serving, coming = coming[1], None
        at = [i for i in range(count) if i in rows and i not in skipped][-window:]
        early = count in {part * every // 2**k for k in range(2, 20) for part in (2, 3)} and count >= 32 and len(at) >= 32
        if (count % every == 0 and at) or early:
            model = type(estimator)(**estimator.get_params()).fit([rows[i] for i in at], y[at])
            coming = (count + min(count, every) // 10, (model, y[at].min(), y[at].max()))
            if coming[0] == count:
                serving, coming = coming[1], None
    return out


TREE, LINE = DecisionTreeRegressor(max_depth=4, random_state=0), LinearRegression()


@pytest.mark.parametrize("estimator", [TREE, LINE], ids=["takes missing values", "does not"])
@pytest.mark.parametrize(
    ("every", "window", "lags", "fits"),
    [(100, 5000, (), 7 + 3), (50, 120, (1, 2, 24), 14 + 1), (7, 40, (3,), 100), (300, 250, (1, 60), 2 + 6)],
)
def test_predictions_match_a_loop_by_hand(estimator, every, window, lags, fits):
    X, y = stream()
    model, takes_missing = dl.Refit(estimator, every=every, window=window, lags=lags), estimator is TREE
    wanted = by_hand(estimator, X, y, every, window, lags, takes_missing=takes_missing)
    served = ~np.isnan(wanted)
    assert served.sum() > 500
    np.testing.assert_allclose(model.run(X, y).predictions[served], wanted[served], rtol=1e-12 if takes_missing else 1e-9)
    short = {(1, 2, 24): 1, (1, 60): 3}  # the fits after 37, 56 and 75 rows have too few rows with all lags
    without = 0 if takes_missing else short.get(lags, 0)
    assert model.certificate().events["fits"] == fits - without
    assert not hasattr(estimator, "tree_")  # the given estimator is not fitted
    assert not hasattr(estimator, "coef_")


@pytest.mark.parametrize("delay", [0, 4])
def test_rows_without_a_label_keep_their_place(delay):
    X, y = stream()
    skipped = np.flatnonzero(np.random.default_rng(3).random(len(y)) < 0.1)[1:]
    torn = y.copy()
    torn[skipped] = np.nan
    filled = pd.Series(torn).ffill().to_numpy()
    wanted = by_hand(TREE, X, filled, 50, 300, (1, 2, 24), delay, skipped=set(skipped.tolist()))
    many, loop = (dl.Refit(TREE, every=50, window=300, lags=(1, 2, 24), missing="skip") for _ in range(2))
    predicted = dl.evaluate.prequential({"it": many}, (X, torn), delay=delay, keep_predictions=True).predictions["it"]
    served = ~np.isnan(wanted)
    assert served.sum() > 500
    np.testing.assert_array_equal(predicted[served], wanted[served])
    if not delay:
        for t in range(len(y)):
            assert loop.predict_one(X[t]) == predicted[t]
            loop.learn_one(X[t], torn[t])
    assert many.n_seen_ == len(y) - len(skipped)


@pytest.mark.parametrize("lags", [(1, 24), (1, 2, 3, 24), (2, 5)])
@pytest.mark.parametrize("delay", [1, 29])
def test_late_labels_are_learned_with_the_lags_known_at_their_prediction(delay, lags):
    X, y = stream()
    model, waiting, predicted = dl.Refit(TREE, every=100, window=300, lags=lags), [], []
    for t in range(len(y)):
        waiting.append(model.ask(X[t], delay=delay))
        predicted.append(waiting[-1].prediction)
        if t >= delay:
            model.tell(waiting[t - delay], y[t - delay])
    wanted = by_hand(TREE, X, y, 100, 300, lags, delay)
    served = ~np.isnan(wanted)
    assert served.sum() > 500
    np.testing.assert_array_equal(np.array(predicted)[served], wanted[served])


@pytest.mark.parametrize("lags", [(), (1, 5)])
def test_run_equals_the_loop_and_a_run_in_parts(lags):
    X, y = stream(rows=400)
    make = lambda: dl.Refit(DecisionTreeRegressor(max_depth=3, random_state=0), every=60, lags=lags)  # noqa: E731
    whole, loop, parts = make(), make(), make()
    wanted = whole.run(X, y, level=0.9)
    for t in range(400):
        assert loop.predict_one(X[t]) == wanted.predictions[t]
        assert loop.predict_interval(X[t], 0.9) == (wanted.lower[t], wanted.upper[t])
        loop.learn_one(X[t], y[t])
        if t in (100, 123):
            loop = pickle.loads(pickle.dumps(loop))
    got = [parts.run(X[at : at + 57], y[at : at + 57]).predictions for at in range(0, 400, 57)]
    np.testing.assert_array_equal(np.concatenate(got), wanted.predictions)
    np.testing.assert_array_equal(loop.predict(X[:5]), whole.predict(X[:5]))
    assert np.mean((wanted.lower <= y) & (y <= wanted.upper)) == pytest.approx(0.9, abs=0.05)


def test_a_call_that_fails_leaves_no_trace():
    X, y = stream(rows=300)
    model = dl.Refit(LinearRegression(), every=50)
    model.run(X, y)
    before = model.predict(X[:5])
    bad = X.copy()
    bad[120, 1] = np.nan
    with pytest.raises(ValueError, match="120"):
        model.run(bad, y)
    np.testing.assert_array_equal(model.predict(X[:5]), before)
    assert model.n_seen_ == 300


def test_before_the_first_fit_ridge_predicts_within_half_a_range_of_the_labels():
    X, y = stream(rows=100)
    X[60:, 1] *= 1e3
    model, loop = (dl.Refit(LinearRegression(), every=200, lags=[300]) for _ in range(2))
    ridge = dl.Ridge().run(X, y).predictions
    low, high = np.minimum.accumulate(y)[:-1], np.maximum.accumulate(y)[:-1]
    reach = 0.5 * (high - low)
    wanted = np.append(ridge[0], np.clip(ridge[1:], low - reach, high + reach))
    assert (wanted != ridge)[60:].any()
    np.testing.assert_allclose(model.run(X, y).predictions, wanted)
    for t in range(100):
        assert loop.predict_one(X[t]) == pytest.approx(wanted[t])
        loop.learn_one(X[t], y[t])
    np.testing.assert_array_equal(model.predict(X), loop.predict(X))


class Picky(LinearRegression):
    """Refuses labels above 50."""

    def fit(self, X, y):
        if np.max(y) > 50:
            raise ValueError("too large")
        return super().fit(X, y)


def test_a_failed_fit_causes_a_warning_and_the_previous_fit_stays_in_use():
    X, y = stream(rows=400)
    y[150] = 60.0
    model, usual = (dl.Refit(kind(), every=100, window=100) for kind in (Picky, LinearRegression))
    with pytest.warns(
        dl.errors.DriftlineWarning, match="a fit failed, so the previous one stays in use: ValueError: too large"
    ):
        predicted = model.run(X, y, level=0.9).predictions
    wanted = usual.run(X, y).predictions
    np.testing.assert_array_equal(predicted[:210], wanted[:210])  # the failed fit would have predicted from here on
    line = LinearRegression().fit(X[:100], y[:100])
    np.testing.assert_allclose(predicted[210:310], line.predict(X[210:310]))
    np.testing.assert_array_equal(predicted[310:], wanted[310:])
    assert model.certificate().events == {"fits": 4 + 3, "failed_fits": 1}


def test_saving_is_refused_with_advice():
    model = dl.Refit(LinearRegression())
    with pytest.raises(ValueError, match="LinearRegression cannot be saved safely; pickle"):
        model.to_bytes()
    with pytest.raises(ValueError, match=r"Refit\.save"):
        model.save("model.drift")
    with pytest.raises(ValueError, match="estimator must be a scikit-learn regressor"):
        dl.Refit(3)
    with pytest.raises(ValueError, match="lags must be"):
        dl.Refit(LinearRegression(), lags=[0])


def test_refit_takes_new_features_and_works_in_a_network():
    rng = np.random.default_rng(2)
    model = dl.Refit(DecisionTreeRegressor(max_depth=3), every=50, window=200)
    for t in range(400):
        x = {"a": rng.normal()} if t < 120 else {"a": rng.normal(), "b": rng.normal()}
        model.learn_one(x, 5.0 * (x.get("b", 0.0) > 0))
    assert model.predict_one({"a": 0.0, "b": 1.0}) > 4
    X, y = stream()
    network = dl.Network([dl.RLS(), dl.Refit(HistGradientBoostingRegressor(max_iter=20), every=100)], top=dl.RLS())
    assert network.run(X, y).losses[300:].mean() < dl.RLS().run(X, y).losses[300:].mean()


def test_the_range_of_the_largest_labels_is_widened_without_a_warning():
    model = dl.Refit(DecisionTreeRegressor(), every=100)
    for label in (1.7e308, -1.7e308) * 10:
        model.learn_one([1.0], label)
    assert model.n_seen_ == 20
