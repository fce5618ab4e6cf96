"""Significance tests on dependent losses: the plain formula, any cut into blocks, and the rate of false positives."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from driftline.evaluate.statistics import paired_t_test
from driftline.evaluate.stretches import LossesByStretch, holm


def outcome_of(losses):
    test = LossesByStretch(losses.shape[1])
    test.add(losses)
    return test.test(0, 1)


@given(st.integers(2, 700), st.lists(st.integers(0, 700), max_size=4), st.integers(0, 2**32 - 1))
def test_any_cut_gives_the_paired_t_test_of_the_means_of_stretches(rows, cuts, seed):
    losses = np.random.default_rng(seed).normal(size=(rows, 3)) ** 2
    test = LossesByStretch(3)
    for piece in np.split(losses, sorted(min(cut, rows) for cut in cuts)):
        test.add(piece)
    length = 1
    while rows // length >= 20:
        length *= 2
    count = rows // length
    assert count >= min(rows, 10)
    means = losses[: count * length].reshape(count, length, 3).mean(axis=1)
    for one, other in ((0, 1), (2, 0)):
        wanted = ttest_rel(means[:, one], means[:, other])
        assert test.test(one, other) == pytest.approx((wanted.statistic, wanted.pvalue), rel=1e-9)


def test_the_rate_of_false_positives_is_nominal_unlike_that_of_a_test_by_rows():
    """The differences have mean 0, an autocorrelation of 0.8, and ten times the spread in the second half."""
    rng = np.random.default_rng(5)
    streams, rows = 1000, 2000
    noise = rng.normal(size=(streams, rows))
    d = np.zeros_like(noise)
    for t in range(1, rows):
        d[:, t] = 0.8 * d[:, t - 1] + noise[:, t]
    d[:, rows // 2 :] *= 10
    by_row = np.mean([paired_t_test(each, np.zeros(rows)).p_value < 0.05 for each in d])
    by_stretch = np.mean([outcome_of(np.column_stack([each, np.zeros(rows)])).p_value < 0.05 for each in d])
    assert by_row > 0.4
    assert by_stretch < 0.05 + 3 * math.sqrt(0.05 * 0.95 / streams)


def test_rows_that_one_learner_did_not_predict_are_left_out():
    losses = np.random.default_rng(1).normal(size=(100, 2)) ** 2
    holes = np.insert(losses, [3, 50], [[np.nan, 1.0], [2.0, np.inf]], axis=0)
    assert outcome_of(holes) == outcome_of(losses)


def test_nothing_is_significant_in_one_row():
    assert math.isnan(outcome_of(np.ones((1, 2))).p_value)
    assert math.isnan(LossesByStretch(2).test(0, 1).p_value)


def test_holms_adjustment_keeps_the_order_and_stays_below_one():
    assert holm([0.5, 0.001, 0.4]) == pytest.approx([0.8, 0.003, 0.8])
    assert holm([]) == []
