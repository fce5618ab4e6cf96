from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from driftline.evaluate import critical_difference, friedman, paired_t_test, robustness
from driftline.evaluate.statistics import compare_ranks, rank_rows, verdict


@given(st.integers(2, 30), st.integers(0, 1000))
def test_the_paired_t_test_matches_scipy(count, seed):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=count), rng.normal(0.3, 1.0, size=count)
    expected = stats.ttest_rel(first, second)
    test = paired_t_test(first, second)
    assert test.statistic == pytest.approx(expected.statistic, rel=1e-9)
    assert test.p_value == pytest.approx(expected.pvalue, rel=1e-9)


def test_differences_without_spread_have_a_p_value_of_0_or_1():
    assert paired_t_test([1.0, 2.0], [1.0, 2.0]) == (0.0, 1.0)
    assert paired_t_test([2.0, 3.0], [1.0, 2.0]) == (np.inf, 0.0)
    assert np.isnan(paired_t_test([1.0], [2.0]).p_value)


def test_verdicts_are_win_tie_or_loss():
    low, high = np.array([1.0, 1.1, 0.9, 1.0]), np.array([2.0, 2.2, 1.9, 2.1])
    assert verdict(low, high, True)[0] == "win"
    assert verdict(low, high, False)[0] == "loss"
    assert verdict(high, low, True)[0] == "loss"
    assert verdict(low, low[::-1], True)[0] == "tie"
    assert verdict(low[:1], high[:1], True)[0] == "tie"


def test_a_learner_that_broke_down_loses_to_one_that_did_not():
    sound, broken = np.array([9.0, 9.0]), np.array([1.0, np.inf])
    assert verdict(sound, broken, True)[0] == "win"
    assert verdict(broken, sound, True)[0] == "loss"
    assert verdict(broken, broken, True)[0] == "tie"


@given(st.integers(2, 12), st.integers(2, 7), st.integers(0, 1000), st.booleans())
def test_ranks_and_friedmans_test_match_scipy(blocks, learners, seed, ties):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, size=(blocks, learners)) * 1.0 if ties else rng.normal(size=(blocks, learners))
    ranks = rank_rows(scores, lower_is_better=True)
    np.testing.assert_array_equal(ranks, np.apply_along_axis(stats.rankdata, 1, scores))
    np.testing.assert_array_equal(rank_rows(scores, lower_is_better=False), learners + 1 - ranks)
    if learners > 2 and (np.ptp(ranks, axis=1) > 0).any():
        expected = stats.friedmanchisquare(*scores.T)
        assert friedman(ranks).statistic == pytest.approx(expected.statistic, rel=1e-9, abs=1e-9)
        assert friedman(ranks).p_value == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-9)


def test_learners_that_are_all_alike_do_not_differ():
    assert friedman(np.full((5, 3), 2.0)) == (0.0, 1.0)


@pytest.mark.parametrize(("learners", "quantile"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_has_the_published_quantiles(learners, quantile):
    """Demšar (2006), Table 5(a): the critical values of the two-tailed Nemenyi test at 0.05."""
    blocks = learners * (learners + 1) / 6  # makes the square root 1
    assert critical_difference(learners, blocks) == pytest.approx(quantile, abs=1e-3)


def test_demsars_example_of_ranks_is_reproduced():
    """Demšar (2006): four classifiers on 14 data sets, critical difference 1.25."""
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)


def test_ranks_show_which_learners_differ():
    scores = np.array([[1.0, 2.0, 3.0]] * 10)
    ranks = compare_ranks(["a", "b", "c"], scores, lower_is_better=True)
    assert ranks.mean == {"a": 1.0, "b": 2.0, "c": 3.0}
    assert ranks.critical_difference == pytest.approx(2.343 * np.sqrt(3 * 4 / 60), abs=1e-3)
    assert ranks.differ("a", "c")
    assert not ranks.differ("a", "b")
    assert ranks.p_value < 0.001


def test_robustness_matches_a_computation_by_hand():
    accuracy = np.array([[0.9, 0.6, 0.45], [0.5, 0.5, 1.0]])
    np.testing.assert_allclose(robustness(accuracy, lower_is_better=False), [2.0 + 1.0, 4 / 3 + 1.0, 1.0 + 2.0])
    errors = np.array([[1.0, 2.0, 4.0], [3.0, 1.0, np.inf]])
    np.testing.assert_allclose(robustness(errors[:1], lower_is_better=True), [4.0, 2.0, 1.0])
    with pytest.raises(ValueError, match="at least 0"):
        robustness(np.array([[-1.0, 0.5]]), lower_is_better=False)


def test_a_breakdown_lowers_only_its_own_learners_robustness():
    """Otherwise an infinite error would make every other learner infinitely robust."""
    errors = np.array([[2.0, 4.0, np.inf], [3.0, 1.0, 2.0]])
    assert robustness(errors, lower_is_better=True).tolist() == [2.0 + 1.0, 1.0 + 3.0, 0.0 + 1.5]
    accuracies = np.array([[0.8, 0.4, -np.inf], [0.9, 0.9, 0.3]])
    np.testing.assert_allclose(robustness(accuracies, lower_is_better=False), [2 + 3, 1 + 3, 0 + 1])
    assert robustness(np.full((1, 2), np.inf), lower_is_better=True).tolist() == [0.0, 0.0]
