"""Features less their mean, over their deviation."""

from __future__ import annotations

from typing import Any

from driftline import _core
from driftline.base import params
from driftline.features.transformer import Transformer


class Standardize(Transformer):
    r"""Brings every feature to mean 0 and deviation 1, by the rows so far.

    .. math:: z_j = (x_j - m_j) / s_j

    In front of a learner, and in :meth:`run`, the current row counts among the rows so far, in ``predict_one`` as in
    ``learn_one``. So :math:`|z_j|` is at most :math:`\sqrt{n - 1}` in row n, however little the earlier rows varied.
    ``transform_one`` and ``transform`` go by the rows that were learned alone. A feature that never varied gives 0.

    Args:
        forgetting: in (0, 1]: the weight of a row is multiplied by it with each row that follows. 1 is the plain mean and
            the deviation of all rows.

    References: :cite:`welford1962`.

    >>> Standardize().run([[1.0], [3.0], [5.0]]).ravel().round(4).tolist()
    [0.0, 1.0, 1.2247]
    """

    forgetting: float = params.real(default=1.0, gt=0, le=1)

    def _stage(self, width: int) -> Any:
        return _core.Standardize(width, self.forgetting)
