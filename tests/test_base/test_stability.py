"""Warnings where nothing holds predictions near the labels: once, with the remedy, and never a half-learned model."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import driftline as dl
from driftline.base.stability import concerns
from driftline.features import Standardize
from tests.streams import drifting
from tests.test_linear.test_keep_prior import calendar

SHORT = [
    dl.RLS(forgetting=0.8),
    dl.DFOP(forget_rate=0.2),
    dl.CRRLS(forgetting=0.8),
    dl.SecondOrder(time=dl.Divide(0.8)),
    Standardize() | dl.RLS(forgetting=0.8),
    dl.Averaged(dl.RLS(forgetting=0.8)),
    dl.Network([dl.Ridge(), dl.RLS(forgetting=0.8)]),
    dl.Classifier(dl.RLS(forgetting=0.8)),
]
CALM = [
    dl.RLS(forgetting=0.9),
    dl.RLS(forgetting=0.8, keep_prior=True),
    dl.SecondOrder(time=dl.Divide(0.8, keep_prior=True)),
    dl.Ridge(),
    dl.Kalman(drift=1.0),
    dl.LASER(),
    dl.NLMS(),
    dl.EG(),
    dl.SparseDFOP(dim=200),
    dl.Kernel(dl.RLS(forgetting=0.8), budget=20),
    dl.Auto(),
]


def labels(learner, y):
    return np.where(y > 0, 1, -1) if isinstance(learner, dl.Classifier) else y


@pytest.mark.parametrize("verb", ["run", "partial_fit", "fit"])
@pytest.mark.parametrize("learner", SHORT, ids=repr)
def test_a_memory_shorter_than_the_weights_is_warned_of_once(learner, verb):
    X, y = drifting(0, rows=30, d=5)
    model = learner.clone()
    with pytest.warns(dl.DriftlineWarning, match=r"memory of 5 rows .* 6 weights.*keep_prior=True.*Auto") as caught:
        getattr(model, verb)(X, labels(learner, y))
    assert [str(item.filename) for item in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X, labels(learner, y))
        model.learn_one(X[0], labels(learner, y)[0])


@pytest.mark.parametrize("learner", CALM, ids=repr)
def test_other_learners_are_silent(learner):
    X, y = drifting(0, rows=200, d=5, step=0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = learner.clone().fit(X, y)
    assert concerns(model) == []


def test_learn_one_warns_when_the_core_is_made_and_when_it_outgrows_its_memory():
    model = dl.RLS(forgetting=0.8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    with pytest.warns(dl.DriftlineWarning, match="6 weights"):
        model.learn_one(dict.fromkeys("abcde", 1.0), 1.0)
    with pytest.warns(dl.DriftlineWarning, match="6 weights"):
        dl.RLS(forgetting=0.8).learn_one(np.ones(5), 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.learn_one(dict.fromkeys("abcdef", 1.0), 1.0)


def test_a_warning_that_is_an_error_leaves_nothing_learned():
    X, y = drifting(1, rows=30, d=5)
    model = dl.RLS(forgetting=0.8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for learn in (lambda: model.fit(X, y), lambda: model.run(X, y), lambda: model.learn_one(X[0], y[0])):
            with pytest.raises(dl.DriftlineWarning):
                learn()
            assert model.n_seen_ == 0


def test_a_fleet_warns_when_it_begins_to_learn():
    X, y = drifting(2, rows=30, d=5)
    fleet = dl.Fleet(dl.RLS(forgetting=0.8), 3)
    with pytest.warns(dl.DriftlineWarning, match="6 weights"):
        fleet.run(np.arange(30) % 3, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fleet.run(np.arange(30) % 3, X, y)


def test_predictions_far_beyond_the_labels_are_warned_of_at_the_end_of_a_run():
    X, y = calendar()
    model = dl.RLS(forgetting=lambda t: 0.9)  # nobody knows what a function will say, so there is no warning beforehand
    with pytest.warns(dl.DriftlineWarning, match=r"missed labels by up to .* no label is larger than") as caught:
        run = model.run(X, y)
    assert len(caught) == 1
    assert np.abs(run.errors).max() > 10 * y.max()
    with pytest.warns(dl.DriftlineWarning, match="a smaller rate"):
        dl.LMS(rate=0.5).fit(np.full((8, 1), 4.0), np.ones(8))


def test_a_prediction_a_few_times_too_large_is_no_concern():
    model = dl.Ridge(intercept=False).fit([[1.0], [9.0]], [1.0, 1.0])
    assert concerns(model) == []
    assert "predictions missed labels" in concerns(dl.Ridge(intercept=False).fit([[1.0], [25.0]], [1.0, 1.0]))[0]


def test_learners_whose_form_bounds_their_predictions_are_silent():
    """A first guess that misses a small label is not a prediction that ran away."""
    X, y = np.full((20, 2), 5.0), np.full(20, 0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (dl.EG(), dl.AAR(clip=1.0), dl.ARCOR(radius=1.0)):
            model.fit(X, y)
            model.clone().learn_one(X[0], y[0])
