"""The models of a fleet as separate learners, for learners or rows that do not fit one block of memory."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from driftline.base import encoding
from driftline.base.alarm import Alarm
from driftline.base.door import Door
from driftline.base.learner import Learner
from driftline.base.levels import Spread, unearned
from driftline.base.model import as_objects
from driftline.base.run import Run
from driftline.ensembles.classifier import predict_next
from driftline.fleet.call import Answer, Call, as_it_is, of_key
from driftline.fleet.packed import Options
from driftline.fleet.run import sizes
from driftline.fleet.ticket import FleetTicket
from driftline.storage.codec import leaves, storable
from driftline.tables import inputs
from driftline.tables.block import COLUMNS, MAPPINGS, SPARSE, RowBlock
from driftline.tables.categories import Categories
from driftline.tables.columns import Column
from driftline.tables.inputs import Array, Name
from driftline.tables.times import Times

_FIRST = np.zeros(1, dtype=np.int64)
ALARM_BYTES = sum(np.asarray(value).nbytes for value in Alarm().__getstate__().values())


@storable
@dataclass(frozen=True, eq=False)
class KeyedModel:
    """A model with its alarm and counts. Entries that a state holds are immutable: a call that learns creates new ones.

    Attributes:
        model: the model of one key.
        alarm: its alarm; None if alarms are not kept.
        raised: alarms so far.
        last: the row of the key that raised the last alarm, -1 without one.
        judged: labels whose interval was finite.
        inside: of these, those inside the interval.
    """

    model: Learner
    alarm: Alarm | None = None
    raised: int = 0
    last: int = -1
    judged: int = 0
    inside: int = 0

    @property
    def nbytes(self) -> int:
        """Memory of the model's state and the alarm."""
        state = self.model.__getstate__().get("core", {})
        return sum(int(np.asarray(part).nbytes) for _, part in leaves(state)) + (0 if self.alarm is None else ALARM_BYTES)


class Separate:
    """Learners by slot."""

    def __init__(self, learner: Learner, options: Options, start: Learner | None = None) -> None:
        self.learner, self._options, self._start = learner, options, start
        self.entries: dict[int, KeyedModel] = {}
        self._unshared: set[int] = set()  # the slots of models that no state holds, which may learn as they are
        self._warned: frozenset[str] = frozenset()  # once for the whole fleet

    @property
    def is_empty(self) -> bool:
        """Whether no model has learned a row."""
        return not self.entries

    def columns(self) -> dict[Name, Column | None]:
        """The columns that any model has learned from; None for numbers that are features as they are."""
        found: dict[Name, Column | None] = {}
        for entry in self.entries.values():
            for name, column in encoding.columns_of(entry.model).items():
                known = found.setdefault(name, column)
                if isinstance(column, Categories) and not (isinstance(known, Categories) and known.shared):
                    found[name] = column
        return found

    def features(self) -> list[Name]:
        """The names of the features of any model."""
        return list({name: None for entry in self.entries.values() for name in entry.model._names or ()})

    # Reading rows. The models do this themselves; checked here are errors whose message must name the row.

    def block(self, X: Any, where: str, grow: bool) -> RowBlock:
        """Many rows."""
        return self.learner._as_block(X, where)

    def labels(self, y: Any, rows: int, where: str) -> Array:
        """Their labels, of any kind and number per row."""
        if y is None:
            raise ValueError(f"{where}: y is missing: it requires y to be passed, but the target y is None")
        labels = inputs.as_array(y, where, "y")
        if labels.ndim == 0 or len(labels) != rows:
            raise ValueError(f"{where}: X has {rows} rows, y has {len(labels) if labels.ndim else 'none'}")
        return labels

    def label(self, y: Any, where: str) -> Any:
        """The label of one row."""
        return y

    def one_row(self, x: Any, where: str, grow: bool) -> RowBlock:
        """One row; its model will read it."""
        return RowBlock([x], MAPPINGS, where=where)

    def _parts(self, rows: Call) -> Callable[[Learner, Array], RowBlock]:
        """Returns a function that selects rows for a model."""
        block = rows.block
        if block.read is not None or block.kind == COLUMNS:
            return lambda _, mine: block[mine]
        if block.kind == SPARSE:
            for start, piece in block.blocks():
                self._refuse_bad(rows, piece, start)
            return lambda _, mine: block[mine]
        numbers = block.block(0, block.rows)
        self._refuse_bad(rows, numbers)
        return lambda model, mine: _numbers(model, numbers[mine], block.names, rows.where, _of_rows(block.times, mine))

    def _refuse_bad(self, rows: Call, block: Array, start: int = 0) -> None:
        if self.learner.missing != "raise":
            return
        door = Door("Fleet", None, rows.block.names, self.learner.dtype, self.learner.missing)
        whole = door.whole_rows(block)
        labels = None if self.learner._estimator_type == "classifier" else rows.labels
        if labels is not None:
            labels = inputs.as_numbers(labels[start : start + len(block)], rows.where, "y", start)
            known = np.abs(labels) <= door.largest
            whole = whole & (known if known.ndim == 1 else known.all(axis=1))
        if not whole.all():
            row = int(whole.argmin())
            door.refuse_row(block[row], None if labels is None else labels[row], rows.where, start + row)

    # The verbs.

    def predict(self, rows: Call) -> Answer:
        """Predicts without learning."""
        if rows.one:
            model = self._entry(int(rows.slots[0])).model  # itself: predicting does not change it
            return Answer(as_objects([model.predict_one(rows.block.values[0], at=rows.block.times)]))
        part, found = self._parts(rows), []
        for slot, mine in groups(rows.slots):
            with of_key(rows.where, partial(rows.key, slot), one=rows.one):
                model = self._entry(slot).model
                found.append((mine, predicted(model, part(model, mine), rows.spread)))
        return _joined(len(rows.slots), found)

    def learn(self, rows: Call, accept: Callable[[int], None], finish: Callable[[Answer], Answer] = as_it_is) -> Answer:
        """Predicts, then learns; passes ``accept`` the number of rows learned.

        ``finish`` makes the answer of the fleet from that of the models. If it raises an error, they have learned nothing.
        """
        if not rows.one and self.learner._estimator_type == "regressor":
            self.learner._check_labels(inputs.as_numbers(rows.labels, rows.where, "y", 0), rows.where)
        part = None if rows.one else self._parts(rows)
        fresh: dict[int, KeyedModel] = {}
        found = []
        for slot, mine in groups(rows.slots):
            with of_key(rows.where, partial(rows.key, slot), one=rows.one):
                alone = rows.one and finish is as_it_is  # then only the model can refuse the row
                entry = self._copy(slot, shared=not alone)
                if part is None:
                    answer = self._learned_one(entry, rows)
                else:
                    answer = self._learned(entry, rows, part(entry.model, mine), mine)
            fresh[slot], answer = _watched(entry, answer, rows, mine)
            found.append((mine, answer))
            self._warned |= entry.model._warned
        answer = finish(_joined(len(rows.slots), found))
        self.entries.update(fresh)
        self._unshared |= fresh.keys()
        accept(len(rows.slots))
        return answer

    def _learned(self, entry: KeyedModel, rows: Call, X: Any, mine: Array) -> Answer:
        weight = None if rows.weight is None else rows.weight[mine]
        run: Run = entry.model.run(
            X, rows.labels[mine], sample_weight=weight, level=rows.spread.level, quantiles=rows.spread.quantiles
        )
        return Answer(
            run.predictions, run.errors, run.lower, run.upper, run.resets, skipped=run.skipped, quantiles=run.quantiles
        )

    def _learned_one(self, entry: KeyedModel, rows: Call) -> Answer:
        error: Any = np.nan
        if entry.alarm is not None:
            error = self._error(entry.model.predict_one(rows.block.values[0], at=rows.block.times), rows.labels)
        weight = None if rows.weight is None else float(rows.weight[0])
        entry.model.learn_one(rows.block.values[0], rows.labels, sample_weight=weight, at=rows.block.times)
        return Answer(np.empty(1), np.array([error]))

    def _error(self, predicted: Any, label: Any) -> Any:
        classes = self.learner._estimator_type == "classifier"
        with np.errstate(over="ignore"):
            return float(predicted != label) if classes else np.asarray(label - predicted, dtype=np.float64)

    # Single models.

    def asked(self, slot: int) -> Learner:
        """A model to ask."""
        return self._entry(slot).model

    def tell(
        self, slot: int, ticket: FleetTicket, y: Any, sample_weight: float | None, finish: Callable[[], None] | None = None
    ) -> None:
        """Learns the label of a ticket. If ``finish``, which is called at the end, raises an error, nothing is learned."""
        entry = self._copy(slot)
        seen = entry.model.n_seen_
        entry.model.tell(ticket.ticket, y, sample_weight=sample_weight)
        if entry.model.n_seen_ > seen:
            entry, _ = _alarmed(entry, Answer(np.empty(1), np.array([self._error(ticket.ticket.prediction, y)])))
        if finish is not None:
            finish()
        self.entries[slot] = entry
        self._warned |= entry.model._warned

    def put(self, slot: int, model: Learner, where: str) -> None:
        """Replaces the model in a slot, with its alarm."""
        self.entries[slot] = self._new(copy.copy(model))
        self._unshared.add(slot)

    # What was learned.

    def _entry(self, slot: int) -> KeyedModel:
        found = self.entries.get(slot)
        return found or self._new(self.learner.clone() if self._start is None else copy.copy(self._start))

    def _new(self, model: Learner) -> KeyedModel:
        return KeyedModel(model, Alarm() if self._options.alarms else None)

    def _copy(self, slot: int, shared: bool = True) -> KeyedModel:
        """An entry to change; its model is a copy if it is in use elsewhere, or ``shared``."""
        entry = self._entry(slot)
        if slot in self.entries:
            model = copy.copy(entry.model) if shared or slot not in self._unshared else entry.model
            entry = replace(entry, model=model, alarm=copy.copy(entry.alarm))
        entry.model._warned = self._warned
        return entry

    def model(self, slot: int) -> Learner:
        """A copy of the model in a slot."""
        return self._copy(slot).model

    def own(self, slot: int) -> Learner:
        """The model in a slot itself, for a caller that learns by it."""
        return self.entries.setdefault(slot, self._entry(slot)).model

    def counts(self, count: int) -> tuple[Array, Array]:
        """Rows learned and rows skipped, for each of the first ``count`` models."""
        rows, skipped = np.zeros((2, count), dtype=np.int64)
        for slot, entry in self.entries.items():
            rows[slot], skipped[slot] = entry.model.n_seen_, entry.model.n_skipped_
        return rows, skipped

    def summary(self, count: int) -> Array:
        """(count, 7), for the first models: rows, loss, judged, inside, alarms, last alarm (-1 if not kept), bytes."""
        table = np.tile([0.0, 0.0, 0.0, 0.0, 0.0 if self._options.alarms else -1.0, -1.0, 0.0], (count, 1))
        for slot, entry in self.entries.items():
            model, raised = entry.model, float(entry.raised if self._options.alarms else -1)
            table[slot] = (
                model.n_seen_, model.certificate().loss, entry.judged, entry.inside, raised, entry.last, entry.nbytes,
            )  # fmt: skip
        return table

    def drop(self, slots: Array, count: int, close: bool) -> None:
        """Removes models and closes the gaps, or resets them."""
        gone = set(slots.tolist())
        left = {slot: entry for slot, entry in self.entries.items() if slot not in gone}
        if close:
            left = {slot - int(np.searchsorted(slots, slot)): entry for slot, entry in left.items()}
        self.entries = left
        self._unshared.clear()

    # State.

    def state(self) -> tuple[None, Mapping[str, Any] | None]:
        """The entries in the order of the slots, which copies can share: from now on, their models are copied to learn."""
        slots = sorted(self.entries)
        listed = [self.entries[slot] for slot in slots]
        self._unshared.clear()
        return None, {"slots": np.array(slots, dtype=np.int64), "entries": listed} if slots else None

    def fill(self, names: list[Name] | None, arrays: Mapping[str, Any] | None) -> int:
        """Restores what :meth:`state` returned; returns the number of slots in use."""
        if arrays is None:
            return 0
        slots = arrays["slots"].tolist()
        if len(slots) != len(arrays["entries"]) or slots != sorted(set(slots)) or min(slots, default=0) < 0:
            raise ValueError("the state's slots are out of range")
        if self._options.n is not None and max(slots, default=-1) >= self._options.n:
            raise ValueError("the state's slots are out of range")
        if any((entry.alarm is not None) != self._options.alarms for entry in arrays["entries"]):
            raise ValueError("the state's alarms are not those that the fleet keeps")
        self.entries = dict(zip(slots, arrays["entries"], strict=True))
        self._unshared.clear()
        return max(slots, default=-1) + 1


def predicted(model: Learner, X: Any, spread: Spread) -> Answer:
    """Predicts rows each as the next one, with an untrained model too."""
    if model._core is None:
        block = model._as_block(X, "Fleet")
        if block.encoded:
            found = np.array([model.predict_one(row) for row in encoding.each(model, block, 0, block.rows)])
            quantiles = None if spread.quantiles is None else found[:, None] + unearned(spread.quantiles)
            ends = np.full(len(found), np.inf)
            return Answer(found, lower=-ends, upper=ends, quantiles=quantiles)
        model = _at_its_start(model, block)
    if not spread:
        return Answer(predict_next(model, X))
    out = model._predicted(X, "predict", spread, apart=False)
    return Answer(out.predictions, lower=out.lower, upper=out.upper, quantiles=out.quantiles)


def groups(slots: Array) -> Iterator[tuple[int, Array]]:
    """Each slot with its rows, in order."""
    if len(slots) == 1:
        yield int(slots[0]), _FIRST
        return
    order = np.argsort(slots, kind="stable")
    ends = np.flatnonzero(np.diff(slots[order])) + 1
    for mine in np.split(order, ends):
        yield int(slots[mine[0]]), mine


def _watched(entry: KeyedModel, answer: Answer, rows: Call, mine: Array) -> tuple[KeyedModel, Answer]:
    """The entry with its counts, and the answer with the rows that raised the alarm."""
    if answer.lower is not None and answer.upper is not None and answer.errors is not None:
        y = np.asarray(rows.labels[mine], dtype=np.float64)
        judged = np.isfinite(answer.upper) & np.isfinite(answer.errors)
        if rows.weight is not None:
            judged &= rows.weight[mine] > 0
        inside = judged & (y >= answer.lower) & (y <= answer.upper)
        entry = replace(entry, judged=entry.judged + int(judged.sum()), inside=entry.inside + int(inside.sum()))
    return _alarmed(entry, answer)


def _alarmed(entry: KeyedModel, answer: Answer) -> tuple[KeyedModel, Answer]:
    """The same for the alarm alone."""
    if entry.alarm is not None:
        assert answer.errors is not None
        errors = sizes(answer.errors)
        raised, last = watch(entry.alarm, errors)
        answer.alarms = np.zeros(len(errors), dtype=np.uint8)
        answer.alarms[raised] = 1
        if len(raised):
            entry = replace(entry, raised=entry.raised + len(raised), last=last)
    return entry, answer


def watch(alarm: Alarm, errors: Array) -> tuple[Array, int]:
    """Passes errors to an alarm; returns the indices of those that raise it, and the place of the last among all errors."""
    before = int(alarm.__getstate__()["counts"][0])
    raised = alarm.update_many(errors)
    return raised, before + int(np.count_nonzero(~np.isnan(errors[: raised[-1] + 1]))) - 1 if len(raised) else -1


def _of_rows(times: Times | None, mine: Array) -> Times | None:
    return None if times is None else times.take(mine)


def _numbers(model: Learner, numbers: Array, names: list[Name] | None, where: str, times: Times | None) -> RowBlock:
    """Rows for a model. Names are dropped or added if only one of the two has them, so that the model does not warn."""
    if model._core is not None and (names is None or model._names is None):
        known = model._names
        names = known if known is None or len(known) == numbers.shape[1] else None
    block = RowBlock(numbers, names=names, where=where)
    block.times = times
    return block


def _at_its_start(model: Learner, block: RowBlock) -> Learner:
    """An untrained model for rows like these."""
    fresh = model.clone()
    fresh._meet(np.zeros(block.columns), block.names)
    return fresh


def _joined(count: int, found: list[tuple[Array, Answer]]) -> Answer:
    """The answers of all keys in the order of the rows."""
    each: dict[str, Any] = {
        name: _scattered(count, [(mine, getattr(answer, name)) for mine, answer in found])
        for name in ("predictions", "errors", "lower", "upper", "alarms", "quantiles")
    }
    resets = np.sort(np.concatenate([mine[answer.resets] for mine, answer in found]))
    return Answer(**each, resets=resets, skipped=sum(answer.skipped for _, answer in found))


def _scattered(count: int, parts: list[tuple[Array, Array | None]]) -> Array | None:
    first = parts[0][1]
    if first is None:
        return None
    kinds = {part.dtype for _, part in parts if part is not None}
    out = np.empty((count, *first.shape[1:]), dtype=kinds.pop() if len(kinds) == 1 else object)
    for mine, part in parts:
        out[mine] = part
    return out
