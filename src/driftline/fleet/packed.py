"""The models of a fleet in one native block of memory, for learners of fixed size."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from driftline._core import heed_interrupt
from driftline.base import encoding, stability
from driftline.base.door import Door
from driftline.base.learner import Learner
from driftline.base.ticket import mark_of
from driftline.errors import warn
from driftline.fleet import core as fleet_core
from driftline.fleet.call import Answer, Call, Progress, as_it_is
from driftline.fleet.ticket import FleetTicket
from driftline.tables import cells, inputs
from driftline.tables.block import COLUMNS, RowBlock, as_block
from driftline.tables.columns import Column
from driftline.tables.inputs import Array, Name

FIRST_ROOM = 1024  # initial number of slots in a fleet that grows


@dataclass(frozen=True)
class Options:
    """The options of a fleet, which :class:`driftline.Fleet` explains."""

    n: int | None = None
    named: bool | None = None
    jobs: int | None = None
    alarms: bool = False
    intervals: bool = False
    pooled: Learner | bool = False


class Packed:
    """Models of fixed size, each in a slot of the core."""

    def __init__(self, learner: Learner, options: Options, start: Learner | None = None) -> None:
        self.learner, self._options, self._start = learner, options, start
        self.core: Any = None
        self.names: list[Name] | None = None
        self._schedules: Any = None
        self._unwatched, self._warned = 0, False

    @property
    def is_empty(self) -> bool:
        """Whether no model has learned a row."""
        return self.core is None

    def columns(self) -> dict[Name, Column | None]:
        """The names of the columns, which hold numbers."""
        return dict.fromkeys(self.names or ())

    def features(self) -> list[Name]:
        """The names of the features."""
        return self.names or []

    # Reading rows.

    @property
    def _door(self) -> Door:
        features, names = None if self.core is None else self.core.features, self.names
        if self.core is None and self._start is not None:
            features, names = self._start.n_features_in_, self._start._names
        return Door("Fleet", features, names, self.learner.dtype, self.learner.missing)

    def block(self, X: Any, where: str, grow: bool) -> RowBlock:
        """Many rows."""
        block = as_block(X, where)
        if block.kind == COLUMNS and self.core is not None:
            return self._known_columns(block, where, grow)
        if block.special:
            self._refuse_new(block.special[0], where, "; it holds text or times")
        return block

    def _known_columns(self, block: RowBlock, where: str, grow: bool) -> RowBlock:
        """The columns that the models know, of a stream whose blocks may lack some; with ``grow`` refuses new ones."""
        given, absent = block.values, np.full(block.rows, np.nan)
        for name in given if grow else ():
            if name not in (self.names or []) and given[name].kind is not None:
                self._refuse_new(name, where)
        columns = [given[name].values if name in given and given[name].kind else absent for name in self.names or []]
        return RowBlock(np.column_stack(columns), names=self.names, where=where)

    def _refuse_new(self, name: Any, where: str, why: str = "") -> NoReturn:
        raise ValueError(
            f"{where}: the feature {name!r} is new, but the first row fixes the features of a fleet{why}; "
            'models that can grow, such as Auto or those with missing="mean", take it'
        )

    def labels(self, y: Any, rows: int, where: str) -> Array:
        """Their labels."""
        return inputs.as_vector(y, rows, where, "y")

    def label(self, y: Any, where: str) -> Array:
        """The label of one row."""
        return np.array([inputs.as_number(y, where, "y")])

    def one_row(self, x: Any, where: str, grow: bool) -> RowBlock:
        """One row, an array-like or a mapping."""
        door = self._door
        row, names = door.read(inputs.named(x), where, grow=grow)
        if door.features is not None and len(row) > door.features:
            self._refuse_new((names or [])[door.features], where)
        return RowBlock(row[None, :], names=names, where=where)

    def _fitting(self, rows: Call) -> tuple[Any, Any, list[Name] | None]:
        """The core, its schedules and its names, created if these are the first rows."""
        if not rows.one and (self.core is not None or self._start is not None):  # the door has read a single row
            self._door.check(rows.block, rows.where)
        if self.core is None:
            names = self._start._names if self._start is not None else None
            return *self._make_core(rows.block.columns, rows.where), names or rows.block.names
        return self.core, self._schedules, self.names

    def _block(self, core: Any, rows: Call) -> Array:
        """All rows as one block; a row that no model accepts is rejected before any model learns."""
        block: Array = rows.block.block(0, rows.block.rows)
        if self.learner.missing == "raise":
            bad = core.find_bad_row(block, rows.labels)
            if bad >= 0:
                label = None if rows.labels is None else rows.labels[bad]
                self._door.refuse_row(block[bad], label, rows.where, None if rows.one else bad, rows.block.names)
        if rows.labels is not None:
            self.learner._check_labels(rows.labels, rows.where, None if rows.one else 0)
        return block

    # The verbs.

    def predict(self, rows: Call) -> Answer:
        """Predicts without learning."""
        core, schedules, _ = self._fitting(rows)
        self._make_room(core, int(rows.slots.max()) + 1, rows.where)
        progress = Progress(rows, self._block(core, rows), self._options.jobs)
        progress.replay(core, schedules, self.learner, self._model)
        return progress.answer()

    def learn(self, rows: Call, accept: Callable[[int], None], finish: Callable[[Answer], Answer] = as_it_is) -> Answer:
        """Predicts, then learns; passes ``accept`` the number of rows learned.

        ``finish`` makes the answer of the fleet from that of the models. If it raises an error, they have learned nothing.
        """
        core, schedules, names = self._fitting(rows)
        width = core.features + self.learner.intercept
        if self.core is None and (words := stability.risk_of_memory(self.learner, width)):
            warn(words)
        progress = Progress(rows, self._block(core, rows), self._options.jobs, self._options.alarms)
        self._make_room(core, int(rows.slots.max()) + 1, rows.where)
        learned = 0
        try:
            progress.replay(core, schedules, self.learner, self._model)
            self._watch(core, rows)
            answer = finish(progress.answer())
            core.accept()
            heed_interrupt()
            learned = rows.block.rows
        except BaseException as error:
            learned = 0 if core.undo() else progress.done
            if learned and not isinstance(error, Warning):  # which comes after all rows
                error.add_note(f"{rows.where}: {learned} of {rows.block.rows} rows were learned")
            raise
        finally:
            if learned:
                self.core, self._schedules, self.names = core, schedules, names
                accept(learned)
        return answer

    def _watch(self, core: Any, rows: Call) -> None:
        """Warns once if predictions left the range of the labels. All models are checked after every 4 rows per model."""
        self._unwatched += rows.block.rows
        if self._warned or self._unwatched < 4 * rows.models:
            return
        self._unwatched = 0
        sums = dict(zip(self.learner._traits.sums, core.state_part("sums").T, strict=True))
        if not len(sums["rows"]):
            return
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            worst = np.argmax(np.nan_to_num(np.sqrt(sums["largest_loss"]) / sums["largest_label"]))
        for place in (worst, np.argmax(sums["loss"])):
            if words := stability.far(self.learner, {name: float(values[place]) for name, values in sums.items()}):
                key = rows.key(int(core.state_part("slots")[place]))
                self._warned = True
                warn(f"Fleet: the model of the key {key!r}: {words}")
                return

    def _make_core(self, columns: int, where: str) -> tuple[Any, Any]:
        """If keys without a model can occur, there is a spare slot, whose untrained model predicts their rows."""
        options = self._options
        models, spare = (FIRST_ROOM, True) if options.n is None else (options.n, bool(options.named))
        with _memory(models, columns, where):
            core, schedules = fleet_core.make_core(
                self.learner,
                models + spare,
                columns + self.learner.intercept,
                alarms=options.alarms,
                intervals=options.intervals,
                undoable=options.pooled is not False,
            )
        if self._start is not None:
            core.start_from(self._start._core.get_state())
        return core, schedules

    def _make_room(self, core: Any, models: int, where: str) -> None:
        if self._options.n is None:
            with _memory(models, core.features, where):
                core.reserve(models + 1)

    # Single models.

    def asked(self, slot: int) -> Learner:
        """A model to ask, which knows the features of the fleet."""
        return self.model(slot) if self.core is None else self._model(self.core, slot)

    def tell(
        self, slot: int, ticket: FleetTicket, y: Any, sample_weight: float | None, finish: Callable[[], None] | None = None
    ) -> None:
        """Learns the label of a ticket. If ``finish``, which is called at the end, raises an error, nothing is learned."""
        if self.core is not None:
            self._make_room(self.core, slot + 1, "Fleet.tell")
        model = self.asked(slot)
        seen = model.n_seen_
        model.tell(ticket.ticket, y, sample_weight=sample_weight)
        if model._core is not None:  # it is None while all rows are skipped
            error = float(y) - ticket.ticket.prediction if model.n_seen_ > seen else None
            if finish is not None:
                finish()
            self._store(slot, model, error, "Fleet.tell")

    def put(self, slot: int, model: Learner, where: str) -> None:
        """Replaces the model in a slot, with its alarm and its intervals."""
        if model._columns is not None:
            raise ValueError(f"{where}: the model reads columns of text, times or missing values, the fleet's read numbers")
        if self.core is not None:
            if model.n_features_in_ != self.core.features:
                raise ValueError(f"{where}: the model has {model.n_features_in_} features, expected {self.core.features}")
            if None not in (model._names, self.names) and model._names != self.names:
                raise ValueError(f"{where}: the model has the features {model._names}, expected {self.names}")
            self._make_room(self.core, slot + 1, where)
            self.core.drop(np.array([slot]), slot + 1, False)
        self._store(slot, model, None, where)

    def _store(self, slot: int, model: Learner, error: float | None, where: str) -> None:
        core, schedules, names = self.core, self._schedules, self.names
        if core is None:
            core, schedules = self._make_core(model.n_features_in_, where)
            names = model._names
            self._make_room(core, slot + 1, where)
        core.set_model(slot, model._core.get_state(), model.n_skipped_, error)
        self.core, self._schedules, self.names = core, schedules, names

    # What was learned.

    def model(self, slot: int) -> Learner:
        """A copy of the model in a slot."""
        if self.core is None:
            return self.learner.clone() if self._start is None else copy.copy(self._start)
        model = self._model(self.core, slot)
        if model.n_seen_ > 0:
            return model
        fresh = self.learner.clone()
        fresh._skipped = model.n_skipped_
        return fresh

    def _model(self, core: Any, slot: int) -> Learner:
        state, skipped = core.model_state(slot)
        learner = self.learner
        model = learner.clone()
        kept = {name: getattr(learner, name) for name in learner._kept}
        model.__setstate__({"params": model._given, "core": state, "names": self.names, "skipped": skipped, **kept})
        model._known_mark = model._values, mark_of(learner)  # which takes longer than a row
        return model

    def counts(self, count: int) -> tuple[Array, Array]:
        """Rows learned and rows skipped, for each of the first ``count`` models."""
        if self.core is None:
            return np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        rows, skipped = self.core.counts(count)
        return rows, skipped

    def summary(self, count: int) -> Array:
        """(count, 7), for the first models: rows, loss, judged, inside, alarms, last alarm (-1 if not kept), bytes."""
        if self.core is None:
            kept = [0.0 if self._options.intervals else -1.0] * 2 + [0.0 if self._options.alarms else -1.0]
            return np.tile([0.0, 0.0, *kept, -1.0, 0.0], (count, 1))
        return np.column_stack([self.core.summary(count), np.full(count, float(self.core.slot_bytes))])

    def drop(self, slots: Array, count: int, close: bool) -> None:
        """Removes models and closes the gaps, or resets them."""
        if self.core is not None:
            self.core.drop(slots, count, close)

    # State.

    def state(self) -> tuple[list[Name] | None, Mapping[str, Array] | None]:
        """The names, and the arrays of the core, each created on access."""
        return self.names, None if self.core is None else fleet_core.Parts(self.core)

    def fill(self, names: list[Name] | None, arrays: Mapping[str, Array] | None) -> int:
        """Restores what :meth:`state` returned; returns the number of slots in use."""
        if arrays is None:
            return 0
        core, schedules = self._make_core(arrays["weights"].shape[1] - self.learner.intercept, "Fleet")
        reach = int(arrays["slots"].max(initial=-1)) + 1
        self._make_room(core, reach, "Fleet")
        core.fill(dict(arrays))
        self.core, self._schedules, self.names = core, schedules, names
        return reach


def needs_columns(X: Any, one: bool, where: str) -> bool:
    """Whether rows, or one row, are more than numbers for features that are all there from the start."""
    if one:
        x = inputs.named(X)
        return isinstance(x, Mapping) and cells.has_special_values(x)
    block = as_block(X, where)
    return bool(block.special) or (block.kind == COLUMNS and not encoding.is_plain(None, block))


@contextmanager
def _memory(models: int, columns: int, where: str) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise MemoryError(
            f"{where}: not enough memory for {models:,} models of {columns} features; with named=True and no n, "
            "a fleet only allocates memory for the keys that it has met"
        ) from None
