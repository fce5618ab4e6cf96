"""The range of the label: answers stay inside, and a label outside is refused."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.checks.tools import fresh, looped, require, require_refusal, require_same, require_same_state, stream
from driftline.tables.inputs import Array

_LATE = 4  # rows


def _limited(learner: Learner) -> tuple[Learner, Array, Array]:
    """A fresh learner, and a stream whose labels are often at the ends of their range."""
    X, y = stream(rows=120)
    low, high = (float(end) for end in np.quantile(y, [0.25, 0.75]))
    return fresh(learner, low=low, high=high), X, np.clip(y, low, high)


def answers_stay_inside_the_limits(learner: Learner) -> None:
    """Predictions and intervals of every verb, from the first row on; the errors are those of the answers."""
    model, X, y = _limited(learner)
    assert model.low is not None
    assert model.high is not None
    single, late = copy.deepcopy(model), copy.deepcopy(model)
    run = model.run(X, y, level=0.8)
    require_same(run.errors, y - run.predictions, "errors within the limits")
    loss, total = model.certificate().loss, np.square(run.errors).sum()
    require(np.isclose(loss, total, rtol=1e-9), f"the certificate's loss is {loss}, not {total}")
    tickets, asked = [], []
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        tickets.append(late.ask(x, delay=_LATE))
        asked += [tickets[t].prediction, *tickets[t].interval(0.8)]
        if t >= _LATE:
            late.tell(tickets[t - _LATE], y[t - _LATE])
        asked += [single.predict_one(3 * x), *single.predict_interval(3 * x, 0.8)]
        single.learn_one(x, label)
    answers: list[Any] = [
        run.predictions,
        run.lower,
        run.upper,
        asked,
        model.predict(9 * X),
        *model.predict_intervals(9 * X, 0.8),
    ]
    for place, found in enumerate(answers):
        require(np.min(found) >= model.low and np.max(found) <= model.high, f"answers {place} leave the limits: {found}")


def limits_are_the_same_in_run_and_loop(learner: Learner) -> None:
    """Predictions and state agree to the last bit; limits that are never reached change no prediction and no weight."""
    model, X, y = _limited(learner)
    one = copy.deepcopy(model)
    require_same(model.run(X, y).predictions, looped(one, X, y)[1], "predictions within limits")
    require_same_state(model, one, "state within limits")
    far, none = fresh(learner, low=-1e9, high=1e9), fresh(learner)
    require_same(far.run(X, y).predictions, none.run(X, y).predictions, "predictions with far limits")
    require_same(far._weights, none._weights, "weights with far limits")


def labels_outside_the_limits_are_refused(learner: Learner) -> None:
    """The message names the row, nothing is learned, and a skipping learner refuses them too."""
    for missing in ("raise", "skip"):
        model, X, y = _limited(fresh(learner, missing=missing))
        assert model.high is not None
        model.run(X[:60], y[:60])
        for value, words in ((y.min() - 1, "below low="), (y.max() + 1, "above high=")):
            bad = y.copy()
            bad[77] = value
            message = require_refusal(model, f"the label {value}", model.run, X[60:], bad[60:])
            require("row 17" in message and words in message, f"the message lacks the row or the limit: {message}")
            require_refusal(model, f"the label {value}", model.learn_one, X[0], value)
            ticket = model.ask(X[0])
            require_refusal(model, f"the label {value}", model.tell, ticket, value)
            require(not ticket.told, "a refused label used up its ticket")
