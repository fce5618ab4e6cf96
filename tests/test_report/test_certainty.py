"""Scores of intervals and quantiles in the report, beside those of baselines, and the reliability picture."""

import re

import numpy as np
import pytest

import driftline as dl
from driftline import evaluate
from driftline.report import RunLog
from driftline.report.certainty import certainty
from driftline.report.page import render
from tests.test_cli.calling import call, predictions
from tests.test_evaluate.test_recent_errors import naive

LEVELS = (0.1, 0.25, 0.9)


def stream(rows=900):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(rows, 2))
    y = X @ [1.0, -2.0] + rng.exponential(size=rows)
    y[rng.random(rows) < 0.05] = np.nan
    return X, y


def log_of(**options):
    X, y = stream()
    run = dl.RLS(missing="skip").run(X, y, **options)
    log = RunLog(level=options.get("level"))
    log.add(run, X, y)
    return log, run, y


def test_the_scores_are_those_of_evaluate_on_the_rows_with_finite_intervals_and_quantiles():
    log, run, y = log_of(level=0.8, quantiles=LEVELS)
    totals = log.certainty.score.totals()
    known = np.isfinite(y) & np.isfinite(run.quantiles).all(axis=1)
    assert totals["crps"] == pytest.approx(evaluate.crps(run.quantiles[known], LEVELS, y[known]).mean())
    ends = np.isfinite(y) & np.isfinite(run.lower)
    scores = evaluate.interval_score(run.lower[ends], run.upper[ends], y[ends], 0.8)
    assert totals["interval_score"] == pytest.approx(scores.mean())
    mean = np.array([np.nanmean(y[:t]) if t else np.nan for t in range(len(y))])
    around = naive(mean, y, 0, (0.1, 0.9, *LEVELS))
    assert totals["crps of mean"] == pytest.approx(evaluate.crps(around[known][:, 2:], LEVELS, y[known]).mean())
    scores = evaluate.interval_score(around[ends, 0], around[ends, 1], y[ends], 0.8)
    assert totals["interval_score of mean"] == pytest.approx(scores.mean())
    found = certainty(log.certainty, "RLS")
    expected = evaluate.reliability(run, y)
    for name in ("level", "below", "at_most"):
        assert found.reliability[name].tolist() == pytest.approx(expected[name].tolist())
    assert found.rows == expected["rows"][0]


def test_the_picture_has_a_point_for_each_quantile_where_its_share_is():
    log, run, y = log_of(level=0.8, quantiles=LEVELS)
    page = render(log)
    section = page[page.index('id="certainty"') :]
    points = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', section)
    x, height = np.array(points, dtype=float).T
    ticks = dict(re.findall(r'text-anchor="middle" x="([\d.]+)" y="[\d.]+">(0|1)<', section))
    left, right = (float(place) for place, tick in sorted(ticks.items(), key=lambda item: item[1]))
    np.testing.assert_allclose((x - left) / (right - left), LEVELS, atol=1e-3)
    top, bottom = 8, 8 + right - left
    np.testing.assert_allclose((bottom - height) / (bottom - top), evaluate.reliability(run, y)["below"], atol=1e-3)
    assert "CRPS of the quantiles is" in section


@pytest.mark.parametrize(
    ("options", "shown", "hidden"),
    [
        ({"level": 0.9}, ["interval score", "With quantiles"], ["CRPS</th>", "<circle"]),
        ({"quantiles": LEVELS}, ["CRPS</th>", "<circle"], ["interval score</th>"]),
        ({}, [], ['id="certainty"']),
    ],
)
def test_the_page_shows_what_the_run_has(options, shown, hidden):
    page = render(log_of(**options)[0])
    assert all(words in page for words in shown)
    assert not any(words in page for words in hidden)


def test_discrete_labels_have_bars():
    X = np.ones((600, 1))
    y = np.random.default_rng(1).integers(0, 2, size=600).astype(float)
    log = RunLog()
    log.add(dl.Ridge().run(X, y, quantiles=(0.25, 0.75)), X, y)
    found = certainty(log.certainty, "Ridge").reliability
    assert (found["below"] <= found["at_most"]).all()
    assert 'class="between"' in render(log)


def test_other_quantiles_in_a_later_block_are_refused_and_nothing_is_added():
    X, y = stream()
    log, model = RunLog(level=0.9), dl.RLS(missing="skip")
    log.add(model.run(X[:500], y[:500], level=0.9, quantiles=LEVELS), X[:500], y[:500])
    for other, words in (((0.5,), r"\[0.5\]"), (None, "none")):
        run = model.run(X[500:], y[500:], level=0.9, quantiles=other)
        with pytest.raises(ValueError, match=r"quantiles were \[0.1, 0.25, 0.9\] in earlier blocks, and are " + words):
            log.add(run, X[500:], y[500:])
    assert log.rows == 500
    assert log.certainty.score.scored < 500


def test_a_report_of_the_command_line_follows_quantiles_that_the_output_does_not_have(capsys, tmp_path):
    X, y = stream(400)
    lines = [f"{a},{b},{'' if np.isnan(c) else c}" for (a, b), c in zip(X, y, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,y", *lines]))
    page, out = tmp_path / "r.html", tmp_path / "o.parquet"
    options = ("-t", "y", "-m", "rls", "--level", 0.9, "--report", page, "--out", out)
    code, said, _ = call(capsys, "run", tmp_path / "a.csv", *options)
    assert code == 0
    assert re.search("interval score [0-9.]+, [0-9.]+ % below the .*'s with its last errors", said)
    assert page.read_text().count("<circle") == 7
    assert not any(name.startswith("quantile") for name in predictions(out).column_names)
