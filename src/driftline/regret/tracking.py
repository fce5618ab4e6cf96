"""Bounds on the distance of DFOP's weights from the true ones, for streams with known weights."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from driftline.base.rules import COUNT, POSITIVE, PROBABILITY, is_sequence, number
from driftline.linear import DFOP
from driftline.linear.pursuit import basis_pursuit, largest
from driftline.regret.bound import Bound
from driftline.regret.rows import as_path, as_rows, given, largest_norm, replay, rows_for
from driftline.tables.inputs import Array

_MODEL = (
    "the steps of the true weights are martingale differences",
    "the noise of the labels is sub-Gaussian and has mean 0 given the past",
)


def dfop_theorem_1(
    learner: DFOP,
    X: Any,
    y: Any,
    weights: Any,
    *,
    delta: float = 0.05,
    noise: float | None = None,
    drift: float | None = None,
) -> Bound:
    r"""The distance of DFOP's weights from the true ones, with probability :math:`1 - \delta`.

    .. math::
        K \left( (1-\mu)^t |R_0| |w_0| + \sqrt 2 \left(1 + \sqrt{3 \ln(2t/\delta)}\right)
        \left( 2 \sigma x^* \sqrt\mu + \gamma\, (|R_0| + x^{*2}) / \sqrt\mu \right) \right)

    K is the largest norm of the matrices :math:`P_k`, and :math:`|R_0|` is 1/prior. The bound is on the weights that predict
    the last row, after t = T - 1 rows.

    Args:
        learner: only its parameters matter, not what it has learned.
        X: the rows, (T, d), at least two.
        y: their labels, (T,).
        weights: the true weights of each row, (T, d), the intercept's last.
        delta: the probability with which the bound may fail.
        noise: :math:`\sigma`, so that :math:`\sigma^2` is a variance proxy of the labels' noise; None for the largest
            absolute error of the true weights, which satisfies this.
        drift: :math:`\gamma` with :math:`E \exp(|s|^2/\gamma^2) \le e` for a step s of the true weights; None for the norm
            of the longest step, which satisfies this.

    References: :cite:`zhao2021`, Theorem 1.
    """
    where = "dfop_theorem_1"
    rows, labels = rows_for(learner, DFOP, X, y, where)
    path = as_path(weights, rows, where)
    t, sigma, gamma = _model(rows, labels, path, noise, drift, delta, where)
    mu, R0 = _constant_rate(learner, where), 1 / learner.prior
    K = _largest_covariance(rows[:t], mu, R0)
    x, spread = largest_norm(rows[:t]), math.sqrt(2) * (1 + math.sqrt(3 * math.log(2 * t / delta)))
    run = replay(learner, X, y, weights_every=1)
    assert run.weights is not None
    return Bound(
        statement=f"distance of DFOP's weights from the true ones after {t} rows, Theorem 1",
        terms={
            "start": K * (1 - mu) ** t * R0 * float(np.linalg.norm(path[0])),
            "noise": K * spread * 2 * sigma * x * math.sqrt(mu),
            "drift": K * spread * gamma * (R0 + x * x) / math.sqrt(mu),
        },
        conditions=_excited(rows[:t]),
        observed=float(np.linalg.norm(path[t] - run.weights[t - 1])),
        assumptions=(*_MODEL, f"the bound may fail with probability {delta:g}"),
    )


def sparse_dfop_theorem_2(
    X: Any,
    y: Any,
    weights: Any,
    matrix: Any,
    *,
    forget_rate: float,
    prior: float,
    rip: float,
    delta: float = 0.05,
    noise: float | None = None,
    drift: float | None = None,
) -> Bound:
    r"""The distance of Sparse-DFOP's weights from the projected true ones, M w.

    .. math::
        K \Big( (1-\mu)^t |R_0| |v_0| + 3 \delta_{2s} \psi^* x^* W
        + 2\sqrt 2 \left(1 + \sqrt{3 \ln(2t/\delta)}\right) \sigma \psi^* \sqrt\mu

        + \sqrt 2 \left(1 + \sqrt{3 \ln(4t/\delta)}\right) \left(\sqrt d + \sqrt D + \sqrt{2 \ln(8t/\delta)}\right)
        \gamma\, (|R_0| + \psi^{*2}) / \sqrt\mu \Big)

    The paper prints :math:`x^*` for :math:`\psi^*` in the third term; its proof has :math:`\psi^*`.

    Args:
        X: the rows, (T, D), at least two, without an intercept.
        y: their labels, (T,).
        weights: the true weights of each row, (T, D).
        matrix: M, (d, D), of independent normal entries with variance 1/d.
        forget_rate: :math:`\mu`, as for :class:`~driftline.DFOP`.
        prior: P starts at prior * I.
        rip: :math:`\delta_{2s}`, the restricted isometry constant of M for twice the sparsity s of rows and weights.
        delta: the probability with which the bound may fail, in addition to that of M not being an isometry.
        noise: :math:`\sigma`, as for :func:`dfop_theorem_1`.
        drift: :math:`\gamma`, as for :func:`dfop_theorem_1`.

    References: :cite:`zhao2021`, Theorem 2.
    """
    return _compressed(X, y, weights, matrix, forget_rate, prior, rip, delta, noise, drift, "sparse_dfop_theorem_2")[0]


def dfop_recovered(
    X: Any,
    y: Any,
    weights: Any,
    matrix: Any,
    *,
    forget_rate: float,
    prior: float,
    rip: float,
    sparsity: int,
    delta: float = 0.05,
    noise: float | None = None,
    drift: float | None = None,
) -> Bound:
    r"""The distance of the weights that Sparse-DFOP recovers from the true ones.

    .. math::
        \frac{1}{1 - \delta_{2s}} \left( B + \sqrt{1 - s/D}\; |\bar w|\, \lVert M \rVert \right)

    B is the bound of :func:`sparse_dfop_theorem_2`, and :math:`\bar w` the vector with the smallest 1-norm and
    :math:`M \bar w = \hat v`, of which the s largest entries are kept. The last term vanishes neither with :math:`\mu` nor
    with :math:`\delta_{2s}`; the paper omits it from the order that it states.

    Args:
        X: the rows, (T, D), at least two, without an intercept, with at most ``sparsity`` entries that are not 0.
        y: their labels, (T,).
        weights: the true weights of each row, (T, D), with at most ``sparsity`` entries that are not 0.
        matrix: M, (d, D), as for :func:`sparse_dfop_theorem_2`.
        forget_rate: :math:`\mu`, as for :class:`~driftline.DFOP`.
        prior: P starts at prior * I.
        rip: :math:`\delta_{2s}`, at most :math:`\sqrt 2 - 1`.
        sparsity: s, the number of weights that are recovered.
        delta: the probability with which the bound may fail, in addition to that of M not being an isometry.
        noise: :math:`\sigma`, as for :func:`dfop_theorem_1`.
        drift: :math:`\gamma`, as for :func:`dfop_theorem_1`.

    References: :cite:`zhao2021`, Theorem 2, second part, Eqs. (16) and (17).
    """
    where = "dfop_recovered"
    COUNT.require(where, "sparsity", sparsity)
    bound, learned = _compressed(X, y, weights, matrix, forget_rate, prior, rip, delta, noise, drift, where)
    rows, M = as_rows(X, y, where)[0], np.asarray(matrix, dtype=np.float64)
    path, D = as_path(weights, rows, where), M.shape[1]
    shortest = basis_pursuit(lambda chosen: M[:, chosen].T.ravel(), lambda v: M.T @ v, learned, D)
    left_out = math.sqrt(max(1 - sparsity / D, 0.0)) * float(np.linalg.norm(shortest)) * float(np.linalg.norm(M, 2))
    full = max(int(np.count_nonzero(table, axis=1).max()) for table in (rows, path))
    return replace(
        bound,
        statement=f"distance of Sparse-DFOP's recovered weights from the true ones after {len(path) - 1} rows, Eq. (17)",
        terms={name: term / (1 - rip) for name, term in {**bound.terms, "entries left out": left_out}.items()},
        conditions={
            **bound.conditions,
            f"rip is at most sqrt(2) - 1: {rip:g}": rip <= math.sqrt(2) - 1,
            f"rows and weights have at most {sparsity} entries that are not 0: {full}": full <= sparsity,
        },
        observed=float(np.linalg.norm(path[-1] - largest(shortest, sparsity))),
    )


def _compressed(
    X: Any, y: Any, weights: Any, matrix: Any, mu: float, prior: float, rip: float, delta: float, noise: float | None,
    drift: float | None, where: str,
) -> tuple[Bound, Array]:  # fmt: skip
    """Theorem 2, and Sparse-DFOP's weights for the last row."""
    rows, labels = as_rows(X, y, where)
    path = as_path(weights, rows, where)
    M = np.asarray(matrix, dtype=np.float64)
    if M.ndim != 2 or M.shape[1] != rows.shape[1]:
        raise ValueError(f"{where}: matrix must have the shape (d, {rows.shape[1]}), got {M.shape}")
    PROBABILITY.require(where, "forget_rate", mu)
    POSITIVE.require(where, "prior", prior)
    number(ge=0, lt=1).require(where, "rip", rip)
    t, sigma, gamma = _model(rows, labels, path, noise, drift, delta, where)
    learner = DFOP(forget_rate=mu, prior=prior, intercept=False)
    projected, R0 = rows @ M.T, 1 / prior
    K = _largest_covariance(projected[:t], mu, R0)
    x, psi = largest_norm(rows[:t]), largest_norm(projected[:t])
    wide = math.sqrt(M.shape[0]) + math.sqrt(M.shape[1]) + math.sqrt(2 * math.log(8 * t / delta))
    noisy, drifting = (math.sqrt(2) * (1 + math.sqrt(3 * math.log(n * t / delta))) for n in (2, 4))
    run = replay(learner, projected, labels, weights_every=1)
    assert run.weights is not None
    bound = Bound(
        statement=f"distance of Sparse-DFOP's weights from the projected true ones after {t} rows, Theorem 2",
        terms={
            "start": K * (1 - mu) ** t * R0 * float(np.linalg.norm(M @ path[0])),
            "projection": K * 3 * rip * psi * x * largest_norm(path[:t]),
            "noise": K * noisy * 2 * sigma * psi * math.sqrt(mu),
            "drift": K * drifting * wide * gamma * (R0 + psi * psi) / math.sqrt(mu),
        },
        conditions=_excited(projected[:t]),
        observed=float(np.linalg.norm(M @ path[t] - run.weights[t - 1])),
        assumptions=(
            *_MODEL,
            f"matrix is a restricted isometry of order 2 s with the constant {rip:g}, and rows and weights are s-sparse",
            f"the bound may fail with probability {delta:g}",
        ),
    )
    return bound, run.weights[t - 1]


def _model(
    rows: Array, labels: Array, path: Array, noise: float | None, drift: float | None, delta: float, where: str
) -> tuple[int, float, float]:
    """The rows before the last, sigma of the noise and gamma of the drift."""
    t = len(labels) - 1
    if t < 1:
        raise ValueError(f"{where}: X must have at least 2 rows, got {len(labels)}")
    PROBABILITY.require(where, "delta", delta)
    errors = labels[:t] - np.einsum("td,td->t", rows[:t], path[:t])
    sigma = given(noise, where, "noise", float(np.abs(errors).max()))
    return t, sigma, given(drift, where, "drift", largest_norm(np.diff(path, axis=0)))


def _constant_rate(learner: DFOP, where: str) -> float:
    rate = learner.forget_rate
    if callable(rate) or is_sequence(rate):
        raise ValueError(f"{where}: the theorem is about a constant forget_rate, got {rate!r}")
    return float(rate)  # type: ignore[arg-type]


def _largest_covariance(rows: Array, mu: float, R0: float) -> float:
    """The largest norm of P_k = R_k^-1 over the rows, where R <- (1 - mu) R + mu x x'."""
    d, block = rows.shape[1], 256
    R, largest = R0 * np.eye(d), 0.0
    for start in range(0, len(rows), block):
        kept = np.empty((min(block, len(rows) - start), d, d))
        for k, x in enumerate(rows[start : start + block]):
            R = (1 - mu) * R + mu * np.outer(x, x)
            kept[k] = R
        smallest = float(np.linalg.eigvalsh(kept)[:, 0].min())
        largest = max(largest, 1 / smallest if smallest > 0 else math.inf)
    return largest


def _excited(rows: Array) -> dict[str, bool]:
    """Whether some h exists such that any h successive rows span all directions."""
    T, d = rows.shape
    half = d
    while 2 * half <= T:
        whole = rows[: T // half * half].reshape(-1, half, d)
        if (np.linalg.matrix_rank(whole) == d).all():
            return {f"any {2 * half} rows in succession span all {d} directions": True}
        half *= 2
    return {f"some number of rows in succession, up to {T}, always spans all {d} directions": False}
