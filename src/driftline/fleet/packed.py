"""The models of a fleet in one native block of memory, for learners of fixed size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftline._core import heed_interrupt
from driftline.base import stability
from driftline.base.door import Door
from driftline.base.learner import Learner
from driftline.errors import warn
from driftline.fleet import core as fleet_core
from driftline.fleet.call import Answer, Call, CallRows
from driftline.tables import inputs, kinds
from driftline.tables.inputs import Array, FrameTable, Name, Table

FIRST_ROOM = 1024  # initial number of slots in a fleet that grows


@dataclass(frozen=True)
class Options:
    """The options of a fleet, which :class:`driftline.Fleet` explains."""

    n: int | None = None
    named: bool | None = None
    jobs: int | None = None
    alarms: bool = False
    intervals: bool = False


class Packed:
    """Models of fixed size, each in a slot of the core."""

    def __init__(self, learner: Learner, options: Options) -> None:
        self.learner, self._options = learner, options
        self.core: Any = None
        self.names: list[Name] | None = None
        self._schedules: Any = None
        self._unwatched, self._warned = 0, False

    def columns(self) -> tuple[list[Name], list[Name]]:
        """The names of the columns, and of those that hold text."""
        return self.names or [], []

    # Reading rows.

    @property
    def _door(self) -> Door:
        features = None if self.core is None else self.core.features
        return Door("Fleet", features, self.names, self.learner.dtype, self.learner.missing)

    def table(self, X: Any, where: str) -> Table:
        """Many rows."""
        table = inputs.as_table(X, where)
        if isinstance(table, FrameTable):
            refuse_special(self.learner, table.special, where)
        return table

    def labels(self, y: Any, rows: int, where: str) -> Array:
        """Their labels."""
        return inputs.as_vector(y, rows, where, "y")

    def label(self, y: Any, where: str) -> Array:
        """The label of one row."""
        return np.array([inputs.as_number(y, where, "y")])

    def one_row(self, x: Any, where: str, grow: bool) -> Table:
        """One row, an array-like or a mapping."""
        x = inputs.named(x)
        if isinstance(x, Mapping):
            refuse_special(self.learner, [name for name, value in x.items() if kinds.is_special(value)], where)
        row, names = self._door.read(x, where, grow=grow)
        if self.core is not None and len(row) > self.core.features:
            new = (names or [])[self.core.features]
            raise ValueError(f"{where}: the feature {new!r} is new, but the first row fixes the features of a fleet")
        return Table(row[None, :], 1, row.size, names, where)

    def _fitting(self, rows: CallRows) -> tuple[Any, Any, list[Name] | None]:
        """The core, its schedules and its names, created if these are the first rows."""
        if self.core is None:
            return *self._make_core(rows.table.columns, rows.where), rows.table.names
        if not rows.one:  # which the door has read
            self._door.check(rows.table, rows.where)
        return self.core, self._schedules, self.names

    def _block(self, core: Any, rows: CallRows) -> Array:
        """All rows as one block; a row that no model accepts is rejected before any model learns."""
        block = rows.table.block(0, rows.table.rows)
        if self.learner.missing == "raise":
            bad = core.find_bad_row(block, rows.labels)
            if bad >= 0:
                label = None if rows.labels is None else rows.labels[bad]
                self._door.refuse_row(block[bad], label, rows.where, None if rows.one else bad, rows.table.names)
        return block

    # The verbs.

    def predict(self, rows: CallRows) -> Answer:
        """Predicts without learning."""
        core, schedules, _ = self._fitting(rows)
        self._make_room(core, int(rows.slots.max()) + 1, rows.where)
        call = Call(rows, self._block(core, rows), self._options.jobs)
        call.replay(core, schedules, self.learner, self._model)
        return call.answer()

    def learn(self, rows: CallRows, accept: Callable[[int], None]) -> Answer:
        """Predicts, then learns; passes ``accept`` the number of rows learned."""
        core, schedules, names = self._fitting(rows)
        width = core.features + self.learner.intercept
        if self.core is None and (words := stability.risk_of_memory(self.learner, width)):
            warn(words)
        call = Call(rows, self._block(core, rows), self._options.jobs, self._options.alarms)
        self._make_room(core, int(rows.slots.max()) + 1, rows.where)
        learned = 0
        try:
            call.replay(core, schedules, self.learner, self._model)
            self._watch(core, rows)
            core.accept()
            heed_interrupt()
            learned = rows.table.rows
        except BaseException as error:
            learned = 0 if core.undo() else call.done
            if learned and not isinstance(error, Warning):  # which comes after all rows
                error.add_note(f"{rows.where}: {learned} of {rows.table.rows} rows were learned")
            raise
        finally:
            if learned:
                self.core, self._schedules, self.names = core, schedules, names
                accept(learned)
        return call.answer()

    def _watch(self, core: Any, rows: CallRows) -> None:
        """Warns once if predictions left the range of the labels. All models are checked after every 4 rows per model."""
        self._unwatched += rows.table.rows
        if self._warned or self._unwatched < 4 * rows.models:
            return
        self._unwatched = 0
        sums = dict(zip(self.learner._sum_names, core.state_part("sums").T, strict=True))
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
            return fleet_core.make_core(
                self.learner, models + spare, columns + self.learner.intercept, options.alarms, options.intervals
            )

    def _make_room(self, core: Any, models: int, where: str) -> None:
        if self._options.n is None:
            with _memory(models, core.features, where):
                core.reserve(models + 1)

    # What was learned.

    def model(self, slot: int) -> Learner:
        """A copy of the model in a slot."""
        if self.core is None:
            return self.learner.clone()
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
        model.__setstate__(
            {
                "params": learner.get_params(deep=False),
                "core": state,
                "kept": kept,
                "names": self.names,
                "skipped": skipped,
            }
        )
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


@contextmanager
def _memory(models: int, columns: int, where: str) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise MemoryError(
            f"{where}: not enough memory for {models:,} models of {columns} features; with named=True and no n, "
            "a fleet only allocates memory for the keys that it has met"
        ) from None


def refuse_special(learner: Learner, names: list[Any], where: str) -> None:
    """Raises ValueError for columns of text or times, which would add features to models of fixed size."""
    if names:
        kind = type(learner).__name__
        raise ValueError(
            f"{where}: {names[0]!r} holds text or times, which add features along the way, but the models in a fleet of "
            f"{kind} have a fixed size; use Fleet(features.Hashing(64) | {kind}(...)) for text, or a learner "
            "that can grow, such as Auto"
        )
