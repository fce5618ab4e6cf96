"""Copies of a learner: exact, independent, and able to continue."""

from __future__ import annotations

import copy
import pickle
import tempfile
from pathlib import Path

from driftline.base import registry
from driftline.base.learner import Learner
from driftline.checks.tools import fresh, names, require, require_same, require_same_state, stream, trained
from driftline.storage.model_file import load


def _require_copy(original: Learner, twin: Learner, how: str) -> None:
    """Requires the same state, independence, and the same predictions afterwards."""
    require(twin is not original, f"{how} gave the learner itself")
    require_same_state(twin, original, how)
    X, y = stream(rows=20, seed=6)
    before = original.__getstate__()
    run = twin.run(X, y)
    require_same(original.__getstate__(), before, f"{how}: the copy's learning changed the original")
    require_same(original.run(X, y).predictions, run.predictions, f"{how}: predictions afterwards")
    require_same_state(twin, original, f"{how}: state afterwards")


def _callables(learner: Learner) -> list[str]:
    """Parameters that are functions or contain one."""
    return [
        name
        for name, value in learner.get_params(deep=False).items()
        if callable(value) or any(map(callable, getattr(value, "__dict__", {}).values())) or "<" in repr(value)
    ]


def pickles_are_copies(learner: Learner) -> None:
    """Untrained and trained, with and without names. Functions that pickle refuses are the user's concern."""
    if _callables(learner):
        return
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        _require_copy(model := trained(learner), pickle.loads(pickle.dumps(model, protocol)), f"pickle protocol {protocol}")
    _require_copy(model := fresh(learner), pickle.loads(pickle.dumps(model)), "pickle at the start")
    model = fresh(learner)
    model.learn_one(dict.fromkeys(names(), 0.5), 1.0)
    twin = pickle.loads(pickle.dumps(model))
    require(list(twin.feature_names_in_) == names(), "pickle lost the names")
    require_same(twin.predict_one({names()[0]: 1.0}), model.predict_one({names()[0]: 1.0}), "prediction by names")


def deep_copies_are_copies(learner: Learner) -> None:
    """Untrained and trained."""
    for model in (fresh(learner), trained(learner), trained(learner, dtype="float32")):
        _require_copy(model, copy.deepcopy(model), "deepcopy")
        _require_copy(model, copy.copy(model), "copy")


def clones_are_at_the_start(learner: Learner) -> None:
    """A clone has the same parameters and has learned nothing."""
    model = trained(learner)
    twin = fresh(model)
    parameters = model.get_params(deep=False)
    require(all(value is parameters[name] for name, value in twin.get_params(deep=False).items()), "other parameters")
    require(twin.n_seen_ == 0, "the clone has learned something")
    require_same_state(twin, fresh(learner), "clone")
    _require_copy(trained(learner), trained(twin), "clone trained on the same rows")


def saved_learners_go_on(learner: Learner) -> None:
    """Saving and loading changes nothing. A parameter that is a function is refused by name."""
    if type(learner) not in registry.learners().values():
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        if refused := _callables(learner):
            try:
                trained(learner).save(path)
            except ValueError as error:
                require(any(name in str(error) for name in refused), f"the message does not name the parameter: {error}")
                require(not list(Path(folder).iterdir()), "a refused save left a file")
                return
        for model in (fresh(learner), trained(learner), trained(learner, dtype="float32", intercept=False, missing="skip")):
            model.save(path)
            _require_copy(model, load(path), "save and load")
        named = fresh(learner)
        named.learn_one(dict.fromkeys(names(), 0.5), 1.0)
        named.save(path)
        require_same_state(load(path), named, "save and load with names")
        require([file.name for file in Path(folder).iterdir()] == ["model"], "saving left other files behind")
