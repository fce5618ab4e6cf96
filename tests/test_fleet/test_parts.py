"""Fleets split by key and merged again; dropped keys; a table of all keys."""

import datetime
import decimal
import fractions
import pickle
import subprocess
import sys
import uuid

import numpy as np
import pandas as pd
import pytest

import driftline as dl
from driftline.fleet import hashes
from tests.cases import for_each

from .apart import keyed_rows, require_same, run_apart

LEARNERS = [dl.RLS(), dl.NLMS(dtype="float32"), dl.ARCOR(), dl.Auto(), dl.Classifier(dl.RLS())]
NAMES = np.array([f"key {key}" for key in range(40)])


def labels_for(learner, y):
    return np.where(y > 0, "up", "down") if isinstance(learner, dl.Classifier) else y


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("named", [True, False])
@for_each("options", [{}, {"alarms": True}])
def test_merged_parts_equal_the_whole_fleet(learner, named, options):
    keys, X, y = keyed_rows(keys=40, count=1200)
    keys, y = NAMES[keys] if named else keys, labels_for(learner, y)
    whole = dl.Fleet(learner, named=named, **options)
    whole.learn_many(keys[:600], X[:600], y[:600])
    parts = [dl.from_bytes(part.to_bytes()) for part in whole.split(3)]
    home = {key: number for number, part in enumerate(parts) for key in part.keys_ if part[key].n_seen_}
    assert len(home) == 40 == sum(np.count_nonzero(part.n_seen_) for part in parts)
    assert len(set(home.values())) == 3
    mine = np.array([home[key] for key in keys.tolist()])
    predictions = np.empty(600, dtype=object)
    for number, part in enumerate(parts):
        rows = np.flatnonzero(mine[600:] == number) + 600
        predictions[rows - 600] = part.run(keys[rows], X[rows], y[rows]).predictions
    expected = whole.run(keys[600:], X[600:], y[600:]).predictions
    assert predictions.tolist() == expected.tolist()
    merged = dl.Fleet.merge(parts)
    assert set(merged.keys_) == set(whole.keys_)
    for key in whole.keys_:
        require_same(merged[key], whole[key])
    if options:
        order = [merged.keys_.index(key) for key in whole.keys_]
        assert np.array_equal(merged.summary()["alarms"][order], whole.summary()["alarms"])
    again = pickle.loads(pickle.dumps(merged))
    assert np.array_equal(again.predict_many(keys, X), whole.predict_many(keys, X))


def test_a_fleet_splits_into_one_part_or_into_parts_without_keys():
    fleet = dl.Fleet(dl.RLS(), named=True)
    assert dl.Fleet.merge(fleet.split(4)).keys_ == []
    fleet.learn_many(["a"], [[1.0]], [2.0])
    parts = fleet.split(64)
    assert sum(map(len, parts)) == 1
    require_same(dl.Fleet.merge(parts)["a"], fleet["a"])
    require_same(dl.Fleet.merge(fleet.split(1))["a"], fleet["a"])


def test_the_part_of_a_key_depends_only_on_the_key():
    """The part is MurmurHash3 of a text that starts with a letter for the key's kind; PYTHONHASHSEED is irrelevant."""
    keys = ["oslo", "rome", 7, -1, 2.5, ("a", 1), b"x", datetime.date(2026, 1, 1)]
    code = "import sys, datetime; from driftline.fleet import hashes; print(hashes.part_of(eval(sys.argv[1]), 1000, ''))"
    found = [
        subprocess.run(
            [sys.executable, "-c", code, repr(keys)],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1] == f"{hashes.part_of(keys, 1000, '')}\n"
    assert hashes.part_of(["oslo"], 2**31, "")[0] == murmur3(b"soslo") % 2**31
    assert hashes.part_of([7], 2**31, "")[0] == murmur3(b"n7") % 2**31


def murmur3(text, seed=0):
    """MurmurHash3, 32 bits, signed, implemented from its description."""
    state, mask = seed, 2**32 - 1

    def rotated(word, by):
        return (word << by | word >> (32 - by)) & mask

    def mixed(word):
        return rotated(word * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask

    whole = len(text) // 4 * 4
    for start in range(0, whole, 4):
        state = (rotated(state ^ mixed(int.from_bytes(text[start : start + 4], "little")), 13) * 5 + 0xE6546B64) & mask
    if text[whole:]:
        state ^= mixed(int.from_bytes(text[whole:], "little"))
    state ^= len(text)
    for by, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = (state ^ state >> by) * factor & mask
    state ^= state >> 16
    return state - 2**32 if state >= 2**31 else state


@pytest.mark.parametrize(
    "equal",
    [
        [1, 1.0, True, decimal.Decimal(1), fractions.Fraction(1)],
        [0.5, decimal.Decimal("0.5"), fractions.Fraction(1, 2)],
        [10**30, decimal.Decimal(10**30)],
        [(1, "a"), (1.0, "a")],
        [
            datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC),
            datetime.datetime(2026, 1, 1, 13, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
        ],
    ],
    ids=repr,
)
def test_equal_keys_have_equal_hashes(equal):
    assert len(set(equal)) == 1
    assert len(set(hashes.part_of(equal, 10**6, "").tolist())) == 1


def test_different_keys_have_different_hashes():
    keys = ["1", 1, b"1", ("1",), (("1",),), ("1", "1"), ("11",), (1, 1), (11,), uuid.UUID(int=1), float("inf"),
            datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1), np.datetime64(1, "ns"), ""]  # fmt: skip
    assert len(set(hashes.part_of(keys, 2**31, "").tolist())) == len(keys)
    shares = np.bincount(hashes.part_of([f"sensor {i}" for i in range(20_000)], 8, ""), minlength=8)
    assert shares.min() > 2300
    assert shares.max() < 2700


def test_a_key_without_a_stable_hash_is_refused():
    fleet = dl.Fleet(dl.RLS(), named=True)
    fleet.learn_many([frozenset([1])], [[1.0]], [1.0])
    with pytest.raises(TypeError, match=r"^Fleet\.split: the key frozenset\(\{1\}\) cannot be hashed the same way on every"):
        fleet.split(2)


def test_merging_incompatible_fleets_is_refused():
    def made(learner=None, keys=("a",), d=2, **options):
        fleet = dl.Fleet(learner or dl.RLS(), named=True, **options)
        fleet.learn_many(list(keys), np.ones((len(keys), d)), np.ones(len(keys)))
        return fleet

    with pytest.raises(ValueError, match=r"^Fleet\.merge: the key 'a' is in more than one part"):
        dl.Fleet.merge([made(), made(keys="ba")])
    for other, words in (
        (made(dl.Ridge(), "b"), "learner"),
        (made(dl.RLS(forgetting=0.5), "b"), "learner"),
        (made(keys="b", d=3), "features"),
        (made(keys="b", alarms=True), "alarms"),
        (made(keys="b", n=7), "n"),
    ):
        with pytest.raises(ValueError, match=rf"^Fleet\.merge: part 1 has a different {words} from the others"):
            dl.Fleet.merge([made(), other])
    numbers = dl.Fleet(dl.RLS(), 3)
    numbers.learn_many([1], [[1.0]], [1.0])
    with pytest.raises(ValueError, match=r"^Fleet\.merge: the key 1 is in more than one part"):
        dl.Fleet.merge([numbers, numbers])
    for parts in ([], [dl.RLS()]):
        with pytest.raises(TypeError, match=r"^Fleet\.merge: expected at least one fleet"):
            dl.Fleet.merge(parts)
    with pytest.raises(ValueError, match=r"^Fleet\.split: n must be"):
        numbers.split(0)


# Dropped keys.


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("n", [None, 40])
def test_dropping_names_leaves_the_other_keys_unchanged(learner, n):
    keys, X, y = keyed_rows(keys=40, count=1200)
    y = labels_for(learner, y)
    fleet, twin = (dl.Fleet(learner, n, named=True, alarms=True) for _ in range(2))
    for each in (fleet, twin):
        each.learn_many(NAMES[keys], X, y)
    gone = [fleet.keys_[0], *fleet.keys_[10:20], fleet.keys_[-1], fleet.keys_[0]]
    fleet.drop(gone)
    assert fleet.keys_ == [key for key in twin.keys_ if key not in gone]
    assert len(fleet) == 28 == len(fleet.n_seen_)
    for key in fleet.keys_:
        require_same(fleet[key], twin[key])
    for key in gone:
        assert key not in fleet
    left = np.isin(NAMES[keys], fleet.keys_)
    assert np.array_equal(
        fleet.run(NAMES[keys][left], X[left], y[left]).predictions, twin.run(NAMES[keys][left], X[left], y[left]).predictions
    )
    assert fleet.summary()["alarms"].tolist() == [
        alarms for key, alarms in zip(twin.keys_, twin.summary()["alarms"], strict=True) if key not in gone
    ]
    back = NAMES[keys] == gone[0]  # returns as a new key
    fresh = learner.clone()
    assert np.array_equal(
        fleet.run(NAMES[keys][back], X[back], y[back]).predictions, fresh.run(X[back], y[back]).predictions
    )
    require_same(fleet[gone[0]], fresh)
    require_same(pickle.loads(pickle.dumps(fleet))[gone[0]], fresh)


@pytest.mark.parametrize("learner", [dl.RLS(), dl.Auto()], ids=repr)
def test_dropping_numbers_resets_their_models(learner):
    keys, X, y = keyed_rows()
    fleet = dl.Fleet(learner, 5)
    fleet.learn_many(keys, X, y)
    fleet.drop([1, 3])
    assert len(fleet) == 5
    assert (fleet.n_seen_ == 0).tolist() == [False, True, False, True, False]
    models, _ = run_apart(learner, keys, X, y)
    require_same(fleet[2], models[2])
    mine = keys == 3
    assert np.array_equal(
        fleet.run(keys[mine], X[mine], y[mine]).predictions, learner.clone().run(X[mine], y[mine]).predictions
    )


def test_an_unknown_key_is_refused_and_nothing_is_dropped():
    keys, X, y = keyed_rows()
    fleet = dl.Fleet(dl.RLS(), named=True)
    fleet.drop([])
    fleet.learn_many(keys, X, y)
    with pytest.raises(KeyError, match="no row of the key 9 was learned"):
        fleet.drop([0, 9])
    assert len(fleet) == 5


# The table of all keys.


@pytest.mark.parametrize("learner", [dl.RLS(), dl.NLMS(), dl.Auto(), dl.Kernel(budget=20)], ids=repr)
def test_the_summary_has_a_row_for_each_key(learner):
    keys, X, y = keyed_rows()
    names = np.array(["oslo", "rome", "lima", "bern", "kyiv"])
    fleet = dl.Fleet(learner, named=True)
    run = fleet.run(names[keys], X, y)
    table = pd.DataFrame(fleet.summary()).set_index("key")
    assert list(table.columns) == ["rows", "mse", "coverage", "memory", "alarms", "last_alarm"]
    assert table.index.tolist() == fleet.keys_
    for key, name in enumerate(names):
        assert table.loc[name, "rows"] == np.count_nonzero(keys == key)
        assert table.loc[name, "mse"] == pytest.approx(run.losses[keys == key].mean(), rel=1e-12)
        assert table.loc[name, "memory"] > 8 * 4
    assert (table["alarms"] == -1).all()
    assert table["coverage"].isna().all()


@pytest.mark.parametrize("learner", [dl.RLS(), dl.Auto()], ids=repr)
def test_a_fleet_that_has_learned_nothing_has_a_summary(learner):
    table = dl.Fleet(learner, 3, alarms=True).summary()
    assert table["key"].tolist() == [0, 1, 2]
    assert table["rows"].tolist() == table["alarms"].tolist() == [0, 0, 0]
    assert np.isnan(table["mse"]).all()
    assert dl.Fleet(learner, named=True).summary()["key"].tolist() == []
