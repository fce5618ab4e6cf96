"""Any combination of the switches of second-order learners."""

from __future__ import annotations

import math

from driftline.base import params
from driftline.base.registry import learner
from driftline.base.rules import POSITIVE, Rule, choice
from driftline.linear.policies import Add, Below, Divide, Every, Policy
from driftline.linear.recursion import Recursive


@learner
class SecondOrder(Recursive):
    r"""The recursion of all second-order learners, with every switch as a parameter, O(d²) a row.

    .. math::
        S \leftarrow S/\lambda \;\text{or}\; S + q I, \quad k = S x,\; s = x \cdot k,\; f = w \cdot x, \quad
        \hat y = f \;\text{or}\; f/(1 + s),

        w \leftarrow w + \frac{y - f}{\rho + s}\, k, \quad S \leftarrow S - \frac{k k^\top}{\rho + s}, \quad
        S \leftarrow I \text{ when a reset is due}, \quad w \leftarrow \text{its projection on the ball}

    Combined with forgetting or drift, :class:`~driftline.Below` costs O(d³) on rows that a cheap bound does not decide.

    Args:
        start: S starts at start * I. A reset sets it to I, whatever the start.
        time: None, :class:`~driftline.Divide` or :class:`~driftline.Add`. ``Divide(0.9, keep_prior=True)`` forgets the rows
            but not the start: S stays below 1.27 * start * I.
        noise: :math:`\rho`, or "complement" for WEMM's 1 - s.
        shrink: predict f / (1 + s).
        reset: None, :class:`~driftline.Every` or :class:`~driftline.Below`.
        radius: the radius of the ball to which the weights are confined; None for no projection.
        clip: bound on the absolute prediction; None for no clipping.

    References: the table in :doc:`/mathematics`.

    >>> import driftline as dl
    >>> forgetful = dl.SecondOrder(time=dl.Divide(0.9), radius=2.0, intercept=False)
    >>> for _ in range(100):
    ...     forgetful.learn_one([1.0], 5.0)
    >>> forgetful.predict_one([1.0])
    2.0
    """

    start: float = params.real(default=1.0, gt=0)
    time: Divide | Add | None = params.checked(
        default=None, rule=Rule(lambda value: isinstance(value, (Divide, Add)), "Divide(...) or Add(...)"), optional=True
    )
    noise: float | str = params.checked(default=1.0, rule=POSITIVE | choice(["complement"]))
    shrink: bool = params.boolean(default=False)
    reset: Every | Below | None = params.checked(
        default=None, rule=Rule(lambda value: isinstance(value, (Every, Below)), "Every(...) or Below(...)"), optional=True
    )
    radius: float | None = params.real(default=None, gt=0, le=math.inf, optional=True)
    clip: float | None = params.real(default=None, gt=0, optional=True)

    def _policy(self) -> Policy:
        noise = None if isinstance(self.noise, str) else self.noise
        return Policy(self.start, self.time, noise, self.shrink, self.clip, self.reset, self.radius)

    def _comparator(self, sums: dict[str, float]) -> float | None:
        if isinstance(self.noise, str) and self.time is not None:
            return None
        return super()._comparator(sums)
