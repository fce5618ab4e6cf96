"""The progress of rows through a learner of transformed labels whose labels come late."""

from __future__ import annotations

import numpy as np

from driftline._core import LateRows, Limits, Outputs
from driftline.base.composite import core_of
from driftline.base.learner import Learner
from driftline.base.scale import Scale
from driftline.base.ticket import Ticket
from driftline.tables.inputs import Array


class LateAnswers:
    """Rows before ``asked`` were predicted, those before ``told`` learned, as in the LateRows of native cores.

    Args:
        tickets: those of the rows that wait.
        errors: the learner of the errors of the answers.
        scale: the transformation.
        limits: the range of the answers.

    Attributes:
        within: the progress of the learner of the transformed labels.
        noted: that of the errors, which may be one row behind.
        predicted: the predictions of the transformed labels.
        answers: the predictions.
        informed: whether a label was known when the row was predicted.
    """

    def __init__(self, tickets: list[Ticket], errors: Learner, scale: Scale, limits: Limits) -> None:
        parts = [ticket.parts or [ticket, ticket] for ticket in tickets]  # those of incomplete rows have none
        self.within, self.noted = LateRows([within for within, _ in parts]), LateRows([noted for _, noted in parts])
        self.carried = len(tickets)
        self._errors, self._scale, self._limits, self._delay = errors, scale, limits, 0
        self.predicted = np.array([within.prediction for within, _ in parts], dtype=np.float64)
        self.answers = np.array([ticket.prediction for ticket in tickets], dtype=np.float64)
        self.informed = np.array([ticket.labels > 0 for ticket in tickets], dtype=bool)

    @property
    def asked(self) -> int:
        """Rows that were predicted."""
        return self.within.asked

    @property
    def told(self) -> int:
        """Rows whose labels were learned, or skipped."""
        return self.within.told

    @property
    def skipped(self) -> int:
        """Rows that were skipped."""
        return self.within.skipped

    def note(self, missed: Array, delay: int) -> None:
        """Tells the learner of the errors those of the rows that were learned since the last call, NaN for skipped ones."""
        stop = max(self.carried, min(self.asked, self.told + delay))
        own = delay if stop > self.carried else stop - self.told
        core = core_of(self._errors)
        out = Outputs(np.empty(stop - self.carried))
        core.run_late(np.zeros((stop, 1)), missed[:stop], None, True, out, own, self.noted)
        self._delay = delay

    def tickets(self, x: Array, mark: int, kind: type[Ticket]) -> list[Ticket]:
        """The tickets of the rows that wait."""
        within = self.within.tickets(x, mark, kind)
        errors = self.noted.tickets(np.zeros((len(x), 1)), mark, kind)
        if len(errors) < len(within):
            errors.append(core_of(self._errors).ask(np.zeros(1), self._delay, kind))
        return [
            self._ticket(row, x[row], [inner, own], mark, kind)
            for row, (inner, own) in enumerate(zip(within, errors, strict=True), self.told)
        ]

    def _ticket(self, row: int, x: Array, parts: list[Ticket], mark: int, kind: type[Ticket]) -> Ticket:
        if np.isnan(self.answers[row]):
            ticket = kind(x.copy(), mark)  # an incomplete row, as when it is asked alone
        else:
            numbers = parts[1].numbers
            numbers[0], numbers[3:5] = self._limits.hold(self.answers[row]), (self._limits.low, self._limits.high)
            ticket = kind(x.copy(), mark, numbers, None, parts, parts[1].places)
            ticket.scale = self._scale
        ticket.at = parts[0].at
        return ticket
