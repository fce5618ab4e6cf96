import math

import numpy as np
import pytest

from driftline.linear import ARCOR, LASER
from driftline.regret import arcor_corollary_2, laser_corollary_16
from papers import Context, thesis_6_1


@pytest.mark.parametrize("kappa", [0.0, 0.3, 0.5, 0.7, 1.0, 1.5])
def test_drifts_are_the_integrals_plus_one_and_bound_the_sums(kappa):
    T = 5000
    steps = np.arange(1.0, T) ** -kappa
    path, squared = map(math.exp, thesis_6_1.log_drifts(kappa, math.log(T)))
    xs = np.linspace(0, math.log(T), 200_001)
    assert path == pytest.approx(1 + np.trapezoid(np.exp((1 - kappa) * xs), xs), rel=1e-6)
    for total, bound in ((steps.sum(), path), ((steps**2).sum(), squared)):
        assert total <= bound <= (total + 1) * (1 + 1e-12)


def test_logarithms_do_not_overflow():
    assert thesis_6_1.log_drifts(0.0, 5000.0)[0] == pytest.approx(5000.0)


def test_the_crossing_is_where_the_exponents_predict():
    """For kappa between 1/2 and 1, V' is nearly T^(1 - kappa) / (1 - kappa), and V nearly 2 kappa / (2 kappa - 1)."""
    for power in (30.0, 100.0, 1000.0):
        log_t = power * math.log(10)
        kappa = thesis_6_1.crossing(log_t)
        arcor = (1 - kappa / 2) * log_t + math.log(log_t) - math.log(1 - kappa) / 2
        laser = 2 / 3 * log_t + math.log(2 * kappa / (2 * kappa - 1)) / 3
        assert arcor == pytest.approx(laser, abs=1e-3)
    assert math.isnan(thesis_6_1.crossing(6 * math.log(10)))
    assert thesis_6_1.crossing(1e6) == pytest.approx(2 / 3, abs=1e-3)


def test_the_bounds_with_constants_are_close_to_the_librarys():
    """On rows and targets that attain every norm, the library's bounds at the best of a few settings are close."""
    rng = np.random.default_rng(0)
    T, d = 400, thesis_6_1.D
    X = rng.normal(size=(T, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    angle = 0.01 * np.arange(T)
    u = np.zeros((T, d))
    u[:, 0], u[:, 1] = np.cos(angle), np.sin(angle)
    y = np.einsum("td,td->t", X, u)
    y[0] = 1.0
    X[0] = u[0]
    path, squared = np.linalg.norm(np.diff(u, axis=0), axis=1).sum(), np.square(np.diff(u, axis=0)).sum()
    costs = 10.0 ** np.linspace(0, 6, 25)
    laser = min(
        laser_corollary_16(LASER(ridge=min(1.0, c / 2), drift_cost=c, intercept=False), X, y, u).value for c in costs
    )
    assert 0.5 * thesis_6_1.laser_bound(squared, T) <= laser <= 1.05 * thesis_6_1.laser_bound(squared, T)
    settings = [(q, r) for q in (1.5, 2.0, 3.0) for r in (1.0, 10.0, 100.0)]
    arcor = min(
        arcor_corollary_2(ARCOR(noise=r, schedule=q, radius=1.0, intercept=False), X, y, u).value for q, r in settings
    )
    assert 0.8 * thesis_6_1.arcor_bound(path, T) <= arcor <= 2 * thesis_6_1.arcor_bound(path, T)


def test_the_printed_integrals_fail_and_the_others_hold():
    checks = thesis_6_1.compute(Context(quick=True, progress=False)).checks
    assert [check.holds for check in checks] == [True, True, False, True]


def test_a_wrong_limit_changes_the_last_statement(monkeypatch):
    monkeypatch.setattr(thesis_6_1, "crossing", lambda log_t: 1.2)
    checks = thesis_6_1.compute(Context(quick=True, progress=False)).checks
    assert not checks[-1].holds
