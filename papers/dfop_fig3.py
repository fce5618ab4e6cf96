"""``dfop-fig3``: tracking error and current loss of DFOP and Sparse-DFOP with a thousand inputs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from driftline.evaluate import Table, plots
from papers.pictures import NEUTRAL, legend_below, panels
from papers.sparse_dfop_traces import ESTIMATES, LEARNERS, SETTING, STAGE, STYLES, Job, Trace, stages, trace
from papers.target import Check, Context, Findings

REPEATS, ROWS, EVERY = 5, 5000, 50


def compute(context: Context) -> Findings:
    """Runs repetitions, each with its own stream and matrix."""
    rows, every, repeats = context.pick(ROWS, 1500), context.pick(EVERY, 250), context.pick(REPEATS, 2)
    jobs = [Job(context.seed + i, rows, every) for i in range(repeats)]
    return judge(context.map(trace, jobs, "repetitions"), every)


def judge(traces: Sequence[Trace], every: int) -> Findings:
    """Findings from the traces of all repetitions."""
    distances = np.mean([found.distances for found in traces], axis=0)
    losses = np.mean([found.losses for found in traces], axis=0)
    supports = np.array([found.supports for found in traces])
    length = float(np.mean([found.lengths for found in traces]))
    curves = {("tracking error", name): distances[k] for k, name in enumerate(ESTIMATES)}
    curves |= {("current loss", name): losses[k] for k, name in enumerate(LEARNERS)}
    checks = []
    for (what, name), values in curves.items():
        if name == ESTIMATES[2]:
            continue
        parts = stages(values, every)
        rises, falls = parts[1:, 0] > parts[:-1, -1], parts[1:, -1] < parts[1:, 0]
        checks.append(
            Check(
                f"{name}: the {what} rises at a change of the weights and falls until the next",
                bool(rises.all() and falls.all()),
                f"rises at {rises.sum()} of {rises.size} changes, falls after {falls.sum()}",
            )
        )
    late = distances[:, distances.shape[1] // 2 :].mean(axis=1) / length
    summary = Table(
        ["estimate", "mean tracking error", "in the second half, over the length of w"],
        [[name, float(distances[k].mean()), float(late[k])] for k, name in enumerate(ESTIMATES)],
        f"The distance from the true weights, whose mean length is {length:.3g}; mean over {len(traces)} repetitions.",
    )
    records: list[list[Any]] = [
        [what, name, (i + 1) * every, float(value)]
        for (what, name), values in curves.items()
        for i, value in enumerate(values)
    ]
    return Findings(
        numbers=Table(["measure", "estimate", "row", "value"], records),
        checks=checks,
        draw=lambda: draw(curves, every),
        summary=[summary],
        remarks=[
            f"What is recovered has exactly the right inputs in {supports.mean():.1%} of {supports.size} looks.",
            "It is not w, and cannot be: on rows with only the inputs S, DFOP finds the v for which M_S'v = w_S in the "
            "span of M_S, and basis pursuit gives (M_S'M_S)^-1 w_S, which differs from w_S as far as the columns are not "
            "orthogonal. The weights with which rows are predicted, coef_ = M'v, are right on S and arbitrary elsewhere, "
            "where no row of this stream has an entry.",
        ],
    )


def draw(curves: dict[tuple[str, str], Any], every: int) -> Any:
    """Draws the tracking error on the left, the current loss on the right."""
    figure, axes = panels(2)
    colours = dict(zip((*ESTIMATES, "Sparse-DFOP"), (*plots.COLOURS[:3], plots.COLOURS[1]), strict=True))
    for (what, name), values in curves.items():
        ax = axes[what == "current loss"]
        ax.plot(np.arange(1, len(values) + 1) * every, values, label=name, color=colours[name], **STYLES[name])
    for ax, label in zip(axes, ("tracking error, |w - estimate|", "current loss (mean squared error)"), strict=True):
        for change in range(STAGE, len(next(iter(curves.values()))) * every, STAGE):
            ax.axvline(change, color=NEUTRAL, linewidth=0.5, linestyle=":")
        ax.set_xlabel("row")
        ax.set_ylabel(label)
        ax.set_yscale("log")
    legend_below(figure, axes[0], 3)
    return figure


TEXT = {"setting": SETTING, "rows": ROWS, "repeats": REPEATS, "every": EVERY}
