"""The streams on which Auto is compared with the best learner in hindsight: generated ones, and files."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.data import Array
from driftline import streams

Rows = tuple[Array, Array]
Make = Callable[[int], Rows]
DEVELOPMENT, HELD_OUT = 0, 9000  # seeds; the second set was not used for the design of Auto
FILE, CLASSES = re.compile(r"[\d,]+ x \d+"), "classification;"


def generated(seed: int) -> Iterator[tuple[str, Rows]]:
    """All generated streams, by name."""
    for name, make in MAKERS.items():
        yield name, make(seed + zlib.crc32(name.encode()) % 997)


def files(folder: Path) -> Iterator[tuple[str, Rows]]:
    """The regression files that the folder's INDEX.md lists, in their order; the target is the last column."""
    for line in (folder / "INDEX.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 4 and FILE.fullmatch(cells[2]) and not cells[3].startswith(CLASSES) and cells[4] != "taps":
            table = np.loadtxt(folder / f"{cells[1]}.csv.gz", delimiter=",", skiprows=1, ndmin=2)
            yield cells[1], (np.ascontiguousarray(table[:, :-1]), table[:, -1].copy())


def rescaled(rows: Rows, seed: int) -> Rows:
    """Scales every feature and y by its own factor in 1e-6 ... 1e6, and shifts it by up to 1000 standard deviations."""
    X, y = rows
    rng = np.random.default_rng(seed)
    table = np.column_stack([X, y]) * 10.0 ** rng.uniform(-6, 6, X.shape[1] + 1)
    table += rng.uniform(-1e3, 1e3, table.shape[1]) * table.std(axis=0)
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].copy()


def _library(stream: streams.Stream, rows: int) -> Make:
    return lambda seed: stream.reseeded(seed).take(rows)


def _drifting(path: Callable[[np.random.Generator, int, int], Array], noise: float, d: int, rows: int) -> Make:
    """Gaussian inputs and weights on a path, (rows, d)."""

    def make(seed: int) -> Rows:
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((rows, d))
        return X, np.einsum("td,td->t", X, path(rng, rows, d)) + noise * rng.standard_normal(rows)

    return make


def _fixed(rng: np.random.Generator, rows: int, d: int) -> Array:
    return np.tile(rng.standard_normal(d), (rows, 1))


def _jumps(every: int) -> Callable[[np.random.Generator, int, int], Array]:
    return lambda rng, rows, d: np.repeat(rng.standard_normal((-(-rows // every), d)), every, axis=0)[:rows]


def _walk(step: float) -> Callable[[np.random.Generator, int, int], Array]:
    return lambda rng, rows, d: rng.standard_normal(d) + np.cumsum(step * rng.standard_normal((rows, d)), axis=0)


def _pauses(step: float) -> Callable[[np.random.Generator, int, int], Array]:
    """Six parts: weights walk at random in every second one and are constant in the others."""

    def path(rng: np.random.Generator, rows: int, d: int) -> Array:
        moving = (6 * np.arange(rows) // rows) % 2
        return rng.standard_normal(d) + np.cumsum(step * moving[:, None] * rng.standard_normal((rows, d)), axis=0)

    return path


def _waves(period: int) -> Callable[[np.random.Generator, int, int], Array]:
    def path(rng: np.random.Generator, rows: int, d: int) -> Array:
        phase = rng.uniform(0, 2 * np.pi, d)
        centre, size = rng.standard_normal((2, d))
        return centre + size * np.sin(2 * np.pi * np.arange(rows)[:, None] / period + phase)

    return path


def _seasonal(seed: int) -> Rows:
    """A daily wave that the inputs do not show, and autocorrelated inputs."""
    rng = np.random.default_rng(seed)
    rows, d = 4000, 6
    X = _with_memory(rng, rows, d, 0.9)
    day = 2 * np.pi * np.arange(rows) / 24
    y = X @ rng.standard_normal(d) + 3 * np.sin(day) + np.cos(2 * day) + 0.5 * rng.standard_normal(rows)
    return 5 + X, 100 + y


def _with_memory(rng: np.random.Generator, rows: int, d: int, decay: float) -> Array:
    shocks = rng.standard_normal((rows, d))
    for t in range(1, rows):
        shocks[t] += decay * shocks[t - 1]
    return shocks


def _autoregressive(seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    rows, d = 4000, 5
    X = rng.standard_normal((rows, d))
    drive = X @ rng.standard_normal(d) + rng.standard_normal(rows)
    y = np.zeros(rows)
    for t in range(2, rows):
        y[t] = 1.5 * y[t - 1] - 0.6 * y[t - 2] + 0.3 * drive[t]
    return X, y


def _process(seed: int) -> Rows:
    """An industrial plant: inputs act with a delay, labels are autocorrelated, the gain drifts."""
    rng = np.random.default_rng(seed)
    rows, d = 5000, 4
    X = _with_memory(rng, rows, d, 0.95)
    gain = _walk(0.01)(rng, rows, d)
    y = np.zeros(rows)
    for t in range(3, rows):
        y[t] = 0.8 * y[t - 1] + 0.2 * gain[t] @ X[t - 3] + 0.1 * rng.standard_normal()
    return 20 + 3 * X, 50 + 10 * y


def _tails(seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    rows, d = 4000, 10
    X = rng.standard_normal((rows, d))
    return X, np.einsum("td,td->t", X, _walk(0.01)(rng, rows, d)) + rng.standard_t(2.2, rows)


def _outliers(seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    rows, d = 4000, 10
    X = rng.standard_normal((rows, d))
    y = np.einsum("td,td->t", X, _walk(0.01)(rng, rows, d)) + 0.3 * rng.standard_normal(rows)
    return X, y + 40 * rng.standard_normal(rows) * (rng.random(rows) < 0.01)


def _degenerate(seed: int) -> Rows:
    """Columns that are constant, nearly repeated, sums of others, or zero at first."""
    rng = np.random.default_rng(seed)
    rows = 3000
    X = rng.standard_normal((rows, 8))
    X[:, 1], X[:, 2] = 7.0, X[:, 0] + 1e-6 * X[:, 2]
    X[:, 3] = X[:, 4] + X[:, 5]
    X[: rows // 2, 6] = 0.0
    return X, np.einsum("td,td->t", X, _jumps(1000)(rng, rows, 8)) + 0.2 * rng.standard_normal(rows)


def _uneven_noise(seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    rows, d = 4000, 8
    X = rng.standard_normal((rows, d))
    size = np.exp(1.5 * np.sin(2 * np.pi * np.arange(rows) / 700))
    return X, np.einsum("td,td->t", X, _walk(0.02)(rng, rows, d)) + size * rng.standard_normal(rows)


def _uneven_units(seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    rows, d = 3000, 8
    X = rng.standard_normal((rows, d))
    y = np.einsum("td,td->t", X, _walk(0.02)(rng, rows, d)) + 0.5 * rng.standard_normal(rows)
    return X * 10.0 ** np.linspace(-3, 3, d) + 10.0 ** np.linspace(3, -3, d), 1e4 + 50 * y


_R, _S = streams.Rotating, streams.Switching
MAKERS: dict[str, Make] = {
    **{
        f"rotating {rate:g} deg, noise {noise:g}": _library(_R(rate=rate, unit="deg", noise=noise), 2000)
        for rate in (0.05, 0.5, 3.0)
        for noise in (0.0, 0.05, 2.0)
    },
    "rotating t^-0.01, noise 2": _library(_R(rate=1.0, power=0.01, unit="deg", noise=2.0), 2000),
    "rotating t^-0.01 rad, noise 2": _library(_R(rate=1.0, power=0.01, noise=2.0), 2000),
    "switching t^-0.5, noise 2": _library(_S(rate=1.0, power=0.5, every=50, noise=2.0), 2000),
    "switching t^-1, noise 0": _library(_S(rate=1.0, power=1.0, every=50), 2000),
    "switching t^-1, noise 0.05": _library(_S(rate=1.0, power=1.0, every=50, noise=0.05), 2000),
    "switching 0.5 deg every 500": _library(_S(rate=0.5, unit="deg", every=500, noise=0.5), 4000),
    "hyperplane": _library(streams.Hyperplane(task="regression", rows=18_000), 18_000),
    "hyperplane, noise 0": _library(streams.Hyperplane(task="regression", rows=9000, noise=0.0), 9000),
    "hyperplane, noise 0.1": _library(streams.Hyperplane(task="regression", rows=18_000, noise=0.1), 18_000),
    "state space": _library(streams.StateSpace(d=30), 5000),
    "state space, memory, noise 1": _library(streams.StateSpace(d=30, decay=0.9, noise=1.0), 5000),
    "fixed, noise 0": _drifting(_fixed, 0.0, 10, 2000),
    "fixed, noise 0.1": _drifting(_fixed, 0.1, 20, 3000),
    "fixed, noise 3": _drifting(_fixed, 3.0, 20, 5000),
    "fixed, d 60": _drifting(_fixed, 1.0, 60, 3000),
    "jumps every 100, noise 0.1": _drifting(_jumps(100), 0.1, 5, 3000),
    "jumps every 300, noise 0": _drifting(_jumps(300), 0.0, 8, 3000),
    "jumps every 1000, noise 1": _drifting(_jumps(1000), 1.0, 15, 6000),
    "walk 0.003, noise 1": _drifting(_walk(0.003), 1.0, 10, 4000),
    "walk 0.03, noise 0.3": _drifting(_walk(0.03), 0.3, 10, 4000),
    "walk 0.3, noise 0.3": _drifting(_walk(0.3), 0.3, 5, 3000),
    "walk that pauses, noise 0.3": _drifting(_pauses(0.05), 0.3, 10, 6000),
    "waves of 200, noise 0.3": _drifting(_waves(200), 0.3, 5, 4000),
    "waves of 2000, noise 0.3": _drifting(_waves(2000), 0.3, 8, 6000),
    "seasonal": _seasonal,
    "autoregressive": _autoregressive,
    "process": _process,
    "heavy tails": _tails,
    "outliers": _outliers,
    "degenerate columns": _degenerate,
    "uneven noise": _uneven_noise,
    "uneven units": _uneven_units,
}
