"""Methods in the paper's protocol: on consecutive subsets of 4T/5 rows, each row predicted before it is learned.

Results are stored in one file for each method and data set, so that a stopped run can resume.
"""

from __future__ import annotations

import importlib.util
import json
import math
import time
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import driftline
from benchmarks.data import Array
from benchmarks.rivals.methods import CLASSIFICATION, Method, methods
from driftline.errors import DriftlineWarning
from driftline.evaluate import subsets
from papers.rivals import fingerprint

SUBSETS, LEAST = 10, 2
WARM_UP = 60  # rows learned before the clock starts: code is compiled and loaded
MODULES = {"scikit-learn": "sklearn"}


def chosen(rows: int, inputs: int, method: Method) -> list[int]:
    """The subsets that a method is run on: as many as its budget allows, evenly spread."""
    affordable = method.budget / (1 + inputs / 20) / (4 * rows / 5)
    count = int(min(SUBSETS, max(LEAST, affordable)))
    return sorted({round(i) for i in np.linspace(0, SUBSETS - 1, count).tolist()})


def score(task: str, predictions: Array, y: Array) -> float | None:
    """The share of correct labels, or the mean squared error; None if a prediction is not finite."""
    if not np.isfinite(predictions).all():
        return None
    if task == CLASSIFICATION:
        return float(np.mean((predictions >= 0) == (y > 0)))
    with np.errstate(over="ignore"):
        error = float(np.mean(np.square(predictions - y)))
    return error if math.isfinite(error) else None


def measure(task: str, method: Method, X: Array, y: Array) -> dict[str, Any]:
    """A method's scores on its subsets of a data set, and its time a row."""
    parts = subsets(len(y), SUBSETS)
    method.run(X[:WARM_UP].copy(), y[:WARM_UP].copy(), 0)
    found, seconds, rows = [], 0.0, 0
    at = chosen(*X.shape, method)
    for i in at:
        start, stop = parts[i]
        begun = time.process_time()
        predictions = method.run(np.ascontiguousarray(X[start:stop]), y[start:stop].copy(), i + 1)
        seconds += time.process_time() - begun
        rows += stop - start
        found.append(score(task, np.asarray(predictions, dtype=float), y[start:stop]))
    return {
        "subsets": at,
        "scores": found,
        "microseconds": float(f"{1e6 * seconds / rows:.3g}"),
        "origin": method.origin,
        "words": method.words,
        "library": f"{method.library} {version(method.library)}",
        "fingerprint": fingerprint(X, y),
    }


def version(library: str) -> str:
    """The version of an installed package, or of the imported driftline."""
    return driftline.__version__ if library == "driftline" else metadata.version(library)


def installed(method: Method) -> bool:
    """Whether this environment has the package that a method needs."""
    return importlib.util.find_spec(MODULES.get(method.library, method.library)) is not None


def run(task: str, sets: Iterator[tuple[str, Array, Array]], keep: Path, only: list[str]) -> None:
    """Measures everything without a stored result."""
    warnings.simplefilter("ignore", DriftlineWarning)  # the grids contain very short memories on purpose
    for label, X, y in sets:
        folder = keep / task / label
        folder.mkdir(parents=True, exist_ok=True)
        for name, method in methods(task, label.split(",")[0], X, y).items():
            path = folder / f"{name}.json"
            if path.exists() or (only and name not in only) or len(y) > method.longest or not installed(method):
                continue
            found = measure(task, method, X, y)
            path.write_text(json.dumps(found))
            mean = np.mean([np.nan if value is None else value for value in found["scores"]])
            print(
                f"{task}  {label}  {name}  {mean:.4f}  {len(found['scores'])} subsets  {found['microseconds']} us",
                flush=True,
            )
