"""A learner of transformed labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from driftline._core import Level, Outputs, Status
from driftline.base import params
from driftline.base.batch import Batch, numbered
from driftline.base.certificate import Certificate
from driftline.base.composite import Composite, core_of, count_in, exclusive, is_weight, tell_parts
from driftline.base.learner import Learner
from driftline.base.meta import REGRESSOR, Front
from driftline.base.registry import learner
from driftline.base.scale import TRANSFORMATION, Scale, Transformation
from driftline.base.ticket import Ticket
from driftline.base.traits import Traits
from driftline.ensembles.by_errors import ERRORS, ByErrors, clipped, error_of
from driftline.ensembles.transformed_late import LateAnswers
from driftline.errors import RowRefusedError
from driftline.linear.rls import RLS
from driftline.tables import inputs
from driftline.tables.inputs import Array

_OR_PLAIN = replace(TRANSFORMATION, others=(*TRANSFORMATION.others, lambda given: given is None))
_KEPT = 100  # errors of which the mean on the user's scale is computed
_ZEROS = 16  # errors of 0 that these begin with
_FAR = 3 / 0.676  # three standard deviations of normal errors e, in units of (mean of sqrt|e|)^2
_ROUNDING = 1e-6  # how far a label may be from what the inverse makes of it, relative to the labels
_ROWS = 512  # rows whose means are computed at once


@learner
class Transformed(Front):
    r"""Learns transformed labels with another learner, and answers on their own scale, O(d²) a row.

    The cost is that of an O(d²) learner, and about 1 µs.

    .. math:: z = g(y), \quad \hat y = \frac{1}{m} \sum_i g^{-1}(\hat z + e_i), \quad e_i = z_i - \hat z_i

    The learner learns z. Its prediction :math:`\hat z`, transformed back, would be the median of skewed labels, not their
    mean. The mean is computed from the last 100 errors e (smearing), so it follows changes of their size. Errors beyond
    three standard deviations count as three, because the exponential of a single one could dominate the mean. The ends of
    an interval are those of the learner, transformed back: they contain y whenever the learner's contain z.

    A label outside the domain is an error. ``low`` and ``high`` are on the scale of the labels, like all answers;
    ``coef_`` and ``intercept_`` are those of the learner within. No certificate holds for the squared errors of the labels;
    ``learner_.certificate()`` is the one for z. See :doc:`/target`.

    Args:
        learner: the learner of the transformed labels; None for RLS.
        transformation: "log" for labels above 0, "log1p" for those from 0 on, "sqrt" for counts, "logit" for shares between
            0 and 1, "asinh" for labels of either sign over orders of magnitude; or functions (forward, inverse), which must
            be increasing. There is none that suits every stream, so name one; without a learner and a transformation, RLS
            learns the labels as they are.

    References: :cite:`duan1983`.

    >>> import numpy as np
    >>> X = np.linspace(0, 4, 400)[:, None]
    >>> y = np.exp(X[:, 0] + np.random.default_rng(0).normal(size=400))
    >>> run = Transformed(RLS(forgetting=1.0), "log").run(X, y, level=0.9)
    >>> bool(run.lower.min() >= 0), round(float(((run.lower <= y) & (y <= run.upper)).mean()), 2)
    (True, 0.91)
    """

    learner: Learner | None = params.checked(default=None, rule=REGRESSOR, optional=True, kw_only=False)
    transformation: Transformation | None = params.checked(default=None, rule=_OR_PLAIN, kw_only=False)

    _default = RLS()
    _shares_labels = False

    def _make_traits(self) -> Traits:
        inner, given = self._base_learners()[0]._traits, self.transformation
        scale = given if isinstance(given, str) else "plain" if given is None else "transformed"
        return replace(
            super()._make_traits(),
            by_feature=False,
            linear=False,
            plain_intercept=inner.plain_intercept,
            can_reset=inner.can_reset,
            measured_apart=inner.measured_apart,
            answers=self._scale.limits,
            title=f"{self._base_learners()[0]._title} ({scale})",
            over_time=inner.over_time,
        )

    def _check_relations(self, values: dict[str, Any]) -> None:
        super()._check_relations(values)
        if values["learner"] is not None and values["transformation"] is None:
            raise ValueError(
                'Transformed: name the transformation of the labels, as in Transformed(Auto(), "log"): "log" for labels '
                'above 0, "log1p" from 0 on, "sqrt" for counts, "logit" between 0 and 1, "asinh" for either sign'
            )

    def _copies_of_the_top(self) -> list[Learner]:
        return [ERRORS.clone()]

    @property
    def _scale(self) -> Scale:
        return Scale(self.transformation, self.low, self.high)

    def _compose(self, members: list[Learner], above: list[Learner], features: int) -> Composite:
        core = _Transformed(members, [(above[0], 1)], features, bool(self.intercept), self.dtype)
        core.scale = self._scale
        return core

    def _refresh(self, before: dict[str, Any]) -> None:
        if self.transformation is not before["transformation"]:
            raise ValueError
        super()._refresh(before)
        self._require_core("set_params").scale = self._scale

    def _check_labels(self, labels: Array, where: str, start: int | None = 0) -> None:
        super()._check_labels(labels, where, start)
        with self._guard.closure():
            z = self._scale.forward(labels)
        inside = np.isfinite(z) & (np.abs(labels) <= self._largest)
        if not self._scale.is_named and inside.any():
            self._check_functions(labels[inside], z[inside], where)
        outside = (np.abs(labels) <= self._largest) & ~np.isfinite(z)
        if outside.any():
            row = int(np.argwhere(outside)[0][0])
            value, number = float(labels[outside][0]), None if start is None else start + row
            place, shown, words = numbered(number, " in "), inputs.spell(value), self._scale.words(value)
            reason = f"the label is {shown}, {words}"
            raise RowRefusedError(f"{where}: y is {shown}{place}, {words}", number, of_label=True, reason=reason)

    def _serve(self, status: Status, batch: Batch) -> None:
        self._learner("run")._serve(status, batch)

    def _check_functions(self, labels: Array, z: Array, where: str) -> None:
        """Raises ValueError unless the user's forward increases and inverse undoes it, up to rounding."""
        in_order = z[np.argsort(labels)]
        if (np.diff(in_order) < -1e-9 * np.ptp(in_order)).any():
            raise ValueError(f"{where}: forward must increase with the label, or intervals would be upside down")
        with self._guard.closure():
            back = self._scale.inverse(z)
        wrong = np.abs(back - labels) > _ROUNDING * np.maximum(np.abs(labels), np.ptp(labels))
        if wrong.any():
            y, found = float(labels[wrong][0]), float(back[wrong][0])
            raise ValueError(f"{where}: inverse must undo forward, but it makes {found:g} of the transformed label {y:g}")

    # What was learned, on the transformed scale.

    def _certify(self, sums: dict[str, float]) -> Certificate:
        return Certificate(sums["loss"], conditions={"the labels are learned as they are": False})


class _Transformed(ByErrors):
    """The state: the learner, its last errors, and the errors of the answers."""

    scale: Scale

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._errors = np.zeros(_ZEROS)

    def _own_state(self) -> dict[str, Array]:
        count = len(self._errors)
        return {"errors": np.append(self._errors, np.zeros(_KEPT - count)), "error_count": np.array([float(count)])}

    def _set_own_state(self, state: dict[str, Array]) -> None:
        errors, count = state["errors"], count_in(state, "error_count", _KEPT)
        good = isinstance(errors, np.ndarray) and errors.dtype == np.float64 and errors.shape == (_KEPT,)
        if not good or count < _ZEROS or not np.isfinite(errors).all():
            raise ValueError("the state's errors are out of range")
        self._errors = errors[:count].copy()

    @property
    def memory(self) -> Any:
        """The learner's core's ``memory``; an AttributeError if it has none."""
        return core_of(self.members[0]).memory

    def weights(self) -> Array:
        """The learner's weights."""
        return self.members[0]._weights

    # On the user's scale.

    def takes_labels(self, labels: Array) -> bool:
        """Whether all labels are in the domain."""
        known, limits = labels[np.abs(labels) <= self.members[0]._largest], self.scale.limits
        return bool(((known >= limits.low) & (known <= limits.high)).all() and np.isfinite(self.scale.forward(known)).all())

    def _answers(self, z: Array, errors: Array) -> Array:
        """The means for predictions z, each from its own errors, (rows, errors)."""
        if self.scale.transformation is None:
            return np.asarray(self.held(z))
        with self.guard.closure(), np.errstate(over="ignore"):  # a user's function cannot call the model
            most = _FAR * (np.add.reduce(np.sqrt(np.abs(errors)), axis=1) / errors.shape[1]) ** 2
            spread = clipped(z[:, None] + np.clip(errors, -most[:, None], most[:, None]))
            values = self.scale.inverse(spread) / errors.shape[1]
            return np.asarray(self.held(clipped(np.add.reduce(values, axis=1))))

    def _answer(self, z: float) -> float:
        return float(self._answers(np.array([z]), self._errors[None])[0])

    def _ends(self, values: Any) -> Any:
        with self.guard.closure():
            return self.scale.ends(np.asarray(values))

    def _transformed(self, y: Array) -> Array:
        """Labels as the learner gets them; those that it refuses, or skips, as they are."""
        with self.guard.closure():
            return np.where(np.abs(y) <= self.members[0]._largest, self.scale.forward(y), y)

    def _label(self, y: Any, weight: Any) -> float | None:
        """A label as the learner gets it; None if Python must read it or the weight."""
        z = self._transformed(np.array([y]))[0] if is_weight(weight) and isinstance(y, float) else np.nan
        return float(z) if abs(z) <= self.members[0]._largest else None

    def _with(self, z: Array, predicted: Array) -> Array:
        """The last errors, then those of these predictions."""
        with np.errstate(over="ignore"):
            return np.append(self._errors, clipped(z - predicted))

    def _keep(self, error: float) -> None:
        self._errors = np.append(self._errors, clipped(error))[-_KEPT:]

    @exclusive
    def predict(self, x: Any) -> Any:
        """The prediction, or None if Python must read the row."""
        z = core_of(self.members[0]).predict(x)
        return None if z is None else self._answer(z)

    @exclusive
    def predict_interval(self, x: Any, level: Level) -> tuple[float, float] | None:
        """Both ends of the interval, or None if Python must read the row."""
        ends = core_of(self.members[0]).predict_interval(x, level)
        return None if ends is None else tuple(self._ends(ends).tolist())

    @exclusive
    def predict_quantiles(self, x: Any, levels: Array) -> Array | None:
        """Quantiles of the label, or None if Python must read the row."""
        quantiles = core_of(self.members[0]).predict_quantiles(x, levels)
        found: Array | None = None if quantiles is None else self._ends(quantiles)
        return found

    def learn_row(self, x: Any, y: Any, weight: Any) -> Status:
        """The learner comes first, because nothing after it can fail."""
        z = self._label(y, weight)
        predicted = None if z is None else core_of(self.members[0]).predict(x)
        if z is None or predicted is None:
            return Status.UNREAD
        error, informed = error_of(y, self._answer(predicted)), self.rows > 0
        status = self.learn_each([(self.members[0], x, z), (self.above[0], np.zeros(1), error)], weight)
        if status is Status.DONE and informed:
            self._keep(z - predicted)
        return status

    @exclusive
    def ask(self, x: Any, delay: int | None, kind: type[Any]) -> Any:
        """A ticket that holds the learner's own ticket, whose interval it transforms, and one for the errors."""
        parts = self.ask_each_member(x, delay, kind)
        if parts is None:
            return None
        ticket = self.asked(x, self._answer(parts[0].prediction), parts, delay, kind)
        ticket.scale = self.scale
        return ticket

    def learn_ticket(self, ticket: Ticket, y: Any, weight: Any) -> Status:
        """The learner comes first, because nothing after it can fail."""
        z = self._label(y, weight)
        if z is None:
            return Status.UNREAD
        error = error_of(y, ticket.prediction)
        parts = [(self.members[0], ticket.parts[0], z), (self.above[0], ticket.parts[1], error)]
        status = self.tell_each(parts, weight)
        if status is Status.DONE:
            self._note(ticket, z)
        return status

    def tell_parts(self, ticket: Ticket, batch: Batch) -> None:
        """Like :meth:`learn_ticket`, for a learner that may refuse the row."""
        assert batch.y is not None
        z = float(self._transformed(batch.y)[0])
        error = error_of(batch.y[0], ticket.prediction)
        tell_parts([*self.members, *self.above], ticket.parts, batch, [z, error])
        self._note(ticket, z)

    def _note(self, ticket: Ticket, z: float) -> None:
        """Keeps the error of a prediction, unless no label was known then: it would be the whole label."""
        if ticket.labels > 0:
            self._keep(z - ticket.parts[0].prediction)

    def replay(self, batch: Batch, out: Outputs) -> int:
        """The learner does not depend on the answers, so it processes all rows first."""
        member, y = self.members[0], batch.y
        informed = self.rows > 0
        z = None if y is None else self._transformed(y)
        own = Outputs(
            np.empty(len(batch)), lower=out.lower, upper=out.upper, level=out.level,
            quantiles=out.quantiles, quantile_levels=out.quantile_levels,
            resets=out.resets, weights=out.weights, memory=out.memory, every=out.every, apart=out.apart,
        )  # fmt: skip
        skipped = member._replay_block(
            Batch(batch.x, z, batch.weight, batch.where, batch.start, batch.names, batch.times), own
        )
        predicted = own.predictions
        learned = np.zeros(len(batch), dtype=bool)
        if y is not None and z is not None:
            learned = ~np.isnan(predicted) & (np.abs(z) <= member._largest)
            if batch.weight is not None:
                learned &= batch.weight > 0
        counted = learned.copy()
        if not informed and learned.any():
            counted[learned.argmax()] = False
        errors = self._with((predicted if z is None else z)[counted], predicted[counted])
        ends = len(self._errors) + np.append(0, np.cumsum(counted))
        out.predictions[:] = self._in_turn(predicted, errors, ends[:-1])
        self._errors = errors[-_KEPT:]
        self._note_errors(y, batch.weight, learned, Outputs(out.predictions))
        if out.lower is not None:
            out.lower[:], out.upper[:] = self._ends(out.lower), self._ends(out.upper)
        if out.quantiles is not None:
            out.quantiles[:] = self._ends(out.quantiles)
        return skipped

    # Rows whose labels come late.

    def late_rows(self, tickets: list[Ticket]) -> LateAnswers:
        """The progress of rows for :attr:`run_late`, from the tickets of those that wait."""
        for part in (*self.members, *self.above):
            self.marked(part)
        return LateAnswers(tickets, self.above[0], self.scale, self.limits)

    @property
    def run_late(self) -> Callable[..., Status]:
        """Replays rows whose labels come late; an AttributeError if the learner's core, or a user's function, cannot."""
        if not self.members[0]._traits.is_native or not self.scale.is_named:
            raise AttributeError("run_late")
        core_of(self.members[0]).run_late  # noqa: B018 - raises AttributeError
        return self._run_late

    def _run_late(
        self,
        x: Array,
        y: Array,
        weight: None,
        skip: bool,
        out: Outputs,
        delay: int,
        rows: LateAnswers,
        times: Array | None = None,
    ) -> Status:
        """The learner comes first, as in :meth:`replay`; the labels must be in the domain, or missing."""
        z, carried, asked, told = self._transformed(y), rows.carried, rows.asked, rows.told
        own = Outputs(
            np.empty(len(x) - carried), lower=out.lower, upper=out.upper, level=out.level,
            quantiles=out.quantiles, quantile_levels=out.quantile_levels,
        )  # fmt: skip
        status: Status = self.marked(self.members[0]).run_late(x, z, weight, skip, own, delay, rows.within, times)
        new, done = slice(asked - carried, rows.asked - carried), slice(told, rows.told)
        rows.predicted = np.append(rows.predicted, own.predictions[new])
        learned = ~np.isnan(rows.predicted[done]) & (np.abs(z[done]) <= self.members[0]._largest)
        before = np.maximum(np.arange(asked, rows.asked) - delay, told) - told  # how many of these each new row knew
        rows.informed = np.append(rows.informed, self.rows + np.append(0, np.cumsum(learned))[before] > 0)
        counted = learned & rows.informed[done]
        errors = self._with(z[done][counted], rows.predicted[done][counted])
        ends = len(self._errors) + np.append(0, np.cumsum(counted))
        rows.answers = np.append(rows.answers, self._in_turn(own.predictions[new], errors, ends[before]))
        self._errors = errors[-_KEPT:]
        out.predictions[new] = rows.answers[asked:]
        if out.lower is not None:
            out.lower[new], out.upper[new] = self._ends(out.lower[new]), self._ends(out.upper[new])
        if out.quantiles is not None:
            out.quantiles[new] = self._ends(out.quantiles[new])
        missed = np.full(len(x), np.nan)
        with np.errstate(over="ignore"):
            missed[done] = clipped(np.where(learned, y[done] - rows.answers[done], np.nan))
        rows.note(missed, delay)
        return status

    def _in_turn(self, predicted: Array, errors: Array, ends: Array) -> Array:
        """The answers for rows in order, each from the errors before its end."""
        answers = np.empty(len(predicted))
        few = int(np.count_nonzero(ends < _KEPT))
        for t in range(few):
            answers[t] = self._answers(predicted[t : t + 1], errors[None, : ends[t]])[0]
        for start in range(few, len(predicted), _ROWS):
            rows = slice(start, start + _ROWS)
            windows = sliding_window_view(errors, _KEPT)[ends[rows] - _KEPT]
            answers[rows] = self._answers(predicted[rows], np.ascontiguousarray(windows))
        return answers
