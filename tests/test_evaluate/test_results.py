from __future__ import annotations

import csv
import io
import json
import sys

import numpy as np
import pytest

import driftline as dl
from driftline import evaluate
from tests.test_evaluate import naive


@pytest.fixture(scope="module")
def result():
    stream = dl.streams.Switching(rate=0.4, unit="deg", every=700, noise=0.5)
    learners = [dl.Ridge(), dl.RLS(forgetting=0.93)]
    return evaluate.prequential(learners, stream, rows=1500, window=100, holdout=20, holdout_every=500)


def test_totals_print_and_parse_back(result):
    assert "1,500 rows" in str(result)
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert [row["learner"] for row in rows] == ["Ridge", "RLS"]
    assert float(rows[1]["mse"]) == result.totals["RLS"]["mse"]
    ridge, rls = result.to_markdown().splitlines()[-2:]
    assert "**" not in ridge
    assert rls.count("**") == 6
    assert r"\textbf" in result.to_latex()


def test_curves_parse_back(result):
    rows = list(csv.DictReader(io.StringIO(result.curve_table().to_csv())))
    found = [
        (int(row["rows"]), float(row["value"]))
        for row in rows
        if [row["kind"], row["learner"], row["metric"]] == ["window", "RLS", "mae"]
    ]
    curve = result.curve("RLS", "mae", "window")
    assert found == list(zip(curve.rows.tolist(), curve.values.tolist(), strict=True))


def test_json_holds_settings_totals_and_curves(result):
    content = json.loads(result.to_json())
    assert (content["rows"], content["window"], content["fading"]) == (1500, 100, 0.999)
    assert content["totals"]["Ridge"] == result.totals["Ridge"]
    assert set(content["curves"]) == {"cumulative", "window", "fading", "holdout"}
    assert content["curves"]["holdout"]["RLS"]["mse"]["rows"] == [500, 1000, 1500]
    assert content["curves"]["fading"]["RLS"]["mse"]["values"][-1] == result.last("fading")["RLS"]["mse"]


def test_given_predictions_are_scored_alike():
    X, y = dl.streams.Rotating(rate=1.0, unit="deg").take(600)
    run = dl.RLS().run(X, y)
    scored = evaluate.score(y, {"RLS": run, "zero": np.zeros(600)}, window=50)
    direct = evaluate.prequential(dl.RLS(), (X, y), window=50)
    assert scored.totals["RLS"] == direct.totals["RLS"]
    assert scored.last("window")["RLS"] == direct.last("window")["RLS"]
    assert scored.totals["zero"]["mse"] == pytest.approx(np.mean(y**2))
    with pytest.raises(ValueError, match="y has 600 labels, predictions of short are 3"):
        evaluate.score(y, {"short": np.zeros(3)})


def test_given_intervals_are_scored_by_coverage_and_width():
    rng = np.random.default_rng(0)
    y = rng.normal(size=2000)
    lower, upper = np.full(2000, -1.0), rng.uniform(0.0, 2.0, size=2000)
    result = evaluate.score(y, np.zeros(2000), intervals=(lower, upper), window=100, points=20)
    inside = (lower <= y) & (y <= upper)
    total = result.totals["predictions"]
    assert total["coverage"] == pytest.approx(inside.mean())
    assert total["width"] == pytest.approx((upper - lower).mean())
    curve = result.curve("predictions", "coverage", "window")
    np.testing.assert_allclose(curve.values, [inside[max(0, row - 100) : row].mean() for row in curve.rows])
    with pytest.raises(ValueError, match="need intervals"):
        evaluate.score(y, y, metrics="width")


@pytest.mark.parametrize("kind", ["cumulative", "window", "fading", "holdout"])
def test_pictures_name_their_axes_and_lines(result, kind, tmp_path):
    path = tmp_path / "curves.png"
    axes = result.plot("mse", kind, path=path)
    assert path.stat().st_size > 5_000
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("row", "mean squared error")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["Ridge", "RLS"]
    assert len({line.get_color() for line in axes.lines}) == 2


@pytest.mark.parametrize("kind", ["scores", "ranks", "robustness"])
def test_comparisons_have_pictures(kind, tmp_path):
    streams = {name: dl.streams.Rotating(rate=rate, unit="deg") for name, rate in (("slow", 0.1), ("fast", 2.0))}
    result = evaluate.compare([dl.RLS(), dl.Ridge(), dl.NLMS()], streams, rows=100, repeats=2, n_jobs=1)
    axes = result.plot(kind, path=tmp_path / "comparison.png")
    assert (tmp_path / "comparison.png").stat().st_size > 5_000
    assert axes.get_xlabel()
    assert axes.get_title()


def test_more_learners_than_colours_stay_distinguishable():
    from driftline.evaluate.plots import style

    assert len({tuple(style(number).items()) for number in range(20)}) == 20


def test_without_matplotlib_a_picture_says_what_to_install(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "driftline.evaluate.figures", raising=False)
    with pytest.raises(ImportError, match=r'pip install "driftline\[plot\]"'):
        result.plot()


def test_pictures_and_tests_are_imported_when_needed():
    import subprocess

    code = (
        "import sys, driftline as dl; dl.evaluate; print([m for m in ('scipy', 'matplotlib', 'river') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", ["cumulative", "window", "fading"])
def test_the_width_is_the_mean_of_the_finite_intervals(kind):
    """The first intervals of every learner are infinite, and would make the mean infinite for ever."""
    stream = dl.streams.Rotating(rate=0.01, noise=0.1)
    settings = {"window": 60, "fading": 0.98}
    result = evaluate.prequential(dl.RLS(), stream, rows=90, level=0.9, points=None, **settings)
    run = dl.RLS().run(*stream.take(90), level=0.9)
    widths = run.upper - run.lower
    finite = np.isfinite(widths)
    assert 0 < np.argmax(finite) < 20
    values = result.curve("RLS", "width", kind).values
    assert np.isinf(values[: np.argmax(finite)]).all()
    for row in (30, 89):
        weights = naive.weights(kind, row, **settings) * finite[: row + 1]
        assert values[row] == pytest.approx(np.average(np.where(finite, widths, 0.0)[: row + 1], weights=weights), rel=1e-12)
    assert result.metrics["width"].title == "mean width of the finite intervals"
