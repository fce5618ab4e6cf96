from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import Perceptron, SGDRegressor

import driftline as dl
from driftline import evaluate
from driftline.evaluate.adapters import fresh, predicts_labels, takes_only_booleans
from tests.streams import looped
from tests.test_evaluate.peers import Zero

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import river.compat
    import river.ensemble
    import river.linear_model
    import river.metrics
    import river.model_selection
    import river.naive_bayes
    import river.preprocessing


@pytest.fixture
def rows():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 2))
    return X, X @ [1.0, -1.0] + 0.1 * rng.normal(size=300)


def test_a_river_model_can_be_evaluated_directly(rows):
    X, y = rows
    model, expected = river.linear_model.LinearRegression(), []
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        named = dict(enumerate(x))
        expected.append(model.predict_one(named))
        model.learn_one(named, label)
    result = evaluate.prequential(river.linear_model.LinearRegression(), rows, keep_predictions=True)
    assert result.predictions["LinearRegression"].tolist() == expected


def test_a_river_pipeline_can_be_evaluated(rows):
    pipeline = river.preprocessing.StandardScaler() | river.linear_model.LinearRegression()
    result = evaluate.prequential({"river": pipeline, "RLS": dl.RLS()}, rows)
    assert list(result.metrics) == ["mse", "mae", "r2"]
    assert result.totals["river"]["mse"] < 2.0


def test_a_river_classifier_is_scored_by_its_labels(rows):
    X, y = rows
    labels = np.where(y > 0, "up", "down")
    result = evaluate.prequential(river.naive_bayes.GaussianNB(), (X, labels))
    model, hits = river.naive_bayes.GaussianNB(), 0
    for x, label in zip(X.tolist(), labels.tolist(), strict=True):
        hits += model.predict_one(dict(enumerate(x))) == label
        model.learn_one(dict(enumerate(x)), label)
    assert result.totals["GaussianNB"] == {"accuracy": hits / 300}


@pytest.mark.parametrize(
    "wrap", [lambda model: model, evaluate.Mapped, lambda model: river.preprocessing.StandardScaler() | model]
)
def test_a_binary_river_classifier_learns_labels_in_either_encoding(rows, wrap):
    """It knows only True and False: it would learn -1 as something else, and its False is not -1."""
    X, y = rows[0], rows[1] > 0
    expected = looped(wrap(river.linear_model.LogisticRegression()), [dict(enumerate(x)) for x in X.tolist()], y)
    hits = float(np.mean(np.array(expected) == y))
    assert hits > 0.9
    for labels in (y, y.astype(int), np.where(y, 1.0, -1.0), np.where(y, 1, -1)):
        learner = wrap(river.linear_model.LogisticRegression())
        result = evaluate.prequential({"it": learner}, (X, labels), metrics=["accuracy", "mae"], keep_predictions=True)
        assert result.totals["it"]["accuracy"] == hits
        assert result.totals["it"]["mae"] == pytest.approx((1 - hits) * (labels.max() - labels.min().astype(float)))
        assert result.predictions["it"].tolist() == np.where(expected, 1, labels.min()).tolist()


def test_river_models_that_know_only_two_labels_are_recognised():
    regression, bayes = river.linear_model.LogisticRegression, river.naive_bayes.GaussianNB
    halving = river.model_selection.SuccessiveHalvingClassifier
    options = {"metric": river.metrics.Accuracy(), "budget": 100}
    assert takes_only_booleans(river.ensemble.BaggingClassifier(regression()))
    assert takes_only_booleans(halving([regression(), regression(l2=0.1)], **options))
    assert not takes_only_booleans(halving([bayes(), bayes()], **options))
    assert not takes_only_booleans(bayes())
    assert not takes_only_booleans(river.linear_model.LinearRegression())
    assert not takes_only_booleans(river.compat.SKL2RiverClassifier(Perceptron(), classes=[-1, 1]))
    assert not takes_only_booleans(dl.RLS())


def test_a_binary_river_classifier_is_scored_on_late_labels_and_fresh_rows():
    stream = dl.streams.SEA()
    model = river.preprocessing.StandardScaler() | river.linear_model.LogisticRegression()
    result = evaluate.prequential({"it": model}, stream, rows=2000, delay=5, holdout=200, holdout_every=1000)
    assert result.totals["it"]["accuracy"] > 0.8
    assert result.last("holdout")["it"]["accuracy"] > 0.8


@pytest.mark.parametrize(("labels", "message"), [((1, 2), "got 2"), (("up", "down"), "got '(up|down)'"), ((-1, 0), "got")])
def test_a_binary_river_classifier_refuses_other_labels(rows, labels, message):
    y = np.where(rows[1] > 0, *labels)
    with pytest.raises(ValueError, match=f"River's LogisticRegression takes labels 0 and 1, or -1 and 1, {message}"):
        evaluate.prequential(river.linear_model.LogisticRegression(), (rows[0], y))


def test_a_model_with_partial_fit_can_be_evaluated(rows):
    X, y = rows
    model, expected = SGDRegressor(random_state=0), [0.0]
    for t in range(299):
        model.partial_fit(X[t : t + 1], y[t : t + 1])
        expected.append(model.predict(X[t + 1 : t + 2])[0])
    result = evaluate.prequential(evaluate.PartialFit(SGDRegressor(random_state=0)), rows, keep_predictions=True)
    assert result.predictions["SGDRegressor"].tolist() == expected


def test_a_classifier_with_partial_fit_gets_its_classes(rows):
    X, y = rows
    peer = evaluate.PartialFit(Perceptron(), start=1, classes=[0, 1])
    result = evaluate.prequential(peer, (X, (y > 0).astype(int)))
    assert result.totals["Perceptron"]["accuracy"] > 0.85


def test_numeric_labels_can_be_scored_as_classes_or_numbers(rows):
    X, y = rows
    peer = evaluate.PartialFit(Perceptron(), start=1.0, classes=[-1.0, 1.0])
    total = evaluate.prequential(peer, (X, np.sign(y)), metrics=["accuracy", "mae"]).totals["Perceptron"]
    assert total["mae"] == pytest.approx(2 * (1 - total["accuracy"]))


def test_a_model_that_takes_mappings_can_be_evaluated(rows):
    class Names:
        def predict_one(self, x):
            return x[0] - x[1]

        def learn_one(self, x, y):
            assert isinstance(x, dict)

    result = evaluate.prequential(evaluate.Mapped(Names()), rows)
    assert result.totals["Names"]["mse"] == pytest.approx(0.01, rel=0.2)


def test_models_that_predict_labels_are_recognised():
    assert predicts_labels(evaluate.PartialFit(Perceptron()))
    assert predicts_labels(river.naive_bayes.GaussianNB())
    assert predicts_labels(river.preprocessing.StandardScaler() | river.naive_bayes.GaussianNB())
    assert not predicts_labels(river.preprocessing.StandardScaler() | river.linear_model.LinearRegression())
    assert not predicts_labels(dl.RLS())
    assert not predicts_labels(evaluate.PartialFit(SGDRegressor()))


def test_fresh_learners_are_untrained_and_do_not_change_their_base_estimator(rows):
    model = dl.RLS(forgetting=0.9)
    model.run(*rows)
    assert fresh(model, ridge=2.0).get_params() == model.get_params() | {"ridge": 2.0}
    assert fresh(model).n_seen_ == 0
    assert model.n_seen_ == 300
    assert isinstance(fresh(dl.RLS), dl.RLS)
    assert fresh(dl.RLS, forgetting=0.5).forgetting == 0.5
    peer = fresh(evaluate.PartialFit(SGDRegressor(eta0=0.5)), alpha=0.1)
    assert (peer.model.eta0, peer.model.alpha) == (0.5, 0.1)
    assert fresh(river.linear_model.LinearRegression(l2=0.5)).l2 == 0.5
    plain = Zero()
    fresh(plain).learn_one(None, None)
    assert plain.seen == 0
    with pytest.raises(TypeError, match="Zero has no get_params"):
        fresh(plain, rate=1.0)
