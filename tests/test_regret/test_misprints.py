"""Statements of the papers that are corrected in docs/mathematics.md and can be checked with numbers."""

import math

import numpy as np
import pytest

import driftline as dl
from driftline import regret


def test_a_large_power_restarts_arcor_once_and_no_schedule_never():
    X, y = np.ones((500, 1)), np.ones(500)
    for q in (50.0, 1e3, 1e6):
        assert len(dl.ARCOR(schedule=q, intercept=False).run(X, y).resets) == 1
    assert len(dl.ARCOR(schedule=None, intercept=False).run(X, y).resets) == 0


@pytest.mark.parametrize(("T", "largest"), [(1e3, 0.0918), (1e9, 0.000928)])
def test_corollary_16_needs_a_small_ridge(T: float, largest: float):
    """V = X = Y = 1 and d = 20: the ridge may be at most this share of the drift cost of Eq. (6.8)."""
    c = (math.sqrt(2) * T * 20) ** (2 / 3)
    assert (math.sqrt(8 * c) - 1) / c == pytest.approx(largest, rel=1e-3)
    for share, applies in ((largest * 0.999, True), (largest * 1.001, False)):
        b = share * c
        assert (max(9 / 8, (b + 1) ** 2 / 8) <= c) == applies
    u = np.zeros((1000, 20))
    u[:, 0] = np.arange(1000) / math.sqrt(999)  # V = 1
    X = np.eye(20)[np.arange(1000) % 20]
    for share in (0.0917, 0.0919):
        cost = (math.sqrt(2) * 1000 * 20) ** (2 / 3)
        learner = dl.LASER(ridge=share * cost, drift_cost=cost, intercept=False)
        bound = regret.laser_corollary_16(learner, X, np.ones(1000), u, tuned=True)
        assert bound.applies == (share < 0.0918)


def test_the_eigenvalues_of_lemma_8_grow_by_a_1_in_total():
    rng = np.random.default_rng(1)
    for d in (1, 3, 8):
        A = np.diag(rng.uniform(1.1, 5.0, d))
        x = rng.normal(size=d)
        x /= np.linalg.norm(x)
        a = 1 / (1 - x @ np.linalg.solve(A, x))
        grown = np.linalg.eigvalsh(A + a * np.outer(x, x)) - np.linalg.eigvalsh(A)
        assert (grown >= -1e-12).all()
        assert grown.sum() == pytest.approx(a, rel=1e-12)
        assert a > 1


def test_the_bound_of_lemma_8_holds_all_the_same():
    """Over unit inputs, sum a_t is at most tau + sum_s sum_r 1 / (lambda + r - 2) for the best counts n_s."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        d, tau, b = int(rng.integers(1, 5)), int(rng.integers(1, 30)), 1 + 10 ** rng.uniform(-2, 1)
        A, total = b * np.eye(d), 0.0
        for x in rng.normal(size=(tau, d)):
            x /= np.linalg.norm(x)
            a = 1 / (1 - x @ np.linalg.solve(A, x))
            total, A = total + a, A + a * np.outer(x, x)
        counts = [tau // d + (s < tau % d) for s in range(d)]
        assert total <= tau + sum(1 / (b + r - 2) for n in counts for r in range(1, n + 1)) + 1e-9


def test_the_norm_of_a_gaussian_matrix_needs_the_factor_2_in_the_logarithm():
    """For a matrix of one entry, P(|z| > 2 + sqrt(2 ln(1/p))) is below 2p for all p; without the 2 it is not."""
    for p in 10.0 ** -np.arange(1.0, 300.0, 7.0):
        assert math.erfc((2 + math.sqrt(2 * math.log(1 / p))) / math.sqrt(2)) <= 2 * p
    p = 1e-100
    assert math.erfc((2 + math.sqrt(math.log(1 / p))) / math.sqrt(2)) > 2 * p
