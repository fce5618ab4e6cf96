"""Composites whose intervals depend on past errors alone, so that all rows get the same width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from driftline._core import Level, Ticket
from driftline.base.composite import Composite, core_of, exclusive
from driftline.base.ticket import copy_of


class ByErrors(Composite):
    """A composite whose first learner above only records errors: its rows are 0, and it predicts 0."""

    @exclusive
    def predict_interval(self, x: Any, level: Level) -> tuple[float, float] | None:
        """Both ends of the interval, or None if Python must read the row."""
        prediction = self.predict(x)
        if prediction is None:
            return None
        lower, upper = core_of(self.above[0]).predict_interval(np.zeros(1), level)
        return prediction + lower, prediction + upper

    def asked(
        self, x: Any, prediction: float, parts: Sequence[Ticket], ahead: int | None, kind: type[Any], *more: Ticket
    ) -> Any:
        """A ticket with this prediction. Its parts are those given, a ticket for the errors, and then ``more``."""
        errors = self.marked(self.above[0]).ask(np.zeros(1), ahead, kind)
        numbers = errors.numbers
        numbers[0] = prediction
        return kind(copy_of(x), self.mark, numbers, None, [*parts, errors, *more])
