"""Time limits for many short waits, with one timer for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from driftline.serve.problems import Problem

R = TypeVar("R")


class Deadlines:
    """Ends what takes too long, up to twice the limit after it began. A timer for each wait would cost more than the wait.

    Args:
        seconds: the limit.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._old: set[asyncio.Task[Any]] = set()
        self._young: set[asyncio.Task[Any]] = set()
        self._late: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def hold(self, work: Coroutine[Any, Any, R]) -> R:
        """Awaits work; Problem 408 where it took too long."""
        task = asyncio.current_task()
        assert task is not None
        self._young.add(task)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._turn)
        try:
            return await work
        except asyncio.CancelledError:
            if task not in self._late:
                raise
            task.uncancel()
            raise Problem(408, f"the body took longer than {self._seconds:g} s") from None
        finally:
            for group in (self._young, self._old, self._late):
                group.discard(task)

    def _turn(self) -> None:
        """Ends those that were old already, and makes the young ones old."""
        self._late |= self._old
        for task in self._old:
            task.cancel()
        self._old, self._young = self._young, set()
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._turn) if self._old else None
