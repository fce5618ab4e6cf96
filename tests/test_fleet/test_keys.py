"""Keys: numbers that are slots, or names that get one."""

import numpy as np
import pandas as pd
import pytest

import driftline as dl

from .apart import keyed_rows, require_same, run_apart

NAMES = np.array(["oslo", "rome", "lima", "bern", "kyiv"])


def test_names_get_models_in_the_order_of_their_first_row():
    keys, X, y = keyed_rows()
    by_number = dl.Fleet(dl.RLS(), 5)
    by_name = dl.Fleet(dl.RLS(), 5, named=True)
    expected = by_number.run(keys, X, y).predictions
    assert np.array_equal(by_name.run(NAMES[keys], X, y).predictions, expected)
    order = list(dict.fromkeys(keys.tolist()))
    assert by_name.keys_ == NAMES[order].tolist()
    for key in range(5):
        require_same(by_name[NAMES[key]], by_number[key])
    assert np.array_equal(by_name.coef_, by_number.coef_[order])


@pytest.mark.parametrize(
    "names",
    [
        NAMES.tolist(),
        pd.Series(NAMES).to_numpy(),
        [("a", 1), ("a", 2), "a", 7, 7.5],
        [10**12, -5, 3, 2, 1],
        np.arange(5) * 10**9,
        [b"1", "1", 1, (), frozenset()],
        pd.date_range("2026-01-01", periods=5).to_list(),
    ],
    ids=repr,
)
def test_anything_hashable_is_a_name(names):
    keys, X, y = keyed_rows()
    fleet = dl.Fleet(dl.NLMS(), 5, named=True)
    predictions = fleet.run([names[key] for key in keys], X, y).predictions
    assert np.array_equal(predictions, run_apart(dl.NLMS(), keys, X, y)[1])
    assert all(name in names for name in fleet.keys_)
    series = pd.Series([names[key] for key in keys])
    assert np.array_equal(fleet.predict_many(series, X), fleet.predict_many([names[key] for key in keys], X))


def test_a_key_too_many_is_refused_and_nothing_is_learned():
    fleet = dl.Fleet(dl.RLS(), 2, named=True)
    fleet.learn_many(["a"], [[1.0]], [2.0])
    with pytest.raises(ValueError, match=r"^Fleet\.learn_many: row 2 brings the key 'c', and all 2 models have another"):
        fleet.learn_many(["a", "b", "c"], [[1.0], [1.0], [1.0]], [1.0, 2.0, 3.0])
    assert fleet.keys_ == ["a"]
    assert fleet.n_seen_.tolist() == [1, 0]
    fleet.learn_many(["b", "a"], [[1.0], [1.0]], [1.0, 2.0])
    assert fleet.keys_ == ["a", "b"]


def test_an_unknown_name_is_predicted_by_a_model_at_its_start():
    fleet = dl.Fleet(dl.EG(intercept=False), 1, named=True)
    assert fleet.predict_many(["new"], [[1.0, 3.0]]) == 2.0
    fleet.learn_many(["a"], [[1.0, 3.0]], [7.0])
    assert fleet.predict_many(["new", "a"], [[1.0, 3.0]] * 2)[0] == 2.0
    assert fleet.keys_ == ["a"]
    with pytest.raises(KeyError, match="no row of the key 'new' was learned"):
        fleet["new"]


@pytest.mark.parametrize(
    ("keys", "error", "words"),
    [
        ([0, 5], ValueError, r"keys must be in \[0, 3\), got 5 in row 1"),
        ([0, -1], ValueError, r"got -1 in row 1"),
        (np.array([0, 2**63], dtype=np.uint64), ValueError, "got 9223372036854775808 in row 1"),
        ([0], ValueError, r"X has 2 rows, keys has the shape \(1,\)"),
        ([[0, 1]], ValueError, "keys has the shape"),
        (0, ValueError, "keys has the shape"),
        ([0.0, 1.0], TypeError, "keys must be whole numbers from 0 to 2, got float64; make the fleet with named=True"),
        (["0", "1"], TypeError, "named=True"),
        ([True, False], TypeError, "got bool"),
        ([None, 1], TypeError, "got object"),
        ([], TypeError, "got float64"),
        ([[0], [1, 2]], ValueError, "keys cannot be read as an array"),
    ],
)
def test_wrong_numbers_are_refused_before_anything_is_learned(keys, error, words):
    fleet = dl.Fleet(dl.RLS(), 3)
    for verb in (
        lambda: fleet.learn_many(keys, np.ones((2, 2)), [1.0, 2.0]),
        lambda: fleet.predict_many(keys, np.ones((2, 2))),
    ):
        with pytest.raises(error, match=words):
            verb()
    assert fleet.nbytes == 0


@pytest.mark.parametrize(
    ("keys", "error", "words"),
    [
        ("ab", TypeError, "keys must be one for each row, got 'ab'"),
        (7, TypeError, "keys must be one for each row"),
        (["a"], ValueError, "X has 2 rows, keys has 1"),
        (["a", ["b"]], TypeError, r"a key must be hashable, got \['b'\] in row 1"),
        (["a", None], ValueError, "the key of row 1 is None, which stands for a missing value"),
        (["a", float("nan")], ValueError, "the key of row 1 is nan"),
        (["a", pd.NA], ValueError, "the key of row 1 is <NA>"),
        ([[1, 2], [3, 4]], TypeError, "hashable"),
    ],
)
def test_wrong_names_are_refused_before_anything_is_learned(keys, error, words):
    fleet = dl.Fleet(dl.RLS(), 3, named=True)
    with pytest.raises(error, match=words):
        fleet.learn_many(keys, np.ones((2, 2)), [1.0, 2.0])
    assert fleet.keys_ == []


@pytest.mark.parametrize("key", [3, -1, "a", 1.5, None])
def test_a_key_that_is_no_number_of_a_model_is_not_found(key):
    fleet = dl.Fleet(dl.RLS(), 3)
    with pytest.raises((KeyError, TypeError)):
        fleet[key]
    with pytest.raises(TypeError):
        iter(fleet)
