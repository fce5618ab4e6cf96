"""How long a flight takes: Auto beside what people refit, on the flights that come with driftline.

    python -m benchmarks.flights [--picture FILE]

Each row is predicted before its label is seen. LightGBM (the default settings, texts as its categories) and ridge regression
(texts one-hot) are refitted every 100 or 500 rows, most of them on the last 5,000; both get hour, weekday and day of
the year, as Auto makes them. Errors count from row 1,000 on. LightGBM is left out if it is not installed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.timing import pin

WARM, SMOOTH = 1000, 500


def rows() -> tuple[Any, Any]:
    """The table with the features of times as numbers, and the labels."""
    from driftline import datasets

    X, y = datasets.flights()
    frame = X.to_pandas()
    when = frame.pop("scheduled").dt
    texts = {name: frame[name].astype("category") for name in ("carrier", "origin", "dest")}
    hour = when.hour + when.minute / 60
    return frame.assign(**texts, hour=hour, weekday=when.day_of_week, day=when.day_of_year), y


def refitted(every: int, window: int | None, fit: Callable[[Any, Any], Any], X: Any, y: Any) -> Any:
    """Predictions of a model that is fitted to the latest rows again and again."""
    import numpy as np

    predictions = np.full(len(y), np.nan)
    for start in range(every, len(y), every):
        first = 0 if window is None else max(0, start - window)
        predictions[start : start + every] = fit(X[first:start], y[first:start]).predict(X[start : start + every])
    return predictions


def lightgbm(X: Any, y: Any) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(verbose=-1, n_jobs=1).fit(X, y)


def ridge(X: Any, y: Any) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    texts = ["carrier", "origin", "dest"]
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), texts), remainder=StandardScaler())
    return make_pipeline(columns, Ridge()).fit(X, y)


def auto() -> Any:
    import driftline as dl

    return dl.Auto().run(*dl.datasets.flights()).predictions


def draw(path: Path, y: Any, found: dict[str, Any]) -> None:
    """The error along the year, over windows of SMOOTH rows."""
    import matplotlib.pyplot as plt
    import numpy as np
    from matplotlib.dates import ConciseDateFormatter, MonthLocator

    when = rows_at()[WARM:]
    figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
    for (name, predictions), colour in zip(found.items(), ("#0072b2", "#d55e00", "#999999"), strict=False):
        squares = np.convolve((predictions - y)[WARM:] ** 2, np.ones(SMOOTH) / SMOOTH, mode="valid")
        axes.plot(
            when[SMOOTH - 1 :],
            np.sqrt(squares),
            label=name.replace("every 100 rows on the last 5,000", "refitted every 100 flights"),
            color=colour,
            linewidth=1.4,
        )
    axes.set_ylabel("RMSE, minutes")
    axes.set_title("How long is a flight in the air? Error over the last 500 flights of 2013", loc="left", fontsize=10)
    axes.xaxis.set_major_locator(MonthLocator())
    axes.xaxis.set_major_formatter(ConciseDateFormatter(MonthLocator()))
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, ncols=3, fontsize=8, loc="lower left")
    figure.savefig(path, dpi=150)


def rows_at() -> Any:
    from driftline import datasets

    return datasets.flights()[0]["scheduled"].to_numpy()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flights", description=__doc__)
    parser.add_argument("--picture", type=Path, help="draw the error along the year")
    options = parser.parse_args()
    pin()  # before NumPy is imported
    import numpy as np

    X, y = rows()
    methods: dict[str, Callable[[], Any]] = {
        "Auto": auto,
        "ridge, every 100 rows on the last 5,000": lambda: refitted(100, 5000, ridge, X, y),
    }
    if find_spec("lightgbm") is not None:
        methods |= {
            "LightGBM, every 100 rows on the last 5,000": lambda: refitted(100, 5000, lightgbm, X, y),
            "LightGBM, every 500 rows on the last 5,000": lambda: refitted(500, 5000, lightgbm, X, y),
            "LightGBM, every 500 rows on all before": lambda: refitted(500, None, lightgbm, X, y),
        }
    print(f"{'':44} {'RMSE':>6} {'mean |error|':>12} {'seconds':>8} {'of Auto’s':>10}")
    found: dict[str, Any] = {}
    first = 0.0
    for name, predict in methods.items():
        began = time.perf_counter()
        found[name] = predict()
        took = time.perf_counter() - began
        first = first or took
        errors = (found[name] - y)[WARM:]
        rmse, mae = np.sqrt(np.mean(errors**2)), np.abs(errors).mean()
        print(f"{name:44} {rmse:6.2f} {mae:12.2f} {took:8.1f} {took / first:10.1f}", flush=True)
    if options.picture:
        shown = ["Auto", "LightGBM, every 100 rows on the last 5,000", "ridge, every 100 rows on the last 5,000"]
        draw(options.picture, y, {name: found[name] for name in shown if name in found})


if __name__ == "__main__":
    main()
