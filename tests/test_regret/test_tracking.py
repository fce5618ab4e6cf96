"""DFOP's distance from known weights."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import driftline as dl
from driftline import regret


def walk(seed, T=200, d=3, drift=0.01, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(T, d))
    weights = rng.normal(size=d) + np.cumsum(drift * rng.normal(size=(T, d)), axis=0)
    return X, np.einsum("td,td->t", X, weights) + noise * rng.normal(size=T), weights


def test_the_distance_stays_within_theorem_1():
    for seed in range(100):
        for forget_rate, prior in ((0.01, 100.0), (0.1, 1.0), (0.4, 10.0)):
            learner = dl.DFOP(forget_rate=forget_rate, prior=prior, intercept=False)
            X, y, weights = walk(seed, T=60)
            bound = regret.dfop_theorem_1(learner, X, y, weights, delta=0.05)
            assert bound.applies
            assert bound.observed <= bound.value
    assert any("probability 0.05" in words for words in bound.assumptions)


def test_the_distance_is_that_of_the_weights_that_predict_the_last_row():
    X, y, weights = walk(0)
    bound = regret.dfop_theorem_1(dl.DFOP(intercept=False), X, y, weights)
    model = dl.DFOP(intercept=False)
    model.run(X[:-1], y[:-1])
    assert bound.observed == pytest.approx(np.linalg.norm(weights[-1] - model.coef_))


def test_terms_vanish_without_drift_and_noise():
    X, y, weights = walk(0, drift=0.0, noise=0.0)
    bound = regret.dfop_theorem_1(dl.DFOP(forget_rate=0.1, intercept=False), X, y, weights)
    assert bound.terms["drift"] == 0.0
    assert bound.terms["noise"] < 1e-9
    assert bound.observed <= bound.value < 1e-6


def test_directions_without_excitation_are_reported():
    X, y, weights = walk(0)
    X[50:] = X[50]
    bound = regret.dfop_theorem_1(dl.DFOP(intercept=False), X, y, weights)
    assert not bound.applies
    assert any("spans all 3 directions" in words for words in bound.conditions)


def test_sparse_dfop_stays_within_theorem_2():
    D, d, s, T = 60, 20, 3, 150
    for seed in range(10):
        rng = np.random.default_rng(seed)
        M = rng.normal(size=(d, D)) / np.sqrt(d)
        X, weights = np.zeros((T, D)), np.zeros((T, D))
        weights[:, rng.choice(D, s, replace=False)] = rng.normal(size=s)
        for row in X:
            row[rng.choice(D, s, replace=False)] = rng.normal(size=s)
        y = np.einsum("td,td->t", X, weights) + 0.1 * rng.normal(size=T)
        bound = regret.sparse_dfop_theorem_2(X, y, weights, M, forget_rate=0.05, prior=10.0, rip=0.4)
        assert bound.applies
        assert bound.observed <= bound.value
        assert set(bound.terms) == {"start", "projection", "noise", "drift"}


def isometry(M, order):
    """The restricted isometry constant of a small matrix, over all sets of columns."""
    worst = 0.0
    for columns in itertools.combinations(range(M.shape[1]), order):
        values = np.linalg.svd(M[:, columns], compute_uv=False) ** 2
        worst = max(worst, values.max() - 1, 1 - values.min())
    return worst


def one_sparse(seed, M, T=60):
    rng = np.random.default_rng(seed)
    D = M.shape[1]
    X = np.eye(D)[np.arange(T) % D] * rng.normal(size=(T, 1))
    weights = np.zeros((T, D))
    weights[:, 2] = 1.0 + np.cumsum(0.01 * rng.normal(size=T))
    return X, np.einsum("td,td->t", X, weights) + 0.1 * rng.normal(size=T), weights


def near_isometry(seed, d=12):
    """Columns of length 1 that are nearly orthogonal: a basis, and two orthogonal columns spread over all of it."""
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(d, 1))
    spread = signs * np.column_stack([np.ones(d), np.resize([1.0, -1.0], d)])
    return np.column_stack([np.eye(d), spread / np.sqrt(d)])


def test_the_recovered_weights_follow_equations_16_and_17():
    M, (mu, prior, s) = near_isometry(0), (0.05, 10.0, 1)
    X, y, weights = one_sparse(1, M)
    rip = isometry(M, 2)
    known = {"forget_rate": mu, "prior": prior, "rip": rip}
    bound = regret.dfop_recovered(X, y, weights, M, sparsity=s, **known)
    P, v, D = prior * np.eye(len(M)), np.zeros(len(M)), M.shape[1]
    for x, label in zip(X[:-1] @ M.T, y[:-1], strict=True):
        P = (P - mu * P @ np.outer(x, x) @ P / (1 - mu + mu * x @ P @ x)) / (1 - mu)
        v = v + mu * P @ x * (label - v @ x)
    both = linprog(np.ones(2 * D), A_eq=np.hstack([M, -M]), b_eq=v).x
    shortest = both[:D] - both[D:]
    kept = np.where(np.abs(shortest) == np.abs(shortest).max(), shortest, 0.0)
    theorem = regret.sparse_dfop_theorem_2(X, y, weights, M, **known)
    left_out = np.sqrt(1 - s / D) * np.linalg.norm(shortest) * np.linalg.norm(M, 2)
    assert bound.observed == pytest.approx(np.linalg.norm(weights[-1] - kept), rel=1e-6)
    assert bound.terms["entries left out"] == pytest.approx(left_out / (1 - rip), rel=1e-6)
    assert bound.value == pytest.approx((theorem.value + left_out) / (1 - rip), rel=1e-6)


def test_the_recovered_weights_stay_within_their_bound():
    for seed in range(10):
        M = near_isometry(seed)
        bound = regret.dfop_recovered(*one_sparse(seed, M), M, forget_rate=0.05, prior=10.0, rip=isometry(M, 2), sparsity=1)
        assert bound.applies, bound
        assert bound.observed <= bound.value


def test_the_term_for_entries_left_out_does_not_vanish():
    """Without projection, noise, drift or rows to learn from, all that is left is the term that the paper's order omits."""
    X, _, weights = one_sparse(3, np.eye(6), T=4000)
    weights[:] = weights[0]
    bound = regret.dfop_recovered(
        X, X[:, 2] * weights[0, 2], weights, np.eye(6), forget_rate=0.01, prior=100.0, rip=0.0, sparsity=1
    )
    assert bound.observed < 1e-6
    assert bound.terms["entries left out"] == pytest.approx(np.sqrt(5 / 6) * abs(weights[0, 2]), rel=1e-6)
    assert sum(bound.terms.values()) - bound.terms["entries left out"] < 1e-6


def test_rows_and_weights_that_are_not_sparse_are_reported():
    M = np.eye(4)
    X, y, weights = one_sparse(4, M)
    weights[5, 0] = 1.0
    bound = regret.dfop_recovered(X, y, weights, M, forget_rate=0.1, prior=1.0, rip=0.5, sparsity=1)
    failed = [words for words, holds in bound.conditions.items() if not holds]
    assert failed == ["rip is at most sqrt(2) - 1: 0.5", "rows and weights have at most 1 entries that are not 0: 2"]
    with pytest.raises(ValueError, match=r"dfop_recovered: rip must be in \[0, 1\), got 1.0"):
        regret.dfop_recovered(X, y, weights, M, forget_rate=0.1, prior=1.0, rip=1.0, sparsity=1)


def test_wrong_arguments_are_refused_with_a_reason():
    X, y, weights = walk(0)
    with pytest.raises(ValueError, match=r"matrix must have the shape \(d, 3\), got \(2, 2\)"):
        regret.sparse_dfop_theorem_2(X, y, weights, np.eye(2), forget_rate=0.1, prior=1.0, rip=0.1)
    for rate in (2.0, [0.1, 0.2]):
        with pytest.raises(ValueError, match=r"sparse_dfop_theorem_2: forget_rate must be in \(0, 1\), got"):
            regret.sparse_dfop_theorem_2(X, y, weights, np.eye(3), forget_rate=rate, prior=1.0, rip=0.1)
    with pytest.raises(ValueError, match="sparse_dfop_theorem_2: prior must be in"):
        regret.sparse_dfop_theorem_2(X, y, weights, np.eye(3), forget_rate=0.1, prior=0.0, rip=0.1)
    with pytest.raises(ValueError, match=r"delta must be in \(0, 1\), got 1.0"):
        regret.dfop_theorem_1(dl.DFOP(intercept=False), X, y, weights, delta=1.0)
    with pytest.raises(ValueError, match="X must have at least 2 rows, got 1"):
        regret.dfop_theorem_1(dl.DFOP(intercept=False), X[:1], y[:1], weights[:1])
