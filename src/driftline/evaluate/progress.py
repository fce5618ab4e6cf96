"""A progress line on a terminal or in a notebook: how much is done, how fast, and how long it will take."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import Self, TextIO

WAIT = 0.5  # seconds before anything is shown: short work stays quiet
PAUSE = 0.2  # seconds between two changes of the line
NOTEBOOK = 120  # columns of a notebook, which does not tell its width


def duration(seconds: float) -> str:
    """Minutes and seconds, with hours if needed.

    >>> duration(75), duration(3675)
    ('1:15', '1:01:15')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def quantity(number: float) -> str:
    """Three digits and a unit.

    >>> quantity(950), quantity(12_340), quantity(5.6e6), quantity(0.25)
    ('950', '12.3 k', '5.6 M', '0.25')
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}"


def _columns() -> int | None:
    """The width of the terminal or notebook that standard error goes to; None if it goes elsewhere."""
    if sys.stderr is None:
        return None
    if sys.stderr.isatty():
        return shutil.get_terminal_size().columns
    kernel = sys.modules.get("ipykernel.iostream")
    return NOTEBOOK if kernel is not None and isinstance(sys.stderr, kernel.OutStream) else None


class Progress:
    """A progress line that overwrites itself, on terminals and in notebooks only.

    Args:
        total: the total amount of work; None if unknown.
        what: what is counted.
        start: the amount done before.
        show: False never writes. True writes to standard error if that is a terminal or a notebook. A writable stream is
            always written to.
    """

    def __init__(self, total: int | None, what: str = "rows", *, start: int = 0, show: bool | TextIO = True) -> None:
        self.total, self.what, self.start, self.done = total, what, start, start
        self._share: float | None = None
        self._out: TextIO | None = None
        self._columns: int | None = None  # of the terminal; a longer line would wrap and stay
        if not isinstance(show, bool):
            self._out = show
        elif show and (columns := _columns()) is not None:
            self._out, self._columns = sys.stderr, columns - 1
        self._began = self._last = time.monotonic()
        self._shown = 0

    def advance(self, amount: int, share: float | None = None, words: Callable[[], str] | None = None) -> None:
        """Adds to the work done.

        Args:
            amount: how much more.
            share: the share of all work done so far, in (0, 1], if it is known but the total is not.
            words: called for text to append when the line is written.
        """
        self.done += amount
        self._share = share
        if self._out is None:
            return
        now = time.monotonic()
        if now - self._began >= WAIT and now - self._last >= PAUSE:
            self._last = now
            self._write(self.line(now - self._began, words() if words is not None else ""))

    def line(self, seconds: float, words: str = "") -> str:
        """The line at a given number of seconds.

        >>> progress = Progress(4_000_000, show=False)
        >>> progress.advance(1_000_000)
        >>> progress.line(2.0)
        '[######..................]  25 %  1,000,000 of 4,000,000 rows  500 k rows/s  0:06 left'
        """
        rate = (self.done - self.start) / seconds if seconds > 0 else 0.0
        parts = [f"{self.done:,} {self.what}", f"{quantity(rate)} {self.what}/s", *([words] if words else [])]
        total = self.done / self._share if self.total is None and self._share else self.total
        if total is None:
            return "  ".join([*parts, f"{duration(seconds)} so far"])
        share = min(1.0, self.done / total) if total else 1.0
        if self.total is not None:
            parts[0] = f"{self.done:,} of {self.total:,} {self.what}"
        if rate and self.done <= total:
            parts.append(f"{duration((total - self.done) / rate)} left")
        return f"[{'#' * int(24 * share):.<24}] {share:4.0%}".replace("%", " %") + "  " + "  ".join(parts)

    def _write(self, text: str) -> None:
        assert self._out is not None
        text = text[: self._columns]
        self._out.write("\r" + text.ljust(self._shown))
        self._out.flush()
        self._shown = len(text)

    def close(self) -> None:
        """Clears the line."""
        if self._out is not None and self._shown:
            self._write("")
            self._out.write("\r")
            self._out.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
