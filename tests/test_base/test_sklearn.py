"""scikit-learn's own checks, and learners in its tools."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.multioutput import MultiOutputRegressor, RegressorChain
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

import driftline as dl
from driftline.base import registry
from driftline.checks import expected_failures
from tests.cases import for_each
from tests.conftest import FAMILIES, NESTED, VARIANTS

WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
PARAMETERS = "check_do_not_raise_errors_in_init_or_set_params"


def failures(estimator):
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    assert len(results) > 40
    return {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}


@pytest.mark.filterwarnings("ignore")
def test_each_learner_fails_exactly_the_checks_that_are_listed(learner):
    """A reason that no longer holds must be removed from the list."""
    assert set(failures(learner)) == set(expected_failures(learner))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in NESTED])
def test_options_of_every_family_break_no_other_check(name):
    estimator = FAMILIES[name]().set_params(dtype="float32", missing="skip", intercept=False)
    unexpected = set(failures(estimator)) - set(expected_failures(estimator))
    assert unexpected == set()


def has_reasons_of_its_own(variant):
    return expected_failures(variant).keys() != expected_failures(type(variant)()).keys()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [name for name, make in VARIANTS.items() if name in NESTED or has_reasons_of_its_own(make())]
)
def test_variants_break_no_check_without_a_reason(name):
    variant = VARIANTS[name]()
    unexpected = set(failures(variant)) - set(expected_failures(variant))
    assert unexpected <= {"check_regressors_train"}  # it requires a score, and these parameters suit other data


def test_the_listed_checks_follow_from_the_learners_behaviour():
    assert set(expected_failures(dl.Ridge())) == set(expected_failures(dl.AAR)) == {PARAMETERS}
    assert expected_failures(dl.RLS(forgetting=1.0)).keys() == expected_failures(dl.AROWR()).keys() == {PARAMETERS}
    assert "time passes" in expected_failures(dl.Kalman())[WEIGHTS]
    assert WEIGHTS not in expected_failures(dl.Kalman(drift=0))
    assert "resets" in expected_failures(dl.ARCOR())[WEIGHTS]
    assert WEIGHTS not in expected_failures(dl.ARCOR(schedule=None))
    assert "projections" in expected_failures(dl.ARCOR(schedule=None, radius=1.0))[WEIGHTS]
    assert "depends on the rows before" in expected_failures(dl.WEMM())[WEIGHTS]
    assert "one step" in expected_failures(dl.LMS())[WEIGHTS]
    assert "float32" in expected_failures(dl.Ridge(dtype="float32"))[WEIGHTS]
    assert "pickle" in expected_failures(dl.RLS(forgetting=lambda t: 0.9))["check_estimators_pickle"]
    assert all(expected_failures(dl.GD(loss="logistic")).values())


@pytest.mark.filterwarnings("ignore")
def test_check_estimator_accepts_the_list_directly():
    check_estimator(dl.RLS(), expected_failed_checks=expected_failures(dl.RLS()), on_skip=None)


def test_a_clone_has_the_parameters_and_nothing_learned(family, rows):
    family.fit(*rows)
    twin = clone(family)
    given, cloned = family.get_params(), twin.get_params()
    assert all(type(cloned[name]) is type(given[name]) for name in given)
    with pytest.raises(NotFittedError):
        check_is_fitted(twin)
    check_is_fitted(family)
    assert np.array_equal(twin.fit(*rows).predict(rows[0]), clone(family).fit(*rows).predict(rows[0]))


def test_every_learner_is_a_regressor():
    for learner in (make() for make in registry.regressors().values()):
        assert is_regressor(learner)
        assert learner.__sklearn_tags__().target_tags.required


def test_a_pipeline_scales_fits_and_predicts(rows):
    X, y = rows
    scaled = X * np.array([1.0, 1e3, 1e-3]) + 5.0
    pipeline = make_pipeline(StandardScaler(), dl.RLS(forgetting=1.0))
    assert pipeline.fit(scaled, y).score(scaled, y) == pytest.approx(dl.RLS(forgetting=1.0).fit(X, y).score(X, y), abs=0.01)
    pipeline.set_params(rls__ridge=2.0)
    assert pipeline.named_steps["rls"].ridge == 2.0


def test_sample_weights_reach_the_learner_through_a_pipeline(rows):
    X, y = rows
    weight = (np.arange(200) < 100).astype(float)
    weighted = make_pipeline(dl.Ridge()).fit(X, y, ridge__sample_weight=weight)
    assert np.array_equal(weighted.predict(X), dl.Ridge().fit(X[:100], y[:100]).predict(X))


def test_several_outputs_equal_several_learners(rows):
    X, y = rows
    Y = np.column_stack([y, -y, y**2])
    many = MultiOutputRegressor(dl.RLS()).fit(X, Y)
    for j in range(3):
        assert np.array_equal(many.predict(X)[:, j], dl.RLS().fit(X, Y[:, j]).predict(X))
    many.partial_fit(X[:10], Y[:10])
    assert [one.n_seen_ for one in many.estimators_] == [210, 210, 210]
    assert RegressorChain(dl.RLS()).fit(X, Y).predict(X).shape == (200, 3)


def test_a_grid_search_finds_the_better_parameter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X @ [1.0, 2.0]
    search = GridSearchCV(dl.Ridge(), {"ridge": [1e-3, 1e4], "intercept": [True, False]}, cv=3).fit(X, y)
    assert search.best_params_["ridge"] == 1e-3
    assert search.best_score_ > 0.999


SEARCHES = {
    "a learner": (dl.RLS(), {"forgetting": [1.2, 0.9]}, "RLS: forgetting must be in"),
    "a first-order learner": (dl.NLMS(), {"rate": [-1.0, 0.5]}, "NLMS: rate must be in"),
    "a relation": (
        dl.LASER(ridge=1.0, drift_cost=2.0),
        {"ridge": [3.0], "drift_cost": [2.5, 4.0]},
        "LASER: ridge must be less",
    ),
    "a pipeline of scikit-learn": (
        Pipeline([("scale", StandardScaler()), ("rls", dl.RLS())]),
        {"rls__forgetting": [1.2, 0.9]},
        "RLS: forgetting must be in",
    ),
    "a pipeline of two of ours": (
        Pipeline([("powers", dl.features.Polynomial()), ("rls", dl.RLS())]),
        {"powers__degree": [0, 2]},
        "Polynomial: degree must be a whole number",
    ),
    "a transformer in our pipeline": (
        dl.features.Polynomial() | dl.RLS(),
        {"transformers__0__degree": [0, 2]},
        "Polynomial: degree must be a whole number",
    ),
    "a learner within": (dl.Averaged(dl.RLS()), {"learner__forgetting": [1.2, 0.9]}, "RLS: forgetting must be in"),
    "one of several within": (
        dl.Network([dl.RLS(), dl.LMS()]),
        {"learners__0__forgetting": [1.2, 0.9]},
        "RLS: forgetting must be in",
    ),
    "a relation within": (
        dl.Averaged(dl.LASER(ridge=1.0, drift_cost=2.0)),
        {"learner__ridge": [3.0], "learner__drift_cost": [2.5, 4.0]},
        "LASER: ridge must be less",
    ),
    "learners as values": (
        Pipeline([("m", dl.RLS())]),
        {"m": [dl.Ridge()], "m__ridge": [-1.0, 2.0]},
        "Ridge: ridge must be in",
    ),
    "bagged learners": (BaggingRegressor(dl.RLS(), 2), {"estimator__forgetting": [1.2, 0.9]}, "RLS: forgetting must be in"),
    "a wrapper": (dl.Kernel(dl.RLS(), budget=20), {"gamma": [-1.0, 1.0]}, "Kernel: gamma must be"),
    "a learner within a wrapper": (
        dl.Kernel(dl.RLS(), budget=20),
        {"learner__forgetting": [1.2, 0.9]},
        "RLS: forgetting must be in",
    ),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning", "ignore:One or more of the")
@pytest.mark.parametrize("kind", SEARCHES)
def test_a_search_scores_an_invalid_value_as_a_failed_fit(kind, rows):
    estimator, grid, message = SEARCHES[kind]
    X, y = rows[0][:60], rows[1][:60]
    scores = GridSearchCV(estimator, grid, cv=2).fit(X, y).cv_results_["mean_test_score"]
    assert np.isnan(scores).tolist() == [True, False]
    with pytest.raises(ValueError, match=message):
        GridSearchCV(estimator, grid, cv=2, error_score="raise").fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning", "ignore:One or more of the")
@pytest.mark.parametrize(
    "search", [HalvingGridSearchCV, partial(RandomizedSearchCV, n_iter=2), partial(GridSearchCV, n_jobs=2)]
)
def test_every_search_scores_an_invalid_value_as_a_failed_fit(search, rows):
    found = search(dl.RLS(), {"forgetting": [1.2, 0.9]}, cv=2).fit(*rows)
    assert found.best_params_ == {"forgetting": 0.9}
    assert np.isnan(found.cv_results_["mean_test_score"]).any()
    with pytest.raises(ValueError, match="RLS: forgetting must be in"):
        found.best_estimator_.set_params(forgetting=1.2)  # it has learned, and is checked at once


def test_parameters_may_be_set_in_two_steps_on_a_clone(rows):
    twin = clone(dl.LASER(ridge=1.0, drift_cost=2.0)).set_params(ridge=3.0)
    assert twin.get_params()["ridge"] == 3.0
    assert twin.set_params(drift_cost=4.0).fit(*rows).get_params()["drift_cost"] == 4.0
    assert twin.ridge == 3.0


REFUSING = {
    "fit": lambda model, X, y: model.fit(X, y),
    "partial_fit": lambda model, X, y: model.partial_fit(X, y),
    "run": lambda model, X, y: model.run(X, y),
    "learn_one": lambda model, X, y: model.learn_one(X[0], y[0]),
    "predict_one": lambda model, X, y: model.predict_one(X[0]),
    "ask": lambda model, X, y: model.ask(X[0]),
    "to_bytes": lambda model, X, y: model.to_bytes(),
    "clone": lambda model, X, y: model.clone(),
    "a fleet": lambda model, X, y: dl.Fleet(model).run(np.zeros(len(y), int), X, y),
    "a forecaster": lambda model, X, y: dl.Forecaster(model, steps=2).run(X, y),
    "a pickle": lambda model, X, y: pickle.loads(pickle.dumps(clone(model))).fit(X, y),
}


@for_each("verb", REFUSING)
@pytest.mark.parametrize("make", [dl.RLS, dl.LMS, dl.Averaged, dl.Kernel], ids=lambda make: make.__name__)
def test_a_clone_with_an_invalid_value_refuses_to_be_used(make, verb, rows):
    name = {"RLS": "forgetting", "LMS": "rate", "Averaged": "dtype", "Kernel": "gamma"}[make.__name__]
    twin = clone(make()).set_params(**{name: -1})
    before = pickle.dumps(twin)
    with pytest.raises(ValueError, match=f"{make.__name__}: {name} must be"):
        REFUSING[verb](twin, *rows)
    assert pickle.dumps(twin) == before
    assert twin.get_params()[name] == -1
    with pytest.raises(ValueError, match=f"{make.__name__}: {name} must be"):
        make().set_params(**{name: -1})


def test_cross_validation_scores_every_learner(learner, rows):
    X, y = rows
    scores = cross_val_score(learner, X, y, cv=KFold(4))
    assert scores.shape == (4,)
    assert np.isfinite(scores).all()
    assert cross_val_predict(learner, X, y, cv=KFold(4)).shape == (200,)


def test_ridge_equals_scikit_learns_ridge(rows):
    X, y = rows
    ours, theirs = dl.Ridge(ridge=2.0, intercept=False).fit(X, y), Ridge(alpha=2.0, fit_intercept=False).fit(X, y)
    assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-10)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), rel=1e-10)
    weight = np.random.default_rng(1).uniform(0.1, 3.0, size=200)
    assert ours.score(X, y, weight) == pytest.approx(theirs.score(X, y, weight), rel=1e-10)
    ours.fit(X, y, weight)
    assert ours.coef_ == pytest.approx(theirs.fit(X, y, weight).coef_, rel=1e-10)


def test_bagging_averages_learners(rows):
    X, y = rows
    bag = BaggingRegressor(dl.Ridge(), n_estimators=4, random_state=0).fit(X, y)
    assert bag.score(X, y) > 0.5


def test_feature_names_are_checked_as_in_scikit_learn(rows):
    import pandas as pd

    X, y = rows
    frame = pd.DataFrame(X, columns=list("abc"))
    named = dl.RLS().fit(frame, y)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but RLS was fitted with feature names"):
        named.predict(X)
    with pytest.warns(UserWarning, match="X has feature names, but RLS was fitted without feature names") as caught:
        dl.RLS().fit(X, y).predict(frame)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "make", [lambda: dl.Kernel(dl.RLS()), lambda: dl.Averaged(dl.RLS()), lambda: dl.features.Standardize() | dl.RLS()]
)
def test_the_parts_of_a_copy_that_has_learned_refuse_invalid_values(make):
    """As those of any model: a value that is kept in a part would make the next call fail, and its state the last one."""
    X, y = np.eye(3), np.arange(3.0)
    copy = clone(make()).set_params(learner__ridge=2.0).fit(X, y)
    same = make().set_params(learner__ridge=2.0).fit(X, y)
    with pytest.raises(ValueError, match="RLS: forgetting must be in"):
        copy.learner.set_params(forgetting=3.0)
    assert np.array_equal(copy.run(X, y).predictions, same.run(X, y).predictions)
