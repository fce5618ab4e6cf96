"""Work in several threads, all of which have ended when a call returns or raises."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar, cast

from driftline._core import heed_interrupt
from driftline.base.processors import cores

R = TypeVar("R")


def in_parallel(work: Callable[[int], R], count: int) -> list[R]:
    """Calls ``work`` with the numbers below ``count``, in threads if there are cores for them.

    An interrupt is raised once no call is running any more. An executor does not wait for a thread that was interrupted
    while it started.
    """
    if count < 2 or cores() < 2:
        return [_heeding(work, number) for number in range(count)]
    calls, started, interrupt = _Calls(work, count), False, None
    while True:
        try:
            if not started:
                started = True
                for _ in range(min(count, cores())):
                    threading.Thread(target=calls.make, name="driftline step").start()
            calls.wait()
            break
        except BaseException as error:
            calls.stop()
            interrupt = error
    if interrupt is not None:
        raise interrupt
    if calls.errors:  # of the first call that failed: all calls before it have been made
        raise calls.errors[min(calls.errors)]
    return cast("list[R]", calls.results)


def _heeding(work: Callable[[int], R], number: int) -> R:
    heed_interrupt()
    return work(number)


class _Calls(Generic[R]):
    """Calls that threads share; the main thread makes none, because it may be interrupted at any point."""

    def __init__(self, work: Callable[[int], R], count: int) -> None:
        self.results: list[R | None] = [None] * count
        self.errors: dict[int, BaseException] = {}
        self._work, self._lock, self._ended = work, threading.Lock(), SimpleQueue[None]()
        self._next = self._running = 0
        self._stopped = False

    def make(self) -> None:
        """Makes calls until none is left."""
        while (number := self._take()) is not None:
            try:
                self.results[number] = self._work(number)
            except BaseException as error:
                self.errors[number] = error
                self._stopped = True
            with self._lock:
                self._running -= 1
            self._ended.put(None)

    def stop(self) -> None:
        """Lets no further call begin."""
        self._stopped = True

    def wait(self) -> None:
        """Waits for all calls, or for those that are running if they were stopped."""
        while self._is_busy():
            with suppress(Empty):
                self._ended.get(timeout=0.1)  # an interrupt may lose an entry
            heed_interrupt()

    def _take(self) -> int | None:
        with self._lock:
            if self._stopped or self._next == len(self.results):
                return None
            self._running += 1
            self._next += 1
            return self._next - 1

    def _is_busy(self) -> bool:
        with self._lock:
            return self._running > 0 or (self._next < len(self.results) and not self._stopped)
