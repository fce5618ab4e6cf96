"""A fleet gives the results of separate learners, bit for bit."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.base import registry
from driftline.base.processors import cores
from driftline.fleet.call import threads_for
from driftline.fleet.core import has_fixed_size
from tests.cases import for_each

from ..conftest import VARIANTS
from .apart import keyed_rows, require_same, run_apart

LEARNERS = [
    dl.RLS(forgetting=0.9),
    dl.RLS(forgetting=0.9, keep_prior=True),
    dl.Kalman(drift=1e-3),
    dl.ARCOR(schedule=2.0),
    dl.LASER(),
    dl.AAR(),
    dl.NLMS(),
    dl.EG(norm=3.0),
]


EVERY = {**registry.regressors(), **VARIANTS}


@pytest.mark.parametrize("name", list(EVERY))
def test_every_learner_gives_the_results_of_separate_learners(name):
    variant = EVERY[name]()
    keys, X, y = keyed_rows()
    fleet = dl.Fleet(variant, 7)
    run = fleet.run(keys, X, y)
    models, predictions = run_apart(variant, keys, X, y)
    assert np.array_equal(run.predictions, predictions)
    assert np.array_equal(run.errors, y - predictions)
    assert repr(run).startswith("Run(rows=300, mse=")
    for key, model in models.items():
        require_same(fleet[key], model)
    assert fleet[6].n_seen_ == 0
    ahead = X[:40] * 1.5
    expected = np.array([models[key].predict_one(x) for key, x in zip(keys[:40].tolist(), ahead, strict=True)])
    assert np.array_equal(fleet.predict_many(keys[:40], ahead), expected)


def test_all_linear_learners_of_the_registry_are_stored_in_one_block():
    apart = {name for name, make in registry.learners().items() if not has_fixed_size(make())}
    assert {"rls", "kalman", "arcor", "laser", "lms", "eg"}.isdisjoint(apart)
    assert {"auto", "network", "averaged", "sparse_dfop", "wemm", "classifier", "pipeline", "kernel"} <= apart


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@for_each("d", [1, 3, 4, 7, 8, 9, 16, 17, 33])
def test_every_width_gives_the_results_of_separate_learners(learner, dtype, d):
    learner = learner.clone({"dtype": dtype})
    keys, X, y = keyed_rows(keys=3, count=90, d=d)
    fleet = dl.Fleet(learner, 3)
    models, predictions = run_apart(learner, keys, X.astype(dtype), y)
    assert np.array_equal(fleet.run(keys, X.astype(dtype), y).predictions, predictions)
    for key, model in models.items():
        require_same(fleet[key], model)


@for_each("jobs", [1, 2, 3])
@pytest.mark.parametrize("learner", [dl.RLS(), dl.Kalman(), dl.NLMS(), dl.ARCOR(), dl.RLS(forgetting=[0.5, 0.9])], ids=repr)
def test_threads_change_nothing(learner, jobs, monkeypatch):
    monkeypatch.setattr("driftline.fleet.call.ROWS_FOR_A_THREAD", 1)
    keys, X, y = keyed_rows(keys=50, count=5000)
    fleet = dl.Fleet(learner, 50, jobs=jobs)
    run = fleet.run(keys, X, y)
    models, predictions = run_apart(learner, keys, X, y)
    assert np.array_equal(run.predictions, predictions)
    for key, model in models.items():
        require_same(fleet[key], model)


def test_a_fleet_uses_no_more_threads_than_cores():
    assert 1 <= threads_for(10**5, jobs=5000) <= cores()


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), cuts=st.lists(st.integers(0, 120), max_size=4), intercept=st.booleans(), which=st.data())
def test_any_rows_in_any_pieces_give_the_results_of_separate_learners(seed, cuts, intercept, which):
    learner = which.draw(st.sampled_from(LEARNERS)).clone({"intercept": intercept})
    keys, X, y = keyed_rows(keys=4, count=120, seed=seed)
    fleet = dl.Fleet(learner, 4)
    pieces = []
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), 120], strict=True):
        if start < stop:
            pieces.append(fleet.run(keys[start:stop], X[start:stop], y[start:stop]).predictions)
            fleet = which.draw(st.sampled_from([lambda f: f, copy.copy, lambda f: pickle.loads(pickle.dumps(f))]))(fleet)
    models, predictions = run_apart(learner, keys, X, y)
    assert np.array_equal(np.concatenate(pieces), predictions)
    for key, model in models.items():
        require_same(fleet[key], model)


def test_sample_weights_and_missing_values_apply_to_their_own_rows():
    keys, X, y = keyed_rows()
    X[7, 1], y[20] = np.nan, np.inf
    weight = np.tile([1.0, 0.0, 2.5], 100)
    learner = dl.RLS(missing="skip")
    fleet = dl.Fleet(learner, 5)
    run = fleet.run(keys, X, y, sample_weight=weight)
    models, predictions = run_apart(learner, keys, X, y, sample_weight=weight)
    assert np.array_equal(run.predictions, predictions, equal_nan=True)
    assert run.skipped == 2 == fleet.n_skipped_.sum()
    assert np.isnan(run.predictions[7])
    for key, model in models.items():
        require_same(fleet[key], model)


def test_resets_are_reported_by_row():
    keys, X, y = keyed_rows()
    fleet = dl.Fleet(dl.CRRLS(period=10), 5)
    run = fleet.run(keys, X, y)
    counts = np.zeros(5, dtype=int)
    expected = []
    for row, key in enumerate(keys):
        counts[key] += 1
        if counts[key] % 10 == 0:
            expected.append(row)
    assert run.resets.tolist() == expected


def test_arrays_hold_the_state_of_all_models():
    keys, X, y = keyed_rows()
    fleet = dl.Fleet(dl.RLS(), 6)
    assert fleet.n_seen_.tolist() == [0] * 6
    fleet.learn_many(keys, X, y)
    assert len(fleet) == 6
    assert fleet.coef_.shape == (6, 3)
    assert fleet.n_features_in_ == 3
    assert np.array_equal(fleet.n_seen_, np.bincount(keys, minlength=6))
    for key in range(5):
        assert np.array_equal(fleet.coef_[key], fleet[key].coef_)
        assert fleet.intercept_[key] == fleet[key].intercept_
    assert not fleet.coef_[5].any()
    assert fleet.keys_ == list(range(6))


def test_a_model_taken_out_is_a_copy():
    keys, X, y = keyed_rows()
    fleet = dl.Fleet(dl.RLS(), 5)
    fleet.learn_many(keys, X, y)
    model = fleet[2]
    before = fleet.predict_many([2], X[:1])
    model.learn_one(X[0], 100.0)
    assert fleet.predict_many([2], X[:1]) == before
    assert model.predict_one(X[0]) != before


def test_the_memory_layout_of_the_rows_does_not_matter():
    keys, X, y = keyed_rows()
    plain = dl.Fleet(dl.RLS(), 5).run(keys, X, y).predictions
    for other in (np.asfortranarray(X), X[::-1][::-1], np.repeat(X, 2, axis=1)[:, ::2]):
        assert np.array_equal(dl.Fleet(dl.RLS(), 5).run(keys.astype(np.uint16), other, y).predictions, plain)


def test_a_million_models_of_nine_weights_fit_in_600_megabytes():
    fleet = dl.Fleet(dl.RLS(dtype="float32"), 10**6)
    fleet.learn_many([5], np.ones((1, 8)), [1.0])
    assert fleet.nbytes < 600e6
