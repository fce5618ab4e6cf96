"""Base class for meta-learners."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from driftline._core import Outputs
from driftline.base.batch import Batch
from driftline.base.composite import Composite, count_in
from driftline.base.learner import Learner
from driftline.base.nested import Nested
from driftline.base.rules import Rule
from driftline.storage.codec import leaves
from driftline.tables.inputs import Array

_SPARE = 100_000  # how many more features than numbers a state may claim
REGRESSOR = Rule(
    lambda value: isinstance(value, Learner) and value._estimator_type == "regressor" and value._traits.composes,
    "a regressor that can be a member of an ensemble",
)
LINEAR = Rule(
    lambda value: REGRESSOR.accepts(value) and value._traits.by_feature and not value._traits.has_link,
    "a regressor with a weight for each feature",  # such weights can be combined
)


class MetaLearner(Nested):
    """A learner made of other learners, which learn side by side."""

    def _compose(self, members: list[Learner], above: list[Learner], features: int) -> Composite:
        raise TypeError(f"{type(self).__name__} cannot be used by itself")

    def _copies_of_the_top(self) -> list[Learner]:
        """Copies of the top learners, with the members' options, and an intercept only if wanted."""
        common = {"dtype": self.dtype, "missing": self._missing_within, "low": self.low, "high": self.high}
        return [
            learner.clone({**common, "intercept": self.intercept and learner.intercept}) for learner in self._top_learners()
        ]

    def _make_core(self, width: int, row: Any = None) -> Composite:
        members, above = self._copies(self._base_learners()), self._copies_of_the_top()
        core = self._compose(members, above, width - bool(self.intercept))
        core.limits = self._limits
        if row is not None:
            with self._guard.closure():  # which keeps a member's schedule from calling a model that is half made
                core.meet(row)
        return core

    def _restored_core(self, state: dict[str, Any]) -> Composite:
        most = sum(np.size(part) for _, part in leaves(state)) + _SPARE
        features = count_in(state, "features", most) if "features" in state else state["weights"].shape[-1] - self.intercept
        core = self._make_core(int(features) + bool(self.intercept))
        core.set_state(state)
        return core

    def _replay_block(self, batch: Batch, out: Outputs) -> int:
        core: Composite = self._require_core("run")
        if batch.y is not None:
            self._check_labels(batch.y, batch.where, batch.start)
        with core.guard.claim():
            return core.replay(batch, out)

    def _operations(self, width: int) -> int:
        return sum(member._operations(width) for member in self._require_core("run").members)

    @property
    def coef_(self) -> Array:
        """The weights, without the intercept."""
        weights = self._weights
        return weights[:-1] if self.intercept else weights

    def _refresh(self, before: dict[str, Any]) -> None:
        now = self.get_params(deep=False)
        if any(now[name] != before[name] for name in ("intercept", "dtype")):
            raise ValueError
        core: Composite = self._require_core("set_params")
        core.adopt_params(self._copies(self._base_learners()), self._copies_of_the_top())
        core.limits = self._limits


class Ensemble(MetaLearner):
    """A learner made of several learners."""

    @property
    def learners_(self) -> list[Learner]:
        """The trained learners, in order. They belong to the model: inspect them, but do not train them."""
        return list(self._require_core("learners_").members)


class Wrapper(MetaLearner):
    """A learner made of one learner, its parameter ``learner``, and of ``_default`` if that is None."""

    _default: ClassVar[Learner]

    def _base_learners(self) -> list[Learner]:
        given = self._given["learner"]
        return [self._default if given is None else given]

    @property
    def learner_(self) -> Learner:
        """The trained learner. It belongs to the model: inspect it, but do not train it."""
        return self._learner("learner_")

    def _learner(self, what: str) -> Learner:
        core: Composite = self._require_core(what)
        return core.members[0]


class Front(Wrapper):
    """A learner behind something that changes its rows or its labels."""

    @property
    def coef_(self) -> Array:
        """The weights of the learner within, without the intercept's."""
        return self._learner("coef_").coef_

    @property
    def intercept_(self) -> Any:
        """The intercept of the learner within; 0.0 without one."""
        return self._learner("intercept_").intercept_

    def _experts(self, row: Array | None = None) -> tuple[dict[str, float], Array | None]:
        return self._learner("run")._experts()[0], None  # whose rows or predictions are others
