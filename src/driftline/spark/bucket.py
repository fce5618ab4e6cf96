"""One bucket of a stream: the models of its keys, and what is kept about the keys between two batches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.base.learner import Learner
from driftline.base.model import as_objects
from driftline.base.ticket import Ticket
from driftline.delayed.stepper import Stepper
from driftline.fleet import Fleet
from driftline.fleet.core import has_fixed_size
from driftline.spark.packing import HASH, as_bytes, as_text
from driftline.spark.rows import Columns, added_columns, new_fleet
from driftline.spark.settings import Settings
from driftline.storage import codec
from driftline.storage.model_file import Extra, from_bytes_with_extra, to_bytes
from driftline.tables.inputs import Array
from driftline.tables.kinds import is_missing

PARTS = ("fleet", "rest")

Parts = tuple[str, str]
WaitingRow = list[float]  # of a model of fixed size: the features, and then the prediction
Places = list[tuple[int, WaitingRow]]  # of rows in a batch


@dataclass(frozen=True)
class FollowCall:
    """The arguments of :func:`driftline.spark.follow`, which explains them."""

    learner: Learner
    columns: Columns
    buckets: int
    settings: Settings
    level: float | None = None
    quantiles: tuple[float, ...] | None = None
    id: str | None = None
    idle: float | None = None  # in units of the order, which are seconds for times
    alarms: bool = False
    pool: Fleet | None = None

    @property
    def passes(self) -> bool:
        """Whether rows that wait pass through the fleet without a label: models of fixed size are not asked."""
        return self.id is not None and has_fixed_size(self.learner)

    def new_bucket(self) -> Bucket:
        """A bucket without models. Those of fixed size skip the rows that wait."""
        learner = self.learner.clone().set_params(missing="skip") if self.passes else self.learner
        return Bucket(new_fleet(learner, self.level is not None or self.quantiles is not None, self.alarms, self.pool))


@dataclass
class Bucket:
    """The keys whose hashes have the same remainder.

    Attributes:
        fleet: the models.
        hashes: Spark's hash of each key, in the order of the fleet.
        seen: the order of the last row of each key; empty without ``idle``.
        waiting: the rows that wait for their labels, by key and id as text; tickets, unless models have a fixed size.
    """

    fleet: Fleet
    hashes: list[int] = field(default_factory=list)
    seen: list[float] = field(default_factory=list)
    waiting: dict[tuple[str, str], WaitingRow | Ticket] = field(default_factory=dict)

    @classmethod
    def of(cls, parts: Sequence[str]) -> Bucket:
        """Inverts :meth:`parts`."""
        rest = json.loads(parts[1])
        places, rows = rest.pop("places"), rest.pop("rows")
        fleet, tickets = from_bytes_with_extra(as_bytes(parts[0]))
        if tickets is not None:
            rows = codec.unpack(tickets.arrays)
        return cls(fleet, waiting=dict(zip(map(tuple, places), rows, strict=True)), **rest)

    def parts(self) -> Parts:
        """The bucket as texts, in the order of ``PARTS``."""
        rows: list[Any] = list(self.waiting.values())
        tickets = Extra(arrays=codec.pack(rows)) if rows and isinstance(rows[0], Ticket) else None
        plain = [] if tickets is not None else rows
        rest = {"hashes": self.hashes, "seen": self.seen, "places": list(self.waiting), "rows": plain}
        return as_text(to_bytes(self.fleet, tickets)), json.dumps(rest)

    def run(self, call: FollowCall, batch: pa.RecordBatch) -> pa.Table:
        """Predicts and learns rows in their order; returns them with the added columns, followed by the rows of alarms."""
        columns, learner = call.columns, self.fleet._learner
        keys, hashes = (batch.column(name).to_pylist() for name in (columns.key, HASH))
        batch = batch.drop_columns([HASH])
        X, labels = columns.features_of(batch, learner, call.id is None), columns.labels(batch, learner, call.id is None)
        if call.id is not None and not call.passes:
            added = {"prediction": pa.array(self._ask_and_tell(call, batch, keys, labels), from_pandas=False)}
        else:
            asked, answered = self._match(call, batch, X, labels) if call.id is not None else ([], [])
            found = self.fleet.run(keys, columns.table(X), labels, level=call.level, quantiles=call.quantiles)
            added = added_columns(found)
            if call.id is not None:
                added["prediction"] = pa.array(_settled(found.predictions.copy(), asked, answered))
        self._note(keys, hashes)
        if call.idle is not None:
            self._let_go(dict(zip(keys, _as_numbers(batch.column(columns.order)), strict=True)), call.idle)
        out = pa.table({**dict(zip(batch.schema.names, batch.columns, strict=True)), **added})
        if not call.alarms:
            return out
        both = pa.concat_tables([out, out.take(pa.array(found.alarms))])
        return both.append_column("alarm", pa.array(np.arange(len(both)) >= len(out)))

    def _note(self, keys: list[Any], hashes: list[int]) -> None:
        """Stores the hashes of new keys."""
        if new := self.fleet.keys_[len(self.hashes) :]:
            known = dict(zip(keys, hashes, strict=True))
            self.hashes += [known[key] for key in new]

    def _ask_and_tell(self, call: FollowCall, batch: pa.RecordBatch, keys: list[Any], labels: Array) -> Array:
        """Predicts rows, which are learned when their labels come, as of then; returns the predictions."""
        rows = batch.select(list(call.columns.features)).to_pylist()
        said = []
        for key, place, x, label in zip(keys, self._places(call, batch), rows, labels.tolist(), strict=True):
            stepper = Stepper(self.fleet._own(key), by_id=self.waiting)
            try:
                if is_missing(label):
                    self._refuse_waiting(call, place)
                    ticket = stepper.ask(place, x)
                else:
                    ticket = stepper.tell(place, label, x)
            except (TypeError, ValueError, FloatingPointError) as error:
                error.add_note(f"{call.columns.where}: the row of the id {place[1]!r} of the key {place[0]!r}")
                raise
            said.append(ticket.prediction)
        return as_objects(said) if call.learner._estimator_type == "classifier" else np.array(said, dtype=np.float64)

    def _places(self, call: FollowCall, batch: pa.RecordBatch) -> Iterator[tuple[str, str]]:
        """The key and the id of each row, as text; raises ValueError for nulls."""
        if nulls := batch.column(call.id).null_count:
            raise ValueError(f"{call.columns.where}: the column {call.id!r} has {nulls} null values among {len(batch)} rows")
        keys, ids = (map(str, batch.column(name).to_pylist()) for name in (call.columns.key, call.id))
        return zip(keys, ids, strict=True)

    def _refuse_waiting(self, call: FollowCall, place: tuple[str, str]) -> None:
        if place in self.waiting:
            raise ValueError(f"{call.columns.where}: the id {place[1]!r} of the key {place[0]!r} is already waiting")

    def _match(self, call: FollowCall, batch: pa.RecordBatch, X: Array, labels: Array) -> tuple[Places, Places]:
        """The rows that begin to wait, and those that supply the label of a waiting row and get its features in ``X``."""
        where, asked, answered = call.columns.where, [], []
        unusable = ~np.isfinite(X) if call.learner.missing == "raise" else np.zeros(X.shape, dtype=bool)
        for row, (place, is_asked) in enumerate(zip(self._places(call, batch), np.isnan(labels), strict=True)):
            if not is_asked and place in self.waiting:
                waited: Any = self.waiting.pop(place)
                answered.append((row, waited))
                X[row] = waited[:-1]
                continue
            if unusable[row].any():
                name = call.columns.features[int(unusable[row].argmax())]
                raise ValueError(
                    f"{where}: the column {name!r} is null or not finite for the id {place[1]!r}, whose row is not waiting"
                )
            if is_asked:
                self._refuse_waiting(call, place)
                self.waiting[place] = waits = [*X[row].tolist(), np.nan]
                asked.append((row, waits))
        return asked, answered

    def _let_go(self, latest: dict[Any, float], idle: float) -> None:
        """Drops the keys whose last row is too far behind the newest; ``latest`` is the order of each key of the batch."""
        keys = self.fleet.keys_
        seen = [*self.seen, *[-np.inf] * (len(keys) - len(self.seen))]
        self.seen = [max(before, latest.get(key, before)) for key, before in zip(keys, seen, strict=True)]
        newest = max(self.seen, default=-np.inf)
        self.keep([last >= newest - idle for last in self.seen])

    def keep(self, stay: Sequence[bool]) -> None:
        """Drops all keys but these, with their waiting rows."""
        gone = [key for key, stays in zip(self.fleet.keys_, stay, strict=True) if not stays]
        self.fleet.drop(gone)
        self.hashes = [hashed for hashed, stays in zip(self.hashes, stay, strict=True) if stays]
        self.seen = [last for last, stays in zip(self.seen, stay, strict=False) if stays]
        texts = {str(key) for key in gone}
        self.waiting = {place: row for place, row in self.waiting.items() if place[0] not in texts}


def divided(parts: Sequence[str], buckets: int) -> Iterator[tuple[int, Parts]]:
    """Divides the keys of a bucket among new buckets; yields the number and the parts of each that gets any."""
    numbers = [hashed % buckets for hashed in Bucket.of(parts).hashes]
    for number in sorted(set(numbers)):
        bucket = Bucket.of(parts)
        bucket.keep([other == number for other in numbers])
        yield number, bucket.parts()


def merged(buckets: Sequence[Bucket]) -> Bucket:
    """Merges buckets that have no key in common."""
    return Bucket(
        Fleet.merge(bucket.fleet for bucket in buckets),
        [hashed for bucket in buckets for hashed in bucket.hashes],
        [last for bucket in buckets for last in bucket.seen],
        {place: row for bucket in buckets for place, row in bucket.waiting.items()},
    )


def _settled(predictions: Array, asked: Places, answered: Places) -> Array:
    """Notes the predictions of rows that wait; rows that supply a label get the prediction of the row that waited."""
    for row, waiting in asked:
        waiting[-1] = float(predictions[row])
    for row, waited in answered:
        predictions[row] = waited[-1]
    return predictions


def _as_numbers(order: pa.Array) -> list[float]:
    """Numbers as they are, times in seconds."""
    if pa.types.is_timestamp(order.type):
        return [1e-6 * ticks for ticks in order.cast(pa.timestamp("us", order.type.tz)).cast(pa.int64()).to_pylist()]
    return [float(value) for value in order.to_pylist()]
