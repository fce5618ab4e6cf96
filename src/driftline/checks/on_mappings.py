"""Rows as mappings: features by name, some appearing later."""

from __future__ import annotations

import numpy as np

from driftline.base.learner import Learner
from driftline.checks.tools import (
    fresh,
    learned,
    names,
    require,
    require_finite,
    require_refusal,
    require_same,
    require_same_state,
    stream,
    trained,
)


def _by_names(learner: Learner) -> Learner:
    X, y = stream()
    return learned(fresh(learner), [dict(zip(names(), x, strict=True)) for x in X], y)


def mappings_and_arrays_are_the_same_rows(learner: Learner) -> None:
    """Equal to the last bit, in any order of the keys."""
    X, y = stream()
    by_place, by_name = fresh(learner), fresh(learner)
    rng = np.random.default_rng(5)
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        items = list(zip(names(), x.tolist(), strict=True))
        row = dict(items if t == 0 else [items[j] for j in rng.permutation(3)])
        require_same(by_name.predict_one(row), by_place.predict_one(x), f"prediction of row {t}")
        by_name.learn_one(row, label)
        by_place.learn_one(x, label)
    require_same(by_name.__getstate__()["core"], by_place.__getstate__()["core"], "state")
    require(list(by_name.feature_names_in_) == names(), "feature_names_in_ has other names")


def a_missing_key_is_zero(learner: Learner) -> None:
    """Both in predict_one and in learn_one."""
    short, zero = _by_names(learner), _by_names(learner)
    first, second, third = names()
    require_same(
        short.predict_one({first: 0.5, third: -0.2}), zero.predict_one({first: 0.5, second: 0.0, third: -0.2}), "prediction"
    )
    short.learn_one({third: -0.2}, 1.0)
    zero.learn_one({first: 0.0, second: 0.0, third: -0.2}, 1.0)
    require_same_state(short, zero, "state")


def predict_one_ignores_unknown_names_and_never_grows(learner: Learner) -> None:
    """Even if all names are unknown."""
    model = _by_names(learner)
    before = model.__getstate__()
    row = dict.fromkeys(names(), 0.5)
    require_same(model.predict_one({**row, "new": 3.0}), model.predict_one(row), "prediction")
    require_same(model.predict_one({"new": 3.0}), model.predict_one({}), "prediction of unknown names alone")
    require_same(before, model.__getstate__(), "predict_one changed the state")


def learn_one_grows_by_new_names(learner: Learner) -> None:
    """A new feature comes last, before the intercept; the state stays finite, and learning continues."""
    model = _by_names(learner)
    row = dict.fromkeys(names(), 0.3)
    model.learn_one({"new": 0.4, **row}, 0.7)
    require(list(model.feature_names_in_) == [*names(), "new"], f"the names are {model.feature_names_in_}")
    require(model.n_features_in_ == 4, f"there are {model.n_features_in_} features")
    require(
        not (model._traits.by_feature and model._traits.linear) or len(model.coef_) == 4,
        "there is no weight for each of them",
    )
    require(model.n_seen_ == 61, "growing lost count of the rows")
    require_same(model.predict_one(row), model.predict_one({**row, "new": 0.0}), "a missing new feature")
    for t in range(20):
        model.learn_one({**row, "new": 0.1 * (t % 3)}, 0.2 * t % 1)
    require_finite(model, "after growing")


def growing_needs_no_start_with_names(learner: Learner) -> None:
    """With an intercept, the first row may be empty."""
    model = fresh(learner, intercept=True)
    model.learn_one({}, 0.5)
    require(model.n_features_in_ == 0, "an empty mapping brought a feature")
    model.learn_one({"a": 0.5}, 0.5)
    require(model.n_features_in_ == 1 and np.isfinite(model.predict_one({"a": 1.0})), "the model did not grow")
    empty = fresh(learner, intercept=False)
    require_refusal(empty, "an empty mapping without an intercept", empty.learn_one, {}, 1.0)


def bad_mappings_are_refused_by_name(learner: Learner) -> None:
    """The message names the feature; a refused row brings no new name."""
    model = fresh(learner, missing="raise")
    model.run(*stream())
    require_refusal(model, "a mapping after rows without names", model.learn_one, {"a": 1.0}, 1.0)
    model = fresh(learner, missing="raise")
    model.learn_one(dict.fromkeys(names(), 0.1), 1.0)
    for bad in (np.nan, np.inf, "x", None, [1.0], 10**400, object()):
        for row in ({names()[1]: bad}, {"new": 0.1, names()[1]: bad}):
            message = require_refusal(model, f"learn_one: {bad!r}", model.learn_one, row, 1.0)
            require(repr(names()[1]) in message, f"the message does not name the feature: {message}")
            require_refusal(model, f"predict_one: {bad!r}", model.predict_one, row)
        if bad != "x":  # text would make it a column of text
            require_refusal(model, f"a new feature with {bad!r}", model.learn_one, {"new": bad}, 1.0)
    require_refusal(model, "a new feature with a bad label", model.learn_one, {"new": 0.1}, np.nan)


def rows_without_names_need_the_known_width(learner: Learner) -> None:
    """A model that learned by names takes arrays in the order of its names."""
    model = _by_names(learner)
    row = np.array([0.1, 0.2, 0.3])
    require_same(model.predict_one(row), model.predict_one(dict(zip(names(), row, strict=True))), "prediction")
    require_refusal(model, "too few features", model.predict_one, row[:2])
    require_same(trained(learner).predict_one(row), model.predict_one(row), "the same rows without names")
