"""Many models of one kind, one for each key."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from driftline._core import Guard
from driftline.base import levels
from driftline.base.learner import Learner
from driftline.base.model import as_objects
from driftline.base.rules import BOOLEAN, COUNT
from driftline.errors import not_fitted
from driftline.fleet import parts, record
from driftline.fleet.call import Answer, CallRows
from driftline.fleet.core import has_fixed_size
from driftline.fleet.keys import Names, Numbers
from driftline.fleet.names import Key
from driftline.fleet.packed import Options, Packed
from driftline.fleet.run import FleetRun
from driftline.fleet.separate import Separate
from driftline.storage import model_file
from driftline.tables import inputs
from driftline.tables.inputs import Array


class Fleet:
    """Independent models of one kind, one for each key.

    Every model gives the same predictions and ends with the same weights, bit for bit, as a learner of its own that is given
    the rows of its key. Linear learners of first or second order lie in one block of memory and learn in native code. Any
    other learner is kept as it is.

    Args:
        learner: says the kind and the parameters. It is not changed.
        n: how many models there are at most; None for as many as keys come. Memory is taken as keys are met.
        named: False where keys are the whole numbers 0 to n - 1. True where they are anything hashable: each new key that is
            learned gets the next free model, and a key beyond the n-th is refused.
        jobs: threads, among which the keys are divided; None for as many as there are cores, and never more.
        alarms: keep an alarm for each key from call to call, 4 kB a key. Without, ``run(...).alarms`` begin with the run.
        intervals: keep the intervals' trackers from call to call, less than 1 kB a key; :meth:`predict_intervals` needs
            them. Without, those of ``run(..., level=)`` begin with the run. Learners without a fixed size always keep them.

    >>> import numpy as np
    >>> import driftline as dl
    >>> fleet = dl.Fleet(dl.RLS(forgetting=0.99), 1000)
    >>> rng = np.random.default_rng(0)
    >>> keys, X = rng.integers(0, 1000, 50_000), rng.standard_normal((50_000, 2))
    >>> run = fleet.run(keys, X, X[:, 0] * (keys % 7))
    >>> round(float(fleet[5].coef_[0]), 1)
    4.9
    """

    __iter__ = None  # use keys_ to list the keys

    def __init__(
        self,
        learner: Learner,
        n: int | None = None,
        *,
        named: bool = False,
        jobs: int | None = None,
        alarms: bool = False,
        intervals: bool = False,
    ) -> None:
        if not isinstance(learner, Learner):
            raise TypeError(f"Fleet: learner must be a driftline learner, got {learner!r}")
        self._learner = learner.clone()
        self._options = Options(
            n=COUNT.or_none().require("Fleet", "n", n),
            named=BOOLEAN.require("Fleet", "named", named),
            jobs=COUNT.or_none().require("Fleet", "jobs", jobs),
            alarms=BOOLEAN.require("Fleet", "alarms", alarms),
            intervals=BOOLEAN.require("Fleet", "intervals", intervals),
        )
        if intervals and learner._estimator_type == "classifier":
            raise ValueError("Fleet: intervals are for regressors: there is none around a class")
        self._models: Packed | Separate = (Packed if has_fixed_size(learner) else Separate)(self._learner, self._options)
        self._keys: Numbers | Names = Names(n) if named else Numbers(n)
        self._guard = Guard("Fleet")

    # Learning and predicting.

    def run(self, keys: Any, X: Any, y: Any, *, sample_weight: Any = None, level: float | None = None) -> FleetRun:
        """Predicts, then learns, row by row in the order given, each with the model of its key.

        All rows are learned, or, where an error is raised, none. An interrupt is heeded after about 0.1 s. Linear learners
        that cannot refuse a row then keep the rows so far, and a note on the KeyboardInterrupt says how many. All others
        are as they were before the call.

        Args:
            keys: (T,) the key of each row.
            X: (T, d) array or frame.
            y: (T,) labels.
            sample_weight: (T,) weights of the rows; a row of weight 0 is predicted and not learned.
            level: keep the ends of the intervals that contain the label with this probability.
        """
        with self._guard.claim(only=True):
            slots, answer = self._learn_many(keys, X, y, sample_weight, "Fleet.run", level)
        assert answer.errors is not None
        return FleetRun(
            answer.predictions,
            answer.errors,
            answer.lower,
            answer.upper,
            resets=answer.resets,
            skipped=answer.skipped,
            level=None if level is None else float(level),
            slots=slots,
            jobs=self._options.jobs,
            raised=answer.alarms,
        )

    def learn_many(self, keys: Any, X: Any, y: Any, *, sample_weight: Any = None) -> None:
        """Learns the rows in the order given, each with the model of its key; all of them, or none, as :meth:`run` does."""
        with self._guard.claim(only=True):
            self._learn_many(keys, X, y, sample_weight, "Fleet.learn_many", None)

    def learn_one(self, key: Any, x: Any, y: Any, *, sample_weight: float | None = None) -> None:
        """Learns one row of one key: an array-like, or a mapping feature name -> number, of which a missing one is 0.

        The first row of all decides which features there are, where the learner's state has a fixed size.
        """
        where, models = "Fleet.learn_one", self._models
        with self._guard.claim(only=True):
            table = models.one_row(x, where, grow=True)
            slots, fresh = self._keys.learned([key], 1, where, one=True)
            weight = inputs.as_weights(sample_weight, 1, where, number=False)
            label = models.label(y, where)
            self._learn(CallRows(where, table, slots, self._key_of(fresh), label, weight, None, len(self), True, x), fresh)

    def _learn_many(
        self, keys: Any, X: Any, y: Any, sample_weight: Any, where: str, level: float | None
    ) -> tuple[Array, Answer]:
        if level is not None:
            levels.as_level(level, where)
        table = self._models.table(X, where)
        labels = self._models.labels(y, table.rows, where)
        weight = inputs.as_weights(sample_weight, table.rows, where)
        slots, fresh = self._keys.learned(keys, table.rows, where)
        rows = CallRows(where, table, slots, self._key_of(fresh), labels, weight, level, len(self), source=X)
        return slots, self._learn(rows, fresh)

    def _learn(self, rows: CallRows, fresh: dict[Key, int]) -> Answer:
        return self._models.learn(rows, lambda count: self._keys.accept(fresh, rows.slots[:count]))

    def predict_many(self, keys: Any, X: Any) -> Array:
        """Predictions, each by the model of its key. A key that was never learned is predicted by a model at its start."""
        with self._guard.claim(only=True):
            return self._predict_many(keys, X, "Fleet.predict_many").predictions

    def predict_intervals(self, keys: Any, X: Any, level: float = 0.9) -> tuple[Array, Array]:
        """The ends of intervals that contain the label with this probability, (lower, upper), each by the model of its key.

        Infinite where a key has too few labels for the level.
        """
        where = "Fleet.predict_intervals"
        levels.as_level(level, where)
        if isinstance(self._models, Packed) and not self._options.intervals:
            raise ValueError(f"{where}: the fleet keeps no intervals; make it with intervals=True")
        with self._guard.claim(only=True):
            answer = self._predict_many(keys, X, where, level)
        assert answer.lower is not None
        assert answer.upper is not None
        return answer.lower, answer.upper

    def predict_one(self, key: Any, x: Any) -> Any:
        """The prediction for one row of one key: an array-like, or a mapping, of which unknown names are ignored."""
        where = "Fleet.predict_one"
        with self._guard.claim(only=True):
            table = self._models.one_row(x, where, grow=False)
            slots = self._keys.predicted([key], 1, where, one=True)
            rows = CallRows(where, table, slots, self._key_of({}), one=True, source=x)
            said = self._models.predict(rows).predictions[0]
        return float(said) if isinstance(said, np.floating) else said

    def _predict_many(self, keys: Any, X: Any, where: str, level: float | None = None) -> Answer:
        table = self._models.table(X, where)
        slots = self._keys.predicted(keys, table.rows, where)
        return self._models.predict(CallRows(where, table, slots, self._key_of({}), level=level, source=X))

    def _key_of(self, fresh: dict[Key, int]) -> Any:
        return lambda slot: self._keys.key(slot, fresh)

    # Fitted attributes.

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
            return self._models.model(self._slot(key))

    def _slot(self, key: Any) -> int:
        slot = self._keys.find(key)
        if slot is None:
            raise KeyError(f"Fleet: {self._keys.unknown(key)}")
        return slot

    def summary(self) -> dict[str, Array]:
        """What became of each key, as columns in the order of ``keys_``; any frame library makes a table of them.

        - ``key``, and ``rows`` that were learned
        - ``mse``: the mean of their squared errors, for classes the share of mistakes; NaN before the first row
        - ``coverage``: the share of labels inside the intervals of ``run(..., level=)``, where these were finite; NaN where
          there were none, or where they are not kept
        - ``memory`` in bytes
        - ``alarms``: how often the alarm went off, -1 where they are not kept; ``last_alarm``: the row that raised the last
          of them, counted from 0 among the rows of its key, -1 where none did
        """
        with self._guard.claim(only=True):
            table = self._models.summary(len(self))
        rows, loss, judged, inside, alarms, last, memory = table.T
        with np.errstate(divide="ignore", invalid="ignore"):
            mse, coverage = loss / rows, np.where(judged > 0, inside / judged, np.nan)
        counts = {"alarms": alarms, "last_alarm": last}
        return {
            "key": as_objects(self.keys_) if self._options.named else np.arange(len(self)),
            "rows": rows.astype(np.int64),
            "mse": mse,
            "coverage": coverage,
            "memory": memory.astype(np.int64),
            **{name: column.astype(np.int64) for name, column in counts.items()},
        }

    def drop(self, keys: Iterable[Any]) -> None:
        """Lets the models of these keys go, all or none, with all that was kept for them.

        Names are forgotten, and their memory goes back to the system. Numbers stay, with models at their start.
        """
        with self._guard.claim(only=True):
            slots = np.unique(np.array([self._slot(key) for key in keys], dtype=np.int64))
            done = np.zeros(1, dtype=np.int64)
            if self._options.named:
                names = Names(self._options.n, self._keys.listed)
                names.drop(slots)
                try:
                    self._models.drop(slots, len(self), True, done)
                    self._keys = names
                except BaseException:  # an interrupt
                    self._keys = names if done[0] else self._keys
                    raise
            else:
                self._models.drop(slots, len(self), False, done)

    def _core(self, what: str) -> Any:
        if isinstance(self._models, Separate):
            name = type(self._learner).__name__
            raise AttributeError(f"Fleet.{what}: models of {name} have no common weights; fleet[key] is one of them")
        if self._models.core is None:
            raise not_fitted(f"Fleet.{what}: the fleet has seen no row")
        return self._models.core

    @property
    def coef_(self) -> Array:
        """The weights of every model, (models, d), in the order of ``keys_``, the intercepts' not included."""
        core = self._core("coef_")
        with self._guard.claim(only=True):
            weights: Array = core.weights(len(self))
        return weights[:, : core.features]

    @property
    def intercept_(self) -> Array:
        """The intercepts of every model, in the order of ``keys_``."""
        core = self._core("intercept_")
        with self._guard.claim(only=True):
            weights = core.weights(len(self))
        return weights[:, -1] if self._learner.intercept else np.zeros(len(weights))

    @property
    def n_seen_(self) -> Array:
        """How many rows each model has learned, in the order of ``keys_``."""
        with self._guard.claim(only=True):
            return self._models.counts(len(self))[0]

    @property
    def n_skipped_(self) -> Array:
        """How many rows of each model were skipped because a value was missing, in the order of ``keys_``."""
        with self._guard.claim(only=True):
            return self._models.counts(len(self))[1]

    @property
    def n_features_in_(self) -> int:
        """The number of features, the constant one not counted."""
        return int(self._core("n_features_in_").features)

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, where they have any."""
        self._core("feature_names_in_")
        assert isinstance(self._models, Packed)
        if self._models.names is None:
            raise AttributeError("Fleet: the features have no names")
        return as_objects(self._models.names)

    @property
    def nbytes(self) -> int:
        """Memory that the models take once all n keys are met, or, without n, for those so far; 0 before the first row."""
        if isinstance(self._models, Separate):
            return sum(entry.nbytes for entry in self._models.entries.values())
        core = self._models.core
        return 0 if core is None else core.slot_bytes * (self._options.n or len(self))

    # Saving and copying.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all models to one file, atomically; :func:`driftline.load` reads it back."""
        with self._guard.claim(only=True):
            model_file.save(self._record(), path)

    def to_bytes(self) -> bytes:
        """What :meth:`save` would write; :func:`driftline.from_bytes` reads it back."""
        with self._guard.claim(only=True):
            return model_file.to_bytes(self._record())

    def _record(self) -> model_file.Record:
        return record.of(self._state())

    def split(self, n: int) -> list[Fleet]:
        """As many fleets, each with the keys of which a hash has the same remainder; :meth:`merge` undoes it.

        The hash is the same on every machine and in every process. Together the parts take as much memory as the fleet where
        keys are names, and each of them as much where they are numbers.
        """
        COUNT.require("Fleet.split", "n", n)
        with self._guard.claim(only=True):
            return [_made(state) for state in parts.split(self._state(), n)]

    @staticmethod
    def merge(fleets: Iterable[Fleet]) -> Fleet:
        """One fleet with the keys of several, which must be of one kind and have no key in common."""
        fleets = list(fleets)
        if not fleets or not all(isinstance(fleet, Fleet) for fleet in fleets):
            raise TypeError("Fleet.merge: expected one fleet or more")
        return _made(parts.merged([fleet.__getstate__() for fleet in fleets]))

    def __getstate__(self) -> dict[str, Any]:
        with self._guard.claim(only=True):
            state = self._state()
            core = state["core"]
            return state if core is None else {**state, "core": {name: core[name] for name in core}}

    def _state(self) -> dict[str, Any]:
        """Everything a copy needs, valid until the fleet changes. The core's arrays are created on access."""
        names, core = self._models.state()
        return {
            "learner": self._learner,
            **vars(self._options),
            "names": names,
            "keys": self._keys.listed if self._options.named else None,
            "core": core,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["learner"], **{name: state[name] for name in vars(Options())})  # type: ignore[misc]
        reach = self._models.fill(state["names"], state["core"])
        n, named = self._options.n, self._options.named
        if named and reach > len(state["keys"]):
            raise ValueError("the state has models without a key")
        self._keys = Names(n, state["keys"]) if named else Numbers(n, reach)

    def __repr__(self) -> str:
        options = self._options
        models = "" if options.n is None else f", {options.n}"
        flags = "".join(f", {name}=True" for name in ("named", "alarms", "intervals") if getattr(options, name))
        return f"Fleet({self._learner!r}{models}{flags})"


def _made(state: dict[str, Any]) -> Fleet:
    fleet = Fleet.__new__(Fleet)
    fleet.__setstate__(state)
    return fleet


model_file.register("fleet", lambda saved: _made(record.state_in(saved)))
