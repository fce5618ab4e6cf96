"""The state survives any finite numbers."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np

from driftline.base.learner import Learner
from driftline.checks.tools import (
    fresh,
    learned,
    require,
    require_finite,
    require_refusal,
    require_same,
    require_same_state,
    stream,
    trained,
)
from driftline.tables.inputs import Array


def _hard_streams() -> Iterator[tuple[str, Array, Array]]:
    X, y = stream(rows=300)
    yield "constant rows", np.full_like(X, 0.5), np.full_like(y, 0.5)
    yield "rows of zeros", np.zeros_like(X), y
    yield "a constant and then fresh rows", np.vstack([np.full_like(X, 0.5), X]), np.append(y, y)
    yield "one feature at a time", X * (np.arange(3) == np.arange(300)[:, None] % 3), y
    yield "copies of one feature", X[:, [0, 0, 0]], y
    yield "features of 1e-8 beside 1e8", X * np.array([1e-8, 1.0, 1e8]), y
    yield "tiny rows", X * 1e-200, y
    yield "denormal rows", X * 1e-310, y * 1e-310
    yield "huge rows", X * 1e30, y
    yield "huge labels", X, y * 1e30
    yield "rows at the end of the range", np.sign(X) * 1e38, np.sign(y) * 1e38


def the_state_stays_finite(learner: Learner) -> None:
    """So do predictions. A learner may refuse a stream whose exact solution diverges; it is then unchanged."""
    for what, X, y in _hard_streams():
        for dtype in ("float64", "float32"):
            model = fresh(learner, dtype=dtype)
            before = model.__getstate__()
            try:
                run = model.run(X, y)
            except ValueError as error:
                require(type(learner).__name__ in str(error), f"{what}: the message does not name the learner: {error}")
                require_same(model.__getstate__(), before, f"{what} was refused and changed the state")
                continue
            require(np.isfinite(run.predictions).all(), f"{what}, {dtype}: predictions are not finite")
            require_finite(model, f"{what}, {dtype}")


def hard_streams_are_the_same_in_pieces_and_row_by_row(learner: Learner) -> None:
    """Equal to the last bit, even through a copy: the state lacks nothing that matters later."""
    for what, X, y in _hard_streams():
        for dtype in ("float64", "float32"):
            whole, pieces = fresh(learner, dtype=dtype), fresh(learner, dtype=dtype)
            try:
                whole.run(X, y)
            except ValueError:
                continue
            pieces.run(X[:140], y[:140])
            pieces = copy.deepcopy(pieces)
            pieces.run(X[140:], y[140:])
            require_same_state(pieces, whole, f"{what}, {dtype}, in pieces")
            require_same_state(learned(fresh(learner, dtype=dtype), X, y), whole, f"{what}, {dtype}, row by row")


def values_beyond_the_type_are_refused(learner: Learner) -> None:
    """1e300 does not fit float32, in a row or a label; skipping treats it as missing."""
    model = fresh(learner, dtype="float32", missing="skip")
    model.run(*stream())
    model.learn_one([1e300, 0.0, 0.0], 1.0)
    model.learn_one([0.1, 0.0, 0.0], 1e300)
    model.run([[0.1, 0.0, -1e300], [0.1, 0.0, 0.0]], [1.0, -1e300])
    require(model.n_skipped_ == 4, f"{model.n_skipped_} of 4 rows were skipped")
    strict = fresh(learner, dtype="float32", missing="raise")
    strict.run(*stream())
    good, bad = [0.1, 0.0, 0.0], [1e300, 0.0, 0.0]
    for message in (
        require_refusal(strict, "1e300 in a row", strict.learn_one, bad, 1.0),
        require_refusal(strict, "1e300 as a label", strict.learn_one, good, 1e300),
        require_refusal(strict, "1e300 among the labels", strict.run, [good], [1e300]),
        require_refusal(strict, "1e300 in a row to predict", strict.predict_one, bad),
    ):
        require("float32" in message, f"the message does not name the type: {message}")


def the_covariance_stays_symmetric_and_positive(learner: Learner) -> None:
    """For learners that have one."""
    if not hasattr(trained(learner), "covariance_"):
        return
    X, y = stream(rows=300)
    for dtype, least in (("float64", 0.0), ("float32", -1e-5)):
        model = fresh(learner, dtype=dtype)
        model.run(X, y)
        S = model.covariance_  # type: ignore[attr-defined]
        require((S == S.T).all(), f"{dtype}: not symmetric")
        lowest = np.linalg.eigvalsh(S / np.abs(S).max())[0]
        require(lowest > least, f"{dtype}: the smallest eigenvalue is {lowest:.3g} of the largest entry")
