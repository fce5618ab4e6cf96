"""A search for streams on which ARCOR's regret exceeds the repaired bound of its Theorem 1.

``python -m benchmarks.arcor_search --minutes 60 --seed 1`` reports the largest ratio of regret to the allowed regret, and
the largest constant that a stream needs in front of R noise sum |step| / threshold if all other terms are as they are. The
former is near 1 for a comparator that rests, whose |u|^2 every learner pays; the latter is about the drift alone.

Large streams are made of blocks: many equal rows with one label, during which the comparator rests. A block's loss has a
closed form, so that streams of 10^16 rows cost no more than short ones. Segments of blocks end in a reset. The search
draws constructions at random, and follows the gradient of the ratio, by differences, from random starts and from the
family of the page "A counterexample to Theorem 1". Blocks never leave the ball, so small streams with projections are drawn
as well and replayed row by row.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, zeta

import driftline as dl
from benchmarks.data import Array
from driftline import regret

SHARP = 1.5 * math.sqrt(3)
ROUNDING = 1e-9
CLIMBERS, STEPS = 24, 250  # climbs at a time, and their steps


@dataclass(frozen=True)
class Shape:
    """Constructions with the same number of inputs, segments, and blocks in a segment.

    If ``aligned``, the blocks of a segment share a direction, except an opening one, which moves w before the matrix grows.
    """

    d: int
    segments: int
    blocks: int
    aligned: bool = False

    @property
    def opens(self) -> bool:
        """Whether segments have an opening block."""
        return self.blocks > 2

    @property
    def size(self) -> int:
        """Parameters of a construction: a direction, a target, a share and a comparator for each block, and three more."""
        return self.segments * self.blocks * (2 * self.d + 2) + 3


@dataclass
class Blocks:
    """The blocks of many constructions, (n, segments, blocks), with radius 1."""

    noise: Array  # (n,)
    limit: Array  # 1 / threshold of the first segment, (n,)
    growth: Array  # factor from one segment's limit to the next, (n,)
    x: Array  # unit directions, (..., d)
    target: Array  # what the block drives w.x to
    share: Array  # of the rows that are left until a reset; the last block of a segment takes all of them
    u: Array  # the comparator, (..., d)


@dataclass
class Outcome:
    """What ARCOR and the comparator did on each construction."""

    regret: Array
    logs: Array  # 2 (R^2 + Y^2) sum log det
    start: Array  # noise |u_1|^2
    moved: Array  # noise sum |step| / threshold
    grown: Array  # noise sum of the growth of |u|^2 / threshold
    last: Array  # noise |u_T|^2
    rows: Array

    @property
    def ratio(self) -> Array:
        """Regret divided by what the repaired Theorem 1 allows."""
        return self.regret / (self.logs + self.start + SHARP * self.moved + 0.75 * self.grown)

    @property
    def constant(self) -> Array:
        """The constant that Theorem 1 needs in front of the drift; -inf where hardly anything moves."""
        needed = (self.regret - self.logs - self.start - 0.75 * self.grown) / self.moved
        return np.where(self.moved > 1e-3 * self.regret, needed, -np.inf)

    @property
    def printed_ratio(self) -> Array:
        """Regret divided by what the printed Theorem 1 allows."""
        return self.regret / (self.logs + self.last + 2 * self.moved)


def inverse_squares(a: Array, m: Array) -> Array:
    """The sum of 1 / (a + k)^2 over k = 0 ... m - 1."""
    b, small = a + m, a < 1000
    near = np.where(small, a, 1.0)
    exact = zeta(2, near) - zeta(2, near + m)
    wide = m / (a * b)  # 1/a - 1/b
    squares = wide * (1 / a + 1 / b)
    cubes = wide * (1 / a**2 + 1 / (a * b) + 1 / b**2)
    return np.where(small, exact, wide + squares / 2 + cubes / 6)


def play(at: Blocks) -> Outcome:
    """Runs ARCOR through all constructions, block by block."""
    n, segments, blocks, d = at.x.shape
    identity = np.eye(d)
    w, largest = np.zeros((n, d)), np.zeros(n)
    out = Outcome(*(np.zeros(n) for _ in range(7)))
    logs, limit, before = np.zeros(n), at.limit.copy(), at.u[:, 0, 0]
    out.start = at.noise * np.sum(before**2, axis=1)
    for i in range(segments):
        P = np.tile(identity, (n, 1, 1))
        for j in range(blocks):
            x = at.x[:, i, j]
            gain = np.einsum("nd,nd->n", x, np.linalg.solve(limit[:, None, None] * identity - P, x[:, :, None])[:, :, 0])
            # Rows until the largest eigenvalue of P exceeds the limit; NaN if rounding has taken P beyond it.
            left = np.floor(np.where(gain > 0, at.noise / gain, np.nan)) + 1
            m = left if j == blocks - 1 else np.minimum(np.floor(at.share[:, i, j] * left), left - 1)
            some = np.maximum(m, 1.0)  # a block without rows changes nothing
            u = np.where(m[:, None] > 0, at.u[:, i, j], before)
            out.moved += at.noise * limit * np.linalg.norm(u - before, axis=1)
            out.grown += at.noise * limit * (np.sum(u**2, axis=1) - np.sum(before**2, axis=1))
            before = u
            q = np.linalg.solve(P, x[:, :, None])[:, :, 0]
            chi = np.einsum("nd,nd->n", x, q)
            f, a = np.einsum("nd,nd->n", x, w), at.noise / chi
            way = q / chi[:, None] * (at.target[:, i, j] - f)[:, None]
            way *= np.where(m > 0, _within(w, way), 0.0)[:, None]
            error = np.einsum("nd,nd->n", x, way) * (a + m) / some
            y = f + error
            losses = error**2 * a**2 * inverse_squares(a, m)
            out.regret += losses - m * (y - np.einsum("nd,nd->n", x, u)) ** 2
            out.rows += m
            largest = np.where(m > 0, np.maximum(largest, np.abs(y)), largest)
            w = w + way
            P = P + (m / at.noise)[:, None, None] * x[:, :, None] * x[:, None, :]
        logs += np.linalg.slogdet(P)[1]
        limit = limit * at.growth
    out.logs = 2 * (1 + largest**2) * logs
    out.last = at.noise * np.sum(before**2, axis=1)
    return out


def _within(w: Array, way: Array) -> Array:
    """The largest share of the way, at most 1, that stays in the unit ball."""
    a, b = np.sum(way**2, axis=1), np.einsum("nd,nd->n", w, way)
    c = np.maximum(1 - np.sum(w**2, axis=1), 0.0)
    room = np.where(a > 0, (np.sqrt(b * b + a * c) - b) / np.where(a > 0, a, 1.0), 1.0)
    return np.minimum(1.0, room)


def unfold(shape: Shape, theta: Array) -> Blocks:
    """Constructions from parameters without constraints, (n, size)."""
    n, d = len(theta), shape.d
    each = theta[:, 3:].reshape(n, shape.segments, shape.blocks, 2 * d + 2)
    x, u = each[..., :d].copy(), each[..., d : 2 * d]
    if shape.aligned:
        first = int(shape.opens)
        x[:, :, first + 1 :] = x[:, :, [first]]
    norms = np.linalg.norm(u, axis=-1, keepdims=True)
    return Blocks(
        noise=10 ** (10 * expit(theta[:, 0])),
        limit=1 + 10 ** (0.3 + 5.7 * expit(theta[:, 1])),
        growth=1 + 3 * expit(theta[:, 2] - 4),
        x=x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-9),
        target=np.tanh(each[..., 2 * d]),
        share=expit(each[..., 2 * d + 1]),
        u=u / np.maximum(1.0, norms),
    )


def scores(shape: Shape, theta: Array, goal: str) -> Array:
    """The ratio or the constant of each construction, in units of the bound; -9 where the arithmetic fails."""
    outcome = play(unfold(shape, theta))
    found = outcome.ratio if goal == "ratio" else outcome.constant / SHARP
    return np.where(np.isfinite(found), found, -9.0)


def family(shape: Shape, rng: np.random.Generator, count: int) -> Array:
    """Parameters near the family of the page: u turns, rows lie between its step and u, w is first driven away from u."""
    theta = rng.normal(size=(count, shape.size)) * 0.01
    theta[:, :3] += rng.uniform([0.5, 0.5, -3.0], [2.0, 3.0, -3.0], size=(count, 3))
    turn, tilt = rng.uniform(0.1, 1.2, count), rng.uniform(0.4, 0.6, count)
    each = theta[:, 3:].reshape(count, shape.segments, shape.blocks, 2 * shape.d + 2)
    limit, w = unfold(shape, theta).limit, np.zeros((count, 2))
    for i in range(shape.segments):
        middle = (i + 0.5) * turn
        f = _on_circle(middle + np.pi / 2 - tilt)
        for j in range(shape.blocks):
            last = j == shape.blocks - 1
            opening = j == 0 and shape.opens
            x = (-f - w) / np.linalg.norm(f + w, axis=1, keepdims=True) if opening else f
            aim = np.sin(tilt) if last else np.einsum("nd,nd->n", x, -f)
            each[:, i, j, :2] += x
            each[:, i, j, shape.d : shape.d + 2] += 1.02 * _on_circle(middle + (0.5 if last else -0.5) * turn)
            each[:, i, j, 2 * shape.d] += np.arctanh(np.clip(aim, -0.999, 0.999))
            each[:, i, j, 2 * shape.d + 1] += np.log(0.02 / limit) if opening else 3.0
        w = f * np.sin(tilt)[:, None]
    return theta


def _on_circle(angle: Array) -> Array:
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def climb(shape: Shape, theta: Array, goal: str, until: float) -> tuple[Array, Array]:
    """Follows the gradient from several starts with Adam's steps; the best points and their scores."""
    count, size = theta.shape
    theta, step = theta.copy(), 1e-5
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    best, value = theta.copy(), scores(shape, theta, goal)
    for k in range(1, STEPS + 1):
        around = np.repeat(theta, 2 * size, axis=0).reshape(count, 2, size, size)
        around[:, 0, range(size), range(size)] += step
        around[:, 1, range(size), range(size)] -= step
        sides = scores(shape, around.reshape(-1, size), goal).reshape(count, 2, size)
        slope = (sides[:, 0] - sides[:, 1]) / (2 * step)
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        theta = theta + 0.05 * (first / (1 - 0.9**k)) / (np.sqrt(second / (1 - 0.99**k)) + 1e-12) / math.sqrt(1 + k / 50)
        now = scores(shape, theta, goal)
        better = now > value
        best[better], value = theta[better], np.maximum(value, now)
        if time.monotonic() > until:
            break
    return best, value


def small_stream(rng: np.random.Generator) -> float:
    """The ratio on a random small stream with projections, labels against the prediction, and the library's own bound."""
    T, d = int(rng.integers(2, 120)), int(rng.integers(1, 4))
    X = rng.normal(size=(T, d)) if rng.random() < 0.5 else np.repeat(rng.normal(size=(-(-T // 8), d)), 8, axis=0)[:T]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    schedule: float | list[float] = rng.uniform(1, 3) if rng.random() < 0.5 else [1 / rng.uniform(1.1, 20)]
    noise, size, length = 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-0.5, 1.5), int(rng.integers(1, 20))
    learner = dl.ARCOR(noise=noise, radius=1.0, schedule=schedule, intercept=False)
    y, u, turn = np.empty(T), np.empty((T, d)), rng.normal(size=d) * rng.uniform(0, 1)
    model = learner.clone()
    for t, x in enumerate(X):
        sign = -1.0 if model.predict_one(x) > 0 else 1.0
        y[t] = size * (sign if rng.random() < 0.8 else rng.normal())
        model.learn_one(x, y[t])
        u[t] = -model.coef_ + turn if t % length == 0 else u[t - 1]
    u /= np.maximum(1.0, np.linalg.norm(u, axis=1, keepdims=True))
    bound = regret.arcor_theorem_1(learner, X, y, u)
    loss = bound.terms["loss of u"]
    assert bound.observed is not None
    return (bound.observed - loss) / (bound.value - loss)


class Search:
    """The best of each way to search, and how many constructions were tried."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.tried: dict[str, int] = {}
        self.ratio: dict[str, float] = {}
        self.constant: dict[str, float] = {}
        self.words: dict[str, str] = {}

    def run(self, seconds: float) -> None:
        """Alternates between the ways until the time is up."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for goal in ("ratio", "constant"):
                small = max(small_stream(self.rng) for _ in range(100))
                self._note("small streams, row by row", 100, small, -math.inf)
                d, segments, blocks = (
                    int(self.rng.integers(1, 4)),
                    int(self.rng.integers(1, 5)),
                    int(self.rng.integers(2, 5)),
                )
                self._large(Shape(d, segments, blocks, aligned=bool(self.rng.random() < 0.7)), goal, until)

    def _large(self, shape: Shape, goal: str, until: float) -> None:
        rng = self.rng
        drawn = rng.normal(size=(20_000, shape.size)) * rng.choice([1.0, 2.0, 3.0], size=(20_000, 1))
        found = scores(shape, drawn, goal)
        self._best("blocks by chance", shape, drawn, 20_000)
        starts = {"blocks by gradient from chance": drawn[np.argsort(found)[-CLIMBERS:]]}
        if shape.d > 1 and shape.aligned:
            starts["blocks by gradient from the family"] = family(shape, rng, CLIMBERS)
        for way, start in starts.items():
            ends, _ = climb(shape, start, goal, until)
            self._best(f"{way}, {goal}", shape, ends, CLIMBERS * STEPS * (2 * shape.size + 1))

    def _best(self, way: str, shape: Shape, theta: Array, tried: int) -> None:
        outcome = play(unfold(shape, theta))
        words = f"{shape.d} inputs, {shape.segments} segments of {shape.blocks} blocks" + (
            ", aligned" if shape.aligned else ""
        )
        self._note(way, tried, np.nanmax(outcome.ratio), np.nanmax(outcome.constant), words)

    def _note(self, way: str, tried: int, ratio: float, constant: float, words: str = "") -> None:
        if ratio > self.ratio.get(way, -math.inf) or constant > self.constant.get(way, -math.inf):
            self.words[way] = words
        self.tried[way] = self.tried.get(way, 0) + tried
        self.ratio[way] = max(self.ratio.get(way, -math.inf), float(ratio))
        self.constant[way] = max(self.constant.get(way, -math.inf), float(constant))

    def report(self) -> str:
        """A line for each way."""
        lines = [f"{'way':46} {'tried':>15} {'ratio':>9} {'constant':>9}  last improved by"]
        for way, tried in self.tried.items():
            lines.append(f"{way:46} {tried:15,} {self.ratio[way]:9.6f} {self.constant[way]:9.6f}  {self.words[way]}")
        ratio, constant = max(self.ratio.values()), max(self.constant.values())
        verdict = "no violation" if ratio <= 1 + ROUNDING and constant <= SHARP * (1 + ROUNDING) else "VIOLATED"
        lines.append(f"largest ratio of regret to the repaired bound: {ratio:.6f}")
        lines.append(f"largest constant needed: {constant:.6f}, the theorem has {SHARP:.6f}: {verdict}")
        return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.arcor_search", description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    search = Search(options.seed)
    with np.errstate(all="ignore"):
        search.run(60 * options.minutes)
    print(search.report())
