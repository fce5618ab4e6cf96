"""Rows that a learner refuses: a DataError that carries the row's number and names its place."""

import numpy as np
import pytest

import driftline as dl
from driftline.files import Block, DataError, follow


def blocks(labels, size):
    """Rows of one feature, in blocks whose lines are counted from 100."""
    for start in range(0, len(labels), size):
        y = np.array(labels[start : start + size], dtype=np.float64)
        births = [(0, 1)] if start == 0 else []
        place = lambda row, start=start: f"line {100 + start + row}"  # noqa: E731
        yield Block(np.ones((len(y), 1)), y, ["a"], births, None, start, place, None, min(start, 1))


@pytest.mark.parametrize(
    ("delay", "bad", "place"),
    [
        (0, 0, "line 100"),  # by its name: the learner does not know the feature yet
        (0, 17, "line 117"),  # within a block that is learned at once
        (2, 11, "line 111"),  # learned in its own block
        (2, 18, "row 18"),  # learned in the next block, which knows no line of this one
    ],
)
def test_the_row_that_is_refused_is_named(delay, bad, place):
    labels = list(range(30))
    labels[bad] = np.nan
    model = dl.RLS()
    with pytest.raises(DataError, match=r"RLS\.learn_one: y is NaN") as found:
        list(follow(model, blocks(labels, 10), delay=delay))
    assert (found.value.row, found.value.place) == (bad, place)
    assert model.n_seen_ == bad
    assert found.value.within("a.csv").row == bad


def test_rows_before_the_refused_one_are_learned_as_ever():
    labels = np.random.default_rng(0).normal(size=30)
    labels[25] = np.nan
    model = dl.RLS()
    with pytest.raises(DataError):
        list(follow(model, blocks(labels, 10)))
    whole = dl.RLS()
    whole.run(np.ones((25, 1)), labels[:25])
    assert model.predict_one({"a": 1.0}) == whole.predict_one([1.0])
