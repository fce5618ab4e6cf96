"""Cost against d: ``run`` of RLS compared with the limits of arithmetic and memory, and with other libraries."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import padasip

import driftline as dl
from benchmarks import numba_rls
from benchmarks.ceilings import Ceilings, measure_ceilings
from benchmarks.data import Array, gaussian
from benchmarks.peers import FORGETTING, RIDGE, numpy_rls
from benchmarks.report import Cell, Report, Table, Verdict
from benchmarks.timing import Case, Timings, compare, on_all_cores

ROWS = {2: 60_000, 5: 60_000, 10: 60_000, 20: 40_000, 50: 12_000, 100: 4_000, 200: 2_000, 500: 1_500, 1000: 500, 2000: 120}
TARGETS = {20: 4.0, 100: 1.7, 500: 1.5, 1000: 1.5}
SINGLE_FROM, SINGLE_TARGET = 50, 1 / 1.7
BLOCKS_FROM = 500
DOUBLE, SINGLE, NUMBA, NUMPY, PADASIP = (
    "driftline, float64",
    "driftline, float32",
    "numba loop",
    "NumPy loop",
    "padasip FilterRLS.run",
)
SLOW_ROWS = {d: max(2, min(500, 100_000 // d**2)) for d in ROWS}


def measure(quick: bool) -> Report:
    before = measure_ceilings(ROWS)
    timed = {d: compare(_cases(d, count), 3 if quick else 15, process_time) for d, count in ROWS.items()}
    ceilings = before.raised(measure_ceilings(ROWS))
    rows: list[tuple[Cell, ...]] = []
    verdicts = []
    for d, times in timed.items():
        floor = ceilings.arithmetic(d)
        least = {label: times.minimum(label) for label in times.rounds}
        rows.append(
            (
                str(d),
                *(1e9 * least[label] for label in (DOUBLE, SINGLE, NUMBA, NUMPY, PADASIP)),
                1e9 * floor,
                1e9 * ceilings.traffic(d),
                least[DOUBLE] / floor,
                times.ratio(DOUBLE, SINGLE),
            )
        )
        if d in TARGETS:
            verdicts.append(
                Verdict(f"RLS.run over the arithmetic floor, d = {d}", least[DOUBLE] / floor, TARGETS[d], "ratio")
            )
        if d >= SINGLE_FROM:
            verdicts.append(
                Verdict(f"RLS.run, float32 / float64, d = {d}", times.ratio(SINGLE, DOUBLE), SINGLE_TARGET, "ratio")
            )
    header = ("d", DOUBLE, SINGLE, NUMBA, NUMPY, PADASIP, "floor", "traffic", "over the floor", "float64 / float32")
    bandwidth = ", ".join(f"{1e-9 * rate:.0f} GB/s in {size / 2**20:.2g} MiB" for size, rate in ceilings.bandwidth.items())
    note = (
        f"CPU nanoseconds a row, the minimum over the rounds; RLS with forgetting {FORGETTING}, no intercept. Floor: the "
        f"time of 3 d² operations at the speed of fused multiply-adds measured in this run, {1e-9 * ceilings.double:.1f} "
        f"GFlop/s in float64 and {1e-9 * ceilings.single:.1f} in float32. Traffic: the time to read and write half a "
        f"float64 matrix, at the bandwidths measured in this run, {bandwidth}. The last column is the median ratio over the "
        "rounds."
    )
    tables = [Table("Cost against d", header, rows, note), _threads(quick), _learners(quick, ceilings)]
    return Report(tables, verdicts, pictures={"dimensions": partial(draw, timed=timed, ceilings=ceilings)})


def _threads(quick: bool) -> Table:
    """Wall time on one core and on all of them."""
    rows = []
    for d in (count for count in ROWS if count >= BLOCKS_FROM):
        X, y = gaussian(4 * ROWS[d], d)
        call = partial(_rls_run, X, y)
        one, two = "one core", "all cores"
        cases = [Case(one, call, len(y)), Case(two, partial(on_all_cores, call), len(y))]
        timed = compare(cases, 3 if quick else 11, perf_counter)
        rows.append((str(d), 1e6 * timed.median(one), 1e6 * timed.median(two), timed.ratio(two, one)))
    note = "Wall-clock microseconds a row of RLS in float64. A run uses at most two threads."
    return Table("One thread and two", ("d", "one core", "all cores", "ratio"), rows, note)


def _rls_run(X: Array, y: Array) -> object:
    return dl.RLS(forgetting=FORGETTING, ridge=RIDGE, intercept=False).run(X, y)


def _learners(quick: bool, ceilings: Ceilings) -> Table:
    """Every kind of matrix and policy, at sizes at which rows are processed in blocks."""
    kinds: dict[str, partial[Any]] = {
        "RLS": partial(dl.RLS, forgetting=FORGETTING),
        "AAR": partial(dl.AAR),
        "Kalman": partial(dl.Kalman, noise=1.0, drift=1e-3),
        "LASER": partial(dl.LASER, ridge=1.0, drift_cost=100.0),
        "WEMM": partial(dl.WEMM, ridge=1e4),
        "ARCOR, two matrices": partial(dl.ARCOR, noise=1e4),
    }
    rounds = 3 if quick else 7
    rows = [(label, *(_over_floor(make, d, rounds, ceilings) for d in (100, 500, 1000))) for label, make in kinds.items()]
    note = "CPU time a row, the minimum over the rounds, divided by the time of 3 d² operations; float64, one core."
    return Table("CPU time relative to the floor, by learner", ("learner", "d = 100", "d = 500", "d = 1000"), rows, note)


def _over_floor(make: partial[Any], d: int, rounds: int, ceilings: Ceilings) -> float:
    X, y = gaussian(ROWS[d] // 2, d)
    timed = compare([Case("", lambda: make(intercept=False).run(X, y), len(y))], rounds, process_time)
    return timed.minimum("") / ceilings.arithmetic(d)


def _cases(d: int, count: int) -> list[Case]:
    X, y = gaussian(count, d)
    X32 = X.astype(np.float32)
    double = partial(dl.RLS, forgetting=FORGETTING, ridge=RIDGE, intercept=False)
    few = SLOW_ROWS[d]
    xs, labels = list(X[:few]), y[:few].tolist()
    peer = partial(padasip.filters.FilterRLS, n=d, mu=FORGETTING, eps=RIDGE, w="zeros")
    loop = numba_rls.replay("numba loop, fastmath", d, FORGETTING, RIDGE)
    return [
        Case(DOUBLE, lambda: double().run(X, y), count),
        Case(SINGLE, lambda: double(dtype="float32").run(X32, y), count),
        Case(NUMBA, lambda: loop(X, y), count),
        Case(NUMPY, lambda: numpy_rls(d)(xs, labels), few),
        Case(PADASIP, lambda: peer().run(y[:few], X[:few]), few),
    ]


def draw(path: Path, timed: dict[int, Timings], ceilings: Ceilings) -> None:
    """Draws a line for each case, and the lower bounds, on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    ds = list(timed)
    styles: dict[str, dict[str, Any]] = {
        DOUBLE: {"color": "tab:blue", "marker": "o", "linewidth": 2},
        SINGLE: {"color": "tab:cyan", "marker": "o", "linewidth": 2},
        NUMBA: {"color": "tab:orange", "marker": "s"},
        NUMPY: {"color": "tab:green", "marker": "^"},
        PADASIP: {"color": "tab:red", "marker": "v"},
    }
    for label, style in styles.items():
        axes.plot(ds, [1e9 * timed[d].minimum(label) for d in ds], label=label, markersize=4, **style)
    axes.plot(ds, [1e9 * ceilings.arithmetic(d) for d in ds], "k--", label="3 d² operations, float64")
    axes.plot(ds, [1e9 * ceilings.arithmetic(d, single=True) for d in ds], "k:", label="3 d² operations, float32")
    axes.plot(
        ds,
        [1e9 * ceilings.traffic(d) for d in ds],
        color="grey",
        linestyle="-.",
        label="half a float64 matrix read and written a row",
    )
    axes.set(xscale="log", yscale="log", xlabel="features d", ylabel="nanoseconds a row", title="A row of RLS")
    axes.grid(which="both", alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=130)
