"""The cases of ``same_results``, run by the interpreter of either revision: ``python -P FILE TARGET PATTERN``.

Imports nothing but driftline's packages, and heeds words that a revision spells differently.
"""

from __future__ import annotations

import inspect
import pickle
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from datetime import datetime, timedelta
from functools import cache, partial
from importlib.util import find_spec
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse

import driftline as dl
from driftline.base.registry import regressors
from driftline.cli import main as driftline

Outcome = dict[str, Any]  # arrays by field; or one field, "error", with the name of its class
ROWS, LATE = 240, 5
BOUNDS = {"kernel": {"budget": 40}}
MEAN = "mean" if find_spec("driftline.tables.missing") else "fill"  # as it was called before
FIELDS = ("predictions", "lower", "upper", "weights", "memory", "shares")


@cache
def stream() -> tuple[Any, Any]:
    """Short rows, and labels that follow weights that turn halfway."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-0.5, 0.5, (ROWS, 4))
    y = X @ [1.0, -2.0, 0.5, 0.0] + 0.1 * rng.standard_normal(ROWS)
    y[ROWS // 2 :] += 2 * X[ROWS // 2 :, 3] + 0.5
    return X, y


def gaps() -> Any:
    """The rows with every eleventh value missing."""
    X = stream()[0].copy()
    X.reshape(-1)[5::11] = np.nan
    return X


@cache
def columns() -> dict[str, list[Any]]:
    """Numbers, one of them with gaps, texts of which one comes late, and times."""
    X, holes = stream()[0], gaps()
    cities = [("rome", "oslo", "bonn")[n * n % 3] if n < 150 or n % 7 else "lima" for n in range(ROWS)]
    return {
        "a": X[:, 0].tolist(),
        "b": [None if value != value else value for value in holes[:, 1].tolist()],
        "city": [None if n % 41 == 40 else city for n, city in enumerate(cities)],
        "when": [datetime(2026, 3, 1) + timedelta(hours=7 * n) for n in range(ROWS)],
    }


def mappings() -> list[dict[str, Any]]:
    """The columns row by row."""
    named = columns()
    return [dict(zip(named, values, strict=True)) for values in zip(*named.values(), strict=True)]


def numbers() -> list[dict[str, Any]]:
    """Mappings of numbers that gain a feature."""
    return [{f"x{n}": v for n, v in enumerate(row) if n < 3 or t >= 60} for t, row in enumerate(stream()[0].tolist())]


def made(name: str, **params: Any) -> Any:
    """A learner by its registered name."""
    return regressors()[name](**BOUNDS.get(name, {}), **params)


def result(run: Any, **more: Any) -> Outcome:
    """The arrays of a run."""
    found = {field: getattr(run, field, None) for field in FIELDS}
    return {**{field: np.asarray(value) for field, value in found.items() if value is not None}, **more}


def run(model: Any, X: Any, y: Any = None, **options: Any) -> Outcome:
    """A run, then rows that are only predicted."""
    y = stream()[1] if y is None else y
    if y.ndim == 1:
        options["level"] = 0.9
    if isinstance(X, np.ndarray) and not isinstance(model, dl.Kernel):
        options["weights_every"] = 50
    out = result(model.run(X, y, **options))
    return {**out, "again": model.predict(X[:20])}


def loop(model: Any, rows: Any) -> Outcome:
    """Each row by itself: predicted with its interval, then learned."""
    said: dict[str, list[float]] = {"predictions": [], "lower": [], "upper": []}
    for x, y in zip(rows, stream()[1].tolist(), strict=True):
        ends = model.predict_interval(x)
        for field, value in zip(said, (model.predict_one(x), *ends), strict=True):
            said[field].append(value)
        model.learn_one(x, y)
    return {field: np.array(values) for field, values in said.items()}


def late(model: Any, rows: Any) -> Outcome:
    """Each row asked LATE rows before its label is told."""
    delay = {"delay": LATE} if "delay" in inspect.signature(model.ask).parameters else {"ahead": LATE + 1}
    tickets: list[Any] = []
    y = stream()[1].tolist()
    for row, x in enumerate(rows):
        tickets.append(model.ask(x, **delay))
        if row >= LATE:
            model.tell(tickets[row - LATE], y[row - LATE])
    ends = np.array([ticket.interval(0.9) for ticket in tickets])
    said = np.array([ticket.prediction for ticket in tickets])
    return {"predictions": said, "lower": ends[:, 0], "upper": ends[:, 1]}


def saved(model: Any) -> Outcome:
    """A run that is saved and loaded halfway."""
    X, y = stream()
    first = result(model.run(X[:100], y[:100], level=0.9))
    rest = result(dl.from_bytes(model.to_bytes()).run(X[100:], y[100:], level=0.9))
    return {field: np.concatenate([first[field], rest[field]]) for field in ("predictions", "lower", "upper")}


def pending(model: Any, rows: Any) -> Outcome:
    """Rows by id, whose labels come in another order."""
    waiting, y = dl.Pending(model), stream()[1].tolist()
    said = []
    for row, x in enumerate(rows):
        said.append(waiting.predict_one(f"id{row}", x))
        if row % 3 == 2:
            for told in (row - 1, row, row - 2):
                waiting.learn_one(f"id{told}", y[told])
    return {"predictions": np.array(said)}


def fleet(model: Any, X: Any, **options: Any) -> Outcome:
    """One model a key."""
    keys = np.arange(ROWS) ** 2 % 7
    many = dl.Fleet(model, intervals=True, **options)
    out = result(many.run(keys, X, stream()[1], level=0.9))
    return {**out, "again": many.predict_many(keys[:20], X[:20])}


def forecaster(model: Any, X: Any, **options: Any) -> Outcome:
    """Forecasts of three steps, of the past and the next rows."""
    ahead = dl.Forecaster(model, 3, **options)
    out = result(ahead.run(X[:200], stream()[1][:200], level=0.9))
    after = ahead.forecast(X[200:203])
    return {**out, "next": after.predictions, "next_lower": after.lower, "next_upper": after.upper}


def learner_cases(name: str) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Every kind of rows and every way to learn them, for one learner."""
    make, (X, y) = partial(made, name), stream()
    mean, named = partial(made, name, missing=MEAN), columns()
    frames: dict[str, Callable[[Any], Any]] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
    yield "array", lambda: run(make(), X)
    yield "float32", lambda: run(make(dtype="float32"), X.astype(np.float32))
    yield "no intercept", lambda: run(make(intercept=False), X)
    yield "weights", lambda: run(make(), X, sample_weight=np.arange(ROWS) % 3 / 2)
    yield "labels", lambda: run(make(), X, np.column_stack([y, -y, y**2]))
    yield "sparse", lambda: run(make(), scipy.sparse.csr_array(np.where(np.abs(X) < 0.25, 0.0, X)))
    for word in ("skip", MEAN, "last", "zero"):
        yield f"gaps {word.replace('fill', 'mean')}", lambda word=word: run(make(missing=word), gaps())
        yield f"gaps {word.replace('fill', 'mean')} loop", lambda word=word: loop(make(missing=word), gaps())
    for library, frame in frames.items():
        yield library, lambda frame=frame: run(mean(), frame(named))
        yield f"{library} numbers", lambda frame=frame: run(make(), frame(dict(zip("abcd", X.T, strict=True))))
    yield "loop", lambda: loop(make(), X)
    yield "mappings", lambda: loop(mean(), mappings())
    yield "mappings skip", lambda: loop(make(missing="skip"), mappings())
    yield "new feature", lambda: loop(make(), numbers())
    yield "late", lambda: late(make(), X)
    yield "late mappings", lambda: late(mean(), mappings())
    yield "saved", lambda: saved(make())
    yield "pending", lambda: pending(make(), X)
    yield "pending mappings", lambda: pending(mean(), mappings())
    yield "fleet", lambda: fleet(make(), X)
    yield "fleet text", lambda: fleet(mean(), pd.DataFrame(named))
    yield "forecaster", lambda: forecaster(make(), X)
    yield "forecaster known", lambda: forecaster(mean(), pd.DataFrame(named), known=["city", "when"])


def composed_cases() -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Models made of learners."""
    (X, y), frame = stream(), pd.DataFrame(columns())
    bases = {
        "standardized": lambda: dl.features.Standardize() | dl.RLS(),
        "lags": lambda: dl.features.Lags(y=2) | dl.Kalman(),
        "network": lambda: dl.Network([dl.RLS(), dl.NLMS(), dl.Kalman()]),
        "averaged": lambda: dl.Averaged(dl.RLS()),
        "own experts": lambda: dl.Auto(experts=[dl.RLS(), dl.Kalman()]),
    }
    for name, make in bases.items():
        yield f"{name} array", lambda make=make: run(make(), X)
        yield f"{name} loop", lambda make=make: loop(make(), X)
        yield f"{name} late", lambda make=make: late(make(), X)
        yield f"{name} new feature", lambda make=make: loop(make(), numbers())
        yield f"{name} frame", lambda make=make: run(make().set_params(missing=MEAN), frame)
        yield f"{name} pending", lambda make=make: pending(make(), X)
    sizes = np.where(y > 0.5, "high", np.where(y < -0.3, "low", "middle"))
    for base in (dl.RLS, dl.NLMS, dl.Ridge):
        yield f"classifier {base.__name__}", lambda base=base: result(dl.Classifier(base()).run(X, sizes))


def command_cases() -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """The command line: each format with each task, and defaults."""
    tasks = {
        "plain": "-t y --missing mean --level 0.9 --drop key,id,size",
        "default": "-t y --drop key,id,size",
        "late": "-t y --missing mean --delay 5 --level 0.9 --drop key,id,size",
        "keys": "-t y --missing zero --key key --drop id,size",
        "ids": "-t y --missing mean --id id --drop key,size",
        "steps": "-t y --missing zero --steps 3 --known city --level 0.9 --drop key,id,size",
        "classes": "-t size --task classify --missing mean --drop key,id,y",
    }
    for (task, words), ending, model in product(
        tasks.items(), ("csv", "jsonl", "parquet", "arrow"), ("auto", "rls", "kalman")
    ):
        if not (task == "classes" and model == "auto"):
            yield f"{task} {ending} {model}", partial(command, words, ending, model, [ROWS])
            if ending in ("csv", "jsonl"):
                yield f"{task} {ending} {model} resumed", partial(command, words, ending, model, [130, ROWS])


def command(words: str, ending: str, model: str, ends: list[int]) -> Outcome:
    """The output of ``driftline run`` on a file that grows to each of ``ends``, and of ``driftline predict``."""
    y = stream()[1]
    table = {**columns(), "key": [f"k{n % 3}" for n in range(ROWS)], "id": [f"r{n}" for n in range(ROWS)]}
    frame = pl.DataFrame({**table, "y": y, "size": np.where(y > 0, "high", "low")})
    write = {"csv": "write_csv", "jsonl": "write_ndjson", "parquet": "write_parquet", "arrow": "write_ipc"}[ending]
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for rows in ends:
            getattr(frame[:rows], write)(f"rows.{ending}")
            resume = ["--resume"] if rows != ends[0] else []
            called(
                "run", f"rows.{ending}", *words.split(), "-m", model, "--out", "out.csv", "--state", "state.drift", *resume
            )
        found = pl.read_csv("out.csv", infer_schema_length=None)
        outcome: Outcome = {
            name.split("_")[0] if "lower" in name else name: found[name].to_numpy() for name in found.columns
        }
        if " --steps" not in words and " --id" not in words:
            called("predict", "state.drift", f"rows.{ending}", "--out", "predicted.csv")
            outcome["again"] = pl.read_csv("predicted.csv", infer_schema_length=None).to_pandas().to_numpy()
        return outcome


def called(*arguments: str) -> None:
    """Runs a command in this process; raises RuntimeError with its message if it fails."""
    said = StringIO()
    with redirect_stdout(StringIO()), redirect_stderr(said):
        try:
            driftline([*arguments, "-q"])
        except SystemExit as end:
            if end.code:
                raise RuntimeError(said.getvalue()) from None


def cases() -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """All cases by name."""
    for name in regressors():
        if name not in ("network", "pipeline", "averaged"):
            for kind, case in learner_cases(name):
                yield f"{name} {kind}", case
    yield from composed_cases()
    for kind, case in command_cases():
        yield f"command {kind}", case


def main(target: str, pattern: str) -> None:
    """Writes the outcomes of the cases whose names match."""
    warnings.simplefilter("ignore")
    found: dict[str, Outcome] = {}
    for name, case in cases():
        if re.search(pattern, name):
            try:
                found[name] = case()
            except Exception as error:  # an outcome too
                found[name] = {"error": type(error).__name__}
                if "--errors" in sys.argv:
                    print(f"{name}: {error!r}"[:300])
    Path(target).write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:3])
