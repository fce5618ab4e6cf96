"""Ctrl-C and SIGTERM: the run finishes its row, saves all requested files, and ends."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self

NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


class Stop:
    """Notes which signal asked the run to end, in ``asked``; empty if none did. A second Ctrl-C ends it at once.

    A signal that is ignored when the run starts stays ignored, as Ctrl-C does in a background job.
    """

    def __init__(self) -> None:
        self.asked = ""
        self._before: dict[signal.Signals, Any] = {}

    def _heed(self, number: int, _: FrameType | None) -> None:
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = NAMES[signal.Signals(number)]

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            heeded = [number for number in NAMES if signal.getsignal(number) is not signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._heed) for number in heeded}
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
