from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.evaluate.tracker import FLUSH, Tracker, fading_sum, moving_sum

TRACKED = {
    "rows": st.integers(1, 600),
    "sizes": st.lists(st.integers(1, 200), min_size=1, max_size=4),
    "window": st.integers(1, 900),
    "fading": st.floats(0.9, 1.0),
    "points": st.one_of(st.none(), st.integers(0, 50)),
}


def blocks_of(columns, sizes):
    start = 0
    for size in itertools.cycle(sizes):
        if start >= columns.shape[1]:
            return
        yield columns[:, start : start + size]
        start += size


def tracked(columns, sizes=(1000,), count=None, **options):
    tracker = Tracker(len(columns), **{"window": None, "fading": None, "points": 1000} | options)
    start = 0
    for block in blocks_of(columns, sizes):
        tracker.add(list(block), None if count is None else count[start : start + block.shape[1]])
        start += block.shape[1]
    return tracker.finish()


@given(st.integers(1, 60), st.integers(0, 70))
def test_moving_sums_are_sums_of_the_rows_in_the_window(rows, width):
    values = np.random.default_rng(rows).normal(size=(rows, 2))
    naive = [values[max(0, i + 1 - width) : i + 1].sum(axis=0) for i in range(rows)]
    np.testing.assert_allclose(moving_sum(values, width), naive, rtol=1e-12, atol=1e-12)


@given(st.integers(1, 60), st.floats(0.0, 1.0))
def test_fading_sums_follow_their_recursion(rows, factor):
    values, carry = np.random.default_rng(rows).normal(size=(rows, 2)), np.array([3.0, -1.0])
    sums = fading_sum(carry, values, factor)
    for i in range(rows):
        carry = factor * carry + values[i]
        np.testing.assert_allclose(sums[i], carry, rtol=1e-12, atol=1e-12)


@settings(max_examples=50)
@given(known=st.booleans(), **TRACKED)
def test_every_point_matches_the_definition_of_its_sum(rows, sizes, window, fading, points, known):
    columns = np.random.default_rng(rows).normal(size=(2, rows))
    found = tracked(columns, sizes, window=window, fading=fading, points=points, rows=rows if known else None)
    check(found, columns, window, fading)
    assert found.rows[-1] == rows
    if points is not None:
        assert len(found.rows) <= points + 1


def check(found, columns, window, fading, rtol=1e-9):
    assert (np.diff(found.rows) > 0).all()
    for i, row in enumerate(found.rows):
        ages = np.arange(row - 1, -1, -1)
        weights = {"cumulative": np.ones(row), "window": (ages < window) * 1.0, "fading": fading**ages}
        for kind, weight in weights.items():
            expected = np.append(weight.sum(), columns[:, :row] @ weight)
            np.testing.assert_allclose(found.sums[kind][i], expected, rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("window", [1, 777, 4096, 50_000])
@pytest.mark.parametrize("points", [7, 40])
def test_units_that_double_on_the_way_change_no_sum(window, points):
    """A stream of unknown length begins with short units; those in the window's memory are merged when they double."""
    columns = np.random.default_rng(0).normal(size=(2, 5 * FLUSH + 123))
    columns = np.vstack([columns, np.arange(columns.shape[1])])
    found = tracked(columns, (1000, 37, 9000), window=window, fading=0.9999, points=points)
    check(found, columns, window, 0.9999, rtol=1e-8)
    assert points / 2 <= len(found.rows) <= points + 1


def test_a_known_and_an_unknown_length_give_the_same_points():
    columns = np.random.default_rng(0).normal(size=(1, 100_000)) ** 2
    known = tracked(columns, window=500, fading=0.99, rows=100_000)
    unknown = tracked(columns, window=500, fading=0.99)
    assert known.rows.tolist() == unknown.rows.tolist()
    for kind in known.sums:
        np.testing.assert_allclose(known.sums[kind], unknown.sums[kind], rtol=1e-12)


def test_points_are_evenly_spaced():
    found = tracked(np.ones((1, 100_000)), points=100)
    steps = np.unique(np.diff(found.rows[:-1]))
    assert len(steps) == 1
    assert 50 <= len(found.rows) <= 101


@pytest.mark.parametrize("sizes", [(200_000,), (30_000, 170_000), (20_000,)])
def test_large_blocks_equal_many_small_ones(sizes):
    """This holds even if rows of an earlier block wait to be summed."""
    columns = np.random.default_rng(0).normal(size=(1, 200_000)) ** 2
    large, small = (tracked(columns, sizes, window=5000, fading=0.999) for sizes in (sizes, (321,)))
    assert large.rows.tolist() == small.rows.tolist()
    for kind in large.sums:
        np.testing.assert_allclose(large.sums[kind], small.sums[kind], rtol=1e-12)


@pytest.mark.parametrize("rows", [50, 20_000, 60_000])
def test_rows_that_do_not_count_have_no_weight(rows):
    rng = np.random.default_rng(1)
    count = (rng.random(rows) < 0.7).astype(float)
    count[rows // 2 :] = 1.0  # all count from here on
    columns = rng.normal(size=(2, rows)) * count
    found = tracked(columns, (777,), count=count, window=100, fading=0.99, points=20)
    check_counts = np.vstack([count, columns])
    for i, row in enumerate(found.rows):
        weight = 0.99 ** np.arange(row - 1, -1, -1)
        np.testing.assert_allclose(found.sums["cumulative"][i], check_counts[:, :row].sum(axis=1), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.sums["window"][i], check_counts[:, max(0, row - 100) : row].sum(axis=1), atol=1e-9)
        np.testing.assert_allclose(found.sums["fading"][i], check_counts[:, :row] @ weight, rtol=1e-9, atol=1e-9)


def test_a_huge_value_leaves_the_window_without_a_trace():
    """A running sum that subtracts old rows would keep the rounding error of 1e14 for ever."""
    values = np.full((1, 10_000), 1e-3)
    values[0, 10] = 1e30
    found = tracked(values, window=100)
    after = found.rows > 200
    np.testing.assert_allclose(found.sums["window"][after, 1], 0.1, rtol=1e-12)


def test_an_infinite_value_leaves_the_window_too():
    values = np.ones((1, 70_000))
    values[0, 40] = np.inf
    found = tracked(values, window=64, points=None)
    assert np.isinf(found.sums["window"][40:104, 1]).all()
    assert found.sums["window"][104:, 1].tolist() == [64.0] * (70_000 - 104)
    assert np.isinf(found.sums["cumulative"][-1, 1])


@pytest.mark.parametrize("points", [None, 100, 7, 0])
@pytest.mark.parametrize("fading", [0.5, 0.99])
@pytest.mark.parametrize("rows", [900, 100_001])
def test_an_infinite_value_never_fades(rows, fading, points):
    """0.5 to the power of some thousand rows underflows to 0, and 0 times infinity is NaN."""
    values = np.ones((2, rows))
    values[0, 40] = np.inf
    found = tracked(values, fading=fading, points=points)
    after = found.rows > 40
    assert np.isinf(found.sums["fading"][after, 1]).all()
    np.testing.assert_allclose(found.sums["fading"][:, 2], (1 - fading**found.rows) / (1 - fading), rtol=1e-12)


@settings(max_examples=50)
@given(some=st.booleans(), **TRACKED)
def test_spreads_are_sums_of_squares_about_the_mean_of_the_same_rows(rows, sizes, window, fading, points, some):
    rng = np.random.default_rng(rows)
    columns = rng.normal(size=(2, rows))
    count = (rng.random(rows) < 0.7).astype(float) if some else np.ones(rows)
    columns = columns * count
    found = tracked(columns, sizes, count if some else None, window=window, fading=fading, points=points, spreads=[1])
    check_spreads(found, columns[1], count, window, fading)


def check_spreads(found, column, count, window, fading, rtol=1e-9):
    for i, row in enumerate(found.rows):
        ages = np.arange(row - 1, -1, -1)
        for kind, weight in {"cumulative": np.ones(row), "window": (ages < window) * 1.0, "fading": fading**ages}.items():
            weight = weight * count[:row]
            mean = column[:row] @ weight / weight.sum() if weight.sum() else 0.0
            expected = np.square(column[:row] - mean) @ weight
            np.testing.assert_allclose(found.sums[kind][i, 3], expected, rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("window", [777, 50_000])
def test_spreads_survive_units_that_double_and_a_level_that_moves(window):
    """Sums of squares about a fixed origin would have lost every digit at the second level."""
    column = np.random.default_rng(0).normal(size=3 * FLUSH + 123)
    column[40_000:] += 1e9
    found = tracked(np.vstack([column, column]), (1000, 37, 9000), window=window, fading=0.999, points=7, spreads=[1])
    check_spreads(found, column, np.ones(len(column)), window, 0.999, rtol=1e-6)
