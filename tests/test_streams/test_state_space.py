import numpy as np
import pytest

from driftline.streams import Repeat, StateSpace
from tests.test_streams.statistics import assert_covariance, assert_mean, assert_normal, assert_uniform

T = 60_000


def test_the_defaults_are_the_setting_of_the_paper():
    stream = StateSpace()
    X, _ = stream.take(1501)
    assert X.shape == (1501, 1000)
    assert (X[:, :10] != 0).all()
    assert not X[:, 10:].any()
    assert not stream.weights[:, 10:].any()
    assert (np.flatnonzero(np.diff(stream.weights, axis=0).any(axis=1)) + 1).tolist() == [500, 1000, 1500]


@pytest.mark.parametrize("decay", [0.0, 0.1, 0.9])
def test_inputs_follow_the_recursion_from_row_to_row_even_between_chunks(decay):
    """The shock x_t+1 - decay x_t is uniform in [-1, 1] and independent of the past."""
    X, _ = StateSpace(d=10, decay=decay, seed=1).take(T)
    shocks = X[1:] - decay * X[:-1]
    assert np.abs(shocks).max() <= 1 + 1e-12
    assert_uniform(shocks.ravel(), -1 - 1e-12, 1 + 1e-12)
    assert_covariance(shocks, np.eye(10) / 3)
    for lag in (1, 2):
        products = shocks[lag:, 0] * shocks[:-lag, 0]
        assert abs(products.mean()) < 5 / 3 / np.sqrt(len(products))


@pytest.mark.parametrize("decay", [0.1, 0.6])
def test_inputs_have_the_variance_and_autocorrelation_of_the_closed_form(decay):
    X, _ = StateSpace(d=10, decay=decay, seed=2).take(T)
    variance = 1 / (3 * (1 - decay**2))
    # The effective sample size of autocorrelated rows is smaller by the factor (1 - decay) / (1 + decay).
    error = 5 * variance * np.sqrt(2 / (10 * T) * (1 + decay) / (1 - decay))
    for lag in range(5):
        assert abs((X[lag:] * X[: T - lag]).mean() - variance * decay**lag) < error


def test_the_first_row_is_already_stationary():
    firsts = np.concatenate([StateSpace(d=10, decay=0.9, seed=seed).take(1)[0][0] for seed in range(300)])
    assert np.mean(firsts**2) == pytest.approx(1 / (3 * (1 - 0.81)), rel=0.15)


def test_weights_begin_with_variance_1_and_jump_by_the_requested_variance():
    stream = StateSpace(d=10, every=1, jump=0.1, seed=3)
    stream.take(20_000)
    assert_normal(np.diff(stream.weights, axis=0).ravel(), 0.1)
    starts = np.concatenate([StateSpace(d=10, seed=seed)._target(np.array([0]))[0] for seed in range(500)])
    assert_normal(starts, 1.0)


def test_noise_is_the_variance_around_the_target():
    stream = StateSpace(d=20, noise=0.3, seed=4)
    X, y = stream.take(T)
    assert_normal(y - (X * stream.weights).sum(axis=1), 0.3)


@pytest.mark.parametrize("t", [0, 499, 500, 123_456])
def test_holdout_has_the_weights_of_its_row_and_independent_rows(t):
    stream = StateSpace(d=12, decay=0.5, noise=0.02, seed=5)
    X, y = stream.holdout(t, 20_000)
    assert_mean(X, 0)
    expected = np.diag([1 / (3 * 0.75)] * 10 + [0.0] * 2)
    assert_covariance(X, expected)
    assert abs(np.mean(X[1:, 0] * X[:-1, 0])) < 5 / (3 * 0.75) / np.sqrt(len(X))
    assert_normal(y - X @ stream._target(np.array([t]))[0], 0.02)


def test_weights_do_not_depend_on_the_order_of_requests():
    late, early = StateSpace(d=10, every=3), StateSpace(d=10, every=3)
    late.holdout(3000, 1)
    late.take(2000)
    early.take(2000)
    assert np.array_equal(late.weights, early.weights)


def test_a_repetition_has_the_same_weights_and_other_inputs():
    stream = Repeat(StateSpace(d=10, every=100).first(1000), times=2)
    X, _ = stream.take()
    assert np.array_equal(stream.weights[:1000], stream.weights[1000:])
    assert not np.isin(X[1000:], X[:1000]).any()
