"""The second-order recursion, in whatever precision mpmath is set to: see precise.py."""

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
from mpmath import fdot, mpf

from .outcome import Matrix, Precise, Vector


def second_order(
    rows: Sequence[Vector],
    labels: Vector,
    *,
    start: mpf,
    divide: Any = 1,
    add: mpf = 0,
    noise: Any = 1,
    shrink: bool = False,
    clip: mpf | None = None,
    every: mpf = mpmath.inf,
    below: Callable[[int], mpf] | None = None,
    radius: mpf = mpmath.inf,
) -> Precise:
    """The recursion of all second-order learners.

    Time divides S by divide (a number, or a function of the row's number, from 1) and adds
    add I. Noise is rho, or "complement" for 1 - s. S returns to I every so many rows, and
    when its smallest eigenvalue falls below(i) for the i-th time. There is no projection:
    weights beyond the radius are an error.
    """
    d = len(rows[0])
    S = identity(d, start)
    w = [mpf(0)] * d
    predictions: Vector = []
    resets: list[int] = []
    for t, (x, label) in enumerate(zip(rows, labels, strict=True), start=1):
        factor = divide(t) if callable(divide) else divide
        for i in range(d):
            S[i] = [value / factor for value in S[i]]
            S[i][i] += add
        k = [fdot(row, x) for row in S]
        s, f = fdot(x, k), fdot(w, x)
        prediction = f / (1 + s) if shrink else f
        if clip is not None:
            prediction = min(max(prediction, -clip), clip)
        predictions.append(prediction)
        rho = 1 - s if isinstance(noise, str) else noise
        if rho <= 0:
            raise ValueError(f"precise: x.S.x must be below 1, got {s} at row {t - 1}")
        w = [w_i + k_i * (label - f) / (rho + s) for w_i, k_i in zip(w, k, strict=True)]
        if fdot(w, w) > radius**2:
            raise ValueError(f"precise: the weights left the ball at row {t - 1}")
        for i in range(d):
            S[i] = [S[i][j] - k[i] * k[j] / (rho + s) for j in range(d)]
        if t % every == 0 or (below is not None and smaller(S, below(len(resets) + 1))):
            S = identity(d, mpf(1))
            resets.append(t - 1)
    return Precise(predictions, w, S, resets)


def identity(d: int, scale: mpf) -> Matrix:
    """Scale times I."""
    return [[scale if i == j else mpf(0) for j in range(d)] for i in range(d)]


def smaller(S: Matrix, bound: mpf) -> bool:
    """Whether lambda_min(S) < bound: elimination on S - bound I meets a negative pivot."""
    d = len(S)
    A = [[S[i][j] - (bound if i == j else 0) for j in range(d)] for i in range(d)]
    for p in range(d):
        pivot, column = A[p][p], [A[i][p] for i in range(p + 1, d)]
        if pivot < 0 or (pivot == 0 and any(column)):
            return True
        if pivot > 0:
            for i in range(p + 1, d):
                for j in range(p + 1, d):
                    A[i][j] -= A[i][p] * A[p][j] / pivot
    return False
