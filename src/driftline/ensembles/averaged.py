"""Online-to-batch conversion: the mean of the weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from driftline._core import Outputs, Status
from driftline.base import params
from driftline.base.batch import Batch
from driftline.base.composite import Composite, exclusive, is_weight, tell_parts
from driftline.base.learner import Learner
from driftline.base.meta import LINEAR, Wrapper
from driftline.base.registry import learner
from driftline.base.rules import Rule
from driftline.base.ticket import Ticket
from driftline.base.traits import Traits
from driftline.ensembles.by_errors import ERRORS, ByErrors, clipped, error_of
from driftline.linear.lms import LMS
from driftline.tables.inputs import Array


@learner
class Averaged(Wrapper):
    r"""Predicts with the mean of the weights with which another learner predicted, O(d) a row.

    This is in addition to the cost of the learner itself.

    .. math:: \hat y = \bar w \cdot x, \quad \bar w = \frac{1}{m} \sum_{t=1}^{m} w_t

    The learner is trained as usual. :math:`w_t` are the weights with which it predicted row t, so :math:`w_1` are its
    initial weights, and those after the last row do not count yet. On rows drawn from one distribution, the mean of the
    weights of LMS has an expected risk of at most :math:`\min_u R(u)/(1 - \eta X^2) + |u|^2/(\eta m)`:
    :func:`driftline.regret.online_to_batch`. The mean weights all rows equally, so it does not suit a drifting target.

    If a learner shrinks or clips its predictions, only its weights are averaged. A row of any positive weight counts once.
    All intervals at a given time have the same width.

    Args:
        learner: the learner to average; None for LMS.

    References: :cite:`schapire2018`, Theorem 2.

    >>> model = Averaged(LMS(rate=0.5, intercept=False))
    >>> for _ in range(3):
    ...     model.learn_one([1.0], 1.0)
    >>> model.coef_.tolist()  # of 0, 0.5 and 0.75
    [0.4166666666666667]
    """

    learner: Learner | None = params.checked(
        default=None,
        rule=Rule(LINEAR.check, f"{LINEAR.words}; transformers go before it, as in Standardize() | Averaged(LMS())"),
        optional=True,
        kw_only=False,
    )

    _default = LMS()

    def _copies_of_the_top(self) -> list[Learner]:
        return [ERRORS.clone()]

    def _compose(self, members: list[Learner], above: list[Learner], features: int) -> Composite:
        return _Averaged(members, [(above[0], 1)], features, bool(self.intercept), self.dtype)

    def _make_traits(self) -> Traits:
        return replace(super()._make_traits(), plain_intercept=self._base_learners()[0]._traits.plain_intercept)


class _Averaged(ByErrors):
    """The state: a learner, the sum of the weights it predicted with, and the errors of their mean."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._total = np.zeros(self.features + self.intercept)
        self._count = 0

    def _own_state(self) -> dict[str, Array]:
        return {"total": self._total.copy(), "count": np.array([float(self._count)])}

    def _set_own_state(self, state: dict[str, Array]) -> None:
        total, count = state["total"], state["count"]
        good = isinstance(total, np.ndarray) and total.shape == self._total.shape and total.dtype == np.float64
        good = good and isinstance(count, np.ndarray) and count.shape == (1,) and bool(np.isfinite(total).all())
        if not good or not 0 <= count[0] < 2**53 or count[0] != int(count[0]):
            raise ValueError("the state's mean is out of range")
        with np.errstate(over="ignore"):
            mean = (total / max(count[0], 1)).astype(self.dtype)
        if not np.isfinite(mean).all():
            raise ValueError("the state's mean is out of range")
        self._total, self._count = total.copy(), int(count[0])

    @exclusive
    def grow(self, more: int) -> None:
        """Adds features, which contributed to no earlier prediction."""
        self._total = np.insert(self._total, self.features, np.zeros(more))
        super().grow(more)

    def _mean(self) -> Array:
        return self._total / self._count if self._count else self.members[0]._weights.astype(np.float64)

    def weights(self) -> Array:
        """The mean weights; the initial weights before anything is learned."""
        return self._mean().astype(self.dtype)

    def _row(self, x: Any) -> Array | None:
        """The row as an array with the constant feature last, or None if Python must read it."""
        row = super()._row(x)
        return None if row is None else self._with_constant(row[None, :])

    def _with_constant(self, rows: Array) -> Array:
        """Appends the constant feature, and rounds to the learner's precision."""
        rows = rows.astype(self.dtype).astype(np.float64)
        return np.column_stack([rows, np.ones(len(rows))]) if self.intercept else np.ascontiguousarray(rows)

    @exclusive
    def predict(self, x: Any) -> Any:
        """The prediction, or None if Python must read the row."""
        row = self._row(x)
        return None if row is None else self._predicted(row)

    def _predicted(self, row: Array) -> float:
        prediction: float = self.limits.hold(float(_products(row, self._mean())[0]))
        return prediction

    def learn_row(self, x: Any, y: Any, weight: Any) -> Status:
        """The learner comes first, because nothing after it can fail."""
        row = self._row(x) if is_weight(weight) and isinstance(y, float) else None
        if row is None:
            return Status.UNREAD
        member = self.members[0]
        used, error = member._weights, error_of(y, self._predicted(row))
        status = self.learn_each([(member, x, y), (self.above[0], np.zeros(1), error)], weight)
        return self._add(used, status)

    @exclusive
    def ask(self, x: Any, delay: int | None, kind: type[Any]) -> Any:
        """A ticket that holds the learner's own ticket and one for the errors."""
        parts = self.ask_each_member(x, delay, kind)
        row = None if parts is None else self._row(x)
        if parts is None or row is None:
            return None
        return self.asked(x, _products(row, self._mean())[0], parts, delay, kind)

    def learn_ticket(self, ticket: Ticket, y: Any, weight: Any) -> Status:
        """The learner comes first, because nothing after it can fail."""
        if not (is_weight(weight) and isinstance(y, float)):
            return Status.UNREAD
        used, error = self.members[0]._weights, error_of(y, ticket.prediction)
        parts = [(self.members[0], ticket.parts[0], y), (self.above[0], ticket.parts[1], error)]
        return self._add(used, self.tell_each(parts, weight))

    def tell_parts(self, ticket: Ticket, batch: Batch) -> None:
        """Like :meth:`learn_ticket`, for a learner that may refuse the row."""
        used = self.members[0]._weights
        tell_parts(self.members, ticket.parts[:1], batch)
        assert batch.y is not None
        tell_parts(self.above, ticket.parts[1:], batch, [error_of(batch.y[0], ticket.prediction)])
        self._add(used)

    def _add(self, used: Array, status: Status = Status.DONE) -> Status:
        """Adds the weights to the mean if a row was learned with them; returns the status."""
        if status is Status.DONE:
            with np.errstate(over="ignore"):
                self._total, self._count = clipped(self._total + used), self._count + 1
        return status

    def replay(self, batch: Batch, out: Outputs) -> int:
        """The learner processes all rows first, recording its weights at each."""
        member, y = self.members[0], batch.y
        first = member._weights.astype(np.float64)
        predicted, kept, skipped = self.replay_members(batch, [y], every=0 if y is None else 1)
        whole = ~np.isnan(predicted[:, 0])
        if y is None:
            out.predictions[:] = np.where(whole, self._from_means(batch.x, self._mean()), np.nan)
            self._note_errors(None, None, whole, out)
            return skipped
        learned = whole & (np.abs(y) <= member._largest)
        if batch.weight is not None:
            learned &= batch.weight > 0
        used = np.vstack([first, kept[0][:-1]])
        with np.errstate(over="ignore", invalid="ignore"):
            totals = clipped(np.add.accumulate(np.vstack([self._total, np.where(learned[:, None], used, 0.0)]), axis=0))
        counts = self._count + np.append(0, np.cumsum(learned))
        means = np.where(counts[:, None] > 0, totals / np.maximum(counts, 1)[:, None], np.vstack([used, kept[0][-1:]]))
        out.predictions[:] = np.where(whole, self._from_means(np.where(whole[:, None], batch.x, 0.0), means[:-1]), np.nan)
        self._note_errors(y, batch.weight, learned, out)
        if out.weights is not None:
            out.weights[:] = means[out.every :: out.every].astype(self.dtype)
        self._total, self._count = totals[-1].copy(), int(counts[-1])
        return skipped

    def _from_means(self, block: Array, means: Array) -> Array:
        whole = np.abs(block) <= self.members[0]._largest
        return _products(self._with_constant(np.where(whole, block, 0.0)), means)


def _products(rows: Array, weights: Array) -> Array:
    """Dot products by row, with the same order of summation for any number of rows."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums: Array = np.nan_to_num(np.add.reduce(rows * weights, axis=1)) + 0.0  # finite, and no negative zero
    return sums
