"""Learners without a fixed size: each key has its own learner, and a call changes all of them or none."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import driftline as dl
from driftline.features import Hashing, Lags, Standardize

from ..conftest import OwnLoss
from .apart import keyed_rows, require_same, run_apart
from .test_interrupts import NAMES

LEARNERS = [
    dl.Auto(),
    Standardize() | Lags(y=3) | dl.RLS(),
    dl.Kernel(budget=20),
    dl.SparseDFOP(),
    dl.WEMM(),
    dl.GD(loss=OwnLoss()),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_pieces_and_copies_change_nothing(learner):
    keys, X, y = keyed_rows()
    X *= 0.3
    fleet, pieces = dl.Fleet(learner, named=True), []
    for start in range(0, 300, 60):
        rows = slice(start, start + 60)
        before = copy.copy(fleet)
        counts = before.n_seen_.tolist()
        pieces.append(fleet.run(NAMES[keys[rows]], X[rows], y[rows]).predictions)
        assert before.n_seen_.tolist() == counts  # the copy does not learn what the original learns
        fleet = copy.deepcopy(fleet) if start == 120 else pickle.loads(pickle.dumps(fleet))
    models, predictions = run_apart(learner, keys, X, y)
    assert np.array_equal(np.concatenate(pieces), predictions)
    for key, model in models.items():
        require_same(fleet[NAMES[key]], model)
        assert fleet.predict_one(NAMES[key], X[0]) == model.predict_one(X[0])
    model = fleet[NAMES[0]]
    model.learn_one(X[0], 100.0)
    require_same(fleet[NAMES[0]], models[0])


@pytest.mark.parametrize("learner", [dl.RLS(), dl.Auto(), Lags(y=2) | dl.RLS()], ids=lambda learner: type(learner).__name__)
def test_predicting_changes_nothing(learner):
    keys, X, y = keyed_rows()
    asked, quiet = (dl.Fleet(learner, named=False, alarms=True, intervals=True) for _ in range(2))
    for start in range(0, 300, 100):
        rows = slice(start, start + 100)
        for fleet in (asked, quiet):
            fleet.run(keys[rows], X[rows], y[rows])
        asked.predict_many(keys, X)
        asked.predict_intervals(keys, X, 0.9)
        asked.predict_one(int(keys[0]), X[0])
        asked.predict_one(10**6, X[0])  # an unknown key
    assert asked.to_bytes() == quiet.to_bytes()


@pytest.mark.parametrize(
    "learner",
    [dl.Auto(), Lags(y=2) | dl.RLS(), dl.Kernel(budget=9), dl.Averaged()],
    ids=lambda learner: type(learner).__name__,
)
@pytest.mark.parametrize("named", [True, False])
def test_a_loaded_fleet_resumes_as_if_never_stopped(learner, named, tmp_path):
    keys, X, y = keyed_rows()
    keys = NAMES[keys] if named else keys * 3
    fleet = dl.Fleet(learner, named=named, alarms=True)
    fleet.run(keys[:150], X[:150], y[:150], level=0.9)
    fleet.save(tmp_path / "fleet")
    twin = dl.load(tmp_path / "fleet")
    assert repr(twin) == repr(fleet)
    assert repr(fleet) == f"Fleet({learner!r}{', named=True' if named else ''}, alarms=True)"
    runs = [each.run(keys[150:], X[150:], y[150:], level=0.9) for each in (fleet, twin)]
    for name in ("predictions", "lower", "upper", "alarms"):
        assert np.array_equal(getattr(runs[0], name), getattr(runs[1], name))
    for name, column in fleet.summary().items():
        assert np.array_equal(column, twin.summary()[name], equal_nan=name != "key")


def test_each_key_has_its_own_classes():
    keys, X, y = keyed_rows(keys=3)
    labels = np.where(y > 0, np.array(["up", "rising", "more"])[keys], np.array(["down", "falling", "less"])[keys])
    fleet = dl.Fleet(dl.Classifier(dl.RLS()), 3)
    run = fleet.run(keys, X, labels)
    models = {}
    for key in range(3):
        mine = keys == key
        models[key] = dl.Classifier(dl.RLS())
        apart = models[key].run(X[mine], labels[mine])
        assert run.predictions[mine].tolist() == apart.predictions.tolist()
        assert np.array_equal(run.errors[mine], apart.errors)
        assert fleet.summary()["mse"][key] == apart.errors.mean()
        assert fleet.predict_one(key, X[0]) == models[key].predict_one(X[0])
    assert set(fleet.predict_many(keys, X)) <= set(labels)
    fleet.learn_one(0, X[0], "new")
    assert "new" in fleet[0].classes_
    assert "new" not in fleet[1].classes_


def test_a_model_that_refuses_a_row_undoes_the_whole_call():
    keys, X, y = keyed_rows()
    fleet = dl.Fleet(dl.Averaged(dl.WEMM(ridge=4.0)), named=True)
    fleet.learn_many(NAMES[keys[:200]], X[:200], y[:200])
    before = {key: fleet[key] for key in fleet.keys_}
    X[250:] *= 1000
    with pytest.raises(ValueError, match="x'Sx >= 1") as caught:
        fleet.run(np.append(NAMES[keys], "new"), np.vstack([X, X[:1]]), np.append(y, 1.0))
    assert caught.value.__notes__[0].startswith("Fleet.run: raised by the model of the key 'key ")
    assert fleet.keys_ == list(before)
    for key, model in before.items():
        require_same(fleet[key], model)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ((7, 1), np.nan, "X has NaN in row 7, feature 1"),
        ((9, 0), np.inf, "X has infinity in row 9, feature 0"),
        (11, np.nan, "y is NaN in row 11"),
    ],
)
def test_a_bad_value_is_named_by_its_row_in_the_call(place, value, words):
    keys, X, y = keyed_rows()
    fleet = dl.Fleet(dl.Auto(), 5)
    (X if isinstance(place, tuple) else y)[place] = value
    with pytest.raises(ValueError, match=rf"^Fleet\.run: {words}"):
        fleet.run(keys, X, y)
    assert fleet.n_seen_.sum() == 0
    skipping = dl.Fleet(dl.Auto(missing="skip"), 5)
    assert skipping.run(keys, X, y).skipped == 1 == skipping.n_skipped_.sum()


@pytest.mark.parametrize("y", [None, [1.0], 3.0])
def test_labels_of_the_wrong_shape_are_refused(y):
    fleet = dl.Fleet(dl.Auto(), 5)
    with pytest.raises(ValueError, match=r"^Fleet\.learn_many: (y is missing|X has 2 rows, y has)"):
        fleet.learn_many([0, 1], np.ones((2, 2)), y)


def test_frames_keep_their_names():
    keys, X, y = keyed_rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    fleet = dl.Fleet(dl.Auto(), 5)
    run = fleet.run(keys, frame, y)
    assert np.array_equal(run.predictions, run_apart(dl.Auto(), keys, X, y)[1])
    assert fleet[1].feature_names_in_.tolist() == ["a", "b", "c"]
    assert np.array_equal(fleet.predict_many(keys, frame), fleet.predict_many(keys, X))
    with pytest.raises(ValueError, match="feature names should match") as caught:
        fleet.predict_many(keys, frame[["c", "b", "a"]])
    assert caught.value.__notes__[0].startswith("Fleet.predict_many: raised by the model of the key 0")


def test_sparse_rows_are_accepted():
    keys, X, y = keyed_rows()
    X[X < 0] = 0
    fleet = dl.Fleet(dl.SparseDFOP(), 5)
    run = fleet.run(keys, sparse.csr_array(X), y)
    assert np.array_equal(run.predictions, run_apart(dl.SparseDFOP(), keys, sparse.csr_array(X), y)[1])
    assert fleet.predict_many(keys, sparse.csc_array(X)).shape == (300,)


def test_hashed_rows_are_accepted():
    keys, X, y = keyed_rows()
    learner = Hashing(16) | dl.RLS()
    frame = pd.DataFrame({"town": NAMES[keys], "x": X[:, 0]})
    mappings = frame.to_dict("records")
    expected = np.empty(300)
    for key in range(5):
        mine = keys == key
        expected[mine] = learner.clone().run(frame[mine], y[mine]).predictions
    for rows in (frame, mappings):
        assert np.array_equal(dl.Fleet(learner, 5).run(keys, rows, y).predictions, expected)
    assert len(dl.Fleet(learner, 5).run(keys, X, y)) == 300


@pytest.mark.parametrize("weights", [None, np.tile([1.0, 2.0], 150)])
def test_one_row_at_a_time_equals_many_rows(weights):
    keys, X, y = keyed_rows()
    many, one = dl.Fleet(dl.Auto(), named=True), dl.Fleet(dl.Auto(), named=True)
    run = many.run(NAMES[keys], pd.DataFrame(X, columns=["a", "b", "c"]), y, sample_weight=weights)
    for row, key in enumerate(NAMES[keys]):
        x = dict(zip("abc", X[row], strict=True))
        assert one.predict_one(key, x) == run.predictions[row]
        one.learn_one(key, x, y[row], sample_weight=None if weights is None else weights[row])
    for key in many.keys_:
        require_same(one[key], many[key])


def test_a_model_may_have_features_that_others_do_not():
    fleet = dl.Fleet(dl.Auto(), named=True)
    fleet.learn_one("a", {"x": 1.0}, 1.0)
    fleet.learn_one("b", {"x": 1.0}, 1.0)
    fleet.learn_one("a", {"x": 1.0, "z": 2.0}, 1.0)
    assert fleet["a"].feature_names_in_.tolist() == ["x", "z"]
    assert fleet["b"].feature_names_in_.tolist() == ["x"]


def test_separate_models_have_no_common_weight_array():
    fleet = dl.Fleet(dl.Auto(), 3)
    fleet.learn_many([1], [[1.0]], [1.0])
    for name in ("coef_", "intercept_", "n_features_in_", "feature_names_in_"):
        with pytest.raises(
            AttributeError, match=rf"^Fleet\.{name}: not available for a fleet of Auto; use fleet\[key\]\.{name}"
        ):
            getattr(fleet, name)
    assert fleet.nbytes == fleet.summary()["memory"].sum() > 0


@pytest.mark.parametrize(
    "learner", [dl.Auto(), dl.Kernel(budget=5), Lags(y=2) | dl.RLS()], ids=lambda learner: type(learner).__name__
)
def test_a_key_that_was_never_learned_is_predicted_by_a_model_at_its_start(learner):
    fleet = dl.Fleet(learner, named=True)
    assert fleet.predict_many(["a", "b"], [[1.0], [2.0]]).tolist() == [0.0, 0.0]
    fleet.learn_many(["a"], [[1.0]], [3.0])
    assert fleet.predict_many(["b"], [[1.0]]).tolist() == [fleet.predict_one("b", [1.0])] == [0.0]
    assert fleet.keys_ == ["a"]


@pytest.mark.parametrize("number", [1, 3])
def test_an_interrupt_leaves_all_models_as_they_were(number, monkeypatch):
    keys, X, y = keyed_rows()
    fleet = dl.Fleet(dl.Auto(), named=True, alarms=True)
    fleet.learn_many(NAMES[keys[:100]], X[:100], y[:100])
    before = {key: fleet[key] for key in fleet.keys_}
    run, calls = dl.Auto.run, []

    def interrupted(self, *arguments, **options):
        calls.append(self)
        if len(calls) == number:
            raise KeyboardInterrupt
        return run(self, *arguments, **options)

    monkeypatch.setattr(dl.Auto, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fleet.learn_many([*NAMES[keys[100:]], "new"], np.vstack([X[100:], X[:1]]), np.append(y[100:], 0.0))
    monkeypatch.undo()
    assert fleet.keys_ == list(before)
    for key, model in before.items():
        require_same(fleet[key], model)


def test_the_warning_of_a_short_memory_appears_once_for_the_whole_fleet():
    keys, X, y = keyed_rows(d=9)
    fleet = dl.Fleet(dl.Averaged(dl.RLS(forgetting=0.8)), 5)
    with pytest.warns(dl.DriftlineWarning, match="a memory of") as caught:
        fleet.learn_many(keys[:20], X[:20], y[:20])
    fleet.learn_many(keys[20:40], X[20:40], y[20:40])
    assert len(caught) == 1


@pytest.mark.parametrize("alarms", [False, True])
def test_rows_one_by_one_change_no_copy_of_the_fleet_and_learn_as_tables_do(alarms):
    """Models learn in place as long as no state or copy of the fleet holds them."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    X[rng.random((60, 3)) < 0.1] = np.nan
    fleet, tables = (dl.Fleet(dl.RLS(missing="mean"), alarms=alarms) for _ in range(2))
    for row in range(20):
        fleet.learn_one(row % 3, X[row], y[row])
    held = [copy.copy(fleet), fleet[1], *fleet.split(2)]
    before = [each.to_bytes() for each in held]
    for row in range(20, 60):
        fleet.learn_one(row % 3, X[row], y[row])
        if row % 9 == 0:
            with pytest.raises(ValueError, match="expected 3"):
                fleet.learn_one(row % 3, np.ones(4), 1.0)
    assert [each.to_bytes() for each in held] == before
    for row in range(60):
        tables.learn_many([row % 3], X[row : row + 1], y[row : row + 1])
    assert fleet.to_bytes() == tables.to_bytes()


def test_one_row_is_predicted_without_a_copy_of_its_model(monkeypatch):
    """A copy of Auto costs a hundred times as much as a prediction."""
    fleet = dl.Fleet(dl.Auto())
    for _ in range(20):
        fleet.learn_one("a", [1.0, 2.0], 3.0)
    expected = fleet["a"].predict_one([1.0, 2.0])
    monkeypatch.setattr(dl.Auto, "__copy__", None)
    assert fleet.predict_one("a", [1.0, 2.0]) == expected
