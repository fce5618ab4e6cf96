"""River: pipelines, its metrics and its ways of evaluating."""

import numpy as np
import pytest
from river import base, compose, evaluate, metrics, preprocessing, stream

import driftline as dl


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


def test_a_pipeline_is_scaling_by_hand_and_the_learner(dicts):
    pipeline = preprocessing.StandardScaler() | dl.RLS()
    scaler, model = preprocessing.StandardScaler(), dl.RLS()
    for x, y in dicts:
        scaler.learn_one(x)
        scaled = scaler.transform_one(x)
        pipeline.learn_one(x, y)
        model.learn_one(scaled, y)
        assert pipeline.predict_one(x) == model.predict_one(scaled)


def test_rivers_evaluation_takes_what_is_registered_as_its_regressor(dicts):
    """River's metrics ask for an instance of its own class; one line makes every learner one."""
    base.Regressor.register(dl.Learner)
    metric = metrics.MSE()
    evaluate.progressive_val_score(dicts, preprocessing.StandardScaler() | dl.RLS(forgetting=0.95), metric)
    assert metric.get() < 0.5 * np.var([y for _, y in dicts])


def test_rivers_streams_of_arrays_and_frames_are_rows(rows):
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
