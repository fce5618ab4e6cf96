"""Labels that come later: ask changes nothing, and a ticket is learned as of when it was made."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.base.ticket import Ticket
from driftline.checks.tools import fresh, names, require, require_same, require_same_state, stream, trained
from driftline.delayed.stepper import Stepper
from driftline.linear.descent import Descending
from driftline.linear.recursion import Recursive

_LATE = 5  # rows


def questions_change_nothing(learner: Learner) -> None:
    """No prediction and no state depends on earlier calls of ask."""
    X, y = stream(rows=60)
    asked, quiet = fresh(learner), fresh(learner)
    for x, label in zip(X, y, strict=True):
        for other in (x, X[0], X[-1]):
            asked.predict_one(other)
            asked.ask(other)
            asked.ask(other, delay=6)
            asked.predict_interval(other, 0.8)
        require_same(asked.predict_one(x), quiet.predict_one(x), "a prediction after calls of ask")
        asked.learn_one(x, label)
        quiet.learn_one(x, label)
    require_same_state(asked, quiet, "the state after calls of ask")


def a_ticket_told_at_once_is_a_row_learned(learner: Learner) -> None:
    """``tell(ask(x, delay=0), y)`` equals ``learn_one(x, y)``, and a ticket's prediction equals that of ``run``."""
    X, y = stream(rows=80)
    by_ticket, by_row, by_table = fresh(learner), fresh(learner), fresh(learner)
    run = by_table.run(X, y, level=0.8)
    assert run.lower is not None
    assert run.upper is not None
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        ticket = by_ticket.ask(x, delay=0)
        require_same(ticket.prediction, float(run.predictions[t]), f"the prediction of ticket {t}")
        require_same(ticket.interval(0.8), (float(run.lower[t]), float(run.upper[t])), f"the interval of ticket {t}")
        by_ticket.tell(ticket, label)
        by_row.learn_one(x, label)
    require_same_state(by_ticket, by_row, "the state after tickets")
    require_same_state(by_table, by_row, "the state after a run")


def late_tickets_survive_bytes(learner: Learner) -> None:
    """A round trip of model and tickets through bytes, at any moment, changes nothing."""
    X, y = stream(rows=50)
    plain, kept = fresh(learner), fresh(learner)
    waiting: list[tuple[Ticket, Ticket]] = []
    for t, x in enumerate(X):
        waiting.append((plain.ask(x), kept.ask(x)))
        require_same(waiting[-1][0].prediction, waiting[-1][1].prediction, f"the prediction of row {t}")
        if t >= _LATE:
            ticket, other = waiting.pop(0)
            plain.tell(ticket, y[t - _LATE])
            kept.tell(Ticket.from_bytes(other.to_bytes()), y[t - _LATE])
        if t % 7 == 3:
            kept = copy.deepcopy(kept)
    require_same_state(plain, kept, "the state after bytes")


def tickets_of_large_numbers_survive_bytes(learner: Learner) -> None:
    """Tickets can be saved, whatever finite numbers the model holds."""
    X, y = stream(rows=30)
    plain, kept = fresh(learner), fresh(learner)
    for number in range(3, 30, 4):
        X[number, number % X.shape[1]] = (1e20, -1e30)[number % 2]  # within the range of float32
    y[5], y[17] = 1e30, -1e20
    for x, label in zip(X, y, strict=True):
        ticket, other = plain.ask(x), kept.ask(x)
        read = Ticket.from_bytes(other.to_bytes())
        require_same(read.numbers, ticket.numbers, "what a ticket kept")
        _tell_if_possible(plain, ticket, label)
        _tell_if_possible(kept, read, label)
    require_same_state(plain, kept, "the state after bytes of large numbers")


def _tell_if_possible(model: Learner, ticket: Ticket, label: float) -> None:
    with contextlib.suppress(ValueError):  # a learner may diverge
        model.tell(ticket, label)


def late_steps_start_from_what_is_known(learner: Learner) -> None:
    """A learner that does not use earlier labels learns a late row as it would learn it now."""
    if not isinstance(learner, (Recursive, Descending)):
        return
    X, y = stream(rows=50)
    late, now = fresh(learner), fresh(learner)
    waiting = [late.ask(x) for x in X[:_LATE]]
    for t in range(_LATE, len(X)):
        waiting.append(late.ask(X[t]))
        late.tell(waiting.pop(0), y[t - _LATE])
        now.learn_one(X[t - _LATE], y[t - _LATE])
    require_same(late.coef_, now.coef_, "the weights after late labels")
    require_same(late.certificate().loss, now.certificate().loss, "the certified loss after late labels")


def tickets_grow_the_model(learner: Learner) -> None:
    """A ticket brings new names, and waits while the model grows by others."""
    model = fresh(learner)
    model.learn_one(dict.fromkeys(names(), 0.5), 1.0)
    first = model.ask({names()[0]: 0.25, "new": 0.5})
    second = model.ask({names()[1]: 0.5})
    model.learn_one({"other": 0.5}, 0.5)
    model.tell(first, 0.75)
    model.tell(second, 0.5)
    require(list(model.feature_names_in_) == [*names(), "other", "new"], "tickets did not grow the model as rows do")


def tickets_are_told_once(learner: Learner) -> None:
    """A ticket that was told, or belongs to another model, is refused, and nothing is learned."""
    model = trained(learner)
    X, _ = stream(rows=1)
    ticket = model.ask(X[0])
    model.tell(ticket, 1.0)
    before = model.__getstate__()
    _require_refused(model, ticket, "already been told")
    _require_refused(fresh(learner), trained(learner).ask(X[0]), "another model")
    _require_refused(model, object(), "Ticket")
    require_same(model.__getstate__(), before, "a refused ticket changed the model")


def refused_labels_leave_tickets_valid(learner: Learner) -> None:
    """A label that is not a number is refused; the right one is learned afterwards."""
    model, twin = trained(learner), trained(learner)
    X, _ = stream(rows=1)
    ticket = model.ask(X[0])
    _require_refused(model, ticket, "", float("nan"))
    model.tell(ticket, 0.5)
    twin.learn_one(X[0], 0.5)
    require_same_state(model, twin, "the state after a refused label")


def _require_refused(model: Learner, ticket: Any, words: str, y: float = 1.0) -> None:
    try:
        model.tell(ticket, y)
    except (ValueError, TypeError) as error:
        require(words in str(error), f"tell refuses with other words: {error}")
    else:
        raise AssertionError("tell accepted a ticket or a label that it should refuse")


def late_rows_by_table(learner: Learner) -> None:
    """A table with late labels gives the results of single tickets."""
    X, y = stream(rows=60)
    by_ticket, by_table = fresh(learner), fresh(learner)
    waiting: list[Ticket] = []
    predicted = []
    for t, x in enumerate(X):
        waiting.append(by_ticket.ask(x, delay=_LATE))
        predicted.append(waiting[-1].prediction)
        if len(waiting) > _LATE:
            by_ticket.tell(waiting.pop(0), y[t - _LATE])
    stepper = Stepper(by_table, _LATE)
    first, second = stepper.table(X[:33], y[:33]), stepper.table(X[33:], y[33:])
    require_same(
        np.concatenate([first.predictions, second.predictions]), np.array(predicted), "predictions with late labels"
    )
    require_same_state(by_table, by_ticket, "the state after late labels")
    require(len(stepper.waiting) == len(waiting), "rows that wait")
