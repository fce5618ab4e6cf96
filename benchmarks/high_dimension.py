"""Many features: rows a second on compressed rows beside other libraries, and memory with a million features.

``python -m benchmarks.high_dimension`` prints both; ``--data FOLDER`` prints accuracies on a9a.csv.gz and spam.csv.gz in it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import driftline as dl
from benchmarks.data import Array
from benchmarks.report import Cell, Report, Table, Verdict
from benchmarks.timing import Case, compare, pin

FEATURES, ENTRIES = 1_000_000, 50
SLOWEST, LARGEST = 20_000.0, 200.0


def stream(rows: int, seed: int = 0) -> tuple[sp.csr_array, Array]:
    """Fifty entries a row in places of any of a million features, and a target that 100,000 of them share."""
    rng = np.random.default_rng(seed)
    columns = np.sort(rng.integers(0, FEATURES, size=(rows, ENTRIES), dtype=np.int32), axis=1)
    starts = np.arange(0, rows * ENTRIES + 1, ENTRIES, dtype=np.int32)
    X = sp.csr_array((rng.standard_normal(rows * ENTRIES), columns.ravel(), starts), shape=(rows, FEATURES))
    X.sum_duplicates()
    return X, np.asarray(X @ np.where(np.arange(FEATURES) % 10, 0.0, rng.standard_normal(FEATURES)))


def measure(quick: bool) -> Report:
    rows, few = (4000, 200) if quick else (20_000, 2000)
    X, y = stream(rows)
    cases = [
        Case("NLMS", lambda: dl.NLMS().run(X, y), rows),
        Case("EG, norm 10", lambda: dl.EG(norm=10.0, rate=1e-3).run(X, y), rows),
        Case("SparseDFOP, sparse matrix", lambda: dl.SparseDFOP(matrix="sparse").run(X, y), rows),
        Case("SparseDFOP, Gaussian matrix", lambda: dl.SparseDFOP().run(X[:few], y[:few]), few),
        Case("NLMS, one row at a time", partial(_one_by_one, dl.NLMS, X[:few], y[:few]), few),
    ]
    if river := _river(X[:few], y[:few]):
        cases.append(Case("River LinearRegression", river, few))
    if wabbit := _wabbit(X[:few], y[:few]):
        cases.append(Case("Vowpal Wabbit, Python interface", wabbit, few))
    timings = compare(cases, 3 if quick else 9)
    lines: list[tuple[Cell, ...]] = [
        (case.label, 1 / timings.median(case.label), timings.ratio(case.label, "NLMS")) for case in cases
    ]
    speed = 1 / timings.median("SparseDFOP, sparse matrix")
    peak = _peak(5000 if quick else 50_000)
    note = f"{FEATURES:,} features, {ENTRIES} entries a row. Every row is predicted, then learned."
    tables = [
        Table("Compressed rows", ("learner", "rows a second", "time, NLMS = 1"), lines, note),
        Table("Memory, a million features", ("learner", "peak MB"), [("SparseDFOP, sparse matrix", peak)], "Resident."),
    ]
    verdicts = [
        Verdict("microseconds a row of SparseDFOP, sparse matrix", 1e6 / speed, 1e6 / SLOWEST, "us"),
        Verdict("memory of SparseDFOP with a million features", peak, LARGEST, "MB"),
    ]
    return Report(tables, verdicts)


def _one_by_one(make: Any, X: sp.csr_array, y: Array) -> None:
    model = make()
    for t in range(len(y)):
        row = X[t : t + 1]
        model.predict_one(row)
        model.learn_one(row, y[t])


def _items(X: sp.csr_array) -> list[list[tuple[int, float]]]:
    bounds = X.indptr.tolist()
    pairs = list(zip(X.indices.tolist(), X.data.tolist(), strict=True))
    return [pairs[start:stop] for start, stop in pairwise(bounds)]


def _river(X: sp.csr_array, y: Array) -> Any:
    try:
        from river import linear_model
    except ModuleNotFoundError:
        return None
    rows, labels = [{str(j): value for j, value in items} for items in _items(X)], y.tolist()

    def call() -> None:
        model = linear_model.LinearRegression()
        for x, label in zip(rows, labels, strict=True):
            model.predict_one(x)
            model.learn_one(x, label)

    return call


def _wabbit(X: sp.csr_array, y: Array) -> Any:
    """Lines of text are made before the clock starts; an example knows the prediction made before it was learned."""
    try:
        from vowpalwabbit import Workspace
    except ModuleNotFoundError:
        return None
    lines = [
        f"{label} | " + " ".join(f"{j}:{value}" for j, value in items)
        for items, label in zip(_items(X), y.tolist(), strict=True)
    ]

    def call() -> None:
        model = Workspace("--quiet -b 20")
        for line in lines:
            example = model.example(line)
            model.learn(example)
            example.get_updated_prediction()
            model.finish_example(example)
        model.finish()

    return call


def _peak(rows: int) -> float:
    command = [sys.executable, "-m", "benchmarks.high_dimension", "--probe", str(rows)]
    return float(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def probe(rows: int, size: int = 5000) -> float:
    """The peak of the resident memory, in MB, after so many rows in blocks (Linux)."""
    model = dl.SparseDFOP(matrix="sparse")
    for start in range(0, rows, size):
        X, y = stream(size, seed=start)
        model.run(X, y)
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def accuracies(folder: Path) -> Table:
    """Accuracy of the sign, predicted before learned: SparseDFOP at dim 100 beside DFOP on all features."""
    lines: list[tuple[Cell, ...]] = []
    for name in ("a9a", "spam"):
        values = np.loadtxt(folder / f"{name}.csv.gz", delimiter=",", skiprows=1)
        X, y = values[:, :-1], np.where(values[:, -1] == values[:, -1].max(), 1.0, -1.0)
        compressed = sp.csr_array(X)
        for rate in (1e-3, 1e-4):
            found: list[float] = []
            for matrix in ("gaussian", "sparse"):
                models = [dl.SparseDFOP(forget_rate=rate, dim=100, matrix=matrix, seed=seed) for seed in range(5)]
                hits = [float(np.mean(np.sign(model.run(compressed, y).predictions) == y)) for model in models]
                found += [float(np.mean(hits)), float(np.std(hits))]
            plain = float(np.mean(np.sign(dl.DFOP(forget_rate=rate).run(X, y).predictions) == y))
            lines.append((name, X.shape[1], rate, *found, plain))
    header = ("file", "features", "forget_rate", "Gaussian", "± (5 seeds)", "sparse", "± (5 seeds)", "DFOP, all features")
    return Table("Accuracy at dim 100", header, lines, "Predicted before learned.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, metavar="FOLDER")
    parser.add_argument("--probe", type=int, metavar="ROWS", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.probe:
        print(json.dumps(probe(options.probe)))
        return
    if options.data:
        print(accuracies(options.data).text())
        return
    report = measure(options.quick)
    print(*(table.text() for table in report.tables), sep="\n\n")
    print(*(f"{v.what}: {v.measured:.3g} of at most {v.target:g} {v.unit}, {v.word}" for v in report.verdicts), sep="\n")


if __name__ == "__main__":
    pin()
    main()
