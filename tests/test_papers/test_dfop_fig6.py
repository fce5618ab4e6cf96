import numpy as np
import pytest

from driftline import streams
from papers import dfop_fig6

from . import dfop_plain


def test_the_loss_on_fresh_rows_is_the_noise_plus_a_third_of_the_squared_distance():
    """Inputs uniform in [-1, 1] have the covariance I / 3."""
    found = dfop_fig6.follow(dfop_fig6.Job(seed=1, rows=900, every=300, fresh=50_000))
    expected = streams.Hyperplane().noise + found.distance**2 / 3
    np.testing.assert_allclose(found.loss, expected, rtol=0.05)


def test_the_distance_matches_the_explicit_solution():
    found = dfop_fig6.follow(dfop_fig6.Job(seed=2, rows=180, every=60, fresh=10))
    stream = streams.Hyperplane(task="regression", rows=180, seed=2)
    X, y = stream.take()
    for rate in (0.0, 0.01, 0.5):
        w = dfop_plain.weights(X, y, rate, 100.0)
        expected = [np.linalg.norm(w[t] - stream.weights[t - 1]) for t in (60, 120, 180)]
        np.testing.assert_allclose(found.distance[dfop_fig6.RATES.index(rate)], expected, rtol=1e-6)


def judged(levels, growth=1.0):
    """Constant curves, except for DFOP's distance, which grows from the first to the last stage."""
    levels = np.array(levels)[None, :, None]
    loss = np.broadcast_to(levels, (3, len(dfop_fig6.RATES), 18)).copy()
    return dfop_fig6.judge(loss, loss * np.linspace(1, growth, 18), 10)


@pytest.mark.parametrize(
    ("levels", "growth", "failing"),
    [
        ((2.0, 0.7, 0.6, 0.5, 3.0, 9.0), 1.0, []),
        ((2.0, 0.7, 0.6, 0.5, 1.0, 9.0), 1.0, [2]),
        ((2.0, 2.1, 0.6, 0.5, 3.0, 9.0), 1.0, [0, 1]),
        ((2.0, 0.7, 0.6, 0.5, 3.0, 9.0), 2.0, [3]),
    ],
)
def test_the_verdict_follows_the_curves(levels, growth, failing):
    checks = judged(levels, growth).checks
    assert [i for i, check in enumerate(checks) if not check.holds] == failing
