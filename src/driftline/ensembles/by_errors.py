"""Base class of composites whose intervals depend only on past errors, so that all rows get the same width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from driftline._core import Level, Outputs, Ticket
from driftline.base.composite import Composite, core_of, exclusive
from driftline.base.levels import Spread
from driftline.base.ticket import copy_of
from driftline.linear.lms import LMS
from driftline.tables.inputs import Array

ERRORS = LMS(intercept=False)  # predicts 0 on rows of 0, so it only tracks the errors
_LARGEST = np.finfo(np.float64).max


def clipped(values: Any) -> Any:
    """Clips to the range of float64."""
    return np.clip(values, -_LARGEST, _LARGEST)


def error_of(y: float, prediction: float) -> Any:
    """The error, clipped to the range of float64. NumPy's numbers would warn if it overflows."""
    return clipped(float(y) - float(prediction))


class ByErrors(Composite):
    """A composite whose first learner above is a copy of ``ERRORS``. It clips its own predictions to the limits."""

    @exclusive
    def sums(self) -> dict[str, float]:
        """Rows, loss and largest loss of the predictions."""
        return self.above[0]._sums()

    def _row(self, x: Any) -> Array | None:
        """The row as an array, or None if Python must read it."""
        if core_of(self.members[0]).predict(x) is None:
            return None
        if isinstance(x, dict):
            assert self._names is not None
            x = [x.get(name, 0.0) for name in self._names]
        return np.asarray(x, dtype=np.float64)

    @exclusive
    def predict_interval(self, x: Any, level: Level) -> tuple[float, float] | None:
        """Both ends of the interval, or None if Python must read the row."""
        prediction = self.predict(x)
        if prediction is None:
            return None
        lower, upper = core_of(self.above[0]).predict_interval(np.zeros(1), level)
        return self.limits.hold(prediction + lower), self.limits.hold(prediction + upper)

    def held(self, predictions: Any) -> Any:
        """Predictions within the limits."""
        return np.clip(predictions, self.limits.low, self.limits.high)

    @exclusive
    def predict_quantiles(self, x: Any, levels: Array) -> Array | None:
        """Quantiles of the label, or None if Python must read the row."""
        prediction = self.predict(x)
        if prediction is None:
            return None
        found: Array = self.held(prediction + core_of(self.above[0]).predict_quantiles(np.zeros(1), levels))
        return found

    def asked(
        self, x: Any, prediction: float, parts: Sequence[Ticket], delay: int | None, kind: type[Any], *more: Ticket
    ) -> Any:
        """A ticket with this prediction. Its parts are those given, a ticket for the errors, and then ``more``."""
        errors = self.marked(self.above[0]).ask(np.zeros(1), delay, kind)
        numbers = errors.numbers
        numbers[0], numbers[3:5] = self.limits.hold(prediction), (self.limits.low, self.limits.high)
        return kind(copy_of(x), self.mark, numbers, None, [*parts, errors, *more], errors.places)

    def _note_errors(self, y: Array | None, weight: Array | None, learned: Array, out: Outputs) -> None:
        """Records the errors of the learned rows, if there are labels, and writes the intervals."""
        errors = core_of(self.above[0])
        out.predictions[:] = self.held(out.predictions)
        own = Spread.of(out).outputs(np.empty(1 if y is None else len(y)))
        with np.errstate(over="ignore"):
            missed = None if y is None else np.ascontiguousarray(clipped(np.where(learned, y - out.predictions, np.nan)))
        errors.run(np.zeros((len(own.predictions), 1)), missed, weight if missed is not None else None, True, own, 0)
        if out.lower is not None:
            out.lower[:], out.upper[:] = self.held(out.predictions + own.lower), self.held(out.predictions + own.upper)
        if out.quantiles is not None:
            out.quantiles[:] = self.held(out.predictions[:, None] + own.quantiles)
