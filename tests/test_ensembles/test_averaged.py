"""Online-to-batch: the mean of the weights that predicted, in every way of learning."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from driftline.checks.tools import same
from tests.reference import Array, Case, Outcome, Reference
from tests.streams import EVERY, assert_one_way_of_learning, drifting, tables
from tests.test_linear import test_lms as lms


def plain(X: Array, y: Array) -> Outcome:
    """Schapire's lecture 18, Theorem 2: the mean of the weights with which LMS predicted; at the start, its first."""
    after = lms.plain(X, y).weights
    used = np.vstack([np.zeros(X.shape[1]), after[:-1]])
    means = np.array([used[:m].mean(axis=0) for m in range(1, len(y) + 1)])
    before = np.vstack([used[:1], means[:-1]])
    return Outcome(predictions=np.array([w @ x for w, x in zip(before, X, strict=True)]), weights=means)


REFERENCE = Reference(plain, [Case()])

PARTS = sorted(name for name in EVERY if "logistic" not in name)


@given(st.sampled_from(PARTS), tables(30, 9), st.booleans())
def test_the_weights_are_the_mean_of_those_that_predicted(name, table, intercept):
    X, y = table
    model, plain = dl.Averaged(EVERY[name](intercept=intercept)), EVERY[name](intercept=intercept)
    start = type(plain)(**plain.get_params(deep=False))
    start._meet(X[0], None)
    after = plain.run(X, y, weights_every=1).weights
    used = np.vstack([start._weights, after[:-1]])
    run = model.run(X, y, weights_every=1)
    rows = np.column_stack([X, np.ones(len(X))]) if intercept else X
    for t in range(len(X)):
        mean = used[: t + 1].mean(axis=0)
        np.testing.assert_allclose(run.weights[t], mean, rtol=1e-12, atol=1e-12 * np.abs(used).max())
        before = used[:t].mean(axis=0) if t else used[0]
        np.testing.assert_allclose(run.predictions[t], before @ rows[t], rtol=1e-9, atol=1e-11 * np.abs(used).max())
    np.testing.assert_array_equal(model.learner_.coef_, plain.coef_)


@given(st.sampled_from(PARTS), tables(30, 6), st.lists(st.integers(1, 29), max_size=3), st.booleans())
def test_run_equals_the_loop_and_a_run_in_parts(name, table, cuts, single):
    X, y = table
    dtype = "float32" if single else "float64"
    whole, parts, looped = (dl.Averaged(EVERY[name](dtype=dtype)) for _ in range(3))
    run = assert_one_way_of_learning(whole, parts, looped, X, y, cuts)
    assert parts.certificate().loss == pytest.approx(run.losses.sum(), rel=1e-9)


def test_the_risk_matches_online_to_batch():
    """online_to_batch computes the average itself, from the snapshots of a run."""
    X, y = drifting(3, 200, 4)
    X /= np.linalg.norm(X, axis=1).max()
    fresh_X, fresh_y = drifting(3, 400, 4)
    fresh_X /= np.linalg.norm(fresh_X, axis=1).max()
    learner = dl.LMS(rate=0.1, intercept=False)
    bound = dl.regret.online_to_batch(learner, X, y, holdout=(fresh_X, fresh_y))
    model = dl.Averaged(learner)
    model.run(X, y)
    assert bound.observed == pytest.approx(np.mean((fresh_y - model.predict(fresh_X)) ** 2), rel=1e-9)


def test_averaging_lowers_the_risk_on_a_fixed_target():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5)) / np.sqrt(5)
    target = np.array([1.0, -1.0, 0.5, 0.0, 2.0])
    y = X @ target + rng.normal(size=3000)
    plain, model = dl.LMS(rate=0.3, intercept=False), dl.Averaged(dl.LMS(rate=0.3, intercept=False))
    plain.run(X, y)
    model.run(X, y)
    assert np.sum((model.coef_ - target) ** 2) < 0.2 * np.sum((plain.coef_ - target) ** 2)


def test_rows_that_are_not_learned_do_not_count():
    X, y = drifting(1, 40, 3)
    weight = np.ones(40)
    weight[[0, 5, 6, 39]] = 0
    holes = y.copy()
    holes[weight == 0] = np.nan
    some_rows, skipping, wanted = dl.Averaged(), dl.Averaged(missing="skip"), dl.Averaged()
    some_rows.run(X, y, sample_weight=weight)
    skipping.run(X, holes)
    wanted.run(X[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(some_rows.coef_, wanted.coef_)
    np.testing.assert_array_equal(skipping.coef_, wanted.coef_)
    assert skipping.n_skipped_ == 4


def test_the_weight_of_a_new_feature_counts_as_0_in_earlier_rows():
    model, rls = dl.Averaged(dl.RLS()), dl.RLS()
    used = []
    for t in range(12):
        row = {"a": 1.0 + t % 3} if t < 6 else {"a": 1.0 + t % 3, "b": float(t % 2)}
        used.append({name: rls.coef_[i] for i, name in enumerate(rls.feature_names_in_)} if t else {})
        model.learn_one(row, 2.0 * t % 5)
        rls.learn_one(row, 2.0 * t % 5)
    for i, name in enumerate("ab"):
        assert model.coef_[i] == pytest.approx(np.mean([weights.get(name, 0.0) for weights in used]), rel=1e-12)


@pytest.mark.parametrize("bad", [{"total": np.array([np.nan] * 4)}, {"total": np.zeros(2)}, {"count": np.array([1.5])}])
def test_an_invalid_mean_is_refused(bad):
    model = dl.Averaged()
    model.run(*drifting(1, 20, 3))
    state = model.__getstate__()
    with pytest.raises(ValueError, match="the state's mean is out of range"):
        model.__setstate__({**state, "core": {**state["core"], **bad}})
    assert same(model.__getstate__(), state)


def test_intervals_have_the_requested_coverage():
    X, y = drifting(5, 3000, 4, step=0.0)
    run = dl.Averaged(dl.LMS()).run(X, y, level=0.8)
    assert abs(np.mean((run.lower <= y) & (y <= run.upper)) - 0.8) < 0.03


def test_a_learner_that_diverges_leaves_the_state_unchanged():
    model = dl.Averaged(dl.LMS(rate=50.0))
    X, y = drifting(3, 5, 2)
    model.run(X[:1], y[:1])
    before = model.__getstate__()
    with pytest.raises(dl.DivergenceError, match=r"Averaged\.run"):
        model.run(np.tile(X, (900, 1)) * 100, np.tile(y, 900))
    assert same(model.__getstate__(), before)
