"""The native grid of exponential smoothing against plain NumPy, and intervals whose width grows with the labels."""

import numpy as np
import pytest

import driftline as dl
from driftline import _core
from tests.reference.smoothing import Grid

STEPS = 5


def series(rows, seasons, seed, missing=0):
    rng = np.random.default_rng(seed)
    t = np.arange(rows)
    y = 3 + 0.02 * t + np.cumsum(0.1 * rng.standard_normal(rows)) + 0.3 * rng.standard_normal(rows)
    for season in seasons:
        y = y + rng.standard_normal(season)[t % season]
    y[rng.choice(np.arange(8, rows), missing, replace=False)] = np.nan
    return y


def native(y, seasons):
    """The forecasts of smoothing and of smoothing of logarithms, and the number of labels at the last fit."""
    core = _core.Horizon(STEPS, seasons)
    core.rows(np.zeros((len(y), STEPS)), y, np.empty((5, len(y), STEPS)))
    state = core.get_state()
    per_origin = state["numbers"][-STEPS * STEPS * 11 :].reshape(STEPS, STEPS, 11)
    return *per_origin[(len(y) - 1) % STEPS, :, :2].T, state["fitted"]


@pytest.mark.parametrize("seasons", [[], [4], [7], [12], [4, 12]])
@pytest.mark.parametrize(("rows", "missing"), [(53, 0), (60, 0), (88, 9)])
def test_the_grid_is_that_of_plain_numpy(seasons, rows, missing):
    """With a level, a damped trend and seasons; additive, and multiplicative on the labels' logarithms."""
    y = series(rows, seasons, seed=rows + len(seasons), missing=missing)
    y += 1 - np.nanmin(y)  # positive
    plain, logarithms, fitted = native(y, seasons)
    for found, values, back in ((plain, y, np.array), (logarithms, np.log(y), np.exp)):
        grid = Grid(values[:fitted], seasons)
        for value in values[fitted:]:
            grid.learn(value)
        np.testing.assert_allclose(found, back(grid.forecast(STEPS)), rtol=1e-7)


def test_labels_that_are_not_positive_have_no_logarithms():
    y = series(60, [4], seed=1) - 20
    plain, logarithms, fitted = native(y, [4])
    grid = Grid(y[:fitted], [4])
    for value in y[fitted:]:
        grid.learn(value)
    np.testing.assert_allclose(plain, grid.forecast(STEPS), rtol=1e-7)
    np.testing.assert_array_equal(plain, logarithms)


def growing(rows, power, seed):
    """A series of which the errors grow with a power of the level."""
    rng = np.random.default_rng(seed)
    level = np.exp(np.linspace(3, 6, rows))
    return level + 0.2 * level**power * rng.standard_normal(rows) * np.exp(2 * (1 - power))


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_intervals_of_short_series_are_as_wide_as_the_level_makes_the_errors(power):
    """The level grows from 62 to 403 in the rows that are scored, and widths with the same power of it, roughly."""
    slopes, inside = [], []
    for seed in range(12):
        y = growing(160, power, seed)
        run = dl.Forecaster(dl.Auto(), 2).run(np.empty((160, 0)), y, level=0.9)
        rows = slice(60, 160)
        width = np.log(run.upper - run.lower)[rows, 0]
        slopes.append(np.polyfit(np.linspace(3, 6, 160)[rows], width, 1)[0])
        inside.append(((run.lower <= y[:, None]) & (y[:, None] <= run.upper))[rows, 0].mean())
    assert np.mean(slopes) == pytest.approx(power, abs=0.3)
    assert 0.82 < np.mean(inside) < 0.95


def test_a_state_from_before_scales_grew_is_read_and_goes_on():
    """Its scales do not grow at first."""
    y = growing(90, 1.0, 0)
    f = dl.Forecaster(dl.Auto(), 3).fit(y[:60])
    state = f.__getstate__()
    del state["series"]["growing spreads"]
    old = dl.Forecaster(dl.Auto(), 3)
    old.__setstate__(state)
    assert np.isfinite(old.forecast().upper).all()
    np.testing.assert_array_equal(old.forecast().predictions, f.forecast().predictions)
    old.update(y[60:])
    f.update(y[60:])
    np.testing.assert_array_equal(old.forecast().predictions, f.forecast().predictions)
    widths = old.forecast().upper - old.forecast().lower
    assert (np.abs(np.log(widths / (f.forecast().upper - f.forecast().lower))) < 0.7).all()
