"""DWM's accuracy on fresh rows along SEA and hyperplane: the third curve of the paper's Figure 1."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from benchmarks.rivals import contest, dwm
from benchmarks.rivals.methods import CLASSIFIERS
from driftline import streams
from papers.dfop_fig1 import EVERY, FRESH, REPEATS, STAGES


def run(keep: Path, seed: int = 0) -> None:
    """Counts of correct labels among the fresh rows, by stream, repetition and sample."""
    if not contest.installed(CLASSIFIERS["DWM"]):
        return
    for name in STAGES:
        path = keep / f"holdout {name}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps([counts(name, seed + i) for i in range(REPEATS)]))
            print(f"holdout  {name}", flush=True)


def counts(name: str, seed: int, rows: int | None = None, every: int = EVERY, fresh: int = FRESH) -> list[int]:
    """One repetition, on the rows and fresh rows that ``dfop-fig1`` gives DFOP."""
    stream = streams.make(name.lower(), seed=seed, **({} if rows is None else {"rows": rows}))
    X, y = stream.take()
    samples = [stream.holdout(last, fresh, seed=seed) for last in range(every - 1, len(y), every)]
    tests = np.array([inputs for inputs, _ in samples])
    _, said = dwm.with_tests(X, y, tests, every)
    return [int(np.sum((own > 0) == (labels > 0))) for own, (_, labels) in zip(said, samples, strict=True)]
