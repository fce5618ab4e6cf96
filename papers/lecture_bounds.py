"""``lecture-bounds``: Widrow-Hoff's bound, and the risk of its averaged weights."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline import LMS
from driftline.evaluate import Table, plots
from driftline.regret import lms
from papers.pictures import NEUTRAL, band, panels
from papers.repeats import generator, half_width
from papers.target import Check, Context, Findings

D = 10
NOISE = 0.1  # variance of the labels' noise
RATES = (0.01, 0.03, 0.1, 0.3, 0.9)
STREAMS = ("fixed target", "turning target", "random labels")
TURN = 0.01  # radians a row


def sample(rng: np.random.Generator, rows: int, stream: str = "fixed target") -> tuple[NDArray[Any], NDArray[Any]]:
    """Inputs uniform on the unit sphere, and labels from a noisy unit vector, from one that turns, or from a coin."""
    X = rng.normal(size=(rows, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    if stream == "random labels":
        return X, rng.choice([-1.0, 1.0], size=rows)
    angle = (np.arange(rows) if stream == "turning target" else np.zeros(rows)) * TURN
    y = np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1]
    return X, y + rng.normal(scale=math.sqrt(NOISE), size=rows)


def risk(w: NDArray[Any]) -> float:
    """Expected squared error on a fresh row of the fixed target; the inputs' covariance is I / d."""
    off = w.copy()
    off[0] -= 1
    return NOISE + float(off @ off) / D


def risk_bound(rate: float, m: int) -> float:
    """The least R(u) / (1 - rate) + |u|^2 / (rate m), in closed form: u is the target times a / (a + b)."""
    a, b = 1 / (D * (1 - rate)), 1 / (rate * m)
    return NOISE / (1 - rate) + a * b / (a + b)


def by_rate(job: tuple[int, int, int]) -> list[tuple[float, float]]:
    """Loss and bound of each stream and rate in one repetition."""
    seed, repetition, rows = job
    found = []
    for number, stream in enumerate(STREAMS):
        X, y = sample(generator((seed,), 0, repetition, number), rows, stream)
        for rate in RATES:
            bound = lms(LMS(rate=rate, intercept=False), X, y, norm=1.0)
            assert bound.observed is not None
            assert bound.applies
            found.append((bound.observed, bound.value))
    return found


def by_size(job: tuple[int, int, tuple[int, ...]]) -> list[tuple[float, float, float, float, float]]:
    """At the rate m^-1/2 for each m: loss, bound, the best u's loss, risk of the mean weights, mean risk of the weights."""
    seed, repetition, sizes = job
    found = []
    for number, m in enumerate(sizes):
        X, y = sample(generator((seed,), 1, repetition, number), m)
        learner = LMS(rate=m**-0.5, intercept=False)
        run = learner.run(X, y, weights_every=1)
        assert run.weights is not None
        used = np.vstack([np.zeros(D), run.weights[:-1]])  # the weights that predicted
        bound = lms(learner, X, y, norm=1.0)
        best = np.linalg.lstsq(X, y, rcond=None)[0]
        best_loss = float(np.sum(np.square(y - X @ best)))
        mean_risk = NOISE + float(np.mean(np.sum(np.square(used - np.eye(D)[0]), axis=1))) / D
        found.append((float(run.losses.sum()), bound.value, best_loss, risk(used.mean(axis=0)), mean_risk))
    return found


def compute(context: Context) -> Findings:
    """Evaluates both theorems, over repetitions."""
    repeats, rows = context.pick(100, 5), context.pick(5000, 300)
    sizes = context.pick((30, 100, 300, 1000, 3000, 10_000), (30, 100, 300))
    rates = np.array(context.map(by_rate, [(context.seed, i, rows) for i in range(repeats)], "repetitions"))
    grown = np.array(context.map(by_size, [(context.seed, i, sizes) for i in range(repeats)], "repetitions"))
    return judge(rates, grown, rows, sizes)


def judge(rates: NDArray[Any], grown: NDArray[Any], rows: int, sizes: tuple[int, ...]) -> Findings:
    """Findings from losses and bounds: ``rates`` (repetition, stream and rate, 2), ``grown`` (repetition, size, 5)."""
    records: list[list[Any]] = []
    pairs = [(stream, rate) for stream in STREAMS for rate in RATES]
    per_row = rates / rows
    for (stream, rate), observed, bound in zip(pairs, per_row[:, :, 0].T, per_row[:, :, 1].T, strict=True):
        records.append(["loss a row", stream, rate, rows, *_mean(observed), bound.mean(), (observed / bound).max()])
    for i, m in enumerate(sizes):
        loss, bound, best, mean_risk = (grown[:, i, k] / (1 if k == 3 else m) for k in (0, 1, 2, 3))
        rate = m**-0.5
        records.append(["loss a row, rate T^-1/2", STREAMS[0], rate, m, *_mean(loss), bound.mean(), (loss / bound).max()])
        records.append(["loss a row over the best u's", STREAMS[0], rate, m, *_mean(loss - best), math.nan, math.nan])
        limit = risk_bound(rate, m)
        records.append(
            ["risk of the mean weights", STREAMS[0], rate, m, *_mean(mean_risk), limit, (mean_risk / limit).max()]
        )
    columns = ["what", "stream", "rate", "rows", "mean", "low", "high", "bound", "largest ratio in a repetition"]
    numbers = Table(columns, records)
    excess = ((grown[:, :, 0] - grown[:, :, 2]) / np.array(sizes)).mean(axis=0)
    means = grown[:, :, 3].mean(axis=0)
    limits = np.array([risk_bound(m**-0.5, m) for m in sizes])
    ratios = np.concatenate([(rates[:, :, 0] / rates[:, :, 1]).ravel(), (grown[:, :, 0] / grown[:, :, 1]).ravel()])
    jensen = grown[:, :, 3] / grown[:, :, 4]
    checks = [
        Check(
            "Theorem 1: the loss never exceeds the bound",
            bool((ratios <= 1).all()),
            f"largest loss/bound {ratios.max():.3f} in {ratios.size:,} runs",
        ),
        Check(
            "the rate of loss approaches that of the best u as T grows and the rate falls",
            bool((np.diff(excess) < 0).all() and excess[-1] < excess[0] / 2),
            f"excess a row {excess[0]:.4f} at T = {sizes[0]:,}, {excess[-1]:.4f} at T = {sizes[-1]:,}",
        ),
        Check(
            "Theorem 2: the expected risk of the mean weights is at most the bound",
            bool((means <= limits).all()),
            f"largest mean risk/bound {(means / limits).max():.3f}",
        ),
        Check(
            "its first step: the mean weights have no more risk than the weights have on average",
            bool((jensen <= 1 + 1e-12).all()),
            f"largest ratio {jensen.max():.3f} in {jensen.size:,} samples",
        ),
    ]
    shown = [[*r[:5], r[7], r[8]] for r in records if r[7] == r[7]]
    caption = "Means over repetitions; risks are of the mean weights after m = T rows at the rate m^-1/2."
    summary = Table(["what", "stream", "rate", "rows", "mean", "bound", "largest ratio"], shown, caption)
    return Findings(numbers, checks, lambda: draw(records), [summary])


def _mean(values: NDArray[Any]) -> tuple[float, float, float]:
    mean, wide = float(values.mean()), float(half_width(values))
    return mean, mean - wide, mean + wide


def draw(records: list[list[Any]]) -> Any:
    """Draws losses and bounds by rate and by rows, and risks by sample size."""
    figure, (left, middle, right) = panels(3)
    for colour, stream in zip(plots.COLOURS, STREAMS, strict=False):
        own = [r for r in records if r[0] == "loss a row" and r[1] == stream]
        left.plot([r[2] for r in own], [r[4] for r in own], "o-", color=colour, label=stream, markersize=4)
        left.plot([r[2] for r in own], [r[7] for r in own], "--", color=colour)
    left.plot([], [], "--", color=NEUTRAL, label="bound of Theorem 1")
    left.set(xlabel="rate", ylabel="squared error a row", title="Theorem 1, by the rate", xscale="log", yscale="log")
    for ax, what, title in (
        (middle, "loss a row, rate T^-1/2", "Theorem 1, by the rows"),
        (right, "risk of the mean weights", "Theorem 2, by the sample"),
    ):
        own = [r for r in records if r[0] == what]
        x, mean, low, high, bound = (np.array([r[k] for r in own]) for k in (3, 4, 5, 6, 7))
        label = f"{what.split(',')[0]}, 95 % band"
        band(ax, x, mean, low, high, color=plots.COLOURS[0], marker="o", markersize=4, label=label)
        ax.plot(x, bound, "--", color=plots.COLOURS[0], label="bound")
        ax.axhline(NOISE, color=NEUTRAL, linestyle=":", label="noise")
        ax.set(xlabel="rows, T" if ax is middle else "sample size, m", ylabel="squared error", title=title)
        ax.set(xscale="log")
    for ax in (left, middle, right):
        ax.legend(frameon=False, fontsize=8)
    return figure


TEXT = {"d": D, "noise": NOISE, "turn": TURN, "least_rate": min(RATES), "largest_rate": max(RATES)}
