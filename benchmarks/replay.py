"""Replay: ``run`` over many rows in native code, in nanoseconds a row, compared with a numba loop and padasip's ``run``."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import padasip
from numpy.typing import NDArray

import driftline as dl
from benchmarks import numba_rls
from benchmarks.data import gaussian, rotating
from benchmarks.peers import FORGETTING, RIDGE
from benchmarks.report import Cell, Report, Table, Verdict
from benchmarks.timing import Case, Timings, compare

ROWS = {5: 100_000, 20: 40_000, 100: 4_000, 500: 400}
TARGETS = {5: 1.0, 20: 0.7, 100: 0.45, 500: 0.40}
NLMS_TARGET = 25.0
ARCOR_TARGET = 3.0
PADASIP_ROWS = {5: 500, 20: 500, 100: 200, 500: 20}
DOUBLE, SINGLE, PADASIP = "driftline RLS, float64", "driftline RLS, float32", "padasip FilterRLS.run"
NEVER_ACTIVE, ACTIVE = 1e6, 0.5
FIGURES = ("ns a row", "minimum ns", "ratio")


def measure(quick: bool) -> Report:
    rounds = 3 if quick else 15
    rls, nlms, arcor = (part(rounds) for part in (_rls, _nlms, _arcor))
    parts = (rls, nlms, arcor)
    return Report(
        [table for part in parts for table in part.tables], [verdict for part in parts for verdict in part.verdicts]
    )


def _rls(rounds: int) -> Report:
    rows: list[tuple[Cell, ...]] = []
    verdicts = []
    for d, count in ROWS.items():
        cases = _rls_cases(d, count)
        timed = compare(cases, rounds)
        baseline = min(numba_rls.REPLAYS, key=timed.median)
        differs = _agreement(cases)
        for label in timed.rounds:
            rows.append((label, d, *_figures(timed, label, baseline), differs[label]))
        what = f"RLS.run / {baseline}, d = {d}"
        verdicts.append(Verdict(what, timed.ratio(DOUBLE, baseline), TARGETS[d], "ratio"))
    note = (
        f"RLS with forgetting {FORGETTING}, no intercept. Ratio: to the faster of the two numba loops at that d. "
        "Differs: the largest difference between a prediction and driftline's in float64, over all timed rows."
    )
    header = ("run", "d", *FIGURES, "differs")
    return Report([Table("Replay of RLS", header, rows, note)], verdicts)


def _rls_cases(d: int, count: int) -> list[Case]:
    X, y = gaussian(count, d)
    X32, y32 = X.astype(np.float32), y.astype(np.float32)
    double = partial(dl.RLS, forgetting=FORGETTING, ridge=RIDGE, intercept=False)
    single = partial(double, dtype="float32")
    numba_loops = {label: numba_rls.replay(label, d, FORGETTING, RIDGE) for label in numba_rls.REPLAYS}
    peer = partial(padasip.filters.FilterRLS, n=d, mu=FORGETTING, eps=RIDGE, w="zeros")
    few = PADASIP_ROWS[d]
    return [
        Case(DOUBLE, partial(_fresh_run, double, X, y), count),
        Case(SINGLE, partial(_fresh_run, single, X32, y32), count),
        *(Case(label, partial(loop, X, y), count) for label, loop in numba_loops.items()),
        Case(PADASIP, partial(_fresh_run, peer, y[:few], X[:few]), few),
    ]


def _agreement(cases: list[Case]) -> dict[str, float]:
    """The largest difference of each case's predictions from the first's: baselines must compute the same thing."""
    made = {case.label: _predictions(case.call()) for case in cases}
    ours = made[DOUBLE]
    return {label: float(np.abs(each - ours[: len(each)]).max()) for label, each in made.items()}


def _predictions(result: Any) -> NDArray[Any]:
    """driftline returns a Run, padasip a tuple that starts with the predictions, and numba the predictions alone."""
    if isinstance(result, tuple):
        return np.asarray(result[0])
    return np.asarray(getattr(result, "predictions", result))


def _nlms(rounds: int) -> Report:
    d = 20
    X, y = gaussian(ROWS[d], d)
    model = partial(dl.NLMS, rate=0.1, eps=0.001, intercept=False)
    peer = partial(padasip.filters.FilterNLMS, n=d, mu=0.1, eps=0.001, w="zeros")
    few = PADASIP_ROWS[d]
    ours, theirs = "driftline NLMS, float64", "padasip FilterNLMS.run"
    cases = [
        Case(ours, partial(_fresh_run, model, X, y), len(y)),
        Case(theirs, partial(_fresh_run, peer, y[:few], X[:few]), few),
    ]
    timed = compare(cases, rounds)
    header = ("run", *FIGURES)
    rows = [(label, *_figures(timed, label, ours)) for label in timed.rounds]
    verdict = Verdict(f"NLMS.run, d = {d}", 1e9 * timed.median(ours), NLMS_TARGET, "ns a row")
    return Report([Table(f"Replay of NLMS, d = {d}", header, rows, "Ratio: to driftline.")], [verdict])


def _arcor(rounds: int) -> Report:
    d, count = 100, 2000
    X, y = rotating(count, d)
    baseline, active = "AROWR", f"ARCOR, schedule 2, radius {ACTIVE:g}"
    makers: dict[str, partial[Any]] = {baseline: partial(dl.AROWR, noise=1.0, ridge=1.0, intercept=False)}
    arcor = partial(dl.ARCOR, noise=1.0, intercept=False)
    quiet = {
        f"ARCOR, schedule {schedule:g}, radius not active": partial(arcor, radius=NEVER_ACTIVE, schedule=schedule)
        for schedule in (1.0, 2.0, 3.0)
    }
    makers |= quiet | {active: partial(arcor, radius=ACTIVE, schedule=2.0)}
    cases = [Case(label, partial(_fresh_run, make, X, y), count) for label, make in makers.items()]
    timed = compare(cases, rounds)
    resets = {label: len(make().run(X, y).resets) for label, make in makers.items()}
    rows = [(label, *_figures(timed, label, baseline), resets[label]) for label in makers]
    worst = max(quiet, key=lambda label: timed.ratio(label, baseline))
    note = f"The ARCOR paper's rotating inputs, widened to {d}; {count} rows; noise 1. Ratio: to AROWR."
    table = Table(f"ARCOR and AROWR, d = {d}", ("run", *FIGURES, "resets"), rows, note)
    return Report([table], [Verdict(f"{worst} / AROWR, d = {d}", timed.ratio(worst, baseline), ARCOR_TARGET, "ratio")])


def _fresh_run(make: partial[Any], *rows: NDArray[Any]) -> object:
    """A new model for every call, so that every round does the same work."""
    return make().run(*rows)


def _figures(timed: Timings, label: str, baseline: str) -> tuple[float, float, float]:
    return 1e9 * timed.median(label), 1e9 * timed.minimum(label), timed.ratio(label, baseline)
