"""Intervals by key: the same as those of a separate learner for each key."""

import copy

import numpy as np
import pytest

import driftline as dl
from driftline.features import Lags, Standardize

from .apart import keyed_rows, require_same

LEARNERS = [
    dl.RLS(forgetting=0.97),
    dl.RLS(forgetting=lambda t: 1 - 1 / (t + 3)),
    dl.Kalman(dtype="float32"),
    dl.ARCOR(),
    dl.NLMS(),
    dl.WEMM(ridge=9.0),
    dl.Auto(),
    Standardize() | Lags(y=2) | dl.RLS(),
]


LEVELS = [0.1, 0.5, 0.9]


def run_apart(learner, keys, X, y, level):
    """Models by key, the bounds of their intervals, and their quantiles."""
    models, lower, upper, quantiles = {}, np.empty(len(y)), np.empty(len(y)), np.empty((len(y), 3))
    for key in np.unique(keys).tolist():
        mine = keys == key
        models[key] = learner.clone()
        run = models[key].run(X[mine], y[mine], level=level, quantiles=LEVELS)
        lower[mine], upper[mine], quantiles[mine] = run.lower, run.upper, run.quantiles
    return models, lower, upper, quantiles


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("kept", [True, False])
def test_a_run_gives_the_intervals_of_separate_models(learner, kept):
    keys, X, y = keyed_rows(count=600)
    fleet = dl.Fleet(learner, 5, intervals=kept)
    run = fleet.run(keys, X, y, level=0.9, quantiles=LEVELS)
    models, lower, upper, quantiles = run_apart(learner, keys, X, y, 0.9)
    assert np.isfinite(upper).mean() > 0.9
    assert np.array_equal(run.quantiles, quantiles)
    assert run.quantile_levels.tolist() == LEVELS
    assert np.array_equal(run.lower, lower)
    assert np.array_equal(run.upper, upper)
    assert run.level == 0.9
    for key, model in models.items():
        require_same(fleet[key], model, intervals=kept)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_intervals_of_the_fleet_carry_over_from_call_to_call(learner):
    keys, X, y = keyed_rows(count=600)
    fleet = dl.Fleet(learner, named=True, intervals=True)
    names = np.array([f"key {key}" for key in range(5)])[keys]
    fleet.run(names[:200], X[:200], y[:200], level=0.5)
    fleet.learn_many(names[200:300], X[200:300], y[200:300])
    fleet = dl.from_bytes(fleet.to_bytes()) if not callable(getattr(learner, "forgetting", None)) else copy.copy(fleet)
    run = fleet.run(names[300:], X[300:], y[300:], level=0.9)
    models, lower, upper, _ = run_apart(learner, keys, X, y, 0.9)
    assert np.array_equal(run.lower, lower[300:])
    assert np.array_equal(run.upper, upper[300:])
    found = fleet.predict_intervals(names[:50], 2 * X[:50], 0.8)
    expected = [models[key].predict_interval(2 * x, 0.8) for key, x in zip(keys[:50].tolist(), X[:50], strict=True)]
    assert np.array_equal(np.column_stack(found), np.array(expected))
    quantiles = [models[key].predict_quantiles(2 * x, LEVELS) for key, x in zip(keys[:50].tolist(), X[:50], strict=True)]
    assert np.array_equal(fleet.predict_quantiles(names[:50], 2 * X[:50], LEVELS), quantiles)
    for key, model in models.items():
        require_same(fleet[f"key {key}"], model, intervals=True)


def test_without_intervals_in_the_fleet_each_run_starts_its_own():
    keys, X, y = keyed_rows()
    fleet = dl.Fleet(dl.RLS(), 5)
    bytes_before = None
    for _ in range(2):
        run = fleet.run(keys, X, y, level=0.9)
        first = np.array([np.flatnonzero(keys == key)[:9] for key in range(5)]).ravel()
        assert np.isinf(run.upper[first]).all()
        assert bytes_before in (None, fleet.nbytes)
        bytes_before = fleet.nbytes
    with pytest.raises(
        ValueError, match=r"^Fleet\.predict_intervals: the fleet keeps no intervals; create it with intervals"
    ):
        fleet.predict_intervals(keys, X)


@pytest.mark.parametrize("learner", [dl.RLS(), dl.LMS(), dl.Auto()], ids=lambda learner: type(learner).__name__)
def test_a_key_that_was_never_learned_has_no_interval(learner):
    fleet = dl.Fleet(learner, named=True, intervals=True)
    fleet.learn_many(["a"] * 30, np.ones((30, 2)), np.arange(30.0))
    lower, upper = fleet.predict_intervals(["a", "b"], np.ones((2, 2)))
    assert np.isfinite([lower[0], upper[0]]).all()
    assert (lower[1], upper[1]) == (-np.inf, np.inf)
    assert fleet.keys_ == ["a"]


@pytest.mark.parametrize("learner", [dl.RLS(), dl.Auto()], ids=lambda learner: type(learner).__name__)
def test_coverage_is_the_share_of_labels_inside_finite_intervals(learner):
    keys, X, y = keyed_rows(count=900)
    weight = np.tile([1.0, 1.0, 0.0], 300)
    fleet = dl.Fleet(learner, 6, intervals=True)
    assert np.isnan(fleet.summary()["coverage"]).all()
    run = fleet.run(keys, X, y, level=0.7, sample_weight=weight)
    table = fleet.summary()
    for key in range(5):
        mine = (keys == key) & (weight > 0) & np.isfinite(run.upper)
        inside = (y[mine] >= run.lower[mine]) & (y[mine] <= run.upper[mine])
        assert table["coverage"][key] == inside.mean()
        assert 0.5 < table["coverage"][key] < 0.9
    assert np.isnan(table["coverage"][5])


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5, "0.9", np.nan])
@pytest.mark.parametrize("learner", [dl.RLS(), dl.Auto()], ids=lambda learner: type(learner).__name__)
def test_an_invalid_level_is_refused(learner, level):
    fleet = dl.Fleet(learner, 2, intervals=True)
    for verb in (lambda: fleet.run([0], [[1.0]], [1.0], level=level), lambda: fleet.predict_intervals([0], [[1.0]], level)):
        with pytest.raises(ValueError, match="level must be"):
            verb()
    assert fleet.n_seen_.sum() == 0


def test_intervals_of_classes_are_refused():
    with pytest.raises(ValueError, match=r"^Fleet: intervals=True needs a regressor"):
        dl.Fleet(dl.Classifier(), 2, intervals=True)
    fleet = dl.Fleet(dl.Classifier(), 2)
    with pytest.raises(ValueError, match="class labels have no interval"):
        fleet.run([0], [[1.0]], ["a"], level=0.9)


def test_intervals_and_alarms_cost_the_memory_that_the_summary_states():
    keys, X, y = keyed_rows()
    sizes = {}
    for options in ({}, {"intervals": True}, {"alarms": True}, {"intervals": True, "alarms": True}):
        fleet = dl.Fleet(dl.RLS(), 5, **options)
        fleet.learn_many(keys, X, y)
        sizes[tuple(options)] = fleet.nbytes // 5
        assert fleet.summary()["memory"].tolist() == [fleet.nbytes // 5] * 5
    plain = sizes[()]
    assert 1500 < sizes["intervals",] - plain < 1900
    assert 6500 < sizes["alarms",] - plain < 7500
    assert sizes["intervals", "alarms"] - plain == sizes["intervals",] + sizes["alarms",] - 2 * plain
