"""``dfop-coverage``: how often DFOP's distance from the true weights exceeds the bound of Theorem 1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline import DFOP
from driftline.evaluate import Table, plots
from driftline.regret import dfop_theorem_1
from papers.pictures import NEUTRAL, panels
from papers.target import Check, Context, Findings

D, ROWS, PRIOR = 5, 400, 10.0
RATES = (0.003, 0.01, 0.03, 0.1, 0.3)
STREAMS = {"small drift": (0.003, 0.3), "large drift": (0.1, 0.3), "no drift": (0.0, 0.3)}  # steps, deviation of the noise
DELTAS = (0.01, 0.05, 0.5, 0.9)


def ratios(job: tuple[int, int, str]) -> list[list[float]]:
    """Distance divided by bound, for each rate and delta, and the distance for each rate, of one stream."""
    seed, repetition, name = job
    step, noise = STREAMS[name]
    rng = np.random.default_rng([seed, repetition, sorted(STREAMS).index(name)])
    X = rng.normal(size=(ROWS, D))
    steps = rng.normal(size=(ROWS, D))
    steps *= step / np.linalg.norm(steps, axis=1, keepdims=True)  # martingale differences of norm step
    weights = rng.normal(size=D) + np.cumsum(steps, axis=0)
    y = np.einsum("td,td->t", X, weights) + noise * rng.choice([-1.0, 1.0], size=ROWS)  # sub-Gaussian with proxy noise^2
    found = []
    for rate in RATES:
        learner = DFOP(forget_rate=rate, prior=PRIOR, intercept=False)
        each = [dfop_theorem_1(learner, X, y, weights, delta=delta, noise=noise, drift=step) for delta in DELTAS]
        assert all(one.applies and one.observed is not None for one in each)
        found.append([*(one.ratio or 0.0 for one in each), each[0].observed or 0.0])
    return found


def compute(context: Context) -> Findings:
    """Measures distances over many streams."""
    repeats = context.pick(500, 20)
    jobs = [(context.seed, i, name) for name in STREAMS for i in range(repeats)]
    found = np.array(context.map(ratios, jobs, "streams"))
    return judge(found.reshape(len(STREAMS), repeats, len(RATES), len(DELTAS) + 1))


def judge(found: NDArray[Any]) -> Findings:
    """Findings from ratios and distances, (stream, repetition, rate, delta and distance)."""
    records: list[list[Any]] = []
    for i, name in enumerate(STREAMS):
        for j, rate in enumerate(RATES):
            for k, delta in enumerate(DELTAS):
                own = found[i, :, j, k]
                failed = float((own > 1).mean())
                records.append(
                    [name, rate, delta, failed, float(own.max()), float(np.median(own)), found[i, :, j, -1].mean()]
                )
    share = max(r[3] - r[2] for r in records)
    failures = sum(r[3] > 0 for r in records)
    distance = found[..., -1].mean(axis=1)
    best = [RATES[int(row.argmin())] for row in distance]
    checks = [
        Check(
            "Theorem 1: the distance is within the bound with probability at least 1 - delta",
            share <= 0,
            f"exceeded in {failures} of {len(records)} settings of {found.shape[1]} streams; largest distance/bound "
            f"{max(r[4] for r in records):.3f}",
        ),
        Check(
            "Remark 1: the noise asks for a small rate, the drift for a large one",
            best[list(STREAMS).index("large drift")]
            > best[list(STREAMS).index("small drift")]
            > best[list(STREAMS).index("no drift")] - 1e-12,
            ", ".join(f"best rate {rate:g} with {name}" for rate, name in zip(best, STREAMS, strict=True)),
        ),
    ]
    columns = ["stream", "rate", "delta", "share above the bound", "largest ratio", "median ratio", "mean distance"]
    return Findings(
        numbers=Table(columns, records),
        checks=checks,
        draw=lambda: draw(records),
        summary=[Table(columns, [r for r in records if r[2] in (0.05, 0.9)], "Ratios are distance / bound.")],
        remarks=[
            "The bound holds by a wide margin: it adds up the worst cases of K, of the union over rows, and of each term."
        ],
    )


def draw(records: list[list[Any]]) -> Any:
    """Draws the largest and the median ratio, and the mean distance, by the rate."""
    figure, (left, right) = panels(2)
    for colour, name in zip(plots.COLOURS, STREAMS, strict=False):
        own = [r for r in records if r[0] == name and r[2] == 0.05]
        left.plot([r[1] for r in own], [r[4] for r in own], "o-", color=colour, label=f"{name}, largest", markersize=4)
        left.plot([r[1] for r in own], [r[5] for r in own], "--", color=colour, label=f"{name}, median")
        right.plot([r[1] for r in own], [r[6] for r in own], "o-", color=colour, label=name, markersize=4)
    left.axhline(1, color=NEUTRAL, linestyle=":")
    left.set(xscale="log", yscale="log", xlabel="forget rate", ylabel="distance / bound", title="Theorem 1, delta = 0.05")
    right.set(
        xscale="log", yscale="log", xlabel="forget rate", ylabel="mean distance", title="Distance from the true weights"
    )
    for ax in (left, right):
        ax.legend(frameon=False, fontsize=8)
    return figure


TEXT = {"d": D, "rows": ROWS, "prior": PRIOR, "least_rate": min(RATES), "largest_rate": max(RATES)}
