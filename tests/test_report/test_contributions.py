"""The effects of features on predictions, and their share of the labels' variance, against explicit formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from driftline.report import RunLog, charts
from driftline.report.contributions import contributions, shared_out
from driftline.report.facts import Facts
from driftline.report.hindsight import stacked


def triangle(X, predictions, y):
    rows = np.column_stack([np.ones(len(y)), X, predictions, y])
    return stacked(np.zeros((1, rows.shape[1], rows.shape[1])), rows[None])[0]


def scores(X, values):
    """Correlation-adjusted scores (Zuber and Strimmer): P^(-1/2) times the correlations, times the standard deviation."""
    P = np.corrcoef(X, rowvar=False)
    eigenvalues, vectors = np.linalg.eigh(P)
    correlations = np.array([np.corrcoef(column, values)[0, 1] for column in X.T])
    return vectors @ np.diag(eigenvalues**-0.5) @ vectors.T @ correlations * np.std(values)


@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_contributions_are_correlation_adjusted_scores(features, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, features)) @ rng.normal(size=(features, features)) + 5 * rng.normal(size=features)
    X += 0.1 * rng.normal(size=X.shape) * X.std(axis=0)  # well-conditioned enough for the inverse above
    p, y = X @ rng.normal(size=features) + 0.3 * rng.normal(size=200), rng.normal(size=200)
    found = triangle(X, p, y)
    assert shared_out(found, -2) == pytest.approx(scores(X, p), rel=1e-6, abs=1e-7 * np.std(p))
    assert shared_out(found, -1) == pytest.approx(scores(X, y), rel=1e-6, abs=1e-7)


def test_uncorrelated_features_contribute_weight_times_spread():
    rng = np.random.default_rng(0)
    X = np.linalg.qr(np.column_stack([np.ones(300), rng.normal(size=(300, 3))]))[0][:, 1:] * [10.0, 1.0, 0.1]
    p = X @ [3.0, -2.0, 40.0] + 7.0
    assert shared_out(triangle(X, p, p), -2) == pytest.approx(np.array([3.0, -2.0, 40.0]) * X.std(axis=0), rel=1e-10)


def test_collinear_columns_with_huge_weights_stay_within_the_predictions():
    """A weight of a million times the feature's spread means nothing if another weight cancels it."""
    rng = np.random.default_rng(1)
    slow = np.linspace(0, 1, 500)
    X = np.column_stack([slow, slow + 1e-6 * rng.normal(size=500), rng.normal(size=500)])
    p = 1e6 * X[:, 0] - 1e6 * X[:, 1] + 2 * X[:, 2]
    found = shared_out(triangle(X, p, p), -2)
    assert np.abs(1e6 * X[:, 0].std()) > 1e5
    assert np.sum(found**2) == pytest.approx(np.var(p), rel=1e-9)
    assert np.abs(found).max() <= p.std()


def test_copies_of_a_feature_and_a_full_set_of_categories_share_their_contribution():
    rng = np.random.default_rng(2)
    x, kind = rng.normal(size=400), rng.integers(0, 3, size=400)
    dummies = (kind[:, None] == np.arange(3)).astype(float)  # they add up to 1: one of them is redundant
    p = 3 * x + dummies @ [0.0, 5.0, -5.0]
    found = shared_out(triangle(np.column_stack([x, x, dummies, np.full(400, 2.0)]), p, p), -2)
    assert found[0] == pytest.approx(found[1])
    assert found[-1] == 0
    assert np.sum(found**2) == pytest.approx(np.var(p))
    assert found[3] > 0.5 > -0.5 > found[4]


def test_contributions_of_windows_and_of_the_whole_match_their_rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1000, 3)) @ rng.normal(size=(3, 3))
    y = np.where(np.arange(1000) < 500, X[:, 0], 3 * X[:, 1]) + 0.1 * rng.normal(size=1000)
    model = dl.RLS(forgetting=0.95)
    run = model.run(X, y)
    facts = Facts(RunLog.of(run, X, model=model))
    found = contributions(facts)
    assert found.ends.tolist() == [*range(63, 960, 64)]  # the last 40 rows are too few
    for window in (1, 9, 14):
        rows = slice(64 * window, 64 * window + 64)
        assert found.windows[window] == pytest.approx(scores(X[rows], run.predictions[rows]), rel=1e-6)
    assert found.whole == pytest.approx(scores(X[1:], run.predictions[1:]), rel=1e-6)  # no label has arrived before row 0
    assert found.explained == pytest.approx((scores(X[1:], y[1:]) / np.std(y[1:])) ** 2, rel=1e-5)


def test_many_effects_are_drawn_in_separate_panels_and_few_in_one():
    rng = np.random.default_rng(4)
    for features, drawn, apart in ((2, 2, False), (15, 12, True)):
        X = rng.normal(size=(800, features))
        run = dl.RLS().run(X, X @ np.arange(1.0, 1 + features))
        facts = Facts(RunLog.of(run, X))
        chart = charts.effects(facts, contributions(facts))
        assert (len(chart.lines), chart.apart) == (drawn, apart)
        assert chart.lines[0].label == f"x{features - 1}"


def test_a_report_says_if_predictions_do_not_depend_on_any_input():
    X = np.random.default_rng(5).normal(size=(300, 2))
    run = dl.Run(predictions=np.full(300, 4.0), errors=np.zeros(300))
    facts = Facts(RunLog.of(run, X))
    assert charts.effects(facts, contributions(facts)).missing == "The predictions do not follow any input."


def test_sine_and_cosine_of_an_angle_count_as_one_input_at_any_phase():
    rng = np.random.default_rng(3)
    hours = np.arange(2_400)
    wind = rng.normal(size=2_400)
    p = 5 * np.sin(2 * np.pi * hours / 24) + 2 * wind
    for shift in (0.0, 1.0, 2.5):
        angle = 2 * np.pi * hours / 24 + shift
        X = np.column_stack([np.sin(angle), wind, np.cos(angle), wind + rng.normal(size=2_400)])
        names = ["when: day sin", "wind", "when: day cos", "basin"]
        found = contributions(Facts(RunLog.of(dl.Run(predictions=p, errors=np.zeros(2_400)), X, names=names)))
        assert found.names == ["when: day", "wind", "basin"]
        each = shared_out(triangle(X[1:], p[1:], p[1:]), -2)
        assert found.whole == pytest.approx([np.hypot(each[0], each[2]), each[1], each[3]], rel=1e-2)
        assert found.whole[0] == pytest.approx(5 * np.sqrt(0.5), rel=0.02)
        assert (found.windows[:, 0] > 0).all()
        assert found.explained.sum() == pytest.approx(1, rel=1e-6)


def test_features_with_the_same_name_stay_separate():
    X = np.random.default_rng(4).normal(size=(300, 2))
    found = contributions(Facts(RunLog.of(dl.Run(predictions=X[:, 0], errors=np.zeros(300)), X, names=["a", "a"])))
    assert (found.names, found.places) == (["a", "a"], [[0], [1]])
