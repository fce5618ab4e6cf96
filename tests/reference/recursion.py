"""The recursion of all second-order learners, in whatever precision mpmath is set to."""

from collections.abc import Sequence
from typing import Any

import mpmath
from mpmath import fdot, mpf

from . import at
from .traces import Matrix, Precise, Vector


def second_order(
    rows: Sequence[Vector],
    labels: Vector,
    *,
    start: mpf = 1,
    divide: Any = 1,
    keep_prior: bool = False,
    add: mpf = 0,
    noise: Any = 1,
    least_noise: mpf = 0,
    shrink: bool = False,
    clip: mpf | None = None,
    every: mpf | None = None,
    below: Any = None,
    radius: mpf | None = None,
) -> Precise:
    """Predicts and learns row by row.

    Args:
        rows: T rows of d numbers.
        labels: T numbers.
        start: S starts at start I.
        divide: divisor of S before each row; a number, or a schedule over the rows.
        keep_prior: restore the share of I / start in S^-1, see ``restored``, by rows of one feature with label 0.
        add: add I is added to S before a row.
        noise: rho, or "complement" for 1 - s.
        least_noise: of the complement.
        shrink: predict f / (1 + s), or f / (rho + s) if there is a least noise.
        clip: bound on the absolute prediction.
        every: number of rows after which S returns to I.
        below: S returns to I when its smallest eigenvalue falls below the threshold of this schedule: see ``threshold``.
        radius: radius of the ball on which the weights are projected.
    """
    d = len(rows[0])
    S = identity(d, mpf(start))
    w = [mpf(0)] * d
    prior = mpf(1)
    predictions: Vector = []
    resets: list[int] = []
    for t, (x, label) in enumerate(zip(rows, labels, strict=True), start=1):
        factor = mpf(at(divide, t))
        S = [[value / factor + (add if i == j else 0) for j, value in enumerate(row)] for i, row in enumerate(S)]
        k = [fdot(row, x) for row in S]
        s, f = fdot(x, k), fdot(w, x)
        rho = max(1 - s, least_noise) if isinstance(noise, str) else noise
        prediction = f / ((rho if least_noise else 1) + s) if shrink else f
        predictions.append(prediction if clip is None else min(max(prediction, -clip), clip))
        if rho <= 0:
            raise ValueError(f"x.S.x must be below 1, got {s} at row {t - 1}")
        w = [w_i + k_i * (label - f) / (rho + s) for w_i, k_i in zip(w, k, strict=True)]
        S = [[S[i][j] - k[i] * k[j] / (rho + s) for j in range(d)] for i in range(d)]
        prior *= factor
        if (every is not None and t % every == 0) or (
            below is not None and is_smaller(S, threshold(below, len(resets) + 1))
        ):
            S, prior = identity(d, mpf(1)), mpf(start)
            resets.append(t - 1)
        if keep_prior and (share := restored(prior, factor)) != prior:
            w, S = raised(w, S, (share - prior) / mpf(start))
            prior = share
        if radius is not None:
            w = project(w, S, radius)
    return Precise(predictions, w, S, resets)


def restored(share: Any, factor: Any) -> Any:
    """The share of a kept prior after forgetting: below 0.79 it becomes 1 / (share before), or 1 after a reset."""
    before = share / factor
    return share if share >= 0.79 else 1 / before if 0.79 <= before <= 1 else 1.0


def raised(w: Vector, S: Matrix, amount: mpf) -> tuple[Vector, Matrix]:
    """w and S after adding amount I to S^-1: one row per feature, with noise 1 / amount and label 0."""
    for j in range(len(w)):
        k, variance = [row[j] for row in S], 1 / amount + S[j][j]
        w = [w_i - k_i * w[j] / variance for w_i, k_i in zip(w, k, strict=True)]
        S = [[S[a][b] - k[a] * k[b] / variance for b in range(len(w))] for a in range(len(w))]
    return w, S


def identity(d: int, scale: mpf) -> Matrix:
    """Scale times I."""
    return [[scale if i == j else mpf(0) for j in range(d)] for i in range(d)]


def threshold(schedule: Any, i: int) -> mpf:
    """The i-th threshold, i = 1, 2, ...: 1 / (i^(q - 1) + 1) for a number q; a function or a sequence gives it."""
    if callable(schedule) or hasattr(schedule, "__len__"):
        return mpf(at(schedule, i))
    return 1 / (mpf(i) ** (schedule - 1) + 1)


def is_smaller(S: Matrix, bound: mpf) -> bool:
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


def project(w: Vector, S: Matrix, radius: mpf) -> Vector:
    """The point of the ball nearest to w in the norm of S^-1: v = (I + a S)^-1 w, with a by Newton's method on 1/|v|."""
    v, a = mpmath.matrix(w), mpf(0)
    S, w = mpmath.matrix(S), mpmath.matrix(w)
    while (size := mpmath.norm(v)) > radius * (1 + 16 * mpmath.eps):
        A = mpmath.eye(len(w)) + a * S
        slope = fdot(v, mpmath.lu_solve(A, S * v)) / size
        a += (size / radius - 1) * size / slope
        v = mpmath.lu_solve(mpmath.eye(len(w)) + a * S, w)
    return list(v)
