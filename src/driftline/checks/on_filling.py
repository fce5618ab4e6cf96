"""Filled-in missing values: the column's running mean, and a feature that marks it."""

from __future__ import annotations

import contextlib

import numpy as np

from driftline.base.learner import Learner
from driftline.base.ticket import Ticket
from driftline.checks.tools import fresh, looped, names, require, require_refusal, require_same, require_same_state, stream
from driftline.storage.model_file import from_bytes
from driftline.tables.inputs import Array


def _holes() -> tuple[Array, Array]:
    X, y = stream()
    X[np.random.default_rng(9).random(X.shape) < 0.15] = np.nan
    X[0] = [0.2, np.nan, -0.1]
    y[[7, 31]] = np.nan
    return X, y


def filling_is_the_same_in_run_and_loop(learner: Learner) -> None:
    """Predictions and state are equal; a row without a label is predicted, and counted as skipped."""
    X, y = _holes()
    one, many = fresh(learner, missing="mean"), fresh(learner, missing="mean")
    _, predicted = looped(one, X, y)
    require_same(many.run(X, y).predictions, predicted, "predictions")
    require_same_state(many, one, "state")
    require(np.isfinite(predicted).all(), "a row was not predicted")
    require(many.n_skipped_ == 2 and many.n_seen_ == len(y) - 2, f"{many.n_skipped_} rows were counted as skipped")


def filling_takes_the_mean_so_far_and_a_flag(learner: Learner) -> None:
    """The model equals one that learns rows with the means and flags already filled in."""
    X, y = _holes()
    model, predicted = looped(fresh(learner, missing="mean"), X, y)
    by_hand = fresh(learner, missing="skip")
    sums, counts = np.zeros(3), np.zeros(3)
    flags: list[str] = []
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        known = np.isfinite(x)
        absent = [f"{name} is missing" for name in np.array(names())[~known & (counts > 0)].tolist()]
        new = [flag for flag in absent if flag not in flags]
        filled = np.where(known, x, sums / np.maximum(counts, 1.0))
        row = {
            name: value for name, value, there in zip(names(), filled.tolist(), known | (counts > 0), strict=True) if there
        }
        row |= {flag: float(flag in absent) for flag in [*flags, *new]}
        require_same(by_hand.predict_one(row), float(predicted[t]), f"prediction of row {t}")
        by_hand.learn_one(row, label)
        if np.isfinite(label):
            flags += new
            sums, counts = sums + np.where(known, x, 0.0), counts + known
    require(model.n_features_in_ == 3 + len(flags), f"there are {model.n_features_in_} features")
    require(model.n_seen_ == by_hand.n_seen_, "rows were lost")


def filled_tickets_are_rows_learned(learner: Learner) -> None:
    """Telling a ticket equals learning its row, even after a round trip of ticket and model through bytes."""
    X, y = _holes()
    by_row, by_ticket = (looped(fresh(learner, missing="mean"), X, y)[0] for _ in range(2))
    with contextlib.suppress(ValueError):  # a function among the parameters
        by_ticket = from_bytes(by_ticket.to_bytes())
    for x, label in zip(X[:30], y.tolist(), strict=False):
        ticket = by_ticket.ask(x, delay=0)
        require_same(ticket.prediction, by_row.predict_one(x), "a ticket's prediction")
        by_row.learn_one(x, label)
        by_ticket.tell(Ticket.from_bytes(ticket.to_bytes()), label)
    require_same_state(by_ticket, by_row, "state")


def filling_refuses_infinity(learner: Learner) -> None:
    """Infinity does not count as missing, in rows or in labels."""
    X, y = stream()
    model = fresh(learner, missing="mean")
    model.run(X, y)
    bad = X.copy()
    bad[17, 2] = np.inf
    message = require_refusal(model, "infinity in X", model.run, bad, y)
    require("row 17" in message, f"the message lacks the place: {message}")
    require_refusal(model, "infinity in x", model.learn_one, bad[17], 0.5)
    require_refusal(model, "infinity in predict_one", model.predict_one, bad[17])
    require_refusal(model, "an infinite label", model.learn_one, X[0], np.inf)
    labels = y.copy()
    labels[23] = -np.inf
    require_refusal(model, "an infinite label in run", model.run, X, labels)
