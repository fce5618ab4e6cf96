"""Online gradient descent."""

from __future__ import annotations

from driftline import losses
from driftline._core import FirstOrderPolicy
from driftline.base import params, river
from driftline.base.registry import learner
from driftline.linear.descent import Descending, native_loss


@learner
class GD(Descending):
    r"""Online gradient descent on any loss: the additive update, O(d) a row.

    .. math:: w \leftarrow w - \eta\, \ell'(w \cdot x)\, x

    The prediction is :math:`w \cdot x` for every loss, including the logistic one.

    Args:
        rate: :math:`\eta`. With the squared loss, whose gradient is :math:`2 (w \cdot x - y) x`, it is stable below
            :math:`1/|x|^2`.
        loss: "squared", "absolute", "huber", "pinball", "logistic", "hinge", "perceptron", or an object such as
            ``losses.Huber(threshold=2.0)`` with ``value(y, prediction)`` and ``gradient(y, prediction)``.

    References: :cite:`schapire2018`, Section 1.3; :cite:`kivinen1997`.

    >>> model = GD(rate=0.25, loss="absolute", intercept=False)
    >>> model.learn_one([1.0], 2.0)
    >>> model.predict_one([1.0])
    0.25
    """

    rate: float = params.real(default=0.005, gt=0)
    loss: str | losses.Loss = params.checked(default="squared", rule=losses.LOSS)

    def _policy(self) -> FirstOrderPolicy:
        loss, parameter = native_loss(losses.resolve(self.loss))
        return FirstOrderPolicy(rate=self.rate, loss=loss, parameter=parameter)

    def _stable_rate(self, largest_norm2: float) -> str:
        return f"with the squared loss a rate below {1 / largest_norm2:.3g} = 1 / max|x|^2 is stable on these rows"

    def _unit_test_skips(self) -> frozenset[str]:
        return river.NEEDS_SCALED_ROWS if losses.resolve(self.loss) == losses.Squared() else frozenset()
