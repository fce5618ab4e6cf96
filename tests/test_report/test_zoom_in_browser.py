"""What the page shows at every zoom, against the rows of the run."""

import numpy as np
import pytest

import driftline as dl
from driftline.report import Chronicle
from tests.test_report.test_page_in_browser import SCALES, WHOLE, clean, needs_uplot

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
JUMP = 5_000


@pytest.fixture(scope="module", params=[2_000, 20_000], ids=["a bucket a row", "rows in buckets"])
def followed(request, tmp_path_factory):
    """A run, and the page that shows it: short enough for every row, and longer than that."""
    rows = request.param
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 2))
    slope = np.where(np.arange(rows) < min(JUMP, rows // 2), 3.0, -5.0)
    y = slope * X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=rows)
    model = dl.RLS(forgetting=0.98)
    run = model.run(X, y, level=0.9, weights_every=16)
    path = tmp_path_factory.mktemp("zoom") / "page.html"
    Chronicle.of(run, X, model=model).write(path)
    return run, y, path


def zoomed(browser, path, first, last):
    needs_uplot()
    browser.open(path)
    browser.evaluate(f"driftlineReport.zoom({first}, {last})")
    browser.settle()
    clean(browser)


def series(browser, key):
    return browser.evaluate(f"driftlineReport.plots.find(plot => plot.chart.key === '{key}').data")


def rows_of_window(browser, key):
    said = browser.evaluate(f"document.querySelector('#{key} .zoomed').textContent")
    return int(said.split("each ")[1].split(" ")[0].replace(",", "")) if " rows" in said else 1


def test_the_page_opens_on_the_last_rows_that_can_be_read(browser, followed):
    run, y, path = followed
    needs_uplot()
    browser.open(path)
    for scale in browser.evaluate(SCALES):
        assert scale[1] == len(y) - 1
        assert 150 <= scale[1] - scale[0] <= 600
    x, *_, upper, lower, said, labels = series(browser, "predictions")
    rows = np.array(x, dtype=int)
    assert len(rows) > 400
    assert np.diff(rows).tolist() == [1] * (len(rows) - 1)
    for drawn, known in ((said, run.predictions), (labels, y), (upper, run.upper), (lower, run.lower)):
        assert np.array(drawn, dtype=float) == pytest.approx(known[rows], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("share", [1.0, 0.3, 0.02])
def test_errors_are_those_of_the_windows_in_view(browser, followed, share):
    run, y, path = followed
    last = len(y) // 2 + int(share * len(y) / 2) - 1
    first = last - int(share * len(y)) + 1
    zoomed(browser, path, first, last)
    x, *lines = series(browser, "errors")
    window = rows_of_window(browser, "errors")
    errors = {"RLS": run.errors.copy(), "last value": np.append(np.nan, np.diff(y))}
    errors["RLS"][0] = np.nan  # no label is known before
    labels = browser.evaluate("driftlineReport.plots[0].series.slice(1).map(s => s.label)")
    assert window <= max(16, 2 * (last - first + 1) / 90)
    for label, own in errors.items():
        drawn = lines[labels.index(label)]
        for end, value in zip(x, drawn, strict=True):
            start = int(end) // window * window
            rows = own[start : int(end) + 1]
            assert value == pytest.approx(np.sqrt(np.nanmean(rows**2)), rel=1e-3), (label, end)


def test_the_peak_of_the_error_is_not_before_its_rise_and_near_the_alarm(browser, followed):
    run, _, path = followed
    needs_uplot()
    browser.open(path)
    browser.evaluate("document.querySelector('[data-alarm]').click()")
    browser.settle()
    at, onset, first, last = browser.evaluate("driftlineReport.data.alarms[0]")
    assert at == run.alarms[0]
    assert {tuple(scale) for scale in browser.evaluate(SCALES)} == {(first, last)}
    x, *lines = series(browser, "errors")
    peak = x[int(np.argmax(lines[-1]))]
    window = rows_of_window(browser, "errors")
    assert onset <= peak <= at + 2 * window
    assert window <= 8
    clean(browser)


def test_a_click_on_an_alarm_shows_its_rows_and_marks_it_on_every_chart(browser, followed):
    run, y, path = followed
    needs_uplot()
    browser.open(path)
    browser.evaluate("document.querySelector('[data-alarm]').click()")
    browser.settle()
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
    needs_uplot()
    browser.open(path)
    browser.evaluate(WHOLE)
    browser.settle()
    x, high, low, upper, lower, said, labels = (np.array(line, dtype=float) for line in series(browser, "predictions"))
    window = rows_of_window(browser, "predictions")
    assert len(x) <= 128
    inside = 0
    shares = [(labels, y, 0.5), (high, y, 0.95), (low, y, 0.05), (said, run.predictions, 0.5)]
    shares += [(upper, run.upper, 0.95), (lower, run.lower, 0.05)]
    for place in range(1, len(x) - 1):
        rows = slice(place * window, (place + 1) * window)
        for drawn, known, share in shares if len(y) <= 4096 else []:  # every row is in the page
            assert drawn[place] == pytest.approx(np.quantile(known[rows], share, method="weibull"), abs=1e-3)
        inside += int(((y[rows] >= low[place]) & (y[rows] <= high[place])).sum())
    assert inside / (window * (len(x) - 2)) == pytest.approx(0.9, abs=0.04)


def test_shares_inside_are_those_of_the_windows_in_view(browser, followed):
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
    assert (shares[-1] is None) == (len(y) % 64 < 32)  # 16 rows say nothing, 32 do
    assert shares[-2] is not None


def test_the_strip_shows_the_whole_and_moves_the_view(browser, followed):
    _, y, path = followed
    needs_uplot()
    browser.open(path)
    left, top, width, height = browser.box(".strip .u-over")
    browser.drag(left + 0.25 * width, left + 0.5 * width, top + height / 2)
    for scale in browser.evaluate(SCALES):
        assert scale == pytest.approx([0.25 * len(y), 0.5 * len(y)], abs=0.02 * len(y))
    chosen = browser.evaluate(
        "(s => [parseFloat(s.left), parseFloat(s.width)])(document.querySelector('.strip .u-select').style)"
    )
    assert chosen == pytest.approx([0.25 * width, 0.25 * width], abs=0.02 * width)
    clean(browser)


def test_no_entry_of_a_legend_is_empty_and_swatches_look_like_their_lines(browser, followed):
    needs_uplot()
    browser.open(followed[2])
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
