"""The aggregating algorithm for regression."""

from __future__ import annotations

from driftline.base import params
from driftline.base.registry import learner
from driftline.linear.policies import Policy
from driftline.linear.recursion import Recursive


@learner
class AAR(Recursive):
    r"""The aggregating algorithm for regression (also: forward, Vovk-Azoury-Warmuth), O(d²) a row.

    .. math::
        k = S x, \quad \hat y = \frac{w \cdot x}{1 + x \cdot k}, \quad
        w \leftarrow w + \frac{y - w \cdot x}{1 + x \cdot k}\, k, \quad S \leftarrow S - \frac{k k^\top}{1 + x \cdot k}

    Ridge regression with shrunk predictions. Its regret to any fixed u is at most
    :math:`\text{ridge}\, |u|^2 + Y^2 \log\det(I + \sum x x^\top / \text{ridge})`.

    Args:
        ridge: b; S starts at I / ridge.
        clip: Forster's bound Y: predictions are clipped to [-Y, Y]. None for no clipping.

    References: :cite:`vovk2001`; :cite:`forster1999`; :cite:`moroshko2013`, Table 3.1.

    >>> model = AAR(ridge=1.0, intercept=False)
    >>> model.learn_one([1.0], 2.0)
    >>> round(model.predict_one([1.0]), 4)
    0.6667
    """

    ridge: float = params.real(default=1.0, gt=0)
    clip: float | None = params.real(default=None, gt=0, optional=True)

    def _policy(self) -> Policy:
        return Policy(start=1 / self.ridge, shrink=True, clip=self.clip)

    def _bound(self, sums: dict[str, float], comparator: float) -> tuple[float | None, dict[str, bool]]:
        largest = sums["largest_label"]
        conditions = {}
        if self.clip is not None:
            conditions[f"every label lies within clip = {self.clip:g}"] = largest <= self.clip
        return comparator + largest * largest * self._log_det_growth(), conditions
