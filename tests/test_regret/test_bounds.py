"""Bounds are never violated if their conditions hold: for the optimum, the true weights and random comparators."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from driftline import regret
from tests.cases import for_each

from .draw import Array, Stream, powers, some, streams, within

positive = powers(-2, 2)


def kept(bound: regret.Bound) -> regret.Bound:
    assert bound.applies, bound
    assert bound.observed is not None
    assert bound.observed <= bound.value * (1 + 1e-9) + 1e-12, bound
    assert bound.value == pytest.approx(sum(bound.terms.values()), rel=1e-12)
    return bound


def padded(s: Stream, intercept: bool) -> tuple[Array, Array]:
    """Rows and true weights as the learner sees them."""
    T = s.shape[0]
    if not intercept:
        return s.X, s.weights
    return np.column_stack([s.X, np.ones(T)]), np.column_stack([s.weights, np.zeros(T)])


def fixed_comparators(s: Stream, intercept: bool) -> Iterator[Array | None]:
    rows, weights = padded(s, intercept)
    d = rows.shape[1]
    yield None
    yield np.zeros(d)
    yield weights.mean(axis=0)
    yield regret.best_fixed(rows, s.y, 1e-6).weights
    for size in (0.1, 1.0, 10.0):
        yield size * s.rng.normal(size=d)


def sequences(s: Stream, intercept: bool) -> Iterator[Array | None]:
    yield from fixed_comparators(s, intercept)
    rows, weights = padded(s, intercept)
    yield weights
    yield regret.best_sequence(rows, s.y, 0.1, 0.5).weights
    yield s.rng.normal(size=rows.shape)


@given(streams(), st.floats(0.001, 0.999), st.booleans())
def test_lms(s: Stream, share: float, intercept: bool):
    rows, _ = padded(s, intercept)
    learner = dl.LMS(rate=share / float(np.sum(rows**2, axis=1).max()), intercept=intercept)
    bounds = [kept(regret.lms(learner, s.X, s.y, u)) for u in fixed_comparators(s, intercept)]
    assert bounds[0].value == pytest.approx(min(bound.value for bound in bounds), rel=1e-9)
    assert bounds[0].value < bounds[-1].value


@given(streams(), positive, st.sampled_from([None, 1.0, 2.0]), st.booleans())
def test_aar(s: Stream, ridge: float, clip: float | None, intercept: bool):
    Y = float(np.abs(s.y).max())
    learner = dl.AAR(ridge=ridge, clip=None if clip is None else clip * Y, intercept=intercept)
    bounds = [kept(regret.aar(learner, s.X, s.y, u)) for u in fixed_comparators(s, intercept)]
    learner.run(s.X, s.y)
    assert learner.certificate().bound == pytest.approx(bounds[0].value, rel=1e-9)
    assert bounds[0].value == pytest.approx(min(bound.value for bound in bounds), rel=1e-9)


@given(streams(), positive, positive, st.booleans())
def test_arowr(s: Stream, noise: float, ridge: float, intercept: bool):
    learner = dl.AROWR(noise=noise, ridge=ridge, intercept=intercept)
    bounds = [kept(regret.arowr(learner, s.X, s.y, u)) for u in fixed_comparators(s, intercept)]
    learner.run(s.X, s.y)
    assert learner.certificate().bound == pytest.approx(bounds[0].value, rel=1e-9)


@given(streams(), powers(-3, 1), st.booleans())
def test_wemm(s: Stream, excess: float, intercept: bool):
    rows, _ = padded(s, intercept)
    learner = dl.WEMM(ridge=float(np.sum(rows**2, axis=1).max()) * (1 + excess), intercept=intercept)
    for u in fixed_comparators(s, intercept):
        weighted = kept(regret.wemm_theorem_4(learner, s.X, s.y, u))
        for theorem in (regret.wemm_theorem_5, regret.wemm_theorem_6):
            bound = kept(theorem(learner, s.X, s.y, u))
            assert weighted.value <= bound.value * (1 + 1e-9)  # the theorems' statement before Theorem 4 is applied


@given(streams(rows=30), positive, powers(-1, 3), st.sampled_from([None, 1.0, 2.0]), st.booleans())
def test_laser(s: Stream, ridge: float, excess: float, clip: float | None, intercept: bool):
    Y = float(np.abs(s.y).max())
    learner = dl.LASER(
        ridge=ridge, drift_cost=ridge * (1 + excess), clip=None if clip is None else clip * Y, intercept=intercept
    )
    kept(regret.laser_lemma_13(learner, s.X, s.y))
    coarse = []
    for u in sequences(s, intercept):
        fine = kept(regret.laser_theorem_12(learner, s.X, s.y, u))
        coarse.append(kept(regret.laser_corollary_16(learner, s.X, s.y, u)))
        assert fine.value <= coarse[-1].value * (1 + 1e-9)
    learner.run(s.X, s.y)
    live = learner.certificate()
    assert live.loss <= live.bound * (1 + 1e-9)
    assert fine.terms["Y^2 sum x'D^-1 x"] <= live.bound - live.comparator + 1e-9 * live.bound
    assert live.bound <= coarse[0].value * (1 + 1e-9)  # its sum of traces has one step less


@given(streams(rows=60), st.floats(0.001, 0.9), st.floats(1.0, 3.0))
def test_laser_tuned(s: Stream, share: float, slack: float):
    T, d = s.shape
    walk = np.cumsum(s.rng.normal(size=(T, d)), axis=0) * 0.01
    norm, label = slack * float(np.linalg.norm(s.X, axis=1).max()), slack * float(np.abs(s.y).max())
    for u in (s.weights[0] + walk, walk):
        V = regret.drift(u)
        if V == 0:
            continue
        cost = (math.sqrt(2) * T * label**2 * d * norm / V) ** (2 / 3)
        learner = dl.LASER(ridge=share * cost, drift_cost=cost, intercept=False)
        bound = regret.laser_corollary_16(learner, s.X, s.y, u, tuned=True, norm=norm, label=label)
        if bound.applies:
            kept(bound)
            first = regret.laser_corollary_16(learner, s.X, s.y, u, norm=norm, label=label)
            assert first.value <= bound.value * (1 + 1e-9)


def arcor_bounds(learner: dl.ARCOR, X: Array, y: Array, u: Array) -> None:
    theorem = kept(regret.arcor_theorem_1(learner, X, y, u))
    first = kept(regret.arcor_corollary_1(learner, X, y, u))
    second = kept(regret.arcor_corollary_2(learner, X, y, u))
    assert theorem.value <= first.value * (1 + 1e-9)
    assert first.value <= second.value * (1 + 1e-9)


@given(streams(unit=True, rows=80), powers(-2, 2), powers(-1, 1), st.floats(1.0, 3.0))
def test_arcor(s: Stream, noise: float, radius: float, q: float):
    learner = dl.ARCOR(noise=noise, radius=radius, schedule=q, intercept=False)
    kept(regret.arcor_lemma_1(learner, s.X, s.y))
    for u in sequences(s, False):
        if u is not None:
            arcor_bounds(learner, s.X, s.y, within(u, radius, s.shape[0]))


@for_each("seed", range(20))
def test_arcor_against_adversarial_labels(seed: int):
    """Labels opposite to each prediction, and a comparator that moves away from the weights at every reset."""
    rng = np.random.default_rng(seed)
    T, d, radius = 60, 1 + seed % 3, 10 ** rng.uniform(-1, 0.5)
    X = rng.normal(size=(T, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    if seed % 2:
        X[:] = X[0]
    parameters = {"noise": 10 ** rng.uniform(-1, 1.5), "radius": radius, "schedule": rng.uniform(1, 2.5), "intercept": False}
    learner, y, away = dl.ARCOR(**parameters), np.empty(T), np.empty((T, d))
    for t, x in enumerate(X):
        y[t] = -1.0 if learner.predict_one(x) > 0 else 1.0
        learner.learn_one(x, y[t])
        away[t] = -learner.coef_
    fresh = dl.ARCOR(**parameters)
    resets = fresh.run(X, y).resets
    held = away[np.maximum(np.searchsorted(resets, np.arange(T)) - 1, 0)]
    for u in (away, held, within(regret.best_fixed(X, y, 0.1).weights, radius, T), np.zeros((T, d))):
        arcor_bounds(fresh, X, y, u)


def test_arcor_charges_each_step_by_the_interval_of_its_row():
    """The sum of Theorem 1 row by row: a row after n resets lies in interval n + 1."""
    rng = np.random.default_rng(8)
    noise, radius, q, T, d = 0.7, 2.0, 2.5, 40, 3
    X = rng.normal(size=(T, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    u = within(rng.normal(size=(T, d)), radius, T)
    learner = dl.ARCOR(noise=noise, radius=radius, schedule=q, intercept=False)
    resets = learner.clone().run(X, u[:, 0]).resets.tolist()
    assert len(resets) > 3
    charged, grown, interval = 0.0, 0.0, 1
    for t in range(1, T):
        interval += t - 1 in resets
        charged += math.dist(u[t], u[t - 1]) * (interval ** (q - 1) + 1)
        grown += (u[t] @ u[t] - u[t - 1] @ u[t - 1]) * (interval ** (q - 1) + 1)
    printed = regret.arcor_theorem_1(learner, X, u[:, 0], u, constant="printed")
    assert printed.terms["noise sum (2 R |step|) / threshold"] == pytest.approx(2 * radius * noise * charged, rel=1e-12)
    repaired = regret.arcor_theorem_1(learner, X, u[:, 0], u)
    assert repaired.terms["noise |u_1|^2"] == pytest.approx(noise * u[0] @ u[0], rel=1e-12)
    assert repaired.terms["noise sum (3 sqrt(3)/2 R |step| + 3/4 growth of |u|^2) / threshold"] == pytest.approx(
        noise * (1.5 * math.sqrt(3) * radius * charged + 0.75 * grown), rel=1e-12
    )


def test_arcor_counts_intervals_and_not_restarts():
    """In one direction every restart comes as early as possible, so Lemma 1 holds with equality."""
    for noise in (0.1, 1.0, 10.0, 100.0):
        for q in (1.0, 1.5, 2.0, 3.0):
            for T in (1, 10, 102, 300):
                learner = dl.ARCOR(noise=noise, radius=1.0, schedule=q, intercept=False)
                X, y = np.ones((T, 1)), np.ones(T)
                lemma = kept(regret.arcor_lemma_1(learner, X, y))
                n = len(dl.ARCOR(**learner.get_params()).run(X, y).resets) + 1
                assert lemma.observed == n <= 1 + (q * T / noise) ** (1 / q)
                arcor_bounds(learner, X, y, np.ones(1))


def test_the_count_of_corollary_2_as_printed_can_be_exceeded():
    """Even with the noise that Eq. (12) drops; the 1 must be outside the root."""
    noise, q, T = 100.0, 2.0, 102
    learner = dl.ARCOR(noise=noise, radius=1.0, schedule=q, intercept=False)
    n = regret.arcor_lemma_1(learner, np.ones((T, 1)), np.ones(T)).observed
    assert n == 2
    assert (q * (T + 1) / noise + 1) ** (1 / q) < n <= 1 + (q * T / noise) ** (1 / q)


@some
@given(streams(rows=60), powers(-1, 1), st.integers(1, 4))
def test_network(s: Stream, noise: float, copies: int):
    p = s.y[:, None] * s.rng.uniform(0, 1.5, size=copies) + s.rng.normal(size=(len(s.y), copies))
    kept(regret.network(p, s.y, noise=noise))
    kept(regret.network(p, s.y, noise=noise, top=dl.AROWR(noise=noise, ridge=1.0, intercept=False)))
    assert not regret.network(p, s.y, noise=noise, top=dl.AROWR(noise=noise)).applies
    own = regret.network(p, s.y, top=dl.ARCOR(noise=noise, radius=1.0, schedule=None, intercept=False))
    assert dict(own.terms) == dict(regret.network(p, s.y, noise=noise).terms)
    assert own.applies


@given(streams(unit=True), powers(-2, 1), positive)
def test_table_4_1(s: Stream, excess: float, noise: float):
    ridge = 1 + excess
    learners = {
        "Vovk, Forster: AAR": dl.AAR(ridge=ridge, intercept=False),
        "Crammer et al.: AROWR": dl.AROWR(noise=noise, ridge=ridge, intercept=False),
        "Theorem 5: WEMM": dl.WEMM(ridge=ridge, intercept=False),
        "Theorem 6: WEMM": dl.WEMM(ridge=ridge, intercept=False),
    }
    losses = {name: float(learner.run(s.X, s.y).losses.sum()) for name, learner in learners.items()}
    for u in fixed_comparators(s, False):
        if u is None:
            continue
        table = regret.table_4_1(s.X, s.y, u, ridge=ridge, noise=noise)
        assert list(table) == [*list(losses)[:2], "Orabona et al.", *list(losses)[2:]]
        plain = float(np.sum((s.y - s.X @ u) ** 2))
        for name, loss in losses.items():
            assert table[name].applies
            assert loss - plain <= table[name].value * (1 + 1e-9) + 1e-9 * loss


def test_table_4_1_without_its_1_is_exceeded():
    b, X, y = 1.19, np.array([[1.0], [-0.6]]), np.array([1.0, -0.5])
    learner = dl.WEMM(ridge=b, intercept=False)
    u = regret.comparator(learner, X, y).weights
    row = regret.table_4_1(X, y, u, ridge=b)["Theorem 6: WEMM"]
    losses = np.square(y - X @ u)
    printed = row.value - b / (b - 1) * losses.max()
    loss = learner.run(X, y).losses.sum()
    assert losses.sum() + printed < loss < losses.sum() + row.value
