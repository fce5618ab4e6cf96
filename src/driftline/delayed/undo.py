"""Undoes a call of a forecaster that failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from driftline.delayed.forecaster import Forecaster

MOST_CALLS = 64  # exporting the state takes about as long as this many rows


class _Kept(NamedTuple):
    state: dict[str, Any]
    calls: list[Callable[[], object]]


class Undo:
    """A forecaster's state some rows ago, and the calls since, which are repeated to undo another one.

    The guard undoes by it in the place of the forecaster: exporting all models for each row would take most of the time.
    """

    def __init__(self, forecaster: Forecaster) -> None:
        self._forecaster = forecaster
        self._kept: _Kept | None = None

    def __getstate__(self) -> tuple[_Kept, int]:
        """Called before a call: what to restore, and how many calls to repeat."""
        if self._kept is None or len(self._kept.calls) >= MOST_CALLS:
            self._kept = _Kept(self._forecaster.__getstate__(), [])
        return self._kept, len(self._kept.calls)

    def note(self, call: Callable[[], object]) -> None:
        """Keeps a call that has succeeded."""
        assert self._kept is not None, "only within an undo"
        self._kept.calls.append(call)

    def forget(self) -> None:
        """Keeps nothing, after a call that would take long to repeat."""
        self._kept = None

    def _roll_back(self, before: tuple[_Kept, int]) -> None:
        self._kept, count = before
        del self._kept.calls[count:]
        self._forecaster._restore(self._kept.state)
        for call in self._kept.calls:
            call()
