"""Auto beside the best learner chosen in hindsight, stream by stream.

``python -m benchmarks.auto`` takes the generated streams, ``--data DIR`` the regression files that DIR/INDEX.md lists too,
``--held-out`` other seeds; ``--rescaled`` gives every feature and the label its own unit and origin. What hindsight costs is
kept in ``--cache DIR``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import driftline as dl
from benchmarks import auto_streams, hindsight
from benchmarks.auto_streams import Rows
from benchmarks.data import gaussian
from benchmarks.report import Cell, Table
from benchmarks.timing import Case, compare, pin

MEDIAN, NINETY, WORST = 0.93, 1.02, 1.10
RUN_TARGET, ROW_TARGET = 40.0, 20.0


def streams(options: argparse.Namespace) -> Iterator[tuple[str, Rows]]:
    seed = auto_streams.HELD_OUT if options.held_out else auto_streams.DEVELOPMENT
    chosen = [] if options.files_only else list(auto_streams.generated(seed + options.seed))
    if options.data:
        chosen += auto_streams.files(options.data)
    for number, (name, rows) in enumerate(chosen):
        if options.only is None or options.only in name:
            yield name, auto_streams.rescaled(rows, seed + number) if options.rescaled else rows


def race(options: argparse.Namespace) -> Table:
    """The ratio of Auto's loss to that of the best in hindsight, on every stream."""
    lines: list[tuple[Cell, ...]] = []
    for name, (X, y) in streams(options):
        winner, least = hindsight.best(X, y, options.cache)
        loss = float(dl.Auto().run(X, y).losses.sum())
        first = float(y[0]) ** 2  # nobody knows anything yet: everyone says 0
        later = (loss - first) / (least - first) if least > first else 1.0
        lines.append((name, len(y), X.shape[1], loss / least if least else 1.0, later, winner))
        print(f"{name:36s} {lines[-1][3]:7.3f} {later:7.3f}  {winner}", flush=True)
    header = ("stream", "rows", "features", "ratio", "from the second row on", "best in hindsight")
    return Table("Auto / the best in hindsight", header, lines)


def verdict(table: Table, column: int = 3) -> str:
    ratios = np.array([row[column] for row in table.rows], dtype=float)
    figures = (
        ("median", float(np.median(ratios)), MEDIAN),
        ("90 %", float(np.quantile(ratios, 0.9, method="inverted_cdf")), NINETY),
        ("worst", float(ratios.max()), WORST),
    )
    return f"{len(ratios)} streams, {table.header[column]}: " + ", ".join(
        f"{name} {value:.3f} (at most {most:.2f}: {'pass' if value <= most else 'short'})" for name, value, most in figures
    )


def cost(rounds: int) -> str:
    """``run`` beside that of one RLS, and one row through Python: the least times of many rounds."""
    X, y = gaussian(10_000, 20)
    xs, labels = list(X[:300]), y[:300].tolist()
    one = dl.Auto()

    def loop() -> None:
        for x, label in zip(xs, labels, strict=True):
            one.predict_one(x)
            one.learn_one(x, label)

    timed = compare(
        [
            Case("Auto", lambda: dl.Auto().run(X, y), len(y)),
            Case("RLS", lambda: dl.RLS().run(X, y), len(y)),
            Case("row", loop, len(xs)),
        ],
        rounds,
    )
    return (
        f"run at d = 20: {timed.minimum('Auto') / timed.minimum('RLS'):.1f} times one RLS (at most {RUN_TARGET:g}), "
        f"{1e9 * timed.minimum('Auto'):.0f} ns a row; predict_one + learn_one: {1e6 * timed.minimum('row'):.1f} us "
        f"(at most {ROW_TARGET:g})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, metavar="DIR", help="a folder of files, with an INDEX.md that lists them")
    parser.add_argument("--files-only", action="store_true", help="leave the generated streams out")
    parser.add_argument("--held-out", action="store_true", help="seeds that were not used while Auto was made")
    parser.add_argument("--seed", type=int, default=0, help="added to the seeds")
    parser.add_argument("--rescaled", action="store_true", help="every feature and the label in its own unit and origin")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where the losses of hindsight are kept")
    parser.add_argument("--only", metavar="TEXT", help="streams whose name has this in it")
    parser.add_argument("--cost", action="store_true", help="measure the time instead")
    options = parser.parse_args()
    if options.cost:
        print(cost(40))
        return
    table = race(options)
    print(verdict(table))
    if options.rescaled:  # where labels are far from 0 the first row is nearly all of the loss
        print(verdict(table, 4))


if __name__ == "__main__":
    pin()
    main()
