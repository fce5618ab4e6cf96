"""Rows in order, learned when their labels come: what a refused row leaves behind."""

import numpy as np
import pytest

import driftline as dl
from driftline.checks.tools import require_same
from driftline.delayed.stepper import Stepper
from driftline.features import Lags, Standardize

LEARNERS = {
    "rls": dl.RLS,
    "auto": dl.Auto,
    "pipeline": lambda: Standardize() | Lags(y=2) | dl.RLS(),
    "network": lambda: dl.Network([dl.RLS(), dl.LMS()]),
}


def rows(count, width=3):
    X = np.random.default_rng(2).normal(size=(count, width))
    return X, X @ np.arange(1.0, width + 1)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_first_row_that_is_refused_leaves_a_new_learner_untrained(name):
    """The core is made for the table's columns; if kept, it would refuse a table with other columns."""
    model, other = LEARNERS[name](), LEARNERS[name]()
    before = model.__getstate__()
    with pytest.raises(ValueError, match="NaN"):
        Stepper(model, 1).table(np.ones((4, 2)), np.array([np.nan, 2.0, 1.0, 3.0]))
    require_same(model.__getstate__(), before, "after the table")
    for learner in (model, other):
        Stepper(learner, 1).table(*rows(9))
    require_same(model.__getstate__(), other.__getstate__(), "after another table")


@pytest.mark.parametrize("bad", ["x", "y"])
@pytest.mark.parametrize("name", LEARNERS)
def test_rows_before_a_refused_one_stay_learned_and_the_others_wait(name, bad):
    """A loop of ask and tell would have come as far."""
    X, y = rows(40)
    model, plain, waiting = LEARNERS[name](), LEARNERS[name](), []
    (X if bad == "x" else y)[30] = np.nan
    stepper = Stepper(model, 4)
    stepper.table(X[:10], y[:10])
    with pytest.raises(ValueError, match="NaN"):
        stepper.table(X[10:], y[10:], start=10)
    assert stepper.at == 20
    last = 30 if bad == "x" else 35
    for t in range(last):
        waiting.append(plain.ask(X[t], 4))
        if len(waiting) > 4 and t < 34:
            plain.tell(waiting.pop(0), y[t - 4])
    require_same(model.__getstate__(), plain.__getstate__(), "after the refused row")
    assert [ticket.to_bytes() for ticket, _ in stepper.waiting] == [ticket.to_bytes() for ticket in waiting]
    np.testing.assert_array_equal([label for _, label in stepper.waiting], y[last - len(waiting) : last])
