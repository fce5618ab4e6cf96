"""The next two days of a town's load, hour by hour, with intervals; a table, and a picture in demo/."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from driftline import Auto, Forecaster
from driftline.demo.demand import smooth_noise
from driftline.tables.inputs import Array

HOURS, STEPS, LEVEL = 24 * 7 * 12, 48, 0.9
KNOWN = ["hour", "weekday"]


def make(hours: int = HOURS, seed: int = 3) -> tuple[dict[str, Array], Array]:
    """Columns by name, and the load: daily and weekly cycles, the cold, and noise."""
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    hour, weekday = t % 24, t // 24 % 7
    temperature = 8 - 4 * np.cos(2 * np.pi * (hour - 3) / 24) + 4 * smooth_noise(rng, hours, 0.995)
    work = np.where(weekday < 5, 1.0, 0.6) * np.exp(-(((hour - 12) / 4.5) ** 2))
    evening = 0.7 * np.exp(-(((hour - 19.5) / 2) ** 2))
    load = 60 + 50 * work + 40 * evening + 1.2 * np.maximum(15 - temperature, 0) + 3 * smooth_noise(rng, hours, 0.9)
    return {"hour": hour * 1.0, "weekday": weekday * 1.0, "temperature": temperature.round(1)}, load.round(2)


def season_ago(y: Array, season: int, step: int) -> Array:
    """The label one season before each row, or the fewest seasons that make it known ``step`` rows ahead."""
    lag = -(-step // season) * season
    return np.concatenate([np.full(lag, np.nan), y[:-lag]])


def root_mean_square(errors: Array) -> float:
    """The root mean square over the last four weeks."""
    return float(np.sqrt(np.nanmean(np.square(errors[-24 * 28 :]))))


def main() -> None:
    """Runs the demonstration."""
    columns, y = make()
    X = np.column_stack(list(columns.values()))
    known = [list(columns).index(name) for name in KNOWN]
    forecaster = Forecaster(Auto(), STEPS, known)
    past = len(y) - STEPS
    run = forecaster.run(X[:past], y[:past], level=LEVEL)
    assert run.lower is not None
    assert run.upper is not None
    print(f"Hourly load, {past:,} hours learned; each hour was forecast from each of the {STEPS} hours before it.")
    print(f"\n{'hours ahead':>12}{'Auto':>9}{'a day ago':>12}{'a week ago':>12}{'inside ' + format(LEVEL, '.0%'):>14}")
    for step in (1, 6, 12, 24, 48):
        inside = (run.lower[:, step - 1] <= y[:past]) & (y[:past] <= run.upper[:, step - 1])
        figures = [root_mean_square(run.errors[:, step - 1])]
        figures += [root_mean_square(y[:past] - season_ago(y[:past], season, step)) for season in (24, 168)]
        print(f"{step:12}{figures[0]:9.2f}{figures[1]:12.2f}{figures[2]:12.2f}{inside[-24 * 28 :].mean():14.1%}")
    print(
        "\nRoot mean squared errors over the last four weeks. The hour and the weekday are known ahead, the weather is not."
    )
    path = Path("demo") / "forecast.png"
    draw(y, forecaster, X[past:][:, known], path)
    print(f"\nThe picture: {path}")


def draw(y: Array, forecaster: Forecaster, ahead: Array, path: Path) -> None:
    """Draws the last days, the forecast of the next two, and the actual load."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    forecast, shown = forecaster.forecast(ahead, level=LEVEL), 24 * 5
    fig, axes = plt.subplots(figsize=(12, 4.2), layout="constrained")
    hours = np.arange(-shown, STEPS)
    axes.plot(hours, y[-shown - STEPS :], color="#000000", lw=1.2, label="load")
    axes.fill_between(
        hours[-STEPS:], forecast.lower, forecast.upper, color="#0072B2", alpha=0.2, lw=0, label=f"{LEVEL:.0%} interval"
    )
    axes.plot(hours[-STEPS:], forecast.predictions, color="#0072B2", lw=1.8, label="forecast")
    axes.axvline(-0.5, color="grey", ls=":", lw=1)
    axes.set(xlabel="hours from now", ylabel="load", title="Two days ahead", xlim=(-shown, STEPS))
    axes.legend(ncols=3, frameon=False, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    path.parent.mkdir(exist_ok=True)
    fig.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
