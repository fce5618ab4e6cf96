"""Seeded streams, and learners to run on them, for all tests."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import driftline as dl
from tests.states import leaves

Array = npt.NDArray[Any]


def drifting(seed: int, rows: int = 60, d: int = 4, step: float = 0.2, noise: float = 0.3) -> tuple[Array, Array]:
    """Standard normal inputs; the weights walk; labels of both signs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d))
    w = np.cumsum(step * rng.normal(size=(rows, d)), axis=0) + rng.normal(size=d)
    return X, np.sum(X * w, axis=1) + noise * rng.normal(size=rows)


def stationary(seed: int, rows: int = 60, d: int = 4, noise: float = 0.3) -> tuple[Array, Array]:
    """Standard normal inputs and one vector of weights for all rows."""
    return drifting(seed, rows, d, step=0.0, noise=noise)


WORDS = np.array(["down", "up", "none", "far"])  # labels of up to four classes


seeds = st.integers(0, 2**32 - 1)


def tables(rows: int = 40, columns: int = 12, least: int = 1) -> st.SearchStrategy[tuple[Array, Array]]:
    """Rows and labels: a few numbers that Hypothesis draws one by one, and shrinks, or many from a seeded generator."""
    numbers = st.integers(-300, 300).map(lambda hundredths: hundredths / 100)
    sizes = st.tuples(st.integers(least, 8), st.integers(1, min(columns, 4)))
    small = sizes.flatmap(lambda size: st.tuples(*(arrays(float, shape, elements=numbers) for shape in (size, size[0]))))
    return small | st.builds(drifting, seeds, st.integers(least, rows), st.integers(1, columns))


def pieces(y: Array, cuts: list[int]) -> list[Array]:
    """The numbers of the rows, cut into parts; cuts beyond the last row do not count."""
    return np.split(np.arange(len(y)), sorted({cut for cut in cuts if cut < len(y)}))


def in_classes(y: Array, classes: int) -> Array:
    """A class number for each label, by its size."""
    return np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))


def labelled(seed: int, rows: int, d: int, classes: int) -> tuple[Array, Array]:
    """Rows, and a class number for each; a few labels are random."""
    X, y = drifting(seed, rows, d)
    rng = np.random.default_rng(seed)
    codes = in_classes(y, classes)
    return X, np.where(rng.random(rows) < 0.1, rng.integers(classes, size=rows), codes)


def signs(y: Array) -> Array:
    """Labels -1 and +1."""
    return np.where(y > 0, 1.0, -1.0)


def wild(seed: int, rows: int, d: int, span: float = 6.0) -> tuple[Array, Array]:
    """Features of different scales, some outliers, perhaps a duplicate feature, perhaps one that is always 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d)) * 10 ** rng.uniform(-span, span, size=d if rng.random() < 0.5 else 1)
    if rng.random() < 0.3:
        X[rng.random(rows) < 0.2] *= 10**span
    if rng.random() < 0.3:
        X[:, rng.integers(d)] = X[:, 0]
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = 0.0
    return X, rng.normal(size=rows) * 10 ** rng.uniform(-3, 3)


def with_ones(X: Array) -> Array:
    """X with a constant feature appended, as for intercept=True."""
    return np.column_stack([X, np.ones(len(X))])


def rotation(seed: int, d: int) -> Array:
    """A random orthogonal matrix."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))
    return np.asarray(q * np.sign(np.diag(r)))


def loop(model: Any, X: Array, y: Array) -> tuple[Array, Array]:
    """Predictions and weights after each row, by predict_one and learn_one."""
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        predictions.append(model.predict_one(x))
        model.learn_one(x, label)
        weights.append(weights_of(model))
    return np.array(predictions), np.array(weights)


def looped(model: Any, rows: Any, labels: Array) -> list[Any]:
    """Predictions by predict_one, each before learn_one; rows may be mappings."""
    found = []
    for row, label in zip(rows, labels.tolist(), strict=True):
        found.append(model.predict_one(row))
        model.learn_one(row, label)
    return found


def weights_of(model: Any) -> Array:
    """All weights; the intercept's is last, if there is one."""
    return np.append(model.coef_, model.intercept_) if model.intercept else model.coef_


def state_of(model: Any) -> dict[Any, Array]:
    """The whole state of a learner, as arrays by their place."""
    return dict(leaves(model._core.get_state()))


def assert_same_state(left: Any, right: Any) -> None:
    """Requires two learners to be equal to the last bit."""
    ours, theirs = state_of(left), state_of(right)
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)


# Learners with settings that use every option, for standardised inputs.
FIRST_ORDER: dict[str, Callable[..., Any]] = {
    "LMS": lambda **kw: dl.LMS(rate=0.05, **kw),
    "LMS, implicit": lambda **kw: dl.LMS(rate=0.3, implicit=True, **kw),
    "NLMS": lambda **kw: dl.NLMS(rate=0.5, eps=0.1, **kw),
    "GD": lambda **kw: dl.GD(rate=0.01, **kw),
    "GD, absolute": lambda **kw: dl.GD(rate=0.05, loss="absolute", **kw),
    "GD, Huber": lambda **kw: dl.GD(rate=0.05, loss=dl.losses.Huber(threshold=0.4), **kw),
    "GD, pinball": lambda **kw: dl.GD(rate=0.05, loss=dl.losses.Pinball(level=0.8), **kw),
    "GD, logistic": lambda **kw: dl.GD(rate=0.05, loss="logistic", **kw),
    "EG": lambda **kw: dl.EG(rate=0.05, **kw),
    "EG, signed": lambda **kw: dl.EG(rate=0.02, norm=3.0, **kw),
    "EG, absolute": lambda **kw: dl.EG(rate=0.05, norm=2.0, loss="absolute", **kw),
}
SECOND_ORDER: dict[str, Callable[..., Any]] = {
    "Ridge": lambda **kw: dl.Ridge(ridge=0.7, **kw),
    "RLS": lambda **kw: dl.RLS(forgetting=0.9, ridge=0.7, **kw),
    "RLS, scheduled": lambda **kw: dl.RLS(forgetting=[0.9, 0.8, 0.97], ridge=0.7, **kw),
    "AAR": lambda **kw: dl.AAR(ridge=0.7, **kw),
    "AAR, clipped": lambda **kw: dl.AAR(ridge=0.7, clip=0.5, **kw),
    "AROWR": lambda **kw: dl.AROWR(noise=2.5, ridge=0.7, **kw),
    "CRRLS": lambda **kw: dl.CRRLS(forgetting=0.9, period=7, **kw),
    "ARCOR": lambda **kw: dl.ARCOR(noise=2.5, radius=1.0, schedule=1.7, **kw),
    "ARCOR, free": lambda **kw: dl.ARCOR(noise=0.6, schedule=[0.5, 0.2, 0.1], **kw),
    "WEMM": lambda **kw: dl.WEMM(ridge=400.0, **kw),
    "LASER": lambda **kw: dl.LASER(ridge=0.7, drift_cost=4.0, **kw),
    "LASER, clipped": lambda **kw: dl.LASER(ridge=0.7, drift_cost=4.0, clip=0.5, **kw),
    "WeightedLASER": lambda **kw: dl.WeightedLASER(ridge=0.7, drift_cost=4.0, max_weight=3.0, **kw),
    "Kalman": lambda **kw: dl.Kalman(noise=2.5, drift=0.1, ridge=0.7, **kw),
    "HInfinity": lambda **kw: dl.HInfinity(noise=2.5, drift=0.001, ridge=60.0, robustness=0.3, **kw),
    "OnlineNewton": lambda **kw: dl.OnlineNewton(concavity=0.3, ridge=20.0, radius=1.0, **kw),
    "DFOP": lambda **kw: dl.DFOP(forget_rate=0.08, prior=20.0, **kw),
    "DFOP, scheduled": lambda **kw: dl.DFOP(forget_rate=[0.1, 0.2, 0.03], prior=2.0, **kw),
    "forgetting in a ball": lambda **kw: dl.SecondOrder(time=dl.Divide(0.9), radius=0.8, **kw),
    "forgetting and resets": lambda **kw: dl.SecondOrder(start=2.0, time=dl.Divide(0.95), reset=dl.Below(1.5), **kw),
    "drift and resets": lambda **kw: dl.SecondOrder(time=dl.Add(0.01), noise=0.5, reset=dl.Below(1.2), radius=2.0, **kw),
    "drift, every 5": lambda **kw: dl.SecondOrder(time=dl.Add(0.1), shrink=True, reset=dl.Every(5), clip=2.0, **kw),
    "complement, drifting": lambda **kw: dl.SecondOrder(start=0.001, time=dl.Add(1e-5), noise="complement", **kw),
}
EVERY = {**FIRST_ORDER, **SECOND_ORDER}
REFUSING = ("WEMM", "complement, drifting", "HInfinity")  # rows whose x'Sx is too large


def assert_one_way_of_learning(whole: Any, parts: Any, looped: Any, X: Array, y: Array, cuts: list[int]) -> Any:
    """Requires that a run, runs of the parts and the loop agree to the last bit, intervals included; returns the run."""
    run = whole.run(X, y, weights_every=1)
    predictions, weights = loop(looped, X, y)
    np.testing.assert_array_equal(run.predictions, predictions)
    np.testing.assert_array_equal(run.weights, weights)
    found = [parts.run(X[piece], y[piece]).predictions for piece in pieces(y, cuts)]
    np.testing.assert_array_equal(np.concatenate(found), run.predictions)
    assert_same_state(looped, whole)
    assert_same_state(parts, whole)
    ends = whole.run(X, y, level=0.5)
    for end in ("lower", "upper"):
        again = copy.deepcopy(looped)
        found = [getattr(again.run(X[piece], y[piece], level=0.5), end) for piece in pieces(y, cuts)]
        np.testing.assert_array_equal(np.concatenate(found), getattr(ends, end))
    return run


def told_in_another_thread(model: Any, *acts: Any) -> list[str]:
    """The errors that a second thread gets when it uses a model that this thread has claimed."""
    errors = []

    def use() -> None:
        for act in acts:
            try:
                act()
            except RuntimeError as error:
                errors.append(str(error))

    with model._guard.claim():
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
    return errors
