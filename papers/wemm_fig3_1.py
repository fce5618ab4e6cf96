"""``wemm-fig3-1``: the last step's min-max objective, with Forster's weight and with two weights of WEMM."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline import AAR, WEMM
from driftline.evaluate import Table, plots
from driftline.regret import wemm_weights
from papers.pictures import NEUTRAL, legend_below, panels
from papers.repeats import generator
from papers.target import Check, Context, Findings

RIDGE, D, PAST, Y = 2.0, 3, 12, 10.0
PANELS = ("Forster: weight 1", "WEMM: weight above 1/(1 - s)", "WEMM: weight 1/(1 - s)")
CENTRE = 2.0  # the centre panel's weight in units of 1/(1 - s)
GRID = np.linspace(-15.0, 15.0, 301)  # labels and predictions, in steps of 0.1
FEASIBLE = np.abs(GRID) <= Y + 1e-9


@dataclass(frozen=True, eq=False)
class Objective:
    """G on the grid, computed from its definition: (labels, predictions).

    Attributes:
        values: G, in units in which it is 0 where label and prediction are 0.
        closed: the same from Eq. (3.7) with the thesis's alpha and beta.
        alpha: the coefficient of the squared label.
        learner: the prediction of driftline's learner, AAR with its clip or WEMM.
        bounded: whether labels are limited to [-Y, Y].
    """

    values: NDArray[Any]
    closed: NDArray[Any]
    alpha: float
    learner: float
    bounded: bool

    @property
    def worst(self) -> NDArray[Any]:
        """The largest value over the labels, for each prediction."""
        largest: NDArray[Any] = (self.values[FEASIBLE] if self.bounded else self.values).max(axis=0)
        return largest

    @property
    def best(self) -> int:
        """The grid index of the prediction with the smallest such value."""
        return int(np.argmin(self.worst))


def objective(X: NDArray[Any], y: NDArray[Any], x: NDArray[Any], panel: str) -> Objective:
    """Sum of squared errors minus the least weighted and penalised loss, solved for each label of the grid."""
    forster = panel == PANELS[0]
    past = np.ones(len(y)) if forster else wemm_weights(X, RIDGE)
    assert past is not None
    A = RIDGE * np.eye(D) + (X * past[:, None]).T @ X
    s, f = float(x @ np.linalg.solve(A, x)), float(x @ np.linalg.solve(A, X.T @ (past * y)))
    a = 1.0 if forster else (CENTRE if panel == PANELS[1] else 1.0) / (1 - s)
    least = least_losses(np.vstack([X, x]), y, np.append(past, a), np.append(0.0, GRID))
    values = np.square(GRID[:, None] - GRID) - (least[1:] - least[0])[:, None]
    alpha = (1 + a * s - a) / (1 + a * s)
    beta = a * f / (1 + a * s) - GRID
    closed = alpha * GRID[:, None] ** 2 + 2 * beta * GRID[:, None] + GRID**2
    learner = AAR(ridge=RIDGE, clip=Y, intercept=False) if forster else WEMM(ridge=RIDGE, intercept=False)
    learner.run(X, y)
    return Objective(values, closed, alpha, learner.predict_one(x), forster)


def least_losses(rows: NDArray[Any], past: NDArray[Any], weights: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """The least b|u|^2 + sum of weighted squared errors, by least squares for each label of the last row."""
    roots = np.sqrt(weights)
    stack = np.vstack([rows * roots[:, None], np.sqrt(RIDGE) * np.eye(D)])
    targets = np.zeros((len(stack), len(labels)))
    targets[: len(past)] = (past * roots[:-1])[:, None]
    targets[len(past)] = labels * roots[-1]
    solved = np.linalg.lstsq(stack, targets, rcond=None)[0]
    least: NDArray[Any] = np.square(targets - stack @ solved).sum(axis=0)
    return least


def past_rows(seed: int, number: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Rows within the unit ball, labels within Y, and the input of the last step."""
    rng = generator((seed,), number)
    X = rng.normal(size=(PAST + 1, D))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    w = rng.normal(size=D)
    y = X[:-1] @ (w * (6 / np.linalg.norm(w))) + rng.normal(size=PAST)
    return X[:-1], np.clip(y, -Y, Y), X[-1]


def several(job: tuple[int, int]) -> list[Objective]:
    """The three panels for one random past."""
    rows = past_rows(*job)
    return [objective(*rows, panel) for panel in PANELS]


def compute(context: Context) -> Findings:
    """The panels of one past, and the checks on many."""
    count = context.pick(200, 8)
    return judge(context.map(several, [(context.seed, number) for number in range(count)], "pasts"))


def judge(pasts: list[list[Objective]]) -> Findings:
    """Checks on the shape of G and the place of its saddle."""
    left, centre, right = (list(each) for each in zip(*pasts, strict=True))
    step = float(GRID[1] - GRID[0])
    bends = [[np.diff(o.values, 2, axis=0) / step**2 / 2 for o in kind] for kind in (left, centre, right)]
    ends = [bool((np.isin(o.values[FEASIBLE].argmax(axis=0), (0, FEASIBLE.sum() - 1))).all()) for o in left]
    off = [max(abs(float(GRID[o.best]) - o.learner) for o in kind) for kind in (left, centre, right)]
    spread = [float(np.ptp(row)) for row in (_column(o, o.learner) for o in right)]
    inside = [0 < int(np.argmax(o.values[:, o.best])) < len(GRID) - 1 for o in centre]
    scale = max(float(np.abs(o.closed).max()) for each in pasts for o in each)
    apart = max(float(np.abs(o.values - o.closed).max()) for each in pasts for o in each) / scale
    lowest, highest = min(float(b.min()) for b in bends[0]), max(float(b.max()) for b in bends[1])
    flat = max(float(np.abs(b).max()) for b in bends[2])
    checks = [
        Check(
            "G has the form of Eq. (3.7)", apart < 1e-9, f"largest difference to the definition {apart:.1e} of the largest G"
        ),
        Check(
            "left: G is convex in the label, and the worst label is an end of [-Y, Y]",
            lowest > 0 and all(ends),
            f"least curvature {lowest:.3f}; at an end in {sum(ends)} of {len(ends)} pasts",
        ),
        Check(
            "left: the best prediction is Forster's, that of AAR with its clip",
            off[0] <= step,
            f"largest distance {off[0]:.3f} on a grid of {step:g}",
        ),
        Check(
            "centre: G is strictly concave in the label and has its saddle at WEMM's prediction",
            highest < 0 and all(inside) and off[1] <= step,
            f"largest curvature {highest:.3f}; largest distance {off[1]:.3f} on a grid of {step:g}",
        ),
        Check(
            "right: G is linear in the label, and at WEMM's prediction it does not depend on the label",
            flat < 1e-6 and max(spread) < 1e-6 * scale,
            f"largest curvature {flat:.1e}; largest change over the labels {max(spread):.1e}",
        ),
    ]
    shown = min(pasts, key=lambda past: abs(past[2].learner - 3))  # away from 0, where the three differ visibly
    numbers: list[list[Any]] = [
        [panel, float(GRID[i]), float(GRID[j]), float(o.values[i, j])]
        for panel, o in zip(PANELS, shown, strict=True)
        for i in range(0, len(GRID), 10)
        for j in range(0, len(GRID), 10)
    ]
    rows: list[list[Any]] = [
        [panel, o.alpha, float(GRID[o.best]), o.learner, float(o.worst.min())]
        for panel, o in zip(PANELS, shown, strict=True)
    ]
    columns = ["panel", "alpha", "best prediction on the grid", "learner's prediction", "value"]
    return Findings(
        numbers=Table(["panel", "label", "prediction", "G"], numbers),
        checks=checks,
        draw=lambda: draw(shown),
        summary=[Table(columns, rows, "The past of the picture; the learner is AAR in the first row, WEMM in the others.")],
    )


def draw(shown: list[Objective]) -> Any:
    """Draws G over labels and predictions above, and G over the labels for five predictions below."""
    figure, axes = panels(6, rows=2, width=4.4, height=3.6)
    for number, (panel, o) in enumerate(zip(PANELS, shown, strict=True)):
        above, below = axes[number], axes[number + 3]
        limit = float(np.quantile(np.abs(o.values), 0.98))
        levels = np.linspace(-limit, limit, 19)
        filled = above.contourf(GRID, GRID, o.values.T, levels=levels, cmap="cividis", extend="both")
        figure.colorbar(filled, ax=above, label="G", ticks=np.linspace(-limit, limit, 5).round(-1))
        above.axhline(GRID[o.best], color="black", linewidth=2)
        for offset, colour in {-6: 0, -3: 5, 3: 4, 6: 1}.items():
            label, line = f"best prediction {'+' if offset > 0 else '−'} {abs(offset)}", plots.COLOURS[colour]
            below.plot(GRID, _column(o, float(GRID[o.best]) + offset), color=line, label=label)
        below.plot(GRID, _column(o, float(GRID[o.best])), color="black", linewidth=2, label="best prediction")
        for ax, edge in product((above, below), (-Y, Y) if o.bounded else ()):
            ax.axvline(edge, color=plots.COLOURS[3], linestyle="--")
        above.set(title=panel, xlabel="label", ylabel="prediction")
        below.set(xlabel="label", ylabel="G")
        below.axhline(0, color=NEUTRAL, linewidth=0.8)
    legend_below(figure, axes[3], columns=5)
    return figure


def _column(o: Objective, prediction: float) -> NDArray[Any]:
    """G over the labels at a prediction, which may be off the grid."""
    values: NDArray[Any] = o.values[:, 0] - np.square(GRID - GRID[0]) + np.square(GRID - prediction)
    return values


TEXT = {"past": PAST, "d": D, "y": Y, "ridge": RIDGE}
