"""Kernels as parameters."""

from __future__ import annotations

import math
import numbers
from typing import Any

from driftline._core import KernelKind
from driftline.base.rules import Rule, choice

_KINDS = {
    "linear": KernelKind.LINEAR,
    "poly": KernelKind.POLYNOMIAL,
    "rbf": KernelKind.GAUSSIAN,
    "laplace": KernelKind.LAPLACE,
}
_LARGEST_DEGREE = 2**31 - 1

KERNEL = choice(_KINDS) | Rule(callable, "a function of two rows")
LARGEST_BUDGET = 10_000  # larger matrices would take gigabytes


def has_gamma(kernel: Any) -> bool:
    """Whether a kernel depends on gamma."""
    return isinstance(kernel, str) and kernel != "linear"


def native_kernel(kernel: Any, gamma: float | None, coef0: float, degree: int) -> dict[str, Any]:
    """The kernel's parameters in the form that the core takes."""
    return {
        "kind": _KINDS[kernel] if isinstance(kernel, str) else KernelKind.CUSTOM,
        "gamma": 1.0 if gamma is None else float(gamma),
        "offset": float(coef0),
        "degree": min(int(degree), _LARGEST_DEGREE),
    }


def value_of(kernel: Any, x: Any) -> float:
    """k(x, x) for a kernel given as a function."""
    value = kernel(x, x.copy())
    if not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise ValueError(f"Kernel: kernel must return a finite number for two rows, got {value!r}")
    return float(value)
