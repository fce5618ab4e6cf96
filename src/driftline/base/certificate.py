"""Proven bounds on a learner's loss on the stream so far."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Certificate:
    """Loss, comparator and bound, computed from running sums.

    Attributes:
        loss: sum of squared errors of the predictions made so far.
        comparator: the optimal value of the comparator's penalised loss, or None if no identity holds.
        bound: a proven upper bound on ``loss``, or None if no theorem applies or a condition fails.
        conditions: the theorem's conditions in words, and whether each holds on this stream so far.
        events: resets, and changes to the state that exact arithmetic would not have needed.
    """

    loss: float
    comparator: float | None = None
    bound: float | None = None
    conditions: dict[str, bool] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)

    @property
    def slack(self) -> float | None:
        """Bound minus loss."""
        return None if self.bound is None else self.bound - self.loss
