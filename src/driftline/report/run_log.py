"""Collects the data of a report in one pass and bounded memory."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from driftline.base.alarm import Alarm
from driftline.base.events import Watch
from driftline.base.learner import Learner
from driftline.base.rules import PROBABILITY, WHOLE, Rule
from driftline.base.run import Run, require_page
from driftline.evaluate.baselines import Baselines
from driftline.report import hindsight
from driftline.report.alarm_log import AlarmLog
from driftline.report.certainty import CertaintyLog
from driftline.report.clock import as_times
from driftline.report.groups import GroupLog
from driftline.report.hindsight import Hindsight
from driftline.report.model_summary import model_summary
from driftline.report.pyramid import Pyramid
from driftline.report.recent import RecentRows
from driftline.report.rows import FIELDS, PLACES, RunRows, marks
from driftline.report.snapshots import Snapshots
from driftline.report.spread import Spread
from driftline.storage.resumable import Resumable, part_of
from driftline.tables import inputs
from driftline.tables.block import RowBlock, as_block
from driftline.tables.encoder import Columns
from driftline.tables.inputs import Array
from driftline.tables.missing import RAISE

BUCKETS = 4096
TOO_LARGE = 1e150  # larger values cannot be squared and summed


class RunLog(Resumable):
    """Collects the data of a report, block by block, in memory that does not grow with the stream.

    Blocks may have any size: the result does not depend on how the stream is cut.

    Args:
        names: the names of the features; by default those of the learner, or x0, x1, …
        target: the name of the label.
        level: the level of the intervals in the runs.
        delay: the number of rows by which labels are late, for the baselines.

    >>> import driftline as dl
    >>> from driftline.report import RunLog
    >>> X, y = dl.streams.Switching(rate=0.4, unit="deg", every=500, seed=7).take(1000)
    >>> model, log = dl.RLS(forgetting=0.95), RunLog(level=0.9)
    >>> for rows in (slice(0, 512), slice(512, 1000)):
    ...     every = log.weights_every(len(X[rows]))
    ...     run = model.run(X[rows], y[rows], level=0.9, weights_every=every)
    ...     log.add(run, X[rows], y[rows], model=model)
    >>> log.rows
    1000
    """

    _fields = (
        "names", "target", "level", "rows", "clock", "in_order", "latest", "features", "unfixed", "places", "fine",
        "snapshots", "baselines", "alarms", "recent", "spread", "groups", "certainty",
    )  # fmt: skip
    _write_page: ClassVar[Callable[..., None]]  # driftline.report.page sets it

    def __init__(
        self, names: Sequence[Any] | None = None, *, target: str = "y", level: float | None = None, delay: int = 0
    ) -> None:
        level = PROBABILITY.or_none().require("RunLog", "level", level)
        delay = WHOLE.require("RunLog", "delay", delay)
        Rule(lambda value: not isinstance(value, str), "a name for each feature").require("RunLog", "names", names)
        self.names = None if names is None else [str(name) for name in names]
        self.target, self.level = str(target), level
        self.rows = 0
        self.clock: str | None = None  # the kind of times, if there are any
        self.in_order = True  # whether times never decrease
        self.latest = -math.inf
        self.features = 0
        self.places = np.zeros(3 * PLACES, dtype=np.int64)  # positions of labels: below, in and above their intervals
        self.fine = Pyramid(FIELDS, BUCKETS)
        self.snapshots = Snapshots()
        self.baselines = Baselines(delay)
        self.alarm = Alarm()
        self.alarms = AlarmLog()
        self.watch = Watch()
        self.recent = RecentRows()
        self.groups = GroupLog()
        self.certainty = CertaintyLog(level, delay)
        self.hindsight: Hindsight | None = None
        self.columns: Columns | None = None  # of frames with text or times
        self.spread = Spread()  # of the features, if there is no hindsight
        self.unfixed = ""  # why there is no fixed model to compare with
        self._model: Learner | None = None
        self._model_summary: dict[str, Any] = {}

    @classmethod
    def of(
        cls,
        run: Run,
        X: Any = None,
        *,
        model: Learner | None = None,
        times: Any = None,
        names: Sequence[Any] | None = None,
        target: str = "y",
    ) -> Self:
        """The log of a complete run, whose labels are computed from its predictions and errors."""
        log = cls(names, target=target, level=run.level)
        _check_model(model, "Run.report")
        if log.names is not None:
            _check_count(len(log.names), X, model)
        with np.errstate(over="ignore", invalid="ignore"):
            labels = _numbers(run.predictions, "Run.report") + run.errors
        log.add(run, X, labels, times=times, model=model)
        return log

    def weights_every(self, rows: int) -> int:
        """The ``weights_every`` to pass to the run of the next ``rows`` rows, so that the page is independent of the cut.

        It is small if a block starts at an odd row; blocks of a power of 2 rows are the fastest.
        """
        return self.snapshots.stride(self.rows, rows)

    def add(self, run: Run, X: Any, y: Any, *, times: Any = None, model: Learner | None = None) -> None:
        """Adds the next block of the stream.

        Args:
            run: the result of ``model.run(X, y)`` for the block.
            X: its rows; if None, the page leaves out the best fixed model and the effects of the features. Text and times in
                frames are encoded as learners encode them.
            y: its labels; NaN if one is missing.
            times: the times of the rows, dates or numbers; given for every block or for none.
            model: the learner; the page shows its parameters, weights and certificate at the time of writing.
        """
        where = "RunLog.add"
        predictions, errors = _numbers(run.predictions, where), np.asarray(run.errors, dtype=np.float64)
        _check_model(model, where)
        y = inputs.as_vector(y, len(run), where, "y")
        if not len(run):
            self._model = self._model if model is None else model
            return
        table = None if X is None or inputs.is_sparse(X) else as_block(X, where)
        rows = len(run) if X is None else X.shape[0] if table is None else table.rows
        if rows != len(run):
            raise ValueError(f"{where}: X has {rows} rows, the run has {len(run)}")
        given = table
        table, columns = self._encoded(table, np.isfinite(errors), model, where)
        if table is not None and table.columns < self.features:
            raise ValueError(f"{where}: X has {table.columns} features, expected at least {self.features}")
        if self.rows and (times is None) != (self.clock is None):
            raise ValueError(f"{where}: times must be given for every block or for none")
        moments, clock = (None, None) if times is None else as_times(times, len(run), where)
        if self.rows and clock != self.clock:
            raise ValueError(f"{where}: times were {self.clock} in earlier blocks, and are {clock} now")
        self.certainty.check(run, where)
        blocks = [] if table is None else [block for _, block in table.blocks(inputs.BLOCK_ROWS)]
        self.columns = columns
        self._set_clock(moments, clock)
        rows = RunRows(run, predictions, errors, y, moments, self.baselines.predict(y), self.rows)
        self._add_rows(rows, blocks)
        self.certainty.add(rows)
        self.watch.update_many(y, predictions, given)
        self._look_back(X, table, blocks, rows)
        self._add_snapshots(run, table, model)
        self.rows += len(run)
        self._model = self._model if model is None else model

    def _encoded(
        self, table: RowBlock | None, learned: Array, model: Learner | None, where: str
    ) -> tuple[RowBlock | None, Columns | None]:
        """The rows as numbers, with text and times encoded as learners encode them, and the updated columns."""
        if table is None or (self.columns is None and not table.special):
            return table, self.columns
        columns = Columns(RAISE if model is None else model.missing) if self.columns is None else self.columns.copy()
        if self.columns is None:
            columns.know_numbers((self.names or [])[: self.features])
        blocks = []
        for start in range(0, table.rows, inputs.BLOCK_ROWS):
            piece = slice(start, min(start + inputs.BLOCK_ROWS, table.rows))
            blocks.append(columns.table(table.given(piece.start, piece.stop, where), where, learned[piece])[0])
        X = np.concatenate([np.pad(block, ((0, 0), (0, len(columns.names) - block.shape[1]))) for block in blocks])
        return RowBlock(X, names=columns.names, where=where), columns

    def _set_clock(self, moments: Array | None, clock: str | None) -> None:
        self.clock = clock
        if moments is not None:
            with np.errstate(invalid="ignore"):
                steps = np.diff(moments, prepend=self.latest)
            self.in_order = self.in_order and bool((steps >= 0).all())
            self.latest = float(moments[-1])

    def _add_rows(self, rows: RunRows, blocks: list[Array]) -> None:
        """Adds the rows to the buckets and the latest rows, and watches for alarms."""
        raised = self.alarm.update_many(rows.errors)
        self.fine.extend({**rows.items(), "alarms": marks(raised, len(rows.y))})
        self.places = self.places + rows.places_of_labels()
        shown = rows.shown()
        self.recent.extend(shown)
        edges = np.cumsum([0, *(len(block) for block in blocks)]) if blocks else [0, len(shown)]
        for place, (start, stop) in enumerate(pairwise(edges)):
            inside = raised[(raised >= start) & (raised < stop)]
            features = blocks[place] if blocks else None
            self.alarms.add(shown[start:stop], self.rows + inside)
            self.groups.add(rows, start, features, self.clock)

    def _look_back(self, X: Any, table: RowBlock | None, blocks: list[Array], rows: RunRows) -> None:
        y = np.where(rows.counted, rows.y, np.nan)
        if not self.unfixed:
            if table is None:
                self.unfixed = "the inputs were not given" if X is None else "the inputs are sparse"
            elif table.columns > hindsight.WIDEST:
                self.unfixed = f"there are more than {hindsight.WIDEST} features"
            elif _largest(y) > TOO_LARGE or any(_largest(block) > TOO_LARGE for block in blocks):
                self.unfixed = "values are too large to be squared"
        if table is not None:
            self.features = table.columns
            if table.names is not None and (self.names is None or self.columns is not None):
                self.names = [str(name) for name in table.names]
        if self.unfixed or table is None:
            self.hindsight = None
            for block in blocks:
                self.spread.add(block)
            return
        if self.hindsight is None:
            self.hindsight = Hindsight(table.columns)
        start = 0
        for block in blocks:
            piece = slice(start, start + len(block))
            self.hindsight.add(block, rows.predictions[piece], y[piece])
            start += len(block)

    def _add_snapshots(self, run: Run, table: RowBlock | None, model: Learner | None) -> None:
        weights = run.weights if model is None or model._traits.by_feature else None
        if len(run.snapshots) and (weights is not None or run.memory is not None or run.shares is not None):
            width = 0 if weights is None else weights.shape[1]
            features = table.columns if table is not None else model.n_features_in_ if model is not None else width
            self.snapshots.add(self.rows + len(run), self.rows + run.snapshots, run, weights, features)

    # State.

    def state(self) -> dict[str, Any]:
        """The whole log as arrays and plain values, from which :meth:`restore` continues exactly."""
        summary = dict(self.model_summary())
        arrays = {"weights": summary.pop("weights", np.empty(0))}
        columns = None if self.columns is None else {**self.columns.state(), "missing": self.columns.missing}
        parts = {
            "alarm": self.alarm.__getstate__(),
            "watch": _plain(self.watch),
            "hindsight": self.hindsight.state() if self.hindsight else {},
        }
        nested = {f"{part}/{name}": value for part, state in parts.items() for name, value in state.items()}
        texts = {"model_summary": json.dumps(summary), "columns": json.dumps(columns)}  # text keeps the order of parameters
        return {**super().state(), **arrays, **texts, **nested}

    def resume(self, state: Mapping[str, Any]) -> Self:
        """Continues from a state."""
        super().resume(state)
        if summary := json.loads(state["model_summary"]):
            self._model_summary = {**summary, "weights": np.array(state["weights"])}
        columns = json.loads(state["columns"])
        if columns is not None:
            self.columns = Columns(columns["missing"])
            self.columns.restore(columns)
        self.alarm.__setstate__(part_of(state, "alarm"))
        watch = part_of(state, "watch")
        self.watch.__setstate__({**watch, "names": json.loads(watch["names"]), "codes": json.loads(watch["codes"])})
        self.hindsight = Hindsight.restore(own) if (own := part_of(state, "hindsight")) else None
        return self

    def model_summary(self) -> dict[str, Any]:
        """The page's description of the learner as it is now; empty if no learner was given."""
        if self._model is not None:
            self._model_summary = model_summary(self._model)
        return self._model_summary

    def write(self, path: str | os.PathLike[str], *, command: str | None = None, title: str | None = None) -> None:
        """Writes the report, one self-contained HTML file, replacing an older one atomically.

        Args:
            path: the file, .html or .htm.
            command: the command that repeats the run, shown at the end.
            title: by default, the names of the learner and the target.
        """
        require_page(path, "RunLog.write")
        RunLog._write_page(self, path, command=command, title=title)


def _plain(watch: Watch) -> dict[str, Any]:
    state = watch.__getstate__()
    return {**state, "names": json.dumps(state["names"]), "codes": json.dumps(state["codes"])}


def _numbers(predictions: Array, where: str) -> Array:
    values = np.asarray(predictions)
    if values.dtype.kind not in "fiu" or values.ndim != 1:
        raise ValueError(f"{where}: the run must predict one number a row, got {values.dtype} of shape {values.shape}")
    return values.astype(np.float64, copy=False)


def _check_model(model: Any, where: str) -> None:
    if model is not None and not isinstance(model, Learner):
        raise TypeError(f"{where}: model must be a learner, got {model!r}")


def _check_count(names: int, X: Any, model: Learner | None) -> None:
    if X is not None:
        table = None if inputs.is_sparse(X) else as_block(X, "Run.report")
        if table is not None and table.special:
            raise ValueError("Run.report: names must be None for a frame with text or times, which names its own features")
        width = X.shape[1] if table is None else table.columns
    elif model is not None and model.n_seen_:
        width = model.n_features_in_
    else:
        return
    if names != width:
        raise ValueError(f"Run.report: names must hold {width} names, one for each feature, got {names}")


def _largest(values: Array) -> float:
    """The largest absolute value among the finite values."""
    with np.errstate(invalid="ignore"):
        return float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
