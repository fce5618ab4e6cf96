"""The interface of all learners. Public methods check and convert their arguments; a core computes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np

from driftline import extensions
from driftline._core import Limits, Outputs, SparseRows, Status
from driftline.base import clock, encoding, explained, params, reading, replay, sklearn, slow_path, stability
from driftline.base.batch import Batch, numbered
from driftline.base.certificate import Certificate
from driftline.base.clock import ACCEPT, RAISE, Clock
from driftline.base.door import LARGEST, Door
from driftline.base.durations import CLOCK, measured_in
from driftline.base.encoded_run import EncodedRun
from driftline.base.explained import RowExplanation
from driftline.base.levels import NO_SPREAD, QUANTILES, Levels, Spread, as_level, as_spread, of_levels
from driftline.base.model import Model
from driftline.base.native import Core, NativeCore
from driftline.base.params import Derived
from driftline.base.rules import Rule, choice, number, whole
from driftline.base.run import Run
from driftline.base.ticket import Ticket, mark_of
from driftline.base.traits import PLAIN, Traits, narrower
from driftline.errors import ModelFileError, not_fitted
from driftline.storage import codec
from driftline.storage.model_file import Saved
from driftline.tables import inputs, missing
from driftline.tables.block import SPARSE, RowBlock, as_block, as_sparse_block, is_block
from driftline.tables.encoder import Columns
from driftline.tables.inputs import Array, Name
from driftline.tables.missing import Missing
from driftline.tables.times import time_of

_LONGEST_DELAY = 10**15  # a ticket keeps it as a float
_DELAY = whole(0, _LONGEST_DELAY)
_MISSING = choice(missing.WORDS) | Rule(missing.is_by_column, "a mapping from columns to these")
_DONE, _UNREAD = Status.DONE, Status.UNREAD  # enum members are slower to look up than a short row is to learn


class Learner(Model, Saved):
    """A model that learns from each row once.

    Args:
        intercept: append a constant feature 1 as the last feature.
        dtype: "float64" or "float32", for the state.
        missing: "raise" an error on NaN or infinity; "skip" such rows and count them in ``n_skipped_``; or fill in the
            running "mean" of the column, its "last" value, or "zero", and add a feature that marks such rows; infinity then
            raises an error. One word, or a mapping from columns to words, with "" for all others. A row without a label is
            predicted and skipped, unless the word is "raise".
        low: the least possible label; predictions and intervals are clipped to it, and a smaller label is an error. None if
            there is none.
        high: the largest possible label, likewise.
        late_rows: "raise" an error if the time of a row is before that of an earlier row; "accept" learns such rows as of
            their time.
    """

    intercept: bool = params.boolean(default=True)
    dtype: str = params.choice(default="float64", options=("float64", "float32"))
    missing: Missing = params.checked(default=missing.RAISE, rule=_MISSING)
    low: float | None = params.checked(default=None, rule=number(), optional=True)
    high: float | None = params.checked(default=None, rule=number(), optional=True)
    late_rows: str = params.choice(default=RAISE, options=(RAISE, ACCEPT))

    _quiet = ("intercept", "dtype", "missing", "low", "high", "late_rows", "half_life", "per")
    _kept: ClassVar[tuple[str, ...]] = ()  # attributes besides the core that belong to the state

    _core: Any = params.state(None)  # a Core, once there is one
    _direct: Any = params.state(None)  # the core, if it can read single rows in place: those of a model without columns
    _columns: Columns | None = params.state(None)  # if they are not all numbers, or are filled in
    _outputs: int | None = params.state(None)  # number of labels per row, if several
    _known_mark: tuple[Any, int] = params.state((None, 0))  # with the parameters that it belongs to
    _met: Any = params.state(None)  # the labels of a classifier
    _skipped: int = params.state(0)
    _clock: Clock | None = params.state(None)  # if rows have times
    _at: float = params.state(math.nan)  # the time of the row in hand
    _warned: frozenset[str] = params.state(frozenset())  # warnings already given
    _next_look: int | None = params.state(None)  # rows after which the memory is checked again

    # Hooks for subclasses. Most need only the first.

    def _make_traits(self) -> Traits:
        """What the learner can do, with its current parameters."""
        return PLAIN

    def _make_core(self, width: int, row: Any = None) -> Core:
        """Creates a core with ``width`` weights, including the intercept's, for the first row, if there is one yet."""
        raise TypeError(f"{type(self).__name__} cannot be used by itself")

    def _restored_core(self, state: dict[str, Any]) -> Core:
        """Creates a core with an exported state; raises ValueError if it is invalid."""
        core = self._make_core(state["weights"].shape[-1])
        core.set_state(state)
        return core

    def _serve(self, status: Status, batch: Batch) -> None:
        """Supplies what the core asked for before the first row of the batch, or raises an error explaining its refusal."""
        raise RuntimeError(f"{batch.where}: the core stopped{numbered(batch.start, ' at ')} with status {status}")

    def _operations(self, width: int) -> int:
        """The approximate number of operations per row, for ``width`` weights."""
        return width

    def _experts(self, row: Array | None = None) -> tuple[dict[str, float], Array | None]:
        """The weight of each expert by name, and their predictions for a row; ({}, None) if the learner does not mix any."""
        return {}, None

    def _certify(self, sums: dict[str, float]) -> Certificate:
        """The certificate, from the core's running sums."""
        return Certificate(loss=sums["loss"])

    def _check_labels(self, labels: Array, where: str, start: int | None = 0) -> None:
        """Raises ValueError for the first label out of range; ``start`` is the number of the first row, if it has one."""
        if self.low is not None or self.high is not None or self._traits.labels is not None:
            self._door.refuse_outside(labels, where, start)

    @Derived
    def _traits(self) -> Traits:
        """What the learner can do."""
        return self._make_traits()

    # One row at a time.

    def predict_one(self, x: Any, *, at: Any = None) -> float:
        """The prediction for one row: a one-dimensional array-like, or a mapping feature name -> number.

        Args:
            x: the row.
            at: its time, if rows have times; by default, it is as far from the last row as a row without times would be.
        """
        if at is not None:
            with self._asked_at(at, "predict_one"):
                return Learner.predict_one(self, x)  # not a subclass's, which has called this
        core = self._direct if self._columns is None else None
        if core is not None:
            prediction: float | None = core.predict(x)  # an array if rows have several labels
            if prediction is not None:
                return prediction
        row = encoding.known_row(self, x, learned=False)
        if row is not None and self._core is not None:
            prediction = self._core.predict(row)
            if prediction is not None:
                return prediction
        out = Outputs(replay.room(self, 1))
        slow_path.predict(self, x, f"{type(self).__name__}.predict_one", out)
        said = out.predictions[0]
        return float(said) if self._outputs is None else said

    def predict_interval(self, x: Any, level: float = 0.9, *, at: Any = None) -> tuple[float, float]:
        """Both ends of an interval around the prediction that contains the label with probability ``level``.

        The width depends on the learner's variance for the row and on the errors so far, and is adapted row by row so that
        the share of labels inside stays at ``level``; see :doc:`/intervals`. The interval is infinite until there are enough
        labels for the level, level / (1 - level) of them. After that, it extends at most ten times the largest error so far
        to either side.
        """
        if at is not None:
            with self._asked_at(at, "predict_interval"):
                return Learner.predict_interval(self, x, level)
        where = f"{type(self).__name__}.predict_interval"
        place = as_level(level, where)
        self._require_one_label(where, "intervals")
        core = self._direct if self._columns is None else None
        if core is not None:
            ends: tuple[float, float] | None = core.predict_interval(x, place)
            if ends is not None:
                return ends
        row = encoding.known_row(self, x, learned=False)
        if row is not None and self._core is not None:
            ends = self._core.predict_interval(row, place)
            if ends is not None:
                return ends
        out = Outputs(np.empty(1), lower=np.empty(1), upper=np.empty(1), level=place)
        slow_path.predict(self, x, where, out)
        return float(out.lower[0]), float(out.upper[0])

    def predict_quantiles(self, x: Any, levels: Levels = QUANTILES, *, at: Any = None) -> Array:
        """Quantiles of the label: (k,) for the next row; (n, k) for a table, whose rows are predicted as by :meth:`predict`.

        A label is below the quantile of level 0.05 with probability 0.05. The tails are tracked on their own, so quantiles
        need not lie symmetrically around the prediction; see :doc:`/intervals`. Those of higher levels are never lower. A
        quantile is infinite until there are enough labels for its level p: p / (1 - p), or (1 - p) / p below the median.

        Args:
            x: a row, as for :meth:`predict_one`, or a table, as for :meth:`predict`.
            levels: probabilities in ascending order.
            at: the row's time, if rows have times.

        >>> import driftline as dl
        >>> X, y = dl.streams.Rotating(noise=0.1, seed=0).take(500)
        >>> dl.RLS().fit(X, y).predict_quantiles(X[0], [0.05, 0.5, 0.95]).shape
        (3,)
        """
        if at is not None:
            with self._asked_at(at, "predict_quantiles"):
                return Learner.predict_quantiles(self, x, levels)
        where = f"{type(self).__name__}.predict_quantiles"
        wanted = of_levels(levels, where)
        if is_block(x):
            return self._predicted(x, "predict_quantiles", wanted).quantiles  # type: ignore[no-any-return]
        self._require_one_label(where, "quantiles")
        core = self._direct if self._columns is None else None
        found: Array | None = None if core is None else core.predict_quantiles(x, wanted.quantiles)
        if found is None:
            row = encoding.known_row(self, x, learned=False)
            found = None if row is None or self._core is None else self._core.predict_quantiles(row, wanted.quantiles)
        if found is not None:
            return found
        out = wanted.outputs(np.empty(1))
        slow_path.predict(self, x, where, out)
        return out.quantiles[0]  # type: ignore[no-any-return]

    def explain_one(self, x: Any, *, reference: Any = None, level: float = 0.9) -> RowExplanation:
        """What each feature contributes to the prediction for one row, and to the width of its interval.

        The contributions are Shapley values and sum to the prediction; see :doc:`/explain`. Those of a linear learner are
        its weights times the values.

        Args:
            x: the row, as for :meth:`predict_one`.
            reference: the row that it is compared with; by default, all features are 0 (behind a pipeline's transformers).
            level: the level of the interval.

        >>> import driftline as dl
        >>> model = dl.RLS(forgetting=1.0, ridge=1e-6)
        >>> for t in range(50):
        ...     model.learn_one({"wind": t % 5, "sun": t % 3}, 10 + 2 * (t % 5) - (t % 3))
        >>> explained = model.explain_one({"wind": 3, "sun": 2})
        >>> {name: round(value, 2) for name, value in explained.contributions.items()}
        {'wind': 6.0, 'sun': -2.0, '(reference)': 10.0}
        """
        return explained.explain(self, x, reference, level)

    def _feature_names(self, width: int) -> list[str]:
        return [f"x{j}" for j in range(width)] if self._names is None else [str(name) for name in self._names[:width]]

    @contextmanager
    def _asked_at(self, at: Any, verb: str) -> Iterator[None]:
        """What happens within asks for a row at a time, which may not be before that of an earlier row."""
        where = f"{type(self).__name__}.{verb}"
        with self._guard.change():
            kind, found = time_of(at, where)
            clock.stepped(self, kind, found, where)
            with clock.row_at(self, found):
                yield

    @Derived
    def _durations(self) -> list[tuple[str, Any, str]]:
        """The parameters that measure time, with their values and the kind of times that these are measured in."""
        return measured_in(self)

    @property
    def clock_(self) -> Clock | None:
        """The clock of a model whose rows have times; None if they have none."""
        return self._clock

    def _require_one_label(self, where: str, what: str) -> None:
        if self._outputs is not None:
            raise ValueError(f"{where}: {what} need a single label per row")

    def learn_one(self, x: Any, y: Any, *, sample_weight: float | None = None, at: Any = None) -> None:
        """Learns from one row. If a mapping has new features, the model grows.

        Args:
            x: the row.
            y: its label.
            sample_weight: its weight.
            at: its time: a number, or a date or time. Either all rows have one, or none.
        """
        if at is not None:
            where = f"{type(self).__name__}.learn_one"
            with self._guard.change():
                kind, found = time_of(at, where)
                then = clock.stepped(self, kind, found, where)
                clock.set_time(self, found)
                try:
                    Learner.learn_one(self, x, y, sample_weight=sample_weight)
                finally:
                    clock.set_time(self, math.nan)
                clock.start(self, then)
            return
        core = self._direct if self._columns is None else None
        if core is None:
            slow_path.learn(self, x, y, sample_weight, _UNREAD)
            return
        status = core.learn(x, y) if sample_weight is None else core.learn(x, y, sample_weight)
        if status is not _DONE:
            slow_path.learn(self, x, y, sample_weight, status)

    # Late labels.

    def ask(self, x: Any, delay: int | None = None, *, at: Any = None) -> Ticket:
        """Predicts one row whose label will arrive later; :meth:`tell` takes the ticket and the label. Changes nothing.

        Args:
            x: the row.
            delay: how many rows late the label comes: the number of earlier rows whose labels are still missing, 0 for the
                next row. None for the value that was right for the last ticket told, which is the number of labels between
                its ask and its tell; initially 0. Label lags count from the predicted row.
            at: the row's time, if rows have times.
        """
        if at is not None:
            with self._asked_at(at, "ask"):
                made = Learner.ask(self, x, delay)
                made.at = self._at
                return made
        if delay is not None and not (type(delay) is int and 0 <= delay < _LONGEST_DELAY):
            delay = int(_DELAY.require(f"{type(self).__name__}.ask", "delay", delay))
        core = self._direct if self._columns is None else None
        ticket = None if core is None else core.ask(x, delay, Ticket)
        return slow_path.ask(self, x, delay) if ticket is None else ticket

    def tell(self, ticket: Ticket, y: Any, *, sample_weight: float | None = None) -> None:
        """Learns the label of a row as it was when it was asked. A rejected label leaves the ticket valid.

        Inputs computed at the time of :meth:`ask` (lags, predictions of nested learners) are used again, and coverage counts
        the interval given then. The update itself starts from the current state.
        """
        core = self._direct
        if core is None or core.tell(ticket, y, sample_weight) is not _DONE:
            slow_path.tell(self, ticket, y, sample_weight)
        if self._clock is not None:
            clock.told(self, ticket)

    @property
    def _runs_late_natively(self) -> bool:
        """Whether the core replays tables whose labels come late; tickets then stay valid if a row is refused."""
        return self._columns is None and hasattr(self._direct, "run_late") and self._traits.is_native

    def _mark(self) -> None:
        """Lets the core recognise the model's tickets."""
        if self._core is not None and not self._core.mark:
            self._core.mark = mark_of(self)

    # Many rows at once.

    def run(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        weights_every: int | None = None,
        level: float | None = None,
        quantiles: Levels | None = None,
        times: Any = None,
    ) -> Run:
        """Predicts, then learns, row by row, in native code.

        If an error is raised, no row is learned.

        Args:
            X: (T, d) array, frame or scipy.sparse matrix.
            y: (T,) labels, or (T, m) if the learner supports several labels a row.
            sample_weight: (T,) weights of the rows; a row of weight 0 is predicted but not learned.
            weights_every: the number of rows between snapshots of the weights; None for no snapshots.
            level: also return the intervals of :meth:`predict_interval` at this level.
            quantiles: also return the quantiles of :meth:`predict_quantiles` of these levels.
            times: (T,) times of the rows: numbers, or dates and times.
        """
        where = f"{type(self).__name__}.run"
        with self._guard.undo(self):
            spread = as_spread(where, level, quantiles)
            return self._learn_table(X, y, sample_weight, where, weights_every, spread, times)

    def _learn_table(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        where: str,
        weights_every: int | None = None,
        spread: Spread = NO_SPREAD,
        times: Any = None,
    ) -> Run:
        """Predicts and learns every row, within the caller's undo."""
        block = self._as_block(X, where)
        timed, at, then = clock.of_rows(self, X, times, block.rows, where), None, None
        if timed is not None:
            at, then = timed.at, clock.advanced(self, timed, where, 0)
        labels = replay.as_labels(self, y, block.rows, where)
        weight = None if sample_weight is None else inputs.as_weights(sample_weight, block.rows, where)
        options = replay.run_options(self, labels, weights_every, spread, where)
        self._check_block(block, where)
        fresh, before = self._core is None, None
        self._set_outputs(labels)
        if block.encoded:
            run = EncodedRun(self, block, labels, weight, where, options, at).run()
        else:
            if fresh:
                self._meet(replay.first_learned(self, block, labels, weight), block.names)
            before = self._widen(block.columns)
            run = replay.replay(self, block, labels, weight, where, options, at)
        if fresh and self.n_seen_ == 0:
            self._forget()
        elif before is not None and self.n_seen_ == before["core"]["sums"][0]:  # no new feature was learned
            self.__setstate__({**before, "skipped": self._skipped})
        if then is not None:
            clock.start(self, then)
        if fresh or block.encoded:  # whose columns may have brought features
            stability.warn_of_memory(self)
        stability.warn_of_range(self)
        return run

    def _as_block(self, X: Any, where: str) -> RowBlock:
        """Many rows as one block, which the learner's columns encode if the core cannot take them as they are."""
        traits = self._traits
        if traits.reader is not None:
            return traits.reader.block(X, where)
        if traits.takes_sparse:
            X = X.values if isinstance(X, RowBlock) and X.kind == SPARSE else X
            if inputs.is_sparse(X):
                return as_sparse_block(X, where)
        return encoding.as_encoded(self, as_block(X, where), where)

    def _check_block(self, block: RowBlock, where: str) -> None:
        """Raises ValueError unless a block has the learner's features, in their order."""
        if block.is_sparse and self._traits.takes_any_width:
            reading.check_width(self, block.columns, where)
        elif self._core is not None and not block.encoded:  # whose columns have been checked
            self._door.check(block, where, warn=True)

    def _widen(self, columns: int) -> dict[str, Any] | None:
        """Adds the features that rows of any width bring; returns the state before, None if there are none."""
        if not self._traits.takes_any_width or columns <= self._core.features:
            return None
        before: dict[str, Any] = self.__getstate__()
        self._core.grow(columns - self._core.features)
        return before

    def _replay_block(self, batch: Batch, out: Outputs) -> int:
        """Runs a block of rows through the core; returns how many rows were skipped."""
        core: NativeCore = self._core
        skip, done, skipped = self.missing != "raise", 0, 0
        while True:
            status, done, lost = core.run(batch.x, batch.y, batch.weight, skip, out, done, batch.times)
            skipped += lost
            if status is _DONE:
                return skipped
            rest = batch[done : len(batch)]
            if status is Status.BAD_VALUE:
                label = None if rest.y is None else rest.y[0]
                self._door.refuse_row(rest.x[0], label, batch.where, rest.start, batch.names)
            self._serve(status, rest)

    # scikit-learn's verbs.

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, times: Any = None) -> Self:
        """Starts from scratch and learns the rows once, in order. An error leaves the learner unchanged."""
        where = f"{type(self).__name__}.fit"
        with self._guard.undo(self):
            self._forget()
            self._skipped, self._clock = 0, None
            self._learn_table(X, y, sample_weight, where, times=times)
            if self._core is None:
                raise ValueError(f"{where}: nothing to learn: every row has zero sample_weight or a missing value")
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, *, times: Any = None) -> Self:
        """Learns more rows once, in order."""
        with self._guard.undo(self):
            self._learn_table(X, y, sample_weight, f"{type(self).__name__}.partial_fit", times=times)
        return self

    def predict(self, X: Any) -> Array:
        """Predicts many rows as if no label came between the last learned row and any of them, for ever.

        The prediction of a row does not depend on the other rows. :meth:`predict_one` predicts the next row,
        :class:`driftline.Forecaster` the rows after it, and :meth:`run` learns the labels in between.
        """
        predictions: Array = self._predicted(X, "predict").predictions
        return predictions

    def predict_intervals(self, X: Any, level: float = 0.9) -> tuple[Array, Array]:
        """The interval ends (lower, upper) of many rows, which are predicted as by :meth:`predict`.

        Auto's are as wide as its errors without labels. All other learners' are as wide as those of the next row: if the
        target drifts, rows further ahead fall outside more often.
        """
        out = self._predicted(X, "predict_intervals", as_spread(f"{type(self).__name__}.predict_intervals", level))
        return out.lower, out.upper

    def _predicted(self, X: Any, verb: str, spread: Spread = NO_SPREAD, *, apart: bool = True) -> Outputs:
        """Predicts every row as :meth:`predict` does, or as if it were the next one, with the wanted spread."""
        where = f"{type(self).__name__}.{verb}"
        if spread:
            self._require_one_label(where, "intervals" if spread.place else "quantiles")
        self._require_core(verb)
        block = self._as_block(X, where)
        self._check_block(block, where)
        return replay.predict_block(self, block, where, spread, apart=apart)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of :meth:`predict`: 1 is perfect, 0 is as good as the mean of ``y``.

        With several labels a row, it is the mean over them.
        """
        return sklearn.score(self, X, y, sample_weight, f"{type(self).__name__}.score")

    @property
    def _estimator_type(self) -> str:
        return self._river_kind.lower()

    def __sklearn_is_fitted__(self) -> bool:
        return self._core is not None

    def __sklearn_tags__(self) -> Any:
        return sklearn.regressor_tags(allow_nan=self.missing != "raise", multi_output=self._traits.takes_outputs)

    # The first row, and new features.

    @property
    def _door(self) -> Door:
        features, traits = None if self._core is None else self._core.features, self._traits
        low, high = (self.low, self.high) if traits.labels is None else (self._limits.low, self._limits.high)
        return Door(type(self).__name__, features, self._names, self.dtype, self.missing, low, high, traits.label_words)

    @Derived
    def _limits(self) -> Limits:
        """The range of the label."""
        given, labels = Limits(self.low, self.high), self._traits.labels
        return given if labels is None else narrower(given, labels)

    @property
    def _title(self) -> str:
        """What people who read about the model call it."""
        return self._traits.title or type(self).__name__

    def _takes(self, labels: Array) -> bool:
        """Whether a core that replays late labels may be given these; a native one refuses those out of range itself."""
        takes = getattr(self._core, "takes_labels", None)
        return takes is None or takes(labels)

    def _check_relations(self, values: dict[str, Any]) -> None:
        low, high = values["low"], values["high"]
        if low is not None and high is not None and not low < high:
            raise ValueError(f"{type(self).__name__}: low must be less than high, got low={low!r} and high={high!r}")

    @property
    def _leaves_out(self) -> bool:
        """Whether a row may be left out because a value is missing; the columns have refused those that may not."""
        return self.missing == missing.SKIP or (self._traits.encodes and not isinstance(self.missing, str))

    @Derived
    def _largest(self) -> float:
        return LARGEST[self.dtype]

    def _set_outputs(self, labels: Array | None) -> None:
        """Notes how many labels a row has, before the core is made."""
        if self._core is None and labels is not None:
            self._outputs = labels.shape[1] if labels.ndim == 2 else None

    def _meet(self, row: Any, names: list[Name] | None) -> None:
        """Makes the core, or grows it, so that ``row`` fits."""
        if self._core is None:
            width = (row.width if isinstance(row, SparseRows) else row.size) + bool(self.intercept)
            if not width:
                raise ValueError(f"{type(self).__name__}: x is empty, and there is no intercept")
            self._set_core(self._make_core(width, row), names)
        elif isinstance(row, SparseRows):
            if row.width > self._core.features:
                self._core.grow(row.width - self._core.features)
            if names and self._names is not None:
                self._names.extend(names)
                self._core.append_names(names)
        elif names is not None and len(names) > self._core.features:
            self._core.grow(len(names) - self._core.features)
            self._set_names(names)

    def _set_core(self, core: Core, names: list[Name] | None) -> None:
        self._require_valid()
        self._checks_later, self._broken = False, {}  # from now on, parameters are checked as soon as they are set
        core.guard = self._guard
        core.at = self._at
        core.needs_time = self._clock is not None or CLOCK in [kind for *_, kind in self._durations]
        self._core = core
        self._direct = core if self.missing in (missing.RAISE, missing.SKIP) else None
        self._columns = self._columns  # ask reads it for each row, which is faster as an instance attribute
        self._set_names(names)

    def _set_names(self, names: list[Name] | None) -> None:
        """Sets the names of the features, in the core too."""
        self._names = names if names is None or self._core is None else names[: self._core.features]  # which may grow
        if self._names is not None and self._core is not None:
            self._core.set_names(self._names)

    # Fitted attributes.

    def _require_core(self, what: str) -> Any:
        if self._core is None:
            raise not_fitted(f"{type(self).__name__}.{what}: the learner is not fitted yet: it has seen no row")
        return self._core

    @property
    def _weights(self) -> Array:
        weights: Array = self._require_core("coef_").weights()
        return weights

    @property
    def coef_(self) -> Array:
        """The weights of the features, without the intercept's; (outputs, d) with several labels a row."""
        return self._weights[..., : self.n_features_in_]

    @property
    def intercept_(self) -> Any:
        """The weight of the constant feature, 0.0 without one; one for each output with several labels a row."""
        weights = self._weights
        last = weights[..., -1] if self.intercept else np.zeros(weights.shape[:-1])
        return float(last) if last.ndim == 0 else last

    @property
    def n_features_in_(self) -> int:
        """The number of features, without the constant one."""
        return int(self._require_core("n_features_in_").features)

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, if they have any."""
        self._require_core("feature_names_in_")
        return self._named_features()

    @property
    def n_seen_(self) -> int:
        """The number of rows learned."""
        sums = {"rows": 0.0} if self._core is None else self._sums()
        return int(sums["rows"] - sums.get("gaps", 0.0))

    @property
    def n_skipped_(self) -> int:
        """The number of rows skipped because of a missing value."""
        return self._skipped

    def _sums(self) -> dict[str, float]:
        sums = self._core.sums()
        return sums if isinstance(sums, dict) else dict(zip(self._traits.sums, sums.tolist(), strict=True))

    def _memory(self) -> float | None:
        """The approximate number of rows that the weights are based on, if known."""
        over_time = self._traits.over_time
        if over_time is None or not hasattr(self._core, "memory"):
            return None
        return float(over_time(self._core.memory()[None, :])["memory"][0])

    def certificate(self) -> Certificate:
        """The bounds proven for the loss so far; see :doc:`/certificates`.

        With several labels a row, it is the sum over the labels, without a bound.
        """
        return Certificate(loss=0.0) if self._core is None else self._certify(self._sums())

    # Saving and copying.

    def _to_file(self) -> dict[str, Any]:
        """The state for a file. Warns if a loop of ``learn_one`` led to predictions that ran away."""
        self._require_valid()
        stability.warn_of_range(self)
        owner, state = type(self).__name__, self.__getstate__()
        codec.require_text(owner, self._names)
        codec.require_text(owner, [] if self._columns is None else [*self._columns.columns])
        codec.require_plain(owner, state.get("labels", []))
        return {name: value for name, value in state.items() if name not in ("params", "refused")}

    def _from_file(self, state: dict[str, Any]) -> None:
        codec.require_names(state.get("names"))
        codec.require_count(state.get("skipped", 0), "the number of skipped rows")
        for name in self._kept:
            if name in state and not (isinstance(state[name], float) and 0 < state[name] < math.inf):
                raise ModelFileError("holds a value that is out of range")
        self.__setstate__({"params": self._given, **state})
        if self._core is not None and self._names is not None and len(state["names"]) != self._core.features:
            raise ModelFileError("the names do not agree with the weights")

    def set_params(self, **changes: Any) -> Self:
        """Changes hyperparameters, all or none. On a trained learner, they take effect from the next row on."""
        with self._guard.undo(self):
            before, word = self.get_params(deep=False), self.missing
            super().set_params(**changes)
            if self._core is None:
                return self
            try:
                if word != self.missing and (missing.by_column(word) or missing.by_column(self.missing)):
                    raise ValueError("filling in missing values cannot start, stop or change")
                self._refresh(before)
            except ValueError:
                raise ValueError(
                    f"{type(self).__name__}: {', '.join(changes)} cannot change once the learner has learned; "
                    "make a new one with the parameters you want"
                ) from None
            self._core.mark = 0
            if self._clock is not None and self._clock.kind:
                clock.require_fitting(self, self._clock.kind, f"{type(self).__name__}.set_params")
        return self

    def _refresh(self, before: dict[str, Any]) -> None:
        """Tells the core about changed parameters; raises ValueError if it cannot follow."""
        if self.intercept != before["intercept"] or self.dtype != before["dtype"]:
            raise ValueError

    def __getstate__(self) -> dict[str, Any]:
        """The complete state, for pickles, files and undo."""
        state: dict[str, Any] = {"params": self._given, "skipped": self._skipped, "names": self._names}
        if self._checks_later:
            state["refused"] = dict(self._broken)
        if self._core is not None:
            state["core"] = self._core.get_state()
            state |= {name: getattr(self, name) for name in self._kept}
        if self._columns is not None:
            state["columns"] = self._columns.state()
        if self._clock is not None:
            state["clock"] = self._clock.state()
        return state

    def __copy__(self) -> Self:
        copied, state = type(self).__new__(type(self)), self.__getstate__()
        state.pop("columns", None)
        copied.__setstate__(state)
        if self._columns is not None:  # which need no check, unlike those of a state
            copied._columns = self._columns.copy()
        return copied

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restores an exported state; raises ValueError if it is invalid."""
        if state["params"] is not getattr(self, "_given", None):
            self._store(state["params"])
        self._checks_later, self._broken = "refused" in state, state.get("refused", {})
        for name in self._kept:
            if name in state:
                setattr(self, name, state[name])  # reading __dict__ would slow down every later access to an attribute
        self._clock = Clock.restored(state["clock"]) if "clock" in state else None
        if "core" in state:
            self._restore(state["core"], state.get("names"))
        else:
            self._forget()
        columns = state.get("columns")
        if columns is None:
            self._columns = None
        else:
            traits = self._traits
            self._columns = Columns.restored(
                columns, self._names, self.missing, average=not traits.bends, times=traits.times
            )
        self._skipped = state.get("skipped", 0)

    def _restore(self, core: dict[str, Array], names: list[Name] | None) -> None:
        """Makes a new core with an exported state."""
        weights = core["weights"]
        if not isinstance(weights, np.ndarray) or not len(weights):
            raise ValueError("the state has no weights")
        restored = self._restored_core(core)
        self._outputs = len(weights) if weights.ndim == 2 else None
        self._set_core(restored, names)

    def _forget(self) -> None:
        self._core = self._direct = self._columns = self._names = self._outputs = self._met = None

    def _repr_html_(self) -> str:
        return str(extensions.load("report")[0].learner_html(self))
