"""Kernels as parameters."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

_KINDS = {"linear": 0, "poly": 1, "rbf": 2, "laplace": 3}
_CUSTOM = 4
_LARGEST_DEGREE = 2**31 - 1

RULE = "one of " + ", ".join(map(repr, _KINDS)) + ", or a function of two rows"
BUDGET_RULE = "None or a whole number from 1 to 10,000"


def is_kernel(value: Any) -> bool:
    """A name, or a function k(x, z)."""
    return callable(value) or (isinstance(value, str) and value in _KINDS)


def is_budget(value: Any) -> bool:
    """None, or how many points are kept; beyond 10,000 their matrices take gigabytes."""
    return value is None or (
        not isinstance(value, bool) and isinstance(value, (int, np.integer)) and 1 <= int(value) <= 10_000
    )


def has_gamma(kernel: Any) -> bool:
    """Whether a kernel depends on gamma."""
    return isinstance(kernel, str) and kernel != "linear"


def native_kernel(kernel: Any, gamma: float | None, coef0: float, degree: int) -> dict[str, Any]:
    """The same for the core."""
    return {
        "kind": _KINDS[kernel] if isinstance(kernel, str) else _CUSTOM,
        "gamma": 1.0 if gamma is None else float(gamma),
        "offset": float(coef0),
        "degree": min(int(degree), _LARGEST_DEGREE),
    }


def value_of(kernel: Any, x: Any) -> float:
    """k(x, x) of a function."""
    value = kernel(x, x.copy())
    if not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise ValueError(f"Kernel: kernel gave {value!r} for two rows, where a finite number is needed")
    return float(value)
