"""Runs methods on tasks, and stores the results."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.bench_rivals.methods import LEVEL, METHODS, Answer, Method
from benchmarks.bench_rivals.task import Task, tasks
from benchmarks.data import Array
from driftline.evaluate import interval_score


def score(task: Task, answer: Answer) -> dict[str, float]:
    """Errors of the scored rows, and the score and coverage of the intervals, if any."""
    rows = slice(task.start, None)
    y, errors = task.y[rows], (task.y - answer.predictions)[rows]
    found = {"mse": float(np.mean(np.square(errors))), "mae": float(np.mean(np.abs(errors)))}
    if answer.lower is not None and answer.upper is not None:
        lower, upper = answer.lower[rows], answer.upper[rows]
        found["interval"] = float(np.mean(interval_score(lower, upper, y, LEVEL)))
        found["coverage"] = float(np.mean((lower <= y) & (y <= upper)))
    return found


def measure(method: Method, task: Task, commit: str) -> tuple[dict[str, Any], Array]:
    """The figures of a method on a task, and its predictions."""
    call = method.prepare(task)
    begun = time.process_time()
    answer = call()
    seconds = time.process_time() - begun
    figures = {
        **score(task, answer),
        "rows": len(task.y),
        "features": task.X.shape[1],
        "start": task.start,
        "seconds": seconds,
        "commit": commit,
    }
    return figures, answer.predictions


def run(folder: Path, keep: Path, only: Sequence[str], delays: Sequence[int], again: bool) -> None:
    """Measures the methods on all tasks of a folder, except stored results, unless ``again``."""
    if unknown := set(only) - METHODS.keys():
        raise SystemExit(f"bench_rivals: no method {', '.join(sorted(unknown))}; there are {', '.join(METHODS)}")
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    commit = machine.commit()
    for task in tasks(folder, delays):
        for name in only or METHODS:
            path = keep / task.name / str(task.delay) / f"{name}.json"
            if (path.exists() and not again) or (task.delay and not METHODS[name].late):
                continue
            found, predictions = measure(METHODS[name], task, commit)
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path.with_suffix(".npy"), predictions)
            path.write_text(json.dumps(found))
            print(f"{task.name}  {task.delay}  {name}  mse {found['mse']:.6g}  {found['seconds']:.1f} s", flush=True)
