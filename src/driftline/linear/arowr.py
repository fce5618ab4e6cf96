"""AROW for regression."""

from __future__ import annotations

from driftline.base import params
from driftline.base.registry import learner
from driftline.linear.policies import Policy
from driftline.linear.recursion import Recursive


@learner
class AROWR(Recursive):
    r"""Adaptive regularisation of weights for regression, O(d²) a row.

    .. math::
        k = S x, \quad w \leftarrow w + \frac{y - w \cdot x}{r + x \cdot k}\, k, \quad
        S \leftarrow S - \frac{k k^\top}{r + x \cdot k}

    Args:
        noise: r; a larger value gives each row less weight.
        ridge: b; S starts at I / ridge.

    References: :cite:`vaits2011`, Eqs. (3) and (4); :cite:`moroshko2013`, Table 3.1.

    >>> model = AROWR(noise=2.0, intercept=False)
    >>> model.learn_one([1.0], 3.0)
    >>> model.predict_one([1.0])
    1.0
    """

    noise: float = params.real(default=1.0, gt=0)
    ridge: float = params.real(default=1.0, gt=0)

    def _policy(self) -> Policy:
        return Policy(start=1 / self.ridge, noise=self.noise)

    def _bound(self, sums: dict[str, float], comparator: float) -> tuple[float | None, dict[str, bool]]:
        return comparator + sums["largest_loss"] * self._log_det_growth(), {}
