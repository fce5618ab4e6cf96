"""Bad input: error messages, and refused calls that change nothing."""

import re

import numpy as np
import pytest

import driftline as dl
from driftline.checks.tools import same
from tests.cases import for_each


@pytest.fixture
def model(rows):
    model = dl.RLS()
    model.run(*rows)
    return model


ONES = np.ones(3)
MESSAGES = [
    (lambda m: m.learn_one(np.ones(5), 1.0), r"RLS.learn_one: x has 5 features, expected 3"),
    (lambda m: m.predict_one([1.0]), r"RLS.predict_one: x has 1 features, expected 3"),
    (lambda m: m.learn_one([1.0, np.nan, 1.0], 1.0), r"RLS.learn_one: x has NaN in feature 1"),
    (lambda m: m.learn_one(np.array([1.0, 1.0, np.inf]), 1.0), r"RLS.learn_one: x has infinity in feature 2"),
    (lambda m: m.learn_one(ONES, np.nan), r"RLS.learn_one: y is NaN"),
    (lambda m: m.learn_one(ONES, -np.inf), r"RLS.learn_one: y is infinity"),
    (lambda m: m.learn_one(ONES, None), r"RLS.learn_one: y is NaN"),
    (lambda m: m.learn_one(ONES, "1"), r"RLS.learn_one: y must be a number, got '1'"),
    (lambda m: m.learn_one(ONES, 1j), r"RLS.learn_one: Complex data not supported, y is 1j"),
    (lambda m: m.learn_one(ONES, np.complex64(1)), r"RLS.learn_one: Complex data not supported, y is"),
    (lambda m: m.learn_one(ONES, np.array(1j)), r"RLS.learn_one: Complex data not supported, y is 1j"),
    (lambda m: m.predict_one([1.0, np.array(1j), 1.0]), r"RLS.predict_one: Complex data not supported, x"),
    (lambda m: m.learn_one(ONES, [1.0, 2.0]), r"RLS.learn_one: y has 2 labels a row, expected 1"),
    (lambda m: m.learn_one("abc", 1.0), r"RLS.learn_one: x must have one dimension, got 0"),
    (lambda m: m.learn_one(["a", "b", "c"], 1.0), r"RLS.learn_one: x must hold numbers, got dtype <U1"),
    (lambda m: m.learn_one([1.0, "b", None], 1.0), r"RLS.learn_one: x(\[1\])? must (be a number|hold numbers)"),
    (lambda m: m.learn_one(np.ones((1, 3)), 1.0), r"RLS.learn_one: x must have one dimension, got 2"),
    (lambda m: m.learn_one([], 1.0), r"RLS.learn_one: x is empty"),
    (lambda m: m.learn_one(None, 1.0), r"RLS.learn_one: x must have one dimension, got 0"),
    (lambda m: m.predict_one([[1.0], [2.0, 3.0]]), r"RLS.predict_one: x cannot be read as an array"),
    (lambda m: m.predict_one([10**400, 0, 0]), r"RLS.predict_one: x\[0\] must be a number: int too large"),
    (
        lambda m: m.learn_one(ONES, 1.0, sample_weight=-1),
        r"RLS.learn_one: sample_weight must be in \[0, inf\), got -1$",
    ),
    (
        lambda m: m.learn_one(ONES, 1.0, sample_weight=10**400),
        r"RLS.learn_one: sample_weight must be a number: int too large",
    ),
    (lambda m: m.run(np.ones((2, 4)), [1, 2]), r"RLS.run: X has 4 features, but RLS is expecting 3 features as input"),
    (lambda m: m.run(np.ones(3), [1]), r"RLS.run: X must have two dimensions, got 1. Reshape your data"),
    (lambda m: m.run([{"a": 1.0}], [1]), r"RLS.run: X must be an array or a frame, got a list of mappings; pandas"),
    (lambda m: m.run({"a": [1.0]}, [1]), r"RLS.run: X must be an array or a frame, got a mapping; pandas.DataFrame"),
    (lambda m: m.run(np.ones((2, 3)), [1]), r"RLS.run: X has 2 rows, y has 1"),
    (lambda m: m.run(np.ones((2, 3)), None), r"RLS.run: y is missing"),
    (lambda m: m.run(np.ones((2, 3)), [1.0, np.nan]), r"RLS.run: y is NaN in row 1"),
    (lambda m: m.run(np.array([[1.0, 2.0, 3.0], [1.0, np.nan, 3.0]]), [1, 2]), r"RLS.run: X has NaN in row 1, feature 1"),
    (lambda m: m.run([[1.0, 2.0, 3.0], [1.0, "x", 3.0]], [1, 2]), r"RLS.run: X must hold numbers, got dtype"),
    (lambda m: m.run(np.array([[1.0, 2.0, "x"]], dtype=object), [1]), r"RLS.run: X\[0\]\[2\] must be a number, got 'x'"),
    (lambda m: m.run(np.ones((1, 3)) * 1j, [1]), r"RLS.run: Complex data not supported, X has dtype complex128"),
    (lambda m: m.run(np.empty((0, 3)), []), r"RLS.run: X has 0 sample\(s\)"),
    (lambda m: m.run(np.empty((2, 0)), [1, 2]), r"RLS.run: X has 0 feature\(s\)"),
    (
        lambda m: m.run(np.ones((2, 3)), [1, 2], weights_every=0),
        r"RLS.run: weights_every must be None or a whole number of at least 1, got 0",
    ),
    (
        lambda m: m.run(np.ones((2, 3)), [1, 2], sample_weight=[1, np.nan]),
        r"RLS.run: sample_weight must be .*, got nan in row 1",
    ),
    (
        lambda m: m.fit(np.ones((2, 3)), [1, 2], sample_weight=[0, 0]),
        r"RLS.fit: nothing to learn: every row has zero sample_weight",
    ),
    (lambda m: m.predict(np.ones((2, 2))), r"RLS.predict: X has 2 features, but RLS is expecting 3 features as input"),
    (lambda m: m.score(np.ones((2, 3)), [1, np.nan]), r"RLS.score: y is NaN in row 1"),
    (lambda m: m.score(np.ones((2, 3)), [1, 2], [0, 0]), r"RLS.score: every row has zero sample_weight"),
]


@for_each("act, message", MESSAGES)
def test_the_message_names_the_call_the_value_and_the_place(model, act, message):
    before = model.__getstate__()
    with pytest.raises((ValueError, TypeError), match=f"^{message}"):
        act(model)
    assert same(before, model.__getstate__())


def test_a_bad_row_deep_in_a_long_run_undoes_the_whole_run(family, rows):
    """The core has already learned the rows before the bad one; that must be undone."""
    X, y = rows
    family.run(X[:50], y[:50])
    before = family.__getstate__()
    X[150, 1] = np.nan
    with pytest.raises(ValueError, match="row 150, feature 1"):
        family.run(X, y)
    assert same(before, family.__getstate__())


@pytest.mark.parametrize("block", [1, 30, 64])
def test_a_bad_row_in_a_later_block_undoes_the_earlier_blocks(rows, block, in_blocks_of):
    in_blocks_of(block)
    X, y = rows
    model = dl.ARCOR()
    model.run(X[:50], y[:50])
    before = model.__getstate__()
    table = X.astype(object)
    table[150, 2] = "x"
    with pytest.raises(ValueError, match=r"ARCOR\.run: X.*\[2\] must be a number, got 'x'"):
        model.run(table, y)
    assert same(before, model.__getstate__())


def test_wemm_refuses_a_row_whose_weight_is_undefined(rows):
    X, y = rows
    model = dl.WEMM(ridge=8.0)
    model.run(X[:50], y[:50])
    before = model.__getstate__()
    X[120] *= 100
    with pytest.raises(ValueError, match=r"^WEMM\.run: row 120 has x'Sx >= 1.*ridge is 8"):
        model.run(X, y)
    with pytest.raises(ValueError, match=r"^WEMM\.learn_one: the row has x'Sx >= 1"):
        model.learn_one(X[120], 1.0)
    assert same(before, model.__getstate__())
    assert np.isfinite(model.predict_one(X[120]))


@pytest.mark.parametrize(("kind", "limit"), [(dl.LMS, 2), (dl.GD, 1)])
def test_the_divergence_error_names_the_rate_and_a_stable_bound(kind, limit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3))
    y = X.sum(axis=1)
    model = kind(rate=50.0, intercept=False)
    with pytest.raises(
        dl.DivergenceError, match=rf"{kind.__name__}\.run: .*at row \d+; rate=50.0 is too large: .* rate below"
    ) as error:
        model.run(X, y)
    assert isinstance(error.value, ValueError)
    assert model.n_seen_ == 0
    advice = float(re.search(r"rate below (\S+) =", str(error.value))[1])
    assert advice >= limit / (X**2).sum(axis=1).max()
    calm = kind(rate=0.5 * limit / (X**2).sum(axis=1).max(), intercept=False)
    calm.run(X, y)
    assert calm.coef_ == pytest.approx(np.ones(3), rel=1e-6)


class Breaks:
    """A loss that raises a given error at its 100th row."""

    def __init__(self, error):
        self.error, self.rows = error, 0

    def value(self, y, prediction):
        return (y - prediction) ** 2

    def gradient(self, y, prediction):
        self.rows += 1
        if self.rows == 100:
            raise self.error
        return 2 * (prediction - y)


@pytest.mark.parametrize(
    "error", [RuntimeError("x"), RecursionError("x"), KeyboardInterrupt(), MemoryError(), ZeroDivisionError("x")]
)
def test_an_error_in_the_users_own_code_undoes_the_run(rows, error):
    """This holds for any error, even a RuntimeError, which driftline raises if a model is in use."""
    model = dl.GD(loss=Breaks(error))
    model.run(rows[0][:50], rows[1][:50])
    before = model.__getstate__()
    with pytest.raises(type(error)):
        model.run(*rows)
    assert same(before, model.__getstate__())
    model.run(*rows)
    assert model.n_seen_ == 250


def test_a_state_that_cannot_be_restored_is_lost_as_a_whole(monkeypatch):
    """For example, if memory runs out. A classifier with more classes than labels would be worse."""
    model = dl.Classifier(dl.LMS())
    model.run([[1.0], [2.0], [3.0]], ["a", "b", "a"])

    def fail(*_):
        raise MemoryError("no more")

    monkeypatch.setattr(dl.Classifier, "_restored_core", fail)
    with pytest.raises(RuntimeError, match=r"^Classifier: the state could not be restored and is lost.*\(no more\)$"):
        model.run([[1.0], [np.nan]], ["c", "a"])
    monkeypatch.undo()
    assert same(model.__getstate__(), dl.Classifier(dl.LMS()).__getstate__())
    model.run([[1.0], [2.0]], ["c", "d"])
    assert model.classes_.tolist() == ["c", "d"]


def test_a_loss_cannot_use_the_learner_that_calls_it(rows):
    class Meddling:
        def value(self, y, prediction):
            return 0.0

        def gradient(self, y, prediction):
            model.learn_one([0.1, 0.2, 0.3], 1.0)
            return 0.0

    model = dl.GD(loss=Meddling())
    with pytest.raises(RuntimeError, match="GD: the model is in use"):
        model.run(*rows)
    assert model.n_seen_ == 0


def test_a_warning_raised_as_an_error_leaves_nothing_learned(rows):
    X, y = rows
    model = dl.RLS()
    with pytest.raises(UserWarning, match="column-vector"):
        model.run(X, y[:, None])
    assert model.n_seen_ == 0


def test_labels_at_the_end_of_the_range_are_learned_without_a_warning(learner):
    """Their squares overflow, and so do their differences."""
    y = np.array([1.7e308, -1.7e308, 1.7e308, 0.0])
    try:
        run = learner.run(np.full((4, 2), 0.5), y)
    except dl.DivergenceError:
        return
    assert np.isfinite(run.predictions).all()
    assert np.isfinite(learner.certificate().loss)
    assert run.losses.max() == np.inf
    assert np.isfinite(learner.score(np.full((4, 2), 0.5), y))
    twin = type(learner)()
    twin.__setstate__(learner.__getstate__())
    assert np.array_equal(twin._weights, learner._weights)
