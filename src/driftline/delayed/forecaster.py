"""Forecasts of the next rows, by one model for each step."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from driftline._core import Guard, Outputs
from driftline.base.learner import Learner
from driftline.base.levels import NO_SPREAD, Levels, Spread, arrays_of, as_spread
from driftline.base.rules import COUNT, whole
from driftline.base.ticket import plain_row, row_of
from driftline.delayed import given
from driftline.delayed.forecast import Forecast, ForecastRun
from driftline.delayed.known import Known, is_featureless
from driftline.delayed.parallel import in_parallel
from driftline.delayed.paths import LEVELS, Paths
from driftline.delayed.series import EXPERTS, Mixed, Series, as_seasons
from driftline.delayed.stepper import Stepper, is_whole, waiting_of, whole_rows
from driftline.delayed.timeline import Timeline, read_times, times_of
from driftline.delayed.undo import Undo
from driftline.ensembles.auto import Auto
from driftline.errors import DriftlineWarning, ModelFileError, not_fitted
from driftline.features.pipeline import Pipeline
from driftline.storage import codec
from driftline.storage.model_file import Saved
from driftline.tables import inputs
from driftline.tables.block import RowBlock, as_block
from driftline.tables.calendar import CIRCLES
from driftline.tables.cells import Row
from driftline.tables.inputs import Array, Name
from driftline.tables.missing import RAISE, SKIP

_STEPS = whole(1, 10_000)
_SHOWN = 4  # as many labels as this many times the steps are shown before a forecast
_ENDS = ("lower", "upper")


class _Call(NamedTuple):
    """A call that learns rows.

    Attributes:
        y: their labels.
        spread: the intervals and quantiles that are wanted.
        where: the caller's name, for messages.
        start: the number of the first row, for messages; None for a single row.
    """

    y: Array
    spread: Spread
    where: str
    start: int | None = None


class Forecaster(Saved):
    r"""Forecasts the next rows, with one model for each step ahead.

    The model for step k predicts row t from what is known k rows earlier: the labels through row t - k, the features that
    are known ahead, and the values of the others at that time. It learns each row from the same inputs, so its intervals
    keep their level at that step. Label lags, in :class:`~driftline.Auto` and :class:`~driftline.features.Lags`, count from
    the predicted row: "the same hour yesterday" means the same at every step.

    For each step, learning a row costs one to four times as much as in ``run`` of the learner; ``run`` computes the steps in
    parallel. Before a forecast, a copy of the model for step k learns the k - 1 latest labels, once for each new label.

    With :class:`~driftline.Auto`, the forecasts at each step are mixed with forecasts from the labels alone: exponential
    smoothing, the theta method and the last season. Their weights are by the errors at that step. See :doc:`/forecasts`.

    Args:
        learner: any regressor; each step gets an unfitted copy of it.
        steps: the number of rows ahead, at most 10,000; each step has its own model.
        known: the features that are known ahead, by name or index; None for all. For the others, the value at the origin is
            used.
        smoothing: whether to mix in forecasts from the labels alone; None to do so if the learner is Auto, perhaps behind
            transformers.
        seasons: the lengths in rows of one or two seasons that these use; None to find them.

    >>> import driftline as dl
    >>> hours = np.arange(480)
    >>> load = 10 + 3 * np.sin(hours * np.pi / 12)
    >>> f = dl.Forecaster(dl.Auto(), steps=3)
    >>> for hour, y in zip(hours, load):
    ...     f.learn_one({"hour": hour % 24}, y)
    >>> forecast = f.forecast([{"hour": hour % 24} for hour in (480, 481, 482)])
    >>> bool(np.abs(forecast.predictions - (10 + 3 * np.sin(np.arange(480, 483) * np.pi / 12))).max() < 0.1)
    True
    """

    def __init__(
        self,
        learner: Learner,
        steps: int,
        known: Sequence[Name] | None = None,
        *,
        smoothing: bool | None = None,
        seasons: int | Sequence[int] | None = None,
    ) -> None:
        if not isinstance(learner, Learner) or learner._estimator_type != "regressor":
            raise TypeError(f"Forecaster: learner must be a regressor, got {learner!r}")
        self._guard = Guard("Forecaster")
        self._learner = learner
        self._steps = _STEPS.require("Forecaster", "steps", steps)
        self._known = Known(known)
        if smoothing not in (None, True, False):
            raise TypeError(f"Forecaster: smoothing must be True, False or None, got {smoothing!r}")
        smooths = isinstance(_last(learner), Auto) if smoothing is None else bool(smoothing)
        self._given_smoothing, self._seasons = smoothing, as_seasons(seasons)
        self._series = Series(self._steps, self._seasons, learner) if smooths else None
        self._names: list[Name] | None = None
        self._cells: list[Row] | None = None  # the last rows by columns, once one held text or times
        self._known_columns: list[Name] | None = None  # the columns that are known ahead then; None for all
        self._steppers = [Stepper(learner.clone(), delay) for delay in range(self._steps)]
        self._past = np.empty((0, 0))  # the last rows, newest last, one for each step
        self._rows = 0
        self._timeline: Timeline | None = None  # if the rows' times are known
        self._ready: list[Learner | None] = [None] * self._steps  # models that have learned all labels
        self._undo = Undo(self)

    @property
    def learner(self) -> Learner:
        """The base learner, as given."""
        return self._learner

    @property
    def steps(self) -> int:
        """The number of rows ahead."""
        return self._steps

    @property
    def known(self) -> list[Name] | None:
        """The features that are known ahead, or the columns if some hold text or times; None for all."""
        return self._known.given if self._cells is None else self._known_columns

    @property
    def smoothing(self) -> bool:
        """Whether forecasts from the labels alone are mixed in."""
        return self._series is not None

    @property
    def seasons_(self) -> list[int]:
        """The lengths in rows of the seasons that forecasts from the labels alone use; empty if there is none."""
        return [] if self._series is None else self._series.seasons

    @property
    def weights_(self) -> dict[str, Array]:
        """The weights with which the next forecasts are mixed: by expert, (steps,)."""
        if self._series is None:
            return {"learner": np.ones(self._steps)}
        return dict(zip(EXPERTS, self._series.weights().T, strict=True))

    @property
    def n_seen_(self) -> int:
        """The number of rows learned or skipped."""
        return self._rows

    @property
    def learners_(self) -> list[Learner]:
        """The trained model for each step: inspect them, but do not train them."""
        return [stepper.learner for stepper in self._steppers]

    # Learning.

    def learn_one(self, x: Any, y: Any) -> None:
        """Learns a row, at every step: an array-like, or a mapping whose names are those of the first row.

        Text and times in mappings and frames are encoded as learners encode them.
        """
        self._learn_row(x, y, NO_SPREAD)

    def _learn_row(self, x: Any, y: Any, spread: Spread) -> list[float]:
        """Forecasts and learns one row; returns the forecast one step ahead and its spread. An error changes nothing."""
        where = "Forecaster.learn_one"
        label = inputs.as_number(y, where, "y")
        with self._guard.undo(self._undo, only=True):
            table = given.by_columns(x, self._cells is not None, where)
            if table is not None:
                learn = partial(self._one_of_columns, table, label, spread, where)
            else:
                learn = partial(self._one_of_numbers, *self._row(x, where), label, spread, where)
            found = learn()
            self._undo.note(learn)
        return found

    def _one_of_columns(self, table: RowBlock, y: float, spread: Spread, where: str) -> list[float]:
        run = self._learn_columns(table, _Call(np.array([y]), spread, where)).at_step(1)
        parts = [run.predictions, run.lower, run.upper, run.quantiles]
        return [value for part in parts if part is not None for value in part.ravel().tolist()]

    def _one_of_numbers(self, names: list[Name] | None, row: Array, y: float, spread: Spread, where: str) -> list[float]:
        if not self._rows:
            self._known.check(len(row), names, where)
        learner, largest = self._learner, self._learner._largest
        inside = np.abs(row) <= largest
        if learner.missing == RAISE and not (inside.all() and abs(y) <= largest):
            learner._door.refuse_row(row, np.array(y), where, None, names)
        learner._check_labels(np.array([[y]]), where, None)
        row = np.where(inside, row, np.nan)
        past = np.concatenate([self._past, row[None]]) if self._rows else row[None]
        shifted, found = self._known.leaves_out(len(row)), [np.nan] * (1 + spread.width)
        said = np.full(self._steps, np.nan)
        for step, stepper in enumerate(self._steppers, 1):
            if shifted and step > self._rows:
                break  # the row has no origin at this step
            seen = self._known.seen(past, len(past) - 1, step)[0] if shifted else row
            ticket = stepper.row(_question(stepper.learner, seen, names), y)
            if step <= self._rows + 1:  # not due before the stream began
                said[step - 1] = ticket.prediction
            if step == 1:
                found = [ticket.prediction, *spread.of_ticket(ticket)]
        if self._series is not None:
            mixed = self._series.learn(said[None], np.array([y])).first()
            found = _mixed(mixed, np.array([found]), spread)[0].tolist()
        self._rows += 1
        self._ready = [None] * self._steps
        self._names, self._past = names, past[-self._steps :]
        return found

    def run(self, X: Any, y: Any, level: float | None = None, quantiles: Levels | None = None) -> ForecastRun:
        """Forecasts each row once from each step ahead, then learns it.

        Args:
            X: (T, d) array or frame, which may hold text and times; (T, 0) without features.
            y: (T,) labels.
            level: also return intervals at this level.
            quantiles: also return quantiles of these levels, in ascending order.
        """
        where = "Forecaster.run"
        return self._learn(X, y, as_spread(where, level, quantiles), where, 0)

    def _learn(self, X: Any, y: Any, spread: Spread, where: str, start: int) -> ForecastRun:
        """Forecasts and learns rows; an error changes nothing."""
        with self._guard.undo(self._undo, only=True):
            table = given.by_columns(X, self._cells is not None, where)
            if table is not None:
                labels = inputs.as_vector(y, table.rows, where, "y")
                run = self._learn_columns(table, _Call(labels, spread, where, start))
            else:
                names, rows = self._table(X, where)
                labels = inputs.as_vector(y, len(rows), where, "y")
                run = self._learn_rows(rows, names, _Call(labels, spread, where, start))
            self._undo.forget()
        return run

    def _learn_columns(self, table: RowBlock, call: _Call) -> ForecastRun:
        """Learns rows by columns, which the model of each step encodes."""
        where = call.where
        if self._rows and self._names is None:
            raise ValueError(given.other_names(where, None, table.names or []))
        cells, known = self._cells, self._known_columns
        if cells is None:
            cells = [given.of_numbers(row, self._names or []) for row in self._past] if self._rows else []
            known = given.known_columns(self._known.given, table, where)
            if known is not None and self._reads_times:
                known += [name for name in given.times_in(table) if name not in known]
        names = given.names_of(self._names if self._rows else None, table, where)
        given.refuse(self._learner, table, call.y, where, call.start)
        rows = given.Rows(cells, table, names, known, where)
        self._cells, self._known_columns = cells, known
        run = self._steps_over(rows, call)
        self._names, self._cells = names, rows.last(self._steps)
        return run

    def _learn_rows(self, rows: Array, names: list[Name] | None, call: _Call) -> ForecastRun:
        """Learns rows of numbers."""
        y, where, start = call.y, call.where, call.start
        self._known.check(rows.shape[1], names, where)
        door = self._learner._door
        whole = door.whole_rows(rows) & (np.abs(y) <= door.largest)
        if self._learner.missing == "raise" and not whole.all():
            bad = int(whole.argmin())
            door.refuse_row(rows[bad], y[bad], where, None if start is None else start + bad, names)
        self._learner._check_labels(y, where, start)
        past = self._past if self._rows else np.empty((0, rows.shape[1]))
        everything = np.concatenate([past, np.where(np.abs(rows) <= door.largest, rows, np.nan)])
        run = self._steps_over(Numbers(self._known, everything, len(past), names, where), call)
        self._names, self._past = names, everything[-self._steps :].copy()
        return run

    def _steps_over(self, rows: Numbers | given.Rows, call: _Call) -> ForecastRun:
        """Forecasts and learns rows at every step."""
        y, spread, where, start = call
        count = len(y)

        def step(number: int) -> tuple[Outputs, int]:
            stepper, seen = self._steppers[number], rows.seen(number + 1)
            begin = min(max(0, number + 1 - self._rows), count) if rows.leaves_out else 0  # rows without an origin
            out, informed = spread.outputs(np.empty(count)), count
            if begin < count:
                informed = begin + _first_informed(stepper, seen[begin:], y[begin:])
                found = stepper.table(
                    rows.table(seen[begin:]), y[begin:], where, spread=spread, start=None if start is None else start + begin
                )
                for whole, part in zip(arrays_of(out), arrays_of(found), strict=True):
                    whole[begin:] = part
            early = max(begin, number - self._rows)  # rows without an origin, or that were due before the stream began
            for whole in arrays_of(out):
                whole[:early] = np.nan
            return out, informed

        numbers = range(self._steps)
        results = in_parallel(step, self._steps) if count > 1 else [step(number) for number in numbers]
        self._rows += count
        self._ready = [None] * self._steps
        outs = [out for out, _ in results]
        predictions, lower, upper, quantiles = self._mixed_run(outs, y, spread)
        uninformed = np.minimum([informed for _, informed in results], count)
        with np.errstate(over="ignore"):
            errors = y[:, None] - predictions
        return ForecastRun(
            predictions,
            errors,
            lower,
            upper,
            spread.level,
            uninformed,
            quantiles,
            spread.quantiles,
        )

    def _mixed_run(
        self, outs: Sequence[Outputs], y: Array, spread: Spread
    ) -> tuple[Array, Array | None, Array | None, Array | None]:
        """The predictions, ends of intervals and quantiles of all steps, after learning the labels of the series."""
        said = np.column_stack([out.predictions for out in outs])
        ends = [] if spread.level is None else [np.column_stack([getattr(out, end) for out in outs]) for end in _ENDS]
        quantiles = None if spread.quantiles is None else np.stack([out.quantiles for out in outs], axis=1)
        mixed = said
        if self._series is not None:
            found = self._series.learn(said, y)
            mixed = found.predictions
            if spread.level is not None:
                ends = [*found.ends(ends[0], ends[1], spread.level)]
            if quantiles is not None and spread.quantiles is not None:
                quantiles = found.quantiles(quantiles, spread.quantiles)
        lower, upper = ends or (None, None)
        return mixed, lower, upper, quantiles

    def fit(self, y: Any, X: Any = None, *, times: Any = None) -> Forecaster:
        """Starts afresh and learns a series.

        If the rows' times are known, forecasts have times too, and a learner behind a
        :class:`~driftline.features.Calendar` gets them as a feature, which needs no rows when it forecasts. Times must be
        evenly spaced: by a fixed length, by months or by weekdays (Monday to Friday).

        Args:
            y: (T,) labels, such as a column of a frame.
            X: (T, d) features, array or frame; None for a series without features.
            times: (T,) times of the rows, such as a column of a frame; None for those of the index of y or X, if it has any.

        >>> import pandas as pd
        >>> import driftline as dl
        >>> from driftline.features import Calendar
        >>> days = pd.date_range("2024-01-01", periods=200, freq="D")
        >>> sales = pd.Series(np.where(days.day_of_week == 6, 5.0, 9.0), index=days)
        >>> forecast = dl.Forecaster(Calendar() | dl.Auto(), steps=7).fit(sales).forecast(7)
        >>> str(forecast.times[6].date()), bool(forecast.predictions[2] < 6)  # 21 July is a Sunday
        ('2024-07-25', True)
        """
        fresh = self.clone()
        fresh._fit(y, X, times, "Forecaster.fit")
        with self._guard.claim():
            self._steppers, self._series = fresh._steppers, fresh._series
            self._names, self._rows, self._past = fresh._names, fresh._rows, fresh._past
            self._known, self._cells, self._known_columns = fresh._known, fresh._cells, fresh._known_columns
            self._timeline, self._ready = fresh._timeline, fresh._ready
            self._undo.forget()
        return self

    def update(self, y: Any, X: Any = None, *, times: Any = None) -> Forecaster:
        """Learns the rows that follow, like :meth:`fit` but without starting afresh."""
        self._fit(y, X, times, "Forecaster.update")
        return self

    def _fit(self, y: Any, X: Any, times: Any, where: str) -> None:
        rows = len(y)
        found = read_times(times, where) if times is not None else times_of(y, where) or times_of(X, where)
        if found is not None and len(found.local) != rows:
            raise ValueError(f"{where}: times has {len(found.local)} values, but y has {rows}")
        timeline = self._timeline
        if found is not None and timeline is not None:
            timeline.require_next(found, self._rows, where)
        elif found is not None and not self._rows and (rows > 1 or self._reads_times):
            try:
                timeline = Timeline.of(found, where)
            except ValueError as error:
                if times is not None or self._reads_times:
                    raise
                warnings.warn(f"{error}. Until then, rows are counted, and forecasts have no times", DriftlineWarning, 3)
        X = np.empty((rows, 0)) if X is None else X
        if timeline is not None and self._reads_times:
            X = given.with_times(X, self._time_name(timeline), timeline.column(self._rows, rows), where)
        self._learn(X, y, NO_SPREAD, where, 0)
        self._timeline = timeline

    @property
    def _reads_times(self) -> bool:
        """Whether the learner has a calendar, for which the rows' times are a feature."""
        return self._learner._traits.times is not CIRCLES

    def _time_name(self, timeline: Timeline) -> str:
        """The name of the feature that holds the rows' times."""
        return timeline.name or "time"

    # Forecasting.

    def predict(self, fh: Any = None, X: Any = None) -> Array:
        """The forecasts alone, (n,), as statsforecast and sktime name the call; :meth:`forecast` has intervals too.

        Args:
            fh: the forecasting horizon: a list of steps ahead, ``[1, 7]``, or how many of the next rows; None for all.
            X: the features of the rows up to the last step, as for :meth:`forecast`.
        """
        where = "Forecaster.predict"
        if isinstance(fh, (list, tuple, np.ndarray, range)):
            steps = [_STEPS.require("Forecaster.predict", "each step of fh", step) for step in fh]
        else:
            steps = list(range(1, (self._steps if fh is None else COUNT.require(where, "fh", fh)) + 1))
        last = max(steps, default=0)
        if not 0 < last <= self._steps:
            raise ValueError(f"{where}: fh must be steps from 1 to {self._steps}, got {fh!r}")
        found = self._forecast(last if X is None else X, as_spread(where, 0.9, None), where).predictions
        if len(found) < last:
            raise ValueError(f"{where}: X has {len(found)} rows, but the last step of fh is {last}")
        chosen: Array = found[np.array(steps) - 1]
        return chosen

    def forecast(self, X_next: Any = None, level: float = 0.9, quantiles: Levels | None = None) -> Forecast:
        """Forecasts the next rows, at most as many as there are steps. Learns nothing.

        Args:
            X_next: (n, d) array or frame, or a list of mappings: the features that are known ahead. The other features may
                be missing or hold anything: their values in the last row are used. If no feature is known ahead except the
                rows' times (see :meth:`fit`), the number of rows is enough; None for all steps.
            level: the level of the intervals.
            quantiles: also return quantiles of these levels, in ascending order.
        """
        where = "Forecaster.forecast"
        return self._forecast(self._steps if X_next is None else X_next, as_spread(where, level, quantiles), where)

    def _forecast(self, X_next: Any, spread: Spread, where: str) -> Forecast:
        with self._guard.claim(only=True):
            return self._forecast_rows(self._next_rows(X_next, where), spread, where)

    def _get_ready(self, number: int, where: str) -> None:
        """Prepares the model for a step, most of the work of a forecast, for callers that do other work in between."""
        with self._guard.claim(only=True):
            self._current(number, where)

    def _forecast_rows(self, rows: Any, spread: Spread, where: str) -> Forecast:
        assert spread.level is not None
        if len(rows) > self._steps:
            raise ValueError(f"{where}: X_next has {len(rows)} rows, but the forecaster has {self._steps} steps")

        series, dense = self._series, Spread(quantiles=LEVELS)

        def step(number: int) -> list[float]:
            row = rows[number]
            ticket = self._current(number, where).ask(row if len(row) else {}, number)
            return [ticket.prediction, *spread.of_ticket(ticket), *(dense.of_ticket(ticket) if series is not None else [])]

        width = 1 + spread.width
        found = np.array(in_parallel(step, len(rows))).reshape(len(rows), width + (len(LEVELS) if series is not None else 0))
        found, quantiles = found[:, :width], found[:, width:]
        paths, labels = None, np.empty(0)
        if series is not None:
            mixed, limits = series.forecast(found[:, 0]), self._learner._limits
            found = _mixed(mixed, found, spread)
            paths = Paths(mixed.quantiles(quantiles, LEVELS), mixed.link, limits.low, limits.high)
            labels = series.last(_SHOWN * self._steps)
        out = spread.outputs(np.ascontiguousarray(found[:, 0]))
        spread.write(out, slice(None), found[:, 1:])
        timeline, before = self._timeline, min(_SHOWN * self._steps, self._rows)
        return Forecast(
            out.predictions, out.lower, out.upper, spread.level, out.quantiles, spread.quantiles, labels=labels, paths=paths,
            times=None if timeline is None else timeline.answer(self._rows, len(rows)),
            clock=None if timeline is None else timeline.clock(self._rows - before, before + len(rows)),
        )  # fmt: skip

    def _current(self, number: int, where: str) -> Learner:
        """The model for a step after learning all known labels."""
        ready = self._ready[number]
        if ready is None:
            stepper = self._steppers[number]
            ready = stepper.learner.clone(include_attributes=True)
            Stepper(ready, waiting=stepper.waiting).finish(where)
            self._ready[number] = ready
        return ready

    def _next_rows(self, X_next: Any, where: str) -> Any:
        if not self._rows:
            raise not_fitted(f"{where}: the forecaster has seen no row")
        if self._timeline is not None:
            X_next = self._at_their_times(X_next, self._timeline, where)
        if self._cells is not None:
            return given.next_rows(self.learners_[0], self._cells[-1], self._names or [], self._known_columns, X_next, where)
        self._known.refuse_missing(self._past[-1], self._names, where)
        if isinstance(X_next, int | np.integer):
            return self._known.of_count(int(X_next), self._past[-1], where)
        return self._known.next_rows(X_next, self._names, self._past[-1], where)

    def _at_their_times(self, X_next: Any, timeline: Timeline, where: str) -> Any:
        """The next rows with their times, if these are a feature; raises ValueError if the rows have other times."""
        count = isinstance(X_next, int | np.integer)
        times = None if count else times_of(X_next, where)
        if times is not None:
            timeline.require_next(times, self._rows, where)
        if not self._reads_times:
            return X_next
        rows = int(COUNT.require(where, "X_next", X_next)) if count else len(X_next)
        if rows > self._steps:
            raise ValueError(f"{where}: X_next has {rows} rows, but the forecaster has {self._steps} steps")
        name, moments = self._time_name(timeline), timeline.moments(self._rows, rows)
        given_rows: list[Row] = [Row()] * rows if count or is_featureless(X_next) else given.rows_of(X_next, where)
        return [Row({**row, name: moment}) for row, moment in zip(given_rows, moments, strict=True)]

    # Rows.

    def _row(self, x: Any, where: str) -> tuple[list[Name] | None, Array]:
        given = inputs.named(x)
        if not isinstance(given, Mapping):
            row = inputs.as_row(x, where, empty=True)
            self._check_width(len(row), None, where)
            return self._names, row
        items = inputs.as_items(given, where)
        names = list(items) if self._names is None else self._names
        self._check_width(len(items), list(items), where)
        return names, np.array([items[name] for name in names])

    def _table(self, X: Any, where: str) -> tuple[list[Name] | None, Array]:
        if is_featureless(X):
            self._check_width(0, [], where)
            return [], np.empty((len(X), 0))
        table = as_block(X, where)
        self._check_width(table.columns, table.names, where)
        rows = np.concatenate([block for _, block in table.blocks()]) if table.rows else np.empty((0, table.columns))
        if self._rows and table.names is not None and self._names is not None:
            rows = rows[:, [table.names.index(name) for name in self._names]]
            return self._names, np.ascontiguousarray(rows, dtype=np.float64)
        return table.names or self._names, np.ascontiguousarray(rows, dtype=np.float64)

    def _check_width(self, width: int, names: list[Name] | None, where: str) -> None:
        if self._rows and width != self._past.shape[1]:
            raise ValueError(f"{where}: x has {width} features, expected {self._past.shape[1]}")
        if self._rows and names is not None and (self._names is None or set(names) != set(self._names)):
            raise ValueError(given.other_names(where, self._names, names))

    # Keeping.

    def clone(self) -> Forecaster:
        """A forecaster with the same parameters that has learned nothing."""
        return Forecaster(
            self._learner.clone(), self._steps, self._known.given, smoothing=self._given_smoothing, seasons=self._seasons
        )

    def __getstate__(self) -> dict[str, Any]:
        with self._guard.claim():
            states = [stepper.learner.__getstate__() for stepper in self._steppers]
            return {
                "learner": self._learner,
                "steps": self._steps,
                "known": self._known.given,
                "names": self._names,
                "cells": self._cells,
                "known_columns": self._known_columns,
                "models": [{name: part for name, part in state.items() if name != "params"} for state in states],
                "waiting": [list(stepper.waiting) for stepper in self._steppers],
                "past": self._past,
                "rows": self._rows,
                "smoothing": self._given_smoothing,
                "seasons": self._seasons,
                "series": None if self._series is None else self._series.__getstate__(),
                "timeline": None if self._timeline is None else self._timeline.state(),
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        series = state.get("series")  # earlier versions had none
        self.__init__(  # type: ignore[misc]
            state["learner"],
            state["steps"],
            state.get("known"),
            smoothing=series is not None,
            seasons=state.get("seasons"),
        )
        self._given_smoothing = state.get("smoothing", False)
        self._restore(state)

    def _roll_back(self, state: dict[str, Any]) -> None:
        """Restores an exported state of this forecaster."""
        self._undo.forget()
        self._restore(state)

    def _restore(self, state: dict[str, Any]) -> None:
        for stepper, inner, waiting in zip(self._steppers, state["models"], state["waiting"], strict=True):
            stepper.learner._roll_back({"params": stepper.learner._given, **inner})
            stepper.waiting = deque(waiting)
        self._names, self._rows, self._past = state["names"], state["rows"], state["past"]
        self._known = Known(state.get("known"))
        self._cells, self._known_columns = state.get("cells"), state.get("known_columns")
        if self._rows and self._cells is None:
            self._known.check(self._past.shape[1], self._names, "Forecaster")
        self._timeline = Timeline.restored(state.get("timeline"))
        self._ready = [None] * self._steps
        if self._series is not None:
            self._series.restore(state["series"])

    def _to_file(self) -> dict[str, Any]:
        with self._guard.claim():
            codec.require_text("Forecaster", self._names)
            known = self.known if self._cells else self._known.named(self._names)  # a file does not explain an index
            for feature in known or []:
                if type(feature) not in (str, int):
                    raise ValueError(
                        f"Forecaster.save: the feature {feature!r} is neither text nor a number, which a file needs"
                    )
            cells = None if self._cells is None else list(map(plain_row, self._cells))
            models = [stepper.learner._to_file() for stepper in self._steppers]
            return {**self.__getstate__(), "known": known, "cells": cells, "models": models}

    def _from_file(self, state: dict[str, Any]) -> None:
        codec.require_names(state["names"])
        codec.require_count(state["rows"], "the number of rows")
        past, waiting = state["past"], [waiting_of(pairs) for pairs in state["waiting"]]
        if not isinstance(past, np.ndarray) or past.ndim != 2 or np.isinf(past).any():
            raise ModelFileError("the last rows are not numbers")
        if len(state["models"]) != state["steps"] or any(len(pairs) > step for step, pairs in enumerate(waiting)):
            raise ModelFileError("the steps do not agree with the models")
        cells = None if state.get("cells") is None else list(map(row_of, state["cells"]))
        self.__setstate__({**state, "models": [{} for _ in waiting], "waiting": waiting, "cells": cells})
        for stepper, inner in zip(self._steppers, state["models"], strict=True):
            stepper.learner._from_file(inner)

    def __repr__(self) -> str:
        known = "" if self.known is None else f", known={self.known!r}"
        smoothing = "" if self._given_smoothing is None else f", smoothing={self._given_smoothing}"
        seasons = "" if self._seasons is None else f", seasons={self._seasons}"
        return f"Forecaster({self._learner!r}, steps={self._steps}{known}{smoothing}{seasons})"


class Numbers:
    """Rows of numbers as the steps see them.

    Args:
        known: the features that are known ahead.
        everything: earlier rows, then the rows.
        first: the number of earlier rows.
        names: the features.
        where: the caller's name, for messages.
    """

    def __init__(self, known: Known, everything: Array, first: int, names: list[Name] | None, where: str) -> None:
        self._known, self._everything, self._first, self._names, self._where = known, everything, first, names, where
        self.leaves_out = known.leaves_out(everything.shape[1])

    def seen(self, step: int) -> Array:
        """The rows as seen ``step`` rows earlier."""
        return self._known.seen(self._everything, self._first, step)

    def table(self, seen: Any) -> Any:
        """Rows as a stepper takes them."""
        width = seen.shape[1]
        return RowBlock(seen, names=self._names, where=self._where) if width else seen


def _last(learner: Learner) -> Learner:
    """The learner behind transformers."""
    return learner._base_learners()[0] if isinstance(learner, Pipeline) else learner


def _mixed(mixed: Mixed, found: Array, spread: Spread) -> Array:
    """Predictions and their spread by rows, (n, 1 + spread.width), around mixed forecasts."""
    lower, upper, quantiles = spread.columns(found[:, 1:])
    parts = [mixed.predictions[:, None]]
    if spread.level is not None:
        assert lower is not None
        assert upper is not None
        parts += [end[:, None] for end in mixed.ends(lower, upper, spread.level)]
    if quantiles is not None:
        assert spread.quantiles is not None
        parts.append(mixed.quantiles(quantiles, spread.quantiles))
    return np.hstack(parts)


def _question(learner: Learner, row: Array, names: list[Name] | None) -> Any:
    """A row as a step's model takes it: by name before it knows the names, and if it has columns."""
    if (names is None and len(row)) or (learner._columns is None and learner._core is not None):
        return row
    return dict(zip(names or (), row.tolist(), strict=True))


def _first_informed(stepper: Stepper, rows: Any, y: Array) -> int:
    """The index of the first row that a step's model predicts after it has learned a label."""
    model, waiting = stepper.learner, stepper.waiting
    if model.n_seen_:
        return 0
    door = model._door
    learned = np.abs(np.append([label for _, label in waiting], y)) <= door.largest
    if model.missing == SKIP:  # otherwise rows with missing features are learned, or have been refused
        whole = [is_whole(model, ticket) for ticket, _ in waiting]
        learned &= np.append(whole, whole_rows(model, rows)).astype(bool)
    if not learned.any():
        return len(rows)
    return min(max(int(learned.argmax()) + stepper.delay + 1 - len(waiting), 0), len(rows))


codec.register(Forecaster, "forecaster")
