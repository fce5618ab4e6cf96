import numpy as np
import pytest

from driftline.streams import Rotating, Switching
from driftline.streams.angles import EXACT, sums_of_powers
from tests.test_streams.statistics import assert_covariance, assert_mean, assert_normal

T = 100_000


def covariance(d):
    """A 45-degree rotation of diag(100, 1) in each pair; variance 2 elsewhere."""
    expected = 2 * np.eye(d)
    for pair in range(5):
        expected[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = [[50.5, 49.5], [49.5, 50.5]]
    return expected


def test_the_inputs_have_the_covariance_of_the_paper():
    X, _ = Rotating(seed=1).take(T)
    assert_mean(X, 0)
    assert_covariance(X, covariance(20))


def test_the_axes_of_a_pair_are_turned_by_45_degrees():
    values, vectors = np.linalg.eigh(np.cov(Rotating(d=10, seed=2).take(T)[0][:, :2].T))
    assert np.sqrt(values) == pytest.approx([1, 10], rel=0.02)
    assert np.abs(vectors) == pytest.approx(np.full((2, 2), np.sqrt(0.5)), abs=0.01)


@pytest.mark.parametrize("noise", [0.0, 0.05, 2.0])
def test_noise_is_the_variance_around_the_target(noise):
    stream = Rotating(rate=0.01, noise=noise, seed=3)
    X, y = stream.take(T)
    error = y - (X * stream.weights).sum(axis=1)
    if noise == 0:
        assert np.abs(error).max() < 1e-12
    else:
        assert_normal(error, noise)


@pytest.mark.parametrize("power", [0.0, 0.01, 0.5, 1.0, 1.7, 12.0])
@pytest.mark.parametrize("unit", ["rad", "deg"])
def test_the_target_turns_by_rate_times_t_to_the_minus_power(power, unit):
    stream = Rotating(rate=0.3, power=power, unit=unit)
    stream.take(20_000)
    rows = np.arange(1, 20_001, dtype=np.longdouble)  # in double precision the sum would be off by 2e-9
    angle = np.cumsum(0.3 * rows**-power * (np.pi / 180 if unit == "deg" else 1)).astype(float)
    assert np.allclose(stream.weights[:, 0], np.cos(angle), rtol=0, atol=1e-10)
    assert np.allclose(stream.weights[:, 1], np.sin(angle), rtol=0, atol=1e-10)
    assert not stream.weights[:, 2:].any()


@pytest.mark.parametrize("power", [0.01, 0.5, 1 - 1e-9, 1.0, 1.5, 3.0])
def test_sums_of_powers_match_explicit_summation(power):
    n = np.array([1, 2, EXACT - 1, EXACT, EXACT + 1, 2 * EXACT, 200_000])
    plain = np.cumsum(np.arange(1, 200_001, dtype=np.longdouble) ** -np.longdouble(power))[n - 1]
    assert sums_of_powers(n, power) == pytest.approx(plain.astype(float), rel=1e-14)


def test_switching_moves_to_the_next_pair_at_the_right_rows():
    stream = Switching(rate=0.1, power=0.5, every=50, seed=4)
    stream.take(600)
    pairs = [np.flatnonzero(row)[0] // 2 for row in stream.weights]
    assert pairs == [t // 50 % 5 for t in range(600)]
    assert np.linalg.norm(stream.weights, axis=1) == pytest.approx(np.ones(600))


def test_switching_is_rotating_until_the_first_jump():
    rotating, switching = Rotating(rate=0.1, noise=1.0, seed=5), Switching(rate=0.1, noise=1.0, every=300, seed=5)
    (X, y), (X_switching, y_switching) = rotating.take(400), switching.take(400)
    assert np.array_equal(X, X_switching)
    assert np.array_equal(y[:300], y_switching[:300])
    assert (y[300:] != y_switching[300:]).all()


@pytest.mark.parametrize("t", [0, 49, 50, 777, 12_345])
def test_holdout_has_the_target_of_its_row(t):
    stream = Switching(rate=0.2, noise=0.5, every=50, seed=6)
    X, y = stream.holdout(t, 20_000, seed=1)
    stream.take(t + 1)
    assert_covariance(X, covariance(20))
    assert_normal(y - X @ stream.weights[t], 0.5)


def test_parameters_may_be_given_by_position():
    assert Rotating(0.5, 0.1, "deg", 2.0) == Rotating(rate=0.5, power=0.1, unit="deg", noise=2.0)
