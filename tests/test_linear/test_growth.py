"""Features that appear later: the model adds them at their prior, and the intercept stays last."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from tests.streams import Array, weights_of

seeds = st.integers(0, 2**32 - 1)


class Plain:
    """The recursion of the second-order learners on mappings, from the table in the docs, with full matrices."""

    def __init__(self, intercept: bool, start: float, **switches: Any) -> None:
        self.intercept, self.start, self.switches = intercept, start, switches
        self.names: list[str] = []
        self.w, self.S = np.zeros(int(intercept)), start * np.eye(int(intercept))
        self.rows, self.resets = 0, 0

    def grow(self, x: dict[str, float]) -> None:
        for name in x:
            if name not in self.names:
                at = len(self.names)
                self.names.append(name)
                self.w = np.insert(self.w, at, 0.0)
                self.S = np.insert(np.insert(self.S, at, 0.0, axis=0), at, 0.0, axis=1)
                self.S[at, at] = self.start

    def row(self, x: dict[str, float]) -> Array:
        return np.array([x.get(name, 0.0) for name in self.names] + [1.0] * self.intercept)

    def step(self, x: dict[str, float], y: float) -> float:
        """Grow, predict, learn."""
        self.grow(x)
        on, row, d = self.switches, self.row(x), len(self.w)
        self.rows += 1
        S = self.S / on.get("divide", 1.0) + on.get("add", 0.0) * np.eye(d)
        k = S @ row
        s, f = row @ k, self.w @ row
        rho = 1 - s if on.get("complement") else on.get("noise", 1.0)
        self.w = self.w + k * (y - f) / (rho + s)
        self.S = S - np.outer(k, k) / (rho + s)
        due = self.rows % on["every"] == 0 if "every" in on else False
        if "below" in on:
            due = np.linalg.eigvalsh(self.S)[0] < on["below"](self.resets + 1)
        if due:
            self.S = np.eye(d)
            self.resets += 1
        return float(f / (1 + s) if on.get("shrink") else f)


def power(q: float) -> Any:
    return lambda i: 1 / (i ** (q - 1) + 1)


PAIRS: dict[str, tuple[Any, dict[str, Any]]] = {
    "Ridge": (dl.Ridge(ridge=0.5), {"start": 2.0}),
    "RLS": (dl.RLS(forgetting=0.9, ridge=0.5), {"start": 2.0, "divide": 0.9}),
    "AAR": (dl.AAR(ridge=0.5), {"start": 2.0, "shrink": True}),
    "AROWR": (dl.AROWR(noise=2.5, ridge=0.5), {"start": 2.0, "noise": 2.5}),
    "CRRLS": (dl.CRRLS(forgetting=0.9, period=7), {"start": 1.0, "divide": 0.9, "every": 7}),
    "ARCOR": (dl.ARCOR(noise=2.5, schedule=1.7), {"start": 1.0, "noise": 2.5, "below": power(1.7)}),
    "WEMM": (dl.WEMM(ridge=200.0), {"start": 1 / 200.0, "complement": True}),
    "LASER": (dl.LASER(ridge=0.5, drift_cost=4.0), {"start": 1.75, "add": 0.25, "shrink": True}),
    "Kalman": (dl.Kalman(noise=2.5, drift=0.1, ridge=0.5), {"start": 2.0, "add": 0.1, "noise": 2.5}),
    "DFOP": (dl.DFOP(forget_rate=0.1, prior=20.0), {"start": 20.0, "divide": 0.9, "noise": 10.0}),
    "a small start and resets": (
        dl.SecondOrder(start=0.1, reset=dl.Below(1.5)),
        {"start": 0.1, "below": power(1.5)},
    ),
    "a small start, forgetting and resets": (
        dl.SecondOrder(start=0.02, time=dl.Divide(0.7), reset=dl.Below([0.05])),
        {"start": 0.02, "divide": 0.7, "below": lambda i: 0.05},
    ),
    "drift and resets": (
        dl.SecondOrder(start=0.3, time=dl.Add(0.05), reset=dl.Below(1.2)),
        {"start": 0.3, "add": 0.05, "below": power(1.2)},
    ),
}


def appearing(seed: int, rows: int, d: int) -> tuple[list[dict[str, float]], Array]:
    """Each feature first appears at its own row and is then in most rows; the keys come in any order."""
    rng = np.random.default_rng(seed)
    births = np.append(0, rng.integers(0, rows, size=d - 1))
    w = rng.normal(size=d)
    stream, labels = [], np.empty(rows)
    for t in range(rows):
        present = [j for j in rng.permutation(d) if births[j] <= t and (j == 0 or rng.random() < 0.8)]
        x = {f"x{j}": float(rng.normal()) for j in present}
        stream.append(x)
        labels[t] = sum(w[int(name[1:])] * value for name, value in x.items()) + 0.1 * rng.normal()
    return stream, labels


def fresh(model: Any, **changes: Any) -> Any:
    return type(model)(**{**model.get_params(), **changes})


@pytest.mark.parametrize("name", PAIRS)
@given(seeds, st.integers(1, 14), st.booleans())
def test_a_feature_that_appears_later_enters_at_its_prior(name, seed, d, intercept):
    template, switches = PAIRS[name]
    model, plain = fresh(template, intercept=intercept), Plain(intercept, **switches)
    predictions, weights, matrices = [], [], []  # pairs, compared at the end: a comparison costs more than a step
    for x, y in zip(*appearing(seed, 40, d), strict=True):
        prediction, all_known = model.predict_one(x), set(x) <= set(plain.names)
        model.learn_one(x, y)
        expected = plain.step(x, y)
        if all_known:
            predictions.append((prediction, expected))
        assert model.feature_names_in_.tolist() == plain.names
        assert model.certificate().events.get("resets", 0) == plain.resets
        weights.append((weights_of(model), plain.w))
        matrices.append((model.covariance_.ravel(), plain.S.ravel()))
    np.testing.assert_allclose(*np.array(predictions).reshape(-1, 2).T, rtol=0, atol=1e-8)
    np.testing.assert_allclose(*map(np.concatenate, zip(*weights, strict=True)), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(*map(np.concatenate, zip(*matrices, strict=True)), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    "model", [dl.LMS(rate=0.05), dl.LMS(rate=0.3, implicit=True), dl.NLMS(), dl.GD(rate=0.01)], ids=repr
)
@given(seeds, st.integers(1, 14), st.booleans())
def test_a_first_order_learner_grows_as_if_the_feature_had_been_zero(model, seed, d, intercept):
    stream, labels = appearing(seed, 40, d)
    order = list(dict.fromkeys(name for x in stream for name in x))
    growing, knowing = fresh(model, intercept=intercept), fresh(model, intercept=intercept)
    for x, y in zip(stream, labels, strict=True):
        growing.learn_one(x, y)
    knowing.run(np.array([[x.get(name, 0.0) for name in order] for x in stream]), labels)
    assert growing.feature_names_in_.tolist() == order
    np.testing.assert_allclose(weights_of(growing), weights_of(knowing), rtol=1e-12, atol=1e-12)


@given(seeds, st.integers(1, 6), st.integers(1, 4), st.booleans(), st.sampled_from([None, 3.0]))
def test_eg_gives_a_new_feature_an_equal_share_and_scales_the_others(seed, d, more, intercept, norm):
    """Of n weights, each new one gets 1/n; the others share the rest in proportion."""
    rng = np.random.default_rng(seed)
    model = dl.EG(rate=0.1, norm=norm, intercept=intercept)
    for _ in range(20):
        model.learn_one({f"x{j}": rng.normal() for j in range(d)}, rng.normal())
    before = weights_of(model)
    n = d + intercept + more
    row = {f"new{j}": 0.0 for j in range(more)}
    grown = fresh(model)
    grown.__setstate__(model.__getstate__())
    grown.learn_one(row, grown.predict_one(row) if not intercept else float(before[-1]) * (n - more) / n)
    found = weights_of(grown)
    share = 1 / n if norm is None else 0.0
    np.testing.assert_allclose(found[:d], before[:d] * (n - more) / n, rtol=1e-12)
    np.testing.assert_allclose(found[d : d + more], share, rtol=1e-12)
    if intercept:
        assert found[-1] == pytest.approx(before[-1] * (n - more) / n, rel=1e-12)
    if norm is None:
        assert found.sum() == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("name", PAIRS)
def test_predicting_never_grows_the_model_and_ignores_unknown_names(name):
    model = fresh(PAIRS[name][0])
    for x, y in zip(*appearing(3, 20, 3), strict=True):
        model.learn_one(x, y)
    assert model.predict_one({"x0": 1.0, "stranger": 1e9}) == model.predict_one({"x0": 1.0})
    assert model.n_features_in_ == 3
