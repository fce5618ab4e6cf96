"""The one step behind every first-order learner, as Python sees it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftline import _core, losses
from driftline.base.refusals import Target
from driftline.errors import DivergenceError, RowRefusedError
from driftline.linear.takes_sparse import TakesSparse
from driftline.tables.inputs import Array

_DIVERGED = 4
PLAIN, IMPLICIT, NORMALISED = 0, 1, 2
FREE, SIMPLEX, SIGNED = 0, 1, 2
_SQUARED, HALF_SQUARED, _ABSOLUTE, _HUBER, _PINBALL, _LOGISTIC, _CUSTOM = range(7)
_NATIVE: dict[type, int] = {
    losses.Squared: _SQUARED,
    losses.Absolute: _ABSOLUTE,
    losses.Huber: _HUBER,
    losses.Pinball: _PINBALL,
    losses.Logistic: _LOGISTIC,
}


def native_loss(loss: losses.Loss) -> tuple[int, float]:
    """A loss as the core knows it: its code and its parameter."""
    parameter = getattr(loss, "threshold", getattr(loss, "level", 0.0)) if type(loss) in _NATIVE else 0.0
    return _NATIVE.get(type(loss), _CUSTOM), float(parameter)


class Descending(TakesSparse):
    """A first-order learner: weights alone, O(d) a row, and O(nnz) a sparse one."""

    _sum_names = _core.first_order_sums

    def _policy(self) -> Any:
        raise TypeError(f"{type(self).__name__} cannot be used by itself")

    def _custom_loss(self) -> losses.Loss | None:
        """The loss, where only Python knows it."""
        return None

    def _stable_rate(self, largest_norm2: float) -> str:
        """Which rate is stable when no |x|^2 exceeds ``largest_norm2``."""
        return f"a rate below {2 / largest_norm2:.3g} = 2 / max|x|^2 is stable on these rows"

    def _make_core(self, width: int) -> Any:
        kind = _core.FirstOrder64 if self.dtype == "float64" else _core.FirstOrder32
        return kind(width, bool(self.intercept), self._policy())

    def _refresh(self, before: dict[str, Any]) -> None:
        super()._refresh(before)
        if self.get_params(deep=False).get("norm") is not before.get("norm"):
            raise ValueError
        self._core.set_policy(self._policy())

    def _serve(self, status: int, where: str, row: int, ahead: Any) -> None:
        if status != _DIVERGED:
            super()._serve(status, where, row, ahead)
        with np.errstate(over="ignore"):
            norm2 = max(float(ahead[0] @ ahead[0]) + self.intercept, self._sums()["largest_norm2"])
        stable = self._stable_rate(norm2) if math.isfinite(norm2) and norm2 > 0 else "the inputs are too large"
        raise DivergenceError(
            f"{where}: the weights left the range of {self.dtype} at row {row}; rate={self.rate!r} is too large: {stable}"
        )

    rate: float

    def _replay_block(self, block: Any, y: Array | None, weight: Array | None, target: Target) -> int:
        loss = self._custom_loss()
        if loss is None or y is None:
            return super()._replay_block(block, y, weight, target)
        skipped = 0
        sparse = isinstance(block, _core.SparseRows)
        for t in range(len(block)):
            row = block[t : t + 1] if sparse else block[t]
            prediction = self._core.predict(row)
            whole = prediction is not None and abs(y[t]) <= self._largest
            if not whole and self.missing == "raise":
                self._refuse_bad_row(block[t], y[t], target, t)
            skipped += not whole
            target.predictions[t] = np.nan if prediction is None else prediction
            if target.lower is not None and target.upper is not None:
                ends = self._core.predict_interval(row, target.level)
                target.lower[t], target.upper[t] = (np.nan, np.nan) if ends is None else ends
            share = 1.0 if weight is None else float(weight[t])
            if whole and share:
                self._descend(loss, row, float(y[t]), prediction, share, target.where, target.start + t)
            if target.snapshots is not None and (t + 1) % target.every == 0:
                target.snapshots[(t + 1) // target.every - 1] = self._core.weights()
        return skipped

    def _descend(self, loss: losses.Loss, x: Any, y: float, prediction: float, weight: float, where: str, row: int) -> None:
        slope = weight * float(loss.gradient(y, prediction))
        if not math.isfinite(slope):
            raise RowRefusedError(f"{where}: {loss!r} gave the gradient {slope} at row {row}")
        if not self._core.descend(x, y, prediction, slope):
            self._serve(_DIVERGED, where, row, x if isinstance(x, _core.SparseRows) else x[None, :])
