"""A scikit-learn regressor that is fitted again and again along the stream."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NoReturn

import numpy as np

from driftline._core import Outputs, Status
from driftline.base import params
from driftline.base.batch import Batch
from driftline.base.by_errors import ByErrors
from driftline.base.certificate import Certificate
from driftline.base.composite import Composite, core_of, exclusive, is_weight, tell_each
from driftline.base.learner import Learner
from driftline.base.meta import MetaLearner
from driftline.base.rules import Rule
from driftline.base.stability import issue
from driftline.base.ticket import Ticket
from driftline.linear.lms import LMS
from driftline.linear.ridge import Ridge
from driftline.storage import codec
from driftline.tables.inputs import Array

_FIRST = Ridge()  # predicts until the first fit serves
_ERRORS = LMS(intercept=False)  # on rows of 0 it predicts 0, and so only takes note of errors
_LARGEST = np.finfo(np.float64).max
_FEWEST = 32  # rows of a fit before the first ``every``
_ESTIMATOR = Rule(
    lambda value: all(callable(getattr(value, name, None)) for name in ("fit", "predict", "get_params")),
    "a scikit-learn regressor, with fit, predict and get_params",
)


def _are_lags(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(type(lag) is int and lag > 0 for lag in value)


_LAGS = Rule(_are_lags, "a list of whole numbers of at least 1")


class Refit(MetaLearner):
    """A scikit-learn regressor, refitted along the stream on the latest rows, as a learner.

    A fit begins after row n, whenever ``every`` divides n, on a copy of the estimator and in a thread of its own. It serves
    from row n + ``every`` // 10 on, whether it is done earlier or has to be waited for: predictions depend on the rows
    alone, never on the clock. Before, fits begin after ``every`` // 2, // 4, // 8, ... rows, where that leaves 32 rows to
    fit, and serve after a tenth as many. Until the first fit serves, :class:`~driftline.Ridge` predicts. A fit that fails is
    reported as a warning, and the one before goes on serving. Predictions of the estimator are cut off half a range outside
    the labels of the window.

    Lags count from the row that is predicted. Where the label at a lag is not known yet, lags that begin the list as 1, 2,
    ... stand for the newest labels known, in this order, and any other lag for its next multiple, as in
    :class:`~driftline.features.Lags`. A label that lies before the first row is NaN to estimators that take missing values,
    as their scikit-learn tags tell (LightGBM, HistGradientBoosting). Others are not fitted to such a row, and Ridge predicts
    it; so it does for all of them where none of the labels is there.

    An estimator cannot be saved safely: ``save`` and ``to_bytes`` refuse. ``pickle`` keeps it.

    Args:
        estimator: a scikit-learn regressor; it is copied, and never changed itself.
        every: rows between fits.
        window: rows that a fit looks back on, at most.
        lags: how many rows back the labels lie that the estimator gets as inputs, after the features.

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

    _by_feature = _linear = False

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        return iter(())  # there is no estimator to begin with

    def _base_learners(self) -> list[Learner]:
        return [_FIRST]

    def _top_learners(self) -> list[Learner]:
        return [_ERRORS, _ERRORS]

    def _copies_of_the_top(self) -> list[Learner]:
        return [_ERRORS.clone(), _ERRORS.clone()]

    def _compose(self, members: list[Learner], above: list[Learner], features: int) -> Composite:
        inputs = [(above[0], 1), (above[1], 1 + 2 * len(self.lags))]  # the second one's tickets carry a row's lags
        core = _Refit(members, inputs, features, bool(self.intercept), self.dtype)
        core.plan(self.estimator, self.every, self.window, tuple(self.lags))
        return core

    def _refresh(self, before: dict[str, Any]) -> None:
        raise ValueError

    def _certify(self, sums: dict[str, float]) -> Certificate:
        core: _Refit = self._require_core("certificate")
        return Certificate(sums["loss"], events={"fits": core.fits, "failed_fits": core.failed})

    def save(self, path: Any) -> NoReturn:
        """Refuses: no file holds an estimator safely."""
        self._refuse("save")

    def to_bytes(self) -> NoReturn:
        """Refuses: no bytes hold an estimator safely."""
        self._refuse("to_bytes")

    def _refuse(self, verb: str = "save") -> NoReturn:
        raise ValueError(
            f"Refit.{verb}: a fitted {type(self.estimator).__name__} cannot be saved safely; pickle the learner for those "
            "who trust you, or make a new one and run it over the last rows, at least window of them"
        )


codec.register(Refit, "refit", Refit._refuse)  # as a part of another model, too


class _Refit(ByErrors):
    """The state: the last rows with their labels, the estimator that serves and the one that is to serve next."""

    by_feature = False

    def plan(self, estimator: Any, every: int, window: int, lags: tuple[int, ...]) -> None:
        """Sets the parameters."""
        self._pattern, self._every, self._window, self._lags = estimator, every, window, lags
        self._takes_missing = _takes_missing(estimator)
        halves = (every >> half for half in range(1, every.bit_length()))
        self._early = [
            count for count in halves if count >= _FEWEST
        ]  # rows, after which fits begin before the first regular one
        self._rows = np.empty((0, self.features + len(lags)))
        self._targets = np.empty(0)
        self._labels = np.empty(0)  # as many as the longest lag needs
        self._count = 0
        self.fits = self.failed = 0
        self._serving: Any = None
        self._next: Any = None  # a fitted estimator, or why there is none, or the future of either
        self._due = -1  # the number of rows from which it serves

    @exclusive
    def sums(self) -> dict[str, float]:
        """Rows, loss and largest loss of the predictions."""
        return self.above[0]._sums()

    def weights(self) -> Array:
        """There are none."""
        return np.zeros(1, dtype=self.dtype)

    @property
    def late(self) -> int:
        """Labels that came between the prediction and the label of the last row."""
        return int(core_of(self.above[0]).late)

    def _own_state(self) -> dict[str, Array]:
        estimators = np.empty(2, dtype=object)
        estimators[:] = self._serving, self._fitted()
        numbers = np.array([self._count, self.fits, self.failed, self._due], dtype=np.float64)
        rows = {"rows": self._rows.copy(), "targets": self._targets.copy(), "labels": self._labels.copy()}
        return {"estimators": estimators, "numbers": numbers, **rows}

    def _set_own_state(self, state: dict[str, Array]) -> None:
        self._serving, self._next = state["estimators"]
        self._count, self.fits, self.failed, self._due = (int(number) for number in state["numbers"])
        self._rows, self._targets, self._labels = (state[name].copy() for name in ("rows", "targets", "labels"))

    @exclusive
    def grow(self, more: int) -> None:
        """Before it was met, a feature was 0. What is fitted does not know it: it serves on the features that it knows."""
        self._rows = np.insert(self._rows, [self.features] * more, 0.0, axis=1)
        super().grow(more)

    # Fits.

    def _fitted(self) -> Any:
        """The estimator that is to serve next, waited for, or why there is none."""
        if isinstance(self._next, Future):
            self._next = self._next.result()
        return self._next

    def _begin(self) -> None:
        X, y = self._rows[-self._window :].copy(), self._targets[-self._window :].copy()
        if len(y) < (1 if self._count >= self._every else _FEWEST):
            return
        self._serve(now=True)  # where fits follow faster than they serve
        fresh = copy.deepcopy(self._pattern)
        pool = ThreadPoolExecutor(1)
        self._next = pool.submit(_fit, fresh, X, y)
        pool.shutdown(wait=False)
        self._due = self._count + min(self._count, self._every) // 10
        self.fits += 1
        self._serve()

    def _serve(self, now: bool = False) -> None:
        if self._next is None or not (now or self._count >= self._due):
            return
        fitted, self._next, self._due = self._fitted(), None, -1
        if not isinstance(fitted, str):
            self._serving = fitted
            return
        self.failed += 1
        issue(f"Refit: a fit failed, and the one before goes on serving: {fitted}")

    def _until_fit(self) -> int:
        """How many more rows are learned before the next fit begins."""
        regular = self._every * (self._count // self._every + 1)
        return min(fit - self._count for fit in (*self._early, regular) if fit > self._count)

    def _lagged(self, ahead: int, known: int, labels: Array) -> Array:
        """The labels at a row's lags, ``ahead`` rows beyond the last of ``labels``; NaN for those before the first."""
        out = np.full(len(self._lags), np.nan)
        for k, lag in enumerate(self._lags):
            multiple = (ahead + lag - 1) // lag * lag
            back = lag if lag < ahead and lag == k + 1 else multiple - ahead + 1
            if back <= known:
                out[k] = labels[-back]
        return out

    def _usable(self, lagged: Array) -> Array:
        """Which rows the estimator can be given, by their lagged labels, (rows, lags)."""
        missing = np.isnan(lagged).sum(axis=1)
        return np.asarray(missing < max(len(self._lags), 1)) if self._takes_missing else missing == 0

    def _say(self, rows: Array, lagged: Array, first: Array) -> Array:
        """What the estimator says about rows; ``first`` where it cannot say anything."""
        out, usable = first.copy(), self._usable(lagged)
        if self._serving is None or not usable.any():
            return out
        estimator, low, high, width = self._serving
        features = width - len(self._lags)
        said = estimator.predict(np.column_stack([rows[usable, :features], lagged[usable]]))
        said = np.asarray(said, dtype=np.float64).reshape(-1)
        reach = 0.5 * (high - low)
        out[usable] = np.clip(np.nan_to_num(said), low - reach, high + reach)
        return out

    def _take_in(self, row: Array, lagged: Array, y: float) -> None:
        """A row that was learned: it may be fitted from now on, and a fit may begin or serve."""
        self._keep(row[None], lagged[None], np.array([y]))
        self._after()

    def _keep(self, rows: Array, lagged: Array, y: Array) -> None:
        usable = self._usable(lagged)
        if usable.any():
            new = np.column_stack([rows[usable], lagged[usable]])
            self._rows = np.concatenate([self._rows, new])[-self._window :]
            self._targets = np.concatenate([self._targets, y[usable]])[-self._window :]
        self._labels = np.concatenate([self._labels, y])[-max(self._lags, default=1) - self._every :]
        self._count += len(y)

    def _after(self) -> None:
        self._serve()
        if self._count % self._every == 0 or self._count in self._early:
            self._begin()

    # Verbs.

    def _row(self, x: Any) -> Array | None:
        """The row as an array, or None where Python must read it."""
        if core_of(self.members[0]).predict(x) is None:
            return None
        if isinstance(x, dict):
            assert self._names is not None
            return np.array([x.get(name, 0.0) for name in self._names], dtype=np.float64)
        return np.asarray(x, dtype=np.float64)

    def _predict(self, x: Any, row: Array, ahead: int) -> tuple[float, Array]:
        lagged = self._lagged(ahead, min(self._count, len(self._labels)), self._labels)
        first = np.array([core_of(self.members[0]).predict(x)])
        return float(self._say(row[None], lagged[None], first)[0]), lagged

    @exclusive
    def predict(self, x: Any) -> Any:
        """The prediction, or None where Python must read the row."""
        row = self._row(x)
        return None if row is None else self._predict(x, row, self.late + 1)[0]

    @exclusive
    def learn(self, x: Any, y: Any, weight: Any = None) -> Status:
        """The stand-in goes first: nothing after it can refuse."""
        row = self._row(x) if is_weight(weight) else None
        if row is None:
            return Status.UNREAD
        prediction, lagged = self._predict(x, row, 1)
        if core_of(self.members[0]).learn(x, y, weight) is not Status.DONE:
            return Status.UNREAD
        self.above[0].learn_one(np.zeros(1), _held(float(y) - prediction), sample_weight=weight)
        self._take_in(row, lagged, float(y))
        return Status.DONE

    @exclusive
    def ask(self, x: Any, ahead: int | None, kind: type[Any]) -> Any:
        """A ticket with the stand-in's own, one of the errors, and one that carries the lags."""
        row = self._row(x) if self.mark else None
        inner = None if row is None else self.marked(self.members[0]).ask(x, ahead, kind)
        if row is None or inner is None:
            return None
        prediction, lagged = self._predict(x, row, self.late + 1 if ahead is None else ahead)
        carried = np.concatenate([[0.0], np.isnan(lagged), np.nan_to_num(lagged)])
        lags = self.marked(self.above[1]).ask(carried, ahead, kind)
        return self.asked(x, prediction, [inner], ahead, kind, lags)

    @exclusive
    def tell(self, ticket: Any, y: Any, weight: Any = None) -> Status:
        """The stand-in goes first: nothing after it can refuse."""
        row = self._row(ticket.x) if self.takes(ticket) and is_weight(weight) else None
        if row is None or self.marked(self.members[0]).tell(ticket.parts[0], y, weight) is not Status.DONE:
            return Status.UNREAD
        ticket.told = True
        self._told(ticket, row, float(y), weight)
        return Status.DONE

    def tell_parts(self, ticket: Ticket, batch: Batch) -> None:
        """The same, where the stand-in may refuse."""
        tell_each(self.members, ticket.parts[:1], batch)
        assert batch.y is not None
        weight = None if batch.weight is None else float(batch.weight[0])
        self._told(ticket, np.asarray(batch.x[0], dtype=np.float64), float(batch.y[0]), weight)

    def _told(self, ticket: Ticket, row: Array, y: float, weight: float | None) -> None:
        self.marked(self.above[0])
        self.above[0].tell(ticket.parts[1], _held(y - ticket.prediction), sample_weight=weight)
        missing, lagged = np.asarray(ticket.parts[2].x)[1:].reshape(2, -1)
        self._take_in(row, np.where(missing, np.nan, lagged), y)

    def replay(self, batch: Batch, out: Outputs) -> int:
        """The stand-in goes through the rows first; the estimator then takes all rows between two fits at once."""
        y = batch.y
        said, _, skipped = self.replay_members(batch, [y])
        whole = ~np.isnan(said[:, 0])
        rows = np.where(whole[:, None], batch.x, 0.0)
        out.predictions[:] = said[:, 0]
        if y is None:
            lagged = self._lagged(self.late + 1, min(self._count, len(self._labels)), self._labels)
            out.predictions[whole] = self._say(rows[whole], np.tile(lagged, (int(whole.sum()), 1)), said[whole, 0])
            self._write_intervals(out)
            return skipped
        learned = whole & (np.abs(y) <= self.members[0]._largest)
        if batch.weight is not None:
            learned &= batch.weight > 0
        start = 0
        while start < len(y):
            stop = self._end_of_segment(learned, start)
            self._replay_segment(rows, y, whole, learned, slice(start, stop), out)
            start = stop
        self._note_errors(y, batch.weight, learned, out)
        return skipped

    def _end_of_segment(self, learned: Array, start: int) -> int:
        """The row after the next one at which a fit begins or serves."""
        until = self._until_fit()
        if self._next is not None:
            until = min(until, max(self._due - self._count, 1))
        reached = np.flatnonzero(np.cumsum(learned[start:]) == until)
        return start + int(reached[0]) + 1 if len(reached) else len(learned)

    def _replay_segment(self, rows: Array, y: Array, whole: Array, learned: Array, at: slice, out: Outputs) -> None:
        labels, known = self._labels, min(self._count, len(self._labels))
        news = y[at][learned[at]]
        told = np.concatenate([labels, news])
        before = known + np.append(0, np.cumsum(learned[at]))[:-1]
        older = len(labels) - known
        lagged = np.stack([self._lagged(1, int(count), told[: older + int(count)]) for count in before])
        asked, kept = np.flatnonzero(whole[at]), np.flatnonzero(learned[at])
        places = at.start + asked
        out.predictions[places] = self._say(rows[places], lagged[asked], out.predictions[places])
        self._keep(rows[at.start + kept], lagged[kept], news)
        if len(kept):
            self._after()

    def _note_errors(self, y: Array, weight: Array | None, learned: Array, out: Outputs) -> None:
        """Takes note of the errors of the rows that were learned, and writes the intervals."""
        errors = np.where(learned, y - out.predictions, np.nan)
        ends = {} if out.lower is None else {"lower": np.empty(len(y)), "upper": np.empty(len(y)), "level": out.level}
        own = Outputs(np.empty(len(y)), **ends)
        core_of(self.above[0]).run(np.zeros((len(y), 1)), np.ascontiguousarray(_held(errors)), weight, True, own, 0)
        if out.lower is not None:
            out.lower[:], out.upper[:] = out.predictions + own.lower, out.predictions + own.upper

    def _write_intervals(self, out: Outputs) -> None:
        if out.lower is not None:
            lower, upper = core_of(self.above[0]).predict_interval(np.zeros(1), out.level)
            out.lower[:], out.upper[:] = out.predictions + lower, out.predictions + upper


def _fit(estimator: Any, X: Array, y: Array) -> tuple[Any, float, float, int] | str:
    """The fitted estimator with the range of its labels and the width of its rows, or why there is none."""
    try:
        return estimator.fit(X, y), y.min(), y.max(), X.shape[1]
    except Exception as error:  # whatever an estimator raises, the learner goes on
        return f"{type(error).__name__}: {error}"


def _takes_missing(estimator: Any) -> bool:
    """Whether an estimator's scikit-learn tags say that inputs may be NaN."""
    tags = getattr(estimator, "__sklearn_tags__", None)
    return tags is not None and bool(tags().input_tags.allow_nan)


def _held(values: Any) -> Any:
    """Within the range of float64."""
    return np.clip(values, -_LARGEST, _LARGEST)
