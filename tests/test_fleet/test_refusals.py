"""Calls that a fleet refuses, and that leave it unchanged."""

import threading
import warnings

import numpy as np
import pandas as pd
import pytest

import driftline as dl
from driftline.tables.block import of_columns
from driftline.tables.cells import Given
from tests import patience

from .apart import keyed_rows, require_same


@pytest.fixture
def fleet():
    keys, X, y = keyed_rows()
    fleet = dl.Fleet(dl.RLS(), 5)
    fleet.learn_many(keys, X, y)
    return fleet


def models(fleet):
    return [fleet[key] for key in fleet.keys_]


def require_untouched(fleet, before):
    for model, old in zip(models(fleet), before, strict=True):
        require_same(model, old)


@pytest.mark.parametrize(
    ("learner", "error", "words"),
    [
        (dl.RLS, TypeError, "learner must be a driftline learner"),
        (None, TypeError, "learner must be a driftline learner, got None"),
    ],
)
def test_anything_but_a_learner_is_refused(learner, error, words):
    with pytest.raises(error, match=rf"^Fleet: {words}"):
        dl.Fleet(learner, 3)


@pytest.mark.parametrize("n", [0, -1, 1.0, True, "3"])
def test_an_invalid_number_of_models_is_refused(n):
    with pytest.raises(ValueError, match=r"^Fleet: n must be None or a whole number of at least 1, got"):
        dl.Fleet(dl.RLS(), n)


@pytest.mark.parametrize("options", [{"jobs": 0}, {"jobs": True}, {"named": 1}, {"alarms": 1}, {"intervals": None}])
def test_invalid_options_are_refused(options):
    with pytest.raises(ValueError, match=rf"^Fleet: {next(iter(options))} must be"):
        dl.Fleet(dl.RLS(), 3, **options)


def test_more_models_than_memory_could_hold_are_refused():
    fleet = dl.Fleet(dl.RLS(), 10**18)
    words = r"^Fleet\.learn_many: not enough memory for 1,000,000,000,000,000,000 models of 1 features; with named"
    with pytest.raises(MemoryError, match=words):
        fleet.learn_many([0], [[1.0]], [1.0])


def test_a_key_beyond_any_memory_is_refused_and_changes_nothing():
    fleet = dl.Fleet(dl.RLS())
    fleet.learn_many([3], [[1.0]], [1.0])
    before = models(fleet)
    for key, error in ((10**17, MemoryError), (2**62, ValueError), (2**63, ValueError), (-1, ValueError)):
        with pytest.raises(
            error, match=rf"^Fleet\.learn_many: .*{'100,000,000,000,000,001' if error is MemoryError else key}"
        ):
            fleet.learn_many(np.array([0, key], dtype="i8" if key < 2**63 else "u8"), [[1.0], [1.0]], [1.0, 1.0])
    require_untouched(fleet, before)
    assert fleet.predict_many([10**17, 3], [[1.0], [1.0]])[0] == 0.0


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.full((2, 3), np.nan), [1, 2], "X has NaN in row 0, feature 0"),
        ([[1, 2, 3], [1, np.inf, 3]], [1, 2], "X has infinity in row 1, feature 1"),
        (np.ones((2, 3)), [1, np.nan], "y is NaN in row 1"),
        (np.ones((2, 4)), [1, 2], "X has 4 features, but Fleet is expecting 3"),
        (np.ones((2, 3)), [1, 2, 3], "X has 2 rows, y has 3"),
        (np.ones((0, 3)), [], "X has 0 sample"),
        (np.ones(3), [1], "X must have two dimensions"),
        (np.ones((2, 3, 1)), [1, 2], "X must have two dimensions"),
        ([["a", "b", "c"]] * 2, [1, 2], "X must hold numbers"),
        (np.ones((2, 3), dtype=complex), [1, 2], "Complex"),
        (np.ones((2, 3)), None, "y is missing"),
    ],
)
def test_wrong_rows_change_nothing(fleet, X, y, words):
    before = models(fleet)
    for verb in (fleet.run, fleet.learn_many):
        with pytest.raises(ValueError, match=words):
            verb([0, 1][: len(X)], X, y)
    require_untouched(fleet, before)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (([], [1.0], 1.0), "a key must be hashable, got []: "),
        ((None, [1.0], 1.0), "the key is None"),
        (("b", [1.0], 1.0), "the row has the new key 'b'"),
        (("a", [np.nan], 1.0), "x has NaN in feature 0"),
        (("a", [1.0], np.inf), "y is infinity"),
    ],
)
def test_errors_of_learn_one_give_no_row_number(row, words):
    fleet = dl.Fleet(dl.RLS(), 1, named=True)
    fleet.learn_one("a", [1.0], 1.0)
    with pytest.raises((ValueError, TypeError)) as caught:
        fleet.learn_one(*row)
    assert str(caught.value).startswith(f"Fleet.learn_one: {words}")
    assert "row 0" not in str(caught.value)


def test_errors_of_learn_one_about_keys_and_weights_name_no_row():
    fleet = dl.Fleet(dl.RLS(), 3)
    for call in (lambda: fleet.learn_one(9, [1.0], 1.0), lambda: fleet.learn_one(1, [1.0], 1.0, sample_weight=-1.0)):
        with pytest.raises(ValueError, match=r"^Fleet\.learn_one: (?!.*row)"):
            call()


def test_values_beyond_the_range_of_the_dtype_are_refused():
    fleet = dl.Fleet(dl.RLS(dtype="float32"), 2)
    with pytest.raises(ValueError, match="X has 1e\\+39 in row 1, feature 0, beyond the range of float32"):
        fleet.learn_many([0, 1], [[1.0], [1e39]], [1.0, 2.0])
    assert fleet.n_seen_.tolist() == [0, 0]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_row_that_wemm_refuses_undoes_the_whole_call(jobs, monkeypatch):
    monkeypatch.setattr("driftline.fleet.call.ROWS_FOR_A_THREAD", 1)
    keys, X, y = keyed_rows()
    fleet = dl.Fleet(dl.WEMM(ridge=4.0), 5, jobs=jobs)
    fleet.learn_many(keys, X, y)
    before = models(fleet)
    X[150:] *= 1000
    with pytest.raises(ValueError, match=rf"^Fleet\.run, key {keys[150]}: row 150 has x'Sx >= 1"):
        fleet.run(keys, X, y)
    require_untouched(fleet, before)
    fleet.learn_many(keys[:150], X[:150], y[:150])
    assert fleet.n_seen_.sum() == 450


def test_diverging_weights_undo_the_whole_call():
    fleet = dl.Fleet(dl.LMS(rate=10.0, intercept=False), 3, named=True)
    X, y = np.full((3000, 1), 1e3), np.ones(3000)
    fleet.learn_many(["a"], X[:1], y[:1])
    before = models(fleet)
    with pytest.raises(dl.DivergenceError, match=r"^Fleet\.learn_many, key 'b': the weights left the range of float64 at"):
        fleet.learn_many(["a", "b", "b"] * 1000, X, y)
    require_untouched(fleet, before)
    assert fleet.keys_ == ["a"]


def test_a_schedule_that_raises_undoes_the_whole_call():
    def forgetting(t):
        return 0.9 if t < 20 else 2.0

    keys, X, y = keyed_rows()
    fleet = dl.Fleet(dl.RLS(forgetting=forgetting), 5)
    fleet.learn_many(keys[:30], X[:30], y[:30])
    before = models(fleet)
    with pytest.raises(ValueError, match=r"^RLS: forgetting\(20\) is out of range: 2.0"):
        fleet.learn_many(keys, X, y)
    require_untouched(fleet, before)


def test_a_schedule_is_called_only_for_rows_that_exist():
    asked = set()

    def forgetting(t):
        asked.add(t)
        return 0.9

    keys, X, y = keyed_rows()
    dl.Fleet(dl.RLS(forgetting=forgetting), 5).learn_many(keys, X, y)
    assert asked == set(range(1, np.bincount(keys).max() + 1))


def test_names_of_features_must_agree():
    import pandas as pd

    keys, X, y = keyed_rows()
    fleet = dl.Fleet(dl.RLS(), 5)
    fleet.learn_many(keys, pd.DataFrame(X, columns=["a", "b", "c"]), y)
    assert fleet[0].feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="The feature names should match"):
        fleet.predict_many(keys, pd.DataFrame(X, columns=["a", "c", "b"]))
    assert np.array_equal(fleet.predict_many(keys, X), fleet.predict_many(keys, pd.DataFrame(X, columns=["a", "b", "c"])))


def test_a_second_thread_is_told_that_the_fleet_is_in_use(fleet):
    inside, leave = threading.Event(), threading.Event()

    class Slow(np.ndarray):
        def __array__(self, *_, **__):
            inside.set()
            leave.wait(patience.SECONDS)
            return np.ones((1, 3))

    class Rows:
        __array__ = Slow.__array__

    worker = threading.Thread(target=lambda: fleet.predict_many([0], Rows()))
    worker.start()
    try:
        assert inside.wait(patience.SECONDS)
        with pytest.raises(RuntimeError, match="in use by another thread"):
            fleet.learn_many([0], np.ones((1, 3)), [1.0])
    finally:
        leave.set()
        worker.join()
    fleet.learn_many([0], np.ones((1, 3)), [1.0])


def test_learned_attributes_need_a_fleet_that_has_learned():
    fleet = dl.Fleet(dl.RLS(), 3)
    assert fleet[2].n_seen_ == 0
    assert fleet.predict_many([0], [[1.0]]) == 0.0
    for name in ("coef_", "intercept_", "n_features_in_", "feature_names_in_"):
        with pytest.raises(ValueError, match=rf"^Fleet\.{name}: the fleet has seen no row"):
            getattr(fleet, name)


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("learn_one", (0, {"wind": 1.0, "shop": "north"}, 1.0)),
        ("run", ([0], pd.DataFrame({"wind": [1.0], "shop": ["north"]}), [1.0])),
    ],
)
def test_models_in_one_block_of_memory_refuse_text_after_numbers(verb, arguments):
    """The first row decides; text from the start gives each key a model of its own."""
    fleet = dl.Fleet(dl.RLS(), 2)
    fleet.learn_one(0, {"wind": 1.0}, 1.0)
    with pytest.raises(ValueError, match=rf"^Fleet.{verb}: .*shop"):
        getattr(fleet, verb)(*arguments)
    assert fleet.n_seen_.tolist() == [1, 0]


def test_a_file_that_brings_a_column_later_is_refused_with_advice_that_works():
    first, later = (of_columns({name: Given("number", np.ones(2)) for name in names}, 2, begins={}) for names in ("a", "ab"))
    fleet, growing = dl.Fleet(dl.RLS(), 2), dl.Fleet(dl.RLS(missing="mean"), 2)
    for each in (fleet, growing):
        each.run([0, 1], first, [1.0, 2.0])
    with pytest.raises(ValueError, match=r"^Fleet.run: the feature 'b' is new, .*, such as Auto or those with missing="):
        fleet.run([0, 1], later, [1.0, 2.0])
    assert fleet.n_seen_.tolist() == [1, 1]
    growing.run([0, 1], later, [1.0, 2.0])
    assert growing[0].feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("learner", [dl.RLS(intercept=False), dl.Ridge(intercept=False)], ids=["RLS", "Ridge"])
def test_tiny_labels_cause_no_numpy_warning(learner):
    """An error beyond 1e308 times the largest label makes the quotient of both overflow."""
    X, y = np.tile(np.eye(10), (6, 1)), np.full(60, 1e-227)
    X[-1] = 1e308
    with pytest.warns(dl.DriftlineWarning, match="predictions missed labels") as caught:
        dl.Fleet(learner).run(["a"] * 60, X, y)
    assert {warning.category for warning in caught} == {dl.DriftlineWarning}


def test_a_warning_that_is_an_error_adds_no_note_if_every_row_was_learned():
    """Models that refuse no row keep nothing that a call could be undone with."""
    X, y = np.ones((60, 1)), np.full(60, 1e-227)
    X[-1] = 1e200
    fleet = dl.Fleet(dl.RLS())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(dl.DriftlineWarning, match="predictions missed labels") as caught:
            fleet.run(["a"] * 60, X, y)
    assert not hasattr(caught.value, "__notes__")
    assert fleet["a"].n_seen_ == 60
