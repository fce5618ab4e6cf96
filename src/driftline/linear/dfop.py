"""Distribution-free one-pass learning."""

from __future__ import annotations

from driftline.base import params
from driftline.base.registry import learner
from driftline.linear.policies import Divide, Policy
from driftline.linear.recursion import Recursive


@learner
class DFOP(Recursive):
    r"""Distribution-free one-pass learning, O(d²) a row.

    .. math::
        P \leftarrow P/(1 - \mu), \quad k = P x,

        w \leftarrow w + \frac{y - w \cdot x}{1/\mu + x \cdot k}\, k, \quad
        P \leftarrow P - \frac{k k^\top}{1/\mu + x \cdot k}

    The same learner as ``RLS(forgetting=1 - forget_rate, ridge=1 / (forget_rate * prior))``. It predicts a row before it
    learns it, unlike line 5 of the paper's Algorithm 1.

    Args:
        forget_rate: :math:`\mu` in (0, 1).
        prior: :math:`P_0` is prior * I.

    References: :cite:`zhao2021`, Algorithm 1.

    >>> model = DFOP(forget_rate=0.5, prior=1.0, intercept=False)
    >>> model.learn_one([1.0], 2.0)
    >>> model.predict_one([1.0])
    1.0
    """

    forget_rate: float = params.real(default=0.01, gt=0, lt=1)
    prior: float = params.real(default=100.0, gt=0)

    def _policy(self) -> Policy:
        return Policy(start=self.prior, time=Divide(1 - self.forget_rate), noise=1 / self.forget_rate)
