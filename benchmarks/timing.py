"""Interleaved timing on one core: every case in every round, in rotating order."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@dataclass(frozen=True)
class Case:
    """Something to time: ``call`` processes ``rows`` rows."""

    label: str
    call: Callable[[], object]
    rows: int


@dataclass(frozen=True)
class Timings:
    """Seconds a row of each case, one entry a round."""

    rounds: dict[str, list[float]]

    def median(self, label: str) -> float:
        return median(self.rounds[label])

    def minimum(self, label: str) -> float:
        return min(self.rounds[label])

    def ratio(self, label: str, baseline: str) -> float:
        """Median over the rounds of the ratio to the baseline within the same round."""
        pairs = zip(self.rounds[label], self.rounds[baseline], strict=True)
        return median(one / other for one, other in pairs)


def pin() -> None:
    """One core, one thread. Call it before NumPy is imported: BLAS reads its variables once."""
    for name in THREAD_VARIABLES:
        os.environ[name] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def on_all_cores(call: Callable[[], object]) -> None:
    """Allows all cores, for benchmarks of threads; everything else runs on the one core of :func:`pin`."""
    if not hasattr(os, "sched_setaffinity"):
        call()
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        call()
    finally:
        os.sched_setaffinity(0, before)


def compare(cases: Sequence[Case], rounds: int, clock: Callable[[], float] = perf_counter) -> Timings:
    """Times the cases ``rounds`` times, after one untimed call of each.

    A disturbance of the machine hits neighbours in time alike, so ratios are taken within a round; the order rotates
    so that no case always follows the same one. ``process_time`` as the clock excludes the time of other processes; it is
    for cases with one thread.
    """
    for case in cases:
        case.call()
    seconds: dict[str, list[float]] = {case.label: [] for case in cases}
    collecting = gc.isenabled()
    gc.disable()
    try:
        for turn in range(rounds):
            first = turn % len(cases)
            for case in (*cases[first:], *cases[:first]):
                begin = clock()
                case.call()
                seconds[case.label].append((clock() - begin) / case.rows)
    finally:
        if collecting:
            gc.enable()
    return Timings(seconds)


def rows_for(seconds: float, call: Callable[[int], object], most: int) -> int:
    """The number of rows that ``call(rows)`` processes in about ``seconds``, at most ``most``."""
    probe = min(50, most)
    call(probe)
    begin = perf_counter()
    call(probe)
    each = (perf_counter() - begin) / probe
    return max(probe, min(most, int(seconds / each)))
