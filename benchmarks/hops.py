"""Counts the functions and files of driftline that a call passes through: ``python -m benchmarks.hops [--trace CALL]``."""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import driftline as dl
from driftline.cli import main as driftline
from driftline.features import Standardize

ROOT = str(Path(dl.__file__).parent)


def hops(call: Callable[[], Any]) -> list[tuple[str, str]]:
    """The file and the name of each function that a call passes through, in this thread."""
    passed: list[tuple[str, str]] = []

    def see(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            passed.append((frame.f_code.co_filename[len(ROOT) + 1 :], frame.f_code.co_name))

    sys.setprofile(see)
    try:
        call()
    finally:
        sys.setprofile(None)
    return passed


def calls(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The calls to count, in an order in which the models they need exist and imports are done."""
    X = np.random.default_rng(0).standard_normal((500, 3))
    y, keys = X @ [1.0, 2.0, 3.0], np.arange(500) % 4
    model, named, other, fleet = dl.RLS(), dl.RLS(), dl.RLS(), dl.Fleet(dl.RLS(), 4)
    yield "first learn_one", lambda: model.learn_one(X[0], 1.0)
    yield "learn_one", lambda: model.learn_one(X[0], 1.0)
    texts, gaps = dl.RLS(), dl.RLS(missing="mean")
    for b in (2.0, None, 2.0, None):
        texts.learn_one({"a": 1.0, "b": "x"}, 1.0)
        gaps.learn_one({"a": 1.0, "b": b}, 1.0)
    yield "learn_one, known text", lambda: texts.learn_one({"a": 1.0, "b": "x"}, 1.0)
    yield "learn_one, a gap", lambda: gaps.learn_one({"a": 1.0, "b": None}, 1.0)
    named.learn_one({"a": 1.0}, 1.0)
    yield "learn_one, new name", lambda: named.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    forecaster, pending = dl.Forecaster(dl.RLS(), steps=3), dl.Pending(dl.RLS())
    for row in range(5):
        forecaster.learn_one(X[row], y[row])
    yield "Forecaster.learn_one, 3 steps", lambda: forecaster.learn_one(X[5], y[5])
    pending.predict_one("first", X[0])
    yield "Pending.learn_one", lambda: pending.learn_one("first", y[0])
    yield "first run", lambda: other.run(X, y)
    yield "run", lambda: other.run(X, y)
    pipeline = Standardize() | dl.RLS()
    pipeline.run(X, y)
    yield "run of a pipeline", lambda: pipeline.run(X, y)
    other.save(folder / "model")
    dl.load(folder / "model")
    yield "save", lambda: other.save(folder / "model")
    yield "load", lambda: dl.load(folder / "model")
    fleet.run(keys, X, y)
    yield "Fleet.run", lambda: fleet.run(keys, X, y)
    yield "Fleet.learn_one", lambda: fleet.learn_one(1, X[0], 1.0)
    path = folder / "x.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,c,y", comments="")
    _follow(path)
    yield "driftline run x.csv", lambda: _follow(path)


def _follow(path: Path) -> None:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        driftline(["run", str(path), "-t", "y", "-m", "rls"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hops", description=__doc__)
    parser.add_argument("--trace", metavar="CALL", help="list the functions that this call passes through")
    traced = parser.parse_args().trace
    with tempfile.TemporaryDirectory() as folder:
        for name, call in calls(Path(folder)):
            passed = hops(call)
            print(f"{name:30} {len(passed):4} functions in {len({file for file, _ in passed}):3} files")
            for file, function in passed if name == traced else ():
                print(f"    {file} {function}")


if __name__ == "__main__":
    main()
