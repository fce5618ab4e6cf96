"""Recursive least squares."""

from __future__ import annotations

from driftline.base import params
from driftline.base.durations import DURATION
from driftline.base.registry import learner
from driftline.linear.policies import FORGETTING, Policy, Schedule
from driftline.linear.recursion import Recursive


@learner
class RLS(Recursive):
    r"""Recursive least squares with exponential forgetting, O(d²) a row.

    .. math::
        S \leftarrow S/\lambda_t, \quad k = S x, \quad w \leftarrow w + \frac{y - w \cdot x}{1 + x \cdot k}\, k, \quad
        S \leftarrow S - \frac{k k^\top}{1 + x \cdot k}

    After every row, w minimises :math:`\sum_i \lambda^{t-i} (y_i - w \cdot x_i)^2 + \lambda^t\, \text{ridge}\, |w|^2`. The
    ridge fades like a row: with fewer rows in memory than features, the weights are not determined, and predictions diverge.

    With ``keep_prior`` the ridge does not fade: w minimises :math:`\sum_i \lambda^{t-i} (y_i - w \cdot x_i)^2 + r_t |w|^2`
    with :math:`r_t = q_t\, \text{ridge}`, :math:`0.79 \le q_t \le 1.27`, and S stays below 1.27 I / ridge. q starts at 1:

    .. math::
        q' = \lambda_t q; \quad \text{when } q' < 0.79: \quad
        q \leftarrow 1 / q, \quad a = (q - q')\, \text{ridge}, \quad S^{-1} \leftarrow S^{-1} + a I, \quad
        w \leftarrow w - a S w; \quad \text{otherwise } q \leftarrow q'

    That costs O(d³) once every 0.47 / (1 - forgetting) rows or so: O(d²) a row on average, if the memory has at least as
    many rows as there are features.

    Args:
        forgetting: :math:`\lambda` in (0, 1]; the memory is about 1 / (1 - forgetting) rows. A function of the row's index
            t = 1, 2, ... or a sequence changes it from row to row.
        ridge: S starts at I / ridge.
        keep_prior: forget the rows but not the ridge.
        half_life: the time in which a row loses half its weight, in place of ``forgetting``: "6h", or a number in the unit
            of the times. None: rows count, whatever their times. See :doc:`/times`.
        per: the time that ``forgetting`` is for, and that passes before the first row. None: one unit of ``half_life``.

    References: :cite:`hayes1996`, section 9.4; :cite:`zhao2021`, Eq. (2), for a changing forgetting factor.

    >>> model = RLS(forgetting=0.99)
    >>> for t in range(50):
    ...     model.learn_one([t % 3], 2.0 + 0.5 * (t % 3))
    >>> round(model.predict_one([4.0]), 2)
    4.07
    """

    forgetting: float | Schedule = params.checked(default=0.99, rule=FORGETTING)
    ridge: float = params.real(default=1.0, gt=0)

    keep_prior: bool = params.boolean(default=False)
    half_life: float | str | None = params.checked(default=None, rule=DURATION, optional=True)
    per: float | str | None = params.checked(default=None, rule=DURATION, optional=True)

    def _policy(self) -> Policy:
        return Policy(start=1 / self.ridge, time=self._forgets(self.forgetting, self.keep_prior))
