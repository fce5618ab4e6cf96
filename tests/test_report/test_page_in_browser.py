"""The page in a real browser."""

import json

import numpy as np
import pytest

import driftline as dl
from driftline import cli
from driftline.report import RunLog, page

CHARTS = ["errors", "predictions", "weights", "memory", "coverage", "regret"]
WHOLE = "document.querySelector('[data-zoom=all]').click()"
SCALES = "driftlineReport.plots.map(plot => [plot.scales.x.min, plot.scales.x.max])"
POINTS = 8  # a chart with few points shows at least this many around the common view
INKED = """
(key) => {
  const canvas = document.querySelector(`[data-chart="${key}"] canvas`);
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4)
    if (data[i + 3] > 200) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
  return [...seen];
}
"""
COLOURS = """
(key) => {
  const style = getComputedStyle(document.documentElement);
  const chart = driftlineReport.data.charts.find((chart) => chart.key === key);
  if (chart.apart) return [parseInt(style.getPropertyValue("--model").trim().slice(1), 16)];
  const lines = chart.lines.filter((line) => !line.faint && !line.hidden && line.role !== "target");
  return lines.map((line) => parseInt(style.getPropertyValue("--" + line.role).trim().slice(1), 16));
}
"""
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


def sample(rows=2500, level=0.9, **options):
    X, y = dl.streams.Switching(rate=0.4, unit="deg", every=1000, noise=0.5, seed=7).take(rows)
    model = dl.CRRLS(forgetting=0.95, period=700)
    run = model.run(X, y, level=level, weights_every=10)
    return RunLog.of(run, X, model=model, **options)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    times = np.datetime64("2024-01-01") + np.arange(2500) * np.timedelta64(1, "h")
    sample(times=times).write(path, command="driftline run sample.csv --target y")
    return path


def needs_uplot():
    if not (page.VENDOR / "uPlot.iife.min.js").exists():
        pytest.skip("uPlot was not fetched when the package was built: npm or the network was missing")


def open_charts(browser, path, act=None, **size):
    """Opens a report and runs a script on it."""
    needs_uplot()
    browser.open(path, **size)
    if act is not None:
        browser.evaluate(act)
        browser.settle()


def clean(browser):
    """Assert that the console has no errors or warnings, and that the page requested nothing but itself."""
    assert browser.complaints() == []
    assert [url for url in browser.requests() if not url.startswith(("file:", "data:,"))] == []


def shown_by_all(browser):
    """The rows shown by all charts. A chart with few points may show a wider range."""
    drawn = browser.evaluate(
        "driftlineReport.plots.map(({chart, scales, data, root}) => [chart.zoomed, scales.x.min, scales.x.max, data[0],"
        " root.closest('.card').querySelector('.wider:not([hidden])') !== null])"
    )
    (view,) = {(first, last) for anew, first, last, *_ in drawn if anew}
    for anew, first, last, x, said in drawn:
        inside = [at for at in x if view[0] <= at <= view[1]]
        around = [at for at in x if first <= at <= last]
        if not anew:
            assert (first, last) == view or len(around) == min(POINTS, len(x)) > len(inside)
            assert first <= view[0] < view[1] <= last
            assert said == ((first, last) != view)
    return view


def test_every_chart_has_its_series_and_the_console_is_clean(browser, report):
    open_charts(browser, report)
    clean(browser)
    browser.evaluate(WHOLE)
    found = browser.evaluate(
        "driftlineReport.plots.map(plot => [plot.chart.key, plot.series.slice(1).map(s => [s.label, s.show])])"
    )
    assert browser.evaluate("driftlineReport.data.charts.map(chart => chart.key)") == CHARTS
    labels = {key: [label for label, show in lines if show] for key, lines in found}
    every = ["best fixed linear model", "seasonal value", "running mean", "last value", "CRRLS"]
    assert (
        labels["errors"] == every[-3:-2] + every[-1:]
    )  # only the best baseline; the errors of the others are more than 3 times as large
    assert labels["predictions"] == ["nine tenths of y", "Value", "90 % interval", "Value", "prediction", "y"]
    panels = [lines[0][0] for key, lines in found if key == "weights"]
    assert len(set(panels)) == 12
    assert labels["memory"] == ["rows"]
    assert labels["regret"] == [f"against {name}" for name in every[:-1]]
    assert labels["coverage"] == ["share inside"]


def test_lines_are_drawn_in_their_colours(browser, report):
    open_charts(browser, report, WHOLE)
    for key in CHARTS:
        inked = set(browser.evaluate(f"({INKED})({json.dumps(key)})"))
        wanted = browser.evaluate(f"({COLOURS})({json.dumps(key)})")
        assert set(wanted) <= inked, key


def test_dragging_zooms_all_charts_and_a_double_click_resets_them(browser, report):
    open_charts(browser, report, WHOLE)
    whole = browser.evaluate(SCALES)
    assert len({tuple(scale) for scale in whole}) == 1
    left, top, width, height = browser.box("#errors .u-over")
    browser.drag(left + 0.25 * width, left + 0.5 * width, top + height / 2)
    zoomed, (first, last) = shown_by_all(browser), whole[0]
    assert zoomed[0] == pytest.approx(first + 0.25 * (last - first), abs=0.02 * (last - first))
    assert zoomed[1] == pytest.approx(first + 0.5 * (last - first), abs=0.02 * (last - first))
    browser.double_click(left + 0.5 * width, top + height / 2)
    assert browser.evaluate(SCALES) == whole
    clean(browser)


def test_buttons_zoom_without_a_mouse(browser, report):
    open_charts(browser, report, WHOLE)
    (first, last), *_ = browser.evaluate(SCALES)
    press = "document.querySelector('[data-zoom={}]').click()"
    browser.evaluate(press.format("in"))
    low, high = browser.evaluate(SCALES)[0]
    assert high - low == pytest.approx((last - first) / 2, rel=0.05)
    browser.evaluate(press.format("later"))
    moved = browser.evaluate(SCALES)[0]
    assert moved[0] > low
    assert moved[1] - moved[0] == pytest.approx(high - low)
    browser.evaluate(press.format("all"))
    assert browser.evaluate(SCALES)[0] == [first, last]


def test_values_under_the_cursor_are_shown(browser, report):
    open_charts(browser, report, WHOLE)
    left, top, width, height = browser.box("#errors .u-over")
    browser.move(left + width / 2, top + height / 2)
    values = browser.evaluate("[...document.querySelectorAll('#errors .u-value')].map(cell => cell.textContent)")
    assert values[0].startswith("2")
    assert " Feb 2024, " in values[0]
    place = browser.evaluate("driftlineReport.plots[0].cursor.idx")
    data = browser.evaluate("driftlineReport.plots[0].data.slice(1)")
    assert [float(value.replace(",", "")) for value in values[1:]] == pytest.approx([line[place] for line in data], rel=1e-3)
    others = browser.evaluate("[...document.querySelectorAll('#regret .u-value')].map(cell => cell.textContent)")
    assert all(others)


def test_dark_mode_changes_the_page_and_the_charts(browser, report):
    open_charts(browser, report)
    light, drawn = browser.evaluate(BACKGROUND), set(browser.evaluate(f"({INKED})('errors')"))
    browser.dark(True)
    browser.settle()
    dark, redrawn = browser.evaluate(BACKGROUND), set(browser.evaluate(f"({INKED})('errors')"))
    brightness = [sum(map(int, colour[4:-1].split(","))) for colour in (light, dark)]
    assert brightness[0] > 700 > 100 > brightness[1]
    assert 0x0072B2 in drawn - redrawn
    assert 0x56B4E9 in redrawn - drawn
    browser.dark(False)
    clean(browser)


@pytest.mark.parametrize("width", [375, 1280, 3840])
def test_the_page_fits_every_screen(browser, report, width):
    browser.open(report, width=width)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    beyond = "[...document.querySelectorAll('canvas')].filter(c => c.getBoundingClientRect().right > innerWidth).length"
    assert browser.evaluate(beyond) == 0
    sizes = browser.evaluate("[...document.querySelectorAll('canvas')].map(c => c.getBoundingClientRect().width)")
    assert all(size > 0.25 * min(width, 1800) for size in sizes)
    clean(browser)


def test_the_printed_page_is_light_and_has_its_charts(browser, report, tmp_path):
    browser.open(report, dark=True)
    browser.pdf(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").stat().st_size > 50_000
    browser.dark(False)
    clean(browser)


def test_names_are_escaped_whatever_they_contain(browser, tmp_path):
    hostile = [
        "</script><script>document.title='broken'</script>",
        '"><img src=x onerror="document.title=1">',
        "a&b<i>",
        "{{ 7*7 }}",
    ]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    model = dl.RLS()
    run = model.run(X, X.sum(axis=1), weights_every=5, level=0.8)
    target = "<b onclick=alert(1)>y</b>"
    run.report(tmp_path / "hostile.html", X, model=model, names=hostile, target=target, command="<script>1</script>")
    browser.open(tmp_path / "hostile.html")
    clean(browser)
    assert browser.evaluate("document.title") == f"RLS following {target}"
    names = browser.evaluate("[...document.querySelectorAll('.features tbody th')].map(cell => cell.textContent)")
    assert sorted(names) == sorted(hostile)
    assert browser.evaluate("document.querySelectorAll('img, b[onclick]').length") == 0


def awkward():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 2))
    y = X @ [1.0, 2.0]
    gap = X.copy()
    gap[10:20] = np.nan
    return {
        "one row": (X[:1], y[:1]),
        "three rows": (X[:3], y[:3]),
        "one feature": (X[:, :1], y),
        "many features": (rng.normal(size=(400, 500)), y),
        "a hundred features": (rng.normal(size=(400, 100)), y),
        "a constant target": (X, np.full(400, 3.0)),
        "all zeros": (np.zeros((400, 2)), np.zeros(400)),
        "rows that were skipped": (gap, y),
        "only skipped rows": (np.full((5, 2), np.nan), np.ones(5)),
        "huge values": (X * 1e30, y * 1e30),
        "tiny values": (X * 1e-200, y * 1e-200),
        "nearly the largest values": (X, y * 1e300),
    }


@pytest.mark.parametrize("case", awkward())
def test_unusual_streams_give_valid_pages(browser, tmp_path, case):
    X, y = awkward()[case]
    model = dl.RLS(missing="skip")
    run = model.run(X, y, level=0.9, weights_every=1)
    run.report(tmp_path / "page.html", X, model=model)
    browser.open(tmp_path / "page.html")
    clean(browser)
    assert browser.evaluate("document.querySelectorAll('#model td code').length") == len(model.get_params())
    browser.evaluate("document.querySelectorAll('#model td code').forEach(value => value.remove())")  # Python's: low is None
    text = browser.evaluate("document.body.innerText")
    assert not [word for word in ("NaN", "nan", "undefined", "Infinity", "None", "null") if word in text.split()]


def test_without_uplot_charts_are_pictures(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "VENDOR", tmp_path / "nothing")
    sample().write(tmp_path / "static.html")
    browser.open(tmp_path / "static.html")
    clean(browser)
    paths = browser.evaluate(
        "[...document.querySelectorAll('svg.static')].map(svg => svg.querySelectorAll('path.line').length)"
    )
    assert paths == [2, 4, *[1] * 12, 1, 1, 4]
    assert "still pictures" in browser.evaluate("document.body.innerText")


def test_a_million_rows_stay_below_five_megabytes(browser, tmp_path):
    rng = np.random.default_rng(3)
    model, log = dl.RLS(forgetting=0.999), RunLog(level=0.9)
    for start in range(0, 2**20, 2**16):
        X = rng.normal(size=(2**16, 5))
        y = X @ [1.0, np.sin(start), 0.0, 2.0, -1.0] + rng.normal(size=2**16)
        log.add(model.run(X, y, level=0.9, weights_every=log.weights_every(2**16)), X, y, model=model)
    log.write(tmp_path / "long.html")
    assert (tmp_path / "long.html").stat().st_size < 5e6
    browser.open(tmp_path / "long.html")
    clean(browser)
    drawn = browser.evaluate("driftlineReport.plots.map(plot => plot.chart.key)")
    assert drawn == ["errors", "predictions", *["weights"] * 5, "memory", "coverage", "regret"]


@pytest.fixture(scope="module")
def forecast(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forecast")
    rng = np.random.default_rng(0)
    y = 10 + 3 * np.sin(np.arange(900) * np.pi / 12) + 0.5 * rng.normal(size=900)
    (folder / "a.csv").write_text("y\n" + "\n".join(map(str, y.tolist())))
    with pytest.raises(SystemExit):
        cli.main(["run", str(folder / "a.csv"), "-t", "y", "--steps", "40", "--report", str(folder / "page.html"), "--json"])
    return folder / "page.html"


def test_a_forecast_is_shown_step_by_step(browser, forecast, tmp_path):
    """The panel shows the numbers that the command prints."""
    browser.open(forecast)
    clean(browser)
    paths = "[...document.querySelectorAll('#steps svg.static')].map(svg => svg.querySelectorAll('path.line').length)"
    assert browser.evaluate(paths) == [4, 2]
    assert browser.evaluate("[...document.querySelectorAll('#steps h3')].map(h => h.textContent)") == [
        "Error by step",
        "Calibration by step",
    ]
    head = browser.evaluate("[...document.querySelectorAll('#steps thead th')].map(cell => cell.textContent)")
    assert head == ["step", "Auto", "last value", "running mean", "seasonal value", "share inside"]
    lines = browser.evaluate(
        "[...document.querySelectorAll('#steps tbody tr')].map(row => [...row.children].map(cell => cell.textContent))"
    )
    source = forecast.parent / "a.csv"
    y = np.loadtxt(source, skiprows=1)
    forecaster = dl.Forecaster(dl.Auto(missing="skip"), 40)
    run = forecaster.run(np.empty((900, 0)), y, level=0.9)
    assert [int(line[0]) for line in lines] == [*range(1, 41, 2), 40]
    for step, *cells in lines:
        place = int(step) - 1
        errors = run.errors[place + 1 :, place]
        assert float(cells[0]) == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-2)
        assert float(cells[4]) == pytest.approx(run.coverage[place], abs=2e-3)
        last = y[place + 1 :] - y[: -place - 1]
        assert float(cells[1]) == pytest.approx(np.sqrt(np.mean(last**2)), rel=1e-2)
    assert "At step 40 the error is" in browser.evaluate("document.querySelector('.headline').textContent")
    assert "forecast 40 steps ahead" in browser.evaluate("document.querySelector('.subtitle').textContent")


def test_the_panel_by_step_fits_a_phone(browser, forecast):
    browser.open(forecast, width=390, height=800)
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_run_without_forecasts_has_no_panel_by_step(browser, report):
    browser.open(report)
    assert not browser.evaluate("!!document.querySelector('#steps')")
