"""Keys: numbers, which are slots, or names, which are assigned slots."""

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

import driftline as dl
from driftline.fleet.keys import Names, Numbers

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


def test_a_key_beyond_capacity_is_refused_and_nothing_is_learned():
    fleet = dl.Fleet(dl.RLS(), 2, named=True)
    fleet.learn_many(["a"], [[1.0]], [2.0])
    with pytest.raises(
        ValueError, match=r"^Fleet\.learn_many: row 2 has the new key 'c', but all 2 models are taken; .* grow"
    ):
        fleet.learn_many(["a", "b", "c"], [[1.0], [1.0], [1.0]], [1.0, 2.0, 3.0])
    assert fleet.keys_ == ["a"]
    assert fleet.n_seen_.tolist() == [1]
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


@pytest.mark.parametrize("learner", [dl.RLS(), dl.Auto()])
def test_the_first_learned_keys_decide_between_names_and_numbers(learner):
    """Text keys mean names, and whole numbers mean numbers. Refused rows and predictions decide nothing."""
    fleet, X, y = dl.Fleet(learner), np.ones((2, 2)), [1.0, 2.0]
    assert fleet.predict_one("b", X[0]) == fleet.predict_one(7, X[0]) == 0.0
    with pytest.raises(ValueError, match="NaN"):
        fleet.learn_many([0, 1], [[1.0, np.nan], [1.0, 1.0]], y)
    assert dl.Fleet(learner).predict_one((1, 2), X[0]) == 0.0
    untrained = dl.from_bytes(fleet.to_bytes())
    fleet.learn_many(["a", "b"], X, y)
    assert fleet.to_bytes() == dl.Fleet.merge([fleet, untrained]).to_bytes()
    fleet = dl.from_bytes(fleet.to_bytes())
    fleet.learn_one("c", X[0], 1.0)
    assert fleet.keys_ == ["a", "b", "c"]
    with pytest.raises(TypeError, match="whole numbers, got float64"):
        untrained.learn_many([0.0, 1.0], X, y)
    untrained.learn_many([0, 2], X, y)
    assert untrained.keys_ == [0, 1, 2]
    with pytest.raises(TypeError, match="named=True"):
        untrained.learn_one("a", X[0], 1.0)


@pytest.mark.parametrize(
    ("keys", "error", "words"),
    [
        ([0, 5], ValueError, r"keys must be in \[0, 3\), got 5 in row 1; create the fleet with named=True for numbers"),
        ([0, -1], ValueError, r"got -1 in row 1"),
        (np.array([0, 2**63], dtype=np.uint64), ValueError, "got 9223372036854775808 in row 1"),
        ([0], ValueError, r"keys must be one whole number for each of 2 rows, got the shape \(1,\)"),
        ([[0, 1]], ValueError, "got the shape"),
        (0, ValueError, "got the shape"),
        ([0.0, 1.0], TypeError, "keys must be whole numbers, got float64; create the fleet with named=True"),
        (["0", "1"], TypeError, "named=True"),
        ([True, False], TypeError, "got bool"),
        ([None, 1], TypeError, "got object"),
        ([], TypeError, "got float64"),
        ([[0], [1, 2]], ValueError, "keys cannot be read as an array"),
    ],
)
def test_invalid_number_keys_are_refused_before_anything_is_learned(keys, error, words):
    fleet = dl.Fleet(dl.RLS(), 3, named=False)
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
        ("ab", TypeError, "keys must hold one key for each row, got 'ab'"),
        (7, TypeError, "keys must hold one key for each row"),
        ({"a", "b"}, TypeError, "keys must be a sequence or a column, in the order of the rows, got a set"),
        ({"a": 1, "b": 2}, TypeError, "got a dict"),
        (pd.DataFrame({"a": [1, 2], "b": ["x", None]}), ValueError, r"the key of row 1 is \(2, (None|nan)\)"),
        (pd.DataFrame({"a": [1], "b": [3]}), ValueError, "X has 2 rows, keys has 1"),
        (pd.DataFrame(index=[0, 1]), ValueError, "keys is a frame without columns"),
        (["a"], ValueError, "X has 2 rows, keys has 1"),
        (["a", ["b"]], TypeError, r"a key must be hashable, got \['b'\] in row 1"),
        (["a", None], ValueError, "the key of row 1 is None, which stands for a missing value"),
        (["a", float("nan")], ValueError, "the key of row 1 is nan"),
        (["a", pd.NA], ValueError, "the key of row 1 is <NA>"),
        ([[1, 2], [3, 4]], TypeError, "hashable"),
    ],
)
def test_invalid_name_keys_are_refused_before_anything_is_learned(keys, error, words):
    fleet = dl.Fleet(dl.RLS(), 3, named=True)
    with pytest.raises(error, match=words):
        fleet.learn_many(keys, np.ones((2, 2)), [1.0, 2.0])
    with pytest.raises(error, match=words):
        fleet.predict_many(keys, np.ones((2, 2)))
    assert fleet.keys_ == []


@pytest.mark.parametrize("key", [3, -1, "a", 1.5, None, True, [1], np.array([1])], ids=repr)
def test_a_key_that_is_not_the_number_of_a_model_is_not_found(key):
    fleet = dl.Fleet(dl.RLS(), 3)
    with pytest.raises(
        KeyError, match=r"Fleet: keys must be whole numbers in \[0, 3\), got .*; create the fleet with named=True"
    ):
        fleet[key]
    assert key not in fleet
    with pytest.raises(TypeError):
        iter(fleet)


def test_a_fleet_contains_its_learned_keys():
    fleet = dl.Fleet(dl.RLS(), 3)
    assert 0 in fleet
    assert np.uint8(2) in fleet
    named = dl.Fleet(dl.RLS(), 3, named=True)
    assert "a" not in named
    named.learn_many(["a"], [[1.0]], [1.0])
    assert "a" in named
    assert "b" not in named
    assert len(named) == 1
    for verb in (lambda: named[["a"]], lambda: ["a"] in named):
        with pytest.raises(TypeError, match=r"^Fleet: a key must be hashable, got \['a'\]"):
            verb()


TIMES = ["2026-01-01T00:00:00", "2026-01-01T00:00:00.5", "1969-07-20T20:17:40", "2026-02-01T12:30:00", "2026-03-01T00:00:00"]


def _as_lists_of_the_same_times():
    times = np.array(TIMES, dtype="datetime64[ns]")
    series = pd.Series(times)
    yield series
    yield times
    yield list(times)
    yield times.astype("datetime64[ms]")
    yield series.to_list()
    yield [time.to_pydatetime() for time in series]
    yield pd.DatetimeIndex(times)
    yield polars.Series(times)
    yield polars.Series(times).to_arrow()
    yield pyarrow.chunked_array([pyarrow.array(times)])


@pytest.mark.parametrize(
    "kinds",
    [
        list(_as_lists_of_the_same_times()),
        [NAMES, NAMES.tolist(), list(NAMES), pd.Series(NAMES), pd.Categorical(NAMES), polars.Series(NAMES),
         pyarrow.array(NAMES), pyarrow.chunked_array([NAMES]), list(pyarrow.array(NAMES)), NAMES.astype(object)],
        [np.arange(5), list(range(5)), list(np.arange(5, dtype=np.uint8)), pd.Series(range(5)), polars.Series(range(5)),
         pyarrow.chunked_array([range(5)]), np.arange(5.0), np.array(range(5), dtype=object)],
        [np.array(["2026-01-01", "2026-01-02", "2026-01-03", "2026-02-01", "2027-01-01"], dtype="datetime64[D]"),
         polars.Series(["2026-01-01", "2026-01-02", "2026-01-03", "2026-02-01", "2027-01-01"]).str.to_date()],
        [np.arange(5) * np.timedelta64(1500, "us"), pd.Series(np.arange(5) * np.timedelta64(1_500_000, "ns")),
         np.arange(5) * np.timedelta64(1_500_000, "ns"), polars.Series(np.arange(5) * np.timedelta64(1500, "us"))],
        [np.arange(5) * np.timedelta64(7, "ns"), pd.Series(np.arange(5) * np.timedelta64(7, "ns"))],
        [np.datetime64("2026-01-01", "ns") + np.arange(5), pd.Series(np.datetime64("2026-01-01", "ns") + np.arange(5))],
    ],
    ids=["times", "texts", "numbers", "days", "spans", "nanoseconds", "nanoseconds of a day"],
)  # fmt: skip
def test_equal_keys_of_different_types_are_the_same_key(kinds):
    fleet = dl.Fleet(dl.RLS(), named=True)
    for keys in kinds:
        fleet.learn_many(keys, np.ones((5, 1)), np.ones(5))
    assert len(fleet.keys_) == 5
    assert fleet.n_seen_.tolist() == [len(kinds)] * 5


def test_a_fleet_without_n_grows_with_its_keys(monkeypatch):
    monkeypatch.setattr("driftline.fleet.packed.FIRST_ROOM", 2)
    keys, X, y = keyed_rows(keys=700, count=3000)
    models, predictions = run_apart(dl.RLS(), keys, X, y)
    named, numbered = dl.Fleet(dl.RLS(), named=True), dl.Fleet(dl.RLS())
    assert repr(named) == "Fleet(RLS(forgetting=0.99, ridge=1.0, keep_prior=False), named=True)"
    for start in range(0, 3000, 500):
        rows = slice(start, start + 500)
        for fleet, these in ((named, [f"key {key}" for key in keys[rows]]), (numbered, keys[rows])):
            assert np.array_equal(fleet.run(these, X[rows], y[rows]).predictions, predictions[rows])
            assert fleet.predict_many(["none"] if fleet is named else [10**6], X[:1]) == 0.0
    assert len(numbered) == keys.max() + 1
    assert len(named) == len(models) == len(named.coef_)
    for key, model in models.items():
        require_same(named[f"key {key}"], model)
        require_same(numbered[key], model)
    table = pd.DataFrame(named.coef_, index=named.keys_)
    assert np.array_equal(table.loc[f"key {keys[0]}"], models[keys[0]].coef_)


def test_one_row_at_a_time_equals_many_rows():
    keys, X, y = keyed_rows()
    weights = np.tile([1.0, 2.0], 150)
    many = dl.Fleet(dl.RLS(), named=True)
    run = many.run(NAMES[keys], pd.DataFrame(X, columns=["a", "b", "c"]), y, sample_weight=weights)
    one = dl.Fleet(dl.RLS(), named=True)
    for row, key in enumerate(NAMES[keys]):
        x = dict(zip("cab" if row else "abc", X[row, [2, 0, 1] if row else [0, 1, 2]], strict=True))
        assert one.predict_one(key, {**x, "unknown": 7.0} if row else x) == run.predictions[row]
        one.learn_one(key, x, y[row], sample_weight=weights[row])
    assert np.array_equal(one.coef_, many.coef_)
    assert one.feature_names_in_.tolist() == ["a", "b", "c"]
    assert one.predict_one("rome", {"b": 1.0}) == many.predict_one("rome", [0.0, 1.0, 0.0])
    with pytest.raises(ValueError, match=r"^Fleet\.learn_one: the feature 'd' is new"):
        one.learn_one("rome", {"a": 1.0, "d": 1.0}, 1.0)
    with pytest.raises(ValueError, match=r"^Fleet\.learn_one: x has 2 features, expected 3"):
        one.learn_one("rome", [1.0, 2.0], 1.0)
    with pytest.raises(ValueError, match=r"^Fleet\.learn_one: x has NaN in feature 'a'; missing=.skip. leaves"):
        one.learn_one("rome", {"a": np.nan}, 1.0)
    nameless = dl.Fleet(dl.RLS(), 3)
    nameless.learn_one(2, [1.0], 1.0)
    with pytest.raises(ValueError, match="Fleet learned from features without names"):
        nameless.predict_one(2, {"a": 1.0})
    with pytest.raises(AttributeError, match="the features have no names"):
        _ = nameless.feature_names_in_


def test_tuples_of_different_lengths_are_names():
    fleet = dl.Fleet(dl.RLS())
    fleet.learn_many([("a",), ("a", "b")], np.ones((2, 1)), [1.0, 2.0])
    assert fleet.keys_ == [("a",), ("a", "b")]


@pytest.mark.parametrize(
    ("make", "given", "kept"),
    [(Numbers, [0, 3, 9], [0, 1, 2, 3]), (Names, ["a", "b", "c"], ["a", "b"])],
    ids=["numbers", "names"],
)
def test_only_keys_of_rows_that_were_learned_are_remembered(make, given, kept):
    """An interrupt may end a call after two of its three rows."""
    keys = make(None)
    slots, fresh = keys.learned(given, 3, "test")
    keys.accept(fresh, slots, 2)
    assert keys.listed == kept
    assert keys.find(given[2]) is None


@pytest.mark.parametrize("pooled", [False, True])
def test_the_columns_of_a_frame_are_parts_of_a_key(pooled):
    keys, X, y = keyed_rows()
    towns = {"region": keys % 2, "town": NAMES[keys]}
    expected = dl.Fleet(dl.RLS(), pooled=pooled, named=True)
    run = expected.run([(int(key) % 2, str(NAMES[key])) for key in keys], X, y)
    for frame in (pd.DataFrame(towns), polars.DataFrame(towns), pyarrow.table(towns)):
        fleet = dl.Fleet(dl.RLS(), pooled=pooled)
        assert np.array_equal(fleet.run(frame, X, y).predictions, run.predictions)
        assert fleet.keys_ == expected.keys_
        assert fleet.predict_one(expected.keys_[0], X[0]) == fleet.predict_many(frame[:1], X[:1])[0]
        same = dl.Fleet.merge([dl.from_bytes(part.to_bytes()) for part in fleet.split(2)])
        ticket = dl.FleetTicket.from_bytes(same.ask((0, "oslo"), X[0]).to_bytes())
        assert ticket.key == (0, "oslo")
        same.tell(ticket, 1.0)
        assert sorted(same.keys_) == sorted(expected.keys_)
    one = pd.DataFrame({"town": NAMES[keys]})
    assert dl.Fleet(dl.RLS(), pooled=pooled).run(one, X, y).predictions.tolist() == run.predictions.tolist()
