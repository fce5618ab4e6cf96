"""Several labels per row give the results of separate learners, with one shared S."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge as BatchRidge
from sklearn.metrics import r2_score

import driftline as dl
from driftline.checks.tools import require_same, require_same_state
from tests.cases import for_each


def fading(t):
    return 1 - 0.5 / t


MAKES = {
    "rls": lambda **options: dl.RLS(**options),
    "rls_by_a_function": lambda **options: dl.RLS(forgetting=fading, **options),
    "rls_by_a_sequence": lambda **options: dl.RLS(forgetting=[0.9, 0.8, 0.99], **options),
    "rls_with_its_prior": lambda **options: dl.RLS(forgetting=0.9, keep_prior=True, **options),
    "ridge": lambda **options: dl.Ridge(ridge=0.3, **options),
    "aar": lambda **options: dl.AAR(clip=1.5, **options),
    "arowr": lambda **options: dl.AROWR(noise=0.5, **options),
    "crrls": lambda **options: dl.CRRLS(period=13, **options),
    "arcor": lambda **options: dl.ARCOR(schedule=1.5, **options),
    "wemm": lambda **options: dl.WEMM(**options),
    "laser": lambda **options: dl.LASER(**options),
    "kalman": lambda **options: dl.Kalman(drift=0.01, **options),
    "dfop": lambda **options: dl.DFOP(**options),
    "combined": lambda **options: dl.SecondOrder(
        time=dl.Divide(0.95), noise=0.3, shrink=True, reset=dl.Every(40), **options
    ),
}


def draw(seed, rows=120, d=4, outputs=3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.7, 0.7, size=(rows, d))
    drift = rng.normal(size=(d, outputs)) + np.cumsum(0.05 * rng.normal(size=(rows, d, outputs)), axis=0)
    return X, np.einsum("td,tdm->tm", X, drift) + [0.5, -1.0, 3.0][:outputs] + 0.1 * rng.normal(size=(rows, outputs))


@pytest.fixture(params=MAKES)
def make(request):
    return MAKES[request.param]


@for_each("options", [{}, {"intercept": False}, {"dtype": "float32"}])
def test_the_outputs_equal_those_of_separate_learners(make, options):
    X, Y = draw(0)
    weight = np.random.default_rng(1).uniform(0.2, 1.0, size=len(X))
    weight[[0, 5, 60]] = 0.0
    tolerance = 2e-4 if "dtype" in options else 1e-10
    for share in (None, weight):
        model = make(**options)
        run = model.run(X, Y, sample_weight=share, weights_every=10)
        learners = [make(**options) for _ in range(3)]
        runs = [one.run(X, Y[:, j], sample_weight=share, weights_every=10) for j, one in enumerate(learners)]
        close = {"rtol": tolerance, "atol": tolerance}
        np.testing.assert_allclose(run.predictions, np.column_stack([one.predictions for one in runs]), **close)
        np.testing.assert_array_equal(run.errors, Y - run.predictions)
        np.testing.assert_array_equal(run.resets, runs[0].resets)
        np.testing.assert_allclose(run.weights, np.stack([one.weights for one in runs], axis=1), **close)
        np.testing.assert_allclose(model.coef_, [one.coef_ for one in learners], **close)
        np.testing.assert_allclose(model.intercept_, [one.intercept_ for one in learners], **close)
        np.testing.assert_array_equal(model.covariance_, learners[0].covariance_)
        np.testing.assert_allclose(model.predict(X), np.column_stack([one.predict(X) for one in learners]), **close)


def test_the_loop_equals_the_run_to_the_last_bit(make):
    X, Y = draw(1)
    whole, looped = make(), make()
    run = whole.run(X, Y)
    looped.learn_one(X[0], Y[0].tolist())
    for t in range(1, len(X)):
        np.testing.assert_array_equal(looped.predict_one(X[t].tolist()), run.predictions[t])
        looped.learn_one(X[t], Y[t])
    require_same_state(looped, whole, "state")


def test_copies_and_saved_models_resume(make, tmp_path):
    X, Y = draw(2)
    model = make()
    model.run(X[:70], Y[:70])
    twins = [copy.deepcopy(model)]
    if not callable(model.get_params().get("forgetting")):
        model.save(tmp_path / "model")
        twins += [pickle.loads(pickle.dumps(model)), dl.load(tmp_path / "model")]
    ahead = model.run(X[70:], Y[70:]).predictions
    for twin in twins:
        np.testing.assert_array_equal(twin.run(X[70:], Y[70:]).predictions, ahead)
        require_same_state(twin, model, "state")


def test_ridge_on_several_labels_matches_scikit_learn():
    X, Y = draw(3)
    ours = dl.Ridge(ridge=2.0, intercept=False).fit(X, Y)
    theirs = BatchRidge(alpha=2.0, fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    assert ours.predict(X).shape == Y.shape
    np.testing.assert_allclose(ours.score(X, Y), r2_score(Y, theirs.predict(X)), rtol=1e-9)
    np.testing.assert_array_equal(ours.intercept_, np.zeros(3))


def test_the_certificate_sums_over_the_outputs():
    X, Y = draw(4)
    model = dl.Ridge(ridge=2.0, intercept=False)
    run = model.run(X, Y)
    certificate = model.certificate()
    best = [dl.regret.best_fixed(X, Y[:, j], ridge=2.0).value for j in range(3)]
    np.testing.assert_allclose(certificate.comparator, sum(best), rtol=1e-9)
    np.testing.assert_allclose(certificate.loss, run.losses.sum(), rtol=1e-12)
    assert certificate.bound is None
    assert certificate.conditions["there is one label a row"] is False
    several, alone = dl.RLS(forgetting=0.9), [dl.RLS(forgetting=0.9) for _ in range(3)]
    several.run(X, Y)
    for j, model in enumerate(alone):
        model.run(X, Y[:, j])
    found = several.certificate().comparator
    np.testing.assert_allclose(found, sum(model.certificate().comparator for model in alone), rtol=1e-9)


@given(seed=st.integers(0, 2**32 - 1))
def test_new_features_give_the_results_of_separate_learners(seed):
    rng = np.random.default_rng(seed)
    model, apart = dl.RLS(), [dl.RLS(), dl.RLS()]
    for t in range(20):
        row = {f"f{j}": float(rng.normal()) for j in rng.permutation(1 + t // 4)[: 1 + rng.integers(3)]}
        labels = rng.normal(size=2)
        model.learn_one(row, labels)
        for one, label in zip(apart, labels, strict=True):
            one.learn_one(row, float(label))
    np.testing.assert_allclose(model.coef_, [one.coef_ for one in apart], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.predict_one(row), [one.predict_one(row) for one in apart], rtol=1e-8, atol=1e-8)


def test_a_row_with_a_missing_value_is_skipped_with_all_its_labels():
    X, Y = draw(5)
    X[3, 1] = Y[7, 2] = Y[0, 0] = np.nan
    whole = np.isfinite(X).all(axis=1) & np.isfinite(Y).all(axis=1)
    model, wanted = dl.RLS(missing="skip"), dl.RLS(missing="skip")
    run = model.run(X, Y)
    assert run.skipped == model.n_skipped_ == 3
    assert np.isnan(run.predictions[3]).all()
    assert np.isfinite(run.predictions[7]).all()
    np.testing.assert_array_equal(run.predictions[whole], wanted.run(X[whole], Y[whole]).predictions)
    with pytest.raises(ValueError, match="y is NaN in row 0, output 0"):
        dl.RLS().run(X, Y)


def test_a_refused_call_changes_nothing():
    X, Y = draw(6)
    bad = Y.copy()
    bad[50, 1] = np.inf
    for model in (dl.RLS(), dl.RLS().fit(X, Y)):
        before = model.__getstate__()
        for labels, options in (
            (bad, {}),
            (Y[:-1], {}),
            (np.ones((120, 3, 1)), {}),
            (Y, {"level": 0.9}),
            (Y * 1j, {}),
        ):
            with pytest.raises((ValueError, TypeError), match="RLS"):
                model.run(X, labels, **options)
        for row in ([1.0, np.nan, 2.0], [1.0, "a", 2.0], [[1.0, 2.0, 3.0]]):
            with pytest.raises((ValueError, TypeError), match="RLS"):
                model.learn_one(X[0], row)
        require_same(model.__getstate__(), before, "state")


def test_the_number_of_labels_is_fixed_by_the_first_row():
    X, Y = draw(7)
    several, one = dl.RLS().fit(X, Y), dl.RLS().fit(X, Y[:, 0])
    for labels in (Y[:, 0], Y[:, :2]):
        with pytest.raises(ValueError, match=r"labels a row, expected 3"):
            several.run(X, labels)
    for label in (1.0, [1.0, 2.0]):
        with pytest.raises(ValueError, match=r"labels a row, expected 3"):
            several.learn_one(X[0], label)
    with pytest.raises(ValueError, match=r"y has 3 labels a row, expected 1"):
        one.learn_one(X[0], Y[0])
    several.fit(X, Y[:, 1])
    assert several.coef_.shape == (4,)
    with pytest.raises(ValueError, match="intervals need a single label"):
        dl.RLS().fit(X, Y).predict_interval(X[0])


@pytest.mark.parametrize(
    "model",
    [
        dl.LMS(),
        dl.NLMS(),
        dl.EG(),
        dl.Auto(),
        dl.SparseDFOP(),
        dl.Network(),
        dl.Averaged(),
        dl.Pipeline(),
        dl.ARCOR(radius=1.0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_learners_of_a_single_label_refuse_several(model):
    X, Y = draw(8)
    with pytest.raises(ValueError, match=r"in a row|labels"):
        model.run(X, Y)
    with pytest.raises((ValueError, TypeError), match=type(model).__name__):
        model.learn_one(X[0], Y[0])
    assert model.n_seen_ == 0


def test_labels_may_be_a_frame_or_a_single_column(recwarn):
    X, Y = draw(9)
    np.testing.assert_array_equal(
        dl.RLS().run(X, pd.DataFrame(Y)).predictions, dl.RLS().run(X, np.asfortranarray(Y)).predictions
    )
    assert dl.RLS().run(X, Y[:, :1]).predictions.shape == (120,)
    assert recwarn.pop().category.__name__ == "DataConversionWarning"


def test_a_state_with_invalid_outputs_is_refused():
    X, Y = draw(10)
    state = dl.RLS().fit(X, Y).__getstate__()
    for bad in (np.full((3, 5), np.nan), np.ones((3, 4)), np.ones((3, 5), dtype=np.float32), np.ones((0, 5))):
        with pytest.raises(ValueError, match="state"):
            dl.RLS().__setstate__({**state, "core": {**state["core"], "weights": bad}})


@pytest.mark.parametrize("seed", range(5))
def test_alarms_monitor_the_norm_of_the_error_vector(seed):
    """The errors of three labels grow at row 400."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.7, 0.7, size=(600, 4))
    Y = X @ rng.normal(size=(4, 3)) + 0.1 * rng.normal(size=(600, 3))
    Y[400:] = 20 * Y[400:]
    alarms = dl.RLS().run(X, Y).alarms
    assert 400 <= alarms[0] < 440


@pytest.mark.parametrize("missing", ["raise", "mean"])
def test_rows_with_text_take_several_labels(missing):
    X, Y = draw(3, rows=60, outputs=2)
    texts = pd.DataFrame(X).rename(columns=str).assign(tree=np.where(X[:, 0] > 0, "oak", "ash"))
    model = dl.Ridge(missing=missing)
    singles = [dl.Ridge(missing=missing).run(texts, y).predictions for y in Y.T]
    np.testing.assert_allclose(model.run(texts, Y).predictions, np.column_stack(singles), rtol=1e-9, atol=1e-9)
    again = dl.Ridge(missing=missing)
    for row, y in zip(texts.to_dict("records"), Y, strict=True):
        again.learn_one(row, y)
    require_same_state(again, model, "state")


def test_a_run_that_learns_no_row_leaves_the_number_of_labels_open():
    model = dl.RLS(missing="skip")
    for X in (np.full((2, 2), np.nan), pd.DataFrame({"tree": [None, None], "load": [1.0, 2.0]})):
        model.run(X, np.ones((2, 2)))
        assert model.predict_one({"load": 1.0}) == 0.0
    model.learn_one({"tree": "oak", "load": 1.0}, 3.0)
