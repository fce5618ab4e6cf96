"""A real browser for tests: headless Chromium, driven by the DevTools protocol over a pair of pipes."""

import base64
import fcntl
import json
import os
import select
import subprocess
import time
from pathlib import Path

from tests import patience, services


def _aside(descriptor):
    """A duplicate of the descriptor under an unused number."""
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return copy


class Browser:
    """One browser with one page. It records what the page logs, throws and requests from the network."""

    def __init__(self, folder: Path):
        to_browser, self._out = map(_aside, os.pipe())
        self._in, from_browser = map(_aside, os.pipe())
        command = [
            services.find("chromium"),
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--hide-scrollbars",
            f"--user-data-dir={folder}",
            "--remote-debugging-pipe",
            "about:blank",
        ]

        def wire():
            """Connect the pipes: the browser reads descriptor 3 and writes descriptor 4."""
            os.dup2(to_browser, 3)
            os.dup2(from_browser, 4)

        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        self.process = subprocess.Popen(command, preexec_fn=wire, pass_fds=(3, 4), **quiet)
        os.close(to_browser)
        os.close(from_browser)
        self._number, self._buffer, self._session = 0, b"", None
        self.events = []
        try:
            self._attach()
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def _attach(self):
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        """Sends a command and waits for its answer; events that arrive before it are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + patience.SECONDS
        while True:
            answer = self._read(until)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self.events.append(answer)

    def _read(self, until):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            piece = os.read(self._in, 1 << 20)
            assert piece, "the browser ended"
            self._buffer += piece
        text, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(text)

    def open(self, path, width=1280, height=900, dark=False):
        """Opens a file and waits until it has loaded."""
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.dark(dark)
        self.call("Page.navigate", url=Path(path).absolute().as_uri())
        until = time.monotonic() + patience.SECONDS
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read(until))
        self.settle()

    def settle(self):
        """Waits until all pending drawing is done."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def dark(self, wanted):
        """Switches to dark or light colours."""
        scheme = "dark" if wanted else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def evaluate(self, expression):
        """The value of a JavaScript expression; waits for promises."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def box(self, selector):
        """Scrolls an element into view and returns its left, top, width and height."""
        find = f"document.querySelector({json.dumps(selector)})"
        self.evaluate(f"{find}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        self.settle()
        return self.evaluate(f"(r => [r.left, r.top, r.width, r.height])({find}.getBoundingClientRect())")

    def drag(self, start, stop, y):
        """Presses the mouse button, moves the mouse and releases the button."""
        for kind, x in (("mouseMoved", start), ("mousePressed", start), ("mouseMoved", stop), ("mouseReleased", stop)):
            button = "none" if kind == "mouseMoved" and x == start else "left"
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=1, clickCount=1)
        self.settle()

    def move(self, x, y):
        """Moves the mouse."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def double_click(self, x, y):
        """Clicks twice."""
        for clicks in (1, 2):
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=clicks)
        self.settle()

    def screenshot(self, path, whole=True):
        """A picture of the page."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, path):
        """Prints the page to a PDF."""
        Path(path).write_bytes(base64.b64decode(self.call("Page.printToPDF")["data"]))

    def complaints(self):
        """Errors and warnings logged by the page so far."""
        kinds = ("Runtime.exceptionThrown", "Log.entryAdded")
        found = [event["params"] for event in self.events if event.get("method") in kinds]
        calls = [event["params"] for event in self.events if event.get("method") == "Runtime.consoleAPICalled"]
        return found + [call for call in calls if call["type"] in ("error", "warning", "assert")]

    def requests(self):
        """The addresses that the page requested, including its own."""
        sent = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def close(self):
        """Closes the browser."""
        self._session = None
        try:
            self.call("Browser.close")
        except (AssertionError, OSError):
            self.process.terminate()
        self.process.wait(timeout=patience.SECONDS)
        os.close(self._in)
        os.close(self._out)
