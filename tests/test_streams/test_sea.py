import numpy as np
import pytest
from scipy import stats

from driftline.streams import SEA
from tests.test_streams.statistics import assert_share, assert_uniform

THRESHOLDS = (7.0, 8.0, 9.0, 9.5)


def test_the_inputs_are_uniform_and_independent():
    X, _ = SEA(seed=1).take()
    for column in X.T:
        assert_uniform(column, 0, 10)
    assert np.abs(np.corrcoef(X.T) - np.eye(3)).max() < 5 / np.sqrt(len(X))


@pytest.mark.parametrize(("stage", "b"), list(enumerate(THRESHOLDS)))
def test_without_noise_the_sum_decides_in_every_row_of_a_stage(stage, b):
    X, y = SEA(label_noise=0, seed=2).take()
    rows = slice(stage * 12_500, (stage + 1) * 12_500)
    assert np.array_equal(y[rows], np.where(X[rows, 0] + X[rows, 1] <= b, 1, -1))


@pytest.mark.parametrize(("stage", "b"), list(enumerate(THRESHOLDS)))
@pytest.mark.parametrize("label_noise", [0.0, 0.1, 0.3])
def test_the_share_of_positive_labels_matches_its_formula(stage, b, label_noise):
    """The triangle x1 + x2 <= b has b^2 / 200 of the square's area; flipped labels pull the share towards one half."""
    _, y = SEA(label_noise=label_noise, seed=3).take()
    positive = b**2 / 200
    assert_share(y[stage * 12_500 : (stage + 1) * 12_500] > 0, positive * (1 - label_noise) + (1 - positive) * label_noise)


def test_labels_are_flipped_independently_of_the_inputs():
    X, y = SEA(seed=4).take()
    b = np.repeat(THRESHOLDS, 12_500)
    flipped = (X[:, 0] + X[:, 1] <= b) != (y > 0)
    assert_share(flipped, 0.1)
    table = [[np.sum(flipped & side), np.sum(~flipped & side)] for side in (X[:, 2] < 5, X[:, 2] >= 5)]
    assert stats.chi2_contingency(table).pvalue > 1e-6
    assert abs(np.corrcoef(flipped, X[:, 0] + X[:, 1] - b)[0, 1]) < 5 / np.sqrt(len(y))


@pytest.mark.parametrize("t", [0, 12_499, 12_500, 24_999, 25_000, 37_499, 37_500, 49_999])
def test_holdout_has_the_threshold_of_its_row(t):
    X, y = SEA(label_noise=0, seed=5).holdout(t, 5000)
    assert np.array_equal(y > 0, X[:, 0] + X[:, 1] <= THRESHOLDS[t // 12_500])


def test_stages_that_do_not_divide_the_rows_all_occur():
    X, y = SEA(thresholds=(1, 19, 5), rows=1000, label_noise=0).take()
    for stage, b in enumerate((1, 19, 5)):
        rows = slice(-(-stage * 1000 // 3), -(-(stage + 1) * 1000 // 3))
        assert np.array_equal(y[rows] > 0, X[rows, 0] + X[rows, 1] <= b)


def test_thresholds_of_any_sequence_are_kept_as_numbers():
    assert SEA(thresholds=np.array([7.0, 8.0])) == SEA(thresholds=[7, 8]) == SEA(thresholds=(7.0, 8.0))
    assert SEA(thresholds=THRESHOLDS) == SEA()
