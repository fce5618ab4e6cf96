"""Weighted min-max regression."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from driftline.base import params, river
from driftline.base.batch import numbered
from driftline.base.native import SecondOrderCore
from driftline.base.registry import learner
from driftline.linear.policies import Policy
from driftline.linear.recursion import Recursive
from driftline.tables.inputs import Array


@learner
class WEMM(Recursive):
    r"""Weighted last-step min-max regression, O(d²) a row.

    .. math::
        k = S x, \quad w \leftarrow w + (y - w \cdot x)\, k, \quad S \leftarrow S - k k^\top

    Rows are weighted by :math:`a_t = 1/(1 - x \cdot k)`, which must be positive: :math:`|x|^2 < \text{ridge}` is sufficient.
    A row that violates this raises a ValueError and is not learned.

    Args:
        ridge: b; S starts at I / ridge. None sets it from the first row, to :math:`2|x|^2 + 2d + 8` (``ridge_``), including
            the constant feature. To be safe, scale the inputs, or set a ridge above the largest :math:`|x|^2`.

    References: :cite:`moroshko2013`, Fig. 3.2 and Section 3.2.

    >>> model = WEMM(ridge=4.0, intercept=False)
    >>> model.learn_one([1.0], 2.0)
    >>> model.predict_one([1.0])
    0.5
    """

    ridge: float | None = params.real(default=None, gt=0, optional=True)

    _kept = ("ridge_",)

    def _make_core(self, width: int, row: Any = None) -> SecondOrderCore:
        if row is not None:
            self.set_ridge(np.append(row, 1.0) if self.intercept else row)
        return super()._make_core(width)

    def set_ridge(self, row: Array) -> None:
        """Sets ``ridge_`` from the first row, whose last entry is the constant feature, if any."""
        with np.errstate(over="ignore"):
            ridge = 2 * row @ row + 2 * row.size + 8 if self.ridge is None else self.ridge
        self.ridge_: float = min(float(ridge), sys.float_info.max)

    def _policy(self) -> Policy:
        return Policy(start=1 / getattr(self, "ridge_", 1.0), noise=None)

    def _outside_noise(self, where: str, row: int | None, x: Array) -> str:
        with np.errstate(over="ignore"):
            norm2 = float(x @ x) + self.intercept
        return (
            f"{where}: {numbered(row) or 'the row'} has x'Sx >= 1, and WEMM's weight 1 / (1 - x'Sx) needs less; "
            f"|x|^2 = {norm2:.6g} here, and |x|^2 < ridge on every row is sufficient: ridge is {self.ridge_:.6g}"
        )

    def _bound(self, sums: dict[str, float], comparator: float) -> tuple[float | None, dict[str, bool]]:
        return max(comparator, sums["loss"]), {"x'Sx < 1 on every row": True}  # equal up to rounding

    def _unit_test_skips(self) -> frozenset[str]:
        return river.NEEDS_SCALED_ROWS & {"check_emerging_features"}
