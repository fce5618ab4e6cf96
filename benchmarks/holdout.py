"""Auto on rows without labels, as after scikit-learn's ``fit``: ``python -m benchmarks.holdout DIR``.

DIR has the files that DIR/INDEX.md lists. Every method fits the first 70 % of a file's rows and predicts the rest; rows with
a missing value are left out. Prints R² on the rest, beside that of ridge regression on standardised features, of
scikit-learn's HistGradientBoostingRegressor, and of LightGBM where it can be imported (``make .venv-lightgbm/ready``), all
with default settings; the share of labels inside Auto's intervals of 90 %; and the seconds that Auto needs to fit and to
predict. The candidates and the folds of cpp/include/driftline/ensembles/long_run.hpp were chosen on every second file,
marked "chosen on"; the others are the check.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import driftline as dl
from benchmarks import auto_streams
from benchmarks.report import Cell, Table

FITTED, LEVEL = 0.7, 0.9
CLOSE, FAR = 0.02, 0.05  # R² below the better rival, and below ridge
CHOSEN, CHECK = "chosen on", "check"
COLUMNS = ("half", "rows", "ridge", "boosting", "LightGBM", "Auto", "inside", "fit s", "predict s")


def lightgbm() -> Any:
    """LightGBM with default settings."""
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_jobs=1, verbose=-1)


RIVALS: dict[str, Callable[[], Any]] = {
    "ridge": lambda: make_pipeline(StandardScaler(), Ridge()),
    "boosting": lambda: HistGradientBoostingRegressor(random_state=0),
} | ({"LightGBM": lightgbm} if importlib.util.find_spec("lightgbm") else {})


def measure(X: Any, y: Any) -> dict[str, float]:
    """R² of all methods on the last rows, and Auto's coverage and cost."""
    table = np.column_stack([X, y])
    table = table[np.isfinite(table).all(axis=1)]
    X, y, split = np.ascontiguousarray(table[:, :-1]), table[:, -1].copy(), int(FITTED * len(table))
    began = process_time()
    model = dl.Auto().fit(X[:split], y[:split])
    fitted = process_time()
    found = {"rows": float(len(y)), "Auto": model.score(X[split:], y[split:])}
    found |= {"fit s": fitted - began, "predict s": process_time() - fitted}
    lower, upper = model.predict_intervals(X[split:], LEVEL)
    found["inside"] = float(np.mean((lower <= y[split:]) & (y[split:] <= upper)))
    for name, make in RIVALS.items():
        found[name] = r2_score(y[split:], make().fit(X[:split], y[:split]).predict(X[split:]))
    return found


def verdict(half: str, found: list[dict[str, float]]) -> str:
    """How often Auto is close to the better of ridge and boosting, and how often far below ridge."""
    close = sum(one["Auto"] >= max(one["ridge"], one["boosting"]) - CLOSE for one in found)
    far = sum(one["Auto"] < one["ridge"] - FAR for one in found)
    inside = float(np.mean([one["inside"] for one in found]))
    return (
        f"{half}: within {CLOSE} of the better of ridge and boosting on {close} of {len(found)} files, more than {FAR} "
        f"below ridge on {far}; {100 * inside:.0f} % of the labels inside, on average"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DIR", help="a folder of files, with an INDEX.md that lists them")
    parser.add_argument("--only", metavar="TEXT", default="", help="only files whose name contains this text")
    options = parser.parse_args()
    lines: list[tuple[Cell, ...]] = []
    halves: dict[str, list[dict[str, float]]] = {CHOSEN: [], CHECK: []}
    for place, (name, rows) in enumerate(auto_streams.files(options.data)):
        if options.only in name:
            half, found = (CHOSEN, CHECK)[place % 2], measure(*rows)
            halves[half].append(found)
            lines.append((name, half, *(found.get(column, "") for column in COLUMNS[1:])))
    print(Table("R² without labels", ("file", *COLUMNS), lines).text())
    for half, all_found in halves.items():
        print(verdict(half, all_found))


if __name__ == "__main__":
    main()
