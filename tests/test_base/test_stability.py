"""Warnings about predictions that may run away: issued once, with remedies, and never with a half-learned model."""

from __future__ import annotations

import warnings
from itertools import starmap

import numpy as np
import pytest

import driftline as dl
from driftline.base.stability import concerns
from driftline.features import Standardize
from tests.cases import for_each
from tests.streams import drifting
from tests.test_linear.test_keep_prior import calendar

SHORT = [
    dl.RLS(forgetting=0.8),
    dl.DFOP(forget_rate=0.2),
    dl.CRRLS(forgetting=0.8, period=1000),
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


def collinear(rows, d=5):
    """Two features are equal for longer than any short memory."""
    X, y = drifting(0, rows=rows, d=d)
    X[:, 1] = X[:, 0]
    return X, y


@for_each("verb", ["run", "partial_fit", "fit"])
@pytest.mark.parametrize("learner", SHORT, ids=repr)
def test_a_memory_that_does_not_determine_the_weights_causes_one_warning(learner, verb):
    X, y = collinear(200)
    model = learner.clone()
    with pytest.warns(
        dl.DriftlineWarning, match=r"memory of 5 rows does not determine 6 weights.*keep_prior=True"
    ) as caught:
        getattr(model, verb)(X, labels(learner, y))
    assert [str(item.filename) for item in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X, labels(learner, y))
        model.learn_one(X[0], labels(learner, y)[0])


@pytest.mark.parametrize("learner", SHORT, ids=repr)
def test_a_short_memory_whose_rows_determine_the_weights_causes_no_warning(learner):
    """The inputs vary in every direction, and the target moves so fast that a short memory is right."""
    X, y = drifting(0, rows=400, d=5, step=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = learner.clone().fit(X, labels(learner, y))
        model.partial_fit(X[:1], labels(learner, y)[:1])
    assert concerns(model) == []


def test_the_best_memory_in_hindsight_causes_no_warning_though_shorter_than_the_features():
    X, y = drifting(3, rows=3000, d=12, step=0.5)
    losses = {forgetting: np.mean(dl.RLS(forgetting=forgetting).run(X, y).losses) for forgetting in (0.9, 0.95, 0.99, 0.999)}
    assert min(losses, key=losses.get) == 0.9
    assert concerns(dl.RLS(forgetting=0.9).fit(X, y)) == []


def test_a_later_run_finds_rows_that_do_not_determine_the_weights():
    X, y = drifting(0, rows=100, d=5)
    model = dl.RLS(forgetting=0.8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    with pytest.warns(dl.DriftlineWarning, match="does not determine 6 weights"):
        model.run(*collinear(200))


@pytest.mark.parametrize("learner", CALM, ids=repr)
def test_other_learners_are_silent(learner):
    X, y = drifting(0, rows=200, d=5, step=0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = learner.clone().fit(X, y)
    assert concerns(model) == []


def test_learn_one_warns_of_the_risk_when_the_core_is_made_and_when_it_outgrows_its_memory():
    may = r"memory of 5 rows is less than the 6 weights\. If inputs stay constant"
    model = dl.RLS(forgetting=0.8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    with pytest.warns(dl.DriftlineWarning, match=may):
        model.learn_one(dict.fromkeys("abcde", 1.0), 1.0)
    with pytest.warns(dl.DriftlineWarning, match=may):
        dl.RLS(forgetting=0.8).learn_one(np.ones(5), 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.learn_one(dict.fromkeys("abcdef", 1.0), 1.0)


def test_a_warning_raised_as_an_error_leaves_nothing_learned():
    X, y = collinear(200)
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
    with pytest.warns(dl.DriftlineWarning, match="less than the 6 weights"):
        fleet.run(np.arange(30) % 3, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fleet.run(np.arange(30) % 3, X, y)


RUNAWAY = dl.RLS(forgetting=lambda t: 0.9)  # a function's values are unknown, so there is no warning beforehand
FAR = r"predictions missed labels by up to .* no label is larger than"


@pytest.mark.parametrize(
    "learner",
    [RUNAWAY, dl.Averaged(RUNAWAY), dl.Averaged(dl.Averaged(RUNAWAY))],
    ids=["alone", "averaged", "averaged twice"],
)
def test_predictions_far_beyond_the_labels_cause_a_warning_at_the_end_of_a_run(learner):
    X, y = calendar()
    with pytest.warns(dl.DriftlineWarning, match=FAR) as caught:
        learner.clone().run(X, y)
    assert len(caught) == 1


def test_other_learners_have_other_remedies():
    with pytest.warns(dl.DriftlineWarning, match="a smaller rate"):
        dl.LMS(rate=0.5).fit(np.full((8, 1), 4.0), np.ones(8))


def test_save_warns_of_predictions_that_ran_away_in_a_loop(tmp_path):
    X, y = calendar(1500)
    model = dl.RLS(forgetting=[0.9])
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
    with pytest.warns(dl.DriftlineWarning, match=FAR):
        model.save(tmp_path / "model")


@pytest.mark.parametrize("verb", ["run", "learn_many", "learn_one"])
def test_a_fleet_names_a_model_whose_predictions_ran_away(verb):
    """The model of key "b" runs away; the others stay near the labels."""
    X, y = np.ones((24, 1)), np.ones(24)
    keys = ["abc"[t % 3] for t in range(24)]
    X[1::3] *= 4
    fleet = dl.Fleet(dl.LMS(rate=0.5), named=True)
    calls = zip(keys, X, y, strict=True) if verb == "learn_one" else [(keys, X, y)]
    with pytest.warns(dl.DriftlineWarning, match=rf"^Fleet: the model of the key 'b': LMS: {FAR}") as caught:
        list(starmap(getattr(fleet, verb), calls))
    assert len(caught) == 1


def test_a_fleet_learns_nothing_if_a_warning_is_raised_as_an_error():
    fleet = dl.Fleet(dl.LMS(rate=0.5), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(dl.DriftlineWarning):
            fleet.run(np.zeros(8, dtype=int), np.full((8, 1), 4.0), np.ones(8))
    assert fleet.n_seen_.sum() == 0


@pytest.mark.parametrize("learner", [dl.Ridge(), dl.NLMS(), dl.Kalman(), dl.Auto()], ids=repr)
def test_labels_whose_squares_leave_the_range_cause_a_warning(learner):
    X, y = drifting(4, rows=50)
    y[30] = 1e200
    with pytest.warns(dl.DriftlineWarning, match=r"sum of squared errors left the range.*is more than 1e150\. Remedies"):
        learner.clone().fit(X, y)


def test_a_capped_figure_is_not_shown_as_exact():
    with pytest.warns(dl.DriftlineWarning, match=r"by more than 1e150, though no label is larger than 1\. "):
        dl.Ridge(ridge=1e-90, intercept=False).fit([[1e-30], [1e135]], [1.0, 1.0])


def test_a_prediction_a_few_times_too_large_causes_no_warning():
    model = dl.Ridge(intercept=False).fit([[1.0], [9.0]], [1.0, 1.0])
    assert concerns(model) == []
    assert "predictions missed labels" in concerns(dl.Ridge(intercept=False).fit([[1.0], [25.0]], [1.0, 1.0]))[0]


def test_learners_with_bounded_predictions_are_silent():
    """A first guess that misses a small label is not a prediction that ran away."""
    X, y = np.full((20, 2), 5.0), np.full(20, 0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (dl.EG(), dl.AAR(clip=1.0), dl.ARCOR(radius=1.0)):
            model.fit(X, y)
            model.clone().learn_one(X[0], y[0])
