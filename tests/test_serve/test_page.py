"""The live page in a real browser."""

import json
import random
import time

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from tests import patience
from tests.test_report.conftest import browser  # noqa: F401 - a fixture
from tests.test_serve.process import Process


def rows(rng, start, count):
    """A target that jumps at row 300."""
    found = []
    for number in range(start, start + count):
        x = {"wind": rng.gauss(0, 1), "load": rng.gauss(0, 1)}
        y = 2 * x["wind"] - x["load"] + (40 if number >= 300 else 0) + rng.gauss(0, 0.3)
        found.append({"x": x, "y": y})
    return found


def open_page(browser, service, width=1280, height=900, dark=False):  # noqa: F811
    browser.call("Page.navigate", url="about:blank")  # stops the previous page
    browser.settle()
    browser.events.clear()
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
    browser.dark(dark)
    browser.call("Page.navigate", url=f"http://127.0.0.1:{service.port}/")


def wait_for(browser, expression, value):  # noqa: F811
    until = time.monotonic() + patience.SECONDS
    while (found := browser.evaluate(expression)) != value:
        assert time.monotonic() < until, f"{expression} is {found}"
        time.sleep(0.05)


ROWS = "document.querySelector('#tiles b')?.textContent"
LINES = "Object.values(view.charts).map(chart => chart.plot.data.slice(1).filter(line => line.some(y => y !== null)).length)"
ALARMS = """Object.values(view.charts).map(({plot}) => stream.alarms.map(([at]) => {
    const {left, width, top, height} = plot.bbox, x = Math.round(plot.valToPos(at, "x", true));
    if (x < left || x > left + width) return null;
    const {data} = plot.ctx.getImageData(x - 1, top + Math.round(height / 2), 3, 1);
    return [0, 4, 8].some(n => data[n] > data[n + 1] + 60 && data[n] > data[n + 2] + 60 && data[n + 3] > 0);
}))"""  # whether the pixels of each chart are red at the alarms in its range


def test_the_page_follows_a_model_and_reconnects_after_a_restart(browser, tmp_path):  # noqa: F811
    rng = random.Random(0)
    with Process(tmp_path / "s") as service:
        client = service.client()
        client.call("PUT", "/v1/models/demand", {"learner": "rls"})
        client.call("PUT", "/v1/models/shops", {"keyed": True})
        client.call("POST", "/v1/models/demand/learn", {"rows": rows(rng, 0, 250)})
        client.call("POST", "/v1/models/shops/learn", {"rows": [{"key": "a", "x": [1.0], "y": 1.0}] * 3})
        open_page(browser, service)
        wait_for(browser, ROWS, "250")
        assert browser.evaluate("document.querySelectorAll('#models tr').length") == 2
        assert browser.evaluate(LINES) == [4, 2, 2, 1]
        client.call("POST", "/v1/models/demand/learn", {"rows": rows(rng, 250, 200)})
        wait_for(browser, ROWS, "450")
        wait_for(browser, "stream.alarms.length > 0", True)
        browser.settle()
        on_charts = browser.evaluate(ALARMS)
        assert all(drawn is not False for chart in on_charts for drawn in chart)
        assert any(on_charts[1])
        wait_for(browser, "document.querySelectorAll('#models .alarm').length", 1)
        browser.screenshot(tmp_path / "light.png")
        left, top, width, height = browser.box("#charts .u-over")
        browser.move(left + width / 2, top + height / 2)
        row = browser.evaluate("document.querySelector('#charts .u-value').textContent")
        assert int(row) == pytest.approx(350, abs=3)  # the middle of the latest 200
        browser.evaluate("document.querySelectorAll('#models a')[1].focus()")
        for kind in ("keyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")
        wait_for(browser, "document.querySelector('#name').textContent", "shops")
        wait_for(browser, ROWS, "3")
        assert browser.complaints() == []
        address = f"http://127.0.0.1:{service.port}/"
        assert all(url.startswith((address, "data:")) for url in browser.requests())
        service.kill()
        wait_for(browser, "document.querySelector('#state').className", "lost")
        port = service.port
    with Process(tmp_path / "s", "--port", str(port)) as service:
        wait_for(browser, "document.querySelector('#state').textContent", "2 models")
        service.client().call("POST", "/v1/models/shops/learn", {"key": "a", "x": [1.0], "y": 1.0})
        wait_for(browser, ROWS, "4")


@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1280, True)])
def test_the_page_fits_narrow_screens_and_dark_mode(browser, tmp_path, width, dark):  # noqa: F811
    with Process(tmp_path / "s") as service:
        client = service.client()
        client.call("PUT", "/v1/models/m", {"learner": "rls"})
        client.call("POST", "/v1/models/m/learn", {"rows": rows(random.Random(1), 0, 100)})
        open_page(browser, service, width, 800, dark)
        wait_for(browser, ROWS, "100")
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (max(json.loads(paper.replace("rgb(", "[").replace(")", "]"))) < 60) == dark
        browser.screenshot(tmp_path / "page.png")
        assert browser.complaints() == []


def test_the_page_asks_for_a_token_before_it_shows_anything(browser, tmp_path):  # noqa: F811
    from driftline.serve.tokens import digest_of

    (tmp_path / "tokens").write_text(f"{digest_of('secret')} admin\n")
    with Process(tmp_path / "s", "--tokens", str(tmp_path / "tokens")) as service:
        service.client("secret").call("PUT", "/v1/models/m", {"learner": "rls"})
        open_page(browser, service)
        wait_for(browser, "document.querySelector('#sign')?.hidden", False)
        assert browser.evaluate("document.querySelectorAll('#models tr').length") == 0
        browser.evaluate("document.querySelector('#token').value = 'secret'; document.querySelector('#sign button').click()")
        wait_for(browser, "document.querySelectorAll('#models tr').length", 1)
        wait_for(browser, "document.querySelector('#sign')?.hidden", True)


def test_the_errors_of_a_classifier_are_mistakes_and_a_pooled_fleet_offers_no_choice_of_key(browser, tmp_path):  # noqa: F811
    with Process(tmp_path / "s") as service:
        client = service.client()
        client.call("PUT", "/v1/models/c", {"learner": "classifier", "params": {"classes": ["a", "b", "c", "d"]}})
        client.call("PUT", "/v1/models/p", {"learner": "rls", "keyed": True, "pooled": True})
        rows = [{"x": {"n": row % 4}, "y": "abcd"[row % 4]} for row in range(100)]
        assert client.call("POST", "/v1/models/c/learn", {"rows": rows})[0] == 200
        rows = [{"key": "uv"[row % 2], "x": {"n": row % 4}, "y": row % 4} for row in range(100)]
        assert client.call("POST", "/v1/models/p/learn", {"rows": rows})[0] == 200
        open_page(browser, service, 1280)
        browser.evaluate("location.hash = '#c'")
        wait_for(browser, ROWS, "100")
        wait_for(browser, "view.errors.length > 90 && view.errors.every(([, error]) => error >= 0 && error <= 1)", True)
        assert browser.evaluate("$('choice').hidden")
        browser.evaluate("location.hash = '#p'")
        wait_for(browser, "$('name').textContent", "p")
        wait_for(browser, "view.rows.length > 90", True)
        assert browser.evaluate("$('choice').hidden")


TICKS = """[...new Set(view.charts.said.plot.axes[1]._values)].length === view.charts.said.plot.axes[1]._values.length"""
SHOWN = "Object.values(view.charts).map(chart => !chart.figure.hidden)"


def test_keyed_and_forecasting_models_have_their_charts_and_a_choice_of_key(browser, tmp_path):  # noqa: F811
    """Labels near 100 that hardly move have ticks that differ, at 400 pixels too."""
    with Process(tmp_path / "s") as service:
        client = service.client()
        client.call("PUT", "/v1/models/ahead", {"learner": "rls", "steps": 3})
        client.call("PUT", "/v1/models/shops", {"learner": "rls", "keyed": True})
        for name, keys in (("shops", "ab"), ("ahead", [None])):
            rows = [
                {**({"key": key} if key else {}), "x": {"open": 1.0}, "y": 100 + (row % 24) / 1000}
                for row in range(300)
                for key in keys
            ]
            for part in (rows[:-20], rows[-20:]):
                assert client.call("POST", f"/v1/models/{name}/learn", {"rows": part})[0] == 200
        for width in (1280, 400):
            open_page(browser, service, width)
            wait_for(browser, "location.hash", "#ahead")
            wait_for(browser, ROWS, "300")
            assert browser.evaluate(SHOWN) == [True, True, False, False]
            browser.evaluate("location.hash = '#shops'")
            wait_for(browser, ROWS, "600")
            assert browser.evaluate(SHOWN) == [True, True, False, False]
            assert sorted(browser.evaluate("[...$('keys').options].map(option => option.value)")) == ["a", "b"]
            browser.screenshot(tmp_path / f"keyed-{width}.png")
            browser.evaluate("$('key').value = 'b'; $('key').dispatchEvent(new Event('change'))")
            wait_for(browser, "$('name').textContent", "shops, key b")
            wait_for(browser, ROWS, "300")
            wait_for(browser, SHOWN, [True, True, True, True])
            browser.settle()
            assert browser.evaluate(TICKS)
            assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
            browser.screenshot(tmp_path / f"key-{width}.png")
            browser.evaluate("location.hash = ''")
