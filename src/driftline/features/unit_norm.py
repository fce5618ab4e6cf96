"""Rows of length 1."""

from __future__ import annotations

from typing import Any

from driftline import _core
from driftline.features.transformer import Transformer


class UnitNorm(Transformer):
    r"""Divides every row by its length, :math:`z = x / |x|`. A row of zeros stays unchanged.

    >>> UnitNorm().transform_one([3.0, 4.0]).tolist()
    [0.6, 0.8]
    """

    _learns = False

    def _stage(self, width: int) -> Any:
        return _core.UnitNorm(width)
