"""The best single learner in hindsight on a stream, among all learners, inputs and hyperparameters of a wide grid."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import driftline as dl
from benchmarks.data import Array

RIDGES = (1e-6, 1e-4, 1e-2, 1.0, 1e2)
MEMORIES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 50, 75, 100, 150, 250, 400, 700, 1500, 5000)
DRIFTS = tuple(10.0 ** np.arange(-9, 3.1, 0.75))
VERSION = 1


def grid() -> Iterator[tuple[str, Callable[[], dl.Learner]]]:
    """Learners, by a name that lists their hyperparameters."""
    for rate, eps in itertools.product((0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0, 1.3), (1e-6, 1.0)):
        yield f"NLMS rate={rate:g} eps={eps:g}", lambda rate=rate, eps=eps: dl.NLMS(rate=rate, eps=eps)
    for memory, ridge in itertools.product(MEMORIES, RIDGES):
        keep = 1 - 1 / memory
        yield f"RLS memory={memory} ridge={ridge:g}", lambda keep=keep, ridge=ridge: dl.RLS(forgetting=keep, ridge=ridge)
    for ridge in (*RIDGES, 1e-8, 1e-3, 0.1, 10.0, 1e3, 1e4):
        yield f"Ridge ridge={ridge:g}", lambda ridge=ridge: dl.Ridge(ridge=ridge)
    for drift, ridge in itertools.product(DRIFTS, RIDGES):
        make = lambda drift=drift, ridge=ridge: dl.Kalman(noise=1.0, drift=drift, ridge=ridge)  # noqa: E731
        yield f"Kalman drift={drift:.2g} ridge={ridge:g}", make
        if ridge < 1 / drift:
            cost = 1 / drift
            yield f"LASER drift={drift:.2g} ridge={ridge:g}", lambda c=cost, r=ridge: dl.LASER(drift_cost=c, ridge=r)
    for memory, period in itertools.product((20, 50, 100, 300, 1000, 1e9), (30, 100, 300, 1000)):
        keep = 1 - 1 / memory
        yield f"CRRLS memory={memory:g} period={period}", lambda k=keep, p=period: dl.CRRLS(forgetting=k, period=p)
    for noise, schedule, radius in itertools.product((1e-2, 1.0, 100.0), (1.0, 1.5, 2.0, 3.0), (1.0, 10.0, 1e9)):
        name = f"ARCOR noise={noise:g} schedule={schedule:g} radius={radius:g}"
        yield name, lambda n=noise, s=schedule, r=radius: dl.ARCOR(noise=n, schedule=s, radius=r)
    for memory, prior in itertools.product(MEMORIES[3:], (1e-2, 1.0, 1e2, 1e4)):
        yield f"DFOP memory={memory} prior={prior:g}", lambda m=memory, p=prior: dl.DFOP(forget_rate=1 / m, prior=p)


def with_lags(X: Array, y: Array) -> Array:
    """Rows with the last two labels appended, or 0 at the start."""
    before = np.concatenate([[0.0, 0.0], y])
    return np.column_stack([X, before[1:-1], before[:-2]])


def in_file(X: Array) -> Array:
    """Standardised by the mean and deviation of the whole stream, which only hindsight knows."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def online(X: Array) -> Array:
    """Standardised by the mean and deviation of the rows up to and including this one."""
    count = np.arange(1, len(X) + 1)[:, None]
    shifted = X - X[0]
    mean = np.cumsum(shifted, axis=0) / count
    spread = np.sqrt(np.maximum(np.cumsum(shifted**2, axis=0) / count - mean**2, 0.0))
    return np.divide(shifted - mean, spread, out=np.zeros_like(X), where=spread > 1e-9 * np.abs(X).max(axis=0))


def inputs(X: Array, y: Array) -> Iterator[tuple[str, Array]]:
    for lags, table in (("", X), (", lags", with_lags(X, y))):
        yield f"raw{lags}", table
        yield f"whole-file{lags}", in_file(table)
        yield f"online{lags}", online(table)


def losses(X: Array, y: Array) -> dict[str, float]:
    """The cumulative squared loss of every competitor; infinite if it refused a row or diverged."""
    found = {"last value": float(np.sum(np.square(np.diff(y, prepend=0.0))))}
    for kind, table in inputs(X, y):
        for name, make in grid():
            try:
                with np.errstate(all="ignore"):
                    loss = float(make().run(table, y).losses.sum())
            except (ValueError, ArithmeticError):
                loss = np.inf
            found[f"{name}, {kind}"] = loss if np.isfinite(loss) else np.inf
    return found


def best(X: Array, y: Array, cache: Path | None) -> tuple[str, float]:
    """The best competitor and its loss; from the cache if it has this stream."""
    if cache is None:
        return min(losses(X, y).items(), key=lambda item: item[1])
    key = hashlib.sha256(b"%d" % VERSION + np.ascontiguousarray(X).tobytes() + y.tobytes()).hexdigest()[:24]
    file = cache / f"{key}.json"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(losses(X, y)))
    name, loss = min(json.loads(file.read_text()).items(), key=lambda item: item[1])
    return name, loss
