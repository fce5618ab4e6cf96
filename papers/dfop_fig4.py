"""``dfop-fig4``: squared error of DFOP, Sparse-DFOP, S-RLS and GMF-RLS with a thousand inputs, and running time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.evaluate import Table, plots
from papers.pictures import panels
from papers.sparse_dfop_traces import LEARNERS, RIVALS, SETTING, STYLES, Job, Race, race
from papers.sparse_rls import PENALTIES, THRESHOLDS, listed
from papers.target import Check, Context, Findings

REPEATS, ROWS, EVERY = 10, 5000, 50
CLAIMED = 250.0  # times faster
COMPARABLE = 3.0  # decibels: twice the error


def compute(context: Context) -> Findings:
    """Runs repetitions, each with its own stream and matrix, in one process, so that timings do not interfere."""
    rows, every, repeats = context.pick(ROWS, 1500), context.pick(EVERY, 250), context.pick(REPEATS, 2)
    return judge([race(Job(context.seed + i, rows, every)) for i in range(repeats)], rows, every)


def decibels(values: NDArray[Any]) -> NDArray[Any]:
    """Decibels, the paper's scale."""
    scaled: NDArray[Any] = 10 * np.log10(values)
    return scaled


def judge(races: Sequence[Race], rows: int, every: int) -> Findings:
    """Findings from all repetitions."""
    by_parameter = np.mean([found.rivals for found in races], axis=0)
    best = by_parameter.mean(axis=2).argmin(axis=1)
    rivals = by_parameter[np.arange(len(RIVALS)), best]
    losses = np.concatenate([np.mean([found.losses for found in races], axis=0), rivals])
    seconds = np.array([found.seconds for found in races])
    ratio = float(np.median(seconds[:, 0] / seconds[:, 1]))
    excited = float(np.median([found.excited / found.seconds[1] for found in races]))
    curves = decibels(losses)
    totals = dict(zip((*LEARNERS, *RIVALS), losses.mean(axis=1).tolist(), strict=True))
    half = curves.shape[1] // 2
    gaps = curves[1] - curves[0]
    checks = [
        Check(
            "DFOP has the smallest error and Sparse-DFOP the second",
            sorted(totals, key=lambda name: totals[name])[:2] == list(LEARNERS),
            ", ".join(f"{name} {value:.4g}" for name, value in totals.items()),
        ),
        Check(
            f"they are comparable as time goes on: less than {COMPARABLE:g} dB apart in the second half",
            bool(np.abs(gaps[half:]).mean() < COMPARABLE),
            f"{gaps[half:].mean():+.2f} dB in the second half, {gaps[:half].mean():+.2f} dB in the first",
        ),
        Check(
            f"Sparse-DFOP is over {CLAIMED:g} times faster than DFOP",
            ratio > CLAIMED,
            f"{ratio:.0f} times, median over {len(races)} repetitions",
        ),
    ]
    table = Table(
        ["learner", "mean squared error", "microseconds a row", "standard deviation"],
        [[name, totals[name], *(1e6 * f(seconds[:, k]) for f in (np.mean, np.std))] for k, name in enumerate(LEARNERS)]
        + [[name, totals[name], None, None] for name in RIVALS],
        f"Over {rows:,} rows and {len(races)} repetitions. Times are those of the processor.",
    )
    parameters = Table(
        ["rival", "its parameter", "mean squared error"],
        [
            [name, value, float(by_parameter[i, j].mean())]
            for i, (name, values) in enumerate(zip(RIVALS, (THRESHOLDS, PENALTIES), strict=True))
            for j, value in enumerate(values)
        ],
        "S-RLS by its threshold, GMF-RLS by its penalty; the least of each is in the table above and in the picture.",
    )
    records: list[list[Any]] = [
        [name, (i + 1) * every, float(losses[k, i]), float(curves[k, i])]
        for k, name in enumerate(totals)
        for i in range(losses.shape[1])
    ]
    return Findings(
        numbers=Table(["learner", "row", "mean_squared_error", "decibels"], records),
        checks=checks,
        draw=lambda: draw(curves, every),
        summary=[table, parameters],
        remarks=[
            "Both are native code here. A row costs DFOP D² = 10⁶ steps and Sparse-DFOP 100² = 10⁴, a hundredth. On this "
            "stream DFOP also has to watch the 990 directions that no row excites, in each of which its covariance grows. "
            "Where every input varies it does not, and then it takes "
            f"{excited:.0f} times as long as Sparse-DFOP on this stream.",
            "GMF-RLS without its penalty is DFOP with the same forgetting and prior. With a small one it has DFOP's error "
            "up to a small difference of either sign, and no learner can be far ahead of both.",
            "The variance of the noise on the labels, a lower limit for every learner, is 0.01, that is -20 dB.",
        ],
        left_out=["ASVB-L, which the figure also shows; the running times of S-RLS and GMF-RLS, which dfop-fig5 has"],
    )


def draw(curves: NDArray[Any], every: int) -> Any:
    """Draws the error in decibels along the stream."""
    figure, (ax,) = panels(1, width=6.4)
    for name, values, colour in zip((*LEARNERS, *RIVALS), curves, plots.COLOURS, strict=False):
        ax.plot(np.arange(1, len(values) + 1) * every, values, label=name, color=colour, **STYLES[name])
    ax.set_xlabel("row")
    ax.set_ylabel("mean squared error, dB")
    ax.legend(frameon=False)
    return figure


_CHOSEN = {"thresholds": listed(THRESHOLDS), "penalties": listed(PENALTIES)}
TEXT = {"setting": SETTING, "rows": ROWS, "repeats": REPEATS, "every": EVERY, **_CHOSEN}
