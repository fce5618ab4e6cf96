"""What the learners share that are made of the learners they are given."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftline.base.composite import Composite, count_in
from driftline.base.learner import Learner
from driftline.base.nested import Nested
from driftline.base.refusals import Target
from driftline.base.rules import Rule
from driftline.tables.inputs import Array, Name

_SPARE = 100_000  # features that a state may know of beyond the numbers that it holds
REGRESSOR = Rule(
    lambda value: isinstance(value, Learner) and value._estimator_type == "regressor" and value._composes,
    "a regressor that can be one of several",
)
LINEAR = Rule(
    lambda value: REGRESSOR.accepts(value) and value._by_feature,  # so its weights can be combined with those of others
    "a regressor with a weight for each feature",
)


class Wrapper(Nested):
    """A learner made of others, which learn beside one another."""

    def _patterns_above(self) -> list[Learner]:
        """The learners that see what the others say."""
        return []

    def _compose(self, members: list[Learner], above: list[Learner], features: int) -> Composite:
        raise TypeError(f"{type(self).__name__} cannot be used by itself")

    def _copies_above(self) -> list[Learner]:
        """Of its own, in the dtype of the others, passing over what they pass over; no intercept where none is wanted."""
        return [
            pattern.clone({"dtype": self.dtype, "missing": self.missing, "intercept": self.intercept and pattern.intercept})
            for pattern in self._patterns_above()
        ]

    def _make_core(self, width: int) -> Composite:
        return self._compose(self._copies(self._patterns()), self._copies_above(), width - bool(self.intercept))

    def _core_for(self, state: dict[str, Array]) -> Any:
        return self._make_core(self._features_of(state) + bool(self.intercept))

    def _features_of(self, state: dict[str, Array]) -> int:
        if "features" not in state:
            return super()._features_of(state)
        most = sum(np.size(array) for array in state.values()) + _SPARE
        return count_in(state, "features", most)

    def _meet(self, row: Array, names: list[Name] | None) -> None:
        fresh = self._core is None
        super()._meet(row, names)
        if fresh:
            self._core.meet(row)

    def _replay_block(self, block: Array, y: Array | None, weight: Array | None, target: Target) -> int:
        core: Composite = self._core
        core.claim()
        try:
            return core.replay(block, y, weight, target)
        finally:
            core.release()

    def _operations(self, width: int) -> int:
        return sum(member._operations(width) for member in self._core.members)

    @property
    def coef_(self) -> Array:
        """The weights, without the intercept's."""
        weights = self._weights
        return weights[:-1] if self.intercept else weights

    @property
    def intercept_(self) -> float:
        """The weight of the constant feature; 0.0 without one."""
        return float(self._weights[-1]) if self.intercept else 0.0

    def _refresh(self, before: dict[str, Any]) -> None:
        now = self.get_params(deep=False)
        if any(now[name] != before[name] for name in ("intercept", "dtype")):
            raise ValueError
        self._core.follow(self._copies(self._patterns()), self._copies_above())
