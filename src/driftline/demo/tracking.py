"""Several learners follow a target that drifts and jumps; a table, and a picture in demo/."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from driftline import ARCOR, CRRLS, NLMS, RLS, Kalman, Learner, Ridge, Run
from driftline.streams import Switching
from driftline.tables.inputs import Array

ROWS = 3_000
STREAM = Switching(rate=0.4, unit="deg", every=1_500, noise=0.5, seed=7)
LEARNERS: dict[str, Learner] = {
    "Ridge": Ridge(),
    "NLMS": NLMS(rate=0.8, eps=1e-3),
    "ARCOR": ARCOR(noise=20.0, schedule=2.0),
    "CRRLS": CRRLS(forgetting=0.96, period=200),
    "RLS": RLS(forgetting=0.9, keep_prior=True),
    "Kalman": Kalman(noise=0.5, drift=3e-4),
}
# Okabe and Ito's palette, safe for colour-blind readers.
COLOURS = ("#000000", "#56B4E9", "#CC79A7", "#E69F00", "#0072B2", "#D55E00")


def print_table(runs: dict[str, Run], y: Array) -> None:
    """Mean squared errors, also relative to the mean of y^2, the error of always predicting 0."""
    print(f"{ROWS:,} rows of 20 inputs. The target turns {STREAM.rate} degrees a row, and at row {STREAM.every:,} it jumps")
    print("to other inputs. Each row is predicted first, then learned.")
    print(f"\n{'learner':10}{'mean squared error':>20}{'share of y^2':>15}")
    for name, run in runs.items():
        print(f"{name:10}{run.losses.mean():20.3f}{run.losses.mean() / np.mean(y**2):15.2%}")
    print(f"{'(noise)':10}{STREAM.noise:20.3f}{STREAM.noise / np.mean(y**2):15.2%}")


def draw(runs: dict[str, Run], path: Path) -> None:
    """Draws the cumulative loss of each learner, and how well three of them follow one weight."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    colours = dict(zip(LEARNERS, COLOURS, strict=True))
    fig, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
    rows = np.arange(1, ROWS + 1)
    for name, run in runs.items():
        left.plot(rows, np.cumsum(run.losses) / rows, color=colours[name], label=name, lw=1.6)
    left.axhline(STREAM.noise, color="grey", ls=":", lw=1, label="noise")
    left.set(yscale="log", xlabel="row", ylabel="mean squared error so far", title="Predict, then learn")
    left.set_ylim(0.35, 300)
    left.legend(ncols=4, frameon=False, fontsize=9, loc="upper center")
    right.plot(rows, STREAM.weights[:, 0], color="grey", lw=5, alpha=0.4, label="target")
    for name in ("Ridge", "RLS", "Kalman"):
        weights = runs[name].weights
        if weights is not None:
            right.plot(rows, weights[:, 0], color=colours[name], lw=1.2, label=name)
    right.set(xlabel="row", ylabel="weight of the first input", title="Following a weight", ylim=(-1.6, 1.9))
    right.legend(ncols=4, frameon=False, fontsize=9, loc="upper center")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    path.parent.mkdir(exist_ok=True)
    fig.savefig(path, dpi=150)


def main() -> None:
    """Runs the demonstration."""
    X, y = STREAM.take(ROWS)
    runs = {name: learner.run(X, y, weights_every=1) for name, learner in LEARNERS.items()}
    runs = dict(sorted(runs.items(), key=lambda item: -item[1].losses.mean()))
    print_table(runs, y)
    picture = Path("demo") / "tracking.png"
    draw(runs, picture)
    print(f"\nThe picture: {picture}")


if __name__ == "__main__":
    main()
