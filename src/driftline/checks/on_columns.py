"""Columns of text, booleans and times: encoded as they come, the same in tables and in mappings."""

from __future__ import annotations

import importlib
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.base.ticket import Ticket
from driftline.checks.tools import fresh, learned, looped, require, require_refusal, require_same, require_same_state, stream
from driftline.storage.model_file import from_bytes
from driftline.tables.categories import CATEGORIES
from driftline.tables.inputs import Array

_TEXTS = ("oak", "ash", "elm", "fir")


def _columns(rows: int = 60) -> tuple[dict[str, list[Any]], Array]:
    """Columns of every kind, with texts that appear late, and labels."""
    X, y = stream(rows)
    rng = np.random.default_rng(8)
    texts = [_TEXTS[int(rng.integers(2 if t < rows // 2 else 4))] for t in range(rows)]
    return {
        "tree": texts,
        "load": (0.3 * X[:, 0]).tolist(),
        "open": (X[:, 1] > 0).tolist(),
        "when": [datetime(2026, 3, 1) + timedelta(hours=7 * t) for t in range(rows)],
    }, y


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _frame(columns: dict[str, list[Any]]) -> Any:
    """A frame of any installed library; None if there is none."""
    for library, kind in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")):
        try:
            return getattr(importlib.import_module(library), kind)(columns)
        except ImportError:
            continue
    return None


def text_and_times_are_the_same_in_tables_and_in_a_loop(learner: Learner) -> None:
    """Predictions and state are equal to the last bit, with texts that appear on the way."""
    columns, y = _columns()
    model, predicted = looped(fresh(learner), _rows(columns), y)
    for name in ("tree=oak", "tree=fir", "load", "open", "when: day sin"):
        require(name in model.feature_names_in_, f"there is no feature {name!r}")
    if (frame := _frame(columns)) is not None:
        many = fresh(learner)
        require_same(many.run(frame, y).predictions, predicted, "predictions")
        require_same_state(many, model, "state")


def a_text_is_a_feature_that_is_one(learner: Learner) -> None:
    """Once it is known, text gives the same model as its one-hot features."""
    columns, y = _columns()
    by_text, by_number = (looped(fresh(learner), _rows(columns), y)[0] for _ in range(2))
    for row, label in zip(_rows(columns), y.tolist(), strict=True):
        numbers = {name: value for name, value in row.items() if name != "tree"} | {f"tree={row['tree']}": 1.0}
        require_same(by_text.predict_one(row), by_number.predict_one(numbers), "prediction")
        by_text.learn_one(row, label)
        by_number.learn_one(numbers, label)
    require_same(by_text.__getstate__()["core"], by_number.__getstate__()["core"], "state")
    asked = {"when": columns["when"][-1]}
    by_name, by_feature = by_text.predict_one(asked | {"tree": "fir"}), by_text.predict_one(asked | {"tree=fir": 1.0})
    require_same(by_name, by_feature, "prediction by the feature")


def an_unknown_text_is_predicted_as_the_known_ones_until_it_is_learned(learner: Learner) -> None:
    """predict_one and ask do not add it: it is the average of the known ones, by their shares of the rows so far.

    To a learner whose predictions between rows may be far from theirs, it is the most frequent text.
    """
    columns, y = _columns()
    model, _ = looped(fresh(learner), _rows(columns), y)
    before = model.__getstate__()
    counts = Counter(columns["tree"])
    shares = {f"tree={tree}": counts[tree] / len(y) for tree in _TEXTS}
    if learner._traits.bends:
        shares = {f"tree={counts.most_common(1)[0][0]}": 1.0}
    rest = {"load": 0.1, "when": columns["when"][-1]}
    unknown = model.predict_one({"tree": "yew", **rest})
    require_same(unknown, model.predict_one({**shares, **rest}), "an unknown text")
    ticket = model.ask({"tree": "yew", **rest})
    require_same(ticket.prediction, unknown, "the prediction of the ticket")
    require_same(before, model.__getstate__(), "asking changed the state")
    model.tell(ticket, 0.5)
    require(model.feature_names_in_[-1] == "tree=yew", "telling added no feature")


def tickets_of_text_are_rows_learned(learner: Learner) -> None:
    """Telling a ticket equals learning its row, even after a round trip through bytes once the features are known."""
    columns, y = _columns()
    rows = _rows(columns)
    by_row, by_ticket = (looped(fresh(learner), rows, y)[0] for _ in range(2))
    for row, label in zip(rows[:20], y.tolist(), strict=False):
        by_row.learn_one(row, label)
        by_ticket.tell(Ticket.from_bytes(by_ticket.ask(row, delay=0).to_bytes()), label)
    require_same_state(by_ticket, by_row, "state")


def columns_are_saved_with_the_model(learner: Learner) -> None:
    """A copy through bytes continues as if nothing had happened."""
    columns, y = _columns()
    rows = _rows(columns)
    whole, _ = looped(fresh(learner), rows, y)
    begun, _ = looped(fresh(learner), rows[:25], y[:25])
    try:
        copy = from_bytes(begun.to_bytes())
    except ValueError:  # a function among the parameters
        return
    require_same_state(learned(copy, rows[25:], y[25:]), whole, "state")


def texts_are_bounded(learner: Learner) -> None:
    """Texts beyond the limit share a feature."""
    model = fresh(learner)
    for t in range(CATEGORIES + 10):
        model.learn_one({"tree": f"tree {t}"}, 0.1)
    require(model.n_features_in_ == CATEGORIES + 1, f"there are {model.n_features_in_} features")
    require(model.feature_names_in_[-1] == "tree is other", f"the last feature is {model.feature_names_in_[-1]!r}")


def values_of_another_kind_are_refused(learner: Learner) -> None:
    """Text in a column of numbers, or the reverse, is refused by name, and changes nothing."""
    model = fresh(learner, missing="raise")
    model.learn_one({"tree": "oak", "load": 0.1}, 0.5)
    for row in ({"tree": 2.0, "load": 0.1, "new": 1.0}, {"tree": "oak", "load": "high"}, {"tree": None, "load": 0.1}):
        message = require_refusal(model, f"{row}", model.learn_one, row, 0.5)
        require("tree" in message or "load" in message, f"the message does not name the column: {message}")
    require_refusal(model, "a text for a number", model.predict_one, {"load": "high"})
    require_refusal(model, "a new text with a bad label", model.learn_one, {"tree": "yew"}, np.nan)
