"""The learner that needs no tuning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, overload

import numpy as np

from driftline import _core
from driftline.base import river
from driftline.base.certificate import Certificate
from driftline.base.learner import Learner
from driftline.base.native import Core, NativeCore
from driftline.base.registry import learner
from driftline.base.traits import Traits
from driftline.ensembles.beliefs import TEAM, Team, in_words, name_of
from driftline.tables.inputs import Array

if TYPE_CHECKING:
    from driftline.ensembles.own_experts import AutoWithExperts

_NONE = np.empty(0)


class AutoCore(NativeCore, Protocol):
    """Auto's core."""

    def set_limits(self, limits: _core.Limits) -> None:
        """Sets the range of the label, from the next row on."""

    def memory(self) -> Array:
        """The memory in rows, and the variance of a weight's step per row."""

    def experts(self) -> list[_core.Expert]:
        """The experts of the linear core, with their shares of its weight."""

    def team(self) -> Array:
        """The weights of the linear core and of the other experts."""

    def said(self, x: Array, delay: int) -> Array:
        """The predictions of the linear core and of the other experts for a row."""

    def profiles(self) -> list[tuple[int, int, float]]:
        """The keys of the profiles, with the share of label variance that each explains."""

    def importance(self) -> tuple[Array, Array, Array]:
        """Each column's share of the total gain of the trees' splits."""


@learner
class Auto(Learner, init=False):
    r"""A mixture of experts that follows the target at whatever speed it moves, O(d²) a row.

    There is nothing to tune. Auto runs some twenty second-order learners: with exponential forgetting, with random-walk
    weights, and with resets when the errors suggest that the target jumped. Some get the features on one common scale, some
    standardised, some also the last labels, earlier rows and squares. Their predictions are mixed by

    .. math:: p_k \propto L_k^{-n/2}, \quad L_k = \sum_i \alpha^{t-i} (y_i - f_{k,i})^2, \quad n = \sum_i \alpha^{t-i}

    at three forgetting factors :math:`\alpha`. A learner on top predicts the residual of the mixture from the experts'
    deviations from it, and a mixture of the same form chooses among these predictions. This is the linear core. There are
    further experts: autoregression in differences, profiles of features with few values, trees that are continually
    replaced, and a stack. A final aggregation, which initially favours the core, combines them. See :doc:`/auto`.

    ``Auto(experts=[...])`` adds your own learners to the experts; see :doc:`/auto`.

    ``predict``, ``predict_intervals`` and ``score`` predict rows before whose labels no other label comes. They use the
    features alone, and are fitted to a sample of the rows learned when they are first called.

    ``coef_`` and ``intercept_`` are those of the linear model that the experts of the core currently form together, ignoring
    clipping, shrinkage and squares. Label lags follow the order of ``learn_one``.

    References: :cite:`raftery2010`; :cite:`jacobsen2024`; :cite:`rokhlin2025`.

    >>> model = Auto()
    >>> for t in range(200):
    ...     x = [t % 7, t % 5]
    ...     model.learn_one(x, 1000.0 + 2.0 * x[0] - 3.0 * x[1])
    >>> abs(model.predict_one([3.0, 1.0]) - 1003.0) < 0.5
    True
    """

    _with_experts: ClassVar[type[Auto]]  # set by own_experts.py

    @overload
    def __new__(
        cls,
        *,
        intercept: bool = ...,
        dtype: str = ...,
        missing: str = ...,
        low: float | None = ...,
        high: float | None = ...,
        late_rows: str = ...,
    ) -> Auto: ...
    @overload
    def __new__(
        cls,
        *,
        experts: Sequence[Learner],
        intercept: bool = ...,
        dtype: str = ...,
        missing: str = ...,
        low: float | None = ...,
        high: float | None = ...,
        late_rows: str = ...,
    ) -> AutoWithExperts: ...
    def __new__(cls, *_: Any, **options: Any) -> Any:
        """If ``experts`` is given, an Auto that has the user's own learners among its experts."""
        return super().__new__(cls._with_experts if cls is Auto and "experts" in options else cls)

    def _make_traits(self) -> Traits:
        return Traits(
            sums=_core.auto_sums, plain_intercept=False, may_refuse=False, looks_back=True, measured_apart=True,
            over_time=lambda memory: {"memory": memory[:, 0].copy(), "drift": memory[:, 1].copy()},
        )  # fmt: skip

    def _make_core(self, width: int, row: Any = None) -> AutoCore:
        kind = _core.Auto64 if self.dtype == "float64" else _core.Auto32
        return kind(width, bool(self.intercept), self._limits)

    def _refresh(self, before: dict[str, Any]) -> None:
        super()._refresh(before)
        self._require_core("set_params").set_limits(self._limits)

    def _restored_core(self, state: dict[str, Any]) -> Core:
        if state["numbers"].size + state.get("entries", _NONE).size < len(state["weights"]) ** 2:
            raise ValueError("the state is too small for its weights")  # before allocating memory for it
        return super()._restored_core(state)

    @property
    def weights_(self) -> dict[str, float]:
        """The share of each expert in the mixture, by its inputs and its forgetting. They sum to 1."""
        core = self._require_core("weights_")
        team = core.team().tolist()
        linear = {name_of(expert): team[0] * expert.share for expert in core.experts()}
        return {**linear, **dict(zip(TEAM[1:], team[1:], strict=True))}

    def _experts(self, row: Array | None = None) -> tuple[dict[str, float], Array | None]:
        core = self._require_core("weights_")
        return dict(zip(TEAM, core.team().tolist(), strict=True)), None if row is None else core.said(row, core.delay)

    @property
    def memory_(self) -> float:
        """The effective number of rows in use: the weighted geometric mean of the experts' memories."""
        return float(self._require_core("memory_").memory()[0])

    @property
    def drift_(self) -> float:
        """The weighted mean of the experts' drifts: the variance of a weight's step, for features and noise of variance 1.

        Dominated by the fastest experts when they disagree; ``memory_`` shows where most of the weight is.
        """
        return float(self._require_core("drift_").memory()[1])

    def explain(self) -> str:
        """Describes in words what the learner has found out about the stream."""
        if self._core is None:
            return "Auto has seen no row yet."
        core = self._core
        names = [f"feature {j}" for j in range(self.n_features_in_)] if self._names is None else list(map(str, self._names))
        team = Team(core.team(), core.profiles(), core.importance(), names)
        return in_words(core.experts(), team, self.n_seen_, self.memory_, self.drift_, self._sums())

    def _certify(self, sums: dict[str, float]) -> Certificate:
        events = {name: int(sums[name]) for name in ("expert_resets", "rescalings", "outliers", "gaps") if sums[name] > 0}
        return Certificate(sums["loss"], events=events)

    def _unit_test_skips(self) -> frozenset[str]:
        return river.DEPENDS_ON_ORDER  # the trees draw features by position
