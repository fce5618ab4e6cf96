"""Many features: rows a second on sparse rows compared with other libraries, and memory with a million features.

``python -m benchmarks.high_dimension`` prints both; ``--data FOLDER`` prints accuracies on a9a.csv.gz and spam.csv.gz in
that folder.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import driftline as dl
from benchmarks.data import Array
from benchmarks.high_dimension_peers import FOLLOWERS, RIVER, WABBIT, Follower
from benchmarks.report import Cell, Report, Table, Verdict
from benchmarks.resident import peak, probed
from benchmarks.timing import Case, compare, pin

FEATURES, ENTRIES = 1_000_000, 50
SLOWEST, LARGEST = 20_000.0, 200.0
SPARSE, ONE_ROW, NOBODY = "SparseDFOP, sparse matrix", "NLMS, one row at a time", "no learner, the rows alone"
SLOW = ("SparseDFOP, Gaussian matrix", ONE_ROW, RIVER, WABBIT)  # given fewer rows a round


def stream(rows: int, seed: int = 0) -> tuple[sp.csr_array, Array]:
    """Fifty entries a row among a million features, and a target that depends on 100,000 of them."""
    rng = np.random.default_rng(seed)
    columns = np.sort(rng.integers(0, FEATURES, size=(rows, ENTRIES), dtype=np.int32), axis=1)
    starts = np.arange(0, rows * ENTRIES + 1, ENTRIES, dtype=np.int32)
    X = sp.csr_array((rng.standard_normal(rows * ENTRIES), columns.ravel(), starts), shape=(rows, FEATURES))
    X.sum_duplicates()
    return X, np.asarray(X @ np.where(np.arange(FEATURES) % 10, 0.0, rng.standard_normal(FEATURES)))


def measure(quick: bool) -> Report:
    """Speed in one run with interleaved cases, then the memory of each in a separate process."""
    many, few = (4000, 200) if quick else (20_000, 2000)
    X, y = stream(many)
    cases = []
    for name, follower in FOLLOWERS.items():
        rows = few if name in SLOW else many
        prepared = follower.prepare(X[:rows], y[:rows])
        cases.append(Case(name, partial(_learn_from_scratch, follower, prepared), rows))
    timings = compare(cases, 3 if quick else 9)
    lines: list[tuple[Cell, ...]] = [
        (case.label, 1 / timings.median(case.label), timings.ratio(case.label, "NLMS")) for case in cases
    ]
    names = [name for name in (NOBODY, *FOLLOWERS) if name != ONE_ROW]
    peaks = {name: probed("benchmarks.high_dimension", 5000 if quick else 50_000, name) for name in names}
    note = f"{FEATURES:,} features, {ENTRIES} entries a row. Every row is predicted, then learned."
    tables = [
        Table("Compressed rows", ("learner", "rows a second", "time, NLMS = 1"), lines, note),
        Table(
            "Memory, a million features", ("learner", "peak MB"), list(peaks.items()), "Resident, with the libraries' code."
        ),
    ]
    verdicts = [
        Verdict("microseconds a row of SparseDFOP, sparse matrix", 1e6 * timings.median(SPARSE), 1e6 / SLOWEST, "us"),
        Verdict("memory of SparseDFOP with a million features", peaks[SPARSE], LARGEST, "MB"),
    ]
    return Report(tables, verdicts)


def _learn_from_scratch(follower: Follower, prepared: Any) -> None:
    follower.start()(prepared)


def probe(rows: int, name: str, size: int = 1000) -> float:
    """The peak of the resident memory, in MB, after a learner, or none, processed this many rows in blocks (Linux)."""
    follower = FOLLOWERS.get(name, Follower(lambda X, y: (X, y), lambda: lambda rows: None))
    follow = follower.start()
    for start in range(0, rows, size):
        follow(follower.prepare(*stream(size, seed=start)))
    return peak()


def accuracies(folder: Path) -> Table:
    """Accuracy of the predicted sign of each row before it is learned: SparseDFOP at dim 100 and DFOP on all features."""
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
    parser.add_argument("--probe", nargs=2, metavar=("ROWS", "NAME"), help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.probe:
        print(json.dumps(probe(int(options.probe[0]), options.probe[1])))
    elif options.data:
        print(accuracies(options.data).text())
    else:
        print(measure(options.quick).text())


if __name__ == "__main__":
    pin()
    main()
