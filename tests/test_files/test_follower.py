"""A learner that follows blocks: refused rows are named, and late labels give a plain loop's results bit for bit."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.base.levels import as_spread
from driftline.files import Block, DataError, Follower, follow
from driftline.tables.block import of_columns
from driftline.tables.cells import Given


def block_of(X, y, names, start=0, place=str, begins=None):
    """A block of columns of numbers."""
    given = {name: Given("number", np.ascontiguousarray(column)) for name, column in zip(names, X.T, strict=True)}
    return Block(of_columns(given, len(X), begins=begins), y, None, start, place)


def blocks(labels, size):
    """Rows of one feature, in blocks whose lines are counted from 100."""
    for start in range(0, len(labels), size):
        y = np.array(labels[start : start + size], dtype=np.float64)
        place = lambda row, start=start: f"line {100 + start + row}"  # noqa: E731
        yield block_of(np.ones((len(y), 1)), y, ["a"], start, place)


@pytest.mark.parametrize(
    ("delay", "bad", "place"),
    [
        (0, 0, "line 100"),  # by name: the feature is new to the learner
        (0, 17, "line 117"),  # within a block that is learned in one call
        (2, 11, "line 111"),  # learned in its own block
        (2, 18, "row 18"),  # learned with the next block, which has no line numbers for this one
    ],
)
def test_a_refused_row_is_named(delay, bad, place):
    labels = list(range(30))
    labels[bad] = np.nan
    model = dl.RLS()
    with pytest.raises(DataError, match=r"RLS\.tell: y is NaN") as found:
        list(follow(model, blocks(labels, 10), delay=delay))
    assert (found.value.row, found.value.place) == (bad, place)
    assert model.n_seen_ == bad
    assert found.value.within("a.csv").row == bad


def test_rows_before_a_refused_one_are_learned():
    labels = np.random.default_rng(0).normal(size=30)
    labels[25] = np.nan
    model = dl.RLS()
    with pytest.raises(DataError):
        list(follow(model, blocks(labels, 10)))
    whole = dl.RLS()
    whole.run(np.ones((25, 1)), labels[:25])
    assert model.predict_one({"a": 1.0}) == whole.predict_one([1.0])


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("names", [["b", "a"], ["c", "b", "a"]])
def test_a_learner_with_other_features_is_followed_by_name(names, delay):
    """Features in another order must not be taken for the learner's own."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, len(names))), rng.normal(size=40)
    model, plain = dl.RLS(), dl.RLS()
    for learner in (model, plain):
        for x, label in zip(X[:, :2].tolist(), (X[:, :2] @ [1.0, -2.0]).tolist(), strict=True):
            learner.learn_one(dict(zip("ab", x, strict=True)), label)
    block = block_of(X, y, names)
    run = Follower(model, delay=delay).step(block)
    waiting, said = [], []
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        waiting.append((plain.ask(dict(zip(names, x, strict=True)), delay), label))
        said.append(waiting[-1][0].prediction)
        if len(waiting) > delay:
            plain.tell(*waiting.pop(0))
    np.testing.assert_array_equal(run.predictions, said)
    assert list(model.feature_names_in_) == list(plain.feature_names_in_)


def growth_and_gaps(rows, seed):
    """Two features from the start, a third from row 30 on, a fourth from row 70 on; labels with gaps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    X[:30, 2], X[:70, 3] = np.nan, np.nan
    y = np.nan_to_num(X) @ [1.0, 2.0, 3.0, 4.0] + np.sin(np.arange(rows) / 4) + 0.1 * rng.normal(size=rows)
    y[rng.random(rows) < 0.05] = np.nan
    return X, y


GROWTH = [(0, 2), (30, 3), (70, 4)]
NAMES = ["a", "b", "c", "d"]


def cut(X, y, cuts):
    for start, stop in pairwise([0, *sorted(cuts), len(y)]):
        width = max((w for row, w in GROWTH if row < stop), default=0)
        place = lambda row, start=start: f"line {start + row}"  # noqa: E731
        begins = {name: max(row - start, 0) for name, row in (("c", 30), ("d", 70)) if name in NAMES[:width]}
        yield block_of(X[start:stop, :width], y[start:stop], NAMES[:width], start, place, begins)


def plainly(model, X, y, delay, level):
    waiting, said = [], []
    for t, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        width = max(w for row, w in GROWTH if row <= t)
        ticket = model.ask(dict(zip(NAMES[:width], row, strict=False)), delay=delay)
        said.append((ticket.prediction, *ticket.interval(level)))
        waiting.append((ticket, label))
        if len(waiting) > delay:
            model.tell(*waiting.pop(0))
    return np.array(said)


MODELS = {
    "rls": lambda: dl.RLS(missing="skip"),
    "auto": lambda: dl.Auto(missing="skip"),
    "crrls": lambda: dl.CRRLS(missing="skip"),
    "network": lambda: dl.Network([dl.RLS(), dl.NLMS()], missing="skip"),
    "pipeline": lambda: dl.Pipeline([dl.features.Lags(y=3)], dl.Kalman(), missing="skip"),
}


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(list(MODELS)),
    st.sampled_from([0, 1, 7, 45]),
    st.lists(st.integers(1, 149), max_size=4, unique=True),
    st.booleans(),
    st.integers(0, 9),
)
@example("auto", 1, [], False, 6)  # the last label that arrives is missing
@example("rls", 45, [1], False, 0)  # the third feature comes before the first label
@example("rls", 45, [31, 33], False, 0)  # so it does, and the second block holds numbers alone
@example("rls", 45, [30, 47], False, 0)  # the first label comes within a block that has the third feature
def test_late_labels_and_new_features_equal_a_plain_loop_bit_for_bit_even_after_a_restart(name, delay, cuts, watched, seed):
    X, y = growth_and_gaps(150, seed)
    plain, model = MODELS[name](), MODELS[name]()
    expected = plainly(plain, X, y, delay, 0.8)
    follower, found = Follower(model, delay=delay, spread=as_spread("", 0.8)), []
    for block in cut(X, y, cuts):
        run = follower.step(block, 1 if watched and name == "rls" else None)  # as for a report
        found.append(np.column_stack([run.predictions, run.lower, run.upper]))
        kept = dl.from_bytes(follower.model.to_bytes()), {name: array.copy() for name, array in follower.state().items()}
        follower = Follower(kept[0], delay=delay, spread=as_spread("", 0.8))
        follower.restore(kept[1])
    assert np.array_equal(np.concatenate(found), expected, equal_nan=True)
    assert follower.model.n_seen_ == plain.n_seen_
    assert follower.model.n_skipped_ == plain.n_skipped_
    row = dict(zip(NAMES, X[-1].tolist(), strict=True))
    assert follower.model.predict_one(row) == plain.predict_one(row)


@pytest.mark.parametrize("delay", [1, 8])
def test_snapshots_of_late_runs_equal_the_weights_of_the_plain_loop(delay):
    X, y = growth_and_gaps(120, 3)
    plain, waiting, weights = dl.RLS(missing="skip"), [], []
    for t in range(70, 120):
        waiting.append((plain.ask(dict(zip(NAMES, X[t].tolist(), strict=True)), delay), y[t]))
        if len(waiting) > delay:
            plain.tell(*waiting.pop(0))
        weights.append(plain._weights if plain._core is not None else None)
    follower = Follower(dl.RLS(missing="skip"), delay=delay)
    follower.step(block_of(X[70:90], y[70:90], NAMES))
    run = follower.step(block_of(X[90:], y[90:], NAMES), 4)
    assert len(run.weights) == 7
    for place, found in zip(run.snapshots.tolist(), run.weights, strict=True):
        assert np.array_equal(found, weights[20 + place])
