"""ARCOR's Theorem 1: streams on which the loss exceeds the printed bound, and the repaired one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from benchmarks.arcor_counterexample import DOWN, HIGH, LIMIT, NOISE, UP, counterexample
from benchmarks.arcor_search import SHARP, Outcome, Shape, family, inverse_squares, play, small_stream, unfold
from driftline import regret

from .draw import Array, powers


def test_the_loss_exceeds_the_printed_bound_in_a_plain_loop():
    """With scalars alone: a = 1 + n / noise is the only entry of the inverse that changes."""
    _, _, y, u = counterexample()
    a, w, loss, other = 1.0, 0.0, 0.0, 0.0
    for label, first in zip(y.tolist(), u[:, 0].tolist(), strict=True):
        assert a <= LIMIT  # no reset before the last row
        loss, other = loss + (label - w) ** 2, other + (label - first) ** 2
        a += 1 / NOISE
        w += (label - w) / (NOISE * a)
        assert abs(w) < 1  # no projection
    assert a > LIMIT
    assert len(y) == DOWN + UP
    step = math.dist([0.0, 1.0], [0.8, 0.6])
    allowed = 2 * (1 + HIGH**2) * math.log(a) + NOISE * 1.0 + 2 * 1.0 * NOISE * LIMIT * step
    assert loss - other > 1.05 * allowed
    learner, *rest = counterexample()
    printed = regret.arcor_theorem_1(learner, *rest, constant="printed")
    assert printed.observed == pytest.approx(loss, rel=1e-9)
    assert printed.value == pytest.approx(other + allowed, rel=1e-9)


def test_the_loss_exceeds_corollary_1_as_printed():
    learner, *rest = counterexample()
    printed = regret.arcor_corollary_1(learner, *rest, constant="printed")
    other, n, d, T = printed.terms["loss of u"], 2, 2, DOWN + UP
    logarithm = 2 * (1 + HIGH**2) * d * n * math.log1p(T / (n * NOISE * d))
    assert printed.value == pytest.approx(other + logarithm + NOISE + 2 * NOISE * LIMIT * math.sqrt(0.8), rel=1e-12)
    assert printed.observed > printed.value
    assert not printed.applies
    repaired = regret.arcor_corollary_1(learner, *rest)
    assert repaired.applies
    assert repaired.observed < repaired.value


def after_idle_intervals(noise: float, q: float, idle: int, down: int, up: int, high: float) -> tuple[float, int]:
    """The regret after intervals without loss and one like the counterexample, and the number of resets."""
    learner, loss, chunk = dl.ARCOR(noise=noise, radius=1.0, schedule=q, intercept=False), 0.0, 1_000_000
    for label, rows in ((0.0, idle), (-1.0, down), (high, up)):
        for start in range(0, rows, chunk):
            count = min(chunk, rows - start)
            loss += learner.run(np.tile([1.0, 0.0], (count, 1)), np.full(count, label)).losses.sum()
    return loss - down - up * (high - 0.8) ** 2, learner.certificate().events["resets"]


def test_the_loss_exceeds_corollary_2_as_printed():
    noise, q, high = 0.5, 8.0, 11.0
    idle, down, up = 48_416, 120_000, 19_969
    grown, resets = after_idle_intervals(noise, q, idle, down, up, high)
    assert resets == 6
    T = idle + down + up
    m = (q * (T + 1) + 1) ** (1 / q)
    logarithm = 2 * (1 + high**2) * 2 * m * math.log1p(T / (noise * 2))  # with n = 1, for which it is largest
    assert grown > 1.01 * (logarithm + noise + 2 * noise * (m ** (q - 1) + 1) * math.sqrt(0.8))


def test_the_loss_exceeds_corollary_2_with_the_corrected_count_and_the_printed_constant():
    noise, q, high = 1e5, 2.0, 30.0
    idle, down, up = 19_000_019, 1_880_000, 120_001
    grown, resets = after_idle_intervals(noise, q, idle, down, up, high)
    assert resets == 20
    T = idle + down + up
    m = 1 + (q * T / noise) ** (1 / q)
    logarithm = 2 * (1 + high**2) * 2 * m * math.log1p(T / (m * noise * 2))
    length = math.sqrt(0.8)
    assert grown > logarithm + noise + 2 * noise * (m ** (q - 1) + 1) * length
    repaired = SHARP * length + 0.75 * min(1.0, 2 * length)
    assert grown < logarithm + noise + noise * (m ** (q - 1) + 1) * repaired


def test_the_printed_bound_holds_until_the_reset_and_fails_for_thousands_of_rows_after_it():
    learner, X, y, u = counterexample()
    before = regret.arcor_theorem_1(learner, X[:-1], y[:-1], u[:-1], constant="printed")
    assert before.observed < before.value
    assert before.terms["noise u_T' S_T^-1 u_T"] == pytest.approx(NOISE + DOWN * 0.8**2 + (UP - 1) * 0.8**2)
    more = 8000
    labels = np.append(y, np.full(more, 0.8))
    after = regret.arcor_theorem_1(
        learner, np.vstack([X, X[:more]]), labels, np.vstack([u, np.tile(u[-1], (more, 1))]), constant="printed"
    )
    assert after.observed > after.value


def test_the_printed_bound_does_not_apply_and_says_why():
    learner, X, y, u = counterexample()
    printed = regret.arcor_theorem_1(learner, X, y, u, constant="printed")
    assert printed.observed > printed.value
    assert not printed.applies
    assert [words for words, holds in printed.conditions.items() if not holds] == [
        "the terms are proven: those printed are not, and the loss can exceed them"
    ]
    repaired = regret.arcor_theorem_1(learner, X, y, u)
    assert repaired.applies
    assert repaired.observed < repaired.value
    assert dict(repaired.terms) == dict(regret.arcor_theorem_1(learner, X, y, u, constant="repaired").terms)


def test_an_unknown_constant_is_refused():
    learner, X, y, u = counterexample()
    for bound in (regret.arcor_theorem_1, regret.arcor_corollary_1, regret.arcor_corollary_2):
        words = f"{bound.__name__}: constant must be one of 'repaired', 'printed', got 'four'"
        with pytest.raises(ValueError, match=words):
            bound(learner, X[:3], y[:3], u[:3], constant="four")


def played(d: int, segments: int, blocks: int, theta: Array) -> tuple[list[regret.Bound], list[float]]:
    """A construction in closed form, and its bounds from the library, which replays it row by row."""
    shape = Shape(d, segments, blocks)
    at = unfold(shape, theta[None])
    rows = play(at)
    counts, limits, P = [], [], np.eye(d)
    for i in range(segments):
        P, limit = np.eye(d), float(at.limit[0] * at.growth[0] ** i)
        limits.append(1 / limit)
        for j in range(blocks):
            x, count, most = at.x[0, i, j], 0, math.inf
            if j < blocks - 1:
                left = next(
                    k for k in range(1, 10**6) if np.linalg.eigvalsh(P + k / at.noise[0] * np.outer(x, x))[-1] > limit
                )
                most = min(math.floor(at.share[0, i, j] * left), left - 1)
            while count < most and np.linalg.eigvalsh(P)[-1] <= limit:
                P, count = P + np.outer(x, x) / at.noise[0], count + 1
            counts.append(count)
    which = np.repeat(np.arange(segments * blocks), counts)
    X, u = at.x[0].reshape(-1, d)[which], at.u[0].reshape(-1, d)[which]
    learner = dl.ARCOR(noise=float(at.noise[0]), radius=1.0, schedule=limits, intercept=False)
    y = labels(learner, X, at.target[0].reshape(-1), which)
    bounds = [regret.arcor_theorem_1(learner, X, y, u, constant=name) for name in ("repaired", "printed")]
    assert len(learner.clone().run(X, y).resets) == segments
    assert rows.rows[0] == len(y)
    return bounds, [float(rows.ratio[0]), float(rows.printed_ratio[0])]


def labels(learner: dl.ARCOR, X: Array, target: Array, which: Array) -> Array:
    """The label of each block that takes w.x to its target, or as near as the ball allows, by bisection on the learner."""
    y, model = np.empty(len(X)), learner.clone()
    for block in np.unique(which):
        rows = np.flatnonzero(which == block)
        f = model.predict_one(X[rows[0]])
        low, high = 0.0, 1.0
        S = model.covariance_ if model.n_seen_ else np.eye(X.shape[1])
        w = model.coef_ if model.n_seen_ else np.zeros(X.shape[1])
        x, n = X[rows[0]], len(rows)
        way = S @ x / (x @ S @ x) * (target[block] - f)
        while high - low > 1e-15:
            middle = (low + high) / 2
            low, high = (middle, high) if np.linalg.norm(w + middle * way) <= 1 else (low, middle)
        share = 1.0 if np.linalg.norm(w + way) <= 1 else low
        y[rows] = f + share * (target[block] - f) * (learner.noise / (x @ S @ x) + n) / n
        model.run(X[rows], y[rows])
    return y


@pytest.mark.parametrize(("d", "segments", "blocks"), [(1, 2, 2), (2, 3, 3), (3, 2, 2)])
def test_the_closed_form_of_the_search_agrees_with_the_learner_row_by_row(d: int, segments: int, blocks: int):
    rng = np.random.default_rng(d)
    theta = rng.normal(size=Shape(d, segments, blocks).size)
    theta[:3] = -2.0, -2.5, 2.0  # noise near 16, thresholds near 1/6, growing limits
    for bound, expected in zip(*played(d, segments, blocks, theta), strict=True):
        loss = bound.terms["loss of u"]
        assert (bound.observed - loss) / (bound.value - loss) == pytest.approx(expected, rel=1e-6)


@given(st.floats(0.01, 500), st.integers(1, 2000))
def test_sums_of_inverse_squares(a: float, m: int):
    expected = math.fsum(1 / (a + k) ** 2 for k in range(m))
    assert float(inverse_squares(np.array([a]), np.array([float(m)]))[0]) == pytest.approx(expected, rel=1e-9)


@given(powers(0, 6), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_the_cost_of_a_step_of_the_comparator(limit: float, d: int, seed: int):
    """The heart of the proof: for I <= P <= limit I, s'P(u + u' - 2 w) is at most what the theorem charges."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    P = Q @ np.diag(1 + (limit - 1) * rng.choice([0.0, 1.0, rng.random()], d)) @ Q.T
    u, other, w = (v / max(1.0, float(np.linalg.norm(v))) for v in rng.normal(size=(3, d)))
    s = other - u
    charged = limit * (SHARP * np.linalg.norm(s) + 0.75 * (other @ other - u @ u))
    for away in (w, -P @ s / max(float(np.linalg.norm(P @ s)), 1e-300)):
        assert s @ P @ (u + other - 2 * away) <= charged * (1 + 1e-12) + 1e-11 * limit


def test_no_smaller_constant_will_do():
    """In the family of turning comparators, the constant that is needed tends to 3 sqrt(3) / 2."""
    needed = []
    for turn, share, noise, limit in ((0.6, 0.97, 1e7, 1e4), (0.2, 0.99, 1e10, 1e5), (0.1, 0.995, 1e12, 1e6)):
        needed.append(float(turning(turn, share, noise, limit).constant[0]))
    assert needed == sorted(needed)
    assert 2.57 < needed[-1] < SHARP
    assert float(turning(0.1, 0.995, 1e12, 1e6).printed_ratio[0]) > 1.28


def turning(turn: float, share: float, noise: float, limit: float, segments: int = 6) -> Outcome:
    """u turns on the circle; rows lie 30 degrees from its step towards u; w is first driven to the opposite of the row."""
    at = unfold(Shape(2, segments, 3), np.zeros((1, Shape(2, segments, 3).size)))
    at.noise[:], at.limit[:], at.growth[:] = noise, limit, 1.0
    w = np.zeros(2)
    for i in range(segments):
        u, after = (np.array([math.cos(k * turn), math.sin(k * turn)]) for k in (i, i + 1))
        middle = (i + 0.5) * turn
        f = np.array([math.cos(middle + math.pi / 3), math.sin(middle + math.pi / 3)])
        at.x[0, i, 0] = (-f - w) / np.linalg.norm(-f - w)
        at.x[0, i, 1:] = f
        at.target[0, i] = at.x[0, i, 0] @ -f, -1.0, f @ after
        at.share[0, i] = 0.003 / limit, share, 1.0
        at.u[0, i] = u, u, after
        w = f * (f @ after)
    return play(at)


def test_small_streams_row_by_row_never_exceed_the_repaired_bound():
    rng = np.random.default_rng(3)
    assert max(small_stream(rng) for _ in range(60)) < 1


def test_the_search_starts_from_valid_constructions():
    shape = Shape(2, 3, 3, aligned=True)
    found = play(unfold(shape, family(shape, np.random.default_rng(1), 20)))
    assert (found.ratio < 1).all()
    assert found.printed_ratio.max() > 1
