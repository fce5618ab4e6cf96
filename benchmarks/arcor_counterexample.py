"""A stream on which ARCOR's regret exceeds Theorem 1 and Corollary 1 of its paper.

``python -m benchmarks.arcor_counterexample`` prints the bounds with both constants; ``--picture FILE`` draws the stream.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

import driftline as dl
from benchmarks.data import Array
from driftline import regret
from driftline.evaluate import plots

NOISE, LIMIT = 1000.0, 50.0
DOWN, UP = 45_000, 4_001  # rows with the label -1, and rows with the label HIGH until the reset
HIGH = 21.0


def counterexample() -> tuple[dl.ARCOR, Array, Array, Array]:
    """All rows are (1, 0). The labels are -1, then HIGH; u is (0, 1), then (0.8, 0.6). The last row causes a reset."""
    learner = dl.ARCOR(noise=NOISE, radius=1.0, schedule=[1 / LIMIT], intercept=False)
    X = np.tile([1.0, 0.0], (DOWN + UP, 1))
    y = np.repeat([-1.0, HIGH], [DOWN, UP])
    return learner, X, y, np.repeat([[0.0, 1.0], [0.8, 0.6]], [DOWN, UP], axis=0)


def report() -> str:
    """The regret, and what each statement allows."""
    lines = []
    for bound in (regret.arcor_theorem_1, regret.arcor_corollary_1):
        for constant in ("printed", "repaired"):
            found = bound(*counterexample(), constant=constant)
            loss = found.terms["loss of u"]
            assert found.observed is not None
            words = "exceeded" if found.observed > found.value else "holds"
            lines.append(
                f"{found.statement}: regret {found.observed - loss:,.0f}, allowed {found.value - loss:,.0f}, {words}; "
                f"loss {found.observed:,.0f}, bound {found.value:,.0f}, applies={found.applies}"
            )
    return "\n".join(lines)


def draw(path: Path) -> None:
    """Left, the weights and the comparator; middle, the regret; right, the constant by the angle between rows and step."""
    from matplotlib.figure import Figure

    learner, X, y, u = counterexample()
    run = learner.clone().run(X, y, weights_every=1)
    assert run.weights is not None
    rows, every = np.arange(1, len(y) + 1), slice(None, None, 50)
    figure = Figure(figsize=(14.5, 4.4), layout="constrained")
    left, middle, right = (plots.new_axes(ax) for ax in figure.subplots(1, 3))
    left.plot(rows[every], run.weights[every, 0], color=plots.COLOURS[0], label="weight of the learner")
    left.plot(rows[every], u[every, 0], "--", color=plots.COLOURS[1], label="weight of the comparator")
    left.set(xlabel="row", ylabel="first weight", title="The comparator moves while the learner is opposite")
    grown = regret.curve(run, X, y, u)
    middle.plot(rows[every], grown[every], color=plots.COLOURS[0], label="cumulative regret")
    for constant, colour in (("printed", plots.COLOURS[1]), ("repaired", plots.COLOURS[2])):
        bound = regret.arcor_theorem_1(learner, X, y, u, constant=constant)
        allowed = bound.value - bound.terms["loss of u"]
        middle.axhline(allowed, color=colour, linestyle="--", label=f"allowed by Theorem 1, {constant}")
    middle.set(xlabel="row", ylabel="sum of squared errors", title=f"Regret after {len(y):,} rows: {grown[-1]:,.0f}")
    _by_angle(right)
    for ax in (left, middle, right):
        ax.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)


def _by_angle(ax: Any) -> None:
    angle = np.linspace(0, 60, 300)
    tilt = np.radians(angle)
    ax.plot(angle, 2 * np.cos(tilt) * (1 + np.sin(tilt)), color=plots.COLOURS[0], label="needed by small steps")
    ax.axhline(2, color=plots.COLOURS[1], linestyle="--", label="printed: 2")
    ax.axhline(1.5 * math.sqrt(3), color=plots.COLOURS[2], linestyle="--", label="repaired: 3√3/2")
    ax.set(
        xlabel="degrees between the rows and the step, towards u", ylabel="constant before R r Σ |step| / Λ", ylim=(1.5, 2.9)
    )
    ax.set_title("Rows at 30° need the largest constant")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.arcor_counterexample", description=__doc__.split("\n")[0])
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the stream instead")
    options = parser.parse_args()
    if options.picture:
        draw(options.picture)
    else:
        print(report())
