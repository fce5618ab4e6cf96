"""Bad input is refused with a message that names the learner, and changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.checks.tools import fresh, require, require_refusal, stream, trained

_ROWS: dict[str, Any] = {
    "NaN": [0.1, np.nan, 0.2],
    "infinity": np.array([0.1, 0.2, -np.inf]),
    "a missing value": [0.1, None, 0.2],
    "text": "abc",
    "text among numbers": ["a", 0.1, 0.2],
    "bytes": b"abc",
    "a date": np.array(["2026-01-01"] * 3, dtype="datetime64[D]"),
    "complex numbers": np.ones(3) * 1j,
    "two dimensions": np.ones((1, 3)),
    "ragged lists": [[1.0], [2.0, 3.0]],
    "no dimension": 1.0,
    "nothing": None,
    "an object": object(),
    "empty": [],
    "an integer too large for a float": [10**400, 0, 0],
}
_WIDTHS: dict[str, Any] = {"too few features": [0.1, 0.2], "too many features": np.ones(4) / 4}
_LABELS: dict[str, Any] = {
    "NaN": np.nan,
    "infinity": np.inf,
    "a missing label": None,
    "text": "1.0",
    "several labels": [1.0, 2.0],
    "an object": object(),
    "a complex number": 1j,
    "an integer too large for a float": 10**400,
}
_TABLES: dict[str, Any] = {
    "one dimension": np.ones(3),
    "three dimensions": np.ones((2, 3, 1)),
    "no rows": np.empty((0, 3)),
    "no features": np.empty((2, 0)),
    "text": [["a", "b", "c"], ["d", "e", "f"]],
    "text in one cell": np.array([[0.1, 0.2, 0.3], [0.1, "x", 0.3]], dtype=object),
    "complex numbers": np.ones((2, 3)) * 1j,
    "ragged lists": [[1.0, 2.0], [3.0]],
    "nothing": None,
    "a word": "abc",
    "an object": object(),
    "NaN": [[0.1, 0.2, 0.3], [0.1, np.nan, 0.3]],
}


def _models(learner: Learner) -> list[tuple[Learner, dict[str, Any]]]:
    """An untrained learner and one that knows its width, each with rows that it must refuse."""
    return [(fresh(learner, missing="raise"), _ROWS), (trained(learner, missing="raise"), {**_ROWS, **_WIDTHS})]


def _labels_for(model: Learner) -> dict[str, Any]:
    """The labels to refuse; an untrained learner that supports several labels a row may take two."""
    may = model._traits.takes_outputs and not model.n_seen_
    return {what: label for what, label in _LABELS.items() if not (may and what == "several labels")}


def bad_rows_are_refused_by_learn_one(learner: Learner) -> None:
    """Both before and after anything was learned."""
    for model, rows in _models(learner):
        for what, x in rows.items():
            message = require_refusal(model, what, model.learn_one, x, 1.0)
            require("learn_one" in message, f"{what}: the message does not name the method: {message}")


def bad_rows_are_refused_by_predict_one(learner: Learner) -> None:
    """Both before and after anything was learned."""
    for model, rows in _models(learner):
        for what, x in rows.items():
            message = require_refusal(model, what, model.predict_one, x)
            require("predict_one" in message, f"{what}: the message does not name the method: {message}")


def bad_labels_are_refused_by_learn_one(learner: Learner) -> None:
    """Both before and after anything was learned."""
    for model, _ in _models(learner):
        for what, label in _labels_for(model).items():
            message = require_refusal(model, what, model.learn_one, [0.1, 0.2, 0.3], label)
            require("y " in message, f"{what}: the message does not name y: {message}")


def bad_tables_are_refused(learner: Learner) -> None:
    """Refused by run, partial_fit and fit, and by predict and score of a trained learner."""
    for model, _ in _models(learner):
        for what, X in _TABLES.items():
            for verb in (model.run, model.partial_fit, model.fit):
                require_refusal(model, f"{verb.__name__}: {what}", verb, X, [0.1, 0.2])
            if model.n_seen_:
                require_refusal(model, f"predict: {what}", model.predict, X)
                require_refusal(model, f"score: {what}", model.score, X, [0.1, 0.2])


def tables_of_another_width_are_refused(learner: Learner) -> None:
    """Refused by everything except fit, which starts over."""
    model = trained(learner)
    for width in (2, 4):
        X, y = stream(rows=5, features=width)
        for verb in (model.run, model.partial_fit, model.score):
            require_refusal(model, f"{verb.__name__}: {width} features", verb, X, y)
        require_refusal(model, f"predict: {width} features", model.predict, X)


def bad_columns_of_labels_are_refused(learner: Learner) -> None:
    """Wrong lengths, wrong kinds, and a missing label."""
    X, _ = stream(rows=2)
    bad: dict[str, Any] = {
        "one label too few": [0.1],
        "one label too many": [0.1, 0.2, 0.3],
        "text": ["a", "b"],
        "two columns": np.ones((2, 2)),
        "a number": 1.0,
        "nothing": None,
        "NaN": [0.1, np.nan],
        "complex numbers": [1j, 1j],
        "an object": [object(), 1.0],
    }
    for model, _ in _models(learner):
        for what, y in bad.items():
            taken = what == "two columns" and model._traits.takes_outputs
            verbs: dict[str, Any] = {"run": model.run, "partial_fit": model.partial_fit, "fit": model.fit}
            for name, verb in verbs.items():
                if not (taken and (name == "fit" or not model.n_seen_)):
                    require_refusal(model, f"{name}: {what}", verb, X, y)
            if model.n_seen_:
                require_refusal(model, f"score: {what}", model.score, X, y)


def bad_intervals_of_snapshots_are_refused(learner: Learner) -> None:
    """weights_every must be a whole number of at least 1."""
    X, y = stream()
    for model, _ in _models(learner):
        for every in (0, -1, 1.5, "2", np.nan, [1]):
            require_refusal(model, f"weights_every={every!r}", model.run, X, y, weights_every=every)
