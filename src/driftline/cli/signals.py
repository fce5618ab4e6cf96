"""Ctrl-C and SIGTERM: the run learns what it has read of a pipe, saves all requested files, and ends."""

from __future__ import annotations

import os
import signal
import threading
from time import monotonic
from types import FrameType
from typing import Any, Self

NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


class Stop:
    """Notes which signal asked the run to end, in ``asked``; empty if none did. A second Ctrl-C ends it at once.

    The descriptor ``halt`` is readable from then on.

    A signal that is ignored when the run starts stays ignored, as Ctrl-C does in a background job.
    """

    def __init__(self) -> None:
        self.asked, self.since = "", 0.0
        self.halt, self._end = os.pipe()
        self._before: dict[signal.Signals, Any] = {}

    def ask(self, reason: str) -> None:
        """Asks the run to end."""
        if not self.asked:
            self.asked, self.since = reason, monotonic()
            os.write(self._end, b"0")

    def _heed(self, number: int, _: FrameType | None) -> None:
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.ask(NAMES[signal.Signals(number)])

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            heeded = [number for number in NAMES if signal.getsignal(number) is not signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._heed) for number in heeded}
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        os.close(self._end)
        os.close(self.halt)
