"""Missing values: refused, or skipped and counted."""

from __future__ import annotations

import copy

import numpy as np

from driftline.base.learner import Learner
from driftline.checks.tools import fresh, looped, require, require_refusal, require_same, require_same_state, stream, trained
from driftline.tables.inputs import Array


def _with_holes() -> tuple[Array, Array, Array]:
    X, y = stream()
    X[0, 1] = X[9, 2] = np.nan
    X[30] = np.inf
    y[[1, 30, 45]] = np.nan, 0.0, -np.inf
    whole = np.isfinite(X).all(axis=1) & np.isfinite(y)
    return X, y, whole


def skipping_leaves_out_rows_and_counts_them(learner: Learner) -> None:
    """The state is that of learning only the complete rows; a row without a label is still predicted.

    Learners that look back on earlier rows keep the place of skipped rows, so their state differs.
    """
    X, y, whole = _with_holes()
    model, wanted = fresh(learner, missing="skip"), fresh(learner, missing="skip")
    run, left_out = model.run(X, y), wanted.run(X[whole], y[whole])
    if not learner._traits.looks_back:
        require_same(run.predictions[whole], left_out.predictions, "predictions of the whole rows")
        require_same(model.__getstate__().get("core"), wanted.__getstate__().get("core"), "state")
    require(run.skipped == model.n_skipped_ == np.count_nonzero(~whole), f"{run.skipped} rows were counted as skipped")
    require(copy.deepcopy(model).n_skipped_ == model.n_skipped_, "a copy does not know how many rows were skipped")
    require(model.n_seen_ == np.count_nonzero(whole), "skipped rows were counted as seen")
    require(np.isfinite(run.predictions[[1, 45]]).all(), "a row without its label was not predicted")
    require(np.isnan(run.predictions[[0, 9, 30]]).all(), "a row without all its values was predicted")


def skipping_is_the_same_in_run_and_loop(learner: Learner) -> None:
    """Predictions, state and the count of skipped rows are equal."""
    X, y, _ = _with_holes()
    many, one = fresh(learner, missing="skip"), fresh(learner, missing="skip")
    require_same(many.run(X, y).predictions, looped(one, X, y)[1], "predictions")
    require_same_state(many, one, "state")


def nothing_is_learned_from_missing_values_alone(learner: Learner) -> None:
    """A learner that has seen only such rows is still untrained."""
    model = fresh(learner, missing="skip")
    run = model.run(np.full((4, 3), np.nan), np.ones(4))
    require(model.n_skipped_ == run.skipped == 4 and model.n_seen_ == 0, "the rows were not counted as skipped")
    X, y = stream()
    require_same(model.run(X, y).predictions, fresh(learner, missing="skip").run(X, y).predictions, "predictions afterwards")


def holes_are_refused_with_their_place(learner: Learner) -> None:
    """NaN or infinity within a run: the message names row and feature, and nothing is learned."""
    X, y = stream()
    for model in (fresh(learner, missing="raise"), trained(learner, missing="raise")):
        for value in (np.nan, np.inf, -np.inf):
            bad = X.copy()
            bad[17, 2] = value
            message = require_refusal(model, f"{value} in X", model.run, bad, y)
            require("row 17" in message and "feature 2" in message, f"the message lacks the place: {message}")
            labels = y.copy()
            labels[23] = value
            message = require_refusal(model, f"{value} in y", model.run, X, labels)
            require("y " in message and "row 23" in message, f"the message lacks the place: {message}")
