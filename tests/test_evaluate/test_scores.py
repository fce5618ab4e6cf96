"""Scores and baselines: correct by independent formulas, independent of the cut into blocks, and resumable."""

import json
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import driftline as dl
from driftline import evaluate
from driftline.base.levels import Spread
from driftline.base.run import Run
from driftline.cli.measures import Errors, WrongClasses, given_score
from driftline.evaluate import coverage_by, crps, interval_score, pinball
from driftline.evaluate.baselines import BASELINES, OF_CLASSES, Baselines, LateLabels, OneSeasonAgo
from driftline.evaluate.metrics import MSE, Coverage, OfBaselineWhereKnown, Predicted
from driftline.evaluate.scores import Score, Settings


def rows(count, seed=0, level=0.0):
    """Labels and predictions with gaps, and intervals, the first of them infinite."""
    rng = np.random.default_rng(seed)
    y = level * (np.arange(count) > count // 2) + rng.normal(size=count)
    predicted = y + 0.3 * rng.normal(size=count)
    lower, upper = predicted - 0.4, predicted + 0.4
    lower[: count // 10], upper[: count // 10] = -np.inf, np.inf
    y[rng.random(count) < 0.1] = np.nan
    predicted[rng.random(count) < 0.1] = np.nan
    return y, predicted, lower, upper


def scored(y, predicted, lower, upper, cuts=(), delay=0, resume=False):
    score = Errors().score(delay, Spread(0.9))
    for start, stop in pairwise([0, *sorted(cuts), len(y)]):
        part = slice(start, stop)
        score.add(Predicted(predicted[part], lower[part], upper[part]), y[part])
        if resume:
            state = score.state()
            arrays = {name: value.copy() for name, value in state.items() if isinstance(value, np.ndarray)}
            plain = json.loads(json.dumps({name: value for name, value in state.items() if name not in arrays}))
            score = Errors().score(delay, Spread(0.9))
            score.restore(plain | arrays)
    return score


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("level", [0.0, 1e9])
def test_totals_match_their_definitions(delay, level):
    y, predicted, lower, upper = rows(3 * Settings.totals(()).unit + 17, level=level)
    score = scored(y, predicted, lower, upper, cuts=[5, 300], delay=delay)
    before = [y[: max(t - delay, 0)] for t in range(len(y))]
    before = [known[~np.isnan(known)] for known in before]
    begun = np.array([len(known) > 0 for known in before])
    good = ~np.isnan(y) & ~np.isnan(predicted)
    assert (score.scored, score.early, score.skipped) == ((good & begun).sum(), (good & ~begun).sum(), (~good).sum())
    good &= begun
    errors = (y - predicted)[good]
    last = np.array([known[-1] if len(known) else np.nan for known in before])[good]
    mean = np.array([known.mean() if len(known) else np.nan for known in before])[good]
    season = one_season_ago(y, delay)[good]
    finite = good & np.isfinite(lower)
    expected = {
        "rmse": np.sqrt(np.mean(errors**2)),
        "mae": np.mean(np.abs(errors)),
        "r2": 1 - np.sum(errors**2) / np.sum((y[good] - y[good].mean()) ** 2),
        "last_value_rmse": np.sqrt(np.mean((y[good] - last) ** 2)),
        "running_mean_rmse": np.sqrt(np.mean((y[good] - mean) ** 2)),
        "seasonal_value_rmse": np.sqrt(np.mean((y[good] - season) ** 2)),
        "coverage": np.mean(((lower <= y) & (y <= upper))[finite]),
    }
    scores = interval_score(lower[finite], upper[finite], y[finite], 0.9)
    expected["interval_score"] = scores.mean()
    found = score.figures()  # the baselines' intervals are tested in test_recent_errors.py
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-9)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 900), max_size=5), st.booleans(), st.integers(0, 4))
def test_neither_blocks_nor_resuming_change_the_scores(cuts, resume, delay):
    y, predicted, lower, upper = rows(900)
    whole = scored(y, predicted, lower, upper, (), delay)
    assert scored(y, predicted, lower, upper, cuts, delay, resume).figures() == whole.figures()


def test_scores_are_none_if_there_is_nothing_to_measure():
    score = Errors().score(0)
    assert set(score.figures().values()) == {None}
    score.add(Predicted(np.zeros(3)), np.full(3, np.nan))
    assert set(score.figures().values()) == {None}
    assert (score.scored, score.skipped) == (0, 3)


@given(st.lists(st.integers(0, 40), max_size=6), st.integers(0, 7), st.integers(0, 2**32 - 1))
def test_baselines_use_the_labels_that_have_arrived(sizes, delay, seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(sum(sizes)) < 0.1, np.nan, rng.normal(size=sum(sizes)))
    baselines, last, mean = Baselines(delay), [], []
    for part in np.split(y, np.cumsum(sizes)):
        found = baselines.predict(part)
        last.extend(found["last"])
        mean.extend(found["mean"])
        baselines = Baselines.restore(baselines.state())
    for row in range(len(y)):
        known = y[: max(row - delay, 0)]
        known = known[np.isfinite(known)]
        assert last[row] == (known[-1] if len(known) else pytest.approx(np.nan, nan_ok=True))
        assert mean[row] == pytest.approx(known.mean() if len(known) else np.nan, rel=1e-9, abs=1e-12, nan_ok=True)


def test_any_label_is_true_before_a_late_label_arrives():
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
def test_a_label_arrives_after_the_row_delay_rows_later_is_predicted(sizes, delay):
    """Row t is learned after row t + delay is predicted, so row t + delay + 1 is the first that can use it."""
    late, y = LateLabels(delay), np.arange(float(sum(sizes)))
    came, row = 0, 0
    for size in sizes:
        labels, before = late.arrived(y[row : row + size])
        assert labels.tolist() == list(range(came, max(came, row + size - delay)))
        assert (came + before).tolist() == [max(t - delay, 0) for t in range(row, row + size)]
        came, row = came + len(labels), row + size
    assert late.waiting.tolist() == y[came:].tolist()


def one_season_ago(y, delay):
    """The seasonal baseline by its definition, row by row."""
    lags = [next(multiple for multiple in range(lag, 10**6, lag) if multiple > delay) for lag in OneSeasonAgo.lags]

    def predictions(row):
        known = y[: max(row - delay, 0)]
        known = known[np.isfinite(known)]
        last = known[-1] if len(known) else np.nan
        return [y[row - lag] if row >= lag and np.isfinite(y[row - lag]) else last for lag in lags]

    losses, out = [0.0] * len(lags), []
    for row in range(len(y)):
        arrived = row - delay - 1
        if arrived >= 0 and np.isfinite(y[arrived]):
            predicted = predictions(arrived)
            losses = [
                loss + (0.0 if np.isnan(p) else (y[arrived] - p) ** 2) for loss, p in zip(losses, predicted, strict=True)
            ]
        out.append(predictions(row)[int(np.argmin(losses))])
    return np.array(out)


@settings(max_examples=25)
@given(st.sampled_from([0, 1, 11, 12, 13, 24, 47, 200]), st.sampled_from([7, 12, 24, 48]), st.integers(0, 2**32 - 1))
def test_the_seasonal_baseline_matches_its_definition(delay, period, seed):
    rng = np.random.default_rng(seed)
    y = 5 * np.sin(2 * np.pi * np.arange(700) / period) + rng.normal(size=700)
    y[rng.random(700) < 0.05] = np.nan
    y[rng.random(700) < 0.01] = np.inf  # an infinite label never arrives either
    baselines, found = Baselines(delay), []
    for part in np.split(y, np.sort(rng.integers(0, 700, size=5))):
        found.extend(baselines.predict(part)["season"])
        baselines = Baselines.restore(baselines.state())
    np.testing.assert_array_equal(found, one_season_ago(y, delay))


def test_the_season_is_found_and_counts_from_the_predicted_row():
    """With labels 30 rows late, the label of one day ago is not known, but that of two days ago is."""
    y = np.sin(2 * np.pi * np.arange(600) / 24)
    for delay, rows_ago in ((0, 24), (12, 24), (24, 48), (30, 48), (60, 72)):
        baselines = Baselines(delay)
        predicted = baselines.predict(y)["season"]
        assert baselines.known["season"].rows_ago == rows_ago
        np.testing.assert_allclose(predicted[400:], y[400:], atol=1e-12)


def test_the_season_is_chosen_without_the_label_to_be_predicted():
    """The labels from row 500 on do not change the predictions up to row 500 + delay."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=600)
    for delay in (0, 5):
        before = Baselines(delay).predict(y)["season"]
        after = Baselines(delay).predict(np.append(y[:500], 1e6 * rng.normal(size=100)))["season"]
        assert np.array_equal(before[: 501 + delay], after[: 501 + delay], equal_nan=True)
        assert not np.array_equal(before, after, equal_nan=True)


def test_every_row_is_scored_or_skipped_or_early_and_none_twice():
    y = np.array([np.nan, 1.0, np.nan, 2.0, 3.0, np.nan])
    score = given_score([])
    score.add(Predicted(np.zeros(6)), y, early=3)
    assert (score.early, score.scored, score.skipped) == (3, 2, 1)


def test_the_baselines_of_classes_count_the_classes_that_have_arrived_and_keep_their_types():
    rng = np.random.default_rng(5)
    classes = np.array([*("red", 2, None, 2.5, True)], dtype=object)[rng.integers(0, 5, 60)]
    for delay in (0, 3):
        baselines, found = Baselines(delay, OF_CLASSES), []
        for part in np.split(classes, [1, 7, 7, 40]):
            predicted = baselines.predict(part)
            found += zip(predicted["most_frequent_class"], predicted["last_class"], strict=True)
            baselines = Baselines(kinds=OF_CLASSES).resume(baselines.state())
        for row, (frequent, last) in enumerate(found):
            known = [label for label in classes[: max(row - delay, 0)] if label is not None]
            assert last == (known[-1] if known else None)
            assert frequent == (Counter(known).most_common(1)[0][0] if known else None)
            assert type(last) is (type(known[-1]) if known else type(None))


def test_a_classifier_and_the_baselines_of_classes_are_scored_on_the_same_rows():
    classes, said = np.array([*"aabab", None], dtype=object), np.array(["b", "a", "a", None, "b", "a"], dtype=object)
    score = WrongClasses().score(delay=0)
    score.add(Predicted(said), classes)
    assert (score.scored, score.early, score.skipped) == (3, 1, 2)  # rows 1, 2 and 4; before row 0 no class was known
    assert score.figures() == {
        "accuracy": pytest.approx(2 / 3),
        "accuracy of the most frequent class": pytest.approx(1 / 3),
        "accuracy of the last class": pytest.approx(1 / 3),
        "coverage": None,
    }


def test_coverage_by_group_matches_its_definition():
    rng = np.random.default_rng(3)
    y, predicted, lower, upper = rows(900)
    groups = rng.choice(["noon", "night", "rush"], size=900)
    groups[:90] = "start"  # its intervals are infinite
    run = Run(predicted, y - predicted, lower, upper, level=0.8)
    found = coverage_by(run, y, groups)
    score = interval_score(lower, upper, y, 0.8)
    for place, name in enumerate(["night", "noon", "rush", "start"]):
        own = (groups == name) & np.isfinite(y) & np.isfinite(predicted) & np.isfinite(lower)
        below, above = np.maximum(lower[own] - y[own], 0), np.maximum(y[own] - upper[own], 0)
        expected = {
            "rows": own.sum(),
            "coverage": ((lower <= y) & (y <= upper))[own].mean() if own.any() else np.nan,
            "width": (upper - lower)[own].mean() if own.any() else np.nan,
            "score": (upper[own] - lower[own] + 10 * (below + above)).mean() if own.any() else np.nan,
        }
        assert found["group"][place] == name
        assert {what: found[what][place] for what in expected} == pytest.approx(expected, rel=1e-12, nan_ok=True)
        assert not own.any() or score[own].mean() == pytest.approx(expected["score"], rel=1e-12, nan_ok=True)


def test_the_true_quantiles_have_the_lowest_mean_interval_score():
    y = np.random.default_rng(4).normal(size=40_000)
    means = [interval_score(np.full(len(y), -half), np.full(len(y), half), y, 0.9).mean() for half in (1.3, 1.645, 2.0)]
    assert means[1] == min(means)


@pytest.mark.parametrize(
    ("run", "y", "groups", "words"),
    [
        (Run(np.zeros(3), np.zeros(3)), np.zeros(3), [1, 2, 3], "coverage_by: the run has no intervals"),
        (
            Run(*np.zeros((4, 3)), level=0.9),
            np.zeros(3),
            [1, 2],
            "groups must have one entry for each of 3 rows",
        ),
        (
            Run(*np.zeros((4, 3)), level=0.9),
            np.zeros(2),
            [1, 2, 3],
            "y has 2 labels, predictions of the run are 3",
        ),
    ],
)
def test_what_cannot_be_grouped_is_refused(run, y, groups, words):
    with pytest.raises(ValueError, match=words):
        coverage_by(run, y, groups)


def test_single_rows_and_blocks_give_the_same_sums_by_group():
    y, predicted, lower, upper = (values[90:] for values in rows(700))
    known = np.isfinite(y) & np.isfinite(predicted)
    table = np.column_stack([np.random.default_rng(5).integers(0, 7, size=len(y)), y, predicted, lower, upper, y])[known]
    metrics = Settings.by_group([MSE(), Coverage(), OfBaselineWhereKnown(MSE(), "last", "last")], compare=False)
    table[::5, 5] = np.nan  # rows without a baseline
    blocks, single = Score(metrics), Score(metrics)
    for part in np.split(table, [3, 200]):
        group, labels, *outputs, last = part.T
        blocks.add(Predicted(*outputs), labels, groups=group.astype(int), baselines={"last": last + 0.5})
    for group, label, *outputs, last in table.tolist():
        single.add_one((int(group), label, *outputs, last + 0.5))
    resumed = Score(metrics)
    for group in range(7):
        resumed.restore_group(group, json.loads(json.dumps(single.group_state(group), sort_keys=True)))
    own = table[table[:, 0] == 3]
    assert blocks.by_group()["mse"][3] == pytest.approx(np.mean((own[:, 1] - own[:, 2]) ** 2), rel=1e-12)
    assert blocks.by_group()["last"][3] == pytest.approx(0.25, rel=1e-12)
    for other in (single, resumed):
        assert {name: values.tolist() for name, values in other.by_group().items()} == {
            name: values.tolist() for name, values in blocks.by_group().items()
        }


def test_crps_of_normal_quantiles_is_near_that_of_the_normal_distribution():
    """The closed form of the CRPS of a standard normal distribution: y (2 Φ(y) - 1) + 2 φ(y) - 1/√π."""
    levels, y = np.arange(1, 1000) / 1000, np.linspace(-2, 2, 9)
    found = crps(np.tile(norm.ppf(levels), (len(y), 1)), levels, y)
    wanted = y * (2 * norm.cdf(y) - 1) + 2 * norm.pdf(y) - 1 / np.sqrt(np.pi)
    np.testing.assert_allclose(found, wanted, atol=2e-3)
    losses = pinball([[1.0, 4.0]] * 2, [0.2, 0.9], [3.0, 0.0])
    np.testing.assert_allclose(losses, [[0.4, 0.1], [0.8, 0.4]])
    with pytest.raises(ValueError, match=r"crps: quantiles must have a row for each of 9 labels"):
        crps(np.zeros((9, 2)), [0.5], y)


def test_rows_without_a_group_are_the_last_group():
    X, y = np.ones((40, 1)), np.arange(40.0)
    run = Run(np.zeros(40), y, np.zeros(40), np.full(40, 20.0), level=0.9)
    found = coverage_by(run, y, ["b", None] * 10 + ["a", "b"] * 10)
    assert found["group"].tolist() == ["a", "b", None]
    assert found["rows"].tolist() == [10, 20, 10]
    assert found["coverage"].tolist() == [0.1, 0.5, 1.0]
    with pytest.raises(TypeError, match="groups must be all text or all numbers"):
        coverage_by(run, y, np.array(["b", 3] * 20, dtype=object))
    result = evaluate.prequential(dl.RLS(), (X, y), level=0.9)
    for other, words in (
        (result, r"runs\['NAME'\]"),
        (dl.Forecaster(dl.RLS(), steps=2).run(X, y), "at_step"),
        (y, "ndarray"),
    ):
        with pytest.raises(TypeError, match=f"coverage_by: run must be a Run, got .*{words}"):
            coverage_by(other, y, y > 0)


def test_ends_in_the_wrong_order_are_refused():
    with pytest.raises(ValueError, match="the lower end of row 1 is above its upper end: 2 and 1"):
        interval_score([0, 2], [1, 1], [0.5, 0.5], 0.9)
    with pytest.raises(ValueError, match="the quantiles of row 0 must not decrease"):
        crps([[1.0, 0.5]], [0.1, 0.9], [1.0])


def test_a_metric_of_ones_own_names_a_column_or_computes_its_value():
    class Bias(evaluate.Metric):
        name, title, mean_of = "bias", "mean error", "error"

        def columns(self, rows):
            return {"error": rows.error}

    class Unfinished(Bias):
        mean_of = ""

    X, y = dl.streams.Rotating(noise=0.1, seed=0).take(300)
    found = evaluate.prequential(dl.RLS(), (X, y), metrics=[Bias()]).totals["RLS"]["bias"]
    assert found == pytest.approx(dl.RLS().run(X, y).errors.mean(), rel=1e-12)
    with pytest.raises(NotImplementedError, match="Unfinished: name a column in mean_of"):
        evaluate.prequential(dl.RLS(), (X, y), metrics=[Unfinished()])
