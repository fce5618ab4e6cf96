"""The H-infinity filter for regression."""

from __future__ import annotations

from dataclasses import replace

from driftline.base import params, river
from driftline.base.batch import numbered
from driftline.base.durations import DURATION
from driftline.base.registry import learner
from driftline.base.traits import Traits
from driftline.linear.policies import Add, Policy
from driftline.linear.recursion import Recursive
from driftline.tables.inputs import Array


@learner
class HInfinity(Recursive):
    r"""The H-infinity filter for a random walk: the Kalman filter's counterpart for the worst case, O(d²) a row.

    .. math::
        S \leftarrow S + q I, \quad k = S x, \quad w \leftarrow w + \frac{y - w \cdot x}{r + (1 - c)\, x \cdot k}\, k, \quad
        S \leftarrow S - \frac{(1 - c)\, k k^\top}{r + (1 - c)\, x \cdot k}

    For all weights :math:`u_0, u_1, \dots` and all labels, whatever their noise, the errors of the predictions
    :math:`\hat y_t` of :math:`u_t \cdot x_t` stay within

    .. math::
        c \sum_t (u_t \cdot x_t - \hat y_t)^2 \le r\, \text{ridge}\, |u_0|^2 + \frac rq \sum_t |u_t - u_{t-1}|^2
        + \sum_t (y_t - u_t \cdot x_t)^2,

    provided that :math:`c\, x \cdot k < r` on every row. No filter can promise it on a row that breaks this: the row
    raises a ``ValueError`` and is not learned. With c = 0 it is :class:`~driftline.Kalman`. As c tends to 1, without
    drift, S stops shrinking, and it becomes LMS with the rate 1/(r ridge).

    Args:
        noise: r, the scale of the disturbance of the labels.
        drift: q, the scale of the steps of the weights; 0 for fixed weights.
        ridge: S starts at I / ridge.
        per: the time that ``drift`` is for, and that passes before the first row: "1h", or a number in
            the unit of the times. None: rows count, whatever their times. See :doc:`/times`.
        robustness: c in [0, 1); :math:`\gamma^2 = r / c` in the literature.

    References: :cite:`simon2006`, Section 11.3; :cite:`hassibi1996` for LMS.

    >>> model = HInfinity(noise=1.0, drift=0.0, ridge=1.0, robustness=0.5, intercept=False)
    >>> model.learn_one([1.0], 3.0)
    >>> round(model.predict_one([1.0]), 6), model.covariance_.round(6).tolist()
    (2.0, [[0.666667]])
    """

    noise: float = params.real(default=1.0, gt=0)
    drift: float = params.real(default=1e-4, ge=0)
    ridge: float = params.real(default=100.0, gt=0)
    robustness: float = params.real(default=0.1, ge=0, lt=1)
    per: float | str | None = params.checked(default=None, rule=DURATION, optional=True)

    def _policy(self) -> Policy:
        noise = self.noise / (1 - self.robustness)
        return Policy(start=1 / self.ridge, time=Add(self.drift, self.per), noise=noise, robustness=self.robustness)

    def _make_traits(self) -> Traits:
        return replace(super()._make_traits(), takes_outputs=False)

    def _outside_noise(self, where: str, row: int | None, x: Array) -> str:
        return (
            f"{where}: {numbered(row) or 'the row'} has robustness * x'Sx >= noise, so no filter can keep the promise of "
            f"robustness={self.robustness!r}; a smaller robustness or drift, a larger ridge or noise, or smaller inputs can"
        )

    def _comparator(self, sums: dict[str, float]) -> float | None:
        return super()._comparator(sums) if self.robustness == 0 else None

    def _unit_test_skips(self) -> frozenset[str]:
        return river.NEEDS_SCALED_ROWS | {"check_clone_is_independent", "check_no_state_aliasing_with_input"}
