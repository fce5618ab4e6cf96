"""Generalised linear models: second-order learning of counts, amounts, probabilities and quantiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from driftline import losses
from driftline._core import Likelihood, Limits
from driftline.base import params, replay
from driftline.base.durations import DURATION
from driftline.base.registry import learner
from driftline.base.rules import Rule, choice
from driftline.base.run import Run
from driftline.base.traits import Traits
from driftline.linear.policies import Add, Divide, Policy
from driftline.linear.recursion import Recursive
from driftline.tables.inputs import Array

_SMALLEST = math.ulp(0.0)
_LEAST = 2.0**-53  # a probability


class Family(NamedTuple):
    """What a loss says of the label."""

    likelihood: Likelihood
    low: float = -math.inf
    high: float = math.inf
    words: str = ""


_FAMILIES = {
    "poisson": Family(Likelihood.POISSON, 0.0, math.inf, "takes labels of at least 0"),
    "gamma": Family(Likelihood.GAMMA, _SMALLEST, math.inf, "takes labels above 0"),
    "logistic": Family(Likelihood.LOGISTIC, 0.0, 1.0, "takes labels from 0 to 1"),
    "pinball": Family(Likelihood.PINBALL),
    "huber": Family(Likelihood.HUBER),
}
_OBJECTS = (losses.Squared, losses.Absolute, losses.Huber, losses.Pinball)
_LOSS = choice(_FAMILIES) | Rule(
    lambda value: isinstance(value, _OBJECTS), "Squared(), Absolute(), Huber(...) or Pinball(...) of driftline.losses"
)


def _huber(y: Array, p: Array, threshold: float) -> Array:
    error = np.abs(y - p)
    values: Array = np.where(error <= threshold, 0.5 * error**2, threshold * (error - 0.5 * threshold))
    return values


def _logistic(y: Array, p: Array, _: float) -> Array:
    p = np.clip(p, _LEAST, 1 - _LEAST)
    values: Array = -y * np.log(p) - (1 - y) * np.log1p(-p)
    return values


# The losses of labels y and predictions p.
_VALUES: dict[Likelihood, Callable[[Array, Array, float], Array]] = {
    Likelihood.NONE: lambda y, p, _: np.square(y - p),
    Likelihood.POISSON: lambda y, p, _: y * (np.log(np.where(y > 0, y, 1.0)) - np.log(p)) - (y - p),
    Likelihood.GAMMA: lambda y, p, _: y / p - 1 - (np.log(y) - np.log(p)),
    Likelihood.LOGISTIC: _logistic,
    Likelihood.PINBALL: lambda y, p, level: np.maximum(level * (y - p), (level - 1) * (y - p)),
    Likelihood.HUBER: _huber,
}


@learner
class GLM(Recursive):
    r"""Generalised linear models by second-order steps, O(d²) a row.

    .. math::
        S \leftarrow S/\lambda \text{ or } S + \delta I, \quad r = x^\top S x, \quad
        u = \arg\min_u \tfrac 1{2r} (u - w \cdot x)^2 + \ell(u, y),

        w \leftarrow w - \ell'(u, y)\, S x, \quad S^{-1} \leftarrow S^{-1} + \ell''(u, y)\, x x^\top

    The step of the natural gradient, or of the extended Kalman filter, made implicit: the slope is taken at the new
    :math:`u = w \cdot x`, so the loss of a row never rises. The prediction is the mean of the label, on its own scale.

    ======================= ============================== ====================================================
    ``loss``                prediction                     :math:`\ell(u, y)`
    ======================= ============================== ====================================================
    "poisson"               :math:`e^u`, for counts        :math:`e^u - y u`
    "gamma"                 :math:`e^u`, for amounts > 0   :math:`u + y e^{-u}`, with its mean curvature 1
    "logistic"              :math:`1/(1 + e^{-u})`         :math:`\log(1 + e^u) - y u`, for labels from 0 to 1
    "pinball"               the median, or a quantile      the pinball loss, in units of its recent mean
    "huber"                 :math:`u`                      squared near 0, linear beyond a threshold of 1
    ======================= ============================== ====================================================

    For another level or threshold, pass ``losses.Pinball(0.9)`` or ``losses.Huber(5.0)``. ``losses.Squared()`` gives RLS or,
    with ``drift``, Kalman. ``run.losses`` are those of the loss: half the deviance for "poisson" and "gamma". Intervals and
    quantiles are wider where the variance of such labels is larger.

    Args:
        loss: "poisson", "gamma", "logistic", "pinball" or "huber", or a loss object.
        forgetting: :math:`\lambda` in (0, 1]; the memory is about 1 / (1 - λ) rows. None for no forgetting.
        drift: :math:`\delta`, the variance of the weights' steps from row to row. None for no drift.
        ridge: S starts at I / ridge.
        half_life: the time in which a row loses half its weight, in place of ``forgetting``: "6h", or a number in the unit
            of the times. None: rows count, whatever their times. See :doc:`/times`.
        per: the time that ``forgetting`` or ``drift`` is for, and that passes before the first row. None: one unit of
            ``half_life``.

    References: :cite:`ollivier2018` for the natural gradient and the Kalman filter; :cite:`toulis2017` for implicit steps.

    >>> model = GLM(loss="poisson", forgetting=0.99)
    >>> for t in range(500):
    ...     model.learn_one([t % 3], [1, 3, 9][t % 3])
    >>> round(model.predict_one([2.0]), 1)
    9.0
    """

    loss: str | losses.Loss = params.checked(default="poisson", rule=_LOSS)
    forgetting: float | None = params.real(default=None, gt=0, le=1, optional=True)
    drift: float | None = params.real(default=None, ge=0, optional=True)
    ridge: float = params.real(default=1.0, gt=0)
    half_life: float | str | None = params.checked(default=None, rule=DURATION, optional=True)
    per: float | str | None = params.checked(default=None, rule=DURATION, optional=True)

    def _check_relations(self, values: dict[str, Any]) -> None:
        super()._check_relations(values)
        given = [name for name in ("forgetting", "drift", "half_life") if values[name] is not None]
        if len(given) > 1:
            raise ValueError(f"GLM: {' and '.join(given)} exclude each other: all but one must be None")

    @property
    def _family(self) -> Family:
        if isinstance(self.loss, str):
            return _FAMILIES[self.loss]
        kinds = {losses.Squared: Likelihood.NONE, losses.Huber: Likelihood.HUBER}
        return Family(kinds.get(type(self.loss), Likelihood.PINBALL))

    def _policy(self) -> Policy:
        level, family = getattr(self.loss, "level", 0.5), self._family
        normal = NormalDist()
        return Policy(
            start=1 / self.ridge,
            time=Divide(self.forgetting, half_life=self.half_life, per=self.per)
            if self.forgetting is not None or self.half_life is not None
            else Add(self.drift, self.per)
            if self.drift
            else None,
            likelihood=family.likelihood,
            parameter=level if family.likelihood is Likelihood.PINBALL else getattr(self.loss, "threshold", 1.0),
            curvature=normal.pdf(normal.inv_cdf(level)) ** 2,
        )

    def _make_traits(self) -> Traits:
        linked = bool(self._family.words)
        traits = super()._make_traits()
        family = self._family
        words = dict.fromkeys((family.low, family.high), f"but loss={self.loss!r} {family.words}") if family.words else {}
        return replace(
            traits, linear=not linked, has_link=linked, may_run_away=not linked, takes_outputs=False,
            labels=Limits(family.low, family.high), label_words=words,
        )  # fmt: skip

    def _learn_table(self, X: Any, y: Any, sample_weight: Any, where: str, *options: Any, **more: Any) -> Run:
        run = super()._learn_table(X, y, sample_weight, where, *options, **more)
        labels, policy = replay.as_labels(self, y, len(run), where), self._current_policy()
        with np.errstate(over="ignore", invalid="ignore"):
            own = _VALUES[policy.likelihood](labels, run.predictions, policy.parameter)
        return replace(run, own_losses=own)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self._family.low >= 0
        return tags

    def _comparator(self, sums: dict[str, float]) -> float | None:
        return super()._comparator(sums) if self._family.likelihood is Likelihood.NONE else None
