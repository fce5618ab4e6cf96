"""The Python side of the step that all first-order learners share."""

from __future__ import annotations

import math
from typing import Any, NoReturn, Protocol

import numpy as np

from driftline import _core, losses
from driftline._core import FirstOrderPolicy, Outputs, Status
from driftline._core import Loss as NativeLoss
from driftline.base.batch import Batch, numbered
from driftline.base.learner import Learner
from driftline.base.native import NativeCore
from driftline.base.traits import Traits
from driftline.errors import DivergenceError, RowRefusedError

_NATIVE: dict[type, NativeLoss] = {
    losses.Squared: NativeLoss.SQUARED,
    losses.Absolute: NativeLoss.ABSOLUTE,
    losses.Huber: NativeLoss.HUBER,
    losses.Pinball: NativeLoss.PINBALL,
    losses.Logistic: NativeLoss.LOGISTIC,
    losses.Hinge: NativeLoss.HINGE,
    losses.Perceptron: NativeLoss.PERCEPTRON,
}


def native_loss(loss: losses.Loss) -> tuple[NativeLoss, float]:
    """A loss as the core knows it: its kind and its parameter."""
    parameter = getattr(loss, "threshold", getattr(loss, "level", 0.0)) if type(loss) in _NATIVE else 0.0
    return _NATIVE.get(type(loss), NativeLoss.CUSTOM), float(parameter)


class FirstOrderCore(NativeCore, Protocol):
    """The core of a first-order learner."""

    def set_policy(self, policy: FirstOrderPolicy) -> None:
        """Changes the policy from the next row on."""

    def margin(self, x: Any) -> float | None:
        """w.x, which limits do not clip, or None if Python must read the row."""

    def descend(self, x: Any, y: float, margin: float, slope: float) -> Status:
        """Learns a row, given the slope of the loss at w.x."""


class Descending(Learner):
    """A first-order learner: only weights, O(d) a row, or O(nnz) a sparse row."""

    rate: float

    def _policy(self) -> FirstOrderPolicy:
        raise TypeError(f"{type(self).__name__} cannot be used by itself")

    def _native_policy(self) -> FirstOrderPolicy:
        policy = self._policy()
        policy.labels = self._limits
        return policy

    def _custom_loss(self) -> losses.Loss | None:
        """The loss, if it is implemented in Python; else None."""
        loss = losses.resolve(getattr(self, "loss", "squared"))
        return None if type(loss) in _NATIVE else loss

    def _stable_rate(self, largest_norm2: float) -> str:
        """Which rate is stable when no |x|^2 exceeds ``largest_norm2``."""
        return f"a rate below {2 / largest_norm2:.3g} = 2 / max|x|^2 is stable on these rows"

    def _make_traits(self) -> Traits:
        return Traits(sums=_core.first_order_sums, takes_sparse=True, is_native=self._custom_loss() is None)

    def _make_core(self, width: int, row: Any = None) -> FirstOrderCore:
        kind = _core.FirstOrder64 if self.dtype == "float64" else _core.FirstOrder32
        return kind(width, bool(self.intercept), self._native_policy())

    def _refresh(self, before: dict[str, Any]) -> None:
        super()._refresh(before)
        if self.get_params(deep=False).get("norm") is not before.get("norm"):
            raise ValueError
        self._require_core("set_params").set_policy(self._native_policy())

    def _serve(self, status: Status, batch: Batch) -> None:
        if status is not Status.DIVERGED:
            super()._serve(status, batch)
        self._refuse_divergence(batch.x[0], batch.where, batch.start)

    def _refuse_divergence(self, x: Any, where: str, row: int | None) -> NoReturn:
        with np.errstate(over="ignore"):
            norm2 = max(float(x @ x) + self.intercept, self._sums()["largest_norm2"])
        stable = self._stable_rate(norm2) if math.isfinite(norm2) and norm2 > 0 else "the inputs are too large"
        raise DivergenceError(
            f"{where}: the weights left the range of {self.dtype}{numbered(row, ' at ')}; "
            f"rate={self.rate!r} is too large: {stable}"
        )

    # A loss that is implemented in Python.

    def _replay_block(self, batch: Batch, out: Outputs) -> int:
        loss = self._custom_loss()
        if loss is None or batch.y is None:
            return super()._replay_block(batch, out)
        core, skipped, limits = self._require_core("run"), 0, self._limits
        for t in range(len(batch)):
            row = batch.x[t : t + 1] if isinstance(batch.x, _core.SparseRows) else batch.x[t]
            margin, label = core.margin(row), float(batch.y[t])
            self._check_labels(np.atleast_1d(label)[None], batch.where, batch.number(t))
            whole = margin is not None and abs(label) <= self._largest
            if not whole and self.missing == "raise":
                self._door.refuse_row(batch.x[t], label, batch.where, batch.number(t), batch.names)
            skipped += not whole
            out.predictions[t] = np.nan if margin is None else limits.hold(margin)
            if out.lower is not None:
                ends = core.predict_interval(row, out.level)
                out.lower[t], out.upper[t] = (np.nan, np.nan) if ends is None else ends
            if out.quantiles is not None:
                found = core.predict_quantiles(row, out.quantile_levels)
                out.quantiles[t] = np.nan if found is None else found
            weight = 1.0 if batch.weight is None else float(batch.weight[t])
            if whole and weight and margin is not None:
                with self._guard.closure():
                    slope = weight * float(loss.gradient(label, margin))
                if not math.isfinite(slope):
                    at = numbered(batch.number(t), " at ")
                    raise RowRefusedError(f"{batch.where}: {loss!r} gave the gradient {slope}{at}")
                if core.descend(row, label, margin, slope) is not Status.DONE:
                    self._refuse_divergence(batch.x[t], batch.where, batch.number(t))
            if out.weights is not None and (t + 1) % out.every == 0:
                out.weights[(t + 1) // out.every - 1] = core.weights()
        return skipped
