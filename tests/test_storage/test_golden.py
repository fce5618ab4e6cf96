"""Model files of every format are read: each model predicts what formulas say of the rows that it learned."""

import importlib

import numpy as np
import pytest

import driftline as dl
from driftline.storage import model_file
from tests.cases import for_each
from tests.golden_models.write import FOLDER, MODELS, ROWS, rows

X, Y = rows()
ONES = np.column_stack([X, np.ones(ROWS)])
ROW, FEATURES = {"a": 1.0, "b": 0.0}, np.array([1.0, 0.0, 1.0])
FORMATS = sorted(FOLDER.glob("format_*"))


def truth(row):
    """The function that all labels follow."""
    return 2 * row["a"] - row["b"] + 0.5


def ridge(Z, y, penalty):
    return np.linalg.solve(Z.T @ Z + penalty * np.eye(Z.shape[1]), Z.T @ y)


def averaged(Z, y, rate=0.1):
    """The mean of the weights with which LMS predicted."""
    w, used = np.zeros(Z.shape[1]), []
    for x, label in zip(Z, y, strict=True):
        used.append(w)
        w = w - rate * (w @ x - label) * x
    return np.mean(used, axis=0)


def plainly(name, **parameters):
    """The final weights by the reference of a learner."""
    reference = importlib.import_module(f"tests.test_linear.test_{name}").REFERENCE
    return reference.plain(ONES, Y, **parameters).weights[-1]


def network():
    """The members' weights, combined by those of ARCOR on their predictions."""
    members = [("ridge", {}), ("rls", {"forgetting": 0.9})]
    learners = [importlib.import_module(f"tests.test_linear.test_{name}").REFERENCE.plain for name, _ in members]
    runs = [plain(ONES, Y, **options) for plain, (_, options) in zip(learners, members, strict=True)]
    top = importlib.import_module("tests.test_linear.test_arcor").plain
    mixed = top(np.column_stack([run.predictions for run in runs]), Y, schedule=None, radius=1.0)
    return mixed.weights[-1] @ [run.weights[-1] for run in runs]


def lagged():
    """Ridge on the last label, the features and 1; the last label is 0 before the first row."""
    last = np.append(0.0, Y)
    weights = ridge(np.column_stack([last[:-1], ONES]), Y, 2.0)
    return weights @ np.append(last[-1], FEATURES)


PREDICTIONS = {
    "rls": lambda: FEATURES @ plainly("rls", forgetting=0.95),
    "ridge": lambda: FEATURES @ ridge(ONES, Y, 2.0),
    "nlms": lambda: FEATURES @ plainly("nlms", rate=0.5),
    "wemm": lambda: FEATURES @ plainly("wemm"),
    "kernel": lambda: FEATURES @ plainly("arowr", noise=0.5),
    "network": lambda: FEATURES @ network(),
    "averaged": lambda: FEATURES @ averaged(ONES, Y),
    "pipeline": lagged,
}
NEAR = {"auto": 0.2, "own_experts": 0.2, "sparse_dfop": 0.2, "columns": 1e-3}  # how far from the truth


def read(folder, name):
    return dl.from_bytes((folder / f"{name}.driftline").read_bytes())


def test_there_is_a_file_of_each_kind_in_the_present_format():
    folder = FOLDER / f"format_{model_file.VERSION}"
    assert {path.stem for path in folder.iterdir()} == set(MODELS)


@pytest.mark.parametrize("folder", FORMATS, ids=lambda folder: folder.name)
@pytest.mark.parametrize("name", PREDICTIONS)
def test_a_learner_in_a_file_predicts_what_its_formula_says(folder, name):
    model = read(folder, name)
    assert model.predict_one(ROW) == pytest.approx(PREDICTIONS[name](), rel=1e-9)
    assert model.n_seen_ == ROWS
    model.learn_one(ROW, truth(ROW))
    assert model.n_seen_ == ROWS + 1


@pytest.mark.parametrize("folder", FORMATS, ids=lambda folder: folder.name)
def test_a_learner_in_a_file_predicts_the_labels_that_it_learned(folder):
    for name, distance in NEAR.items():
        model, row = read(folder, name), {**ROW, **({"tree": "oak"} if name == "columns" else {})}
        assert model.predict_one(row) == pytest.approx(truth(ROW) + (name == "columns"), abs=distance), name
        model.learn_one(row, 2.5)
        assert model.n_seen_ == ROWS + 1
    classifier = read(folder, "classifier")
    assert [classifier.predict_one(row) for row in (ROW, {"a": 0.0, "b": 1.0})] == ["high", "low"]


@pytest.mark.parametrize("folder", FORMATS, ids=lambda folder: folder.name)
def test_tickets_and_rows_that_wait_are_learned_from_files(folder):
    model, ticket, pending = (read(folder, name) for name in ("ridge", "ticket", "pending"))
    expected = FEATURES @ ridge(ONES, Y, 2.0)
    assert ticket.prediction == pytest.approx(expected, rel=1e-9)
    assert ticket.delay == 3
    model.tell(ticket, 2.5)
    assert list(pending) == ["x", 7]
    assert pending.predict_one("x", ROW) == pytest.approx(expected, rel=1e-9)
    assert pending.learn_held() == 1
    pending.learn_one("x", 2.5)
    more = np.vstack([ONES, [0.0, 1.0, 1.0], FEATURES])
    assert pending.learner.predict_one(ROW) == pytest.approx(
        FEATURES @ ridge(more, np.append(Y, [-0.5, 2.5]), 2.0), rel=1e-9
    )
    once = np.vstack([ONES, FEATURES])
    assert model.predict_one(ROW) == pytest.approx(FEATURES @ ridge(once, np.append(Y, 2.5), 2.0), rel=1e-9)


@pytest.mark.parametrize("folder", FORMATS, ids=lambda folder: folder.name)
def test_fleets_forecasters_and_moments_are_read_from_files(folder):
    packed, apart = read(folder, "fleet"), read(folder, "fleet_apart")
    for start, key in enumerate(["left", "right"]):
        Z, y = ONES[start::2], Y[start::2]
        assert packed.predict_one(key, FEATURES[:2]) == pytest.approx(FEATURES @ ridge(Z, y, 2.0), rel=1e-9)
        assert apart.predict_one(key, FEATURES[:2]) == pytest.approx(FEATURES @ averaged(Z, y), rel=1e-9)
    assert apart.summary()["alarms"].tolist() == [0, 0]
    forecast = read(folder, "forecaster").forecast([[1.0, 0.0], [1.0, 0.0]])  # each step knows all labels by now
    assert forecast.predictions == pytest.approx([FEATURES @ ridge(ONES, Y, 1.0)] * 2, rel=1e-9)
    moments = read(folder, "moments")
    assert moments.model(ridge=2.0).predict_one([1.0, 0.0]) == pytest.approx(FEATURES @ ridge(ONES, Y, 2.0), rel=1e-9)


# What later versions added to a state, which the files of earlier ones lack.


def restored(model, state):
    made = type(model).__new__(type(model))
    made.__setstate__(state)
    return made


@for_each("learner", [dl.RLS(), dl.NLMS(), dl.Auto(), dl.Kernel(dl.AROWR()), dl.SparseDFOP(dim=4), dl.EG(norm=2.0)])
def test_a_core_without_the_arrays_that_were_added_has_the_values_of_a_new_one(learner):
    """The places of labels, for quantiles, came after the first format, and so did the sums of EG's shares."""
    model = learner.clone()
    model.run(*rows())
    state = model.__getstate__()
    places = len(model.ask([1.0, 0.0]).places)
    older = {name: array for name, array in state["core"].items() if name != "shares"}
    older["coverage"] = older["coverage"][:-places]
    made = restored(model, {**state, "core": older})
    assert made.predict_one([1.0, 0.0]) == pytest.approx(model.predict_one([1.0, 0.0]), rel=1e-12)
    assert made.predict_interval([1.0, 0.0]) == pytest.approx(model.predict_interval([1.0, 0.0]), rel=1e-12)
    assert not made.ask([1.0, 0.0]).places.any()  # as in a model that has learned no label
    made.learn_one([1.0, 0.0], 2.5)
    for name in older:
        with pytest.raises((ValueError, KeyError), match=f"{name}|no weights|another shape"):
            restored(model, {**state, "core": {other: array for other, array in older.items() if other != name}})
    with pytest.raises(ValueError, match="coverage has another shape"):
        restored(model, {**state, "core": {**older, "coverage": older["coverage"][:-1]}})


def test_models_of_a_fleet_have_the_values_of_new_ones_for_numbers_that_were_added():
    keys, (X, y) = np.arange(ROWS) % 2, rows()
    fleet = dl.Fleet(dl.RLS(), 3, intervals=True)
    fleet.run(keys, X, y)
    state = fleet.__getstate__()
    places = len(dl.RLS().fit(X, y).ask([1.0, 0.0]).places)
    older = {**state["core"], "coverage": np.ascontiguousarray(state["core"]["coverage"][:, :-places])}
    made = restored(fleet, {**state, "core": older})
    np.testing.assert_array_equal(made.predict_intervals(keys, X, 0.5), fleet.predict_intervals(keys, X, 0.5))
    assert np.isfinite(made.predict_intervals(keys, X, 0.5)).all()
    with pytest.raises(ValueError, match="coverage has another shape"):
        restored(fleet, {**state, "core": {**older, "coverage": np.ascontiguousarray(older["coverage"][:, :-1])}})


@for_each(
    "name, defaults",
    [
        ("ridge", {"skipped": 0}),
        ("pending", {"dropped": 0, "held": [], "settled": []}),
        ("forecaster", {"known": None, "cells": None, "known_columns": None}),
        ("fleet", {"jobs": None, "alarms": False, "intervals": False}),
    ],
)
def test_a_field_that_a_state_lacks_has_its_default(name, defaults):
    model = MODELS[name]()
    state = model.__getstate__()
    for field, default in defaults.items():
        made = restored(model, {other: value for other, value in state.items() if other != field})
        assert made.__getstate__()[field] == default, field
