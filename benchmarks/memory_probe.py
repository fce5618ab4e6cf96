"""Measures memory once, in a new process, and prints bytes as JSON: ``python -m benchmarks.memory_probe``.

``run T d``: the size of the result of ``RLS.run`` over T rows, all that it allocated, and the growth of the resident peak.
``models name d n``: the growth of the resident set per model, for n trained models of dimension d.
"""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import driftline as dl
from benchmarks.data import gaussian, level
from benchmarks.resident import kilobytes, status
from driftline.base.registry import regressors


def run_memory(rows: int, d: int) -> dict[str, int]:
    X, y = gaussian(rows, d)
    model = dl.RLS(forgetting=0.999)
    model.run(X[:10], y[:10])
    before = _reset_peak()
    out = model.run(X, y)
    resident = status("VmHWM") - before
    held = out.predictions.nbytes + out.errors.nbytes + out.resets.nbytes
    del out
    return {"held": held, "allocated": _allocated(lambda: model.run(X, y)), "resident": resident}


def _allocated(call: Callable[[], object]) -> int:
    """All bytes that NumPy and Python allocated, including freed ones.

    This is the sum, over the intervals between calls and returns of functions, of the rise of memory in each interval. The
    peak alone would miss a temporary that is freed before the outputs are made.
    """
    total = last = 0

    def watch(*_: object) -> None:
        nonlocal total, last
        current, peak = tracemalloc.get_traced_memory()
        total += peak - last
        last = current
        tracemalloc.reset_peak()

    tracemalloc.start()
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    watch()
    tracemalloc.stop()
    return total


def bytes_a_model(name: str, d: int, count: int) -> dict[str, float]:
    learner = regressors()[name]
    X, y = level(4, d)

    def grown() -> object:
        model = learner(intercept=False)
        model.run(X[:3], y[:3])
        model.predict_one(X[3])
        model.learn_one(X[3], float(y[3]))
        return model

    models = [grown()]
    before = _resident()
    models += [grown() for _ in range(count)]
    return {"bytes": (_resident() - before) / count}


def _reset_peak() -> int:
    """Make the resident peak start from now (Linux: proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def _resident() -> int:
    """Summed page by page: the counters of /proc/self/status lag behind by some pages a thread."""
    return kilobytes("/proc/self/smaps_rollup", "Rss")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run", rows, d]:
            print(json.dumps(run_memory(int(rows), int(d))))
        case ["models", name, d, count]:
            print(json.dumps(bytes_a_model(name, int(d), int(count))))
        case _:
            sys.exit("usage: python -m benchmarks.memory_probe run T d | models name d n")
