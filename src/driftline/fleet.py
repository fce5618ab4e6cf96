"""Many models of one kind, one for each key."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from driftline import fleet_core, inputs
from driftline.base import Learner
from driftline.errors import not_fitted
from driftline.fleet_keys import Key, Names, Numbers
from driftline.inputs import Array, Name, Table
from driftline.refusals import Target
from driftline.replays import DONE
from driftline.results import Run
from driftline.sklearn_compat import name_trouble

ROWS_FOR_A_THREAD = 4096  # with fewer, starting a thread costs more than it saves


class Fleet:
    """Independent models of one kind in one block of memory, one for each key.

    Every model gives the same predictions and ends with the same weights, bit for bit, as a learner of its own that is given
    the rows of its key. What a model of a fleet does not have is the tracker behind ``predict_interval``.

    Args:
        learner: says the kind and the parameters. It is not changed. Any linear learner of first or second order.
        n: how many models there are. Memory is taken as keys are met.
        named: False where keys are the whole numbers 0 to n - 1. True where they are anything hashable: each new key that is
            learned gets the next free model, and a key beyond the n-th is refused.
        jobs: threads, among which the keys are divided; None for as many as there are cores.

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

    def __init__(self, learner: Learner, n: int, *, named: bool = False, jobs: int | None = None) -> None:
        fleet_core.require_fixed_size(learner)
        self._learner = learner.clone()
        self._n = _whole("n", n)
        if not isinstance(named, bool):
            raise ValueError(f"Fleet: named must be True or False, got {named!r}")
        self._named = named
        self._jobs = None if jobs is None else _whole("jobs", jobs)
        self._begin(None, None, None)

    def _begin(self, core: Any, schedules: Any, names: list[Name] | None, keys: list[Key] | None = None) -> None:
        self._core, self._schedules, self._names = core, schedules, names
        self._keys: Numbers | Names = Names(self._n, keys or ()) if self._named else Numbers(self._n)
        self._lock = threading.Lock()

    # The verbs.

    def run(self, keys: Any, X: Any, y: Any, *, sample_weight: Any = None) -> Run:
        """Predicts, then learns, row by row in the order given, each with the model of its key.

        All rows are learned, or, where an error is raised, none.

        Args:
            keys: (T,) the key of each row.
            X: (T, d) array or frame.
            y: (T,) labels.
            sample_weight: (T,) weights of the rows; a row of weight 0 is predicted and not learned.
        """
        return self._learn(keys, X, y, sample_weight, "Fleet.run")

    def learn_many(self, keys: Any, X: Any, y: Any, *, sample_weight: Any = None) -> None:
        """Learns the rows in the order given, each with the model of its key; all of them, or none."""
        self._learn(keys, X, y, sample_weight, "Fleet.learn_many")

    def predict_many(self, keys: Any, X: Any) -> Array:
        """Predictions, each by the model of its key. A key that was never learned is predicted by a model at its start."""
        where = "Fleet.predict_many"
        with self._in_use(where):
            table = inputs.as_table(X, where)
            slots = self._keys.predicted(keys, table.rows, where)
            core, schedules = self._core, self._schedules
            if core is None:
                core, schedules = self._make_core(table.columns)
            else:
                self._check_table(table, where)
            block = self._block(core, table, None, where)
            target = Target(where, names=table.names, predictions=np.empty(table.rows))
            self._replay(core, schedules, slots, block, None, None, target, ())
            return target.predictions

    def _learn(self, keys: Any, X: Any, y: Any, sample_weight: Any, where: str) -> Run:
        with self._in_use(where):
            table = inputs.as_table(X, where)
            labels = inputs.as_vector(y, table.rows, where, "y")
            weight = inputs.as_weights(sample_weight, table.rows, where)
            slots, fresh = self._keys.learned(keys, table.rows, where)
            core, schedules, names = self._core, self._schedules, self._names
            if core is None:
                (core, schedules), names = self._make_core(table.columns), table.names
            else:
                self._check_table(table, where)
            block = self._block(core, table, labels, where)
            target = Target(where, names=table.names, predictions=np.empty(table.rows))
            try:
                marks, skipped = self._replay(core, schedules, slots, block, labels, weight, target, fresh)
            except BaseException:
                if core.undo():
                    raise
                self._settle(core, schedules, names, fresh)  # interrupted when all was learned
                raise
            core.accept()
            self._settle(core, schedules, names, fresh)
        with np.errstate(over="ignore"):
            errors = labels - target.predictions
        return Run(predictions=target.predictions, errors=errors, resets=np.flatnonzero(marks), skipped=skipped)

    def _settle(self, core: Any, schedules: Any, names: list[Name] | None, fresh: list[Key]) -> None:
        self._core, self._schedules, self._names = core, schedules, names
        self._keys.accept(fresh)

    def _replay(
        self,
        core: Any,
        schedules: Any,
        slots: Array,
        block: Array,
        y: Array | None,
        weight: Array | None,
        target: Target,
        fresh: Sequence[Key],
    ) -> tuple[Array, int]:
        marks = np.zeros(len(block), dtype=np.uint8)
        at = np.zeros(self._threads(len(block)), dtype=np.int64)
        skipped = 0
        while True:
            status, lost = core.run(slots, block, y, weight, self._learner.missing == "skip", target.predictions, marks, at)
            skipped += int(lost)
            if status == DONE:
                return marks, skipped
            row = int(at.min())
            slot = int(slots[row])
            model = self._model(core, slot)
            if status in (fleet_core.NEEDS_FORGETTING, fleet_core.NEEDS_THRESHOLD):
                schedules.serve(core, status, model._sums(), int(np.count_nonzero(slots[row:] == slot)))
            else:
                key = [*self._keys.listed, *fresh][slot]
                model._serve(status, f"{target.where}, key {key!r}", row, block[row:])

    def _threads(self, rows: int) -> int:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, min(self._jobs or cores, rows // ROWS_FOR_A_THREAD))

    def _block(self, core: Any, table: Table, y: Array | None, where: str) -> Array:
        """All rows at once; what no model takes is refused before any of them learns."""
        block = table.block(0, table.rows)
        if self._learner.missing == "raise":
            bad = core.find_bad_row(block, y)
            if bad >= 0:
                target = Target(where, names=table.names or self._names, predictions=np.empty(0))
                self._learner._refuse_bad_row(block[bad], None if y is None else y[bad], target, bad)
        return block

    def _check_table(self, table: Table, where: str) -> None:
        if table.names is not None and self._names is not None and table.names != self._names:
            raise ValueError(name_trouble(where, self._names, table.names))
        if table.columns != self._core.features:
            raise ValueError(f"{where}: X has {table.columns} features, expected {self._core.features}")

    def _make_core(self, columns: int) -> tuple[Any, Any]:
        """There is one slot more than models where keys are names: unknown ones are predicted from it."""
        return fleet_core.make_core(self._learner, self._n + self._named, columns + self._learner.intercept)

    @contextmanager
    def _in_use(self, where: str) -> Iterator[None]:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(f"{where}: the fleet is in use by another thread; its own threads share the keys of a call")
        try:
            yield
        finally:
            self._lock.release()

    # What was learned.

    def __len__(self) -> int:
        return self._n

    @property
    def learner(self) -> Learner:
        """A learner with the parameters of the models, that has learned nothing."""
        return self._learner.clone()

    @property
    def keys_(self) -> list[Key]:
        """The keys in the order of the models: 0 to n - 1, or the names that were learned so far."""
        return self._keys.listed

    def __getitem__(self, key: Any) -> Learner:
        """A copy of the model of one key, as a learner of the usual kind."""
        with self._in_use("Fleet"):
            try:
                slot = self._keys.find(key, "Fleet")
            except ValueError as error:
                raise KeyError(str(error)) from None
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
        """The weights of every model, (n, d), the intercepts' not included."""
        core = self._require_core("coef_")
        with self._in_use("Fleet.coef_"):
            return core.weights()[: self._n, : core.features]  # type: ignore[no-any-return]

    @property
    def intercept_(self) -> Array:
        """The intercepts of every model, (n,)."""
        core = self._require_core("intercept_")
        with self._in_use("Fleet.intercept_"):
            weights = core.weights()[: self._n]
        return weights[:, -1] if self._learner.intercept else np.zeros(self._n)

    @property
    def n_seen_(self) -> Array:
        """How many rows each model has learned, (n,)."""
        return self._counts("n_seen_", 0)

    @property
    def n_skipped_(self) -> Array:
        """How many rows of each model were skipped because a value was missing, (n,)."""
        return self._counts("n_skipped_", 1)

    def _counts(self, what: str, place: int) -> Array:
        if self._core is None:
            return np.zeros(self._n, dtype=np.int64)
        with self._in_use(f"Fleet.{what}"):
            return self._core.counts()[place][: self._n]  # type: ignore[no-any-return]

    @property
    def n_features_in_(self) -> int:
        """The number of features, the constant one not counted."""
        return int(self._require_core("n_features_in_").features)

    @property
    def nbytes(self) -> int:
        """Memory that the models take once all keys are met; 0 before the first row tells the number of features."""
        return 0 if self._core is None else self._core.slot_bytes * (self._n + self._named)

    # Keeping and copying.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all models to one file, atomically; :func:`driftline.load` reads it back."""
        from driftline import fleet_file

        fleet_file.save(self, path)

    def __getstate__(self) -> dict[str, Any]:
        with self._in_use("Fleet"):
            return {
                "learner": self._learner,
                "n": self._n,
                "named": self._named,
                "jobs": self._jobs,
                "names": self._names,
                "keys": self._keys.listed if self._named else None,
                "core": None if self._core is None else self._core.get_state(),
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["learner"], state["n"], named=state["named"], jobs=state["jobs"])  # type: ignore[misc]
        core = schedules = None
        if state["core"] is not None:
            weights = state["core"]["weights"]
            core, schedules = self._make_core(weights.shape[1] - self._learner.intercept)
            core.fill(state["core"])
            if self._named and not state["core"]["slots"].max(initial=-1) < len(state["keys"]):
                raise ValueError("the state has models without a key")
        self._begin(core, schedules, state["names"], state["keys"])

    def __repr__(self) -> str:
        named = ", named=True" if self._named else ""
        return f"Fleet({self._learner!r}, {self._n}{named})"


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"Fleet: {name} must be a whole number of at least 1, got {value!r}")
    return int(value)
