"""Quantiles: both tails have their levels on any stream, are judged as issued, never cross, and survive saving."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from tests.cases import for_each
from tests.reference import coverage

LEVELS = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]
DENSE = np.linspace(0.001, 0.999, 97).tolist()


def signed(y):
    return np.where(y > 0, 1, -1)


def finite(level, labels):
    """Whether a quantile rests on enough labels."""
    outside = min(level, 1 - level)
    return labels * outside >= (1 - outside) * (1 - 1e-9)


def expected(bounds, issued, largest, labels):
    """The quantiles around a prediction of 0, for labels of variance 1."""
    found = []
    for level in LEVELS:
        root = bounds.quantile(level, issued)
        far = 0.0 if level == 0.5 else math.copysign(math.inf, level - 0.5)
        found.append(np.clip(root, -10 * largest, 10 * largest) if finite(level, labels) else far)
    return found


def uneven(rng, rows):
    """Skewed labels, whose size and skewness change, some of them 0."""
    t = np.arange(rows)
    size = np.exp(np.sin(t / 150)) * np.where(t < 2 * rows // 3, 1, 300)
    skewed = rng.exponential(size=rows) - np.where(t % 400 < 200, 0.7, 1.3)
    return skewed * size * (rng.random(rows) > 0.2)


@for_each("seed", range(3))
def test_quantiles_match_the_plain_formula(seed):
    """Around a prediction of 0 every score is the label's square, so the plain formula needs no model."""
    y = uneven(np.random.default_rng(seed), 900)
    run = dl.NLMS(intercept=False).run(np.zeros((900, 1)), y, quantiles=LEVELS)
    bounds, wanted = coverage.Bounds(), []
    for t, label in enumerate(y):
        wanted.append(expected(bounds, bounds.issued(), np.abs(y[:t]).max(initial=0), t))
        bounds.take(label**2, signed(label))
    np.testing.assert_allclose(run.quantiles, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("late", [1, 7, 100])
def test_quantiles_of_late_labels_are_judged_by_the_intervals_issued_then(late):
    y = uneven(np.random.default_rng(late), 900)
    model, bounds, issued, tickets, wanted = dl.NLMS(intercept=False), coverage.Bounds(), [], [], []
    for t in range(900):
        issued.append((bounds.issued(), bounds.shares()))
        known = max(0, t - late)
        wanted.append(expected(bounds, issued[-1][0], np.abs(y[:known]).max(initial=0), known))
        tickets.append(model.ask([0.0], delay=late))
        if t % 100 == 50:
            tickets[-1] = dl.Ticket.from_bytes(tickets[-1].to_bytes())
            model = dl.from_bytes(model.to_bytes())
        if t >= late:
            model.tell(tickets[t - late], y[t - late])
            bounds.take_late(y[t - late] ** 2, *issued[t - late], late, signed(y[t - late]))
    np.testing.assert_allclose([ticket.quantiles(LEVELS) for ticket in tickets], wanted, rtol=1e-9, atol=1e-12)


ROWS = 20_000


def skewed_streams():
    rng, t = np.random.default_rng(8), np.arange(ROWS)
    X = rng.standard_normal((ROWS, 3))
    mean = X @ [0.3, -0.2, 0.1]
    yield "log-normal", X, mean + np.exp(rng.standard_normal(ROWS))
    yield "gamma", X, mean + rng.gamma(0.5, 2.0, ROWS)
    yield "mirrored", X, mean - rng.gamma(1.0, 1.0, ROWS)
    yield "changing size", X, mean + np.exp(np.sin(t / 250)) * rng.exponential(size=ROWS)
    yield "changing sides", X, mean + np.where(t // 3000 % 2, 1, -1) * rng.exponential(size=ROWS)
    yield "moving weights", X, np.sum(X * np.sin(t / 900 + np.arange(3)[:, None]).T, axis=1) + rng.exponential(size=ROWS)


@for_each("name, X, y", list(skewed_streams()))
@pytest.mark.parametrize("make", [dl.NLMS, lambda: dl.RLS(forgetting=0.999), lambda: dl.Kalman(drift=1e-5)], ids=range(3))
def test_both_tails_of_a_skewed_stream_have_their_levels(make, name, X, y):
    below = y[:, None] < make().run(X, y, quantiles=LEVELS).quantiles
    assert np.abs(below[500:].mean(axis=0) - LEVELS).max() < (0.015 if "changing" in name else 0.01)
    windows = np.apply_along_axis(lambda each: np.convolve(each, np.ones(2000) / 2000, mode="valid"), 0, below)
    assert np.abs(windows - LEVELS).max() < (0.07 if "changing" in name else 0.03)


def discrete_streams():
    rng = np.random.default_rng(9)
    X = rng.standard_normal((ROWS, 3))
    effect = np.exp(X @ [0.3, -0.2, 0.1])
    for mean in (1, 2, 5):
        yield f"Poisson({mean})", X, rng.poisson(mean, ROWS).astype(float)
        yield f"Poisson, {mean} times an effect", X, rng.poisson(mean * effect).astype(float)
    for share in (0.6, 0.9):
        yield f"{share} zeros", X, np.where(rng.random(ROWS) < share, 0, rng.poisson(3, ROWS)).astype(float)


@for_each("name, X, y", list(discrete_streams()))
@pytest.mark.parametrize("make", [dl.NLMS, lambda: dl.RLS(forgetting=0.999)], ids=["nlms", "rls"])
def test_quantiles_of_discrete_labels_are_right_without_dithering(make, name, X, y):
    levels = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95])
    quantiles = make().run(X, y, quantiles=levels).quantiles[500:]
    labels = y[500:, None]
    assert ((labels < quantiles).mean(axis=0) < levels + 0.01).all()
    assert ((labels <= quantiles).mean(axis=0) > levels - 0.01).all()


@given(seed=st.integers(0, 2**32), size=st.sampled_from([1e-300, 1e-30, 1.0, 1e150, 1e300]), late=st.sampled_from([0, 3]))
@settings(max_examples=60)
def test_quantiles_never_cross_on_any_stream(seed, size, late):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((150, 2)) * rng.choice([0.0, 1.0, 1e100, 1e-100], size=(150, 1))
    y = np.clip(rng.standard_cauchy(150) * size * rng.choice([0.0, 1.0, 50.0], size=150), -1e307, 1e307)
    for model in (dl.RLS(forgetting=0.5), dl.EG(norm=1.0), dl.AAR()):
        quantiles, waiting = [], []
        for x, label in zip(X, y, strict=True):
            waiting.append((model.ask(x, delay=late), label))
            quantiles.append(waiting[-1][0].quantiles(DENSE))
            if len(waiting) > late:
                model.tell(*waiting.pop(0))
        assert not np.isnan(quantiles).any()
        with np.errstate(invalid="ignore"):  # infinite ones
            assert not (np.diff(quantiles, axis=1) < 0).any()


def test_symmetric_errors_have_the_ends_of_intervals_as_quantiles():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((5000, 3))
    y = X @ np.ones(3) + rng.standard_normal(5000)
    run = dl.RLS().run(X, y, level=0.9, quantiles=[0.05, 0.5, 0.95])
    ends = np.column_stack([run.lower, run.predictions, run.upper])[1000:]
    assert np.abs(run.quantiles[1000:] - ends).mean() < 0.05
    assert run.quantile_levels.tolist() == [0.05, 0.5, 0.95]


def test_quantiles_of_rows_and_tables_agree_and_asking_changes_nothing(rows):
    X, y = rows
    asked, silent = dl.Auto(), dl.Auto()
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        if t % 3:
            assert np.array_equal(asked.predict_quantiles(x, LEVELS), asked.ask(x).quantiles(LEVELS))
            asked.predict_quantiles(X[:2])
        asked.learn_one(x, label)
        silent.learn_one(x, label)
    assert asked.to_bytes() == silent.to_bytes()
    for model in (asked, dl.RLS().fit(X, y)):
        table, row = model.predict_quantiles(X, LEVELS), model.predict_quantiles(X[5], LEVELS)
        assert isinstance(model, dl.Auto) or np.array_equal(table[5], row)  # which has no labels in between
        for same in (X.tolist(), pd.DataFrame(X)):
            assert np.array_equal(model.predict_quantiles(same, LEVELS), table)
        for same in (X[5].tolist(), pd.DataFrame(X).iloc[5]):
            assert np.array_equal(model.predict_quantiles(same, LEVELS), row)
        for copied in (pickle.loads(pickle.dumps(model)), dl.from_bytes(model.to_bytes())):
            assert np.array_equal(copied.predict_quantiles(X, LEVELS), table)
            assert np.array_equal(copied.predict_quantiles(X[5], LEVELS), row)


def test_quantiles_are_infinite_until_they_are_earned(rows):
    X, y = rows
    run = dl.RLS().run(X, y, quantiles=LEVELS)
    assert run.quantiles[0].tolist() == [-math.inf] * 3 + [0.0] + [math.inf] * 3
    assert np.isfinite(run.quantiles).argmax(axis=0).tolist() == [99, 19, 3, 0, 3, 19, 99]
    assert dl.RLS().predict_quantiles([1.0, 2.0]).tolist() == [-math.inf, 0.0, math.inf]
    assert run.to_frame("pandas")["quantile_0.05"].tolist() == run.quantiles[:, 1].tolist()


def test_a_state_without_places_begins_with_symmetric_quantiles(rows):
    """Earlier versions saved none."""
    X, y = rows
    model = dl.RLS().fit(X, y + np.random.default_rng(1).exponential(size=len(y)))
    state = model.__getstate__()
    state["core"]["coverage"] = state["core"]["coverage"][:-137]
    old = dl.RLS()
    old.__setstate__(state)
    quantiles = old.predict_quantiles(X[0], [0.05, 0.25, 0.5, 0.75, 0.95])
    ends = [model.predict_interval(X[0], level) for level in (0.9, 0.5)]
    wanted = [ends[0][0], ends[1][0], model.predict_one(X[0]), ends[1][1], ends[0][1]]
    assert quantiles == pytest.approx(wanted, abs=0.1 * (ends[0][1] - ends[0][0]))
    assert quantiles + quantiles[::-1] == pytest.approx(2 * quantiles[2])


@pytest.mark.parametrize("levels", [[], [0.5, 0.5], [0.9, 0.1], [0.0], [1.0], [math.nan], ["0.5"], [[0.5]], "0.5"])
def test_bad_levels_are_refused(levels, rows):
    X, y = rows
    model = dl.RLS().fit(X, y)
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"RLS.predict_quantiles: levels must be"):
        model.predict_quantiles(X[0], levels)
    with pytest.raises(ValueError, match=r"RLS.run: quantiles must be"):
        model.run(X, y, quantiles=levels)
    assert model.to_bytes() == before
    with pytest.raises(ValueError, match=r"predict_quantiles: levels must be .*, got None"):
        model.predict_quantiles(X[0], None)


def test_learners_without_quantiles_say_so(rows):
    X, y = rows
    for call in (
        lambda: dl.Classifier().predict_quantiles(X[0]),
        lambda: dl.Classifier().run(X, np.sign(y), quantiles=[0.5]),
        lambda: dl.Classifier().ask(X[0]).quantiles(),
        lambda: dl.RLS().fit(X, np.column_stack([y, y])).predict_quantiles(X[0]),
        lambda: dl.RLS().run(X, np.column_stack([y, y]), quantiles=[0.5]),
    ):
        with pytest.raises(ValueError, match=r"have no quantiles|needs? a single label per row"):
            call()
