"""Late labels of a transformed learner: tables go through the learner's own core, with the bits of ask and tell."""

import numpy as np
import pandas as pd
import pytest

import driftline as dl
from driftline.base.levels import as_spread
from driftline.delayed.stepper import Stepper
from driftline.errors import RowRefusedError

LEVELS = [0.1, 0.5, 0.9]
SPREAD = as_spread("test", 0.9, LEVELS)
ROWS = 300


def stream(gaps=False):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(ROWS, 2))
    y = np.exp(X @ [0.5, -0.3] + 0.3 * rng.normal(size=ROWS))
    if gaps:
        X[rng.random(ROWS) < 0.05, 1] = np.nan
        y[rng.random(ROWS) < 0.05] = np.nan
    return X, np.clip(y, 0.3, 9.0)


def singly(model, X, y, delay):
    """Answers row by row, by ask and tell, and the tickets of the rows that wait."""
    waiting, said = [], []
    for x, label in zip(X, y, strict=True):
        ticket = model.ask(x, delay)
        waiting.append((ticket, label))
        said.append([ticket.prediction, *ticket.interval(0.9), *ticket.quantiles(LEVELS)])
        if len(waiting) > delay:
            model.tell(*waiting.pop(0))
    return np.array(said), waiting


@pytest.fixture
def no_single_rows(monkeypatch):
    """Only the first row and single ones may be taken one by one."""
    taken, alone = [], Stepper.singly

    def counted(self, rows, y, out, spread, start, stop, *more):
        taken.append(stop - start)
        alone(self, rows, y, out, spread, start, stop, *more)

    monkeypatch.setattr(Stepper, "singly", counted)
    return taken


@pytest.mark.parametrize("inner", [dl.RLS(), dl.LASER(), dl.GD(), dl.Auto()], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(("delay", "gaps"), [(0, False), (1, True), (40, False), (40, True)])
def test_tables_give_the_bits_of_ask_and_tell(no_single_rows, inner, delay, gaps):
    X, y = stream(gaps)

    def made():
        return dl.Transformed(inner.clone(), "log", low=0.2, high=9.0, missing="skip" if gaps else "raise")

    one, other = made(), made()
    expected, waiting = singly(one, X, y, delay)
    stepper, found = Stepper(other, delay), []
    for rows in np.split(np.arange(ROWS), [3, 4, 60, 61, 200]):
        out = stepper.table(X[rows], y[rows], spread=SPREAD)
        found.append(np.column_stack([out.predictions, out.lower, out.upper, out.quantiles]))
    np.testing.assert_array_equal(np.concatenate(found), expected)
    assert sum(no_single_rows) <= max(delay, 1) + 5
    assert other.to_bytes() == one.to_bytes()
    assert [ticket.to_bytes() for ticket, _ in stepper.waiting] == [ticket.to_bytes() for ticket, _ in waiting]
    stepper.finish()
    for ticket, label in waiting:
        one.tell(ticket, label)
    assert other.to_bytes() == one.to_bytes()


def test_a_label_outside_the_domain_is_refused_with_its_row_after_the_rows_before_it():
    X, y = stream()
    y[150] = 0.0
    one, other = dl.Transformed(dl.RLS(), "log"), dl.Transformed(dl.RLS(), "log")
    singly(one, X[:155], y[:155], 5)  # the label of row 150 is not told yet
    stepper = Stepper(other, 5)
    with pytest.raises(RowRefusedError, match='"log" takes labels above 0'):
        stepper.table(X, y)
    assert stepper.at == 150
    assert other.to_bytes() == one.to_bytes()


def test_functions_of_the_user_go_row_by_row_because_they_may_fail():
    X, y = stream()
    one, other = (dl.Transformed(dl.RLS(), (np.log, np.exp)) for _ in range(2))
    expected, _ = singly(one, X, y, 3)
    found = Stepper(other, 3).table(X, y, spread=SPREAD)
    np.testing.assert_array_equal(found.predictions, expected[:, 0])
    assert not hasattr(other._core, "run_late")


@pytest.mark.parametrize("delay", [0, 4])
def test_rows_with_text_give_the_bits_of_ask_and_tell(delay):
    X, y = stream()
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "north", "south")})
    one, other = dl.Transformed(dl.RLS(), "log1p"), dl.Transformed(dl.RLS(), "log1p")
    _, waiting = singly(one, frame.to_dict("records"), y, delay)
    for ticket, label in waiting:
        one.tell(ticket, label)
    blocks = [(frame[part], y[part]) for part in (slice(0, 90), slice(90, ROWS))]
    dl.evaluate.prequential(other, blocks, delay=delay, progress=False)
    assert other.to_bytes() == one.to_bytes()


def test_late_rows_with_new_texts_are_learned_by_the_learner_within_as_they_are_by_it_alone():
    X, y = stream()
    rows = [{"a": a, "b": "north" if b > 0 else "south"} for a, b in X.tolist()]
    alone, around = dl.RLS(), dl.Transformed(dl.RLS(), (np.copy, np.copy))
    for model in (alone, around):
        _, waiting = singly(model, rows, y, 4)
        for ticket, label in waiting:
            model.tell(ticket, label)
    np.testing.assert_array_equal(around.coef_, alone.coef_)
