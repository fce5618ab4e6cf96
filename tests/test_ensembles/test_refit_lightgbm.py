"""Refit with LightGBM, which ``make bench-rivals`` installs: every method, late labels, and Auto around it."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import driftline as dl

lightgbm = pytest.importorskip("lightgbm")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


def stream(rows=900, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(rows, 3))
    return X, 5 * np.sign(X[:, 0] * X[:, 1]) + np.sin(np.arange(rows) / 4) + 0.1 * rng.normal(size=rows)


def refit(**options):
    boosting = lightgbm.LGBMRegressor(n_estimators=30, n_jobs=1, verbose=-1, random_state=0)
    return dl.Refit(boosting, **{"every": 200, "window": 600, "lags": [1, 2, 24], **options})


def test_run_equals_the_loop_and_learns_what_no_linear_model_does():
    X, y = stream()
    whole, loop = refit(), refit()
    run = whole.run(X, y, level=0.9)
    for t in range(len(y)):
        assert loop.predict_one(X[t]) == run.predictions[t]
        assert loop.predict_interval(X[t], 0.9) == (run.lower[t], run.upper[t])
        loop.learn_one(X[t], y[t])
        if t == 250:
            loop = pickle.loads(pickle.dumps(loop))
    np.testing.assert_array_equal(loop.predict(X[:5]), whole.predict(X[:5]))
    assert run.losses[500:].mean() < 0.5 * dl.Ridge().run(X, y).losses[500:].mean()
    early = 5  # after 150, 100, 75, 50 and 37 rows
    assert whole.certificate().events == {"fits": early + 4, "failed_fits": 0}


def test_the_fit_equals_lightgbm_on_the_rows_and_lags_with_gaps():
    X, y = stream()
    model = refit(window=5000)
    predicted = model.run(X, y).predictions
    lags = np.column_stack([np.concatenate([np.full(lag, np.nan), y[:-lag]]) for lag in (1, 2, 24)])
    Z = np.column_stack([X, lags])
    wanted = clone(model.estimator).fit(Z[1:800], y[1:800]).predict(Z[820:])  # at row 0 no label is known
    low, high = y[1:800].min(), y[1:800].max()
    reach = 0.5 * (high - low)
    np.testing.assert_allclose(predicted[820:], np.clip(wanted, low - reach, high + reach))
    assert not hasattr(model.estimator, "n_features_")  # the given estimator is not fitted


def test_methods_of_scikit_learn_and_mappings_work():
    X, y = stream()
    model = refit(lags=())
    model.fit(X, y)
    assert model.score(X[-200:], y[-200:]) > 0.8
    model.partial_fit(X[:50], y[:50])
    assert model.n_seen_ == len(y) + 50
    named = refit(lags=())
    for t in range(500):
        named.learn_one(dict(zip("abc", X[t], strict=True)), y[t])
    other = refit(lags=())
    other.run(X[:500], y[:500])
    assert named.predict_one(dict(zip("abc", X[500], strict=True))) == other.predict_one(X[500])
    lower, upper = other.predict_intervals(X[500:600], 0.9)
    assert (lower < upper).all()
    assert other.clone().get_params().keys() == other.get_params().keys()


def test_saving_is_refused_and_the_advised_pickle_works():
    X, y = stream(600)
    model = refit()
    model.run(X, y)
    for refused in (model.to_bytes, lambda: model.save("model.drift"), dl.Auto(experts=[model]).to_bytes):
        with pytest.raises(
            ValueError, match=r"LGBMRegressor cannot be saved safely; pickle the learner .* the last window rows"
        ):
            refused()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X[:9]), model.predict(X[:9]))


@pytest.mark.parametrize("model", [refit(), dl.Auto(experts=[refit()])], ids=["Refit", "Auto with it"])
def test_no_late_label_is_used_before_it_arrives(model):
    X, y = stream()
    delay, predicted = 11, []
    for labels in (y, np.where(np.arange(len(y)) < 700, y, -y)):
        learner, waiting = model.clone(), []
        for t in range(len(y)):
            waiting.append(learner.ask(X[t], delay=delay))
            if t == 400:
                learner = pickle.loads(pickle.dumps(learner))
            if t >= delay:
                ticket = waiting[t - delay]
                learner.tell(dl.Ticket.from_bytes(ticket.to_bytes()) if t % 2 else ticket, labels[t - delay])
        predicted.append(np.array([ticket.prediction for ticket in waiting]))
    np.testing.assert_array_equal(predicted[0][: 701 + delay], predicted[1][: 701 + delay])
    assert (predicted[0][701 + delay :] != predicted[1][701 + delay :]).any()
    assert np.mean(np.square(predicted[0] - y)[500:]) < 0.6 * y.var()


def test_auto_with_lightgbm_is_close_to_the_better_of_the_two():
    X, y = stream(3000)
    both = dl.Auto(experts=[refit(every=250, window=3000)])
    alone = [model.run(X, y).losses[500:].mean() for model in (dl.Auto(), refit(every=250, window=3000))]
    assert both.run(X, y).losses[500:].mean() < 1.01 * min(alone)
    assert "Refit 1" in both.explain()
    assert sum(both.weights_.values()) == pytest.approx(1.0)
