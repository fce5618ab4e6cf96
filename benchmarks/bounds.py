"""Regret: loss over bound of every theorem on the papers' own streams. ``python -m benchmarks.bounds`` prints it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import driftline as dl
from benchmarks.data import Array
from benchmarks.report import Cell, Report, Table
from driftline import regret
from driftline.streams import Rotating, Switching

ROWS = 2000
STREAMS = {
    "thesis, constant drift, no noise": Rotating(rate=0.002, noise=0.0),
    "thesis, constant drift, noise 0.05": Rotating(rate=0.002, noise=0.05),
    "thesis, t^-1 and switches, no noise": Switching(rate=1.0, power=1.0, noise=0.0),
    "thesis, t^-1 and switches, noise 0.05": Switching(rate=1.0, power=1.0, noise=0.05),
    "ARCOR, t^-0.01 degrees, noise 2": Rotating(rate=1.0, power=0.01, unit="deg", noise=2.0),
    "ARCOR, t^-0.5 degrees and switches, noise 2": Switching(rate=1.0, power=0.5, unit="deg", noise=2.0),
}


def measure(quick: bool) -> Report:
    rows = 400 if quick else ROWS
    return Report([_table(name, stream, rows) for name, stream in STREAMS.items()])


def _table(name: str, stream: Rotating, rows: int) -> Table:
    X, y = stream.take(rows)
    weights = np.asarray(stream.weights)
    norms = np.linalg.norm(X, axis=1)
    noise = y - np.einsum("td,td->t", X, weights)
    X /= norms[:, None]
    y = (y - noise) / norms + noise
    zero = float(y @ y)
    lines: list[tuple[Cell, ...]] = []
    for against, bound in _bounds(X, y, weights):
        assert bound.applies, bound
        assert bound.observed is not None
        assert bound.ratio is not None
        lines.append((bound.statement, against, bound.observed, bound.value, bound.ratio))
    note = f"d = {X.shape[1]}, {rows} rows, inputs scaled to norm 1. Predicting 0 has the loss {zero:.4g}."
    return Table(f"Bounds: {name}", ("statement", "against", "observed", "bound", "ratio"), lines, note)


def _bounds(X: Array, y: Array, truth: Array) -> Iterator[tuple[str, regret.Bound]]:
    plain = {"intercept": False}
    fixed = regret.best_fixed(X, y, 1.0).weights
    fixed /= max(1.0, float(np.linalg.norm(fixed)))
    yield "best fixed", regret.lms(dl.LMS(rate=0.1, **plain), X, y)
    yield "best fixed", regret.aar(dl.AAR(ridge=1.0, **plain), X, y)
    yield "best fixed", regret.arowr(dl.AROWR(noise=1.0, **plain), X, y)
    for wemm in (regret.wemm_theorem_4, regret.wemm_theorem_5, regret.wemm_theorem_6):
        yield "best fixed", wemm(dl.WEMM(ridge=2.0, **plain), X, y)
    learner = dl.ARCOR(noise=10.0, radius=1.0, schedule=2.0, **plain)
    for arcor in (regret.arcor_theorem_1, regret.arcor_corollary_1, regret.arcor_corollary_2):
        yield "best fixed", arcor(learner, X, y, fixed)
        yield "the truth", arcor(learner, X, y, truth)
    yield "", regret.arcor_lemma_1(learner, X, y)
    tracker = dl.LASER(ridge=1.0, drift_cost=1000.0, **plain)
    yield "best sequence", regret.laser_theorem_12(tracker, X, y)
    yield "the truth", regret.laser_theorem_12(tracker, X, y, truth)
    yield "", regret.laser_lemma_13(tracker, X, y)
    yield "best sequence", regret.laser_corollary_16(tracker, X, y)


if __name__ == "__main__":
    for table in measure(quick=False).tables:
        print(table.text(), end="\n\n")
