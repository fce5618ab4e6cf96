"""Auto compared with other libraries' regressors, with their defaults, on the first rows of files.

Run ``python -m benchmarks.auto_peers DIR`` in an environment with River, and again in one with CapyMOA (``make
bench-auto-peers DATA=DIR`` does both); DIR/INDEX.md lists the files. Results are stored in build/auto_peers, file by file,
so that a stopped run can resume; the tables show all stored results. The other libraries get the rows in four forms:
unchanged; scaled by the rows so far; scaled, with the last two labels as features; and with scaled labels as well.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

import driftline as dl
from benchmarks import auto_peers_capymoa, auto_peers_river, auto_streams
from benchmarks.data import Array
from benchmarks.hindsight import online, with_lags
from benchmarks.report import Cell, Table

ROWS = 4000
LIBRARIES = {"river": auto_peers_river.peers, "capymoa": auto_peers_capymoa.peers}
WAYS = ("raw", "scaled", "scaled, lags", "scaled, lags, labels")
Losses = dict[str, dict[str, dict[str, float]]]  # file -> regressor -> way -> loss


class Given(NamedTuple):
    """One form of a file: inputs, labels to learn, and a function that converts predictions back to the file's units."""

    X: Array
    labels: Array
    offset: Array
    unit: Array


def ways(X: Array, y: Array) -> dict[str, Given]:
    """The four forms of a file."""
    zeros, ones = np.zeros(len(y)), np.ones(len(y))
    lagged = online(with_lags(X, y))
    tables = {WAYS[0]: X, WAYS[1]: online(X), WAYS[2]: lagged}
    found = {way: Given(table, y, zeros, ones) for way, table in tables.items()}
    return found | {WAYS[3]: Given(lagged, online(y[:, None])[:, 0], *before(y))}


def before(y: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of the labels before each row; 0 if there are none."""
    count = np.arange(1, len(y) + 1)
    shifted = y - y[0]
    mean = np.cumsum(shifted) / count
    spread = np.sqrt(np.maximum(np.cumsum(shifted**2) / count - mean**2, 0.0))
    return np.concatenate([[0.0], mean[:-1] + y[0]]), np.concatenate([[0.0], spread[:-1]])


def loss(predict_then_learn: Callable[[Array, float], float], given: Given, y: Array) -> float:
    """The squared loss in units of the file's labels; infinite if a prediction is not finite."""
    total = 0.0
    for x, label, offset, unit, true in zip(given.X, *(part.tolist() for part in (*given[1:], y)), strict=True):
        error = offset + unit * predict_then_learn(x, label) - true
        total += error * error
        if not math.isfinite(total):
            return math.inf
    return total


def measure(library: str, folder: Path, rows: int, kept: Path) -> Losses:
    """The losses of a library's regressors on all files; stored ones are not computed again."""
    makers = LIBRARIES[library]()
    found: Losses = json.loads(kept.read_text()) if kept.exists() else {}
    for name, (X, y) in auto_streams.files(folder):
        if name in found:
            continue
        X, y = X[:rows], y[:rows]
        found[name] = {peer: {} for peer in makers}
        for way, given in ways(X, y).items():
            for peer, make in makers.items():
                found[name][peer][way] = loss(make(given.X.shape[1]), given, y)
        print(library, name, flush=True)
        kept.write_text(json.dumps(found, indent=1))
    return found


def over_auto(found: Losses, folder: Path, rows: int) -> Losses:
    """The losses relative to Auto's on the unchanged rows."""
    ours = {name: float(dl.Auto().run(X[:rows], y[:rows]).losses.sum()) for name, (X, y) in auto_streams.files(folder)}
    return {
        name: {peer: {way: value / ours[name] for way, value in each.items()} for peer, each in peers.items()}
        for name, peers in found.items()
    }


def by_file(found: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Table:
    peers = list(next(iter(found.values())))
    lines: list[tuple[Cell, ...]] = [(name, *(min(row[peer].values()) for peer in peers)) for name, row in found.items()]
    lines.append(("median", *np.median([line[1:] for line in lines], axis=0).tolist()))
    return Table("Loss / Auto's loss: the best of the four ways, chosen in hindsight for each file", ("file", *peers), lines)


def by_way(found: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for peer in next(iter(found.values())):
        for way in WAYS:
            ratios = np.array([row[peer][way] for row in found.values()])
            lines.append((f"{peer}, {way}", float(np.median(ratios)), float(ratios.max()), int((ratios < 1).sum())))
    return Table("By way, over the files", ("regressor, way", "median", "largest", "files with less loss than Auto"), lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--keep", type=Path, default=Path("build/auto_peers"), help="where results are stored")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    for library in LIBRARIES:
        kept = options.keep / f"{library}-{options.rows}.json"
        try:
            measure(library, options.folder, options.rows, kept)
        except ModuleNotFoundError as error:
            print(f"{library}: not run here, {error}")
        if kept.exists():
            found = over_auto(json.loads(kept.read_text()), options.folder, options.rows)
            print(by_file(found).text(), by_way(found).text(), sep="\n\n", end="\n\n")


if __name__ == "__main__":
    main()
