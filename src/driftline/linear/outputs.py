"""Several labels a row, for learners whose matrix S does not depend on them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftline.base.certificate import Certificate
from driftline.base.learner import Learner
from driftline.tables import inputs
from driftline.tables.inputs import Array

ONE_LABEL = "there is one label a row"


class TakesOutputs(Learner):
    """A learner that takes ``y`` of shape (T, m): m outputs that share all but their weights."""

    @property
    def _takes_outputs(self) -> bool:  # type: ignore[override]
        radius = getattr(self, "radius", None)  # a projection is of the weights of one output
        return radius is None or math.isinf(radius)

    def _as_labels(self, y: Any, rows: int, where: str) -> Array:
        values = y if y is None or isinstance(y, np.ndarray) else inputs.as_array(y, where, "y")
        if values is None or values.ndim != 2 or (values.shape[1] < 2 and self._outputs is None):
            self._check_outputs(1, where)
            return super()._as_labels(y, rows, where)
        self._check_outputs(values.shape[1], where)
        return inputs.as_labels(values, rows, where)

    def _as_label(self, y: Any, where: str) -> Any:
        values = None if isinstance(y, (float, int, str, bytes)) or y is None else inputs.as_array(y, where, "y")
        if values is None or values.ndim != 1 or (values.size < 2 and self._outputs is None):
            self._check_outputs(1, where)
            return super()._as_label(y, where)
        self._check_outputs(values.size, where)
        return inputs.as_labels(values[None, :], 1, where)[0]

    def _check_outputs(self, outputs: int, where: str) -> None:
        known = None if self._core is None else self._outputs or 1
        if known not in (None, outputs):
            raise ValueError(f"{where}: y has {outputs} labels a row, expected {known}")
        if outputs > 1 and not self._takes_outputs:
            raise ValueError(f"{where}: y has {outputs} labels a row, but {type(self).__name__} takes one")

    def _expect(self, labels: Array) -> None:
        if self._core is None:
            self._outputs = labels.shape[1] if labels.ndim == 2 else None

    def _restore(self, core: dict[str, Array] | None, names: Any) -> None:
        before = self._outputs
        if core is not None and core["weights"].ndim == 2:
            if len(core["weights"]) < 2:
                raise ValueError("the state has the weights of one label in two dimensions")
            self._outputs = len(core["weights"])
        else:
            self._outputs = None
        try:
            super()._restore(core, names)
        except BaseException:
            self._outputs = before
            raise

    def _features_of(self, state: dict[str, Array]) -> int:
        return int(state["weights"].shape[-1]) - bool(self.intercept)

    def _core_for(self, state: dict[str, Array]) -> Any:
        return self._make_core(state["weights"].shape[-1])

    # What was learned.

    @property
    def coef_(self) -> Array:
        """The weights of the features, without the intercept's; (outputs, d) where a row has several labels."""
        return self._weights[..., : self.n_features_in_]

    @property
    def intercept_(self) -> Any:
        """The weight of the constant feature, 0.0 without one; one for each output where a row has several labels."""
        weights = self._weights
        if weights.ndim == 1:
            return super().intercept_
        return weights[:, -1] if self.intercept else np.zeros(len(weights))

    def predict_interval(self, x: Any, level: float = 0.9) -> tuple[float, float]:
        """As in every learner; not where a row has several labels."""
        if self._outputs is not None:
            raise ValueError(
                f"{type(self).__name__}.predict_interval: intervals are for {ONE_LABEL.removeprefix('there is ')}"
            )
        return super().predict_interval(x, level)

    def certificate(self) -> Certificate:
        """What is proven about the loss so far; of several outputs the sum of what holds for each, without a bound."""
        found = super().certificate()
        if self._outputs is None:
            return found
        return Certificate(found.loss, found.comparator, None, {**found.conditions, ONE_LABEL: False}, found.events)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._takes_outputs
        return tags
