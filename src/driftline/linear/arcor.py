"""Adaptive regularisation with covariance reset."""

from __future__ import annotations

import math
from typing import Any, Self

from driftline.base import params
from driftline.base.registry import learner
from driftline.base.rules import number
from driftline.linear.policies import THRESHOLDS, Below, Policy, Schedule
from driftline.linear.recursion import Recursive

_DRIFT = number(gt=1, le=math.inf) | number(ge=-math.inf, lt=-1)


@learner
class ARCOR(Recursive):
    r"""AROWR that resets S when its smallest eigenvalue gets too small, and keeps w in a ball. O(d²) a row.

    .. math::
        k = S x, \quad w \leftarrow w + \frac{y - w \cdot x}{r + x \cdot k}\, k, \quad
        S \leftarrow S - \frac{k k^\top}{r + x \cdot k};

        \lambda_{\min}(S) < \Lambda_i:\; S \leftarrow I,\; i \leftarrow i + 1;

        |w| > R:\; w \leftarrow (I + a S)^{-1} w \text{ with } |w| = R

    The eigenvalue test is exact and costs as much as the step itself. A projection costs O(d³), only on rows that need one.

    Args:
        noise: r; a larger value gives each row less weight.
        radius: R, :math:`R_B` in the paper; None for no projection.
        schedule: a power q >= 1 for :math:`\Lambda_i = 1/(i^{q-1} + 1)`; None never resets; a function of i = 1, 2, ... or a
            sequence gives the thresholds themselves.

    References: :cite:`vaits2011`, Fig. 1 and Corollary 2.

    >>> import numpy as np
    >>> model = ARCOR(noise=1.0, schedule=2.0, intercept=False)
    >>> model.run(np.full((6, 1), 1.5), np.ones(6)).resets.tolist()
    [0, 1, 3, 5]
    """

    noise: float = params.real(default=1.0, gt=0)
    radius: float | None = params.real(default=None, gt=0, le=math.inf, optional=True)
    schedule: float | Schedule | None = params.checked(default=2.0, rule=THRESHOLDS, optional=True)

    @classmethod
    def for_drift(cls, p: float, **parameters: Any) -> Self:
        """ARCOR tuned for a total drift of :math:`T^{1/p}` over T rows: q = 2p / (p + 1), between 1 and 2.

        p below -1 is for a target that hardly moves, as in the paper's remark on low noise: q is above 2 then, and grows
        without limit as p approaches -1. For a fixed target, ``schedule=None`` is better: any q resets at least once.
        """
        p = _DRIFT.require(f"{cls.__name__}.for_drift", "p", p)
        return cls(schedule=2.0 / (1.0 + 1.0 / p), **parameters)

    def _policy(self) -> Policy:
        reset = None if self.schedule is None else Below(self.schedule)
        return Policy(noise=self.noise, reset=reset, radius=self.radius)
