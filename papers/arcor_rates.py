"""``arcor-rates``: the rate of ARCOR's regret that follows Corollary 2, and the remark on thresholds of 2^-i."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline import ARCOR
from driftline.evaluate import Table, plots
from driftline.regret import path_length
from papers.pictures import NEUTRAL, panels
from papers.target import Check, Context, Findings

POWERS = (1.5, 2.0, 4.0)  # p: the path length over T rows is of the order T^(1/p)
NOISE = 0.1  # deviation of the labels' noise
D = 4
TOLERANCE = 0.03  # of an exponent
LENGTHS = 10.0 ** np.arange(3, 61, 1.0)  # T, for the order of the bound


def order(T: Any, p: float) -> Any:
    """T^((p + 1) / 2p) log T."""
    return T ** ((p + 1) / (2 * p)) * np.log(T)


def bound(T: float, p: float, d: int = D, noise: float = 1.0) -> float:
    """Corollary 2 without the loss of u, with the constant for which it holds, for V' = T^(1/p); all else is 1."""
    q, path = 2 * p / (p + 1), T ** (1 / p)
    n = 1 + (q * T / noise) ** (1 / q)
    moved = 1.5 * math.sqrt(3) * path + 0.75 * min(1.0, 2 * path)
    return float(4 * d * n * np.log1p(T / (n * noise * d)) + noise + noise * (n ** (q - 1) + 1) * moved)


def sample(rng: np.random.Generator, T: int, p: float) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Unit inputs, noisy labels, and a unit vector that turns by t^(1/p - 1) / p at row t, T^(1/p) in all."""
    angle = np.cumsum(np.arange(1.0, T + 1) ** (1 / p - 1) / p)
    u = np.zeros((T, D))
    u[:, 0], u[:, 1] = np.cos(angle), np.sin(angle)
    X = rng.normal(size=(T, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.einsum("td,td->t", X, u) + NOISE * rng.normal(size=T), u


def regrets(job: tuple[int, int, float, tuple[int, ...]]) -> list[tuple[float, float]]:
    """The regret of ARCOR.for_drift(p) and the path length, for each number of rows of one repetition."""
    seed, repetition, p, sizes = job
    found = []
    for T in sizes:
        X, y, u = sample(np.random.default_rng([seed, repetition, T]), T, p)
        run = ARCOR.for_drift(p, noise=1.0, radius=1.0, intercept=False).run(X, y)
        other = float(np.sum(np.square(y - np.einsum("td,td->t", X, u))))
        found.append((float(run.losses.sum()) - other, path_length(u)))
    return found


def halving(job: tuple[int, int, int]) -> tuple[int, int, float, float, float]:
    """Resets at 2^-i and at 1/(i + 1), the last interval's share of the rows so far, and both smallest eigenvalues."""
    seed, repetition, T = job
    X, y, _ = sample(np.random.default_rng([seed, repetition, T, 1]), T, 2.0)
    half, power = (ARCOR(noise=1.0, radius=1.0, schedule=s, intercept=False) for s in (list(0.5 ** np.arange(1, 60)), 2.0))
    ends, others = half.run(X, y).resets + 1, power.run(X, y).resets
    smallest = [0.5 ** (len(ends) + 1), 1 / (len(others) + 2)]  # the thresholds of the last intervals
    return len(ends), len(others), float((ends[-1] - ends[-2]) / ends[-1]), smallest[0], smallest[1]


def compute(context: Context) -> Findings:
    """Measures regrets over repetitions and lengths."""
    repeats = context.pick(20, 3)
    sizes = context.pick((1000, 3000, 10_000, 30_000, 100_000, 300_000), (300, 1000, 3000))
    jobs = [(context.seed, i, p, sizes) for p in POWERS for i in range(repeats)]
    measured = np.array(context.map(regrets, jobs, "repetitions")).reshape(len(POWERS), repeats, len(sizes), 2)
    halves = context.map(halving, [(context.seed, i, sizes[-1]) for i in range(repeats)], "thresholds")
    return judge(measured, np.array(halves), np.array(sizes, dtype=float))


def judge(measured: NDArray[Any], halves: NDArray[Any], sizes: NDArray[Any]) -> Findings:
    """Findings from regrets and path lengths, (p, repetition, size, 2), and from the thresholds, (repetition, 5)."""
    means = measured.mean(axis=1)
    records: list[list[Any]] = []
    slopes, paths, bounds = [], [], []
    for i, p in enumerate(POWERS):
        slopes.append(slope(sizes, means[i, :, 0] / np.log(sizes)))
        paths.append(slope(sizes, means[i, :, 1]))
        ratios = np.array([bound(T, p) / order(T, p) for T in LENGTHS])
        bounds.append((float(ratios.max()), float(ratios[-1] / ratios[-2])))
        for T, (loss, path) in zip(sizes, means[i], strict=True):
            records.append([p, T, loss, path, float(order(T, p)), bound(T, p)])
    exponents = [(p + 1) / (2 * p) for p in POWERS]
    listed = ", ".join(f"{s:.2f} of {e:.2f} at p = {p:g}" for s, e, p in zip(slopes, exponents, POWERS, strict=True))
    few, many, share, small, large = halves.mean(axis=0)
    checks = [
        Check(
            "for a path length of the order T^(1/p), the regret with q = 2p/(p + 1) is O(T^((p+1)/2p) log T)",
            all(s <= e + TOLERANCE for s, e in zip(slopes, exponents, strict=True)),
            f"exponents of the mean regret over log T: {listed}; of the path length " + ", ".join(f"{v:.2f}" for v in paths),
        ),
        Check(
            "the bound of Corollary 2, with the constant for which it holds, has that order",
            max(last for _, last in bounds) < 1.005,
            f"bound/order is at most {max(most for most, _ in bounds):.1f} up to T = {LENGTHS[-1]:.0e}, where a tenfold T "
            f"changes it by a factor of at most {max(last for _, last in bounds):.4f}",
        ),
        Check(
            "the regret a row vanishes for p > 1",
            bool((np.diff(means[:, :, 0] / sizes, axis=1) < 0).all()),
            f"at T = {sizes[-1]:,.0f}: " + ", ".join(f"{v:.2g}" for v in means[:, -1, 0] / sizes[-1]),
        ),
        Check(
            "thresholds 2^-i restart very rarely, and lead to very small eigenvalues",
            bool((halves[:, 0] < halves[:, 1] / 4).all() and (halves[:, 3] < halves[:, 4] / 4).all()),
            f"{few:.1f} restarts, and {many:.1f} for 1/(i + 1), in {sizes[-1]:,.0f} rows; last thresholds {small:.1e} and "
            f"{large:.1e}",
        ),
        Check(
            "with thresholds 2^-i, the last segment is about half of the sequence",
            bool((abs(halves[:, 2] - 0.5) < 0.05).all()),
            f"the last interval that ended has {100 * share:.1f} % of the rows until then",
        ),
    ]
    columns = ["p", "T", "regret", "V'", "T^((p+1)/2p) log T", "bound"]
    return Findings(
        numbers=Table(columns, records),
        checks=checks,
        draw=lambda: draw(records),
        summary=[Table(columns, records, "Means over repetitions.")],
        remarks=["Corollary 2 as printed is false, but its constant does not affect the order."],
    )


def slope(sizes: NDArray[Any], values: NDArray[Any]) -> float:
    """The exponent of the power law that fits best in logarithms, over the upper half of the sizes."""
    upper = slice(len(sizes) // 2 - 1, None)
    return float(np.polyfit(np.log(sizes[upper]), np.log(values[upper]), 1)[0])


def draw(records: list[list[Any]]) -> Any:
    """Draws regrets, orders and bounds by the number of rows, for each p."""
    figure, axes = panels(len(POWERS))
    for ax, p, colour in zip(axes, POWERS, plots.COLOURS, strict=False):
        T, found, _, expected, allowed = (np.array([r[k] for r in records if r[0] == p]) for k in (1, 2, 3, 4, 5))
        ax.plot(T, found, "o-", color=colour, markersize=4, label="regret")
        ax.plot(T, allowed, "--", color=colour, label="bound of Corollary 2")
        ax.plot(T, expected * found[-1] / expected[-1], ":", color=NEUTRAL, label="order, scaled")
        ax.set(xscale="log", yscale="log", xlabel="rows, T", ylabel="regret", title=f"V' = T^(1/{p:g})")
        ax.legend(frameon=False, fontsize=8)
    return figure


TEXT = {"d": D, "noise": NOISE}
