"""Last-step adaptive regression."""

from __future__ import annotations

import math
from typing import Any, Self

from driftline.base import params
from driftline.base.durations import DURATION
from driftline.base.registry import learner
from driftline.base.rules import NOT_NEGATIVE, POSITIVE
from driftline.linear.policies import Add, Policy
from driftline.linear.recursion import Recursive


@learner
class LASER(Recursive):
    r"""Last-step adaptive regression for a drifting target, O(d²) a row.

    .. math::
        S \leftarrow S + I/c, \quad k = S x, \quad \hat y = \frac{w \cdot x}{1 + x \cdot k},

        w \leftarrow w + \frac{y - w \cdot x}{1 + x \cdot k}\, k, \quad S \leftarrow S - \frac{k k^\top}{1 + x \cdot k}

    Args:
        ridge: b, less than ``drift_cost``; S starts at (1/b - 1/c) I.
        drift_cost: c, the cost of a squared step of the comparator. The smaller, the faster the learner adapts.
        clip: a bound Y on the absolute prediction; None for no clipping.
        per: the time that a step of the comparator is for, and that passes before the first row: "1h", or a number in
            the unit of the times. None: rows count, whatever their times. See :doc:`/times`.

    References: :cite:`moroshko2013`, Fig. 5.1 and Corollary 16.

    >>> model = LASER(ridge=1.0, drift_cost=2.0, intercept=False)
    >>> model.learn_one([1.0], 3.0)
    >>> round(model.predict_one([1.0]), 4)
    0.75
    """

    ridge: float = params.real(default=1.0, gt=0)
    drift_cost: float = params.real(default=1000.0, gt=0, le=math.inf)
    clip: float | None = params.real(default=None, gt=0, optional=True)
    per: float | str | None = params.checked(default=None, rule=DURATION, optional=True)

    @classmethod
    def for_drift(cls, V: float, T: float, d: int, X: float, Y: float, **parameters: Any) -> Self:
        """LASER tuned for a squared drift V over T rows of d inputs with norms within X and labels within Y: Eq. (6.8).

        For V = 0, the drift cost is infinite, and LASER is AAR.
        """
        where = f"{cls.__name__}.for_drift"
        NOT_NEGATIVE.require(where, "V", V)
        for name, value in (("T", T), ("d", d), ("X", X), ("Y", Y)):
            POSITIVE.require(where, name, value)
        cost = (math.sqrt(2) * T * Y**2 * d * X / V) ** (2 / 3) if V > 0 else math.inf
        parameters.setdefault("ridge", min(1.0, 0.5 * cost))
        return cls(drift_cost=cost, **parameters)

    def _check_relations(self, values: dict[str, Any]) -> None:
        super()._check_relations(values)
        if not values["ridge"] < values["drift_cost"]:
            raise ValueError(
                f"LASER: ridge must be less than drift_cost, got ridge={values['ridge']!r} and "
                f"drift_cost={values['drift_cost']!r}"
            )

    def _policy(self) -> Policy:
        drift = 1 / self.drift_cost
        return Policy(start=1 / self.ridge - drift, time=Add(drift, self.per), shrink=True, clip=self.clip)

    def _bound(self, sums: dict[str, float], comparator: float) -> tuple[float | None, dict[str, bool]]:
        b, c, Y = self.ridge, self.drift_cost, sums["largest_label"]
        conditions = {f"ridge < drift_cost: {b:g} < {c:g}": b < c}
        if self.clip is not None:
            conditions[f"every label lies within clip = {self.clip:g}"] = self.clip >= Y
        return comparator + Y * Y * sums["shrunk"], conditions  # Theorem 12; s / (1 + s) is x'D^-1 x after the row
