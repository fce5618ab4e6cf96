"""RLS with covariance resets."""

from __future__ import annotations

import math

from driftline.base import params
from driftline.base.durations import DURATION, TIME
from driftline.base.registry import learner
from driftline.base.rules import COUNT, choice
from driftline.linear.policies import Every, Policy
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
        period: :math:`T_0`, rows between two resets; None or infinity never resets. With times, a number counts ``per``, and
            "1d" is a time.
        half_life: the time in which a row loses half its weight, in place of ``forgetting``: "6h", or a number in the unit
            of the times. None: rows count, whatever their times. See :doc:`/times`.
        per: the time that ``forgetting`` is for, and that passes before the first row. None: one unit of ``half_life``.

    References: :cite:`moroshko2013`, Table 5.1; :cite:`salgado1988`.

    >>> import numpy as np
    >>> model = CRRLS(forgetting=1.0, period=2, intercept=False)
    >>> model.run(np.ones((5, 1)), np.arange(5.0)).resets.tolist()
    [1, 3]
    """

    forgetting: float = params.real(default=0.99, gt=0, le=1)
    period: int | float | str | None = params.checked(default=100, rule=COUNT | choice([math.inf, None]) | TIME)
    half_life: float | str | None = params.checked(default=None, rule=DURATION, optional=True)
    per: float | str | None = params.checked(default=None, rule=DURATION, optional=True)

    def _policy(self) -> Policy:
        period = self.period
        reset = None if period is None or period == math.inf else Every(period if isinstance(period, str) else int(period))
        return Policy(time=self._forgets(self.forgetting), reset=reset)
