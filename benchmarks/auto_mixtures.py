"""Compares rules for mixing the predictions of experts on generated streams.

``python -m benchmarks.auto_mixtures``: the experts are learners of the library. Inputs are scaled by the first 64 rows, and
losses count from row 64 on; the ratio is to the best expert in hindsight. Auto has more experts, and predicts from the first
row. Streams on which the best expert is exact up to rounding are left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import driftline as dl
from benchmarks import auto_streams
from benchmarks.data import Array
from benchmarks.hindsight import with_lags
from benchmarks.report import Table

WARM = 64
Mixed = Array  # predictions, (rows,)


def experts(X: Array, y: Array) -> Array:
    """(rows, experts): random walks and memories on raw and standardised features, with and without two labels."""
    columns = []
    centre, spread = X[:WARM].mean(axis=0), X[:WARM].std(axis=0)
    raw = X / (np.sqrt(np.mean(X[:WARM] ** 2)) or 1.0)
    standard = (X - centre) / np.where(spread > 0, spread, 1.0)
    origin, size = y[:WARM].mean(), y[:WARM].std() or 1.0
    past = with_lags(standard, (y - origin) / size)
    for table in (raw, standard, past):
        learners: list[dl.Learner] = [dl.Kalman(drift=drift, ridge=1.0) for drift in (1e-6, 1e-4, 1e-2, 1.0)]
        learners += [dl.RLS(forgetting=1 - 1 / memory, ridge=1e-3) for memory in (16, 64, 256)]
        columns += [origin + learner.run(table, y - origin).predictions for learner in learners]
    return np.column_stack([*columns, np.concatenate([[0.0], y[:-1]])])


def likelihood(f: Array, y: Array, keep: float) -> Mixed:
    """Weights L^(-n/2) from losses discounted by ``keep``."""
    losses, rows, mixed = np.zeros(f.shape[1]), 0.0, np.empty(len(y))
    for t, label in enumerate(y):
        logs = -0.5 * rows * np.log(losses + 1e-9 * losses.mean() + 1e-300)
        weights = np.exp(logs - logs.max())
        mixed[t] = f[t] @ weights / weights.sum()
        losses, rows = keep * losses + (label - f[t]) ** 2, keep * rows + 1
    return mixed


def fixed_share(f: Array, y: Array, share: float) -> Mixed:
    """Exponential weights at the scale of the noise; in every row, a share of them is distributed equally."""
    weights, noise, mixed = np.full(f.shape[1], 1 / f.shape[1]), 0.0, np.empty(len(y))
    for t, label in enumerate(y):
        mixed[t] = f[t] @ weights
        squares = (label - f[t]) ** 2
        noise += (float(squares @ weights) - noise) / (t + 1)
        weights = weights * np.exp(-0.5 * np.minimum((squares - squares.min()) / (noise or 1.0), 500.0))
        weights = (1 - share) * weights / weights.sum() + share / len(weights)
    return mixed


def polynomial(f: Array, y: Array) -> Mixed:
    """ML-Poly: weights in proportion to the positive part of the regret, each at its own rate."""
    regret, rate, mixed = np.zeros(f.shape[1]), np.zeros(f.shape[1]), np.empty(len(y))
    for t, label in enumerate(y):
        weights = np.maximum(regret, 0.0) / (1 + rate)
        weights = weights / weights.sum() if weights.sum() > 0 else np.full(f.shape[1], 1 / f.shape[1])
        mixed[t] = f[t] @ weights
        gain = 2 * (mixed[t] - label) * (mixed[t] - f[t])
        regret, rate = regret + gain, rate + gain**2
    return mixed


def linear(f: Array, y: Array) -> Mixed:
    """AAR on the predictions themselves."""
    return dl.AAR(ridge=1.0, intercept=False).run(f / y[:WARM].std(), y).predictions


def corrected(f: Array, y: Array, base: Mixed) -> Mixed:
    """``base`` plus AAR's prediction of its residual, from the experts' deviations from it."""
    away, error = f - base[:, None], y - base
    noise, rows, sizes = 0.0, 0.0, np.empty(len(y))
    for t, row in enumerate(away):
        sizes[t] = np.sqrt((noise / rows if rows else 0.0) + np.mean(row**2)) or 1.0
        noise, rows = 0.98 * noise + error[t] ** 2, 0.98 * rows + 1
    learner = dl.AAR(ridge=5.0, intercept=False)
    return base + sizes * learner.run(away / sizes[:, None], error / sizes).predictions


def rules() -> dict[str, Callable[[Array, Array], Mixed]]:
    keeps = (0.9, 0.98, 0.9998)

    def layers(f: Array, y: Array, on_top: bool) -> Mixed:
        first = [likelihood(f, y, keep) for keep in keeps]
        if on_top:
            first.append(corrected(f, y, first[1]))
        second = np.column_stack([likelihood(np.column_stack(first), y, keep) for keep in keeps])
        return likelihood(second, y, 0.998)

    return {
        **{f"likelihood, forgetting {keep:g}": lambda f, y, keep=keep: likelihood(f, y, keep) for keep in keeps},
        "exponential weights, fixed share 0.01": lambda f, y: fixed_share(f, y, 0.01),
        "ML-Poly": polynomial,
        "AAR on the predictions": linear,
        "likelihood 0.98, then AAR on the deviations": lambda f, y: corrected(f, y, likelihood(f, y, 0.98)),
        "three likelihoods, mixed": lambda f, y: layers(f, y, on_top=False),
        "three likelihoods and AAR on the deviations, mixed": lambda f, y: layers(f, y, on_top=True),
    }


def main() -> None:
    ratios: dict[str, list[float]] = {name: [] for name in rules()}
    for _, (X, y) in auto_streams.generated(auto_streams.DEVELOPMENT):
        f, labels = experts(X[:5000], y[:5000])[WARM:], y[WARM:5000]
        least = np.sum((f - labels[:, None]) ** 2, axis=0).min()
        if least < 1e-9 * len(labels) * labels.var():
            continue
        for name, rule in rules().items():
            ratios[name].append(float(np.sum((rule(f, labels) - labels) ** 2) / least))
    rows = [(name, *np.quantile(values, (0.5, 0.9, 1.0)).tolist()) for name, values in ratios.items()]
    print(Table("Loss / the best expert in hindsight", ("rule", "median", "90 %", "worst"), rows).text())


if __name__ == "__main__":
    main()
