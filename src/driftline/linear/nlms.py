"""Normalised least mean squares."""

from __future__ import annotations

from driftline._core import FirstOrderPolicy, Loss, Rate
from driftline.base import params
from driftline.base.registry import learner
from driftline.linear.descent import Descending


@learner
class NLMS(Descending):
    r"""Normalised least mean squares, O(d) a row.

    .. math:: w \leftarrow w - \frac{\eta}{\varepsilon + |x|^2} (w \cdot x - y)\, x

    Args:
        rate: :math:`\eta` in (0, 2); 1 corrects the whole error of the row when eps is 0.
        eps: :math:`\varepsilon`; avoids division by almost 0 for small rows.

    References: :cite:`hayes1996`, section 9.2.3.

    >>> model = NLMS(rate=1.0, eps=0.0, intercept=False)
    >>> model.learn_one([2.0], 3.0)
    >>> model.predict_one([2.0])
    3.0
    """

    rate: float = params.real(default=0.5, gt=0, lt=2)
    eps: float = params.real(default=1.0, ge=0)

    def _policy(self) -> FirstOrderPolicy:
        return FirstOrderPolicy(rate=self.rate, loss=Loss.HALF_SQUARED, rule=Rate.NORMALISED, eps=self.eps)
