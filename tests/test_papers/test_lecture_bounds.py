import numpy as np
import pytest

from driftline.linear import LMS
from driftline.regret import online_to_batch
from papers import Context, lecture_bounds


def test_the_closed_form_of_the_risk_bound_is_a_minimum_over_u():
    for rate, m in ((0.1, 50), (0.5, 1000), (0.01, 20)):
        scales = np.linspace(0, 1.2, 200_001)
        values = (lecture_bounds.NOISE + (1 - scales) ** 2 / lecture_bounds.D) / (1 - rate) + scales**2 / (rate * m)
        assert lecture_bounds.risk_bound(rate, m) == pytest.approx(values.min(), rel=1e-9)


def test_the_risk_is_the_mean_loss_on_many_fresh_rows():
    rng = np.random.default_rng(0)
    X, y = lecture_bounds.sample(rng, 400_000)
    assert np.linalg.norm(X, axis=1) == pytest.approx(1)
    w = rng.normal(size=lecture_bounds.D)
    losses = np.square(y - X @ w)
    assert abs(losses.mean() - lecture_bounds.risk(w)) < 5 * losses.std() / np.sqrt(len(y))


def test_the_librarys_bound_on_fresh_rows_is_near_the_closed_form():
    rng = np.random.default_rng(1)
    X, y = lecture_bounds.sample(rng, 200)
    bound = online_to_batch(LMS(rate=0.1, intercept=False), X, y, holdout=lecture_bounds.sample(rng, 100_000), norm=1.0)
    assert bound.value == pytest.approx(lecture_bounds.risk_bound(0.1, 200), rel=0.02)
    found = lecture_bounds.by_size((0, 0, (100,)))
    assert found[0][3] <= found[0][4]


def test_losses_above_the_bound_change_the_verdict():
    found = lecture_bounds.compute(Context(quick=True, jobs=1, progress=False))
    assert found.verdict == "agrees"
    repeats, pairs, sizes = 3, len(lecture_bounds.STREAMS) * len(lecture_bounds.RATES), (30, 100)
    rates = np.ones((repeats, pairs, 2))
    rates[1, 2] = [2.0, 1.0]
    grown = np.ones((repeats, 2, 5))
    grown[:, :, 3] = 10.0
    turned = lecture_bounds.judge(rates, grown, 100, sizes)
    assert turned.verdict == "does not agree"
