"""Time limits for many short waits, with one timer for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from driftline.serve.problems import Problem

T = TypeVar("T")
R = TypeVar("R")


class Deadlines(Generic[T]):
    """Ends items that take too long, at most twice the limit after they began. A timer for each item would cost more.

    Args:
        seconds: the limit.
        end: called with an item that is late.
    """

    def __init__(self, seconds: float, end: Callable[[T], None]) -> None:
        self.seconds, self._end = seconds, end
        self._old: set[T] = set()
        self._young: set[T] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, item: T) -> None:
        """Starts the time of an item."""
        self._young.add(item)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self.seconds, self._turn)

    def discard(self, item: T) -> None:
        """Removes an item that is done."""
        self._young.discard(item)
        self._old.discard(item)

    def _turn(self) -> None:
        """Ends the old items, and makes the young ones old."""
        late, self._old, self._young = self._old, self._young, set()
        self._timer = asyncio.get_running_loop().call_later(self.seconds, self._turn) if self._old else None
        for item in late:
            self._end(item)


class Bodies(Deadlines[asyncio.Task[Any]]):
    """Time limits for the tasks that read a body.

    Args:
        seconds: the limit.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds, self._cancel)
        self._late: set[asyncio.Task[Any]] = set()

    def _cancel(self, task: asyncio.Task[Any]) -> None:
        self._late.add(task)
        task.cancel()

    async def hold(self, work: Coroutine[Any, Any, R]) -> R:
        """Awaits work; Problem 408 if it takes too long."""
        task = asyncio.current_task()
        assert task is not None
        self.add(task)
        try:
            return await work
        except asyncio.CancelledError:
            if task not in self._late:
                raise
            task.uncancel()
            raise Problem(408, f"the body took longer than {self.seconds:g} s") from None
        finally:
            self.discard(task)
            self._late.discard(task)
