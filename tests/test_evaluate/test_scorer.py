"""Scores beside baselines: right by formulas of their own, the same however the rows are cut, and resumable."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.cli.scoring import UNIT, figures, make_scorer
from driftline.evaluate.baselines import BASELINES, Baselines
from driftline.evaluate.late import LateLabels, LateRows


def rows(count, seed=0, level=0.0):
    """Labels with gaps, predictions with gaps, and intervals of which the first are infinite."""
    rng = np.random.default_rng(seed)
    y = level * (np.arange(count) > count // 2) + rng.normal(size=count)
    said = y + 0.3 * rng.normal(size=count)
    lower, upper = said - 0.4, said + 0.4
    lower[: count // 10], upper[: count // 10] = -np.inf, np.inf
    y[rng.random(count) < 0.1] = np.nan
    said[rng.random(count) < 0.1] = np.nan
    return y, said, lower, upper


def scored(y, said, lower, upper, cuts=(), delay=0, resume=False):
    scorer = make_scorer(delay, 0.9)
    for start, stop in pairwise([0, *sorted(cuts), len(y)]):
        part = slice(start, stop)
        scorer.add(y[part], said[part], (lower[part], upper[part]), lambda part=part: np.ones(len(y[part]), dtype=bool))
        if resume:
            state = scorer.state()
            arrays = {name: value.copy() for name, value in state.items() if isinstance(value, np.ndarray)}
            plain = json.loads(json.dumps({name: value for name, value in state.items() if name not in arrays}))
            scorer = make_scorer(delay, 0.9)
            scorer.restore(plain | arrays)
    return scorer


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("level", [0.0, 1e9])
def test_totals_are_those_of_their_definitions(delay, level):
    y, said, lower, upper = rows(3 * UNIT + 17, level=level)
    scorer = scored(y, said, lower, upper, cuts=[5, 300], delay=delay)
    before = [y[: max(t - delay, 0)] for t in range(len(y))]
    before = [known[~np.isnan(known)] for known in before]
    begun = np.array([len(known) > 0 for known in before])
    good = ~np.isnan(y) & ~np.isnan(said)
    assert (scorer.scored, scorer.early, scorer.skipped) == ((good & begun).sum(), (good & ~begun).sum(), (~good).sum())
    good &= begun
    errors = (y - said)[good]
    last = np.array([known[-1] if len(known) else np.nan for known in before])[good]
    mean = np.array([known.mean() if len(known) else np.nan for known in before])[good]
    finite = good & np.isfinite(lower)
    expected = {
        "rmse": np.sqrt(np.mean(errors**2)),
        "mae": np.mean(np.abs(errors)),
        "r2": 1 - np.sum(errors**2) / np.sum((y[good] - y[good].mean()) ** 2),
        "last_value_rmse": np.sqrt(np.mean((y[good] - last) ** 2)),
        "running_mean_rmse": np.sqrt(np.mean((y[good] - mean) ** 2)),
        "coverage": np.mean(((lower <= y) & (y <= upper))[finite]),
    }
    assert figures(scorer) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 900), max_size=5), st.booleans(), st.integers(0, 4))
def test_the_cut_does_not_matter_nor_does_stopping_in_between(cuts, resume, delay):
    y, said, lower, upper = rows(900)
    assert figures(scored(y, said, lower, upper, cuts, delay, resume)) == figures(scored(y, said, lower, upper, (), delay))


def test_nothing_to_measure_is_none():
    scorer = make_scorer(0)
    assert set(figures(scorer).values()) == {None}
    scorer.add(np.full(3, np.nan), np.zeros(3))
    assert set(figures(scorer).values()) == {None}
    assert (scorer.scored, scorer.skipped) == (0, 3)


@given(st.lists(st.integers(0, 40), max_size=6), st.integers(0, 7), st.integers(0, 2**32 - 1))
def test_baselines_know_the_labels_that_have_come(sizes, delay, seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(sum(sizes)) < 0.1, np.nan, rng.normal(size=sum(sizes)))
    baselines, last, mean = Baselines(delay), [], []
    for part in np.split(y, np.cumsum(sizes)):
        found = baselines.predict(part)
        last.extend(found["last"])
        mean.extend(found["mean"])
        baselines = Baselines.restored(baselines.state())
    for row in range(len(y)):
        known = y[: max(row - delay, 0)]
        known = known[np.isfinite(known)]
        assert last[row] == (known[-1] if len(known) else pytest.approx(np.nan, nan_ok=True))
        assert mean[row] == pytest.approx(known.mean() if len(known) else np.nan, rel=1e-9, abs=1e-12, nan_ok=True)


def test_a_label_on_its_way_is_a_label():
    baselines = Baselines(delay=5)
    assert not baselines.any_label
    baselines.predict(np.array([np.nan, np.nan]))
    assert not baselines.any_label
    baselines.predict(np.array([2.0, np.nan]))
    assert baselines.any_label
    baselines.predict(np.full(20, np.nan))
    assert baselines.any_label
    assert set(baselines.predict(np.array([1.0]))) == set(BASELINES)


@given(st.lists(st.integers(0, 9), max_size=5), st.integers(0, 7))
def test_rows_and_labels_are_late_alike(sizes, delay):
    """Row t is learned once row t + delay was predicted, so that row t + delay + 1 is the first that knows it."""
    single, blocks = LateRows(delay), LateLabels(delay)
    y = np.arange(float(sum(sizes)))
    learned, known = [], []
    for label in y.tolist():
        known.append(len(learned))
        if (row := single.arrived(np.array([label]), label)) is not None:
            assert row[0].tolist() == [row[1]]
            learned.append(row[1])
    assert known == [max(t - delay, 0) for t in range(len(y))]
    came = 0
    for part in np.split(y, np.cumsum(sizes)[:-1]) if sizes else []:
        labels, before = blocks.arrived(part)
        assert labels.tolist() == learned[came : came + len(labels)]
        assert (came + before).tolist() == known[: len(part)]
        came, known = came + len(labels), known[len(part) :]
    assert came == len(learned)
    assert [label for _, label in single.rest()] == y[came:].tolist() == blocks.waiting.tolist()
