"""Passes calls from the event loops to the engine thread, and their results back."""

from __future__ import annotations

import asyncio
import logging
import queue
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from driftline.serve.problems import Problem
from driftline.serve.store import FullError, LostError

_log = logging.getLogger("driftline.serve")
_TOGETHER = 1_000  # the most calls that are committed together
_IDLE = 0.5  # seconds without a call after which the thread does other work


class BusyError(Exception):
    """The call changes a model that another call works on; it has done nothing yet."""


class QueuedCall(NamedTuple):
    """A call, and the future that waits for it."""

    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    work: Callable[..., Any]
    arguments: tuple[Any, ...]

    def outcome(self, work: Callable[[], Any]) -> Any:
        """Executes the call or a part of it, by ``work``; returns its result, or the Problem that it raised."""
        try:
            return work()
        except Problem as problem:
            return problem
        except (LostError, BusyError):
            raise
        except FullError:  # while reading
            return Problem(507, "the disk is full; nothing was changed, and everything acknowledged is safe")
        except Exception:
            _log.exception("a call failed")
            return Problem(500, "internal error; nothing was changed")


class CallQueue:
    """The calls that wait for the thread.

    Args:
        most: how many may wait; more are refused with 503.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._queue: queue.SimpleQueue[QueuedCall | None] = queue.SimpleQueue()

    async def submit(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Waits until the thread has done the work."""
        if self._queue.qsize() >= self._most:
            raise Problem(503, f"{self._most} calls are already waiting")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._queue.put(QueuedCall(loop, future, work, arguments))
        return await future

    @property
    def size(self) -> int:
        """The number of calls that wait."""
        return self._queue.qsize()

    def end(self) -> None:
        """Accepts no more calls."""
        self._queue.put(None)

    def take(self, *, wait: bool) -> tuple[list[QueuedCall], bool]:
        """The waiting calls, or none after half a second if it is to wait for one; and whether more may follow."""
        calls: list[QueuedCall] = []
        try:
            call = self._queue.get(wait, _IDLE)
            while call is not None:
                calls.append(call)
                if len(calls) == _TOGETHER:
                    return calls, True
                call = self._queue.get_nowait()
        except queue.Empty:
            return calls, True
        return calls, False

    def rest(self) -> list[QueuedCall]:
        """The calls that were never taken."""
        calls = []
        while not self._queue.empty():
            calls.append(self._queue.get())
        return [call for call in calls if call is not None]


def refuse(calls: Iterable[QueuedCall], problem: Problem) -> None:
    """Answers calls with a problem, unless they were already answered."""
    deliver([(call, problem) for call in calls])


def deliver(done: list[tuple[QueuedCall, Any]]) -> None:
    """Hands outcomes to their event loops, with one wake-up for each."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for call, outcome in done:
        loops.setdefault(call.loop, []).append((call.future, outcome))
    for loop, pairs in loops.items():
        try:
            loop.call_soon_threadsafe(_settle, pairs)
        except RuntimeError:  # the loop is closed
            continue


def _settle(pairs: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, outcome in pairs:
        if future.done():  # the client left
            continue
        if isinstance(outcome, Problem):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
