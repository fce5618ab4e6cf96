"""Features minus their mean, divided by their standard deviation."""

from __future__ import annotations

from typing import Any

from driftline import _core
from driftline.base import params
from driftline.features.transformer import Transformer


class Standardize(Transformer):
    r"""Scales every feature to mean 0 and standard deviation 1 over the rows so far.

    .. math:: z_j = (x_j - m_j) / s_j

    In front of a learner, and in :meth:`run`, the statistics include the current row, both in ``predict_one`` and in
    ``learn_one``. :math:`|z_j|` is therefore at most :math:`\sqrt{n - 1}` in row n, however little the earlier rows varied.
    ``transform_one`` and ``transform`` use only learned rows. A constant feature becomes 0.

    Args:
        forgetting: in (0, 1]; each new row multiplies the weights of earlier rows by it. With 1, all rows have the same
            weight.

    References: :cite:`welford1962`.

    >>> Standardize().run([[1.0], [3.0], [5.0]]).ravel().round(4).tolist()
    [0.0, 1.0, 1.2247]
    """

    forgetting: float = params.real(default=1.0, gt=0, le=1)

    def _stage(self, width: int) -> Any:
        return _core.Standardize(width, self.forgetting)
