"""What a learner has learned, as attributes that are read and not written."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftline.base.certificate import Certificate
from driftline.errors import not_fitted
from driftline.tables.inputs import Array, Name


class Learned:
    """The weights, the names and the counts of a learner, from its native core."""

    _core: Any = None
    _names: list[Name] | None = None
    _skipped: int = 0

    def _require_core(self, what: str) -> Any:
        if self._core is None:
            raise not_fitted(f"{type(self).__name__}.{what}: the learner is not fitted yet: it has seen no row")
        return self._core

    @property
    def _weights(self) -> Array:
        return self._require_core("coef_").weights()  # type: ignore[no-any-return]

    @property
    def coef_(self) -> Array:
        """The weights of the features, without the intercept's."""
        return self._weights[: self.n_features_in_]

    @property
    def intercept_(self) -> float:
        """The weight of the constant feature; 0.0 without one."""
        weights = self._weights
        return float(weights[-1]) if len(weights) > self.n_features_in_ else 0.0

    @property
    def n_features_in_(self) -> int:
        """The number of features, the constant one not counted."""
        return int(self._require_core("n_features_in_").features)

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, where they have any."""
        self._require_core("feature_names_in_")
        if self._names is None:
            raise AttributeError(f"{type(self).__name__}: the features have no names")
        names = np.empty(len(self._names), dtype=object)
        names[:] = self._names
        return names

    @property
    def n_seen_(self) -> int:
        """How many rows were learned."""
        return 0 if self._core is None else int(self._sums()["rows"])

    @property
    def n_skipped_(self) -> int:
        """How many rows were skipped because a value was missing."""
        return self._skipped

    _sum_names: tuple[str, ...] = ()

    def _sums(self) -> dict[str, float]:
        return dict(zip(self._sum_names, self._core.sums().tolist(), strict=True))

    def _memory(self) -> float | None:
        """About how many rows the weights rest on, where that is known."""
        return None

    def _over_time(self, pace: Array) -> dict[str, Array]:
        """What a run tells of the learner's pace, by name, from the core's two numbers at each snapshot."""
        return {}

    def certificate(self) -> Certificate:
        """What is proven about the loss so far; see :doc:`/certificates`."""
        if self._core is None:
            return Certificate(loss=0.0)
        return self._certify(self._sums())

    def _certify(self, sums: dict[str, float]) -> Certificate:
        return Certificate(loss=sums["loss"])
