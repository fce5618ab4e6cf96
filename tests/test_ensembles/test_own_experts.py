"""Auto(experts=[...]): the user's learners among Auto's experts."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

import driftline as dl
from tests.reference import team as plain


def stream(rows=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    y = 5 * np.sin(3 * X[:, 0]) * np.cos(3 * X[:, 1]) + np.cumsum(rng.normal(size=rows)) * 0.05 + 0.2 * rng.normal(size=rows)
    return X, y


def test_the_loss_is_within_1_percent_of_the_better_of_auto_and_the_expert():
    X, y = stream(4000)
    boosting = dl.Refit(HistGradientBoostingRegressor(max_iter=60, random_state=0), every=500, window=3000, lags=[1, 2])
    both = dl.Auto(experts=[boosting])
    alone = [model.run(X, y).losses[1000:].mean() for model in (dl.Auto(), boosting.clone())]
    assert both.run(X, y).losses[1000:].mean() < 1.01 * min(alone)
    assert sum(both.weights_.values()) == pytest.approx(1.0)
    useless = dl.Auto(experts=[dl.LMS(rate=1e-6)]).run(X, y).losses[1000:].mean()
    assert useless < 1.01 * alone[0]


def test_predictions_match_the_plain_version_of_blends_and_final_mixture():
    X, y = stream(600)
    experts = [dl.RLS(forgetting=0.95), dl.Kalman()]
    predicted = np.column_stack(
        [model.run(X, y).predictions for model in (dl.Auto(), *(expert.clone() for expert in experts))]
    )
    first = predicted[:, :1]
    blends = [first + share * (predicted[:, 1:] - first) for share in (0.25, 0.75)]
    model = dl.Auto(experts=experts)
    run = model.run(X, y)
    np.testing.assert_allclose(
        run.predictions,
        plain.final_mixture(np.column_stack([predicted, *blends, predicted.mean(axis=1)]), y),
        rtol=1e-8,
        atol=1e-10,
    )
    shares = [f"{share} {name}" for share in ("a quarter of", "three quarters of") for name in ("RLS 1", "Kalman 2")]
    assert list(model.weights_) == ["Auto", "RLS 1", "Kalman 2", *shares, "mean"]


def test_run_equals_the_loop_by_learn_one_or_ask_and_tell():
    X, y = stream(400)
    whole, loop, asked = (dl.Auto(experts=[dl.RLS(forgetting=0.95), dl.Kalman()]) for _ in range(3))
    run = whole.run(X, y, level=0.9)
    for t in range(400):
        assert loop.predict_one(X[t]) == run.predictions[t]
        loop.learn_one(X[t], y[t])
        ticket = asked.ask(X[t], delay=0)
        assert ticket.prediction == run.predictions[t]
        assert ticket.interval(0.9) == (run.lower[t], run.upper[t])
        asked.tell(ticket, y[t])
        if t == 200:
            loop, asked = dl.from_bytes(loop.to_bytes()), dl.from_bytes(asked.to_bytes())
    assert whole.to_bytes() == loop.to_bytes() == asked.to_bytes()


@pytest.mark.parametrize("delay", [2, 19])
def test_no_label_is_used_before_it_arrives(delay):
    X, y = stream(300)
    other = y.copy()
    other[200:] += 50
    predicted = []
    for labels in (y, other):
        model, waiting = dl.Auto(experts=[dl.RLS(), dl.Refit(LinearRegression(), every=30, lags=[1])]), []
        for t in range(300):
            waiting.append(model.ask(X[t], delay=delay))
            if t >= delay:
                model.tell(waiting[t - delay], labels[t - delay])
        predicted.append(np.array([ticket.prediction for ticket in waiting]))
    np.testing.assert_array_equal(predicted[0][: 201 + delay], predicted[1][: 201 + delay])
    assert not np.array_equal(predicted[0], predicted[1])


def test_growth_copies_explanations_and_errors():
    model = dl.Auto(experts=[dl.RLS()])
    for t in range(100):
        model.learn_one({"a": t % 3} if t < 50 else {"a": t % 3, "b": t % 2}, float(t % 3 + t % 2))
    assert "Weight by learner: Auto " in model.explain()
    assert model.clone().experts[0].get_params() == dl.RLS().get_params()
    with pytest.raises(ValueError, match=r"^Auto: experts must be a list of learners"):
        dl.Auto(experts=[3])
    with pytest.raises(ValueError, match=r"^Auto\.learn_one: y is NaN"):
        model.learn_one({"a": 0, "b": 0}, np.nan)
    assert repr(model).startswith("Auto(experts=[RLS(")
    assert repr(pickle.loads(pickle.dumps(model))) == repr(model)
    with pytest.raises(ValueError, match="Refit"):
        dl.Auto(experts=[dl.Refit(LinearRegression())]).to_bytes()


def test_auto_with_experts_is_an_auto_however_it_is_made(tmp_path):
    X, y = stream(300)
    model = dl.Auto(experts=[dl.RLS()])
    model.run(X, y)
    model.save(tmp_path / "model.drift")
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), dl.load(tmp_path / "model.drift")]
    for one in [*copies, model.clone(), clone(model)]:
        assert isinstance(one, dl.Auto)
        assert type(one) is type(model)
        assert type(one).__name__ == "Auto"
        assert repr(one) == repr(model)
        assert repr(one.get_params()) == repr(model.get_params())
    assert not isinstance(dl.Auto().clone(), type(model))
    for one in copies:
        assert np.array_equal(one.predict(X[:5]), model.predict(X[:5]))
    alone = dl.Auto().fit(X, y)
    assert (model.memory_, model.drift_) == (alone.memory_, alone.drift_)
    assert model.score(X, y) == dl.Auto(experts=[dl.RLS()]).fit(X, y).score(X, y)


def test_a_subclass_of_auto_takes_no_experts():
    class Mine(dl.Auto):
        pass

    assert isinstance(Mine(), Mine)
    with pytest.raises(TypeError, match="Mine has no parameter 'experts'"):
        Mine(experts=[dl.RLS()])
