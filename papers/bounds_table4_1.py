"""``bounds-table4-1``: the thesis's regret bounds for a fixed target, evaluated on streams that favour different bounds."""

import math
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline import AAR, AROWR, WEMM, Learner
from driftline.evaluate import Table, plots
from driftline.regret import best_fixed, table_4_1
from papers.pictures import legend_below, panels
from papers.repeats import generator
from papers.target import Check, Context, Findings

D, RIDGE = 10, 2.0
LINEAR, NEARLY, SMALL = "linear", "nearly linear, large labels", "small labels that are noise"
STREAMS = (LINEAR, NEARLY, SMALL)
AAR_ROW, AROWR_ROW, ORABONA, FIVE, SIX = (
    "Vovk, Forster: AAR",
    "Crammer et al.: AROWR",
    "Orabona et al.",
    "Theorem 5: WEMM",
    "Theorem 6: WEMM",
)
ROWS = (AAR_ROW, AROWR_ROW, ORABONA, FIVE, SIX)


def sample(rng: np.random.Generator, rows: int, stream: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Inputs on the unit sphere, labels, and the target if it is the comparator."""
    X = rng.normal(size=(rows, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    if stream == SMALL:
        return X, rng.uniform(-1.0, 1.0, size=rows), None
    w = rng.normal(size=D)
    w *= 10 / np.linalg.norm(w)
    X[0] = w / 10  # the largest label comes first: Y is the same for any number of rows
    noise = 0.0 if stream == LINEAR else rng.uniform(-0.5, 0.5, size=rows)
    return X, X @ w + noise, w


def bounds(job: tuple[int, int, int, str]) -> tuple[list[float], list[float], list[float]]:
    """The table's rows, the regrets of AAR, AROWR and WEMM, and T, S and A, on one stream."""
    seed, repetition, rows, stream = job
    X, y, w = sample(generator((seed,), repetition, rows, STREAMS.index(stream)), rows, stream)
    u = best_fixed(X, y, RIDGE).weights if w is None else w
    losses = np.zeros(rows) if stream == LINEAR else np.square(y - X @ u)
    labels = X @ u if stream == LINEAR else y  # the same rounding on both sides, so that S is 0, not 1e-31
    table = table_4_1(X, labels, u, ridge=RIDGE)
    learners: tuple[Learner, ...] = (
        AAR(ridge=RIDGE, intercept=False),
        AROWR(ridge=RIDGE, intercept=False),
        WEMM(ridge=RIDGE, intercept=False),
    )
    runs = [learner.run(X, labels).losses for learner in learners]
    regrets = [float(each.sum() - losses.sum()) for each in runs]
    return [table[name].value for name in ROWS], regrets, [float(losses.max()), float(runs[1].max())]


def compute(context: Context) -> Findings:
    """All streams and lengths, over repetitions."""
    lengths = context.pick((100, 300, 1000, 3000, 10_000, 30_000), (100, 1000))
    repeats = context.pick(50, 4)
    cases = list(product(STREAMS, lengths))
    jobs = [(context.seed, i, rows, stream) for stream, rows in cases for i in range(repeats)]
    done = context.map(bounds, jobs, "streams")
    shape = (len(STREAMS), len(lengths), repeats)
    values, regrets, sizes = (np.array([each[k] for each in done]).reshape(*shape, -1) for k in range(3))
    return judge(values, regrets, sizes, lengths)


def judge(values: NDArray[Any], regrets: NDArray[Any], sizes: NDArray[Any], lengths: tuple[int, ...]) -> Findings:
    """Statements from bounds (stream, length, repetition, row), regrets (the same for three learners) and S, A."""
    means = values.mean(axis=2)
    at = {name: number for number, name in enumerate(ROWS)}
    linear, nearly, small = (means[STREAMS.index(stream)] for stream in STREAMS)
    own = values[:, :, :, [at[AAR_ROW], at[AROWR_ROW], at[FIVE]]]
    sixth = values[:, :, :, at[SIX]]
    ratios = np.concatenate([(regrets / own).ravel(), (regrets[..., 2] / sixth).ravel()])
    growth = {name: linear[-1, at[name]] / linear[0, at[name]] for name in ROWS}
    below = values[..., at[FIVE]] < values[..., at[AROWR_ROW]]
    smaller = sizes[..., 0] < sizes[..., 1]
    logarithmic = [linear[:, at[name]] for name in (AAR_ROW, AROWR_ROW)]
    checks = [
        Check(
            "AAR, AROWR and WEMM keep their bounds",
            bool((ratios <= 1 + 1e-9).all()),
            f"largest regret/bound {ratios.max():.3f} in {ratios.size:,} cases",
        ),
        Check(
            "labels that are linear: Theorem 5 is O(1), the bounds of Vovk, Forster and Crammer et al. grow as log T",
            math.isclose(growth[FIVE], 1, rel_tol=1e-9) and all(_grows_as_log(column, lengths) for column in logarithmic),
            ", ".join(f"{name} grows {growth[name]:.2f} times" for name in (FIVE, AAR_ROW, AROWR_ROW)),
        ),
        Check(
            "nearly linear, Y large: Theorem 5 is better than the bound of Vovk and Forster",
            bool((nearly[:, at[FIVE]] < nearly[:, at[AAR_ROW]]).all()),
            f"{nearly[-1, at[FIVE]]:,.0f} against {nearly[-1, at[AAR_ROW]]:,.0f} at T = {lengths[-1]:,}",
        ),
        Check(
            "Y small: the bound of Vovk and Forster may be better",
            bool((small[:, at[AAR_ROW]] < small[:, at[FIVE]]).any()),
            f"{small[-1, at[AAR_ROW]]:,.1f} against {small[-1, at[FIVE]]:,.1f} at T = {lengths[-1]:,}",
        ),
        Check(
            "often S < A, and then Theorem 5 is better than the bound of Crammer et al.",
            bool(smaller.mean() > 0.5 and below[smaller].all()),
            f"S < A in {smaller.mean():.0%} of the streams; better in {below[smaller].mean():.0%} of these".replace(
                "%", " %"
            ),
        ),
        Check(
            "Theorem 6 has the factor S where Orabona et al. have (U + Y)^2: it is better where S is small",
            bool(
                (nearly[:, at[SIX]] < nearly[:, at[ORABONA]]).all() and (linear[:, at[SIX]] <= linear[:, at[ORABONA]]).all()
            ),
            f"nearly linear: {nearly[-1, at[SIX]]:,.0f} against {nearly[-1, at[ORABONA]]:,.0f} at T = {lengths[-1]:,}",
        ),
    ]
    records: list[list[Any]] = [
        [stream, rows, name, float(means[i, j, at[name]]), float(values[i, j, :, at[name]].std(ddof=1))]
        for (i, stream), (j, rows), name in product(enumerate(STREAMS), enumerate(lengths), ROWS)
    ]
    learners = ("AAR", "AROWR", "WEMM")
    regret_rows: list[list[Any]] = [
        [stream, rows, f"regret of {name}", float(regrets[i, j, :, k].mean()), float(regrets[i, j, :, k].std(ddof=1))]
        for (i, stream), (j, rows), (k, name) in product(enumerate(STREAMS), enumerate(lengths), enumerate(learners))
    ]
    worse = (sizes[..., 0] / sizes[..., 1])[smaller & ~below]  # S/A where Theorem 5 should be better but is not
    remarks = []
    if worse.size:
        remarks.append(
            f"Where S < A and Theorem 5 is not better, its factor b/(b - 1) = {RIDGE / (RIDGE - 1):g} outweighs the "
            f"difference: S/A is {worse.mean():.2f} there on average."
        )
    shown: list[list[Any]] = [
        [stream, *means[i, -1].tolist(), *regrets[i, -1].mean(axis=0).tolist()] for i, stream in enumerate(STREAMS)
    ]
    caption = f"Means at T = {lengths[-1]:,}: bounds on the regret, and the regrets themselves."
    summary = Table(["stream", *ROWS, *(f"regret of {name}" for name in learners)], shown, caption)
    numbers = Table(["stream", "rows", "what", "mean", "deviation"], records + regret_rows)
    return Findings(numbers, checks, lambda: draw(means, regrets.mean(axis=2), lengths), [summary], remarks)


def _grows_as_log(column: NDArray[Any], lengths: tuple[int, ...]) -> bool:
    """Whether a column rises by nearly the same amount for each factor of T, except the first."""
    slopes = np.diff(column) / np.diff(np.log(lengths))
    late = slopes[len(slopes) // 2 :]
    return bool((slopes > 0).all() and late.max() < 1.35 * late.min())


def draw(means: NDArray[Any], regrets: NDArray[Any], lengths: tuple[int, ...]) -> Any:
    """Draws bounds and regrets against T, one panel per stream."""
    from matplotlib.ticker import NullFormatter

    figure, axes = panels(len(STREAMS), width=4.6, height=4.2)
    for i, (ax, stream) in enumerate(zip(axes, STREAMS, strict=True)):
        for k, name in enumerate(ROWS):
            line = {"linestyle": "--", "zorder": 3} if name in (AROWR_ROW, SIX) else {}
            ax.plot(lengths, means[i, :, k], marker="o", markersize=4, label=name, **(plots.style(k) | line))
        for k, (name, row) in enumerate((("AAR", 0), ("AROWR", 1), ("WEMM", 3))):
            ax.plot(lengths, regrets[i, :, k], ":", color=plots.style(row)["color"], label=f"regret of {name}", linewidth=2)
        ax.set(title=stream[0].upper() + stream[1:], xlabel="rows, T", ylabel="regret and bounds on it")
        ax.set(xscale="log", yscale="log", ylim=(1, 1000) if stream == SMALL else (100, 10_000))
        ax.yaxis.set_minor_formatter(NullFormatter())
    legend_below(figure, axes[0], columns=4)
    return figure


TEXT = {"d": D, "ridge": RIDGE}
