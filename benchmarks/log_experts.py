"""Experts on log labels: ``python -m benchmarks.log_experts DIR``, on the regression files of DIR/INDEX.md.

Auto beside a mixture of it with learners of log(1 + y), on the files whose labels are never negative: squared error and 90 %
interval score over those of Auto alone. Of each file, the first 4,000 rows are used (``--rows``). Needs only driftline.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import driftline as dl
from benchmarks.data import Array
from benchmarks.intervals_by_group import HALVES, files, read
from benchmarks.report import Cell, Table
from driftline.features import Lags

LOG = Lags(y=[1, 2, 24]) | dl.RLS(forgetting=0.999)
EXPERTS = {
    "with RLS on lags": lambda: dl.Auto(experts=[dl.Auto(), dl.Transformed(LOG, "log1p")]),
    "with Auto on log labels": lambda: dl.Auto(experts=[dl.Auto(), dl.Transformed(dl.Auto(), "log1p")]),
}
FIRST = 100  # rows that do not count


def figures(model: dl.Learner, X: Array, y: Array) -> tuple[float, float]:
    run = model.run(X, y, level=0.9)
    assert run.lower is not None
    assert run.upper is not None
    rows = slice(FIRST, None)
    score = dl.evaluate.interval_score(run.lower[rows], run.upper[rows], y[rows], 0.9).mean()
    return float(np.mean(run.losses[rows])), float(score)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, default=4_000)
    parser.add_argument("--half", choices=list(HALVES), default="all", help="the files to use")
    options = parser.parse_args()
    found: list[list[float]] = []
    rows: list[tuple[Cell, ...]] = []
    for name in files(options.data, options.half):
        X, y = read(options.data, name, options.rows)
        if (y < 0).any():
            continue
        own = figures(dl.Auto(), X, y)
        pairs = [zip(figures(make(), X, y), own, strict=True) for make in EXPERTS.values()]
        found.append([ours / plain for pair in pairs for ours, plain in pair])
        rows.append((name, *(f"{ratio:.3f}" for ratio in found[-1])))
        print(*rows[-1], flush=True)
    for name, figure in (("geometric mean", np.exp(np.mean(np.log(found), axis=0))), ("largest", np.max(found, axis=0))):
        rows.append((name, *(f"{ratio:.3f}" for ratio in figure)))
    columns = tuple(f"{what}, {name}" for name in EXPERTS for what in ("squared error", "score"))
    print(Table("", ("file", *columns), tuple(rows)).text())


if __name__ == "__main__":
    main()
