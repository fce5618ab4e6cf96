"""The page at every zoom level, compared with the rows of the run."""

import numpy as np
import pytest

import driftline as dl
from driftline.report import RunLog
from tests.test_report.test_page_in_browser import WHOLE, clean, open_charts, shown_by_all

CLICK_ALARM = "document.querySelector('[data-alarm]').click()"
INKED = """
(plot) => {
  const canvas = plot.root.querySelector("canvas");
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
  const wanted = getComputedStyle(document.documentElement).getPropertyValue("--alarms").trim();
  const hex = (i) => "#" + [0, 1, 2].map((n) => data[i + n].toString(16).padStart(2, "0")).join("");
  for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200 && hex(i) === wanted) return true;
  return false;
}
"""
CONTRAST = """
(() => {
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [r, g, b] = colour.match(/[0-9.]+/g).map((part) => linear(part / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const ground = light(getComputedStyle(document.querySelector(".card")).backgroundColor);
  const names = [...document.querySelectorAll(".u-off:not(.unnamed):not(.zoomed) .u-label")];
  return names.map((name) => [ground / light(getComputedStyle(name).color), getComputedStyle(name.closest("th")).opacity]);
})()
"""
JUMP = 5_000


@pytest.fixture(scope="module", params=[2_000, 20_000], ids=["a bucket a row", "rows in buckets"])
def followed(request, tmp_path_factory):
    """A run and its page, once short enough to show every row, and once longer."""
    rows = request.param
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 2))
    slope = np.where(np.arange(rows) < min(JUMP, rows // 2), 3.0, -5.0)
    y = slope * X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=rows)
    model = dl.RLS(forgetting=0.98)
    run = model.run(X, y, level=0.9, weights_every=16)
    path = tmp_path_factory.mktemp("zoom") / "page.html"
    RunLog.of(run, X, model=model).write(path)
    return run, y, path


def zoomed(browser, path, first, last):
    open_charts(browser, path, f"driftlineReport.zoom({first}, {last})")
    clean(browser)


def series(browser, key):
    return browser.evaluate(f"driftlineReport.plots.find(plot => plot.chart.key === '{key}').data")


def rows_of_window(browser, key):
    said = browser.evaluate(f"document.querySelector('#{key} .zoomed').textContent")
    return int(said.split("each ")[1].split(" ")[0].replace(",", "")) if " rows" in said else 1


def shows_every_row(browser, run, y):
    """Assert that the chart of predictions shows each row in view with its own values."""
    x, *_, upper, lower, said, labels = series(browser, "predictions")
    rows = np.array(x, dtype=int)
    assert np.diff(rows).tolist() == [1] * (len(rows) - 1)
    for drawn, known in ((said, run.predictions), (labels, y), (upper, run.upper), (lower, run.lower)):
        assert np.array(drawn, dtype=float) == pytest.approx(known[rows], rel=1e-4, abs=1e-4)
    return rows


def test_the_page_opens_on_the_last_alarm_with_every_row(browser, followed):
    run, y, path = followed
    open_charts(browser, path)
    first, last = shown_by_all(browser)
    assert first < run.alarms[-1] < last < len(y) - 1
    assert len(shows_every_row(browser, run, y)) > 150
    chosen = "[...document.querySelectorAll('.chosen')].map(row => Number(row.dataset.alarm))"
    assert browser.evaluate(chosen) == [len(run.alarms) - 1]


def test_the_page_opens_on_the_last_rows_if_they_contain_the_last_alarm(browser, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3_000, 2))
    y = np.where(np.arange(3_000) < 2_800, 3.0, -5.0) * X[:, 0] + 0.5 * rng.normal(size=3_000)
    run = dl.RLS(forgetting=0.98).run(X, y, level=0.9)
    run.report(tmp_path / "page.html", X)
    open_charts(browser, tmp_path / "page.html")
    first, last = shown_by_all(browser)
    assert (last, len(run.alarms)) == (2_999, 1)
    assert first < run.alarms[0] < last
    assert 150 <= last - first <= 600


def test_buttons_go_to_the_next_alarm_outside_the_view(browser, tmp_path):
    rng = np.random.default_rng(2)
    errors = rng.normal(size=20_000)
    for start in (4_000, 9_000, 15_000):
        errors[start : start + 60] *= 6
    run = dl.Run(predictions=np.zeros(20_000), errors=errors)
    run.report(tmp_path / "page.html")
    open_charts(browser, tmp_path / "page.html")
    button = "document.querySelector('[data-zoom={}]')"

    def press(which):
        browser.evaluate(button.format(which) + ".click()")
        first, last = shown_by_all(browser)
        return [int(row) for row in run.alarms if first <= row <= last]

    assert len(run.alarms) == 3
    assert press("latest") == []
    assert browser.evaluate(button.format("after") + ".disabled")
    assert browser.evaluate(button.format("before") + ".title") == f"Alarm at {run.alarms[2]:,}"
    assert [press("before") for _ in range(3)] == [[row] for row in run.alarms[::-1]]
    assert browser.evaluate(button.format("before") + ".disabled")
    assert [press("after") for _ in range(2)] == [[row] for row in run.alarms[1:]]
    clean(browser)


@pytest.mark.parametrize("width", [400, 1280])
def test_the_table_of_features_fits_and_hidden_lines_have_names_that_can_be_read(browser, followed, width):
    _, _, path = followed
    open_charts(browser, path, width=width)
    cut = "[...document.querySelectorAll('.features, .features *, .buttons, .buttons *')]"
    cut += ".filter(part => part.offsetParent && part.getBoundingClientRect().right > innerWidth).length"
    assert browser.evaluate(cut) == 0
    found = browser.evaluate(CONTRAST)
    assert found
    assert all(ratio >= 4.5 and opacity == "1" for ratio, opacity in found)


def test_every_chart_labels_its_row_axis(browser, followed):
    _, _, path = followed
    open_charts(browser, path)
    heights = "driftlineReport.plots.map(plot => plot.axes[0]._size)"
    assert all(height >= 20 for height in browser.evaluate(heights))


@pytest.mark.parametrize("share", [1.0, 0.3, 0.02])
def test_errors_match_the_windows_in_view(browser, followed, share):
    run, y, path = followed
    last = len(y) // 2 + int(share * len(y) / 2) - 1
    first = last - int(share * len(y)) + 1
    zoomed(browser, path, first, last)
    x, *lines = series(browser, "errors")
    window = rows_of_window(browser, "errors")
    errors = {"RLS": run.errors.copy(), "last value": np.append(np.nan, np.diff(y))}
    errors["RLS"][0] = np.nan  # no label has arrived before it
    labels = browser.evaluate("driftlineReport.plots[0].series.slice(1).map(s => s.label)")
    assert window <= max(16, 2 * (last - first + 1) / 90)
    for label, own in errors.items():
        drawn = lines[labels.index(label)]
        for end, value in zip(x, drawn, strict=True):
            start = int(end) // window * window
            rows = own[start : int(end) + 1]
            assert value == pytest.approx(np.sqrt(np.nanmean(rows**2)), rel=1e-3), (label, end)


def test_the_peak_of_the_error_is_after_its_rise_and_near_the_alarm(browser, followed):
    run, _, path = followed
    open_charts(browser, path, CLICK_ALARM)
    at, onset, first, last = browser.evaluate("driftlineReport.data.alarms[0]")
    assert at == run.alarms[0]
    assert shown_by_all(browser) == (first, last)
    x, *lines = series(browser, "errors")
    peak = x[int(np.argmax(lines[-1]))]
    window = rows_of_window(browser, "errors")
    assert onset <= peak <= at + 2 * window
    assert window <= 8
    clean(browser)


def test_a_click_on_an_alarm_shows_its_rows_and_marks_it_on_every_chart(browser, followed):
    run, y, path = followed
    open_charts(browser, path, CLICK_ALARM)
    x, *_, said, labels = series(browser, "predictions")
    rows = np.array(x, dtype=int)
    assert np.diff(rows).tolist() == [1] * (len(rows) - 1)
    assert np.array(said) == pytest.approx(run.predictions[rows], rel=1e-4, abs=1e-4)
    assert np.array(labels) == pytest.approx(y[rows], rel=1e-4, abs=1e-4)
    marked = browser.evaluate(f"driftlineReport.plots.map(plot => [plot.chart.key, ({INKED})(plot)])")
    assert [key for key, _ in marked] == ["errors", "predictions", "weights", "memory", "coverage", "regret"]
    assert all(found for _, found in marked), marked
    assert browser.evaluate("document.querySelector('[data-alarm]').classList.contains('chosen')")


def test_zoomed_out_predictions_are_bands_of_quantiles(browser, followed):
    run, y, path = followed
    open_charts(browser, path, WHOLE)
    x, high, low, upper, lower, said, labels = (np.array(line, dtype=float) for line in series(browser, "predictions"))
    window = rows_of_window(browser, "predictions")
    assert len(x) <= 128
    inside = 0
    shares = [(labels, y, 0.5), (high, y, 0.95), (low, y, 0.05), (said, run.predictions, 0.5)]
    shares += [(upper, run.upper, 0.95), (lower, run.lower, 0.05)]
    for place in range(1, len(x) - 1):
        rows = slice(place * window, (place + 1) * window)
        for drawn, known, share in shares if len(y) <= 4096 else []:  # the page holds every row
            assert drawn[place] == pytest.approx(np.quantile(known[rows], share, method="weibull"), abs=1e-3)
        inside += int(((y[rows] >= low[place]) & (y[rows] <= high[place])).sum())
    assert inside / (window * (len(x) - 2)) == pytest.approx(0.9, abs=0.04)


def test_coverage_matches_the_windows_in_view(browser, followed):
    run, y, path = followed
    zoomed(browser, path, 0.3 * len(y), 0.6 * len(y))
    x, shares = series(browser, "coverage")
    window = rows_of_window(browser, "coverage")
    assert window >= 64
    held = (run.lower <= y) & (y <= run.upper)
    for end, share in zip(x, shares, strict=True):
        start = int(end) // window * window
        assert share == pytest.approx(held[start : int(end) + 1].mean(), abs=1e-4)
    zoomed(browser, path, len(y) - 500, len(y) - 1)
    x, shares = series(browser, "coverage")
    assert rows_of_window(browser, "coverage") == 64
    assert (shares[-1] is None) == (len(y) % 64 < 32)  # a window of 16 rows has no value, one of 32 does
    assert shares[-2] is not None


def test_the_strip_shows_the_whole_and_moves_the_view(browser, followed):
    _, y, path = followed
    open_charts(browser, path)
    left, top, width, height = browser.box(".strip .u-over")
    browser.drag(left + 0.25 * width, left + 0.5 * width, top + height / 2)
    assert shown_by_all(browser) == pytest.approx((0.25 * len(y), 0.5 * len(y)), abs=0.02 * len(y))
    chosen = browser.evaluate(
        "(s => [parseFloat(s.left), parseFloat(s.width)])(document.querySelector('.strip .u-select').style)"
    )
    assert chosen == pytest.approx([0.25 * width, 0.25 * width], abs=0.02 * width)
    clean(browser)


def test_no_legend_entry_is_empty_and_swatches_match_their_lines(browser, followed):
    open_charts(browser, followed[2])
    for press in ("0", WHOLE):
        browser.evaluate(press)
        browser.settle()
        entries = browser.evaluate(
            "[...document.querySelectorAll('.u-legend tr')].filter(row => row.offsetParent)"
            ".map(row => [row.querySelector('.u-label').textContent, row.querySelector('.u-value').textContent])"
        )
        assert entries
        assert all(label.strip() and value.strip() for label, value in entries), entries
    styles = browser.evaluate(
        "driftlineReport.plots.filter(plot => plot.root.querySelector('.u-legend'))"
        ".flatMap(plot => [...plot.root.querySelectorAll('.u-legend tr')].slice(1)"
        ".map((row, n) => [plot.chart.lines[n].dashed, getComputedStyle(row.querySelector('.u-marker')).borderBottomStyle]))"
    )
    assert {(bool(dashed), style) for dashed, style in styles} == {(True, "dashed"), (False, "solid")}
