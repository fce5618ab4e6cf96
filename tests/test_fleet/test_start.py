"""Fleets whose keys start from a trained model, and models that are put into a fleet."""

import copy

import numpy as np
import pytest

import driftline as dl
from tests.cases import for_each

from .apart import keyed_rows, require_same

LEARNERS = [dl.RLS(), dl.NLMS(), dl.EG(), dl.RLS(forgetting=[0.5, 0.7, 0.9, 0.99]), dl.Auto()]


def trained(learner, rows=50):
    _, X, y = keyed_rows(seed=9)
    return learner.clone().partial_fit(X[:rows], y[:rows])


@for_each("learner", LEARNERS)
def test_every_key_continues_from_the_start(learner):
    keys, X, y = keyed_rows()
    start = trained(learner)
    fleet = dl.Fleet(learner, start=start, intervals=True)
    assert fleet.predict_one(7, X[0]) == start.predict_one(X[0])
    assert fleet.predict_intervals([7], X[:1])[0][0] == start.predict_interval(X[0])[0]
    run = fleet.run(keys, X, y, level=0.9)
    for key in range(5):
        mine, model = keys == key, copy.copy(start)
        alone = model.run(X[mine], y[mine], level=0.9)
        assert np.array_equal(run.predictions[mine], alone.predictions)
        assert np.array_equal(run.lower[mine], alone.lower)
        require_same(fleet[key], model, intervals=True)
    parts = [copy.deepcopy(part) for part in fleet.split(3)]
    for other in (copy.deepcopy(fleet), dl.Fleet.merge(parts)):
        assert other.predict_one(7, X[0]) == start.predict_one(X[0])
        require_same(other[2], fleet[2], intervals=True)
    fleet.drop([2])
    require_same(fleet[2], start)


@for_each("learner", [dl.RLS(), dl.Auto()])
def test_files_keep_the_start(learner):
    start = trained(learner)
    for fleet in (dl.Fleet(learner, start=start), dl.Fleet(learner, start=start, named=True)):
        loaded = dl.from_bytes(fleet.to_bytes())
        assert loaded.predict_many(["a"], np.ones((1, 3)))[0] == start.predict_one(np.ones(3))


def test_rows_must_fit_the_start():
    frame = {"x": 1.0, "z": 2.0}
    start = dl.RLS()
    start.learn_one(frame, 1.0)
    fleet = dl.Fleet(dl.RLS(), start=start)
    with pytest.raises(ValueError, match="'w' is new"):
        fleet.learn_one("a", {"w": 1.0}, 1.0)
    with pytest.raises(ValueError, match="features"):
        fleet.learn_many(["a"], [[1.0, 2.0, 3.0]], [1.0])
    fleet.learn_one("a", {"z": 2.0}, 1.0)
    assert fleet.feature_names_in_.tolist() == ["x", "z"]
    text = dl.RLS()
    text.learn_one({"shop": "oslo"}, 1.0)
    fleet = dl.Fleet(dl.RLS(), start=text)
    fleet.learn_one("a", {"shop": "rome"}, 1.0)
    assert fleet["a"].n_seen_ == 2


def test_the_start_must_be_trained_and_the_learner_must_not():
    start = trained(dl.RLS())
    for make, error, words in [
        (lambda: dl.Fleet(start), ValueError, r"learner must be untrained.*start=learner"),
        (lambda: dl.Fleet(dl.RLS(), start=dl.RLS()), ValueError, "start must be trained"),
        (lambda: dl.Fleet(dl.NLMS(), start=start), ValueError, "start must have the class and the parameters of NLMS"),
        (lambda: dl.Fleet(dl.RLS(forgetting=0.5), start=start), ValueError, "start must have the class and the parameters"),
        (lambda: dl.Fleet(dl.RLS(), start=3), TypeError, "start must be a driftline learner"),
    ]:
        with pytest.raises(error, match=words):
            make()
    one, other = (dl.Fleet(dl.RLS(), start=trained(dl.RLS(), rows)) for rows in (40, 50))
    for fleet, key in ((one, "a"), (other, "b")):
        fleet.learn_many([key], np.ones((1, 3)), [1.0])
    with pytest.raises(ValueError, match="different start"):
        dl.Fleet.merge([one, other])


@for_each("learner", [dl.RLS(), dl.NLMS(), dl.Auto()])
def test_a_model_is_put_in(learner):
    model = trained(learner)
    X = np.ones((2, 3))
    for fleet in (dl.Fleet(learner, intervals=True), dl.Fleet(learner, alarms=True)):
        fleet["b"] = model
        fleet.learn_many(["a", "b"], X, [1.0, 2.0])
        fleet["a"] = model
        fleet["c"] = fleet["b"]
        require_same(fleet["a"], model)
        model_b = copy.copy(model)
        model_b.partial_fit(X[:1], [2.0])
        require_same(fleet["b"], model_b)
        require_same(fleet["c"], model_b)
        assert fleet.keys_ == ["b", "a", "c"]


def test_a_model_that_does_not_fit_is_not_put_in():
    fleet = dl.Fleet(dl.RLS(), 2, named=True)
    fleet.learn_one("a", {"x": 1.0}, 1.0)
    before = fleet.to_bytes()
    wide, other, text = dl.RLS(), dl.RLS(), dl.RLS()
    wide.learn_one([1.0, 2.0], 1.0)
    other.learn_one({"z": 1.0}, 1.0)
    text.learn_one({"shop": "oslo"}, 1.0)
    for model, error, words in [
        (wide, ValueError, "2 features, expected 1"),
        (other, ValueError, r"features \['z'\], expected \['x'\]"),
        (text, ValueError, "columns of text"),
        (dl.RLS(), ValueError, "must be trained"),
        (dl.NLMS(), ValueError, "must have the class"),
        (3, TypeError, "must be a driftline learner"),
    ]:
        with pytest.raises(error, match=words):
            fleet["b"] = model
    fleet["b"] = fleet["a"]
    with pytest.raises(ValueError, match="all 2 models are taken"):
        fleet["c"] = fleet["a"]
    fleet.drop(["b"])
    assert fleet.to_bytes() == before
