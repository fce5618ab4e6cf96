"""Intervals after quiet spells: when labels vary again, they soon lie inside intervals of the usual width again.

Stuck sensors, nights and intermittent demand bring long stretches of constant labels, on which errors fall to rounding.
"""

import functools

import numpy as np
import pytest

import driftline as dl
from driftline.base import registry
from tests.cases import for_each
from tests.reference import coverage

LEVELS = (0.9, 0.95, 0.99)
BEFORE, AFTER = 600, 2000


@functools.cache
def spell_of(rows, scale=1.0):
    """Noisy rows, constant ones, noisy ones at another scale."""
    rng = np.random.default_rng(rows)
    X = rng.standard_normal((BEFORE + rows + AFTER, 3))
    y = X.sum(axis=1) + rng.standard_normal(len(X))
    y[BEFORE:-AFTER] = 1.0
    y[-AFTER:] *= scale
    return X, y


def longest_run(missed):
    ends = np.flatnonzero(np.concatenate([[True], ~missed, [True]]))
    return np.diff(ends).max() - 1


def require_coverage(level, inside, run=20):
    assert inside.mean() >= level - 0.015
    assert longest_run(~inside) <= run


def require_intervals(make, X, y):
    """Of the last rows, at each level; the usual width is that of the errors' quantile, known only in hindsight."""
    for level in LEVELS:
        run = make().run(X, y, level=level)
        lower, upper, errors = run.lower[-AFTER:], run.upper[-AFTER:], run.errors[-AFTER:]
        require_coverage(level, (lower <= y[-AFTER:]) & (y[-AFTER:] <= upper))
        assert np.median(upper - lower) <= 2 * 2 * np.quantile(np.abs(errors), level)


def learner_of(name):
    """A kernel is bounded: on rows that never repeat it would grow with every row."""
    return dl.Kernel(budget=20) if name == "kernel" else registry.regressors()[name]()


@for_each("rows", [500, 2000, 5000])
@pytest.mark.parametrize("name", [name for name in registry.regressors() if name != "auto"])
def test_intervals_recover_after_a_quiet_spell(name, rows):
    require_intervals(lambda: learner_of(name), *spell_of(rows))


def test_intervals_of_auto_recover_after_a_quiet_spell():
    require_intervals(dl.Auto, *spell_of(2000))


@pytest.mark.parametrize("name", ["lms", "rls", "kernel"])
def test_intervals_recover_in_float32(name):
    require_intervals(lambda: learner_of(name).set_params(dtype="float32"), *spell_of(2000))


@pytest.mark.parametrize("rows", [500, 20_000])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_intervals_recover_at_another_scale(scale, rows):
    X, y = spell_of(rows, scale)
    for level in LEVELS:
        run = dl.RLS().run(X, y, level=level)
        require_coverage(level, ((run.lower <= y) & (y <= run.upper))[-AFTER:])


@pytest.mark.parametrize("late", [1, 12, 30])
@pytest.mark.parametrize("make", [dl.RLS, dl.Kalman, dl.NLMS])
def test_intervals_of_late_labels_recover_after_a_quiet_spell(make, late):
    """Until the first of the new labels arrives, nothing shows the change."""
    X, y = spell_of(2000)
    model, tickets = make(), []
    for t, x in enumerate(X):
        tickets.append(model.ask(x, delay=late))
        if t >= late:
            model.tell(tickets[t - late], y[t - late])
    for level in LEVELS:
        ends = np.array([ticket.interval(level) for ticket in tickets[-AFTER:]])
        inside = (ends[:, 0] <= y[-AFTER:]) & (y[-AFTER:] <= ends[:, 1])
        require_coverage(level, inside[late:])
        assert longest_run(~inside) <= 20 + late


@pytest.mark.parametrize("learner", [dl.RLS(), dl.LMS(), dl.Kalman()], ids=lambda learner: type(learner).__name__)
def test_intervals_of_a_fleet_recover_after_a_quiet_spell(learner):
    """Two keys share the rows; the spell of one is short."""
    X, y = spell_of(2000)
    Xs, ys = spell_of(500)
    keys = np.r_[np.zeros(len(y), int), np.ones(len(ys), int)]
    for level in LEVELS:
        run = dl.Fleet(learner, 2, intervals=True).run(keys, np.concatenate([X, Xs]), np.append(y, ys), level=level)
        inside = (run.lower <= np.append(y, ys)) & (np.append(y, ys) <= run.upper)
        for key in range(2):
            require_coverage(level, inside[keys == key][-AFTER:])


def test_intervals_of_a_forecaster_recover_after_a_quiet_spell():
    X, y = spell_of(2000)
    for level in LEVELS:
        run = dl.Forecaster(dl.RLS(), steps=3).run(X, y, level=level)
        for step in range(3):
            inside = (run.lower[:, step] <= y) & (y <= run.upper[:, step])
            require_coverage(level, inside[-AFTER + step :])


@pytest.mark.parametrize("late", [0, 12])
def test_a_short_burst_of_larger_errors_is_no_new_scale(late):
    """After a jump of the weights, errors are larger until the learner has followed. Here every error is the label."""
    y = np.random.default_rng(0).standard_normal(732 + late)
    y[600:612] = 8
    model, tickets = dl.NLMS(intercept=False), []
    for t in range(len(y)):
        tickets.append(model.ask([0.0], delay=late))
        if t >= late:
            model.tell(tickets[t - late], y[t - late])
    lower, upper = np.transpose([ticket.interval(0.8) for ticket in tickets[-100:]])
    assert (upper - lower).mean() <= 1.5 * 2 * np.quantile(np.abs(y[:600]), 0.8)


@pytest.mark.parametrize("make", [dl.Kalman, dl.NLMS, dl.RLS])
@pytest.mark.parametrize("every", [100, 1000])
def test_labels_that_are_rarely_different_are_covered(make, every):
    rng = np.random.default_rng(every)
    X = rng.standard_normal((20_000, 3))
    y = (rng.random(20_000) < 1 / every).astype(float)
    for level in LEVELS:
        run = make().run(X, y, level=level)
        finite = np.isfinite(run.upper)
        assert ((run.lower <= y) & (y <= run.upper))[finite].mean() >= level - 0.015


@pytest.mark.parametrize("make", [dl.Kalman, dl.NLMS, dl.RLS])
@pytest.mark.parametrize("half", [12, 720])
def test_coverage_holds_over_days_with_constant_nights(make, half):
    X, _ = spell_of(20_000)
    rng = np.random.default_rng(half)
    days = np.arange(len(X)) // half % 2 == 0
    y = np.where(days, X.sum(axis=1) + rng.standard_normal(len(X)), 0.0)
    for level in LEVELS:
        run = make().run(X, y, level=level)
        inside = ((run.lower <= y) & (y <= run.upper))[2000:]
        windows = np.convolve(inside, np.full(2880, 1 / 2880), "valid")  # whole days of both kinds
        assert windows.min() >= level - 0.015


@pytest.mark.parametrize("make", [dl.NLMS, lambda: dl.NLMS(intercept=False)], ids=["intercept", "none"])
def test_coverage_holds_if_the_scale_changes_by_many_orders_of_magnitude(make):
    rng = np.random.default_rng(6)
    sizes = 10.0 ** rng.integers(-30, 30, 10)
    y = np.repeat(sizes, 2000) * rng.standard_normal(20_000)
    X = np.zeros((20_000, 1))
    for level in LEVELS:
        run = make().run(X, y, level=level)
        inside = ((run.lower <= y) & (y <= run.upper)).reshape(10, 2000)
        for part in inside:
            require_coverage(level, part)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_bounds_after_quiet_spells_match_the_plain_formula(level):
    """Around a prediction of 0 every score is the label's square."""
    rng = np.random.default_rng(7)
    jumps = [
        (1, 600),
        (1e-9, 700),
        (1, 15),
        (1e-9, 300),
        (1e6, 40),
        (1, 900),
        (4.5, 300),
        (1e-12, 300),
        (30, 12),
        (200, 300),
    ]
    sizes = np.concatenate([np.repeat(*zip(*jumps, strict=True)), 3.0 ** np.arange(40), np.ones(7000)])
    y = sizes * rng.uniform(0.9, 1.1, len(sizes))
    run = dl.NLMS(intercept=False).run(np.zeros((len(y), 1)), y, level=level)
    bounds = np.array(coverage.follow(y**2, level))
    largest = np.maximum.accumulate(np.append(0, y[:-1]))
    finite = np.isfinite(run.upper)
    assert finite.sum() >= len(y) - 99
    np.testing.assert_allclose(run.upper[finite], np.minimum(np.sqrt(bounds), 10 * largest)[finite], rtol=1e-9)
