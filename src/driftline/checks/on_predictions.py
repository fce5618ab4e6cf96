"""Predictions come before learning, and all ways to pass the same rows agree."""

from __future__ import annotations

import itertools

import numpy as np

from driftline.base.learner import Learner
from driftline.base.levels import as_spread
from driftline.checks.tools import fresh, looped, names, require, require_same, require_same_state, stream, trained
from driftline.ensembles.classifier import predict_next


def prediction_before_learning_is_that_of_the_start_weights(learner: Learner) -> None:
    """It equals the prediction of a run's first row, and making it changes nothing."""
    X, y = stream()
    model = fresh(learner)
    first = model.predict_one(X[0])
    require_same_state(model, fresh(learner), "predict_one before learning changed the state")
    require_same(first, float(fresh(learner).run(X, y).predictions[0]), "predict_one before learning")
    require_same(first, model.predict_one(dict(zip(names(), X[0], strict=True))), "predict_one of a mapping before learning")
    require(model.n_seen_ == 0, f"n_seen_ is {model.n_seen_} before learning")


def predict_before_learning_raises(learner: Learner) -> None:
    """scikit-learn's NotFittedError is a ValueError and an AttributeError."""
    model = fresh(learner)
    for ask in (lambda: model.predict(np.ones((1, 3))), lambda: model.coef_, lambda: model.n_features_in_):
        try:
            ask()
        except (ValueError, AttributeError) as error:
            kinds = isinstance(error, ValueError) and isinstance(error, AttributeError)
            require(kinds, f"{type(error).__name__} is not a NotFittedError")
        else:
            raise AssertionError("predict answered before anything was learned")


def run_equals_the_loop(learner: Learner) -> None:
    """Predictions and state of run, and of predict_one and learn_one row by row, agree to the last bit."""
    X, y = stream()
    for changes in ({}, {"intercept": False}, {"dtype": "float32"}):
        one, many = fresh(learner, **changes), fresh(learner, **changes)
        require_same(many.run(X, y).predictions, looped(one, X, y)[1], f"predictions with {changes}")
        require_same_state(many, one, f"state with {changes}")


def batches_equal_one_run(learner: Learner) -> None:
    """However the rows are cut, predictions, resets and state equal those of one run."""
    X, y = stream()
    whole = fresh(learner)
    run = whole.run(X, y)
    for cuts in ([30], [1, 2, 59], [7, 20, 21, 44]):
        pieces = fresh(learner)
        parts = [(start, pieces.run(X[start:stop], y[start:stop])) for start, stop in itertools.pairwise([0, *cuts, len(y)])]
        require_same(np.concatenate([part.predictions for _, part in parts]), run.predictions, f"predictions cut at {cuts}")
        require_same(np.concatenate([part.resets + start for start, part in parts]), run.resets, f"resets cut at {cuts}")
        require_same_state(pieces, whole, f"state cut at {cuts}")


def a_run_accounts_for_its_rows(learner: Learner) -> None:
    """Errors, losses, resets and counts agree with the predictions."""
    X, y = stream()
    model = fresh(learner)
    run = model.run(X, y)
    require_same(run.errors, y - run.predictions, "errors")
    require(run.own_losses is not None or np.array_equal(run.losses, run.errors**2), "losses are not the squared errors")
    require(model.n_seen_ == len(run) == len(y), f"{model.n_seen_} rows were counted")
    require(model.certificate().events.get("resets", 0) == run.resets.size, "the certificate counts other resets")
    loss = model.certificate().loss
    total = np.square(run.errors).sum()
    require(np.isclose(loss, total, rtol=1e-9), f"the certificate's loss is {loss}, not {total}")


def memory_layout_makes_no_difference(learner: Learner) -> None:
    """Lists, strides and memory orders of the same numbers give the same rows."""
    X, y = stream()
    wanted = fresh(learner).run(X, y).predictions
    wide = np.zeros((len(X), 7))
    wide[:, 1::2] = X
    read_only = X.copy()
    read_only.setflags(write=False)
    for form in (
        X.tolist(),
        np.asfortranarray(X),
        wide[:, 1::2],
        np.ascontiguousarray(X[::-1])[::-1],
        read_only,
        X.astype(object),
    ):
        require_same(fresh(learner).run(form, y).predictions, wanted, f"predictions from {type(form).__name__}")
    require_same(fresh(learner).run(X, y.tolist()).predictions, wanted, "predictions from a list of labels")
    model = trained(learner)
    for x in (X[0].tolist(), tuple(X[0]), wide[0, 1::2], X[0].astype(object)):
        require_same(model.predict_one(x), model.predict_one(X[0]), f"prediction from {type(x).__name__}")


def whole_numbers_and_floats_are_the_same_rows(learner: Learner) -> None:
    """Integers and float32 are converted exactly."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, size=(20, 3))
    y = X.sum(axis=1)
    wanted = fresh(learner).run(X.astype(np.float64), y.astype(np.float64)).predictions
    for kind in (np.int64, np.int8, np.float32, np.bool_, ">f8"):
        require_same(fresh(learner).run(X.astype(kind), y).predictions, wanted, f"predictions from {np.dtype(kind)}")


def predicting_learns_nothing(learner: Learner) -> None:
    """Many rows are predicted as one is, each as the next one, and the state stays as it is."""
    model = trained(learner)
    before = model.__getstate__()
    X, _ = stream(rows=9, seed=1)
    require_same(predict_next(model, X), np.array([model.predict_one(x) for x in X]), "a table and predict_one")
    found = model._predicted(X, "predict_intervals", as_spread("", 0.8), apart=False)
    ends = np.array([model.predict_interval(x, 0.8) for x in X]).T
    require_same(np.array([found.lower, found.upper]), ends, "a table and predict_interval")
    model.predict(X)
    model.predict_intervals(X)
    require_same(before, model.__getstate__(), "predicting changed the state")


def a_prediction_does_not_depend_on_its_batch(learner: Learner) -> None:
    """The verbs for tables give a row the same answer in any table; it is that of the next row unless labels are inputs."""
    model = trained(learner)
    X, _ = stream(rows=9, seed=1)
    found, ends = model.predict(X), np.array(model.predict_intervals(X, 0.8))
    order = np.array([4, 0, 8, 2])
    require_same(model.predict(X[order]), found[order], "predictions of some rows in another order")
    require_same(np.array([model.predict(x[None])[0] for x in X]), found, "predictions of tables of one row")
    require_same(np.array(model.predict_intervals(X[order], 0.8)), ends[:, order], "intervals of some rows in another order")
    if not model._traits.looks_back:
        require_same(found, predict_next(model, X), "predict and the prediction of the next row")


def snapshots_are_the_weights_on_the_way(learner: Learner) -> None:
    """run(weights_every=k) keeps coef_ and intercept_ after every k-th row, for learners that have them."""
    if not learner._traits.linear:
        return
    X, y = stream()
    run = fresh(learner).run(X, y, weights_every=7)
    require(run.weights is not None and len(run.weights) == len(y) // 7, "the number of snapshots is wrong")
    model = fresh(learner)
    for row in range(7, len(y) + 1, 7):
        model.run(X[row - 7 : row], y[row - 7 : row])
        weights = np.append(model.coef_, model.intercept_) if model.intercept else model.coef_
        require_same(run.weights[row // 7 - 1], weights.astype(np.float64), f"snapshot after row {row - 1}")  # type: ignore[index]


def the_intercept_is_a_last_feature_of_ones(learner: Learner) -> None:
    """With an intercept, a learner equals one without on rows with 1 appended, unless it treats it specially."""
    if not learner._traits.plain_intercept:
        return
    X, y = stream()
    with_it, without = fresh(learner, intercept=True), fresh(learner, intercept=False)
    ones = np.column_stack([X, np.ones(len(X))])
    require_same(with_it.run(X, y).predictions, without.run(ones, y).predictions, "predictions")
    require_same(np.append(with_it.coef_, with_it.intercept_).tolist(), without.coef_.tolist(), "weights")
    require(without.intercept_ == 0.0, "there is an intercept though intercept=False")
    require(with_it.n_features_in_ == 3, "the constant feature was counted")


def float32_follows_float64(learner: Learner) -> None:
    """The state has the requested type, and predicts nearly the same."""
    X, y = stream()
    single, double = fresh(learner, dtype="float32"), fresh(learner, dtype="float64")
    gap = np.abs(single.run(X, y).predictions - double.run(X, y).predictions)
    require(np.median(gap) <= 1e-4 * np.abs(y).max(), f"float32 is off by {np.median(gap):.3g}")
    if learner._traits.linear:
        require(single.coef_.dtype == np.float32 and double.coef_.dtype == np.float64, "coef_ has another dtype")


def fit_forgets_and_partial_fit_goes_on(learner: Learner) -> None:
    """A call of fit runs from the start, partial_fit from the current state; both return the learner."""
    X, y = stream(seed=2)
    model, wanted = trained(learner), trained(learner)
    wanted.run(X, y)
    require(model.partial_fit(X, y) is model, "partial_fit returns something else")
    require_same_state(model, wanted, "partial_fit")
    wanted = fresh(learner)
    wanted.run(X, y)
    require(model.fit(X, y) is model, "fit returns something else")
    require_same_state(model, wanted, "fit")


def score_is_the_share_of_variance_explained(learner: Learner) -> None:
    """The score is R^2 of predict."""
    model = trained(learner)
    X, y = stream(seed=3)
    wanted = 1 - ((y - model.predict(X)) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    require(np.isclose(model.score(X, y), wanted, rtol=1e-12), f"score is {model.score(X, y)}, not {wanted}")
