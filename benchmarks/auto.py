"""Auto compared with the best learner in hindsight on each stream.

``python -m benchmarks.auto`` uses generated streams, and with ``--data DIR`` also the regression files that DIR/INDEX.md
lists. ``--held-out`` uses other seeds; ``--rescaled`` gives every feature and the label a random unit and origin. ``--cache
DIR`` stores the losses of the best learners.
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
from benchmarks.timing import Case, compare, on_all_cores, pin

MEDIAN, NINETY, WORST = 0.93, 1.02, 1.10
RUN_TARGET, CORES_TARGET, ROW_TARGET, EARLY_TARGET, FULL_TARGET = 30_000, 1.5, 40.0, 300.0, 3.0


def streams(options: argparse.Namespace) -> Iterator[tuple[str, Rows]]:
    seed = auto_streams.HELD_OUT if options.held_out else auto_streams.DEVELOPMENT
    chosen = [] if options.files_only else list(auto_streams.generated(seed + options.seed))
    if options.data:
        chosen += auto_streams.files(options.data)
    for number, (name, rows) in enumerate(chosen):
        if options.only is None or options.only in name:
            yield name, auto_streams.rescaled(rows, seed + number) if options.rescaled else rows


def race(options: argparse.Namespace) -> Table:
    """Compares Auto's loss with that of the best learner in hindsight on every stream."""
    lines: list[tuple[Cell, ...]] = []
    for name, (X, y) in streams(options):
        winner, least = hindsight.best(X, y, options.cache)
        loss = float(dl.Auto().run(X, y).losses.sum())
        first = float(y[0]) ** 2  # every learner predicts 0 for the first row
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
    """Prints the smallest times over many rounds, and the size of the state."""
    X, y = gaussian(8_000, 12)
    wide, labels = gaussian(8_000, 20)
    rows = list(zip(wide[:300], labels[:300].tolist(), strict=True))
    one = dl.Auto()

    def loop() -> None:
        for x, label in rows:
            one.predict_interval(x, 0.9)
            one.learn_one(x, label)

    def run() -> None:
        dl.Auto().run(X, y)

    cases = [
        Case("one core", run, len(y)),
        Case("all cores", lambda: on_all_cores(run), len(y)),
        Case("row", loop, len(rows)),
    ]
    timed = compare(cases, rounds)
    single, several = timed.minimum("one core"), timed.minimum("all cores")
    model, sizes = dl.Auto(), []
    for start, stop in ((0, 500), (500, 8_000)):
        model.run(wide[start:stop], labels[start:stop])
        sizes.append(len(model.to_bytes()))
    return "\n".join(
        [
            f"run at d = 12, rows a second on one core: {1 / single:,.0f} (at least {RUN_TARGET:,})",
            f"on all cores: {single / several:.2f} times as many (at least {CORES_TARGET:g})",
            f"predict_interval + learn_one at d = 20: {1e6 * timed.minimum('row'):.1f} us (at most {ROW_TARGET:g})",
            f"state at d = 20 after 500 rows: {sizes[0] / 1e3:,.0f} kB (at most {EARLY_TARGET:g})",
            f"state at d = 20 when full: {sizes[1] / 1e6:.1f} MB (at most {FULL_TARGET:g})",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, metavar="DIR", help="a folder of files, with an INDEX.md that lists them")
    parser.add_argument("--files-only", action="store_true", help="leave the generated streams out")
    parser.add_argument("--held-out", action="store_true", help="seeds that were not used for the design of Auto")
    parser.add_argument("--seed", type=int, default=0, help="added to the seeds")
    parser.add_argument("--rescaled", action="store_true", help="random units and origins for every feature and the label")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where the losses of the best learners are stored")
    parser.add_argument("--only", metavar="TEXT", help="only streams whose name contains this text")
    parser.add_argument("--cost", action="store_true", help="measure the time instead")
    options = parser.parse_args()
    if options.cost:
        print(cost(20))
        return
    table = race(options)
    print(verdict(table))
    if options.rescaled:  # if labels are far from 0, the first row dominates the loss
        print(verdict(table, 4))


if __name__ == "__main__":
    pin()
    main()
