"""Least mean squares."""

from __future__ import annotations

from driftline._core import FirstOrderPolicy, Loss, Rate
from driftline.base import params, river
from driftline.base.registry import learner
from driftline.linear.descent import Descending


@learner
class LMS(Descending):
    r"""Least mean squares, also called Widrow-Hoff, O(d) a row.

    .. math:: w \leftarrow w - \eta\, (w \cdot x - y)\, x

    With ``implicit=True`` the step uses the error of the new weights, which solves the trade-off between loss and step
    exactly: :math:`w \leftarrow w - \frac{\eta}{1 + \eta |x|^2} (w \cdot x - y)\, x`. It is stable at any rate.

    Args:
        rate: :math:`\eta`; stable below :math:`2/|x|^2`, and the regret bound needs :math:`\eta |x|^2 < 1`.
        implicit: use the exact solution of the lecture's Motivation 2.

    References: :cite:`schapire2018`, Section 1.

    >>> model = LMS(rate=0.5, intercept=False)
    >>> model.learn_one([1.0], 2.0)
    >>> model.predict_one([1.0])
    1.0
    """

    rate: float = params.real(default=0.01, gt=0)
    implicit: bool = params.boolean(default=False)

    def _policy(self) -> FirstOrderPolicy:
        return FirstOrderPolicy(rate=self.rate, loss=Loss.HALF_SQUARED, rule=Rate.IMPLICIT if self.implicit else Rate.PLAIN)

    def _unit_test_skips(self) -> frozenset[str]:
        return frozenset() if self.implicit else river.NEEDS_SCALED_ROWS
