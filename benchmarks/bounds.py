"""Regret: loss divided by bound, for every theorem, on the papers' streams.

``python -m benchmarks.bounds`` prints the ratios; ``--picture FILE`` plots regret and a live bound over time.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

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


def unit_rows(stream: Rotating, rows: int) -> tuple[Array, Array, Array]:
    """Rows scaled to norm 1, labels with the same noise as before, and the true weights."""
    X, y = stream.take(rows)
    weights = np.asarray(stream.weights)
    norms = np.linalg.norm(X, axis=1)
    targets = np.einsum("td,td->t", X, weights)
    return X / norms[:, None], targets / norms + (y - targets), weights


def _table(name: str, stream: Rotating, rows: int) -> Table:
    X, y, weights = unit_rows(stream, rows)
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


def draw(path: Path) -> None:
    """Left, the regret of four learners to the true weights; right, AAR's certificate over time."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    X, y, truth = unit_rows(STREAMS["thesis, constant drift, noise 0.05"], ROWS)
    rows = np.arange(1, ROWS + 1)
    fig, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
    learners = {
        "Ridge": (dl.Ridge(intercept=False), "#000000"),
        "LASER": (dl.LASER(ridge=1.0, drift_cost=1000.0, intercept=False), "#E69F00"),
        "ARCOR": (dl.ARCOR(noise=10.0, radius=1.0, schedule=2.0, intercept=False), "#CC79A7"),
        "Kalman": (dl.Kalman(noise=0.05, drift=5e-5, intercept=False), "#0072B2"),
    }
    for name, (learner, colour) in learners.items():
        left.plot(rows, regret.curve(learner.run(X, y), X, y, truth), color=colour, label=name)
    left.set(xlabel="row", ylabel="cumulative regret to the true weights", title="A target that turns 0.002 rad a row")
    model, marks, live = dl.AAR(intercept=False), range(20, ROWS + 1, 20), []
    for end in marks:
        model.run(X[end - 20 : end], y[end - 20 : end])
        certificate = model.certificate()
        live.append((certificate.bound, certificate.loss, certificate.comparator))
    styles = (("bound", "#D55E00", "-"), ("loss", "#000000", "-"), ("comparator", "#56B4E9", "--"))
    for values, (name, colour, line) in zip(zip(*live, strict=True), styles, strict=True):
        right.plot(marks, values, color=colour, ls=line, label=name)
    right.set(xlabel="row", ylabel="sum of squared errors", title="AAR's certificate, live")
    for axes in (left, right):
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    fig.savefig(path, dpi=150)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bounds", description="loss over bound of every theorem")
    parser.add_argument("--quick", action="store_true", help="few rows")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw a picture instead")
    options = parser.parse_args()
    if options.picture:
        draw(options.picture)
    else:
        print(*(table.text() for table in measure(options.quick).tables), sep="\n\n")
