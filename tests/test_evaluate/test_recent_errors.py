"""Intervals and quantiles of baselines, from their last errors."""

import numpy as np
import pytest

import driftline as dl
from driftline import evaluate
from driftline.base.levels import as_spread
from driftline.evaluate.metrics import IntervalScore, OfBaseline, Predicted
from driftline.evaluate.recent_errors import RecentErrors
from driftline.evaluate.scores import Score, Settings

LEVELS = np.array([0.05, 0.1, 0.5, 0.95])
SPREAD = as_spread("test", 0.9, LEVELS)


def stream(rows=1500):
    rng = np.random.default_rng(3)
    y = rng.normal(size=rows)
    y[rng.random(rows) < 0.1] = np.nan
    return rng.normal(size=rows), y


def naive(predictions, y, delay, levels=LEVELS):
    """The same row by row, by np.quantile."""
    errors = y - predictions
    known, now, found = [], np.full(len(levels), np.nan), []
    for t in range(len(y)):
        come = t - delay - 1
        if come >= 0 and np.isfinite(errors[come]):
            known.append(errors[come])
            if len(known) <= 20 or len(known) % 20 == 0:
                now = np.quantile(known[-500:], levels)
        found.append(predictions[t] + now)
    return np.array(found)


@pytest.mark.parametrize("delay", [0, 7])
def test_they_are_the_quantiles_of_the_last_500_errors_known_and_blocks_and_pauses_do_not_matter(delay):
    predictions, y = stream()
    around, parts = RecentErrors(SPREAD, delay), []
    for rows in np.split(np.arange(1500), [1, 7, 7, 30, 640, 1490]):
        parts.append(around.of(predictions[rows], y[rows]))
        around = RecentErrors(SPREAD, delay).resume(around.state())
    expected = naive(predictions, y, delay)
    np.testing.assert_allclose(np.concatenate([part.quantiles for part in parts]), expected, rtol=1e-12)
    for end, column in (("lower", 0), ("upper", 3)):
        np.testing.assert_allclose(np.concatenate([getattr(part, end) for part in parts]), expected[:, column], rtol=1e-9)


def test_huge_errors_and_infinite_labels_do_not_spoil_them():
    around = RecentErrors(SPREAD)
    y = np.array([1.0, 2.0, np.inf, 1e308, -1e308, 3.0])
    found = around.of(np.array([1.0, 1.0, 1.0, -1e308, 1.0, 1.0]), y)
    assert np.isnan(found.quantiles[0]).all()
    np.testing.assert_allclose(found.quantiles[-1], 1 + np.quantile([0.0, 1.0, -1e308], LEVELS))


def test_prequential_measures_baselines_by_the_metrics_of_the_learners():
    X, y = dl.streams.Rotating(rate=0.01, noise=0.3, seed=1).take(800)
    metrics = ["mae", "coverage", "width", "interval_score", "crps", "pinball"]
    result = evaluate.prequential(
        {"RLS": dl.RLS()}, (X, y), metrics=metrics, level=0.9, quantiles=LEVELS, baselines=True, delay=2, progress=False
    )
    last = np.concatenate([np.full(3, np.nan), y[:-3]])
    quantiles = naive(last, y, 2)
    judged = np.isfinite(quantiles).all(axis=1)
    found = result.baselines["last value"]
    assert found["mae"] == pytest.approx(np.abs(y - last)[3:].mean())
    assert found["crps"] == pytest.approx(evaluate.crps(quantiles[judged], LEVELS, y[judged]).mean())
    pinball = evaluate.pinball(quantiles[judged], LEVELS, y[judged]).mean(axis=0)
    assert [found[f"pinball_{level!r}"] for level in LEVELS.tolist()] == pytest.approx(pinball.tolist())
    ends = quantiles[judged][:, 0], quantiles[judged][:, 3]
    assert found["interval_score"] == pytest.approx(evaluate.interval_score(*ends, y[judged], 0.9).mean())
    assert found["coverage"] == pytest.approx(np.mean((ends[0] <= y[judged]) & (y[judged] <= ends[1])))
    assert "(running mean)" in str(result)
    assert "running mean" in result.to_json()


def test_baselines_are_refused_for_classes():
    data = (np.zeros((4, 1)), np.array(["a", "b", "a", "b"]))
    with pytest.raises(ValueError, match="baselines are measured for labels that are numbers"):
        evaluate.prequential(dl.Classifier(dl.RLS()), data, baselines=True)


def test_a_baseline_is_judged_where_the_model_has_finite_intervals():
    y = np.arange(100.0)
    metric = OfBaseline(IntervalScore(0.9), "last", "of last")
    score = Score(Settings.totals([IntervalScore(0.9), metric], SPREAD))
    ends = [np.where(np.arange(100) < 60, side, y) for side in (-np.inf, np.inf)]
    score.add(Predicted(y, *ends), y, baselines={"last": y - 5 + (np.arange(100) % 2)})
    found = score.totals()
    errors = 5 - np.arange(100) % 2
    low, high = naive(y - errors, y, 0)[60:, [0, 3]].T
    assert found["of last"] == pytest.approx(evaluate.interval_score(low, high, y[60:], 0.9).mean())


def test_the_interval_score_is_for_the_level_of_the_intervals():
    X, y = dl.streams.Rotating(rate=0.01, noise=0.3, seed=1).take(300)
    run = dl.RLS().run(X, y, level=0.8)
    known = np.isfinite(run.lower)
    expected = evaluate.interval_score(run.lower[known], run.upper[known], y[known], 0.8).mean()
    for options in ({"level": 0.8, "metrics": "interval_score"}, {"metrics": evaluate.IntervalScore(0.8)}):
        result = evaluate.prequential(dl.RLS(), (X, y), progress=False, **options)
        assert result.totals["RLS"]["interval_score"] == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"IntervalScore must have the level of the intervals, 0\.9, got 0\.8"):
        evaluate.prequential(dl.RLS(), (X, y), level=0.9, metrics=evaluate.IntervalScore(0.8))
