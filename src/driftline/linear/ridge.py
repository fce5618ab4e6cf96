"""Online ridge regression."""

from __future__ import annotations

from driftline.base import params
from driftline.base.registry import learner
from driftline.linear.policies import Policy
from driftline.linear.recursion import Recursive


@learner
class Ridge(Recursive):
    r"""Online ridge regression, in which all rows keep the same weight. O(d²) a row.

    .. math::
        k = S x, \quad w \leftarrow w + \frac{y - w \cdot x}{1 + x \cdot k}\, k, \quad
        S \leftarrow S - \frac{k k^\top}{1 + x \cdot k}

    After every row, w minimises :math:`\sum_i (y_i - w \cdot x_i)^2 + \text{ridge}\, |w|^2`.

    Args:
        ridge: b; S starts at I / ridge.

    References: :cite:`moroshko2013`, Table 3.1; :cite:`azoury2001`.

    >>> model = Ridge(ridge=0.1, intercept=False)
    >>> for x, y in [(1.0, 2.0), (2.0, 4.1), (3.0, 5.9)]:
    ...     model.learn_one([x], y)
    >>> round(float(model.coef_[0]), 4)
    1.9787
    """

    ridge: float = params.real(default=1.0, gt=0)

    def _policy(self) -> Policy:
        return Policy(start=1 / self.ridge)
