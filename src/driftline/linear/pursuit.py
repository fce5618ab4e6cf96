"""Basis pursuit: the shortest vector in the 1-norm that a wide matrix maps to a given one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from driftline.tables.inputs import Array

_PENALTIES = (1e3, 1e6, 1e9)  # the penalty per unit of |M w - v|, in units of w; large enough to make the difference 0


def basis_pursuit(columns: Callable[[Array], Array], transpose: Callable[[Array], Array], v: Array, features: int) -> Array:
    r"""The w with the smallest 1-norm and M w = v, by a linear program that never stores all of M.

    The program is solved on the columns of M that agree best with v. A vector u with :math:`M_j \cdot u = \pm 1` where
    :math:`w_j \gtrless 0` and :math:`|M_j \cdot u| \le 1` elsewhere proves that w is the shortest on all columns. The
    shortest such u is tried first :cite:`fuchs2004`, then the dual vector of the program; columns that violate the condition
    are added.

    Args:
        columns: returns the given columns of M, one after another.
        transpose: M'u, for all columns.
        v: the required value of M w.
        features: the number of columns of M.
    """
    w = np.zeros(features)
    scale = float(np.abs(v).max(initial=0.0))
    if scale == 0.0 or features == 0:
        return w
    target = v / scale
    best = np.argsort(-np.abs(transpose(target)), kind="stable")
    chosen = np.sort(best[: 4 * v.size])
    for penalty in _PENALTIES:
        while True:
            M = columns(chosen).reshape(-1, v.size).T
            part, missed, dual = _solve(M, target, penalty)
            joining = _joining(transpose(_least_proof(M, part)), chosen)
            if joining.size:
                joining = _joining(transpose(dual), chosen)
            if not joining.size:
                break
            chosen = np.union1d(chosen, joining[: v.size])
        if missed < 1e-6:
            break
    w[chosen] = _polished(M, target, part) * scale
    return w


def _joining(products: Array, chosen: Array) -> Array:
    """The columns not yet chosen whose product with u exceeds 1, largest first."""
    excess = np.abs(products) - 1.0
    excess[chosen] = 0.0
    order = np.argsort(-excess, kind="stable")
    return order[: np.count_nonzero(excess > 1e-7)]


def _least_proof(M: Array, w: Array) -> Array:
    """The shortest u with M_j.u = sign(w_j) on the support of w."""
    support = _support(w)
    return np.asarray(np.linalg.lstsq(M[:, support].T, np.sign(w[support]), rcond=None)[0])


def _solve(M: Array, target: Array, penalty: float) -> tuple[Array, float, Array]:
    """Solves the program on these columns of M: w, the distance of M w from the target, and the dual vector."""
    from scipy.optimize import linprog

    unit = np.eye(len(target))
    equations = np.hstack([M, -M, unit, -unit])
    cost = np.r_[np.ones(2 * M.shape[1]), np.full(2 * len(target), penalty)]
    found = linprog(cost, A_eq=equations, b_eq=target, bounds=(0, None), method="highs")
    if found.status != 0:
        raise RuntimeError(f"basis pursuit: the linear program was not solved: {found.message}")
    forth, back, missed = np.split(found.x, [M.shape[1], 2 * M.shape[1]])
    return forth - back, float(missed.sum()), np.asarray(found.eqlin.marginals)


def _polished(M: Array, target: Array, w: Array) -> Array:
    """Solves the equations on the columns found to full precision; the solver's tolerance is 1e-7."""
    support = _support(w)
    polished = np.zeros_like(w)
    polished[support] = np.linalg.lstsq(M[:, support], target, rcond=None)[0]
    return polished if _miss(M, target, polished) <= _miss(M, target, w) else w


def _support(w: Array) -> Array:
    return np.asarray(np.abs(w) > 1e-7 * np.abs(w).max())


def _miss(M: Array, target: Array, w: Array) -> float:
    return float(np.linalg.norm(M @ w - target))


def largest(w: Array, count: int) -> Array:
    """Keeps the ``count`` largest entries of w and sets the others to 0."""
    kept = np.zeros_like(w)
    places = np.argsort(-np.abs(w), kind="stable")[:count]
    kept[places] = w[places]
    return kept
