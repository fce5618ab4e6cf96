"""numba's ``njit`` if numba is installed; otherwise the same code runs as plain Python, for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from numba import njit

    compiled: Callable[[Any], Any] = njit(cache=True)
except ImportError:

    def compiled(function: Any) -> Any:
        return function
