"""What the keys of a fleet learn from each other: a shared model, and how far each key's own model is trusted.

Every row is learned three times. The shared model learns it from its features and from what the labels of its key say so
far; the model of the key learns it from its features alone. If p is the prediction of the shared model and o the own one's,
the answer is p + w (o - p). The share w comes from a regression over the rows of all keys of the same age, that is with as
many labels: of (y - p) / s on (o - p) / s and on the same times the edge of the own model, where s is the size of the errors
to expect of the key. The intervals are those of the regression.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from driftline import _core
from driftline._core import Outputs
from driftline.base.alarm import Alarm
from driftline.base.learner import Learner
from driftline.base.levels import arrays_of
from driftline.base.ticket import mark_of
from driftline.base.traits import narrower
from driftline.errors import ModelFileError
from driftline.features import Standardize
from driftline.fleet.call import Answer, Call
from driftline.fleet.core import has_fixed_size
from driftline.fleet.separate import ALARM_BYTES, groups, predicted, watch
from driftline.fleet.ticket import PooledTicket
from driftline.linear.rls import RLS
from driftline.storage import codec
from driftline.tables import kinds
from driftline.tables.block import COLUMNS, FRAME, NUMBERS, RowBlock, of_columns
from driftline.tables.cells import Given
from driftline.tables.inputs import Array, Name, named

FEATURES = ("key level", "key last", "key recent", "keys common", "key known")
LOSS, JUDGED, INSIDE, ALARMS, LAST_ALARM = range(_core.key_numbers - 5, _core.key_numbers)
LABELS, MEAN, ERRORS, POOL_MSE, OWN_MSE = 0, 1, 5, 6, 7
LEVEL = len(FEATURES)  # the number behind the features: the level of all keys
YOUNG = 3  # the last age of keys that are strangers, with up to seven labels

# A share is pulled to 0, the shared model, as by four rows, and remembers some 500 rows.
_SHARES = RLS(forgetting=0.998, ridge=4.0, keep_prior=True, intercept=False, missing="skip")

_NOTHING = np.zeros(2)


def pool_for(learner: Learner) -> Learner:
    """The shared model for keys with this learner: one of the same kind, or least squares over all keys if it is linear.

    The rows of all keys pass through the shared model, so a memory that suits one key would be too short.
    """
    if not has_fixed_size(learner):
        return learner.clone()
    low, high = _range(learner)
    return Standardize() | RLS(
        forgetting=0.9998, ridge=1.0, keep_prior=True,
        intercept=learner.intercept, missing=learner.missing, low=low, high=high,
    )  # fmt: skip


def _range(learner: Learner) -> tuple[float | None, float | None]:
    """The least and the largest label that a learner takes; None if there is none."""
    traits = learner._traits
    limits = learner._limits if traits.answers is None else narrower(traits.answers, learner._limits)
    return (limits.low if isfinite(limits.low) else None), (limits.high if isfinite(limits.high) else None)


class _Watched(NamedTuple):
    """What alarms made of the errors of some rows.

    Attributes:
        errors: what each key's alarm watches, the errors without what is common to all keys.
        alarms: marks the rows that raised the alarm of their key; None if these are not kept.
        pool_alarms: the rows that raised the alarm of the pool.
    """

    errors: Array
    alarms: Array | None
    pool_alarms: Array


class Pool:
    """The shared model, the statistics of the keys and the shares.

    Attributes:
        model: the shared model.
        keys: a row of numbers for each slot; see ``fleet/key_statistics.hpp``.
        shared: the same numbers over all keys.
        shares: a regression for each age of a key.
        alarms: the alarm of each slot, which watches the errors of the fleet's answers; None if they are not kept.
        strangers: how far the labels of young keys are from the level of all keys. Its intervals stand in for those of an
            age that has too few labels.
        common: what the latest errors of different keys have in common; see ``fleet/key_statistics.hpp``.
        alarm: watches the mean errors of blocks of keys, so that a shock to all keys raises it.
        raised: the number of its alarms.
        frozen: whether only the keys learn: the shared model, the shares and the level of all keys stay as they are. Then a
            key's answers depend on its own rows alone, wherever the other keys are.
    """

    def __init__(self, model: Learner, alarms: bool) -> None:
        self.model = model
        self.alarms: dict[int, Alarm] | None = {} if alarms else None
        self.keys = np.zeros((0, _core.key_numbers))
        self.shared = np.zeros(_core.shared_numbers)
        self.shares = [_SHARES.clone() for _ in range(_core.age_bands)]
        self.strangers = _SHARES.clone()
        self.frozen = False
        self.common = np.zeros(_core.common_numbers)
        self.alarm, self.raised = Alarm(false_every=1_000_000), 0

    def freeze(self, other: Pool) -> None:
        """Takes what another pool has learned of all keys, for good."""
        self.model, self.shared = copy.copy(other.model), other.shared.copy()
        self.shares, self.strangers = [copy.copy(model) for model in other.shares], copy.copy(other.strangers)
        self.frozen = True

    # Many rows.

    def learn(self, rows: Call, own: Answer) -> Answer:
        """Predicts and learns all rows or none, given the answer of the keys' own models."""
        y = np.array(rows.labels, dtype=np.float64)
        weight = rows.weight
        with self._undo(rows.slots), np.errstate(over="ignore"):
            skipped = np.isnan(own.predictions)  # rows without some value
            told = np.where(skipped if weight is None else skipped | (weight <= 0), np.nan, y)
            features, ages = self._described(rows.slots, told)
            block = with_key(rows.block, features[:, :LEVEL], rows.where)
            if self.frozen:
                pool = predicted(self.model, block, rows.spread)
            else:
                run = self.model.run(
                    block, y, sample_weight=weight, level=rows.spread.level, quantiles=rows.spread.quantiles
                )
                pool = Answer(run.predictions, lower=run.lower, upper=run.upper, quantiles=run.quantiles)
            o = np.where(ages == 0, pool.predictions, own.predictions)
            scales = self._scaled(rows.slots, told - pool.predictions, told - o)
            out = self._shared(rows, pool.predictions, o, ages, scales, None if self.frozen else told)
            strange = None if self.frozen else (told - features[:, LEVEL]) / scales[:, 2]
            out_of_strangers = self._strange(rows, out, ages, strange)
            answer = self._answer(pool, [(scales[:, 0], out), (scales[:, 2], out_of_strangers)])
            errors = y - answer.predictions
            known = np.isfinite(told - answer.predictions)
            np.add.at(self.keys[:, LOSS], rows.slots[known], errors[known] ** 2)
            if answer.lower is not None and answer.upper is not None:
                judged = known & np.isfinite(answer.upper)
                inside = judged & (answer.lower <= y) & (y <= answer.upper)
                np.add.at(self.keys[:, JUDGED], rows.slots[judged], 1)
                np.add.at(self.keys[:, INSIDE], rows.slots[inside], 1)
            watched = self._watched(rows.slots, np.where(known, errors, np.nan), scales[:, 0])
        return replace(
            answer, errors=errors, resets=own.resets, skipped=own.skipped, quantile_levels=rows.spread.quantiles,
            watched=watched.errors, alarms=watched.alarms, pool_alarms=watched.pool_alarms,
        )  # fmt: skip

    def predict(self, rows: Call, own: Answer) -> Answer:
        """Predicts without learning, each row as the next one of its key, given the answer of the keys' own models."""
        features, ages = self._described(rows.slots, None)
        pool = predicted(self.model, with_key(rows.block, features[:, :LEVEL], rows.where), rows.spread)
        o = np.where(ages == 0, pool.predictions, own.predictions)
        scales = self._scaled(rows.slots, None, None)
        out = self._shared(rows, pool.predictions, o, ages, scales, None)
        out_of_strangers = self._strange(rows, out, ages, None)
        return self._answer(pool, [(scales[:, 0], out), (scales[:, 2], out_of_strangers)])

    def _watched(self, slots: Array, errors: Array, sizes: Array) -> _Watched:
        """Passes errors to the alarm of the pool and, without what is common to all keys, to those of their keys."""
        left, blocks = errors.copy(), np.full(len(slots), np.nan)
        common, alarm = self.common.copy(), copy.copy(self.alarm)
        if not self.frozen:  # where the errors of other keys are unknown
            _core.watch_keys(self.keys, self.shared, common, slots, errors, np.ascontiguousarray(sizes), left, blocks)
        complete = np.flatnonzero(~np.isnan(blocks))
        of_pool, alarms, marks = complete[alarm.update_many(blocks[complete])], {}, None
        if self.alarms is not None:
            marks = np.zeros(len(slots), dtype=np.uint8)
            for slot, mine in groups(slots):
                alarms[slot] = copy.copy(self.alarms[slot]) if slot in self.alarms else Alarm()
                raised, last = watch(alarms[slot], left[mine])
                marks[mine[raised]] = 1
                if len(raised):
                    self.keys[slot, ALARMS] += len(raised)
                    self.keys[slot, LAST_ALARM] = last + 1
            self.alarms |= alarms
        self.common, self.alarm, self.raised = common, alarm, self.raised + len(of_pool)
        return _Watched(left, marks, of_pool)

    def _described(self, slots: Array, y: Array | None) -> tuple[Array, Array]:
        """The features of each row's key, with the level of all keys, and its age; learns the labels that are known."""
        self._reserve(int(slots.max()) + 1)
        features, ages = np.empty((len(slots), _core.described_numbers)), np.empty(len(slots), dtype=np.int64)
        _core.describe_keys(self.keys, self.shared, slots, y, features, ages, self.frozen)
        return features, ages

    def _scaled(self, slots: Array, of_pool: Array | None, of_own: Array | None) -> Array:
        """The sizes of errors and the edge of the own model for each row's key; learns the errors of both models."""
        scales = np.empty((len(slots), _core.scaled_numbers))
        _core.scale_keys(self.keys, self.shared, slots, of_pool, of_own, scales, self.frozen)
        return scales

    def _shared(self, rows: Call, p: Array, o: Array, ages: Array, scales: Array, y: Array | None) -> Outputs:
        """What the own models add to the shared one, on the scale of errors; learns the labels, if there are any."""
        s = scales[:, 0]
        with np.errstate(over="ignore", invalid="ignore"):
            apart = (o - p) / s
            x = np.column_stack([apart, apart * scales[:, 1]])
            labels = None if y is None else (y - p) / s
        out = rows.spread.outputs(np.empty(len(p)))
        for start, stop in [(0, len(x))] if labels is None else self._pieces(ages, x, labels):
            served = self._serving[ages[start:stop]]
            for age in np.unique(served).tolist():
                mine = start + np.flatnonzero(served == age)
                _step(self.shares[age], rows, mine, x[mine], None if labels is None else labels[mine], out)
        return out

    def _strange(self, rows: Call, out: Outputs, ages: Array, labels: Array | None) -> Outputs:
        """The spread of strangers for the rows without one of their own; learns the labels of young keys."""
        spread, found = arrays_of(out)[1:], rows.spread.outputs(np.full(len(ages), np.nan))
        wanted = np.zeros(len(ages), dtype=bool)
        for part in spread:
            wanted |= ~np.isfinite(part.reshape(len(part), -1)).all(axis=1)
        if labels is not None:
            labels = np.where(ages <= YOUNG, labels, np.nan)
            wanted |= np.isfinite(labels)
        if wanted.any():
            mine = np.flatnonzero(wanted)
            _step(self.strangers, rows, mine, np.zeros((len(mine), 2)), None if labels is None else labels[mine], found)
        return found

    def _pieces(self, ages: Array, x: Array, labels: Array) -> Iterator[tuple[int, int]]:
        """Pieces of the rows, so that an age starts with the model of the age before when its first row is learned."""
        learned = np.isfinite(labels) & np.isfinite(x).all(axis=1)
        start = 0
        for row in sorted(int(np.argmax(mine)) for age in self._untrained if (mine := learned & (ages == age)).any()):
            if row > start:
                yield start, row
            self._begin(int(ages[row]))
            start = row
        yield start, len(x)

    @property
    def _untrained(self) -> list[int]:
        return [age for age, model in enumerate(self.shares) if model._core is None]

    @property
    def _serving(self) -> Array:
        """For each age the one whose model serves it: itself, or the nearest trained one before."""
        ages = np.arange(len(self.shares))
        before = ages.copy()
        before[self._untrained] = -1
        before = np.maximum.accumulate(before)
        return np.where(before < 0, ages, before)

    def _begin(self, age: int) -> None:
        """Lets the model of an age that has learned nothing start as that of the age before."""
        self.shares[age] = copy.copy(self.shares[int(self._serving[age])])

    def _answer(self, pool: Answer, parts: list[tuple[Array, Outputs]]) -> Answer:
        """The answer of the first part that has a finite one, on its scale around the shared model, or of this alone."""

        def of(wanted: Callable[[Any], Array | None]) -> Array | None:
            answer = wanted(pool)
            if answer is None:
                return None
            shape = (-1,) + (1,) * (answer.ndim - 1)
            for scale, out in reversed(parts):
                ends = pool.predictions.reshape(shape) + scale.reshape(shape) * wanted(out)
                answer = np.where(np.isfinite(ends).reshape(len(ends), -1).all(axis=1).reshape(shape), ends, answer)
            return self._limited(answer)

        lower, upper, quantiles = (of(attrgetter(name)) for name in ("lower", "upper", "quantiles"))
        predictions = of(lambda part: part.predictions)
        assert predictions is not None
        return Answer(predictions, lower=lower, upper=upper, quantiles=quantiles)

    def _limited(self, values: Array) -> Array:
        found = _range(self.model)
        limited: Array = np.clip(values, *found)
        return limited if found != (None, None) else values

    # One row.

    def ask(self, key: Any, slot: int, own: Any, x: Any) -> PooledTicket:
        """The ticket of a row, made of that of the key's own model."""
        features, ages = self._described(np.array([slot]), None)
        scale, edge, of_all = self._scaled(np.array([slot]), None, None)[0].tolist()
        pool, age = self.model.ask(_one_with_key(x, features[0, :LEVEL])), int(ages[0])
        o = pool.prediction if age == 0 else own.prediction
        with np.errstate(over="ignore", invalid="ignore"):
            apart = np.float64(o - pool.prediction) / scale
        share = self.shares[int(self._serving[age])].ask(np.array([apart, apart * edge]))
        scales = scale, of_all, float(features[0, LEVEL])
        return PooledTicket(key, own, pool, share, self.strangers.ask(_NOTHING), age, scales, _range(self.model))

    def tell(self, slot: int, ticket: PooledTicket, y: Any, sample_weight: float | None) -> None:
        """Learns the label of a ticket that the key's own model has been told."""
        counts = (sample_weight is None or sample_weight > 0) and not np.isnan(ticket.ticket.prediction)
        label = float(y) if counts else np.nan
        p, prediction = ticket.pool.prediction, ticket.prediction
        try:
            if not self.frozen:
                self.model.tell(ticket.pool, y, sample_weight=sample_weight)  # nothing after this can fail
        except BaseException:
            ticket.ticket.told = False
            raise
        self._described(np.array([slot]), np.array([label]))
        own = p if ticket.age == 0 else ticket.ticket.prediction
        self._scaled(np.array([slot]), np.array([label - p]), np.array([label - own]))
        error = label - float(prediction)
        if np.isfinite(error):
            self.keys[slot, LOSS] += error * error  # a power would raise OverflowError
            self._watched(np.array([slot]), np.array([error]), np.array([ticket.scales[0]]))
        if self.frozen:
            return
        scale, of_all, level = ticket.scales
        with np.errstate(over="ignore"):
            target, strange = np.array([label - p, label - level]) / (scale, of_all)
        if np.isfinite(target) and np.isfinite(ticket.share.x).all():
            if ticket.age in self._untrained:
                self._begin(ticket.age)
            self.shares[ticket.age].tell(ticket.share, float(target), sample_weight=sample_weight)
        if np.isfinite(strange) and ticket.age <= YOUNG:
            self.strangers.tell(ticket.strangers, float(strange), sample_weight=sample_weight)

    # What was learned.

    def summary(self, table: Array) -> tuple[Array, dict[str, Array]]:
        """The sums of :meth:`Packed.summary`, with those of the fleet's answers, and further columns by name."""
        count = len(table)
        self._reserve(count)
        keys, slots = self.keys[:count], np.arange(count)
        table = table.copy()
        table[:, 0] = np.where(keys[:, ERRORS] > 0, keys[:, ERRORS], table[:, 0])
        table[:, 1], table[:, 2], table[:, 3] = keys[:, LOSS], keys[:, JUDGED], keys[:, INSIDE]
        table[:, 6] += keys.itemsize * _core.key_numbers
        if self.alarms is not None:
            table[:, 4], table[:, 5] = keys[:, ALARMS], keys[:, LAST_ALARM] - 1
            table[:, 6] += ALARM_BYTES
        if not count:
            return table, {name: np.empty(0) for name in ("share", "level", "pool_mse", "own_mse")}
        ages, edges = self._described(slots, None)[1], self._scaled(slots, None, None)[:, 1]
        weights = np.array([(0.0, 0.0) if model._core is None else model.coef_ for model in self.shares])[
            self._serving[ages]
        ]
        shares = np.where(ages == 0, 0.0, weights[:, 0] + weights[:, 1] * edges)
        level, pool_mse, own_mse = (
            np.where(keys[:, known] > 0, keys[:, column], np.nan)
            for known, column in ((LABELS, MEAN), (ERRORS, POOL_MSE), (ERRORS, OWN_MSE))
        )
        return table, {"share": shares, "level": level, "pool_mse": pool_mse, "own_mse": own_mse}

    def drop(self, slots: Array, close: bool) -> None:
        """Forgets keys; what the other keys have learned from them stays."""
        self._reserve(int(slots.max(initial=-1)) + 1)
        if close:
            self.keys = np.delete(self.keys, slots, axis=0)
        else:
            self.keys[slots] = 0
        if self.alarms is not None:
            left = {slot: alarm for slot, alarm in self.alarms.items() if slot not in slots}
            self.alarms = {slot - int(np.searchsorted(slots, slot)) * close: alarm for slot, alarm in left.items()}

    def _reserve(self, count: int) -> None:
        if count > len(self.keys):
            more = np.zeros((max(count, 2 * len(self.keys)) - len(self.keys), _core.key_numbers))
            self.keys = np.concatenate([self.keys, more])

    # State.

    @contextmanager
    def _undo(self, slots: Array) -> Iterator[None]:
        """Restores everything if the block raises an error."""
        self._reserve(int(slots.max()) + 1)
        used: Any = slots if len(slots) < len(self.keys) else slice(None)
        keys, shared, shares = self.keys[used].copy(), self.shared.copy(), [copy.copy(model) for model in self.shares]
        strangers, watching = copy.copy(self.strangers), (self.common, self.alarm, self.raised)
        try:
            with self.model._guard.undo(self.model):
                yield
        except BaseException:
            self.keys[used], self.shared, self.shares, self.strangers = keys, shared, shares, strangers
            self.common, self.alarm, self.raised = watching
            raise

    def state(self) -> dict[str, Any]:
        """The state, for pickles and files."""
        used = np.flatnonzero(self.keys.any(axis=1))
        keys: dict[str, Any] = {"slots": used, "numbers": self.keys[used]}
        if self.alarms is not None:
            keys["alarms"] = [self.alarms.get(slot, Alarm()) for slot in used.tolist()]
        regressions = [copy.copy(model) for model in (*self.shares, self.strangers)]
        watching = {"common": self.common.copy(), "alarm": copy.copy(self.alarm), "raised": self.raised}
        return {
            "model": copy.copy(self.model), "keys": keys, "shared": self.shared.copy(), "regressions": regressions,
            "watching": watching, "frozen": self.frozen,
        }  # fmt: skip

    @classmethod
    def restored(cls, state: Mapping[str, Any], learner: Learner, alarms: bool) -> Pool:
        """The pool of a state; raises ModelFileError or ValueError if it is invalid."""
        pool, model = cls(learner, alarms), state["model"]
        if not isinstance(model, Learner) or mark_of(model) != mark_of(learner):
            raise ModelFileError("the shared model is not one of the fleet's")
        slots, numbers = state["keys"]["slots"], state["keys"]["numbers"]
        shared = state["shared"]
        if shared.shape != pool.shared.shape or numbers.shape != (len(slots), _core.key_numbers):
            raise ModelFileError("the statistics of the keys have another shape")
        if not (
            np.isfinite(numbers).all() and np.isfinite(shared).all() and (np.diff(slots) > 0).all() and (slots >= 0).all()
        ):
            raise ModelFileError("the statistics of the keys are out of range")
        pool.model, pool.shared = copy.copy(model), shared.copy()
        pool._reserve(int(slots.max(initial=-1)) + 1)
        pool.keys[slots] = numbers
        if alarms:
            watching = state["keys"]["alarms"]
            if len(watching) != len(slots) or not all(isinstance(alarm, Alarm) for alarm in watching):
                raise ModelFileError("the alarms of the keys are damaged")
            pool.alarms = dict(zip(slots.tolist(), watching, strict=True))
        regressions = [copy.copy(model) for model in state["regressions"]]
        if len(regressions) != _core.age_bands + 1 or any(mark_of(model) != mark_of(_SHARES) for model in regressions):
            raise ModelFileError("the shares of the ages are not those of a pool")
        *pool.shares, pool.strangers = regressions
        common, alarm, raised = (state["watching"][name] for name in ("common", "alarm", "raised"))
        sound = common.shape == pool.common.shape and np.isfinite(common).all() and 0 <= common[0] < _core.common_recent
        if not sound or not isinstance(alarm, Alarm):
            raise ModelFileError("the alarm of the pool is damaged")
        pool.common, pool.alarm, pool.frozen = common.copy(), copy.copy(alarm), bool(state["frozen"])
        pool.raised = codec.require_count(raised, "the number of alarms of the pool")
        return pool


def _step(model: Learner, rows: Call, mine: Array, x: Array, labels: Array | None, out: Outputs) -> None:
    """Predicts some rows of a call, and learns them if there are labels."""
    if labels is None:
        found: Any = predicted(model, RowBlock(x), rows.spread)
    else:
        weight = None if rows.weight is None else rows.weight[mine]
        found = model.run(x, labels, sample_weight=weight, level=rows.spread.level, quantiles=rows.spread.quantiles)
    for whole, part in zip(arrays_of(out), arrays_of(found), strict=True):
        whole[mine] = part


# Rows with the features of their keys.


def with_key(block: RowBlock, features: Array, where: str) -> RowBlock:
    """Rows with the features of their keys as further columns."""
    twice = [name for name in block.names or () if name in FEATURES]
    if twice:
        raise ValueError(f"{where}: the feature {twice[0]!r} has the name of one that a pooled fleet adds; rename it")
    if block.kind in (NUMBERS, FRAME) and block.read is None and not block.special:
        names: list[Name] | None = None if block.names is None else [*block.names, *FEATURES]
        return RowBlock(np.column_stack([block.block(0, block.rows), features]), names=names, where=where)
    if block.kind not in (FRAME, COLUMNS):
        raise TypeError(
            f"{where}: a pooled fleet takes arrays and frames, not sparse or hashed rows; to fill gaps, it needs a frame"
        )
    given = block.given(0, block.rows, where)
    given |= {
        name: Given(kinds.NUMBER, np.ascontiguousarray(column)) for name, column in zip(FEATURES, features.T, strict=True)
    }
    return of_columns(given, block.rows, block.limit, block.begins if block.open else None)


def _one_with_key(x: Any, features: Array) -> Any:
    x = named(x)
    if isinstance(x, Mapping):
        twice = [name for name in FEATURES if name in x]
        if twice:
            raise ValueError(f"Fleet: the feature {twice[0]!r} has the name of one that a pooled fleet adds; rename it")
        return {**x, **dict(zip(FEATURES, features.tolist(), strict=True))}
    return np.concatenate([np.asarray(x, dtype=np.float64), features])
