"""DFOP(forget_rate="adaptive"): many rates, mixed."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import driftline as dl
from driftline.ensembles.adaptive_dfop import RATES
from tests.reference import team as plain


def adaptive(**options):
    return dl.DFOP(forget_rate="adaptive", **options)


def stream(rows=400, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d))
    w = np.cumsum(0.1 * rng.normal(size=(rows, d)), axis=0)
    return X, np.sum(X * w, axis=1) + 0.3 * rng.normal(size=rows)


def test_predictions_match_the_plain_version_of_the_mixture():
    X, y = stream()
    predicted = np.column_stack([dl.DFOP(forget_rate=rate).run(X, y).predictions for rate in RATES])
    low, high = (each.accumulate(y)[:-1, None] for each in (np.minimum, np.maximum))
    far = 4 * np.maximum(high, -low)
    predicted[1:32] = np.clip(predicted[1:32], -far[:31], far[:31])
    predicted[32:] = np.clip(predicted[32:], (low - (high - low))[31:], (high + (high - low))[31:])
    expected = plain.final_mixture(predicted, y)
    np.testing.assert_allclose(adaptive().run(X, y).predictions, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["rotating", "switching"])
@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize("rate", [0.002, 0.02, 0.1])
def test_the_loss_is_within_3_percent_of_the_rate_tuned_in_hindsight(name, noise, rate):
    X, y = dl.streams.make(name, rate=rate, noise=noise, seed=0).take(2000)
    best = min(dl.DFOP(forget_rate=float(mu)).run(X, y).losses.sum() for mu in np.geomspace(0.0003, 0.4, 20))
    assert adaptive().run(X, y).losses.sum() < 1.03 * best


@pytest.mark.parametrize("options", [{}, {"intercept": False}, {"dtype": "float32"}, {"low": -1.0, "high": 1.0}])
def test_run_equals_the_loop_by_learn_one_or_ask_and_tell(options):
    X, y = stream(200)
    y = np.clip(y, -1, 1) if "low" in options else y
    whole, loop, asked, parts = (adaptive(**options) for _ in range(4))
    run = whole.run(X, y, level=0.9, weights_every=50)
    for t in range(200):
        assert loop.predict_one(X[t]) == run.predictions[t]
        assert loop.predict_interval(X[t]) == (run.lower[t], run.upper[t])
        loop.learn_one(X[t], y[t])
        if (t + 1) % 50 == 0:
            np.testing.assert_array_equal(run.weights[t // 50], loop._weights)
        ticket = dl.Ticket.from_bytes(asked.ask(X[t], delay=0).to_bytes())
        assert ticket.prediction == run.predictions[t]
        asked.tell(ticket, y[t])
    for cut in (slice(0, 70), slice(70, 200)):
        np.testing.assert_array_equal(parts.run(X[cut], y[cut]).predictions, run.predictions[cut])
    for other in (loop, asked, parts):
        assert other.weights_ == whole.weights_
        np.testing.assert_array_equal(other.coef_, whole.coef_)


def test_the_model_is_linear_with_the_mean_of_the_rates_weights():
    X, y = stream()
    model = adaptive()
    run = model.run(X, y, weights_every=100)
    assert sum(model.weights_.values()) == pytest.approx(1.0)
    assert list(model.weights_) == sorted(RATES)
    assert run.shares.shape == (4, len(RATES))
    x = X[7]
    assert model.predict_one(x) == pytest.approx(model.coef_ @ x + model.intercept_, rel=1e-9)
    assert min(RATES) < model.forget_rate_ < max(RATES)
    explained = model.explain_one(x)
    assert sum(explained.contributions.values()) == pytest.approx(explained.prediction)


@pytest.mark.parametrize("delay", [1, 10])
def test_with_late_labels_predictions_use_only_labels_that_arrived(delay):
    X, y = stream(150)
    model = adaptive()
    tickets = []
    for t in range(150):
        tickets.append(model.ask(X[t]))
        before = adaptive()
        if t in (20, 90):
            for s in range(t - delay):
                before.tell(before.ask(X[s], delay=0), y[s])
            assert before.n_seen_ == model.n_seen_
        if t >= delay:
            model.tell(tickets[t - delay], y[t - delay])
    changed = y.copy()
    changed[100:] += 100.0
    other = adaptive()
    asked = []
    for t in range(100 + delay):
        asked.append(other.ask(X[t]))
        if t >= delay:
            other.tell(asked[t - delay], changed[t - delay])
    assert [one.prediction for one in asked] == [one.prediction for one in tickets[: 100 + delay]]


def test_growth_copies_saving_and_errors(tmp_path):
    X, y = stream()
    model = adaptive()
    model.run(X, y)
    model.save(tmp_path / "model.drift")
    for twin in (
        dl.load(tmp_path / "model.drift"),
        dl.from_bytes(model.to_bytes()),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ):
        np.testing.assert_array_equal(
            twin.run(X[:50], y[:50]).predictions, copy.deepcopy(model).run(X[:50], y[:50]).predictions
        )
    assert repr(clone(model)) == repr(model) == "DFOP(forget_rate='adaptive', prior=100.0)"
    names = adaptive()
    for row, label in zip(X[:40], y[:40], strict=True):
        names.learn_one({"a": row[0], "b": row[1]}, label)
    names.learn_one({"a": 1.0, "c": 2.0}, 3.0)
    assert names.feature_names_in_.tolist() == ["a", "b", "c"]
    before = model.predict_one(X[0])
    with pytest.raises(ValueError, match="NaN"):
        model.learn_one([np.nan, 1.0, 1.0], 1.0)
    assert model.predict_one(X[0]) == before
    with pytest.raises(ValueError, match="forget_rate='adaptive' needs a new learner"):
        dl.DFOP().set_params(forget_rate="adaptive")
    with pytest.raises(ValueError, match="forget_rate must be"):
        dl.DFOP(forget_rate="adaptve")
    with pytest.raises(ValueError, match="forget_rate must be 'adaptive'"):
        model.set_params(forget_rate=0.1)


def test_in_fleets_classifiers_and_pipelines():
    X, y = stream()
    keys = np.arange(len(y)) % 2
    fleet = dl.Fleet(adaptive())
    run = fleet.run(keys, X, y)
    np.testing.assert_array_equal(run.predictions[::2], adaptive().run(X[::2], y[::2]).predictions)
    labels = np.where(y > 0, "up", "down")
    assert (dl.Classifier(adaptive()).run(X, labels).predictions == labels).mean() > 0.7
    piped = (dl.features.Standardize() | adaptive()).run(X, y)
    assert np.isfinite(piped.predictions).all()
    with pytest.raises(ValueError, match="a second-order learner"):
        dl.Kernel(adaptive())


def test_a_rate_that_runs_away_does_not_carry_the_mixture_along():
    """Inputs stay constant for longer than short memories last, and then change: rates of 0.08 and more explode."""
    rng = np.random.default_rng(3)
    X = np.repeat(rng.normal(size=(8, 6)), 250, axis=0) + 1e-9 * rng.normal(size=(2000, 6))
    y = X @ rng.normal(size=6) + 0.1 * rng.normal(size=2000)
    model = adaptive()
    run = model.run(X, y)
    assert run.predictions[32:].max() <= y.max() + np.ptp(y)
    assert run.predictions[32:].min() >= y.min() - np.ptp(y)


def test_weights_of_rows_count():
    X, y = stream(100)
    weight = np.where(np.arange(100) % 3 == 0, 0.0, 1.0)
    whole, loop = adaptive(), adaptive()
    whole.partial_fit(X, y, sample_weight=weight)
    for x, label, one in zip(X, y, weight, strict=True):
        loop.learn_one(x, label, sample_weight=float(one))
    assert whole.n_seen_ == loop.n_seen_ == 66
    assert whole.weights_ == loop.weights_


def test_the_battery_of_checks_passes():
    dl.checks.check_learner(adaptive())
