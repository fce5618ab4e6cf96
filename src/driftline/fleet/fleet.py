"""Many models of one kind, one for each key."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from driftline._core import Guard
from driftline.base import stability
from driftline.base.door import Door
from driftline.base.learner import Learner
from driftline.base.model import as_objects
from driftline.base.rules import BOOLEAN, COUNT
from driftline.base.run import Run
from driftline.errors import not_fitted
from driftline.fleet import core as fleet_core
from driftline.fleet import record
from driftline.fleet.call import Call
from driftline.fleet.keys import Names, Numbers
from driftline.fleet.names import Key
from driftline.storage import model_file
from driftline.tables import inputs
from driftline.tables.inputs import Array, Name, Table

FIRST_ROOM = 1024  # models for which a fleet that grows has room at first


class Fleet:
    """Independent models of one kind in one block of memory, one for each key.

    Every model gives the same predictions and ends with the same weights, bit for bit, as a learner of its own that is given
    the rows of its key. What a model of a fleet does not have is the tracker behind ``predict_interval``.

    Args:
        learner: says the kind and the parameters. It is not changed. Any linear learner of first or second order.
        n: how many models there are at most; None for as many as keys come. Memory is taken as keys are met.
        named: False where keys are the whole numbers 0 to n - 1. True where they are anything hashable: each new key that is
            learned gets the next free model, and a key beyond the n-th is refused.
        jobs: threads, among which the keys are divided; None for as many as there are cores, and never more.

    >>> import numpy as np
    >>> import driftline as dl
    >>> fleet = dl.Fleet(dl.RLS(forgetting=0.99), 1000)
    >>> rng = np.random.default_rng(0)
    >>> keys, X = rng.integers(0, 1000, 50_000), rng.standard_normal((50_000, 2))
    >>> run = fleet.run(keys, X, X[:, 0] * (keys % 7))
    >>> round(float(fleet[5].coef_[0]), 1)
    4.9
    """

    __iter__ = None  # keys_ lists the keys

    def __init__(self, learner: Learner, n: int | None = None, *, named: bool = False, jobs: int | None = None) -> None:
        fleet_core.require_fixed_size(learner)
        self._learner = learner.clone()
        self._n = COUNT.or_none().require("Fleet", "n", n)
        self._named = BOOLEAN.require("Fleet", "named", named)
        self._jobs = COUNT.or_none().require("Fleet", "jobs", jobs)
        self._begin(None, None, None)

    def _begin(
        self, core: Any, schedules: Any, names: list[Name] | None, keys: list[Key] | None = None, met: int = 0
    ) -> None:
        self._core, self._schedules, self._names = core, schedules, names
        self._keys: Numbers | Names = Names(self._n, keys or ()) if self._named else Numbers(self._n, met)
        self._guard = Guard("Fleet")
        self._unwatched, self._warned = 0, False

    # The verbs.

    def run(self, keys: Any, X: Any, y: Any, *, sample_weight: Any = None) -> Run:
        """Predicts, then learns, row by row in the order given, each with the model of its key.

        All rows are learned, or, where an error is raised, none. An interrupt is heeded after about 0.1 s. Learners that may
        refuse a row are then as they were before the call. Of the others the rows so far stay learned, and a note on the
        KeyboardInterrupt says how many.

        Args:
            keys: (T,) the key of each row.
            X: (T, d) array or frame.
            y: (T,) labels.
            sample_weight: (T,) weights of the rows; a row of weight 0 is predicted and not learned.
        """
        where = "Fleet.run"
        with self._guard.claim(only=True):
            table = inputs.as_table(X, where)
            labels = inputs.as_vector(y, table.rows, where, "y")
            call = self._learn(keys, table, labels, inputs.as_weights(sample_weight, table.rows, where), where)
        with np.errstate(over="ignore"):
            errors = labels - call.predictions
        return Run(call.predictions, errors, resets=np.flatnonzero(call.marks), skipped=call.skipped)

    def learn_many(self, keys: Any, X: Any, y: Any, *, sample_weight: Any = None) -> None:
        """Learns the rows in the order given, each with the model of its key; all of them, or none, as :meth:`run` does."""
        where = "Fleet.learn_many"
        with self._guard.claim(only=True):
            table = inputs.as_table(X, where)
            labels = inputs.as_vector(y, table.rows, where, "y")
            self._learn(keys, table, labels, inputs.as_weights(sample_weight, table.rows, where), where)

    def learn_one(self, key: Any, x: Any, y: Any, *, sample_weight: float | None = None) -> None:
        """Learns one row of one key: an array-like, or a mapping feature name -> number, of which a missing one is 0.

        The first row of all decides which features there are.
        """
        where = "Fleet.learn_one"
        with self._guard.claim(only=True):
            table = self._one_row(x, where, grow=True)
            label = np.array([inputs.as_label(y, where)])
            self._learn([key], table, label, inputs.as_weights(sample_weight, 1, where, number=False), where, one=True)

    def predict_many(self, keys: Any, X: Any) -> Array:
        """Predictions, each by the model of its key. A key that was never learned is predicted by a model at its start."""
        where = "Fleet.predict_many"
        with self._guard.claim(only=True):
            return self._predict(keys, inputs.as_table(X, where), where)

    def predict_one(self, key: Any, x: Any) -> float:
        """The prediction for one row of one key: an array-like, or a mapping, of which unknown names are ignored."""
        where = "Fleet.predict_one"
        with self._guard.claim(only=True):
            return float(self._predict([key], self._one_row(x, where, grow=False), where, one=True)[0])

    def _predict(self, keys: Any, table: Table, where: str, one: bool = False) -> Array:
        slots = self._keys.predicted(keys, table.rows, where, one)
        core, schedules, _ = self._fitting(table, where)
        self._make_room(core, int(slots.max()) + 1, where)
        call = Call(where, slots, self._block(core, table, None, where, one), jobs=self._jobs, one=one)
        call.replay(core, schedules, self._learner, self._model, lambda slot: self._keys.key(slot, {}))
        return call.predictions

    def _learn(self, keys: Any, table: Table, labels: Array, weight: Array | None, where: str, one: bool = False) -> Call:
        slots, fresh = self._keys.learned(keys, table.rows, where, one)
        core, schedules, names = self._fitting(table, where)
        width = core.features + self._learner.intercept
        if self._core is None and (words := stability.risk_of_memory(self._learner, width)):
            stability.issue(words)
        call = Call(where, slots, self._block(core, table, labels, where, one), labels, weight, self._jobs, one)
        self._make_room(core, int(slots.max()) + 1, where)
        try:
            call.replay(core, schedules, self._learner, self._model, lambda slot: self._keys.key(slot, fresh))
            self._watch(core, table.rows, fresh)
            core.accept()
            self._settle(core, schedules, names, fresh, slots)
        except BaseException as error:
            if not core.undo() and call.done:
                self._settle(core, schedules, names, fresh, slots[: call.done])
                error.add_note(f"{where}: {call.done} of {table.rows} rows were learned")
            raise
        return call

    def _watch(self, core: Any, rows: int, fresh: dict[Key, int]) -> None:
        """Warns, once, of predictions that left the range of the labels: looks at all models once in 4 rows for each."""
        self._unwatched += rows
        if self._warned or self._unwatched < 4 * len(self):
            return
        self._unwatched = 0
        sums = dict(zip(self._learner._sum_names, core.state_part("sums").T, strict=True))
        if not len(sums["rows"]):
            return
        with np.errstate(divide="ignore", invalid="ignore"):
            worst = np.argmax(np.nan_to_num(np.sqrt(sums["largest_loss"]) / sums["largest_label"]))
        for place in (worst, np.argmax(sums["loss"])):
            if words := stability.far(self._learner, {name: float(values[place]) for name, values in sums.items()}):
                key = self._keys.key(int(core.state_part("slots")[place]), fresh)
                self._warned = True
                stability.issue(f"Fleet: the model of the key {key!r}: {words}")
                return

    def _settle(self, core: Any, schedules: Any, names: list[Name] | None, fresh: dict[Key, int], slots: Array) -> None:
        """Takes over what was learned from rows in these slots. Doing it twice is doing it once."""
        self._core, self._schedules, self._names = core, schedules, names
        self._keys.accept(fresh, slots)

    @property
    def _door(self) -> Door:
        features = None if self._core is None else self._core.features
        return Door("Fleet", features, self._names, self._learner.dtype)

    def _fitting(self, table: Table, where: str) -> tuple[Any, Any, list[Name] | None]:
        """A core, its schedules and its names, for rows like these."""
        if self._core is None:
            return *self._make_core(table.columns, where), table.names
        self._door.check(table, where)
        return self._core, self._schedules, self._names

    def _block(self, core: Any, table: Table, y: Array | None, where: str, one: bool) -> Array:
        """All rows at once; what no model takes is refused before any of them learns."""
        block = table.block(0, table.rows)
        if self._learner.missing == "raise":
            bad = core.find_bad_row(block, y)
            if bad >= 0:
                row = None if one else bad
                self._door.refuse_row(block[bad], None if y is None else y[bad], where, row, table.names)
        return block

    def _one_row(self, x: Any, where: str, grow: bool) -> Table:
        row, names = self._door.read(x, where, grow=grow)
        if self._core is not None and len(row) > self._core.features:
            new = (names or [])[self._core.features]
            raise ValueError(f"{where}: the feature {new!r} is new; the features of a fleet are those of its first row")
        return Table(row[None, :], 1, row.size, names, where)

    def _make_core(self, columns: int, where: str) -> tuple[Any, Any]:
        """There is one slot more than models where keys may come that have none: they are predicted from it."""
        models, spare = (FIRST_ROOM, True) if self._n is None else (self._n, self._named)
        with _memory(models, columns, where):
            return fleet_core.make_core(self._learner, models + spare, columns + self._learner.intercept)

    def _make_room(self, core: Any, models: int, where: str) -> None:
        if self._n is None:
            with _memory(models, core.features, where):
                core.reserve(models + 1)

    # What was learned.

    def __len__(self) -> int:
        """How many models there are: n where keys are numbers below it, else as many as keys were learned."""
        return self._keys.count

    def __contains__(self, key: Any) -> bool:
        """Whether there is a model of this key."""
        return self._keys.find(key) is not None

    @property
    def learner(self) -> Learner:
        """A learner with the parameters of the models, that has learned nothing."""
        return self._learner.clone()

    @property
    def keys_(self) -> list[Key]:
        """The keys in the order of the models: the numbers from 0 on, or the names that were learned so far."""
        return self._keys.listed

    def __getitem__(self, key: Any) -> Learner:
        """A copy of the model of one key, as a learner of the usual kind."""
        with self._guard.claim(only=True):
            slot = self._keys.find(key)
            if slot is None:
                raise KeyError(f"Fleet: {self._keys.unknown(key)}")
            if self._core is None:
                return self._learner.clone()
            model = self._model(self._core, slot)
            if model.n_seen_ > 0:
                return model
            fresh = self._learner.clone()
            fresh._skipped = model.n_skipped_
            return fresh

    def _model(self, core: Any, slot: int) -> Learner:
        state, skipped = core.model_state(slot)
        learner = self._learner
        model = learner.clone()
        kept = {name: getattr(learner, name) for name in learner._kept}
        model.__setstate__(
            {
                "params": learner.get_params(deep=False),
                "core": state,
                "kept": kept,
                "names": self._names,
                "skipped": skipped,
            }
        )
        return model

    def _require_core(self, what: str) -> Any:
        if self._core is None:
            raise not_fitted(f"Fleet.{what}: the fleet has seen no row")
        return self._core

    @property
    def coef_(self) -> Array:
        """The weights of every model, (models, d), in the order of ``keys_``, the intercepts' not included."""
        core = self._require_core("coef_")
        with self._guard.claim(only=True):
            weights: Array = core.weights(len(self))
        return weights[:, : core.features]

    @property
    def intercept_(self) -> Array:
        """The intercepts of every model, in the order of ``keys_``."""
        core = self._require_core("intercept_")
        with self._guard.claim(only=True):
            weights = core.weights(len(self))
        return weights[:, -1] if self._learner.intercept else np.zeros(len(weights))

    @property
    def n_seen_(self) -> Array:
        """How many rows each model has learned, in the order of ``keys_``."""
        return self._counts("n_seen_", 0)

    @property
    def n_skipped_(self) -> Array:
        """How many rows of each model were skipped because a value was missing, in the order of ``keys_``."""
        return self._counts("n_skipped_", 1)

    def _counts(self, what: str, place: int) -> Array:
        if self._core is None:
            return np.zeros(len(self), dtype=np.int64)
        with self._guard.claim(only=True):
            counts: Array = self._core.counts(len(self))[place]
        return counts

    @property
    def n_features_in_(self) -> int:
        """The number of features, the constant one not counted."""
        return int(self._require_core("n_features_in_").features)

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, where they have any."""
        self._require_core("feature_names_in_")
        if self._names is None:
            raise AttributeError("Fleet: the features have no names")
        return as_objects(self._names)

    @property
    def nbytes(self) -> int:
        """Memory that the models take once all n keys are met, or, without n, for those so far; 0 before the first row."""
        return 0 if self._core is None else self._core.slot_bytes * (self._n or len(self))

    # Keeping and copying.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all models to one file, atomically; :func:`driftline.load` reads it back."""
        with self._guard.claim(only=True):
            model_file.save(record.of(self), path)

    def __getstate__(self) -> dict[str, Any]:
        with self._guard.claim(only=True):
            state = self._state()
            parts = state["core"]
            return state if parts is None else {**state, "core": {name: parts[name] for name in parts}}

    def _state(self) -> dict[str, Any]:
        """All that a copy needs, for as long as nothing changes; the arrays of the core are made when they are asked for."""
        return {
            "learner": self._learner,
            "n": self._n,
            "named": self._named,
            "jobs": self._jobs,
            "names": self._names,
            "keys": self._keys.listed if self._named else None,
            "core": None if self._core is None else fleet_core.Parts(self._core),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["learner"], state["n"], named=state["named"], jobs=state["jobs"])  # type: ignore[misc]
        core, schedules, met = None, None, 0
        if state["core"] is not None:
            core, schedules = self._make_core(state["core"]["weights"].shape[1] - self._learner.intercept, "Fleet")
            met = int(state["core"]["slots"].max(initial=-1)) + 1
            self._make_room(core, met, "Fleet")
            core.fill(state["core"])
            if self._named and met > len(state["keys"]):
                raise ValueError("the state has models without a key")
        self._begin(core, schedules, state["names"], state["keys"], met)

    def __repr__(self) -> str:
        models = "" if self._n is None else f", {self._n}"
        named = ", named=True" if self._named else ""
        return f"Fleet({self._learner!r}{models}{named})"


@contextmanager
def _memory(models: int, columns: int, where: str) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise MemoryError(
            f"{where}: the system has no memory for {models:,} models of {columns} features; without n and with named=True "
            "a fleet takes memory for the keys that come, whatever they are"
        ) from None


def _read(saved: model_file.Record) -> Fleet:
    fleet = Fleet.__new__(Fleet)
    fleet.__setstate__(record.state_in(saved))
    return fleet


model_file.register("fleet", _read)
