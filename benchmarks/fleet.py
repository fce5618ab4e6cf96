"""One model for each of a million keys: rows a second of a Fleet, of dictionaries of models, and on two threads; alarms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from river import linear_model

import driftline as dl
from benchmarks.data import Array
from benchmarks.report import Report, Table, Verdict
from benchmarks.timing import Case, compare, on_all_cores

KEYS, ROWS, D = 1_000_000, 10_000_000, 8
DICTIONARY_KEYS, DICTIONARY_ROWS = 100_000, 200_000
MEGABYTES = 600.0
ALARM_ROWS, ALARM_KEYS, DRIFTING = 1_000_000, (5000, 2000), 50
SEEDS = range(5, 17)  # the first is that of the timed rows
ONE, TWO = "Fleet, one thread", "Fleet, two threads"


def measure(quick: bool) -> Report:
    keys_count, count = (KEYS // 10, ROWS // 20) if quick else (KEYS, ROWS)
    keys, X, y = keyed_rows(keys_count, count)
    learner = dl.RLS(forgetting=0.99, dtype="float32")
    fleets = {ONE: dl.Fleet(learner, keys_count, jobs=1), TWO: dl.Fleet(learner, keys_count, jobs=2)}
    dictionary_keys, dictionary_rows = (DICTIONARY_KEYS, DICTIONARY_ROWS) if not quick else (1000, 20_000)
    few = slice(0, dictionary_rows)
    some = keys[few] % dictionary_keys, X[few], y[few]
    cases = [
        *(Case(label, partial(on_all_cores, partial(fleet.run, keys, X, y)), count) for label, fleet in fleets.items()),
        Case("Fleet, predictions alone, one thread", lambda: fleets[ONE].predict_many(keys, X), count),
        Case("dict of driftline RLS", _driftline(learner, *some), dictionary_rows),
        Case("dict of River LinearRegression", _river(*some), dictionary_rows),
    ]
    timed = compare(cases, 2 if quick else 3)
    rows = [
        (label, 1e9 * timed.median(label), 1e-6 / timed.median(label), timed.ratio(label, ONE)) for label in timed.rounds
    ]
    megabytes = fleets[ONE].nbytes / 1e6
    note = (
        f"RLS in float32, {D} features and an intercept, {keys_count:,} keys, {count:,} rows in random order, predicted and "
        f"then learned. A fleet takes {megabytes:.0f} MB. The dictionaries get only {dictionary_rows:,} rows of "
        f"{dictionary_keys:,} keys, because they are slow. The models of fleets and dictionaries persist from round to "
        "round, so that no time is spent on creating them."
    )
    table = Table("A model for each key", ("what", "ns a row", "million rows a second", "ratio"), rows, note)
    verdicts = [
        Verdict(f"{KEYS:,} models of {D} features in float32", megabytes * KEYS / keys_count, MEGABYTES, "MB"),
        Verdict("two threads / one thread", timed.ratio(TWO, ONE), 1.0, "ratio"),
    ]
    alarms, more = _alarms(quick)
    return Report([table, alarms], [*verdicts, *more])


def _alarms(quick: bool) -> tuple[Table, list[Verdict]]:
    """Changes the weights of some keys halfway, and measures how many of them raise an alarm, and the cost."""
    count = ALARM_ROWS // 10 if quick else ALARM_ROWS
    rows, verdicts = [], []
    note = f"RLS, {D} features, {count:,} rows in random order; the weights of {DRIFTING} keys jump half-way. One thread."
    for keys_count in ALARM_KEYS:
        keys_count = keys_count // 10 if quick else keys_count
        keys, X, y, drifting = drifting_rows(keys_count, count)
        fleet = partial(dl.Fleet, dl.RLS(forgetting=0.99), keys_count, jobs=1)
        cases = [
            Case("run", lambda: fleet().run(keys, X, y), count),  # noqa: B023 - called within the loop
            Case("run, then its alarms", lambda: fleet().run(keys, X, y).alarms, count),  # noqa: B023
            Case("run with alarms kept", lambda: fleet(alarms=True).run(keys, X, y), count),  # noqa: B023
        ]
        timed = compare(cases, 3, clock=process_time)
        mistakes = [_mistakes(fleet(), *drifting_rows(keys_count, count, seed)) for seed in SEEDS[: 2 if quick else None]]
        missed, others = mistakes[0]
        note += (
            f" With {keys_count:,} keys and {len(mistakes)} seeds, drifting keys missed: "
            f"{[missed for missed, _ in mistakes]}, false alarms: {[others for _, others in mistakes]}."
        )
        for label in timed.rounds:
            rows.append(
                (f"{keys_count:,} keys, {label}", 1e9 * timed.median(label), timed.ratio(label, "run"), missed, others)
            )
        verdicts += [
            Verdict(
                f"alarms of {keys_count:,} keys / run without", timed.ratio("run, then its alarms", "run"), 1.5, "ratio"
            ),
            Verdict(f"{len(drifting)} of {keys_count:,} keys drift half-way: missed", missed, 0, "keys"),
            Verdict(f"{len(drifting)} of {keys_count:,} keys drift half-way: false alarms", others, 2, "keys"),
        ]
    columns = ("what", "ns a row", "ratio", "drifting keys missed", "false alarms")
    return Table("Alarms by key", columns, rows, note), verdicts


def _mistakes(fleet: dl.Fleet, keys: Array, X: Array, y: Array, drifting: set[int]) -> tuple[int, int]:
    """Drifting keys whose alarms did not go off, and others whose alarms did."""
    named = set(keys[fleet.run(keys, X, y).alarms].tolist())
    return len(drifting - named), len(named - drifting)


def drifting_rows(keys_count: int, count: int, seed: int = 5) -> tuple[Array, Array, Array, set[int]]:
    rng = np.random.default_rng(seed)
    keys, X = rng.integers(0, keys_count, count), rng.standard_normal((count, D))
    weights, moves = rng.standard_normal((2, keys_count, D))
    drifting = rng.choice(keys_count, DRIFTING, replace=False)
    moved = np.isin(keys, drifting) & (np.arange(count) >= count // 2)
    y = np.einsum("td,td->t", X, weights[keys] + moved[:, None] * moves[keys]) + 0.3 * rng.standard_normal(count)
    return keys, X, y, set(drifting.tolist())


def keyed_rows(keys_count: int, count: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(4)
    keys = rng.integers(0, keys_count, count)
    X = rng.standard_normal((count, D), dtype=np.float32)
    return keys, X, X @ rng.standard_normal(D) + 0.1 * rng.standard_normal(count)


def _dictionary(make: Callable[[], Any], keys: Array, xs: list[Any], y: Array) -> Callable[[], None]:
    """The same rows without a fleet: a dictionary of models, each created at the first row of its key."""
    models: defaultdict[int, Any] = defaultdict(make)
    listed, labels = keys.tolist(), y.tolist()

    def work() -> None:
        for key, x, label in zip(listed, xs, labels, strict=True):
            model = models[key]
            model.predict_one(x)
            model.learn_one(x, label)

    return work


def _driftline(learner: dl.Learner, keys: Array, X: Array, y: Array) -> Callable[[], None]:
    return _dictionary(learner.clone, keys, list(X), y)


def _river(keys: Array, X: Array, y: Array) -> Callable[[], None]:
    names = [f"feature_{j}" for j in range(D)]
    xs = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    return _dictionary(linear_model.LinearRegression, keys, xs, y)
