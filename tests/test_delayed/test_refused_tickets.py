"""Tickets that are refused, forged or interrupted: the model and the ticket stay consistent."""

import copy
from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import driftline as dl
from driftline.checks.tools import same
from driftline.features import Lags, Standardize
from tests.test_base.test_guard import interrupted_at

RNG = np.random.default_rng(1)
X = RNG.uniform(-1, 1, (60, 3))
Y = X @ [1.0, -2.0, 0.5] + np.sin(np.arange(60) / 4) + 0.1 * RNG.normal(size=60)


@pytest.mark.parametrize("make", [dl.RLS, dl.Auto, lambda: Lags(y=2) | dl.RLS()], ids=["rls", "auto", "pipeline"])
def test_delay_must_be_a_whole_number_that_a_ticket_can_hold(make):
    model = make()
    model.run(X, Y)
    assert model.ask(X[0], delay=np.int64(3)).delay == 3
    for delay in (2**63, -1, 1.5):
        with pytest.raises(ValueError, match=r"ask: delay must be a whole number in \[0, 1000000000000000\]"):
            model.ask(X[0], delay=delay)


@pytest.mark.parametrize("make", [dl.RLS, dl.Auto, lambda: Lags(y=2) | dl.RLS()], ids=["rls", "auto", "pipeline"])
def test_a_ticket_of_a_narrower_row_without_names_is_refused(make):
    """Without names, nothing shows that the missing features are new."""
    model = make()
    ticket = model.ask(X[0, :2])
    model.run(X, Y)
    before = model.to_bytes()
    with pytest.raises(ValueError, match="tell: x has 2 features, expected 3"):
        model.tell(ticket, 1.0)
    assert model.to_bytes() == before
    assert not ticket.told


def test_a_ticket_with_infinite_bounds_leaves_a_model_that_can_be_saved():
    model = dl.RLS()
    model.run(X, Y)
    ticket = model.ask(X[0])
    numbers = ticket.numbers
    numbers[8:24] = np.inf
    forged = dl.Ticket.from_bytes(dl.Ticket(X[0], ticket.model, numbers).to_bytes())
    model.learn_one(X[1], Y[1])
    model.tell(forged, Y[0])
    assert dl.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


def test_a_refused_label_does_not_change_a_ticket_of_a_pipeline():
    """Features added since the prediction are transformed when the label is learned."""
    predicted = []
    for refused in (False, True):
        model = Standardize() | dl.RLS()
        for t in range(20):
            model.learn_one({"a": t % 5}, t % 5)
        ticket = model.ask({"a": 1.0, "b": 7.0})
        for t in range(5):
            model.learn_one({"a": t % 5, "b": float(t)}, t)
        before = ticket.to_bytes()
        if refused:
            with pytest.raises(ValueError, match="y is NaN"):
                model.tell(ticket, np.nan)
            assert ticket.to_bytes() == before
        for t in range(20):
            model.learn_one({"a": t % 5, "b": 3.0 * t}, t)
        model.tell(ticket, 1.0)
        predicted.append(model.predict_one({"a": 2.0, "b": 3.0}))
    assert predicted[0] == predicted[1]


def test_tables_are_predicted_like_single_rows_while_labels_are_late():
    model, waiting = Lags(y=[1, 3, 12], x=2) | dl.RLS(), []
    for x, y in zip(X, Y, strict=True):
        waiting.append((model.ask(x), y))
        if len(waiting) > 4:
            model.tell(*waiting.pop(0))
    assert model.predict(X).tolist() == [model.predict_one(x) for x in X]
    ends = np.column_stack(model.predict_intervals(X, 0.8))
    assert ends.tolist() == [list(model.predict_interval(x, 0.8)) for x in X]


INTERRUPTED = {
    "pipeline": lambda: Lags(y=2) | dl.RLS(),
    "network": lambda: dl.Network([dl.RLS(), dl.NLMS()]),
    "averaged": dl.Averaged,
    "classifier": dl.Classifier,
    "new class": dl.Classifier,
    "network of a pipeline": lambda: dl.Network([Lags(y=2) | dl.RLS(), dl.Ridge()]),
    "average of a network": lambda: dl.Averaged(dl.Network([dl.RLS(), dl.Ridge()])),
    "network of a refit": lambda: dl.Network([dl.Refit(LinearRegression(), every=20, lags=[1]), dl.RLS()]),
}
ACTS = {
    "learn_one": lambda model, _, y: model.learn_one(X[20], y),
    "tell": lambda model, ticket, y: model.tell(ticket, y),
    "learn_one without a label": lambda model, *_: model.learn_one(X[20], None),
    "tell without a label": lambda model, ticket, _: model.tell(ticket, None),
}


LOOKING_BACK = [name for name in INTERRUPTED if name.endswith("pipeline")]  # a skipped row changes more than a count


@pytest.mark.parametrize(
    ("name", "call"),
    [(name, call) for name in INTERRUPTED for call in ACTS if name in LOOKING_BACK or not call.endswith("label")],
)
def test_after_an_interrupt_all_nested_learners_have_learned_the_row_or_none(name, call):
    model = INTERRUPTED[name]().set_params(missing="skip")
    y = (Y > 0).tolist() if isinstance(model, dl.Classifier) else Y
    if name == "new class":
        y[20] = 7  # a new class
    model.run(X[:20], y[:20])
    ticket, before = model.ask(X[20]), model.__getstate__()
    ACTS[call](model, copy.copy(ticket), y[20])
    done, line, raised = model.__getstate__(), 0, True
    while raised:
        model.__setstate__(before)
        own = copy.copy(ticket)
        raised = interrupted_at(line, partial(ACTS[call], model, own, y[20]))
        state = model.__getstate__()
        learned = not same(state, before)
        assert learned or raised
        assert not learned or same(state, done), f"line {line}"
        assert own.told == (learned and call.startswith("tell"))
        assert own.told or not any(part.told for part in own.parts)
        line += 1
    assert line > 5


@pytest.mark.parametrize("make", [dl.RLS, dl.Auto, lambda: Standardize() | dl.RLS()], ids=["rls", "auto", "pipeline"])
@pytest.mark.parametrize(
    ("x", "words"), [({"shop": 3.0}, "text, got 3.0"), ({"load": "high", "shop": "north"}, "a number, got 'high'")]
)
def test_a_ticket_does_not_change_the_type_of_a_column(make, x, words):
    """A native core knows no text columns: it would ignore the name, and make a number there a new feature."""
    model = make()
    for row in ({"load": 1.0, "shop": "north"}, {"load": 2.0, "shop": "south"}):
        model.tell(model.ask(row), 1.0)
    before = model.to_bytes()
    with pytest.raises(ValueError, match=rf"ask: x\['{next(iter(x))}'\] must be {words}"):
        model.ask(x)
    assert model.to_bytes() == before


@pytest.mark.parametrize("asked_before", [False, True])
def test_a_row_of_another_width_is_refused_whether_or_not_the_model_was_asked(asked_before):
    """Only features with names are added later."""
    rng = np.random.default_rng(0)
    narrow, wide = dl.RLS(), dl.RLS()
    narrow.run(rng.normal(size=(5, 3)), rng.normal(size=5))
    wide.run(rng.normal(size=(9, 6)), rng.normal(size=9))
    ticket = narrow.ask(np.ones(3))
    if asked_before:
        wide.ask(np.ones(6))
    with pytest.raises(ValueError, match="x has 3 features, expected 6"):
        wide.tell(ticket, 1.0)


def test_a_ticket_whose_interval_knows_more_labels_than_were_learned_is_refused():
    """Otherwise its label would leave a state that cannot be loaded."""
    model = dl.RLS()
    model.run(np.ones((9, 1)), np.ones(9))
    asked = model.ask([1.0])
    model.learn_one([1.0], 1.0)
    numbers = asked.numbers
    numbers[7] = 1e6  # the labels that its interval is based on; more than were learned
    with pytest.raises(ValueError, match="the ticket's numbers are out of range"):
        dl.Ticket(asked.x, asked.model, numbers)
