"""Keys that learn from each other: ``python -m benchmarks.pooled DIR``, on panels made of files in DIR and generated ones.

A quarter of the keys is there from the start, the others enter later, and labels are known a day later. Prints the root mean
squared error, the CRPS (of the quantiles 0.05, 0.1, …, 0.95) and the coverage of 90 % intervals, of the keys that enter
later, by the age of the key, which is the number of its labels known. Pooled fleets stand beside fleets by key, Auto with
the key as a column, ridge regression of all keys on the features, the key's level, shrunk to that of all keys, and its last
label, and, where it can be imported (``make .venv-lightgbm/ready``), LightGBM on the same and the number of labels, refitted
every seven days.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import driftline as dl
from benchmarks.data import Array
from benchmarks.pooled_panels import CHECK, CHOSEN_ON, GENERATED, Panel, generated, of_file
from benchmarks.report import Cell, Table

LEVELS = np.linspace(0.05, 0.95, 19)
AGES = {"0": (0, 1), "1-4": (1, 5), "5-19": (5, 20), "20-49": (20, 50), "50+": (50, 10**9)}
YOUNG = ("0", "1-4", "5-19")
Answers = tuple[Array, Array]  # predictions, quantiles


def days_of(panel: Panel) -> Iterator[Array]:
    """The rows of each day."""
    yield from np.split(np.arange(len(panel.y)), np.flatnonzero(np.diff(panel.days)) + 1)


def ages_of(panel: Panel) -> Array:
    """How many labels of its key are known when a row is predicted."""
    seen: dict[int, int] = {}
    out = np.empty(len(panel.y), dtype=np.int64)
    for row, key in enumerate(panel.keys.tolist()):
        out[row] = seen.get(key, 0)
        seen[key] = out[row] + 1
    return out


def by_tickets(panel: Panel, ask: Callable[[int], Any], tell: Callable[[Any, float], None]) -> Answers:
    """Asks the rows of a day, then tells their labels."""
    predictions, quantiles = np.empty(len(panel.y)), np.empty((len(panel.y), len(LEVELS)))
    for rows in days_of(panel):
        tickets = [ask(row) for row in rows.tolist()]
        for row, ticket in zip(rows.tolist(), tickets, strict=True):
            predictions[row], quantiles[row] = ticket.prediction, ticket.quantiles(LEVELS)
            tell(ticket, float(panel.y[row]))
    return predictions, quantiles


def pooled(learner: dl.Learner, panel: Panel) -> Answers:
    fleet, keys = dl.Fleet(learner, pooled=True, named=True), panel.keys.tolist()
    return by_tickets(panel, lambda row: fleet.ask(keys[row], panel.X[row]), fleet.tell)


def independent(learner: dl.Learner, panel: Panel) -> Answers:
    """A key has one row a day, so that all rows of a day can be predicted, and then learned."""
    fleet, found = dl.Fleet(learner, intervals=True, named=True), []
    for rows in days_of(panel):
        keys, X = panel.keys[rows].tolist(), panel.X[rows]
        found.append((fleet.predict_many(keys, X), fleet.predict_quantiles(keys, X, LEVELS)))
        fleet.learn_many(keys, X, panel.y[rows])
    predictions, quantiles = zip(*found, strict=True)
    return np.concatenate(predictions), np.concatenate(quantiles)


def one_auto(panel: Panel) -> Answers:
    """One Auto, to which the key is a column of text."""
    model, names = dl.Auto(), [f"x{j}" for j in range(panel.X.shape[1])]

    def ask(row: int) -> Any:
        return model.ask({"key": f"key {panel.keys[row]}", **dict(zip(names, panel.X[row].tolist(), strict=True))})

    return by_tickets(panel, ask, model.tell)


class Statistics:
    """The level of each key, shrunk to that of all keys, its last label and the number of its labels."""

    def __init__(self) -> None:
        self.keys: dict[int, tuple[int, float, float]] = {}
        self.rows, self.level, self.between, self.within = 0, 0.0, 1.0, 1.0

    def features(self, key: int) -> list[float]:
        count, mean, last = self.keys.get(key, (0, self.level, self.level))
        share = count / (count + self.within / max(self.between, 1e-9))
        return [self.level + share * (mean - self.level), last, float(count)]

    def learn(self, key: int, y: float) -> None:
        count, mean, _ = self.keys.get(key, (0, self.level, self.level))
        self.rows += 1
        self.level += (y - self.level) / min(self.rows, 1000)
        if count:
            self.within += 0.01 * ((y - mean) ** 2 - self.within)
        mean += (y - mean) / (count + 1)
        self.between += 0.01 * ((mean - self.level) ** 2 - self.between)
        self.keys[key] = count + 1, mean, y


def pooled_ridge(panel: Panel) -> Answers:
    model, statistics = dl.Ridge(), Statistics()
    answers: list[tuple[Array, Array]] = []
    for rows in days_of(panel):
        known = [statistics.features(key)[:2] for key in panel.keys[rows].tolist()]
        X = np.column_stack([panel.X[rows], known])
        if model.n_seen_:
            answers.append((model.predict(X), model.predict_quantiles(X, LEVELS)))
        else:
            answers.append((np.zeros(len(X)), np.full((len(X), len(LEVELS)), np.inf)))
        model.partial_fit(X, panel.y[rows])
        for key, y in zip(panel.keys[rows].tolist(), panel.y[rows].tolist(), strict=True):
            statistics.learn(key, y)
    predictions, quantiles = zip(*answers, strict=True)
    return np.concatenate(predictions), np.concatenate(quantiles)


def lightgbm(panel: Panel) -> Answers:
    """Refitted every seven days on all rows; it has no quantiles."""
    from lightgbm import LGBMRegressor

    statistics, past, labels, predictions, model = Statistics(), [], [], np.zeros(len(panel.y)), None
    for day, rows in enumerate(days_of(panel)):
        X = np.column_stack(
            [panel.X[rows], [statistics.features(key) for key in panel.keys[rows].tolist()], panel.keys[rows]]
        )
        if day % 7 == 0 and sum(map(len, labels)) >= 50:
            model = LGBMRegressor(verbose=-1, n_jobs=1).fit(np.concatenate(past), np.concatenate(labels))
        predictions[rows] = statistics.level if model is None else model.predict(X)
        past.append(X)
        labels.append(panel.y[rows])
        for key, y in zip(panel.keys[rows].tolist(), panel.y[rows].tolist(), strict=True):
            statistics.learn(key, y)
    return predictions, np.full((len(panel.y), len(LEVELS)), np.nan)


def methods(auto: bool) -> dict[str, Callable[[Panel], Answers]]:
    rls = dl.RLS(forgetting=0.999)
    found: dict[str, Callable[[Panel], Answers]] = {
        "pooled RLS": lambda panel: pooled(rls, panel),
        "RLS by key": lambda panel: independent(rls, panel),
        "pooled ridge": pooled_ridge,
    }
    if auto:
        found |= {
            "pooled Auto": lambda panel: pooled(dl.Auto(), panel),
            "Auto by key": lambda panel: independent(dl.Auto(), panel),
            "one Auto": one_auto,
        }
    return found | ({"LightGBM": lightgbm} if importlib.util.find_spec("lightgbm") else {})


def scores(panel: Panel, answers: Answers) -> dict[str, list[float]]:
    """The three scores of keys that enter later, for each age; NaN without such rows or without quantiles."""
    (predictions, quantiles), ages = answers, ages_of(panel)
    ages[np.isin(panel.keys, panel.keys[panel.days == panel.days[0]])] = -1  # there from the start
    out: dict[str, list[float]] = {"RMSE": [], "CRPS": [], "coverage": []}
    for least, end in AGES.values():
        mine = (ages >= least) & (ages < end)
        y, q = panel.y[mine], quantiles[mine]
        finite = np.isfinite(q).all(axis=1)
        out["RMSE"].append(float(np.sqrt(np.mean((y - predictions[mine]) ** 2))) if mine.any() else np.nan)
        out["CRPS"].append(float(dl.evaluate.crps(q, LEVELS, y).mean()) if mine.any() else np.nan)
        inside = (q[:, 0] <= y) & (y <= q[:, -1])
        out["coverage"].append(float(np.mean(inside[finite])) if finite.any() else np.nan)
    return out


def goals(name: str, found: dict[str, dict[str, list[float]]]) -> Iterator[tuple[Cell, ...]]:
    """Each pooled fleet's RMSE relative to the best method without it, and on old keys to the fleet by key."""
    others = [method for method in found if not method.startswith("pooled ") or method == "pooled ridge"]
    for kind in ("RLS", "Auto"):
        if f"pooled {kind}" not in found:
            continue
        mine = found[f"pooled {kind}"]["RMSE"]
        same = [method for method in others if kind == "Auto" or "Auto" not in method]
        best = [min(found[method]["RMSE"][place] for method in same) for place in range(len(AGES))]
        alone = found[f"{kind} by key"]["RMSE"]
        young = [mine[place] / best[place] for place in range(len(YOUNG))]
        yield name, kind, *young, mine[-1] / best[-1], *(mine[place] / alone[place] for place in range(2, len(AGES)))


def mean_of(values: Array) -> list[float]:
    """The mean of each column without NaN; NaN if it has no number."""
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        return list(np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DIR", help="a folder of files with an INDEX.md")
    parser.add_argument("--days", type=int, default=300, help="at most as many days of each panel")
    parser.add_argument("--no-auto", action="store_true", help="leave out Auto, which takes most of the time")
    parser.add_argument("--panels", nargs="*", help="these panels alone")
    options = parser.parse_args()
    ratios: list[tuple[Cell, ...]] = []
    halves = {
        **dict.fromkeys(CHOSEN_ON, "chosen on"),
        **dict.fromkeys(CHECK, "check"),
        **dict.fromkeys(GENERATED, "generated"),
    }
    covered: dict[str, list[Array]] = {}
    for name, half in halves.items():
        if options.panels and name not in options.panels:
            continue
        panel = generated(name, min(options.days, 200)) if name in GENERATED else of_file(options.data, name, options.days)
        found = {method: scores(panel, run(panel)) for method, run in methods(not options.no_auto).items()}
        rows = [
            (method, *(value for score in of.values() for value in score)) for method, of in found.items()
        ]  # fmt: skip
        header = ("method", *(f"{score} {age}" for score in ("RMSE", "CRPS", "cov.") for age in AGES))
        title = f"{name} ({half}): {len(panel.y):,} rows of {len(np.unique(panel.keys))} keys"
        print(Table(title, header, rows).text(), flush=True)
        print()
        ratios += list(goals(f"{name} ({half})", found))
        for method, of in found.items():
            covered.setdefault(method, []).append(np.array(of["coverage"]))
    header = (
        "panel",
        "pooled",
        *(f"{age} / best" for age in YOUNG),
        "50+ / best",
        *(f"{age} / by key" for age in (*AGES,)[2:]),
    )
    print(Table("RMSE of pooled fleets, relative to the best other method and to the fleet by key", header, ratios).text())
    print()
    rows = [(method, *mean_of(np.array(values))) for method, values in covered.items() if np.isfinite(values).any()]
    print(Table("Mean coverage of finite 90 % intervals over the panels", ("method", *AGES), rows).text())


if __name__ == "__main__":
    main()
