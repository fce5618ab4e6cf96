"""RLS with covariance resets."""

from __future__ import annotations

import math

from driftline.base import params
from driftline.base.registry import learner
from driftline.base.rules import COUNT, choice
from driftline.linear.policies import Divide, Every, Policy
from driftline.linear.recursion import Recursive


@learner
class CRRLS(Recursive):
    r"""Recursive least squares whose covariance is reset periodically, O(d²) a row.

    .. math::
        S \leftarrow S/\lambda, \quad k = S x, \quad w \leftarrow w + \frac{y - w \cdot x}{1 + x \cdot k}\, k, \quad
        S \leftarrow S - \frac{k k^\top}{1 + x \cdot k};

        S \leftarrow I \text{ after rows } T_0, 2 T_0, \dots

    Args:
        forgetting: :math:`\lambda` in (0, 1], called r in the thesis.
        period: :math:`T_0`, rows between two resets; None or infinity never resets.

    References: :cite:`moroshko2013`, Table 5.1; :cite:`salgado1988`.

    >>> import numpy as np
    >>> model = CRRLS(forgetting=1.0, period=2, intercept=False)
    >>> model.run(np.ones((5, 1)), np.arange(5.0)).resets.tolist()
    [1, 3]
    """

    forgetting: float = params.real(default=0.99, gt=0, le=1)
    period: int | float | None = params.checked(default=100, rule=COUNT | choice([math.inf, None]))

    def _policy(self) -> Policy:
        reset = None if self.period is None or self.period == math.inf else Every(int(self.period))
        return Policy(time=Divide(self.forgetting), reset=reset)
