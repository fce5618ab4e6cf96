"""Model files of every format are read: each model predicts what formulas say of the rows that it learned."""

import importlib

import numpy as np
import pytest

import driftline as dl
from driftline.storage import model_file
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
