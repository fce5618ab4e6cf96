"""``dfop-fig5``: running time of Sparse-DFOP, S-RLS, GMF-RLS and DFOP on high-dimensional data."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftline import DFOP, SparseDFOP
from driftline.evaluate import Table
from papers.dfop_contest import PRIOR
from papers.dfop_data import FORMAT, Dataset, missing
from papers.dfop_sparse_contest import NAMES, WIDEST, compressed, datasets, with_one
from papers.pictures import colours, legend_below, panels
from papers.sparse_dfop_traces import DIM, RATE
from papers.sparse_rls import PENALTIES, THRESHOLDS, PlainDFOP, rivals
from papers.target import Check, Context, Findings

ROUNDS, ROWS = 9, 400
PLAIN, NATIVE = ", NumPy", ", native"
SPARSE = "Sparse-DFOP"
METHODS = ("S-RLS", "GMF-RLS", "DFOP")


class Timed(NamedTuple):
    """A data set's times.

    Attributes:
        data_set: its label.
        inputs: number of inputs.
        seconds: processor time per row, by method, (round,).
    """

    data_set: str
    inputs: int
    seconds: dict[str, NDArray[Any]]

    def ratio(self, slow: str, fast: str) -> float:
        """The ratio of two methods' times, the median over the rounds; NaN if one was not run."""
        if slow not in self.seconds or fast not in self.seconds:
            return float("nan")
        return float(np.median(self.seconds[slow] / self.seconds[fast]))


def methods(X: NDArray[Any], y: NDArray[Any], seed: int) -> dict[str, Callable[[], object]]:
    """What to time, by name. Sparse-DFOP includes projecting the rows; nothing includes appending a constant."""
    from scipy.sparse import csr_array

    sparse = csr_array(X)
    projected = PlainDFOP(RATE, PRIOR)
    found: dict[str, Callable[[], object]] = {
        SPARSE + NATIVE: lambda: SparseDFOP(forget_rate=RATE, prior=PRIOR, dim=DIM, seed=seed).run(sparse, y),
        SPARSE + PLAIN: lambda: projected.predictions(with_one(compressed(X, seed)), y),
    }
    if X.shape[1] <= WIDEST:
        known = rivals(RATE, PRIOR)
        plain = (known["S-RLS"][THRESHOLDS[1]], known["GMF-RLS"][PENALTIES[1]], PlainDFOP(RATE, PRIOR))
        for name, rival in zip(METHODS, plain, strict=True):
            found[name + PLAIN] = partial(rival.predictions, with_one(X), y)
        found["DFOP" + NATIVE] = lambda: DFOP(forget_rate=RATE, prior=PRIOR).run(X, y)
    return found


def timed(dataset: Dataset, seed: int, rounds: int) -> Timed:
    """Times all methods on the first rows, in turns."""
    X, y = (part[:ROWS] for part in dataset.taken())
    calls = methods(X, y, seed)
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds + 1):
        for name, call in calls.items():
            began = time.process_time()
            call()
            if turn:  # the first warms the caches
                seconds[name].append((time.process_time() - began) / len(y))
    return Timed(dataset.label, X.shape[1], {name: np.array(values) for name, values in seconds.items()})


def compute(context: Context) -> Findings:
    """Runs one data set after the other in one process, so that timings do not interfere."""
    sets = datasets(context)
    lacking = missing(context, sets, NAMES)
    times = [timed(dataset, context.seed, context.pick(ROUNDS, 2)) for dataset in sets]
    return judge(times, [*lacking, "ASVB-L, which the figure also shows"])


def judge(times: Sequence[Timed], left_out: Sequence[str] = ()) -> Findings:
    """Findings from the times."""
    names = list(dict.fromkeys(name for one in times for name in one.seconds))
    rows: list[list[Any]] = []
    records: list[list[Any]] = []
    for one in times:
        middles = {name: 1e6 * float(np.median(values)) for name, values in one.seconds.items()}
        rows.append([one.data_set, one.inputs, *(middles.get(name) for name in names)])
        records += [[one.data_set, one.inputs, name, value] for name, value in middles.items()]
    return Findings(
        numbers=Table(["data_set", "inputs", "method", "microseconds"], records),
        checks=checks(times),
        draw=lambda: draw(times, names),
        summary=[Table(["data set", "inputs", *names], rows, "Microseconds of the processor a row, medians.")],
        remarks=REMARKS,
        left_out=left_out,
    )


def checks(times: Sequence[Timed]) -> list[Check]:
    """Checks that Sparse-DFOP takes less time: in NumPy against the others, and in the library against DFOP."""
    found = []
    for one in times:
        if one.inputs > WIDEST:
            continue
        plain = {name: one.ratio(name + PLAIN, SPARSE + PLAIN) for name in METHODS}
        native = one.ratio("DFOP" + NATIVE, SPARSE + NATIVE)
        where = f"{one.data_set}, {one.inputs:,} inputs"
        found.append(
            Check(
                f"{where}: Sparse-DFOP takes less time than S-RLS, GMF-RLS and DFOP, all in NumPy",
                min(plain.values()) > 1,
                ", ".join(f"{name} {value:.3g} times as long" for name, value in plain.items()),
            )
        )
        found.append(
            Check(
                f"{where}: the library's Sparse-DFOP takes less time than its DFOP",
                native > 1,
                f"DFOP {native:.3g} times as long",
            )
        )
    return found


REMARKS = (
    f"A row costs a matrix of D inputs O(D²), and Sparse-DFOP O({DIM}²) and the projection. Where D is near {DIM} there "
    "is nothing to gain, and projecting costs something. The paper averages over sets of up to 1,355,191 inputs, for "
    "which D² numbers fit no memory.",
    "In NumPy, a row costs some calls whatever its size; in native code hardly anything. S-RLS and GMF-RLS exist in "
    "NumPy only: compare them with the others in NumPy.",
)


def draw(times: Sequence[Timed], names: Sequence[str]) -> Any:
    """Draws bars of the time per row, by data set."""
    figure, (ax,) = panels(1, width=3.2 + 2.2 * len(times), height=4.2)
    colour, width = colours(names), 0.8 / len(names)
    for k, name in enumerate(names):
        own = [(i, 1e6 * float(np.median(one.seconds[name]))) for i, one in enumerate(times) if name in one.seconds]
        at = [i + (k - (len(names) - 1) / 2) * width for i, _ in own]
        ax.bar(at, [value for _, value in own], width, label=name, color=colour[name], hatch="//" if PLAIN in name else "")
    ax.set_xticks(range(len(times)), [f"{one.data_set}\n{one.inputs:,} inputs" for one in times])
    ax.set(ylabel="microseconds of the processor a row", yscale="log")
    legend_below(figure, ax, 3)
    return figure


TEXT = {"rows": ROWS, "rounds": ROUNDS, "dim": DIM, "format": FORMAT}
