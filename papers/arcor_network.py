"""``arcor-network``: the two-layer network's regret to its best copy, against Theorem 2."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline import ARCOR, Network
from driftline.evaluate import Cell, Table, plots
from papers.arcor_fig2 import NOISES, streams
from papers.pictures import NEUTRAL, band, panels
from papers.race import Course
from papers.repeats import half_width, seeds
from papers.target import Check, Context, Findings

POWERS = (None, 1.0, 2.0, 3.0, 4.0)  # q of the copies; None never resets
NAMES = tuple("no reset" if q is None else f"q = {q:g}" for q in POWERS)
POINTS = 50


def network(noise: float) -> Network:
    """The paper's network, with the same noise r in all parts."""
    copies = [ARCOR(noise=noise, schedule=q, intercept=False) for q in POWERS]
    return Network(copies, top=ARCOR(noise=noise, schedule=None, radius=1.0, intercept=False))


@dataclass(frozen=True)
class Job:
    """One sequence of a stream, and the noise of the network on it."""

    course: Course
    seed: int
    noise: float


def final_loss(job: Job) -> float:
    """The network's loss over all rows."""
    return float(network(job.noise).run(*job.course.take(job.seed)).losses.sum())


def marks(rows: int) -> NDArray[Any]:
    """The rows after which the certificate is read: evenly spaced on a logarithmic scale, from 10 on."""
    return np.unique(np.geomspace(10, rows, POINTS).round().astype(int))


def certified(job: Job) -> tuple[NDArray[Any], NDArray[Any]]:
    """Loss, the best copy's loss and the bound at each mark, (3, marks), and the copies' losses at the end."""
    X, y = job.course.take(job.seed)
    model, found, start = network(job.noise), [], 0
    for stop in marks(job.course.rows).tolist():
        model.run(X[start:stop], y[start:stop])
        certificate = model.certificate()
        assert certificate.bound is not None
        assert certificate.comparator is not None
        found.append((certificate.loss, certificate.comparator, certificate.bound))
        start = stop
    return np.array(found).T, np.array([copy.certificate().loss for copy in model.learners_])


def compute(context: Context) -> Findings:
    """Tunes the noise on one sequence of each stream, then runs on the others."""
    every = streams(context.pick(2000, 400))
    courses = {name: course for name, course in every.items() if name.endswith("degrees")}
    tuning, others = seeds(context.seed, context.pick(100, 3))
    noises = NOISES[:: 8 if context.quick else 2]
    jobs = [Job(course, tuning, noise) for course in courses.values() for noise in noises]
    tried = np.array(context.map(final_loss, jobs, "tunings")).reshape(len(courses), -1)
    chosen = {name: noises[int(place)] for name, place in zip(courses, tried.argmin(axis=1), strict=True)}
    runs = [Job(course, seed, chosen[name]) for name, course in courses.items() for seed in others]
    done = context.map(certified, runs, "sequences")
    count = len(others)
    outcomes = {
        name: (
            np.array([curves for curves, _ in done[k * count : (k + 1) * count]]),
            np.array([copies for _, copies in done[k * count : (k + 1) * count]]),
        )
        for k, name in enumerate(courses)
    }
    return judge(outcomes, {name: marks(course.rows) for name, course in courses.items()}, chosen)


def judge(
    outcomes: Mapping[str, tuple[NDArray[Any], NDArray[Any]]], at: Mapping[str, NDArray[Any]], chosen: Mapping[str, float]
) -> Findings:
    """Findings from certificates, (sequence, 3, mark), and the copies' losses, (sequence, copy), by stream."""
    records: list[list[Any]] = []
    checks: list[Check] = []
    rows: list[list[Any]] = []
    for name, (curves, copies) in outcomes.items():
        loss, best, bound = curves.transpose(1, 0, 2)
        regret, allowed = loss - best, bound - best
        for what, values in (("regret to the best copy", regret), ("Theorem 2", allowed)):
            middle, wide = values.mean(axis=0), half_width(values)
            points = zip(at[name].tolist(), middle.tolist(), (middle - wide).tolist(), (middle + wide).tolist(), strict=True)
            records += [[name, what, chosen[name], *point] for point in points]
        checks.append(
            Check(
                f"{name}: the loss is within Theorem 2's bound, at every mark of every sequence",
                bool((loss <= bound).all()),
                f"largest part of the allowance that was used: {(regret / allowed).max():.3f} in {regret.size:,} readings",
            )
        )
        half = int(np.searchsorted(at[name], at[name][-1] / 2))
        by_half, by_end = (float((allowed[:, k] / at[name][k]).mean()) for k in (half, -1))
        checks.append(
            Check(
                f"{name}: what the theorem allows over the best copy, divided by the rows, falls",
                by_end < 0.75 * by_half,
                f"{by_half:.3g} a row after {at[name][half]:,} rows, {by_end:.3g} after {at[name][-1]:,}",
            )
        )
        ends = [*copies.mean(axis=0), loss[:, -1].mean(), best[:, -1].mean(), bound[:, -1].mean()]
        rows.append([name, Cell(chosen[name], f"{chosen[name]:.3g}"), *(Cell(float(v), f"{v:,.0f}") for v in ends)])
    columns = ["stream", "noise r", *NAMES, "network", "best copy", "bound"]
    caption = "Mean cumulative squared loss at the end. The best copy is that of each sequence by itself."
    return Findings(
        numbers=Table(["stream", "what", "noise", "rows", "mean", "low", "high"], records),
        checks=checks,
        draw=lambda: draw(records, list(outcomes)),
        summary=[Table(columns, rows, caption)],
        remarks=[
            "The paper names no constant. The bound here is min over the copies of their loss, plus r, plus A log det(I + "
            "sum of p p'/r), with p the copies' predictions and A its largest loss on one row. A regret below "
            "0 is not an error: the top learner may combine the copies into something better than each of them."
        ],
    )


def draw(records: list[list[Any]], names: list[str]) -> Any:
    """Draws the regret to the best copy and the theorem's allowance against the number of rows."""
    figure, axes = panels(len(names), width=4.4, height=3.4)
    for ax, name in zip(axes, names, strict=True):
        for colour, what in ((plots.COLOURS[0], "regret to the best copy"), (NEUTRAL, "Theorem 2")):
            own = [record for record in records if record[:2] == [name, what]]
            rows, middle, low, high = (
                np.array([record[k] for record in own]) / (1 if k == 3 else 1000) for k in (3, 4, 5, 6)
            )
            band(ax, rows, middle, low, high, color=colour, label=what, linestyle="--" if colour == NEUTRAL else "-")
        ax.axhline(0, color=NEUTRAL, linewidth=0.8)
        ax.set(title=name[0].upper() + name[1:], xlabel="row", xscale="log")
    axes[0].set_ylabel("loss over the best copy, thousands")
    axes[0].legend(frameon=False, fontsize=9)
    return figure
