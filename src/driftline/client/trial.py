"""Decides when to retry a call, and on which of several services. Does no input or output."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from driftline.client.calls import Call

_SHORTEST, _LONGEST = 0.05, 1.0  # seconds between two attempts
_NOT_DONE = (503,)  # the service says that nothing was changed
_UNSURE = (502, 504)  # a proxy lost the service, or the service its database


class ServiceError(Exception):
    """The service refused a call, or could not be reached for too long.

    Attributes:
        status: the HTTP status; None if no service answered.
        detail: what is wrong.
        row: the index of the invalid row in the batch, if any.
        field: the invalid part of the request, such as ``x.load``, if any.
    """

    def __init__(self, status: int | None, detail: str, row: int | None = None, field: str | None = None) -> None:
        place = f" (row {row})" if row is not None else ""
        super().__init__(f"{detail}{place}" if status is None else f"{status}: {detail}{place}")
        self.status, self.detail, self.row, self.field = status, detail, row, field


class UnsureError(ServiceError):
    """A call that must not be repeated has no answer: labels without ids, or a copy. It may or may not have been done."""


class Trial:
    """One call through all its attempts.

    Args:
        call: the request.
        addresses: the addresses of the services, in the order to try them.
        patience: seconds after which no new attempt starts.
    """

    def __init__(
        self, call: Call, addresses: Sequence[str], patience: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._call, self._addresses, self._clock = call, list(addresses), clock
        self._until = clock() + patience
        self._attempts = 0
        self._perhaps_done = False

    @property
    def address(self) -> str:
        """The service that the next attempt goes to."""
        return self._addresses[self._attempts % len(self._addresses)]

    def settled(self, status: int, body: bytes) -> bool:
        """Whether an answer ends the call; if not, another attempt follows. Raises ServiceError for a refusal."""
        if status < 300 or (status == 404 and self._call.method == "DELETE" and self._perhaps_done):
            return True
        error = _refusal(status, body)
        if status in _NOT_DONE:
            self._again(error)
        elif status in _UNSURE:
            self._perhaps(error)
        else:
            raise error
        return False

    def failed(self, error: Exception, *, sent: bool) -> None:
        """Records an attempt without an answer. Raises ServiceError if no other attempt is allowed."""
        wrapped = ServiceError(None, f"{self.address} cannot be reached: {type(error).__name__}: {error}")
        if sent:
            self._perhaps(wrapped)
        else:
            self._again(wrapped)

    def pause(self) -> float:
        """Seconds to wait before the next attempt: 0 until each address was tried once."""
        rounds = self._attempts // len(self._addresses)
        if self._attempts % len(self._addresses):
            return 0.0
        return min(_SHORTEST * 2.0 ** min(rounds - 1, 10), _LONGEST) * random.uniform(0.5, 1.0)

    def _perhaps(self, error: ServiceError) -> None:
        """The error for a call that may have been executed."""
        self._perhaps_done = True
        if not self._call.repeatable:
            words = f"{error.detail}. The call may or may not have been done, and is not safe to repeat"
            raise UnsureError(error.status, words) from error
        self._again(error)

    def _again(self, error: ServiceError) -> None:
        self._attempts += 1
        if self._clock() >= self._until:
            raise error


def _refusal(status: int, body: bytes) -> ServiceError:
    """The error for an answer: a problem document, or the text that a proxy sent instead."""
    try:
        document: dict[str, Any] = json.loads(body)
        return ServiceError(status, str(document["detail"]), document.get("row"), document.get("field"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ServiceError(status, body[:200].decode(errors="replace").strip() or "no detail was given")
