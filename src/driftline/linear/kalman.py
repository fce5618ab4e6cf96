"""The Kalman filter for regression with random-walk weights."""

from __future__ import annotations

from driftline.base import params
from driftline.base.durations import DURATION
from driftline.base.registry import learner
from driftline.linear.policies import Add, Policy
from driftline.linear.recursion import Recursive


@learner
class Kalman(Recursive):
    r"""Random-walk regression by the Kalman filter, O(d²) a row.

    .. math::
        S \leftarrow S + q I, \quad k = S x, \quad w \leftarrow w + \frac{y - w \cdot x}{r + x \cdot k}\, k, \quad
        S \leftarrow S - \frac{k k^\top}{r + x \cdot k}

    Args:
        noise: r, the variance of the labels around their target.
        drift: q, the variance of a weight's step from row to row; with 0 it is AROWR.
        ridge: S starts at I / ridge.
        per: the time that ``drift`` is for, and that passes before the first row: "1h", or a number in
            the unit of the times. None: rows count, whatever their times. See :doc:`/times`.

    References: :cite:`hayes1996`, section 7.4; it is LASER's recursion :cite:`moroshko2013` without shrinkage.

    >>> model = Kalman(noise=1.0, drift=0.5, intercept=False)
    >>> model.learn_one([1.0], 5.0)
    >>> model.predict_one([1.0])
    3.0
    """

    noise: float = params.real(default=1.0, gt=0)
    drift: float = params.real(default=0.001, ge=0)
    ridge: float = params.real(default=1.0, gt=0)
    per: float | str | None = params.checked(default=None, rule=DURATION, optional=True)

    def _policy(self) -> Policy:
        return Policy(start=1 / self.ridge, time=Add(self.drift, self.per), noise=self.noise)
