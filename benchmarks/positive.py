"""Coverage where it is hard: labels that are positive, over four orders of magnitude, and counts.

    python -m benchmarks.positive

Each line is a learner on a generated stream: coverage of its 90 % intervals by fifths of its predictions, the interval score
and the squared error over those of Auto as it is.

    python -m benchmarks.positive --means

The predictions of Transformed(RLS) beside RLS's transformed back without correction: the squared error over that of the
latter, and how much both are too low, as a share of the mean label.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

import driftline as dl
from driftline.base.scale import Scale

WARM = 500  # rows that are not scored


def streams(rows: int, seed: int) -> Iterator[tuple[str, np.ndarray, np.ndarray, str]]:
    """Name, rows, labels, and the transformation that suits them."""
    rng = np.random.default_rng(seed)
    X, t = rng.normal(size=(rows, 4)), np.arange(rows)
    season = np.sin(2 * np.pi * t / 24)
    level = 4.6 + 1.2 * season + X @ [0.9, -0.6, 0.3, 0.0] + 0.5 * np.sin(t / 700)
    yield "levels over four orders", X, np.exp(level + 1.2 * X[:, 3] + 0.4 * rng.normal(size=rows)), "log"
    yield "levels, heavy tails", X, np.exp(level + 0.25 * rng.standard_t(3, size=rows)), "log"
    mean = np.exp(1 + 0.6 * season + X @ [0.4, -0.3, 0.2, 0.0])
    yield "counts", X, rng.poisson(mean).astype(float), "sqrt"
    yield "counts, gamma mixture", X, rng.poisson(mean * rng.gamma(2, 0.5, size=rows)).astype(float), "log1p"


def by_fifths(run: dl.Run, y: np.ndarray, level: float) -> tuple[np.ndarray, float, float]:
    """Coverage by fifths of the prediction, the mean interval score and the mean squared error."""
    p, lower, upper = (part[WARM:] for part in (run.predictions, run.lower, run.upper))
    y = y[WARM:]
    inside = (lower <= y) & (y <= upper)
    order = np.argsort(p, kind="stable")
    missed = np.maximum(lower - y, 0) + np.maximum(y - upper, 0)
    score = upper - lower + 2 / (1 - level) * missed
    return np.array([inside[part].mean() for part in np.array_split(order, 5)]), score.mean(), np.square(y - p).mean()


def noises(rows: int, seed: int) -> Iterator[tuple[str, np.ndarray, np.ndarray, str]]:
    """Streams that are linear on the transformed scale, with noise of many kinds."""
    rng = np.random.default_rng(seed)
    X, t = rng.normal(size=(rows, 4)), np.arange(rows)
    linear = X @ [0.5, -0.3, 0.2, 0.1] + np.sin(t / 400)
    grows, normal = np.where(t < rows // 2, 0.2, 1.2), rng.normal(size=rows)
    for name, noise in (
        ("normal, 0.3", 0.3 * normal),
        ("normal, 1", normal),
        ("normal, 1.5", 1.5 * normal),
        ("normal, 0.2 to 1.2", grows * normal),
        ("normal, 1.2 to 0.2", grows[::-1] * normal),
        ("t of 3 degrees, 0.3", 0.3 * rng.standard_t(3, size=rows)),
        ("Laplace, 0.5", rng.laplace(scale=0.5, size=rows)),
        ("size by the row", 0.6 * np.exp(0.5 * X[:, 0]) * normal),
    ):
        yield name, X, np.exp(3 + linear + noise), "log"
    yield "gamma of shape 2", X, np.exp(linear) * rng.gamma(2, size=rows), "log"
    counts = rng.poisson(np.exp(1 + linear)).astype(float)
    yield "Poisson", X, counts, "sqrt"
    yield "Poisson", X, counts, "log1p"


def means(rows: int, seeds: int) -> None:
    """Prints how much the correction of the mean brings."""
    print(f"{'':28} squared error  too low: corrected  uncorrected")
    for place, (name, _, _, transformation) in enumerate(list(noises(10, 0))):
        ratios, low, lower = [], [], []
        for seed in range(seeds):
            _, X, y, _ = list(noises(rows, seed))[place]
            scale = Scale(transformation)
            plain = y - scale.inverse(dl.RLS().run(X, scale.forward(y)).predictions)
            mean = dl.Transformed(dl.RLS(), transformation).run(X, y).errors
            plain, mean, usual = plain[WARM:], mean[WARM:], y[WARM:].mean()
            ratios.append(np.square(mean).sum() / np.square(plain).sum())
            low.append(mean.mean() / usual)
            lower.append(plain.mean() / usual)
        print(f"{name:20} {transformation:7} {np.mean(ratios):13.2f} {np.mean(low):19.0%} {np.mean(lower):12.0%}")


def main() -> None:
    """Prints a line for each stream, or for each stream and learner."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--means", action="store_true")
    given = parser.parse_args()
    if given.means:
        means(given.rows, given.seeds)
        return
    names = [name for name, *_ in streams(10, 0)]
    print(f"{'':42} coverage by fifths of the prediction      score  squared error")
    for place, name in enumerate(names):
        found: dict[str, list[tuple[np.ndarray, float, float]]] = {}
        for seed in range(given.seeds):
            _, X, y, transformation = list(streams(given.rows, seed))[place]
            for learner in (dl.Auto(), dl.Auto(low=0), dl.Transformed(dl.Auto(), transformation)):
                made = by_fifths(learner.run(X, y, level=given.level), y, given.level)
                found.setdefault(repr(learner), []).append(made)
        plain = found["Auto()"]
        for learner_name, results in found.items():
            fifths = np.mean([result[0] for result in results], axis=0)
            ratios = [
                np.exp(np.mean([np.log(result[k] / base[k]) for result, base in zip(results, plain, strict=True)]))
                for k in (1, 2)
            ]
            words = " ".join(f"{share:6.3f}" for share in fifths)
            print(f"{name:26} {learner_name:30} {words} {ratios[0]:10.3f} {ratios[1]:10.3f}")


if __name__ == "__main__":
    main()
