"""A shop's orders, and how often they are inside intervals of one width and Auto's; a table, and a picture in demo/."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from driftline import LMS, Auto, evaluate
from driftline.tables.inputs import Array

HOURS, LEVEL = 24 * 7 * 52, 0.9
WAYS = {"one width": "#D55E00", "Auto": "#0072B2"}  # with colours


def make(hours: int = HOURS, seed: int = 5) -> tuple[Array, Array]:
    """Hour and weekday, and the orders: few at night, many in the evening, and harder to predict when there are many."""
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    hour, weekday = t % 24, t // 24 % 7
    noon, evening = (np.exp(-(((hour - at) / wide) ** 2)) for at, wide in ((12, 3), (19, 2.5)))
    usual = (4 + 60 * noon + 120 * evening) * np.where(weekday < 5, 1.0, 1.4)
    days = np.exp(np.repeat(0.25 * rng.standard_normal(hours // 24 + 1), 24)[:hours])  # good days and bad ones
    return np.column_stack([hour, weekday]).astype(float), rng.poisson(usual * days).astype(float)


def by_hour(X: Array, y: Array) -> dict[str, dict[str, Array]]:
    """Coverage, width and score by hour of intervals of one width, and of Auto's, around the same predictions."""
    run = Auto().run(X, y, level=LEVEL)
    plain = LMS(intercept=False).run(np.zeros((len(y), 1)), run.errors, level=LEVEL)  # predicts 0 for every error
    return {
        "one width": evaluate.coverage_by(plain, run.errors, X[:, 0]),
        "Auto": evaluate.coverage_by(run, y, X[:, 0]),
    }


def main() -> None:
    """Runs the demonstration."""
    X, y = make()
    found = by_hour(X, y)
    one, auto = found.values()
    print(f"Hourly orders, {len(y):,} hours; intervals of level {LEVEL}.")
    print(f"\n{'hour':>5}{'one width: inside':>20}{'width':>7}{'Auto: inside':>15}{'width':>7}")
    for hour in range(0, 24, 3):
        print(
            f"{hour:5}{one['coverage'][hour]:20.1%}{one['width'][hour]:7.1f}"
            f"{auto['coverage'][hour]:15.1%}{auto['width'][hour]:7.1f}"
        )
    figures = [f"{way} {np.average(of['score'], weights=of['rows']):.1f}" for way, of in found.items()]
    print(f"\nInterval score, lower is better: {', '.join(figures)}.")
    path = Path("demo") / "how_sure.png"
    draw(found, path)
    print(f"\nThe picture: {path}")


def draw(found: dict[str, dict[str, Array]], path: Path) -> None:
    """Draws coverage and width by hour."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    fig, (inside, width) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
    for way, colour in WAYS.items():
        of = found[way]
        inside.plot(of["group"], 100 * of["coverage"], "o-", color=colour, lw=1.8, ms=4, label=way)
        width.plot(of["group"], of["width"], "o-", color=colour, lw=1.8, ms=4, label=way)
    inside.axhline(100 * LEVEL, color="grey", ls=":", lw=1)
    inside.set(xlabel="hour", ylabel="% of the orders inside", title="How often the interval is right", ylim=(50, 101))
    width.set(xlabel="hour", ylabel="width of the interval, in orders", title="How wide it is", ylim=(0, None))
    for axes in (inside, width):
        axes.set(xlim=(-0.5, 23.5), xticks=range(0, 24, 3))
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    inside.legend(frameon=False, loc="lower left")
    path.parent.mkdir(exist_ok=True)
    fig.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
