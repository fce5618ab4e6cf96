import numpy as np
import pytest
from hypothesis import given

import driftline as dl
from driftline import regret

from .draw import Stream, some, streams


@some
@given(streams())
def test_a_curve_ends_at_the_difference_of_the_losses(s: Stream):
    run = dl.Ridge(intercept=False).run(s.X, s.y)
    for best in (regret.best_fixed(s.X, s.y, 0.1), regret.best_sequence(s.X, s.y, 0.1, 1.0)):
        curve = regret.curve(run, s.X, s.y, best)
        assert curve.shape == s.y.shape
        assert curve[-1] == pytest.approx(run.losses.sum() - best.loss, rel=1e-9, abs=1e-9 * run.losses.sum())
        np.testing.assert_allclose(curve, regret.curve(run.predictions, s.X, s.y, best.weights))


def test_the_last_weight_may_be_the_intercept():
    X, y = np.array([[1.0], [2.0]]), np.array([3.0, 5.0])
    run = dl.Ridge().run(X, y)
    np.testing.assert_allclose(regret.curve(run, X, y, [2.0, 1.0]), np.cumsum(run.losses))


def test_skipped_rows_count_for_neither_side():
    X, y = np.array([[1.0], [np.nan], [1.0]]), np.array([1.0, 1.0, 2.0])
    run = dl.Ridge(missing="skip", intercept=False).run(X, y)
    curve = regret.curve(run, X, y, [0.0])
    assert curve.tolist() == [0.0, 0.0, (2.0 - 0.5) ** 2 - 4.0]


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="curve: X has 2 rows, predictions has 1"):
        regret.curve([1.0], np.ones((2, 1)), np.ones(2), [1.0])
    with pytest.raises(ValueError, match=r"curve: u must have the shape \(1,\) or \(2, 1\), got \(3,\)"):
        regret.curve([1.0, 1.0], np.ones((2, 1)), np.ones(2), [1.0, 1.0, 1.0])


def test_regret_to_drifting_weights_grows_slower_for_a_tracking_learner():
    stream = dl.streams.Rotating(rate=0.01, noise=0.05, seed=3)
    X, y = stream.take(2000)
    follows = dl.Kalman(noise=0.05, drift=5e-6, intercept=False).run(X, y)
    stays = dl.Ridge(intercept=False).run(X, y)
    truth = stream.weights
    assert regret.curve(follows, X, y, truth)[-1] < 0.05 * regret.curve(stays, X, y, truth)[-1]
