"""DFOP's distance from known weights."""

import numpy as np
import pytest

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


def test_wrong_arguments_are_refused_with_a_reason():
    X, y, weights = walk(0)
    with pytest.raises(ValueError, match=r"matrix must have the shape \(d, 3\), got \(2, 2\)"):
        regret.sparse_dfop_theorem_2(X, y, weights, np.eye(2), forget_rate=0.1, prior=1.0, rip=0.1)
    with pytest.raises(ValueError, match=r"delta must be in \(0, 1\), got 1.0"):
        regret.dfop_theorem_1(dl.DFOP(intercept=False), X, y, weights, delta=1.0)
    with pytest.raises(ValueError, match="X must have at least 2 rows, got 1"):
        regret.dfop_theorem_1(dl.DFOP(intercept=False), X[:1], y[:1], weights[:1])
