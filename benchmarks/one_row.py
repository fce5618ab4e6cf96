"""One row at a time: ``predict_one``, then ``learn_one``, in microseconds a row, compared with other libraries."""

from __future__ import annotations

import numpy as np

import driftline as dl
from benchmarks.data import Array, gaussian
from benchmarks.peers import FORGETTING, RIDGE, Loop, Peer, array_rows, mapping_rows, one_by_one, one_row_peers
from benchmarks.report import Report, Table, Verdict
from benchmarks.timing import Case, Timings, compare, rows_for

ARRAY = "driftline RLS, NumPy row"
MAPPING = "driftline RLS, mapping"
TARGETS = {(ARRAY, 5): 1.0, (ARRAY, 20): 1.2, (MAPPING, 20): 3.0}
DIMENSIONS = (5, 20)
ROWS = 10_000
SECONDS = 0.05


def measure(quick: bool) -> Report:
    timed = {d: _compare(d, rounds=3 if quick else 15) for d in DIMENSIONS}
    agreement = _agreement(DIMENSIONS[-1])
    rows = [
        (
            label,
            *(1e6 * timed[d].median(label) for d in DIMENSIONS),
            *(1e6 * timed[d].minimum(label) for d in DIMENSIONS),
            *(timed[d].ratio(label, ARRAY) for d in DIMENSIONS),
            agreement.get(label, "-"),
        )
        for label in timed[DIMENSIONS[0]].rounds
    ]
    header = ["predict, then learn", *(f"{what}, d = {d}" for what in ("us", "minimum us", "ratio") for d in DIMENSIONS)]
    note = (
        "Median and minimum microseconds a row, and the ratio to driftline RLS on a NumPy row. RLS with forgetting "
        f"{FORGETTING}. Differs: the largest difference between a prediction and driftline's in {ROWS:,} rows, "
        f"d = {DIMENSIONS[-1]}."
    )
    verdicts = [
        Verdict(f"{label}, predict + learn, d = {d}", 1e6 * timed[d].median(label), target, "us a row")
        for (label, d), target in TARGETS.items()
    ]
    return Report([Table("One row at a time", (*header, "differs"), rows, note)], verdicts)


def _contenders(d: int) -> list[Peer]:
    return [
        Peer(ARRAY, _driftline_rls, array_rows, True),
        Peer(MAPPING, _driftline_rls, mapping_rows, True),
        *one_row_peers(d),
    ]


def _driftline_rls() -> Loop:
    return one_by_one(dl.RLS(forgetting=FORGETTING, ridge=RIDGE, intercept=False))


def _compare(d: int, rounds: int) -> Timings:
    X, y = gaussian(ROWS, d)
    return compare([_case(peer, X, y.tolist()) for peer in _contenders(d)], rounds)


def _case(peer: Peer, X: Array, labels: list[float]) -> Case:
    """A case with as many rows as fit into a time slice, so that slow libraries do not prolong a round."""
    xs = peer.rows(X)
    count = rows_for(SECONDS, lambda n: peer.make()(xs[:n], labels[:n]), most=len(xs))
    slice_xs, slice_labels = xs[:count], labels[:count]
    return Case(peer.label, lambda: peer.make()(slice_xs, slice_labels), count)


def _agreement(d: int) -> dict[str, float]:
    """Largest difference of each RLS's predictions from driftline's: the peers must compute the same thing."""
    X, y = gaussian(ROWS, d)
    made = {peer.label: np.array(peer.make()(peer.rows(X), y.tolist())) for peer in _contenders(d) if peer.is_rls}
    return {label: float(np.abs(predictions - made[ARRAY]).max()) for label, predictions in made.items()}
