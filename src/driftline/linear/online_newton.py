"""The Online Newton Step."""

from __future__ import annotations

import math
from dataclasses import replace

from driftline.base import params
from driftline.base.registry import learner
from driftline.base.traits import Traits
from driftline.linear.policies import Policy
from driftline.linear.recursion import Recursive


@learner
class OnlineNewton(Recursive):
    r"""The Online Newton Step for the squared loss, O(d²) a row.

    .. math::
        g = 2 (w \cdot x - y)\, x, \quad S^{-1} \leftarrow S^{-1} + g g^\top, \quad w \leftarrow w - \tfrac 1\gamma S g;

        |w| > R:\; w \leftarrow \text{the point of the ball nearest to } w \text{ in the norm of } S^{-1}

    It is the step of the other second-order learners on a row with the noise :math:`1/(4 e^2)` and the label
    :math:`w \cdot x + 1/(2 \gamma e)`, where :math:`e = y - w \cdot x`. S depends on the labels; an error of 0 is ignored.

    Args:
        concavity: :math:`\gamma`. The regret is logarithmic in T if it is at most :math:`1/(4 e^2)` for all errors e of
            all weights in the ball.
        ridge: S starts at I / ridge; :math:`\varepsilon` in the paper.
        radius: R, the radius of the ball; None for no projection.

    References: :cite:`hazan2007`, Fig. 3.

    >>> model = OnlineNewton(concavity=0.5, ridge=1.0, intercept=False)
    >>> model.learn_one([1.0], 1.0)
    >>> model.predict_one([1.0])
    0.8
    """

    concavity: float = params.real(default=0.1, gt=0)
    ridge: float = params.real(default=100.0, gt=0)
    radius: float | None = params.real(default=None, gt=0, le=math.inf, optional=True)

    def _make_traits(self) -> Traits:
        return replace(super()._make_traits(), takes_outputs=False)

    def _policy(self) -> Policy:
        return Policy(start=1 / self.ridge, radius=self.radius, concavity=self.concavity)

    def _comparator(self, sums: dict[str, float]) -> float | None:
        return None
