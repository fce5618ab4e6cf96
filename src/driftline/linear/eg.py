"""Exponentiated gradient."""

from __future__ import annotations

from dataclasses import replace

from driftline import losses
from driftline._core import FirstOrderPolicy, Space
from driftline.base import params
from driftline.base.registry import learner
from driftline.base.traits import Traits
from driftline.linear.descent import Descending, native_loss


@learner
class EG(Descending):
    r"""Exponentiated gradient on any loss: the multiplicative update, O(d) a row.

    .. math:: w_i \leftarrow \frac{w_i \exp(-\eta\, \ell'(w \cdot x)\, x_i)}{\sum_j w_j \exp(-\eta\, \ell'(w \cdot x)\, x_j)}

    The weights start uniform and stay on the simplex: positive, with sum 1. With a ``norm`` U this is EG±: it has 2d
    weights, p for :math:`U x` and n for :math:`-U x`, and :math:`w = U (p - n)` has a 1-norm of at most U.

    Args:
        rate: :math:`\eta`.
        norm: None for the simplex, or the 1-norm U of EG±.
        loss: as for :class:`~driftline.GD`; the squared loss has the gradient :math:`2 (w \cdot x - y) x`.

    References: :cite:`kivinen1997`; :cite:`schapire2018`, Section 1.3.

    >>> model = EG(rate=0.1, intercept=False)
    >>> for _ in range(200):
    ...     model.learn_one([1.0, 0.0], 0.8)
    ...     model.learn_one([0.0, 1.0], 0.2)
    >>> model.coef_.round(2).tolist()
    [0.8, 0.2]
    """

    rate: float = params.real(default=0.02, gt=0)
    norm: float | None = params.real(default=None, gt=0, optional=True)
    loss: str | losses.Loss = params.checked(default="squared", rule=losses.LOSS)

    def _make_traits(self) -> Traits:
        return replace(super()._make_traits(), may_run_away=False)  # the weights have a fixed norm

    def _policy(self) -> FirstOrderPolicy:
        loss, parameter = native_loss(losses.resolve(self.loss))
        if self.norm is None:
            return FirstOrderPolicy(rate=self.rate, loss=loss, parameter=parameter, space=Space.SIMPLEX)
        return FirstOrderPolicy(rate=self.rate, loss=loss, parameter=parameter, space=Space.SIGNED, norm=float(self.norm))
