"""What a pooled fleet costs, and whose alarms go off: ``python -m benchmarks.pooled_cost``.

Rows per second of processor time of ``run``, relative to a fleet by key, with 8 features and labels at once; the memory of a
key; and the keys whose alarm goes off if one key in a hundred changes, or if the labels of all keys rise at once.
"""

from __future__ import annotations

import time

import numpy as np

import driftline as dl
from benchmarks.data import Array
from benchmarks.report import Cell, Table

SPEEDS = ((dl.RLS(), 1_000, 300_000), (dl.RLS(), 100_000, 500_000), (dl.Auto(), 100, 10_000))
KEYS, ROUNDS = (500, 5000), 200


def rows_of(keys: int, rows: int) -> tuple[Array, Array, Array]:
    """Rows of keys in random order, whose levels differ."""
    rng = np.random.default_rng(0)
    which, X = rng.integers(0, keys, rows), rng.standard_normal((rows, 8))
    return which, X, X[:, 0] + rng.standard_normal(keys)[which] + 0.1 * rng.standard_normal(rows)


def speed(learner: dl.Learner, pooled: bool, level: float | None, data: tuple[Array, Array, Array]) -> tuple[float, float]:
    """Rows a second of a run on a fleet that has met its keys, and its memory in bytes a key."""
    which, X, y = data
    fleet = dl.Fleet(learner, pooled=pooled, intervals=True, jobs=1)
    fleet.learn_many(which, X, y)
    began = time.process_time()
    fleet.run(which, X, y, level=level)
    return len(y) / (time.process_time() - began), float(fleet.summary()["memory"].mean())


def speeds() -> Table:
    lines: list[tuple[Cell, ...]] = []
    for learner, keys, rows in SPEEDS:
        data = rows_of(keys, rows)
        for level in (None, 0.9):
            (apart, less), (pooled, more) = (speed(learner, pooled, level, data) for pooled in (False, True))
            lines.append(
                (f"{type(learner).__name__}, {keys:,} keys", level or "none", apart, pooled, pooled / apart, less, more)
            )
    header = ("fleet", "level", "rows/s by key", "pooled", "ratio", "bytes a key", "pooled")
    return Table("Speed of run and memory", header, lines)


def alarms(keys: int) -> Table:
    """Keys of RLS whose weights and levels differ; the noise has a deviation of 0.5."""
    lines: list[tuple[Cell, ...]] = []
    for change in ("none", "one key in a hundred", "all labels rise by 5", "all labels rise by 1"):
        rng = np.random.default_rng(0)
        which = np.concatenate([rng.permutation(keys) for _ in range(ROUNDS)])
        X, later = rng.standard_normal((len(which), 3)), np.arange(len(which)) > len(which) // 2
        weights, levels = 1 + 0.3 * rng.standard_normal((keys, 3)), 2 * rng.standard_normal(keys)
        y = np.sum(X * weights[which], axis=1) + levels[which] + 0.5 * rng.standard_normal(len(which))
        if change == "one key in a hundred":
            y += np.where(later & (which % 100 == 0), 3 * X[:, 0] + 2, 0.0)
        elif change != "none":
            y += np.where(later, float(change.rsplit(" ", 1)[1]), 0.0)
        for pooled in (False, True):
            run = dl.Fleet(dl.RLS(forgetting=0.999), pooled=pooled).run(which, X, y)
            raised = np.unique(which[run.alarms])
            of_pool: Cell = len(run.pool_alarms) if pooled else "-"
            error = float(np.sqrt(np.mean(run.losses[later])))
            found = int(np.sum(raised % 100 == 0))
            lines.append((change, "pooled" if pooled else "by key", len(raised), found, of_pool, error))
    header = ("change", "fleet", "keys with alarms", "of these, one in a hundred", "alarms of the pool", "error after")
    return Table(f"Alarms of {keys:,} keys, {ROUNDS} rows each", header, lines)


def main() -> None:
    print(speeds().text(), flush=True)
    for keys in KEYS:
        print()
        print(alarms(keys).text(), flush=True)


if __name__ == "__main__":
    main()
