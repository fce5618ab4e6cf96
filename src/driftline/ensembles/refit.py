"""A scikit-learn regressor that is refitted periodically along the stream."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from driftline._core import Outputs, Status
from driftline.base import params
from driftline.base.batch import Batch
from driftline.base.certificate import Certificate
from driftline.base.composite import Composite, core_of, exclusive, is_weight, tell_parts
from driftline.base.learner import Learner
from driftline.base.meta import MetaLearner
from driftline.base.rules import Rule
from driftline.base.ticket import Ticket
from driftline.base.traits import Traits
from driftline.ensembles.by_errors import ERRORS, ByErrors, error_of
from driftline.ensembles.fits import Fits
from driftline.linear.ridge import Ridge
from driftline.storage import codec
from driftline.tables.inputs import Array

_FIRST = Ridge()  # predicts until the first fit is in use
_NONE = np.empty(0)
_ESTIMATOR = Rule(
    lambda value: all(callable(getattr(value, name, None)) for name in ("fit", "predict", "get_params")),
    "a scikit-learn regressor, with fit, predict and get_params",
)


def _are_lags(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(type(lag) is int and lag > 0 for lag in value)


_LAGS = Rule(_are_lags, "a list of whole numbers of at least 1")


class Refit(MetaLearner):
    """A scikit-learn regressor as a learner, refitted along the stream on the latest rows.

    After every ``every`` rows, a copy of the estimator is fitted in a separate thread. A fit that starts after row n is used
    from row n + ``every`` // 10 on; if it takes longer, the model waits for it, so predictions depend only on the rows.
    Earlier fits start after 3/4, 1/2, 3/8, 1/4, ... of ``every`` rows, if that leaves 32 rows to fit, and are used after a
    tenth as many. Until the first fit is in use, :class:`~driftline.Ridge` predicts. If a fit fails, there is a warning,
    and the previous one stays in use. Predictions are clipped at half a range outside the labels: those of the window for
    the estimator, all of them for Ridge.

    Lags count from the predicted row. If the label at a lag is not known yet, lags that begin the list as 1, 2, ... become
    the newest known labels, in this order, and any other lag becomes its next multiple, as in
    :class:`~driftline.features.Lags`. A label before the first row is NaN to estimators that accept missing values, by their
    scikit-learn tags (LightGBM, HistGradientBoosting). Other estimators are not fitted to such a row, and Ridge predicts it;
    Ridge also predicts rows for which none of the labels exists.

    ``save`` and ``to_bytes`` raise an error, because an estimator cannot be saved safely; ``pickle`` works.

    Args:
        estimator: a scikit-learn regressor; it is copied and never changed.
        every: the number of rows between fits.
        window: the largest number of rows used for a fit.
        lags: the lags, in rows, of the labels that the estimator gets as inputs after the features.

    >>> import numpy as np
    >>> import driftline as dl
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> run = dl.Refit(DecisionTreeRegressor(max_depth=3), every=100).run(X, (X[:, 0] > 0.5) * 1.0)
    >>> float(run.losses[200:].mean()) < 0.01
    True
    """

    estimator: Any = params.checked(default=None, rule=_ESTIMATOR, kw_only=False)
    every: int = params.integer(default=500, ge=1)
    window: int = params.integer(default=5000, ge=1)
    lags: Sequence[int] = params.checked(default=(), rule=_LAGS)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        return iter(())  # there is no default estimator to test

    def _make_traits(self) -> Traits:
        return Traits(by_feature=False, linear=False, looks_back=bool(self.lags))

    def _base_learners(self) -> list[Learner]:
        return [_FIRST]

    def _copies_of_the_top(self) -> list[Learner]:
        return [ERRORS.clone(), ERRORS.clone()]

    def _compose(self, members: list[Learner], above: list[Learner], features: int) -> Composite:
        inputs = [(above[0], 1), (above[1], 1 + 2 * len(self.lags))]  # the second one's tickets carry the row's lags
        core = _Refit(members, inputs, features, bool(self.intercept), self.dtype)
        core.fits = Fits(self.estimator, self.every, self.window, tuple(self.lags), features)
        return core

    def _refresh(self, before: dict[str, Any]) -> None:
        raise ValueError

    def _certify(self, sums: dict[str, float]) -> Certificate:
        fits: Fits = self._require_core("certificate").fits
        return Certificate(sums["loss"], events={"fits": fits.started, "failed_fits": fits.failed})

    def save(self, path: Any) -> NoReturn:
        """Refuses: no file holds an estimator safely."""
        self._refuse("save")

    def to_bytes(self) -> NoReturn:
        """Refuses: no bytes hold an estimator safely."""
        self._refuse("to_bytes")

    def _refuse(self, verb: str = "save") -> NoReturn:
        raise ValueError(
            f"Refit.{verb}: a fitted {type(self.estimator).__name__} cannot be saved safely; pickle the learner if "
            "its readers trust you, or create a new one and run it over at least the last window rows"
        )


codec.register(Refit, "refit", Refit._refuse)  # also when nested in another model


class _Refit(ByErrors):
    """The state: the stand-in, the fits and the errors."""

    by_feature = False
    fits: Fits

    def weights(self) -> Array:
        """There are no weights."""
        return np.zeros(1, dtype=self.dtype)

    @property
    def delay(self) -> int:
        """The number of labels that arrived between the last row's prediction and its label."""
        return int(core_of(self.above[0]).delay)

    def _own_state(self) -> dict[str, Array]:
        return self.fits.get_state()

    def _set_own_state(self, state: dict[str, Array]) -> None:
        self.fits.set_state(state)

    @exclusive
    def grow(self, more: int) -> None:
        """Adds features, which were 0 in earlier rows."""
        self.fits.grow(self.features, more)
        super().grow(more)

    def _estimated(self, rows: Array, lagged: Array, first: Array) -> Array:
        """The predictions of the estimator in use, which cannot call the model."""
        with self.guard.closure():
            return self.fits.predict(rows, lagged, first)

    def _predict(self, x: Any, row: Array, delay: int) -> tuple[float, Array]:
        lagged = self.fits.lagged(delay, self.fits.labels)
        first = np.clip([core_of(self.members[0]).predict(x)], *self.fits.ranges(_NONE))
        return self.limits.hold(float(self._estimated(row[None], lagged[None], first)[0])), lagged

    @exclusive
    def predict(self, x: Any) -> Any:
        """The prediction, or None if Python must read the row."""
        row = self._row(x)
        return None if row is None else self._predict(x, row, self.delay)[0]

    def learn_row(self, x: Any, y: Any, weight: Any) -> Status:
        """The stand-in comes first, because nothing after it can refuse."""
        row = self._row(x) if is_weight(weight) and _is_label(y) else None
        if row is None:
            return Status.UNREAD
        prediction, lagged = self._predict(x, row, 0)
        fits = self._fits_with(row, lagged, y)
        status = self.learn_each([(self.members[0], x, y), (self.above[0], np.zeros(1), error_of(y, prediction))], weight)
        self.fits = fits if status is Status.DONE else self.fits
        return status

    @exclusive
    def ask(self, x: Any, delay: int | None, kind: type[Any]) -> Any:
        """A ticket that holds the stand-in's own, one for the errors, and one that carries the lags."""
        row = self._row(x) if self.mark else None
        inner = None if row is None else self.marked(self.members[0]).ask(x, delay, kind)
        if row is None or inner is None:
            return None
        prediction, lagged = self._predict(x, row, self.delay if delay is None else delay)
        carried = np.concatenate([[0.0], np.isnan(lagged), np.nan_to_num(lagged)])
        lags = self.marked(self.above[1]).ask(carried, delay, kind)
        return self.asked(x, prediction, [inner], delay, kind, lags)

    def learn_ticket(self, ticket: Ticket, y: Any, weight: Any) -> Status:
        """The stand-in comes first, because nothing after it can refuse."""
        row = self._row(ticket.x) if is_weight(weight) and _is_label(y) else None
        if row is None:
            return Status.UNREAD
        fits, error = self._fits_with(row, _lagged_of(ticket), y), error_of(y, ticket.prediction)
        parts = [(self.members[0], ticket.parts[0], y), (self.above[0], ticket.parts[1], error)]
        status = self.tell_each(parts, weight)
        self.fits = fits if status is Status.DONE else self.fits
        return status

    def _fits_with(self, row: Array, lagged: Array, y: float) -> Fits:
        """A copy of the fits with one more row. It may fit the estimator, which may raise an error."""
        fits = copy.copy(self.fits)
        fits.add(row[None], lagged[None], np.array([y]))
        return fits

    def tell_parts(self, ticket: Ticket, batch: Batch) -> None:
        """Like :meth:`learn_ticket`, for a stand-in that may refuse the row."""
        tell_parts(self.members, ticket.parts[:1], batch)
        assert batch.y is not None
        y, row = float(batch.y[0]), np.asarray(batch.x[0], dtype=np.float64)
        tell_parts(self.above[:1], ticket.parts[1:2], batch, [error_of(y, ticket.prediction)])
        self.fits.add(row[None], _lagged_of(ticket)[None], np.array([y]))

    def replay(self, batch: Batch, out: Outputs) -> int:
        """The stand-in processes the rows first; the estimator then predicts all rows between two fits at once."""
        y = batch.y
        predicted, _, skipped = self.replay_members(batch, [y], apart=out.apart)
        whole = ~np.isnan(predicted[:, 0])
        rows = np.where(whole[:, None], batch.x, 0.0)
        out.predictions[:] = predicted[:, 0]
        if y is None:
            lagged = np.tile(self.fits.lagged(self.delay, self.fits.labels), (int(whole.sum()), 1))
            first = np.clip(predicted[whole, 0], *self.fits.ranges(_NONE))
            out.predictions[whole] = self._estimated(rows[whole], lagged, first)
            self._note_errors(None, None, whole, out)
            return skipped
        labels, learned, placed = self._placed(y, whole, batch.weight)
        start = 0
        while start < len(y):
            reached = np.flatnonzero(np.cumsum(placed[start:]) == self.fits.until)
            stop = start + int(reached[0]) + 1 if len(reached) else len(y)
            at = slice(start, stop)
            self._replay_segment(rows[at], labels[at], whole[at], learned[at], placed[at], out.part(start, stop))
            start = stop
        self._note_errors(y, batch.weight, learned, out)
        return skipped

    def _placed(self, y: Array, whole: Array, weight: Array | None) -> tuple[Array, Array, Array]:
        """The labels, of which a missing one repeats the one before; the rows to learn; and the rows that lags count.

        These are the learned ones, and those with a missing value.
        """
        known, before = np.abs(y) <= self.members[0]._largest, self.fits.labels
        learned = whole & known if weight is None else whole & known & (weight > 0)
        placed = learned | ~(whole & known) if self.fits.looks_back else learned
        if not len(before):
            placed &= np.cumsum(learned) > 0  # lags do not reach back before the first label
        newest = np.maximum.accumulate(np.where(known & placed, np.arange(len(y)), -1))
        return np.where(newest < 0, before[-1] if len(before) else 0.0, y[newest]), learned, placed

    def _replay_segment(self, rows: Array, labels: Array, whole: Array, learned: Array, placed: Array, out: Outputs) -> None:
        """Predicts the rows up to the next fit, then adds them to its data."""
        known, news = self.fits.labels, labels[placed]
        labels = np.concatenate([known, news])
        before = np.append(0, np.cumsum(placed))[:-1]
        lagged = np.stack([self.fits.lagged(0, labels[: len(known) + count]) for count in before])
        asked, (low, high) = np.flatnonzero(whole), self.fits.ranges(news)
        first = np.clip(out.predictions[asked], low[before[asked]], high[before[asked]])
        out.predictions[asked] = self._estimated(rows[asked], lagged[asked], first)
        if len(news):
            self.fits.add(rows[placed], lagged[placed], news, learned[placed])


def _is_label(y: Any) -> bool:
    """Whether a label needs no conversion."""
    return isinstance(y, float) and math.isfinite(y)


def _lagged_of(ticket: Ticket) -> Array:
    """The lagged labels that a ticket carries; NaN for those before the first label."""
    missing, lagged = np.asarray(ticket.parts[2].x)[1:].reshape(2, -1)
    return np.where(missing, np.nan, lagged)
