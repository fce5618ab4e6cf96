"""Counts the calls of a service, times them, and logs each if wanted."""

from __future__ import annotations

import logging
import re
import secrets
from bisect import bisect_left
from collections import Counter
from itertools import accumulate

from driftline.serve.metrics import Family

_log = logging.getLogger("driftline.serve")
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
_ID = re.compile(r"[\x21-\x7e]{1,200}")
_TRACE = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}.*")


def identity(given: str | None, traceparent: str | None) -> dict[str, str]:
    """What a call is called in logs: its X-Request-ID, or a new one, and the trace of its traceparent (W3C), if any."""
    found = {"request_id": given if given is not None and _ID.fullmatch(given) else secrets.token_hex(8)}
    trace = _TRACE.fullmatch(traceparent or "")
    return found if trace is None else {**found, "trace_id": trace[1]}


class Calls:
    """The calls so far.

    Args:
        logged: whether each call has a line in the log.
    """

    def __init__(self, logged: bool) -> None:
        self._logged = logged
        self._statuses: Counter[int] = Counter()
        self._counts: dict[str, list[int]] = {}  # by route, and by the bounds of the times
        self._sums: Counter[str] = Counter()

    def add(self, method: str, route: str | None, path: str, status: int, seconds: float, identity: dict[str, str]) -> None:
        """Adds a call that has an answer; its route is None if nothing is there."""
        self._statuses[status] += 1
        name = "other" if route is None else f"{method} {route}"
        counts = self._counts.setdefault(name, [0] * (len(_BOUNDS) + 1))
        counts[bisect_left(_BOUNDS, seconds)] += 1
        self._sums[name] += seconds  # type: ignore[assignment]
        if self._logged:
            more = {"method": method, "path": path, "status": status, "seconds": round(seconds, 6), **identity}
            _log.info("call", extra={"more": more})

    def families(self) -> list[Family]:
        """The metrics."""
        by_status = [("_total", {"status": str(status)}, count) for status, count in sorted(self._statuses.items())]
        times: list[tuple[str, dict[str, str], float]] = []
        for name, counts in self._counts.items():
            for bound, count in zip([*map(repr, _BOUNDS), "+Inf"], accumulate(counts), strict=True):
                times.append(("_bucket", {"route": name, "le": bound}, count))
            times += [("_sum", {"route": name}, self._sums[name]), ("_count", {"route": name}, sum(counts))]
        about = "Seconds from a request to its answer; for event streams, to the beginning of the answer."
        return [
            Family("driftline_calls", "counter", "Calls by the status of their answer.", by_status),
            Family("driftline_request_duration_seconds", "histogram", about, times),
        ]
