"""How runs and learners display themselves: reports, figures, notebooks."""

import html
import io
import re
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta, timezone
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imread

import driftline as dl
from driftline.base import registry
from driftline.report import RunLog, page
from driftline.report.alarms import alarm_lines
from driftline.report.facts import Facts
from driftline.report.headline import headline
from tests.cases import for_each


def tracked(rows=600, **options):
    X, y = dl.streams.Switching(rate=0.4, unit="deg", every=300, noise=0.5, seed=7).take(rows)
    model = dl.CRRLS(forgetting=0.95, period=200)
    return X, y, model, model.run(X, y, **options)


def findings(log):
    facts = Facts(log)
    return headline(facts, alarm_lines(facts, None))


class Sound(HTMLParser):
    """An HTML parser that fails if an element is closed that is not open."""

    VOID = ("meta", "link", "path", "line", "rect", "polygon", "br")

    def __init__(self):
        super().__init__()
        self.open, self.words = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def read(text):
    sound = Sound()
    sound.feed(text)
    assert sound.open == []
    return " ".join(sound.words)


@pytest.mark.parametrize("name", ["r.pdf", "r", "r.html.txt", "r.png"])
def test_a_report_refuses_a_file_name_of_another_format(tmp_path, name):
    run = dl.RLS().run(np.ones((5, 1)), np.ones(5))
    with pytest.raises(ValueError, match=r"^Run\.report: a report is HTML: path must end in \.html or \.htm, got '.*r"):
        run.report(tmp_path / name)
    with pytest.raises(ValueError, match=r"^RunLog\.write: a report is HTML"):
        RunLog.of(run).write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    run.report(tmp_path / "R.HTM")


def test_a_run_alone_makes_a_report(tmp_path):
    *_, run = tracked()
    run.report(tmp_path / "report.html", target="load")
    text = read((tmp_path / "report.html").read_text())
    assert "A model following load" in text
    assert "the inputs were not given" in text
    assert "There were no intervals to judge." in text


def test_given_names_times_and_titles_are_shown(tmp_path):
    X, _, model, run = tracked(level=0.8, weights_every=20)
    names = [f"sensor {n}" for n in range(20)]
    times = np.datetime64("2012-02-20") + np.arange(600) * np.timedelta64(1, "h")
    run.report(tmp_path / "r.html", X, model=model, names=names, times=times, command="driftline run x.csv", title="A title")
    text = read((tmp_path / "r.html").read_text())
    for words in (
        "A title",
        "sensor 19",
        "20 Feb 2012",
        "driftline run x.csv",
        "The 80 % intervals held",
        "forgetting",
    ):
        assert words in text


def test_the_findings_match_the_run():
    X, y, model, run = tracked(weights_every=20)
    found = " ".join(findings(RunLog.of(run, X, model=model)))
    mean = np.cumsum(y)[:-1] / np.arange(1, 600)
    design = np.column_stack([np.ones(600), X])[1:]
    fixed = y[1:] - design @ np.linalg.lstsq(design, y[1:], rcond=None)[0]
    assert np.mean((y[1:] - mean) ** 2) < np.mean(np.diff(y) ** 2)  # the mean is the better baseline here
    error = np.sqrt(np.mean(run.losses[1:]))
    below = [round(100 * (1 - error / np.sqrt(np.mean(other**2)))) for other in (y[1:] - mean, fixed)]
    assert "below predicting the running mean" in found
    assert [int(percent) for percent in re.findall(r"(\d+) % below", found)] == below
    assert "reset 3 times, first at row 199" in found


def test_times_that_go_back_are_not_used_as_the_axis():
    X, _, _, run = tracked()
    facts = Facts(RunLog.of(run, X, times=np.arange(600) % 100))
    assert not facts.by_time
    assert facts.span == (0.0, 599.0)


def test_a_figure_has_a_panel_for_each_chart(tmp_path):
    X, _, model, run = tracked(level=0.9, weights_every=20)
    figure = run.plot(X, model=model, path=tmp_path / "run.png")
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles[:3] == ["Error over time", "Predictions over the target", "What moves the predictions"]
    assert len(titles) == 6
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    dated = run.plot(X, times=np.datetime64("2020-01-01") + np.arange(600), model=model)
    assert len(dated.axes) == 6


def test_runs_of_classifiers_have_no_report(tmp_path):
    X, y, *_ = tracked()
    run = dl.Classifier(dl.RLS()).run(X, np.where(y > 0, "up", "down"))
    with pytest.raises(ValueError, match="must predict one number a row"):
        run.report(tmp_path / "report.html")
    assert "Run of 600 rows" in read(run._repr_html_())


def test_a_run_without_rows_has_no_report(tmp_path):
    run = dl.Run(predictions=np.empty(0), errors=np.empty(0))
    with pytest.raises(ValueError, match="at least one row"):
        run.report(tmp_path / "report.html")
    assert "Run of 0 rows" in read(run._repr_html_())


def test_errors_too_small_to_be_squared_are_not_reported_as_zero():
    _, y, _, run = tracked()
    small = dl.Run(predictions=1e-200 * run.predictions, errors=1e-200 * run.errors)
    assert "too small to be squared" in findings(RunLog.of(small))[0]
    right = dl.Run(predictions=y, errors=np.zeros(len(y)))
    assert findings(RunLog.of(right))[0] == "Every prediction was right."


DAY = datetime(2026, 3, 1, 12)
TIMES = {
    "naive": ([DAY, DAY + timedelta(hours=1)], "time", 1_772_366_400.0),
    "of numpy": (np.array(["2026-03-01T12", "2026-03-01T13"], dtype="M8[s]"), "time", 1_772_366_400.0),
    "of pandas": (pd.date_range(DAY, periods=2, freq="h"), "time", 1_772_366_400.0),
    "in a zone": (
        [DAY.replace(tzinfo=timezone(timedelta(hours=2))) + timedelta(hours=n) for n in (0, 1)],
        "time (UTC)",
        1_772_359_200.0,
    ),
    "of pandas in a zone": (pd.date_range(DAY, periods=2, freq="h", tz="Asia/Tokyo"), "time (UTC)", 1_772_334_000.0),
    "of Arrow in a zone": (
        pa.array([1_772_334_000, 1_772_337_600], pa.timestamp("s", tz="Asia/Tokyo")),
        "time (UTC)",
        1_772_334_000.0,
    ),
    "of polars in a zone": (
        pl.Series(pd.date_range(DAY, periods=2, freq="h", tz="Asia/Tokyo")),
        "time (UTC)",
        1_772_334_000.0,
    ),
    "numbers": ([5.0, 6.0], "time", 5.0),
    "none": (None, "row", 0.0),
}


@pytest.mark.parametrize("kind", TIMES)
def test_only_times_with_a_zone_are_in_utc(kind, monkeypatch):
    times, label, first = TIMES[kind]
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        facts = Facts(RunLog.of(dl.RLS().run([[1.0], [2.0]], [1.0, 2.0]), times=times))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert (facts.axis, facts.span[0]) == (label, first)
    monkeypatch.setattr(page, "_vendored", lambda name: "/* uPlot */")
    assert f'"axis":"{label}"' in page.render(facts.log)


def test_times_with_and_without_a_zone_do_not_mix():
    run = dl.RLS().run([[1.0], [2.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="all have a zone, or none"):
        RunLog.of(run, times=[DAY, DAY.replace(tzinfo=UTC)])


MISTAKEN = {
    "a learner's name": ({"model": "RLS"}, TypeError, "model must be a learner, got 'RLS'"),
    "a class": ({"model": dl.RLS}, TypeError, "model must be a learner"),
    "too few names": ({"names": ["a"]}, ValueError, "names must hold 20 names, one for each feature, got 1"),
    "too many names": ({"names": map(str, range(21))}, ValueError, "names must hold 20 names, .* got 21"),
    "one name as text": ({"names": "abc"}, ValueError, "a name for each feature, got 'abc'"),
}


@pytest.mark.parametrize("what", MISTAKEN)
def test_invalid_options_are_refused(tmp_path, what):
    options, kind, words = MISTAKEN[what]
    X = np.random.default_rng(0).normal(size=(50, 20))
    run = dl.RLS().run(X, X[:, 0])
    with pytest.raises(kind, match=words):
        run.report(tmp_path / "report.html", X, **options)
    assert not list(tmp_path.iterdir())


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    X, _, _, run = tracked()
    with pytest.raises(ValueError, match="the run has 600"):
        run.report(path, X[:10])
    assert path.read_text() == "old"
    with pytest.raises(FileNotFoundError, match="no such folder"):
        run.report(tmp_path / "nowhere" / "report.html")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_missing_dependency_is_named(tmp_path, monkeypatch):
    *_, run = tracked()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'pip install "driftline\[report\]"'):
        run.report(tmp_path / "report.html")


@for_each("name", registry.learners())
def test_every_learner_has_an_html_repr(name):
    model = registry.learners()[name]()
    assert "learned 0 rows" in read(model._repr_html_())
    X, y, *_ = tracked(200)
    model.run(X[:, :3] / 30, y > 0 if name in ("classifier", "glm") else y / 100)
    shown = read(model._repr_html_())
    assert "200 rows" in shown
    assert "None" not in shown.split("features")[1]


@pytest.mark.parametrize("make", [dl.Auto, lambda: dl.Auto(experts=[dl.RLS()]), lambda: dl.Network([dl.RLS(), dl.LMS()])])
def test_a_learner_that_mixes_others_shows_their_weights_and_not_those_of_features_that_depend_on_each_other(make):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    model = make()
    model.run(np.column_stack([X, X.sum(axis=1), X @ [1e-9, 1.0]]), X @ [1.0, 2.0])
    shown = read(model._repr_html_())
    assert "weight of each expert" in shown
    assert "intercept" not in shown
    name, share = max(model._experts()[0].items(), key=lambda item: abs(item[1]))
    assert f"{name} {100 * share:.1f} %" in shown


def test_pictures_are_shown_by_a_notebook_and_are_figures_of_matplotlib():
    *_, run = tracked()
    figure = run.plot()
    result = dl.evaluate.prequential({"RLS": dl.RLS(), "LMS": dl.LMS(rate=1e-6)}, tracked()[:2])
    axes = result.plot()
    for one in (figure, axes):
        height, width = imread(io.BytesIO(one._repr_png_())).shape[:2]
        assert width > height > 100
    assert isinstance(figure, Figure)
    assert isinstance(axes, Axes)
    assert "<td>RLS</td>" in result._repr_html_()
    assert "<b>" in result._repr_html_()


def test_runs_of_several_labels_have_an_html_repr_but_no_report(tmp_path):
    X, y, *_ = tracked()
    model = dl.RLS()
    run = model.run(X, np.column_stack([y, -y]))
    assert "Run of 600 rows" in read(run._repr_html_())
    assert "600 rows" in read(model._repr_html_())
    with pytest.raises(ValueError, match=r"one number a row, got float64 of shape \(600, 2\)"):
        run.report(tmp_path / "report.html", X, model=model)


@pytest.mark.parametrize("name", registry.regressors())
def test_every_learner_has_a_report(tmp_path, name):
    X, y, *_ = tracked(200)
    model = registry.regressors()[name]()
    run = model.run(X[:, :3] / 30, y / 100, level=0.9, weights_every=20 if model._traits.by_feature else None)
    run.report(tmp_path / "report.html", X[:, :3] / 30, model=model)
    text = read((tmp_path / "report.html").read_text())
    assert f"{model._title} following y" in text
    assert ("weight at the end" in text) == model._traits.by_feature
    run.report(tmp_path / "report.html", model=model)
    text = read((tmp_path / "report.html").read_text())
    assert ("no weight of its own" in text) != model._traits.by_feature


def test_names_are_escaped_in_notebooks():
    model = dl.RLS()
    model.learn_one({"<script>alert(1)</script>": 1.0}, 1.0)
    assert "<script>" not in model._repr_html_()


def test_fleets_forecasts_and_explanations_are_tables_in_notebooks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = X @ [2.0, 0.0] + 50
    fleet = dl.Fleet(dl.RLS())
    fleet.run([f"<b>{number % 20}" for number in range(600)], X, y)
    found = cells(fleet._repr_html_())
    assert found[:4] == ["keys", "20", "learned", "600 rows"]
    assert found[4:7] == ["key", "rows", "mse"]
    assert len(found) == 4 + 3 * (1 + 8)
    assert "<b>1" not in fleet._repr_html_()
    assert "and 12 more" in fleet._repr_html_()
    forecast = dl.Forecaster(dl.RLS(), steps=40).fit(y[:200]).forecast()
    found = cells(forecast._repr_html_())
    assert found[2:6] == ["step", "prediction", "lower", "upper"]
    assert [float(value) for value in found[7::4]] == pytest.approx(forecast.predictions[:24], rel=1e-3)
    assert "and 16 more" in forecast._repr_html_()
    explained = dl.RLS().fit(X, y).explain_one(X[0])
    assert set(cells(explained._repr_html_())[2::3]) == explained.contributions.keys()
    assert dl.Fleet(dl.RLS())._repr_html_()


def cells(page):
    """The texts of a page's cells."""
    return [html.unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall("<td>(.*?)</td>", page)]


def test_importing_driftline_imports_neither_templates_nor_charts():
    code = "import sys, driftline; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "driftline" in loaded
    assert not [name for name in loaded if name.startswith(("jinja2", "matplotlib", "driftline.report"))]
