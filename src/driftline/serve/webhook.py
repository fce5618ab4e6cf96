"""Sends alarms to a URL, in the background."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import queue
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from driftline.serve.problems import StoreError

_log = logging.getLogger("driftline.serve")
_MOST, _ATTEMPTS, _SECONDS = 1_000, 8, 10.0  # alarms that wait; attempts for each; seconds for one
_LAST = 5.0  # seconds for those that wait when the service stops
_PAUSE = 1.0  # seconds before the second attempt, doubled before each further one
_AGAIN = (408, 425, 429)  # of the statuses below 500


class Webhook:
    """Posts alarms in their order. Neither the URL nor the secret, both of which may give access, appears in the log.

    Args:
        url: http or https.
        secret: a file, whose text signs each body in the header ``X-Driftline-Signature``: its HMAC with SHA-256.
    """

    def __init__(self, url: str, secret: Path | None) -> None:
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise StoreError("--webhook takes http://… or https://…")
        self._url, self._secret = url, None if secret is None else secret.read_text().strip().encode()
        if self._secret == b"":
            raise StoreError(f"{secret}: the secret is empty")
        self.counts = {"webhook_sent": 0, "webhook_dropped": 0}
        self._queue: queue.Queue[dict[str, Any] | None] = queue.Queue(_MOST)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._work, name="driftline-webhook", daemon=True)
        self._thread.start()

    def send(self, alarm: dict[str, Any]) -> None:
        """Sends an alarm later; drops it if too many wait."""
        try:
            self._queue.put_nowait(alarm)
        except queue.Full:
            self._drop(alarm, f"{_MOST} alarms are waiting")

    def stop(self) -> None:
        """Makes one last attempt for each waiting alarm, for a few seconds in all."""
        self._ending.set()
        try:
            self._queue.put(None, timeout=_LAST)
        except queue.Full:
            return
        self._thread.join(_LAST)

    def _work(self) -> None:
        while (alarm := self._queue.get()) is not None:
            for attempt in range(_ATTEMPTS):
                trouble, again = self._post(json.dumps(alarm).encode())
                if not trouble:
                    self.counts["webhook_sent"] += 1
                    break
                if not again or attempt == _ATTEMPTS - 1 or self._ending.wait(_PAUSE * 2**attempt):
                    self._drop(alarm, trouble)
                    break

    def _post(self, body: bytes) -> tuple[str, bool]:
        """What went wrong, empty if nothing, and whether another attempt may help."""
        headers = {"content-type": "application/json", "user-agent": "driftline"}
        if self._secret is not None:
            headers["x-driftline-signature"] = f"sha256={hmac.new(self._secret, body, hashlib.sha256).hexdigest()}"
        try:
            with urllib.request.urlopen(urllib.request.Request(self._url, body, headers), timeout=_SECONDS):
                return "", False
        except urllib.error.HTTPError as error:
            error.close()
            return f"status {error.code}", error.code >= 500 or error.code in _AGAIN
        except Exception as error:  # its text may hold the URL
            return type(error).__name__, True

    def _drop(self, alarm: dict[str, Any], trouble: str) -> None:
        self.counts["webhook_dropped"] += 1
        _log.error("an alarm was not delivered: %s", trouble, extra={"more": alarm})
