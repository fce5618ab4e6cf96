"""Resets by the smallest eigenvalue: on every row the cheap test agrees with a full eigendecomposition."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from tests.streams import Array, drifting, state_of

seeds = st.integers(0, 2**32 - 1)
TIE = 1e-12  # within this relative distance of the threshold either decision is right


def thresholds(schedule: Any) -> Callable[[int], float]:
    if callable(schedule):
        return schedule
    if isinstance(schedule, list):
        return lambda i: schedule[min(i, len(schedule)) - 1]
    return lambda i: 1 / (i ** (schedule - 1) + 1)


def decide(
    X: Array, noise: Any, schedule: Any, start: float = 1.0, divide: float = 1.0, add: float = 0.0
) -> tuple[list[int], int]:
    """The rows after which S is reset, by the eigenvalues of the explicit inverse, and the number of rows before a tie."""
    d, limit, resets = X.shape[1], thresholds(schedule), []
    noises = np.broadcast_to(noise, len(X))
    A = np.eye(d) / start
    for t, x in enumerate(X):
        A = A * divide
        if add:
            A = np.linalg.inv(np.linalg.inv(A) + add * np.eye(d))
        A = A + np.outer(x, x) / noises[t]
        ratio = 1 / np.linalg.eigvalsh(A)[-1] / limit(len(resets) + 1)
        if abs(ratio - 1) < TIE:
            return resets, t
        if ratio < 1:
            resets.append(t)
            A = np.eye(d)
    return resets, len(X)


def inputs(seed: int, rows: int, d: int) -> Array:
    """Isotropic or not, in various units, with occasional repeated rows, rows of zeros, and rows of a single feature."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d)) * 10 ** rng.uniform(-2, 1)
    if rng.random() < 0.5:
        X = X @ rng.normal(size=(d, d))
    for t in range(1, rows):
        kind = rng.random()
        if kind < 0.1:
            X[t] = X[t - 1]
        elif kind < 0.15:
            X[t] = 0.0
        elif kind < 0.25:
            X[t, np.arange(d) != rng.integers(d)] = 0.0
    return X


schedules = st.one_of(
    st.floats(1.0, 5.0),
    st.lists(st.floats(0.001, 1.2), min_size=1, max_size=5),
    st.sampled_from([lambda i: 2.0**-i, lambda i: 0.9**i, lambda i: 10.0**-i, lambda i: 1.5, lambda i: 1 - 1e-9]),
)


@settings(max_examples=200)
@given(seeds, st.integers(1, 24), schedules, st.floats(-2, 2), st.booleans())
def test_arcor_resets_when_the_smallest_eigenvalue_is_below_its_threshold(seed, d, schedule, log_noise, weighted):
    X, noise = inputs(seed, 80, d), 10.0**log_noise
    weight = np.random.default_rng(seed).exponential(size=80) + 1e-3 if weighted else None
    expected, certain = decide(X, noise if weight is None else noise / weight, schedule)
    run = dl.ARCOR(noise=noise, schedule=schedule, intercept=False).run(X, X[:, 0], sample_weight=weight)
    assert [t for t in run.resets.tolist() if t < certain] == expected


@settings(max_examples=150)
@given(seeds, st.integers(1, 12), schedules, st.floats(-1, 1), st.floats(0.3, 1.0), st.floats(0.05, 20))
def test_second_order_with_forgetting_resets_by_the_smallest_eigenvalue(seed, d, schedule, log_noise, forgetting, start):
    X, noise = inputs(seed, 80, d), 10.0**log_noise
    expected, certain = decide(X, noise, schedule, start, divide=forgetting)
    model = dl.SecondOrder(start=start, time=dl.Divide(forgetting), noise=noise, reset=dl.Below(schedule), intercept=False)
    assert [t for t in model.run(X, X[:, 0]).resets.tolist() if t < certain] == expected


@settings(max_examples=150)
@given(seeds, st.integers(1, 12), schedules, st.floats(-1, 1), st.floats(-4, 0), st.floats(0.05, 20))
def test_second_order_with_drift_resets_by_the_smallest_eigenvalue(seed, d, schedule, log_noise, log_drift, start):
    X, noise, drift = inputs(seed, 80, d), 10.0**log_noise, 10.0**log_drift
    expected, certain = decide(X, noise, schedule, start, add=drift)
    model = dl.SecondOrder(start=start, time=dl.Add(drift), noise=noise, reset=dl.Below(schedule), intercept=False)
    assert [t for t in model.run(X, X[:, 0]).resets.tolist() if t < certain] == expected


def test_the_decisions_hold_on_long_segments_and_in_many_dimensions():
    """Thousands of rows enter one guard before its threshold is reached."""
    for d, rows, schedule in ((2, 20_000, [1e-3]), (40, 1_500, 2.0), (100, 400, 1.5)):
        X = np.random.default_rng(d).normal(size=(rows, d))
        expected, certain = decide(X, 5.0, schedule)
        assert certain == rows
        assert len(expected) > 2
        assert dl.ARCOR(noise=5.0, schedule=schedule, intercept=False).run(X, X[:, 0]).resets.tolist() == expected


def test_rows_that_creep_up_on_the_threshold_do_not_mislead_the_guard():
    """Each row halves the distance to the limit, so B = (limit I - A)^-1 doubles with every row."""
    for d in (1, 3, 9):
        gap, rows = 1.0, []
        for _ in range(36):
            gap /= 2
            rows.append(np.sqrt(gap))
        direction = np.random.default_rng(d).normal(size=d)
        direction /= np.linalg.norm(direction)
        X = np.outer(rows, direction)
        model = dl.ARCOR(noise=1.0, schedule=[0.5], intercept=False)
        assert model.run(X, X[:, 0]).resets.size == 0
        assert model.run(direction[None, :] * 1e-4, [0.0]).resets.tolist() == [0]


def test_an_eigenvalue_at_the_threshold_is_not_below_it():
    """Rows with a single 1 keep S diagonal: after n of them its entry is 1/(1 + n), exactly representable or not."""
    rng = np.random.default_rng(0)
    for d in (1, 3, 8):
        for schedule in (2.0, 1.0, 3.0, [1 / 3], [0.25, 0.125], [1.0]):
            rows = rng.integers(d, size=60)
            counts, segment, expected = [0] * d, 1, []
            for t, j in enumerate(rows):
                counts[j] += 1
                if Fraction(1, 1 + max(counts)) < Fraction(thresholds(schedule)(segment)).limit_denominator(10**9):
                    expected.append(t)
                    counts, segment = [0] * d, segment + 1
            run = dl.ARCOR(noise=1.0, schedule=schedule, intercept=False).run(np.eye(d)[rows], np.ones(60))
            assert run.resets.tolist() == expected


@pytest.mark.parametrize("time", [None, dl.Add(0.0)], ids=["factor", "packed"])
@pytest.mark.parametrize("noise", [0.5, 1.0, 3.0])
def test_rounding_does_not_decide_a_tie(noise, time):
    """A row of length 1 leaves the eigenvalue 1 / (1 + 1 / noise), the threshold; in most directions it is rounded."""
    for a, b, c in ((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25), (20, 21, 29), (9, 40, 41), (12, 35, 37)):
        for row in ([a / c, b / c], [b / c, a / c], [-a / c, b / c], [0.0, a / c, b / c], [a / c, 0.0, b / c]):
            model = dl.SecondOrder(noise=noise, time=time, reset=dl.Below([1 / (1 + 1 / noise)]), intercept=False)
            assert model.run([row], [1.0]).resets.size == 0


def test_a_threshold_of_one_or_more_resets_on_every_row_below_it():
    zeros, ones = np.zeros((3, 2)), np.ones((3, 2))
    assert dl.ARCOR(schedule=[1.0], intercept=False).run(zeros, np.ones(3)).resets.size == 0
    assert dl.ARCOR(schedule=[1.0], intercept=False).run(ones, np.ones(3)).resets.tolist() == [0, 1, 2]
    assert dl.ARCOR(schedule=[2.0], intercept=False).run(zeros, np.ones(3)).resets.tolist() == [0, 1, 2]


@pytest.mark.parametrize("schedule", [[1.0], [3.0], 2.0, 400.0])
def test_a_learner_under_any_threshold_can_be_restored(schedule):
    model = dl.ARCOR(schedule=schedule)
    model.run(np.ones((5, 3)), np.ones(5))
    twin = dl.ARCOR(schedule=schedule)
    twin.__setstate__(model.__getstate__())
    for key, value in state_of(model).items():
        np.testing.assert_array_equal(state_of(twin)[key], value)
        assert np.isfinite(value).all()


def test_a_reset_makes_s_the_identity_and_keeps_the_weights():
    X = np.random.default_rng(0).normal(size=(50, 4))
    for model in (
        dl.ARCOR(noise=0.5, schedule=[0.3], intercept=False),
        dl.SecondOrder(start=5.0, time=dl.Divide(0.9), reset=dl.Below([0.3]), intercept=False),
        dl.SecondOrder(start=5.0, time=dl.Add(0.1), reset=dl.Below([0.2]), intercept=False),
        dl.CRRLS(period=3, intercept=False),
    ):
        seen = 0
        for t, x in enumerate(X):
            before = None if t == 0 else model.covariance_
            run = model.run(x[None, :], [x @ np.ones(4)])
            if run.resets.size:
                seen += 1
                np.testing.assert_array_equal(model.covariance_, np.eye(4))
                assert np.abs(model.coef_).max() > 0
            elif before is not None:
                assert not np.array_equal(model.covariance_, np.eye(4))
        assert seen > 3
        assert model.certificate().events["resets"] == seen


def test_resets_are_counted_from_zero_and_period_counts_learned_rows():
    X, y = np.random.default_rng(0).normal(size=(10, 2)), np.ones(10)
    assert dl.CRRLS(period=4).run(X, y).resets.tolist() == [3, 7]
    weight = np.ones(10)
    weight[1] = 0.0
    assert dl.CRRLS(period=4).run(X, y, sample_weight=weight).resets.tolist() == [4, 8]


def test_float32_decides_by_its_own_s():
    """The guard is as coarse as S: its decisions are right to within a few roundings of float32."""
    for seed in range(60):
        d = 1 + seed % 12
        X = inputs(seed, 60, d).astype(np.float32).astype(float)
        model = dl.ARCOR(noise=1.5, schedule=1.5, dtype="float32", intercept=False)
        segment, A = 1, np.eye(d)
        for x in X:
            A = A + np.outer(x, x) / 1.5
            ratio = 1 / np.linalg.eigvalsh(A)[-1] * (segment**0.5 + 1)
            reset = model.run(x[None, :], [0.0]).resets.size == 1
            assert reset == (ratio < 1) or abs(ratio - 1) < 1e-4
            if reset:
                segment, A = segment + 1, np.eye(d)


@pytest.mark.parametrize("shrink", [False, True])
def test_predicting_while_a_reset_is_pending_changes_nothing(shrink):
    """S is then I, although the matrix is not yet written, until the next row is learned."""
    X, y = drifting(8, 60, 5)
    asked, left_alone = (
        dl.SecondOrder(start=1.0, noise=3.0, shrink=shrink, reset=dl.Below([0.5, 0.4, 0.3])) for _ in range(2)
    )
    for x, label in zip(X, y, strict=True):
        asked.predict_interval(np.zeros(5))
        asked.predict_one(np.ones(5))
        asked.learn_one(x, label)
        left_alone.learn_one(x, label)
    assert asked.certificate().events["resets"] > 3
    for part in ("weights", "sums", "matrix", "diagonal"):
        np.testing.assert_array_equal(state_of(asked)[part], state_of(left_alone)[part], err_msg=part)


def resets_with_a_kept_prior(X, forgetting, start, thresholds):
    """The rows after which S is reset, by the eigenvalues of its inverse. Less than 0.79 of the prior is restored."""
    A, share, resets = np.eye(X.shape[1]) / start, 1.0, []
    for t, x in enumerate(X):
        A, share = forgetting * A + np.outer(x, x), share * forgetting
        if 1 / np.linalg.eigvalsh(A)[-1] < thresholds[min(len(resets), len(thresholds) - 1)]:
            A, share = np.eye(X.shape[1]), start
            resets.append(t)
        if share < 0.79:
            before = share / forgetting
            raised = 1 / before if 0.79 <= before <= 1 else 1.0
            A, share = A + (raised - share) / start * np.eye(X.shape[1]), raised
    return resets


@pytest.mark.parametrize("start", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_resets_below_a_threshold_count_what_restores_the_prior(d, start):
    """Otherwise the bound on the eigenvalues would call for the exact test too late."""
    rng = np.random.default_rng(d)
    X = 0.5 * np.eye(d)[rng.integers(d, size=400)] * rng.uniform(0.5, 1.5, size=(400, 1)) / np.sqrt(start)
    thresholds = [start * share for share in (0.7, 0.6, 0.55)]
    expected = resets_with_a_kept_prior(X, 0.9, start, thresholds)
    model = dl.SecondOrder(start=start, time=dl.Divide(0.9, keep_prior=True), reset=dl.Below(thresholds), intercept=False)
    assert len(expected) > 5
    assert model.run(X, X[:, 0]).resets.tolist() == expected
