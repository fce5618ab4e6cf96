"""Copies in memory and across processes, and invalid states."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import driftline as dl
from driftline.base import registry
from driftline.checks.tools import same
from tests.cases import for_each
from tests.states import leaves, replaced


def test_pickles_continue_in_another_process(rows, tmp_path):
    """Each learner is unpickled on its own; the pickle alone decides what is imported."""
    X, y = rows
    models = {name: kind() for name, kind in registry.regressors().items()}
    for model in models.values():
        model.run(X[:100], y[:100])
    pickles = {name: pickle.dumps(model) for name, model in models.items()}
    (tmp_path / "given").write_bytes(pickle.dumps((pickles, X[100:], y[100:])))
    code = (
        "import pickle, sys\n"
        "pickles, X, y = pickle.load(open(sys.argv[1] + '/given', 'rb'))\n"
        "found = {name: pickle.loads(one).run(X, y).predictions for name, one in pickles.items()}\n"
        "pickle.dump(found, open(sys.argv[1] + '/found', 'wb'))\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    found = pickle.loads((tmp_path / "found").read_bytes())
    for name, model in models.items():
        assert np.array_equal(found[name], model.run(X[100:], y[100:]).predictions), name


def test_a_pickle_is_small():
    """A pickle holds the state and little else: for 100 features, half a matrix of float64."""
    model = dl.RLS()
    model.run(np.random.default_rng(0).normal(size=(50, 99)), np.ones(50))
    assert len(pickle.dumps(model)) < 8 * 100 * 100


def test_a_pickled_schedule_continues_at_its_row(rows):
    """The index of the row, and of the segment between resets, is part of the state."""
    X, y = rows
    for model in (dl.RLS(forgetting=[*np.linspace(0.5, 1.0, 150)]), dl.ARCOR(schedule=[0.5, 0.45, 0.4, 0.35, 0.3])):
        whole = copy.deepcopy(model)
        run = whole.run(X, y)
        model.run(X[:77], y[:77])
        model = pickle.loads(pickle.dumps(model))
        rest = model.run(X[77:], y[77:])
        assert np.array_equal(rest.predictions, run.predictions[77:])
        assert (rest.resets + 77).tolist() == [row for row in run.resets if row >= 77]
        assert same(model.__getstate__(), whole.__getstate__())


def test_wemms_ridge_is_part_of_the_state(rows):
    X, y = rows
    model = dl.WEMM()
    model.learn_one(10 * X[0], 1.0)
    twin = pickle.loads(pickle.dumps(model))
    assert twin.ridge_ == model.ridge_ != dl.WEMM().fit(X, y).ridge_
    assert "ridge_" not in model.get_params()
    model.fit(X, y)
    assert model.ridge_ != twin.ridge_


def test_names_and_their_order_survive(rows):
    model = dl.RLS()
    model.learn_one({"b": 1.0, "a": 2.0}, 1.0)
    twin = pickle.loads(pickle.dumps(model))
    twin.learn_one({"c": 1.0}, 0.0)
    assert twin.feature_names_in_.tolist() == ["b", "a", "c"]
    assert model.feature_names_in_.tolist() == ["b", "a"]


def test_a_lambda_cannot_be_pickled_but_can_be_copied():
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(dl.RLS(forgetting=lambda t: 0.9))
    model = copy.deepcopy(dl.RLS(forgetting=lambda t: 0.9))
    model.learn_one([1.0], 1.0)


def wrecked(state):
    """Invalid states."""
    core = state["core"]
    yield "no weights", {**core, "weights": core["weights"][:0]}
    yield "two dimensions", {**core, "weights": core["weights"][None, :]}
    yield "another type", {**core, "weights": core["weights"].astype(np.float16)}
    yield "NaN", {**core, "weights": np.full_like(core["weights"], np.nan)}
    yield "not an array", {**core, "weights": core["weights"].tolist()}
    for place, array in leaves(core):
        yield f"without {place}", replaced(core, place)
        if isinstance(array, float):
            yield f"infinite {place}", replaced(core, place, np.inf)
            continue
        far = np.inf if array.dtype.kind == "f" else np.iinfo(array.dtype).max
        yield f"infinite {place}", replaced(core, place, np.full_like(array, far))
        if place != "weights" or "matrix" in core or "logs" in core:  # weights alone may have any length
            yield f"short {place}", replaced(core, place, array[:-1])
    if "matrix" in core:
        yield "another width", {**core, "weights": np.tile(core["weights"], 3)}
        yield "a matrix far too small", {**core, "weights": np.zeros(100_000, dtype=core["weights"].dtype)}
        yield "a negative number of rows", {**core, "sums": np.where(np.arange(core["sums"].size) == 0, -1.0, core["sums"])}


@for_each("dtype", ["float64", "float32"])
def test_an_invalid_state_is_refused_and_changes_nothing(learner, dtype, rows):
    model = dl.checks.tools.fresh(learner, dtype=dtype)
    model.run(rows[0][:153], rows[1][:153])
    before = model.__getstate__()
    for what, core in wrecked(before):
        with pytest.raises((ValueError, KeyError, TypeError)):
            model.__setstate__({**before, "core": core})
        assert same(before, model.__getstate__()), what


@pytest.mark.parametrize("kind", [dl.RLS, dl.ARCOR])
def test_an_invalid_factor_is_refused(kind, rows):
    model = kind()
    model.run(*rows)
    state = model.__getstate__()
    core = state["core"]
    for bad in ({"diagonal": -core["diagonal"]}, {"diagonal": 0 * core["diagonal"]}, {"matrix": core["matrix"] + 1}):
        with pytest.raises(ValueError, match=r"the state's (matrix is not unit|diagonal is not positive)"):
            model.__setstate__({**state, "core": {**core, **bad}})


def test_an_additive_matrix_beyond_all_bounds_is_refused(rows):
    model = dl.Kalman()
    model.run(*rows)
    state = model.__getstate__()
    for bad in (state["core"]["matrix"] * 1e200, np.full_like(state["core"]["matrix"], 1e300)):
        with pytest.raises(ValueError, match="the state's matrix cannot come from learning"):
            model.__setstate__({**state, "core": {**state["core"], "matrix": bad}})
