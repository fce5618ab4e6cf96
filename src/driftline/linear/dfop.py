"""Distribution-free one-pass learning."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from driftline import extensions
from driftline.base import params
from driftline.base.durations import DURATION
from driftline.base.learner import Learner
from driftline.base.registry import learner
from driftline.base.rules import PROBABILITY, choice, is_sequence, number
from driftline.linear.policies import Divide, Policy, Schedule, schedule_of, values_of
from driftline.linear.recursion import Recursive

ADAPTIVE = "adaptive"
FORGET_RATES = PROBABILITY | schedule_of(PROBABILITY, "such numbers")


def rate_for_period(period: float, owner: str) -> float:
    """The forget rate 1 / T0 for a target that changes every T0 rows."""
    return 1 / number(gt=1).require(f"{owner}.for_period", "T0", period)


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
        forget_rate: :math:`\mu` in (0, 1). A function of the row's index t = 1, 2, ... or a sequence changes it from row to
            row: w then minimises :math:`\sum_i \prod_{j > i} (1 - \mu_j) (y_i - w \cdot x_i)^2`, Eq. (2), and P has the
            scale of the first rate: :math:`1/\mu` above is :math:`1/\mu_1`. "adaptive" learns at ten rates from 0.0006 to
            0.32 at once, and mixes them: :doc:`/drift`.
        prior: :math:`P_0` is prior * I.
        half_life: the time in which a row loses half its weight, in place of ``forget_rate``: "6h", or a number in the unit
            of the times. None: rows count, whatever their times. See :doc:`/times`.
        per: the time that ``forget_rate`` is for, and that passes before the first row. None: one unit of ``half_life``.

    References: :cite:`zhao2021`, Algorithm 1, and Eq. (2) for a changing rate.

    >>> model = DFOP(forget_rate=0.5, prior=1.0, intercept=False)
    >>> model.learn_one([1.0], 2.0)
    >>> model.predict_one([1.0])
    1.0
    """

    forget_rate: float | Schedule | str = params.checked(default=0.01, rule=FORGET_RATES | choice([ADAPTIVE]))
    prior: float = params.real(default=100.0, gt=0)
    half_life: float | str | None = params.checked(default=None, rule=DURATION, optional=True)
    per: float | str | None = params.checked(default=None, rule=DURATION, optional=True)

    _adaptive: ClassVar[type[Learner]]  # set by ensembles/adaptive_dfop.py

    def __new__(cls, *_: Any, **options: Any) -> Any:
        """A mixture of rates if the rate is adaptive."""
        if cls is DFOP and options.get("forget_rate") == ADAPTIVE:
            extensions.load("learners")
            return cls._adaptive(**options)
        return super().__new__(cls)

    def _check_relations(self, values: dict[str, Any]) -> None:
        super()._check_relations(values)
        if values["forget_rate"] == ADAPTIVE:
            raise ValueError("DFOP: forget_rate='adaptive' needs a new learner, DFOP(forget_rate='adaptive')")

    @classmethod
    def for_period(cls, T0: float, **parameters: Any) -> Self:
        """DFOP for a target that changes every T0 rows: the rate 1 / T0 that Section 6.4 of the paper recommends."""
        return cls(forget_rate=rate_for_period(T0, cls.__name__), **parameters)

    def _policy(self) -> Policy:
        rate = self.forget_rate
        if callable(rate) or is_sequence(rate):
            first = values_of(rate, [1], PROBABILITY, f"{type(self).__name__}: forget_rate")[0]
            return Policy(start=self.prior, time=Divide(_keep(rate)), noise=1 / float(first))
        time = self._forgets(1 - float(rate))  # type: ignore[arg-type]
        if time.half_life is not None:
            rate = time.rate
        return Policy(start=self.prior, time=time, noise=1 / float(rate))  # type: ignore[arg-type]


def _keep(rates: Schedule) -> Schedule:
    """The forgetting factors that belong to a schedule of rates."""
    if callable(rates):
        return lambda t: 1 - float(values_of(rates, [t], PROBABILITY, "forget_rate")[0])
    return [1 - float(rate) for rate in rates]
