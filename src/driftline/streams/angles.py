"""Sums of powers in closed form: the angle of a rotating target at any row."""

from __future__ import annotations

import math

import numpy as np

from driftline.tables.inputs import Array

EXACT = 1024  # terms added one by one; beyond them the formula's remainder is below rounding


def sums_of_powers(n: Array, power: float) -> Array:
    """1 + 2^-power + ... + n^-power for each n, by the Euler-Maclaurin formula if n is large.

    >>> sums_of_powers(np.array([1, 2, 10**6]), 1.0).round(9).tolist()
    [1.0, 1.5, 14.392726723]
    """
    if power == 0:
        return np.asarray(n, dtype=np.float64)
    head = np.cumsum(np.arange(1, EXACT + 1, dtype=np.float64) ** -power)
    sums: Array = np.where(n <= EXACT, head[np.minimum(n, EXACT) - 1], head[-1] + _tail(np.maximum(n, EXACT), power))
    return sums


def _tail(n: Array, power: float) -> Array:
    """The terms from EXACT + 1 to n."""
    x = np.asarray(n, dtype=np.float64)
    slope = 1 - power
    ratio = np.log(x / EXACT)
    integral = ratio if slope == 0 else EXACT**slope * np.expm1(slope * ratio) / slope
    ends = _derivatives(x, power) - _derivatives(np.array([EXACT], dtype=np.float64), power)
    tail: Array = integral + ends
    return tail


def _derivatives(x: Array, power: float) -> Array:
    """f/2 + f'/12 - f'''/720 of f(x) = x^-power."""
    f = x**-power
    first = -power * f / x
    third = first * (power + 1) * (power + 2) / x**2
    terms: Array = f / 2 + first / 12 - third / 720
    return terms


def radians(unit: str) -> float:
    """The size of an angle unit in radians."""
    return math.pi / 180 if unit == "deg" else 1.0
