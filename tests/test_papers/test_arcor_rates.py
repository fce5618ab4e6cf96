import math

import numpy as np
import pytest

from driftline.linear import ARCOR
from driftline.regret import arcor_corollary_2, path_length
from papers import arcor_rates


@pytest.mark.parametrize("p", arcor_rates.POWERS)
def test_the_path_of_the_target_has_the_stated_length(p):
    T = 20_000
    X, _, u = arcor_rates.sample(np.random.default_rng(0), T, p)
    assert np.linalg.norm(X, axis=1) == pytest.approx(1)
    assert np.linalg.norm(u, axis=1) == pytest.approx(1)
    assert path_length(u) == pytest.approx(sum(2 * math.sin(t ** (1 / p - 1) / (2 * p)) for t in range(2, T + 1)))
    assert path_length(u) == pytest.approx(T ** (1 / p), abs=2)


def test_the_bound_is_that_of_corollary_2():
    p, T = 2.0, 500
    X, y, u = arcor_rates.sample(np.random.default_rng(1), T, p)
    y[0], y[1:] = 1.0, np.clip(y[1:], -1, 1)
    learner = ARCOR.for_drift(p, noise=1.0, radius=1.0, intercept=False)
    bound = arcor_corollary_2(learner, X, y, u)
    assert bound.value - bound.terms["loss of u"] == pytest.approx(arcor_rates.bound(float(T), p), rel=0.1)


def test_the_slope_is_the_exponent_of_a_power_law():
    sizes = np.array([1e3, 1e4, 1e5, 1e6])
    assert arcor_rates.slope(sizes, 3 * sizes**0.7) == pytest.approx(0.7)


def test_regret_that_grows_too_fast_changes_the_verdict():
    sizes = np.array([1e3, 1e4, 1e5, 1e6])
    measured = np.empty((len(arcor_rates.POWERS), 2, len(sizes), 2))
    measured[..., 0], measured[..., 1] = sizes**0.99, sizes**0.5
    halves = np.array([[10.0, 100.0, 0.5, 1e-4, 1e-2]] * 2)
    held = [check.holds for check in arcor_rates.judge(measured, halves, sizes).checks]
    assert held == [False, True, True, True, True]
    halves[1, 2] = 0.9
    assert not arcor_rates.judge(measured, halves, sizes).checks[-1].holds
