"""``python -m benchmarks.bench_rivals DIR``: Auto beside LightGBM, ridge, AutoReg and River on the files of DIR.

DIR/INDEX.md lists the files; DIR/rivals.json, where there is one, says how many rows of each count. What is measured is kept
in build/bench_rivals, a JSON file for each file, lateness and method: a run that was stopped goes on where it was. Then the
tables are printed; ``--docs`` writes them, and the picture, to docs/_static.
"""

from benchmarks.timing import pin

pin()

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.bench_rivals import results
from benchmarks.bench_rivals.methods import LEVEL, METHODS, Answer, Method
from benchmarks.bench_rivals.task import Task, tasks
from benchmarks.data import Array


def score(task: Task, answer: Answer) -> dict[str, float]:
    """Errors from the first row that is scored on, and of intervals their score and their coverage."""
    rows = slice(task.start, None)
    y, errors = task.y[rows], (task.y - answer.predictions)[rows]
    found = {"mse": float(np.mean(np.square(errors))), "mae": float(np.mean(np.abs(errors)))}
    if answer.lower is not None and answer.upper is not None:
        lower, upper = answer.lower[rows], answer.upper[rows]
        found["interval"] = float(np.mean(interval_score(y, lower, upper)))
        found["coverage"] = float(np.mean((lower <= y) & (y <= upper)))
    return found


def interval_score(y: Array, lower: Array, upper: Array) -> Array:
    """An interval's width, and what a label lies outside of it times 2 / (1 - level) (Gneiting and Raftery 2007)."""
    outside = np.maximum(lower - y, 0) + np.maximum(y - upper, 0)
    return np.asarray(upper - lower + 2 / (1 - LEVEL) * outside)


def measure(method: Method, task: Task) -> dict[str, Any]:
    call = method.prepare(task)
    begun = time.process_time()
    answer = call()
    seconds = time.process_time() - begun
    return {
        **score(task, answer),
        "rows": len(task.y),
        "features": task.X.shape[1],
        "start": task.start,
        "seconds": seconds,
        "commit": machine.commit(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_rivals", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder of files, with an INDEX.md that lists them")
    parser.add_argument("--keep", type=Path, default=Path("build/bench_rivals"), help="where what is measured is kept")
    parser.add_argument("--only", nargs="*", choices=list(METHODS), default=list(METHODS), help="methods to measure")
    parser.add_argument("--again", action="store_true", help="measure what is kept, too")
    parser.add_argument("--docs", action="store_true", help="write the tables and the picture to docs/_static")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    for task in tasks(options.folder):
        for name in options.only:
            path = options.keep / task.name / str(task.ahead) / f"{name}.json"
            if (path.exists() and not options.again) or (task.ahead > 1 and not METHODS[name].late):
                continue
            found = measure(METHODS[name], task)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(found))
            print(f"{task.name}  {task.ahead}  {name}  mse {found['mse']:.6g}  {found['seconds']:.1f} s", flush=True)
    results.show(options.keep, Path("docs/_static") if options.docs else None)


if __name__ == "__main__":
    main()
