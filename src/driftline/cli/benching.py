"""``driftline bench``: how many rows a second this machine learns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

from driftline.base import registry
from driftline.base.learner import Learner
from driftline.evaluate import Progress
from driftline.evaluate.tables import Table

ROUNDS = 3
SLICE = 0.15  # seconds that a measurement should take


def measure(models: dict[str, type[Learner]], sizes: list[int], *, show: bool = False) -> Table:
    """Rows a second of each learner at each number of features, the best of several rounds in turns."""
    best: dict[tuple[str, int], float] = {}
    with Progress(ROUNDS * len(models) * len(sizes), "measurements", show=show) as bar:
        for _, (name, cls), d in itertools.product(range(ROUNDS), models.items(), sizes):
            best[name, d] = max(best.get((name, d), 0.0), _rate(cls, d))
            bar.advance(1)
    rows: list[list[Any]] = [[name, *(round(best[name, d]) for d in sizes)] for name in models]
    return Table(["rows/s", *(f"{d} features" for d in sizes)], rows)


def _rate(cls: type[Learner], d: int) -> float:
    model = cls()
    done, spent = 0, 0.0
    for X, y in _stream(d):
        began = perf_counter()
        model.run(X, y)
        spent += perf_counter() - began
        done += len(y)
        if spent > SLICE:
            break
    return done / spent


def _stream(d: int) -> Iterator[tuple[Any, Any]]:
    """Standard normal features of a fixed target, the same rows again and again."""
    rng = np.random.default_rng(0)
    rows = max(64, min(8192, 2**20 // d**2))
    X = rng.normal(size=(rows, d)) / np.sqrt(d)
    y = X @ rng.normal(size=d) + 0.1 * rng.normal(size=rows)
    while True:
        yield X, y


def known() -> dict[str, type[Learner]]:
    """Every learner that works at its defaults on any number of features."""
    return {name: cls for name, cls in registry.regressors().items() if name != "eg"}
