"""River: its pipelines, metrics and evaluation."""

import subprocess
import sys

import numpy as np
import pytest
from river import base, compose, ensemble, evaluate, metrics, preprocessing, stream

import driftline as dl
from driftline.base import registry


@pytest.fixture
def dicts(rows):
    X, y = rows
    X = X * np.array([1.0, 1e3, 1e-3]) + np.array([0.0, 50.0, -1.0])
    return [
        (dict(zip(("small", "large", "tiny"), row, strict=True)), label)
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]


def test_a_pipeline_learns_and_predicts(learner, dicts):
    pipeline = preprocessing.StandardScaler() | learner
    assert isinstance(pipeline, compose.Pipeline)
    for x, y in dicts:
        prediction = pipeline.predict_one(x)
        assert np.isfinite(prediction)
        pipeline.learn_one(x, y)
    assert learner.n_seen_ == len(dicts)
    assert sorted(learner.feature_names_in_) == ["large", "small", "tiny"]


def test_a_pipeline_equals_scaling_by_hand_before_the_learner(dicts):
    pipeline = preprocessing.StandardScaler() | dl.RLS()
    scaler, model = preprocessing.StandardScaler(), dl.RLS()
    for x, y in dicts:
        scaler.learn_one(x)
        scaled = scaler.transform_one(x)
        pipeline.learn_one(x, y)
        model.learn_one(scaled, y)
        assert pipeline.predict_one(x) == model.predict_one(scaled)


def test_rivers_evaluation_treats_a_learner_as_a_regressor(dicts):
    assert all(isinstance(make(), base.Regressor) for make in registry.regressors().values())
    metric = metrics.MSE()
    evaluate.progressive_val_score(dicts, preprocessing.StandardScaler() | dl.RLS(forgetting=0.95), metric)
    assert metric.get() < 0.5 * np.var([y for _, y in dicts])


def test_river_imported_after_driftline_is_noticed():
    """In a fresh interpreter: here River is loaded already."""
    code = (
        "import driftline as dl; from river import evaluate, metrics;"
        "print(evaluate.progressive_val_score([({'a': 1.0}, 2.0)] * 50, dl.RLS(), metrics.MAE()))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("MAE: ")


def test_clones_have_the_parameters_and_have_learned_nothing(learner, rows):
    for x, y in zip(rows[0][:20], rows[1][:20], strict=True):
        learner.learn_one(dict(zip("abc", x, strict=True)), y)
    fresh = learner.clone()
    assert fresh.get_params() == learner.get_params()
    assert fresh.n_seen_ == 0
    assert learner.clone({"intercept": False}).intercept is False
    assert learner.clone(include_attributes=True).n_seen_ == 20
    assert (preprocessing.StandardScaler() | learner).clone()["StandardScaler"].counts == {}


def test_rivers_ensembles_accept_learners(dicts):
    bag = preprocessing.StandardScaler() | ensemble.BaggingRegressor(dl.RLS(), n_models=3, seed=1)
    metric = metrics.MSE()
    evaluate.progressive_val_score(dicts, bag, metric)
    assert metric.get() < 0.5 * np.var([y for _, y in dicts])


def test_rows_of_rivers_array_and_frame_streams_are_accepted(rows):
    X, y = rows
    model = dl.RLS()
    for x, label in stream.iter_array(X, y, feature_names=["a", "b", "c"]):
        model.predict_one(x)
        model.learn_one(x, label)
    wanted = dl.RLS()
    wanted.run(X, y)
    assert np.array_equal(model.coef_, wanted.coef_)


def test_features_that_appear_later_grow_the_model_in_a_pipeline(dicts):
    pipeline = preprocessing.StandardScaler() | dl.Kalman()
    for t, (x, y) in enumerate(dicts):
        pipeline.learn_one({**x, "late": float(t % 5)} if t > 100 else x, y)
    assert "late" in pipeline["Kalman"].feature_names_in_
    assert np.isfinite(pipeline.predict_one(dicts[0][0]))


def test_a_union_of_transformers_feeds_a_learner(dicts):
    pipeline = (compose.Select("small") + compose.Select("large")) | preprocessing.MinMaxScaler() | dl.NLMS()
    for x, y in dicts:
        pipeline.learn_one(x, y)
    assert sorted(pipeline["NLMS"].feature_names_in_) == ["large", "small"]


def test_bad_rows_are_refused_through_a_pipeline(dicts):
    pipeline = compose.Select("small", "large") | dl.RLS()
    pipeline.learn_one(*dicts[0])
    with pytest.raises(ValueError, match=r"RLS\.learn_one: y is NaN"):
        pipeline.learn_one(dicts[1][0], float("nan"))
    assert pipeline["RLS"].n_seen_ == 1
