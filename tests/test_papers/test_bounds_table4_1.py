import math

import numpy as np
import pytest

from driftline.streams.keyed import generator
from papers import bounds_table4_1
from papers.bounds_table4_1 import FIVE, LINEAR, NEARLY, RIDGE, ROWS, SMALL, STREAMS, D

LENGTHS = (100, 300, 1000)


@pytest.fixture(scope="module")
def arrays():
    done = [bounds_table4_1.bounds((0, i, rows, stream)) for stream in STREAMS for rows in LENGTHS for i in range(3)]
    return [np.array([each[k] for each in done]).reshape(len(STREAMS), len(LENGTHS), 3, -1) for k in range(3)]


def test_rows_of_the_table_match_their_formulas():
    """The formulas of the table, written out again."""
    T = 300
    X, y, w = bounds_table4_1.sample(generator((0,), 1, T, STREAMS.index(NEARLY)), T, NEARLY)
    values, _, (S, A) = bounds_table4_1.bounds((0, 1, T, NEARLY))
    losses = (y - X @ w) ** 2
    L, Y, U = losses.sum(), np.abs(y).max(), np.linalg.norm(w)
    assert pytest.approx(losses.max()) == S
    np.testing.assert_allclose(U, 10)
    expected = [
        RIDGE * U**2 + D * Y**2 * math.log(1 + T / (D * RIDGE)),
        RIDGE * U**2 + D * A * math.log(1 + T / (D * RIDGE)),
        2 * U**2 + D * (U + Y) ** 2 * math.log(1 + (2 * U**2 + L) / (D * (U + Y) ** 2)),
        RIDGE * U**2 + S * D * 2 * math.log(1 + T / D),
        RIDGE * U**2 + S * D * 2 * (1 + math.log(1 + L / (S * D))),
    ]
    np.testing.assert_allclose(values, expected, rtol=1e-9)


def test_on_linear_labels_the_loss_of_u_is_zero():
    values, _, (S, _) = bounds_table4_1.bounds((0, 0, 200, LINEAR))
    assert S == 0
    assert values[ROWS.index(FIVE)] == pytest.approx(RIDGE * 100)


def test_the_streams_meet_the_conditions_of_the_theorems():
    for stream in STREAMS:
        X, y, _ = bounds_table4_1.sample(np.random.default_rng(0), 500, stream)
        assert np.linalg.norm(X, axis=1).max() <= 1 + 1e-12
        assert np.abs(y).max() <= (1 if stream == SMALL else 10.5)


def test_the_statements_depend_on_the_numbers(arrays):
    values, regrets, sizes = arrays
    found = bounds_table4_1.judge(values, regrets, sizes, LENGTHS)
    assert [check.holds for check in found.checks] == [True, True, True, True, False, True]
    larger = regrets.copy()
    larger[1, 1, 1, 2] = 1e9
    assert not bounds_table4_1.judge(values, larger, sizes, LENGTHS).checks[0].holds
    turned = bounds_table4_1.judge(values[::-1], regrets[::-1], sizes[::-1], LENGTHS)
    assert [check.holds for check in turned.checks][1:4] == [False, True, False]
    good = sizes.copy()
    good[2] = [2.0, 1.0]  # S above A on the stream on which Theorem 5 is not better
    assert bounds_table4_1.judge(values, regrets, good, LENGTHS).checks[4].holds
