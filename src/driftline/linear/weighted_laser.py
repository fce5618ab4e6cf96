"""Last-step adaptive regression with a weighted loss."""

from __future__ import annotations

import math
from typing import Any

from driftline.base import params
from driftline.base.durations import DURATION
from driftline.base.registry import learner
from driftline.linear.policies import Add, Policy
from driftline.linear.recursion import Recursive


@learner
class WeightedLASER(Recursive):
    r"""Last-step adaptive regression with WEMM's weighted loss, O(d²) a row.

    .. math::
        S \leftarrow S + I/c, \quad k = S x,\; s = x \cdot k, \quad \rho = \max(1 - s,\, 1/A), \quad
        \hat y = \frac{w \cdot x}{\rho + s},

        w \leftarrow w + \frac{y - w \cdot x}{\rho + s}\, k, \quad S \leftarrow S - \frac{k k^\top}{\rho + s}

    LASER's game, in which the comparator pays :math:`a_t = 1/\rho` for an error on row t. While :math:`s \le 1 - 1/A`, the
    prediction is not shrunk, and the game is worth exactly the comparator's cost, whatever the labels. On other rows the
    weight is A, and the prediction is shrunk as little as that allows. The derivation is in :doc:`/mathematics`.

    Args:
        ridge: b, less than ``drift_cost``; S starts at (1/b - 1/c) I.
        drift_cost: c, the cost of a squared step of the comparator. The smaller, the faster the learner adapts.
        max_weight: A, the largest weight. With 1 the learner is LASER. With infinity, rows with :math:`s \ge 1` raise a
            ValueError and are not learned, as by WEMM.
        per: the time that a step of the comparator is for, and that passes before the first row: "1h", or a number in
            the unit of the times. None: rows count, whatever their times. See :doc:`/times`.

    References: :cite:`moroshko2013`, chapter 9, names it as future work; the game is Eq. (5.1) with the loss of Section 3.1.

    >>> model = WeightedLASER(ridge=2.0, drift_cost=4.0, intercept=False)
    >>> model.learn_one([1.0], 4.0)
    >>> model.predict_one([1.0])
    2.0
    """

    ridge: float = params.real(default=1.0, gt=0)
    drift_cost: float = params.real(default=1000.0, gt=0, le=math.inf)
    max_weight: float = params.real(default=4.0, ge=1, le=math.inf)
    per: float | str | None = params.checked(default=None, rule=DURATION, optional=True)

    def _check_relations(self, values: dict[str, Any]) -> None:
        super()._check_relations(values)
        if not values["ridge"] < values["drift_cost"]:
            raise ValueError(
                f"WeightedLASER: ridge must be less than drift_cost, got ridge={values['ridge']!r} and "
                f"drift_cost={values['drift_cost']!r}"
            )

    def _policy(self) -> Policy:
        drift, least = 1 / self.drift_cost, 1 / self.max_weight
        time = Add(drift, self.per)
        return Policy(start=1 / self.ridge - drift, time=time, noise=None, least_noise=least, shrink=least > 0)

    def _bound(self, sums: dict[str, float], comparator: float) -> tuple[float | None, dict[str, bool]]:
        b, c, Y = self.ridge, self.drift_cost, sums["largest_label"]
        conditions = {f"ridge < drift_cost: {b:g} < {c:g}": b < c}
        if sums["shrunk"] == 0:
            return max(comparator, sums["loss"]), conditions  # equal up to rounding
        return comparator + Y * Y * sums["shrunk"], conditions
