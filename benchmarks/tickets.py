"""The cost of late labels: ``python -m benchmarks.tickets``. Needs only driftline.

Nanoseconds a row of ``predict_one`` and ``learn_one``, of ``ask`` and ``tell``, each the minimum of many short interleaved
rounds, and their ratio; then the cost of a row for each step of a Forecaster, relative to a row of the learner's ``run``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter

import numpy as np

import driftline as dl
from benchmarks.data import Array, gaussian
from benchmarks.report import Cell, Table
from driftline.features import Lags, Standardize

LEARNERS: dict[str, Callable[[], dl.Learner]] = {
    "LMS": lambda: dl.LMS(rate=0.01),
    "RLS": dl.RLS,
    "Kalman": dl.Kalman,
    "Auto": dl.Auto,
    "Pipeline": lambda: Standardize() | Lags(y=2) | dl.RLS(),
    "Network": lambda: dl.Network([dl.RLS(), dl.Kalman()]),
}
ROWS, STEPS = 200, 8


def one_row(make: Callable[[], dl.Learner], d: int, rounds: int) -> tuple[float, float]:
    """Nanoseconds a row: predict and learn, ask and tell."""
    X, y = gaussian(ROWS, d)
    model, rows, labels = make(), list(X), y.tolist()
    model.run(X, y)
    model.ask(X[0])

    def plainly() -> None:
        for x, label in zip(rows, labels, strict=True):
            model.predict_one(x)
            model.learn_one(x, label)

    def by_tickets() -> None:
        for x, label in zip(rows, labels, strict=True):
            model.tell(model.ask(x), label)

    least = [np.inf, np.inf]
    for _ in range(rounds):
        for place, way in enumerate((plainly, by_tickets)):
            least[place] = min(least[place], _seconds(way) / ROWS)
    return 1e9 * least[0], 1e9 * least[1]


def forecasting(make: Callable[[], dl.Learner], X: Array, y: Array, rounds: int) -> float:
    """The cost of a row for each step, relative to a row of the learner's run."""
    least = [np.inf, np.inf]
    for _ in range(rounds):
        least[0] = min(least[0], _seconds(lambda: make().run(X, y, level=0.9)))
        least[1] = min(least[1], _seconds(lambda: dl.Forecaster(make(), STEPS).run(X, y, level=0.9)))
    return least[1] / least[0] / STEPS


def _seconds(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 30 if parser.parse_args().quick else 300
    lines: list[tuple[Cell, ...]] = []
    for name, make in LEARNERS.items():
        cells: list[Cell] = [name]
        for d in (5, 20):
            plain, tickets = one_row(make, d, rounds if name != "Network" else rounds // 10)
            cells += [plain, tickets, tickets / plain]
        lines.append(tuple(cells))
    header = ("learner", *(f"{what}, d = {d}" for d in (5, 20) for what in ("predict + learn", "ask + tell", "ratio")))
    print(Table("Nanoseconds a row", header, lines).text())
    X, y = gaussian(4000, 12)
    steps: list[tuple[Cell, ...]] = [
        (name, forecasting(LEARNERS[name], X, y, rounds // 30)) for name in ("RLS", "Kalman", "Auto")
    ]
    print(Table(f"A row at one of {STEPS} steps, in rows of the learner's run", ("learner", "rows"), steps).text())


if __name__ == "__main__":
    main()
