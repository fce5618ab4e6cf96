import numpy as np
import pytest

from driftline.streams import Hyperplane
from tests.test_streams.statistics import assert_covariance, assert_normal, assert_share, assert_uniform


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_hyperplane_has_nine_stages_of_ten_thousand_rows(task):
    stream = Hyperplane(task=task)
    X, _ = stream.take()
    assert X.shape == (90_000, 10)
    assert (np.flatnonzero(np.diff(stream.weights, axis=0).any(axis=1)) + 1).tolist() == list(range(10_000, 90_000, 10_000))
    assert np.linalg.norm(stream.weights, axis=1) == pytest.approx(np.full(90_000, 0.25))


def test_the_inputs_are_uniform_and_independent():
    X, _ = Hyperplane(seed=1).take()
    for column in X.T:
        assert_uniform(column, -1, 1)
    assert_covariance(X, np.eye(10) / 3)


def test_directions_are_uniform_on_the_sphere():
    """A coordinate of a random unit vector in three dimensions is uniform in [-1, 1]."""
    stream = Hyperplane(d=3, stages=3000, rows=3000, norm=1.0)
    stream.take()
    for column in stream.weights.T:
        assert_uniform(column, -1, 1)


def test_regression_has_the_requested_noise():
    stream = Hyperplane(task="regression", noise=0.3, seed=2)
    X, y = stream.take()
    assert_normal(y - (X * stream.weights).sum(axis=1), 0.3)


def test_classes_are_balanced_and_flipped_at_the_requested_rate():
    stream = Hyperplane(label_noise=0.2, seed=3)
    X, y = stream.take()
    assert_share(y > 0, 0.5)
    assert_share((y > 0) != ((X * stream.weights).sum(axis=1) >= 0), 0.2)


def test_both_tasks_have_the_same_rows_and_weights():
    classes, numbers = Hyperplane(seed=4), Hyperplane(task="regression", seed=4)
    assert np.array_equal(classes.take(5000)[0], numbers.take(5000)[0])
    assert np.array_equal(classes.weights, numbers.weights)


@pytest.mark.parametrize("t", [0, 9999, 10_000, 89_999])
def test_holdout_has_the_weights_of_its_row(t):
    stream = Hyperplane(task="regression", seed=5)
    stream.take()
    X, y = stream.holdout(t, 20_000)
    assert_normal(y - X @ stream.weights[t], 0.005)
    assert_covariance(X, np.eye(10) / 3)


def test_holdout_of_classes_has_the_hyperplane_of_its_row():
    stream = Hyperplane(label_noise=0.0, seed=6)
    stream.take()
    for t in (9999, 10_000):
        X, y = stream.holdout(t, 2000)
        assert np.array_equal(y > 0, X @ stream.weights[t] >= 0)
