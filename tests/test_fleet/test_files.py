"""A fleet in one file: it is restored bit for bit, or refused with a clear error."""

import numpy as np
import pytest

import driftline as dl
from tests.cases import for_each
from tests.test_storage.test_model_file import forge, parts, refuse

from .apart import keyed_rows, require_same


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fleet.driftline"


LEARNERS = [dl.RLS(dtype="float32"), dl.Kalman(), dl.ARCOR(radius=0.5), dl.EG(norm=2.0), dl.LMS(), dl.WEMM(ridge=9.0)]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("named", [True, False])
@for_each("n", [40, None])
def test_a_loaded_fleet_resumes_as_if_never_stopped(learner, named, n, path):
    keys, X, y = keyed_rows(keys=6)
    keys = [f"key {key}" for key in keys] if named else keys * 3
    fleet = dl.Fleet(learner, n, named=named, jobs=2)
    fleet.learn_many(keys[:150], X[:150], y[:150])
    fleet.save(path)
    twin = dl.load(path)
    assert repr(twin) == repr(fleet)
    assert twin.keys_ == fleet.keys_
    assert np.array_equal(
        twin.run(keys[150:], X[150:], y[150:]).predictions, fleet.run(keys[150:], X[150:], y[150:]).predictions
    )
    for key in fleet.keys_:
        require_same(twin[key], fleet[key])


def test_a_fleet_that_has_learned_nothing_can_be_saved(path):
    dl.Fleet(dl.RLS(forgetting=0.5), 10, named=True).save(path)
    twin = dl.load(path)
    assert repr(twin) == "Fleet(RLS(forgetting=0.5, ridge=1.0, keep_prior=False), 10, named=True)"
    twin.learn_many(["a"], [[1.0]], [1.0])


def test_keys_that_are_numpy_scalars_can_be_saved(path):
    fleet = dl.Fleet(dl.RLS(), named=True)
    fleet.learn_many([np.int64(7), np.str_("oslo"), 7, "oslo"], np.ones((4, 2)), np.ones(4))
    fleet.learn_one(np.int16(7), np.ones(2), 1.0)
    fleet.save(path)
    twin = dl.load(path)
    assert twin.keys_ == [7, "oslo"]
    assert [type(key) for key in twin.keys_] == [int, str]
    assert twin.n_seen_.tolist() == [3, 2]
    assert np.int32(7) in twin


def test_keys_and_parameters_that_cannot_be_saved_are_refused_by_name(path):
    fleet = dl.Fleet(dl.RLS(), 3, named=True)
    fleet.learn_many([("a", 1.5)], [[1.0]], [1.0])
    with pytest.raises(ValueError, match=r"^Fleet\.save: the key \('a', 1\.5\) cannot be saved: .* pickle takes any"):
        fleet.save(path)
    with pytest.raises(ValueError, match=r"^Fleet\.save: forgetting is a function"):
        dl.Fleet(dl.RLS(forgetting=lambda t: 0.9), 3).save(path)
    assert not path.exists()


def _change(array, place, value):
    array = array.copy()
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("name", "place", "value", "words"),
    [
        ("weights", (0, 0), np.nan, "weights is not finite"),
        ("matrix", (1, 2), np.inf, "matrix is not finite"),
        ("diagonal", (0, 0), -1.0, "diagonal is not positive"),
        ("sums", (0, 0), -1.0, "sums are out of range"),
        ("sums", (0, 0), 1.5, "sums are out of range"),
        ("sums", (0, 13), 0.0, "sums are out of range"),
        ("slots", 0, -1, "slots are out of range"),
        ("slots", 0, 1, "slots are out of range"),
        ("slots", 4, 5, "slots are out of range"),
        ("skipped", 0, -1, "slots are out of range"),
    ],
)
def test_forged_numbers_are_refused(name, place, value, words, path):
    keys, X, y = keyed_rows()
    fleet = dl.Fleet(dl.RLS(), 5)
    fleet.learn_many(keys, X, y)
    fleet.save(path)
    arrays, _, head = parts(path)
    forge(path, {**arrays, f"core.{name}": _change(arrays[f"core.{name}"], place, value)}, head)
    refuse(path, words)


@for_each("name", ["weights", "matrix", "diagonal", "sums", "slots", "skipped"])
@for_each("change", [None, lambda a: a[:-1], lambda a: a.astype(np.float16), lambda a: a.reshape(1, -1)])
def test_missing_and_misshapen_arrays_are_refused(name, change, path):
    keys, X, y = keyed_rows()
    fleet = dl.Fleet(dl.RLS(), 5, named=True)
    fleet.learn_many(keys, X, y)
    fleet.save(path)
    arrays, _, head = parts(path)
    array = arrays.pop(f"core.{name}")
    if change is not None:
        arrays[f"core.{name}"] = change(array)
    forge(path, arrays, head)
    refuse(path)


@pytest.mark.parametrize(
    "change", [{"n": 0}, {"n": 2}, {"n": "5"}, {"n": 10**18}, {"named": 1}, {"jobs": -1}, {"n": 3.5}, {"named": False}]
)
def test_forged_heads_are_refused(change, path):
    fleet = dl.Fleet(dl.RLS(), 5, named=True)
    fleet.learn_many(["a", "b", "c"], np.ones((3, 2)), np.ones(3))
    fleet.save(path)
    arrays, _, head = parts(path)
    forge(path, arrays, {**head, **change})
    if change == {"named": False}:
        assert dl.load(path).n_seen_.tolist() == [1, 1, 1, 0, 0]  # the names are lost, but the models are sound
    else:
        refuse(path)


@pytest.mark.parametrize("keys", [["a", "a", "b"], ["a", "b"], {}, "", ["a", "b", None], [1, 2, 3, 4, 5, 6]])
def test_forged_keys_are_refused(keys, path):
    fleet = dl.Fleet(dl.RLS(), 5, named=True)
    fleet.learn_many(["a", "b", "c"], np.ones((3, 2)), np.ones(3))
    fleet.save(path)
    arrays, _, head = parts(path)
    forge(path, arrays, {**head, "keys": keys})
    refuse(path)


def test_a_forged_file_whose_learner_does_not_match_its_models_is_refused(path):
    for learner, other in ((dl.RLS(), dl.Auto()), (dl.Auto(), dl.RLS()), (dl.Auto(), dl.Averaged(dl.RLS()))):
        fleet, names = dl.Fleet(learner, 5), {dl.RLS: "rls", dl.Auto: "auto", dl.Averaged: "averaged"}
        fleet.learn_many([1, 2], np.ones((2, 2)), [1.0, 2.0])
        fleet.save(path)
        arrays, _, head = parts(path)
        forge(path, arrays, {**head, "learner": {"object": names[type(other)], "fields": {}}})
        refuse(path)
