"""A fleet: one model for each key."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from driftline import extensions
from driftline._core import Guard
from driftline.base.learner import Learner
from driftline.base.levels import NO_SPREAD, QUANTILES, Levels, Spread, as_spread, of_levels
from driftline.base.model import as_objects
from driftline.base.rules import BOOLEAN, COUNT
from driftline.base.ticket import ByColumns, mark_of
from driftline.errors import not_fitted
from driftline.fleet import parts, state, summary
from driftline.fleet.call import Answer, Call, of_key
from driftline.fleet.core import has_fixed_size
from driftline.fleet.keys import Names, Numbers, are_numbers
from driftline.fleet.names import Key, as_key
from driftline.fleet.packed import Options, Packed, needs_columns
from driftline.fleet.pooled import Pool, pool_for
from driftline.fleet.run import FleetRun
from driftline.fleet.separate import Separate
from driftline.fleet.ticket import FleetTicket, PooledTicket
from driftline.storage import codec
from driftline.storage.model_file import Saved
from driftline.tables import inputs
from driftline.tables.block import RowBlock
from driftline.tables.columns import Column
from driftline.tables.inputs import Array
from driftline.tables.times import Times, time_of, times_of


class Fleet(Saved):
    """Copies of a learner, one for each key; with ``pooled``, keys learn from each other.

    Each model ends with the same weights, bit for bit, as a separate learner that sees only the rows of that key and, unless
    the fleet is pooled, makes the same predictions. Linear learners of first and second order share one block of memory and
    learn in native code, if the first rows hold numbers alone; all other models are separate objects, each of which may have
    features of its own.

    Args:
        learner: an untrained learner with the parameters of every model. The fleet clones it.
        n: the largest number of models; None for no limit. Memory is allocated as keys appear.
        named: False if keys are the whole numbers 0 to n - 1. True if they can be any hashable values: each new key that is
            learned gets the next free model, and keys beyond the n-th are rejected. None: False if the first keys are
            whole numbers, otherwise True.
        jobs: the largest number of threads, among which the keys are divided; None for one per core.
        alarms: whether each key keeps its alarm between calls, which takes 7 kB a key. Otherwise ``run(...).alarms`` is
            computed from that run alone.
        intervals: whether each key keeps the calibration of its intervals between calls, which takes 1.7 kB a key;
            :meth:`predict_intervals` and :meth:`predict_quantiles` need it. Otherwise ``run(..., level=)`` calibrates anew
            in each run. Learners without a fixed size always keep it.
        start: a trained model of the same class and parameters; every key starts from a copy of it. None: untrained.
        pooled: True if keys learn from each other (see :doc:`/fleet`): a shared model learns the rows of all keys, so that a
            new key has a prediction and a finite interval from its first row, and each key's own model has a share of the
            prediction that is learned by the age of keys. Intervals are kept then. The shared model is of the same kind or,
            for linear learners, RLS with a long memory; give an untrained learner instead of True to use that. A trained
            pooled fleet with the same learner lends its shared model and shares, which then stay as they are: only the
            models of the keys learn.

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
        named: bool | None = None,
        jobs: int | None = None,
        alarms: bool = False,
        intervals: bool = False,
        start: Learner | None = None,
        pooled: bool | Learner | Fleet = False,
    ) -> None:
        if not isinstance(learner, Learner):
            raise TypeError(f"Fleet: learner must be a driftline learner, got {learner!r}")
        if learner._core is not None:
            raise ValueError(
                f"Fleet: learner must be untrained, got a {type(learner).__name__} that has learned {learner.n_seen_} rows; "
                "Fleet(learner.clone(), start=learner) lets every key start from it"
            )
        self._learner = learner.clone()
        self._start = None if start is None else copy.copy(self._fitting(start, "Fleet: start"))
        options = Options(
            n=COUNT.or_none().require("Fleet", "n", n),
            named=BOOLEAN.or_none().require("Fleet", "named", named),
            jobs=COUNT.or_none().require("Fleet", "jobs", jobs),
            alarms=BOOLEAN.require("Fleet", "alarms", alarms),
            intervals=BOOLEAN.require("Fleet", "intervals", intervals),
            pooled=self._checked_pool(pooled),
        )
        if intervals and learner._estimator_type == "classifier":
            raise ValueError("Fleet: intervals=True needs a regressor: classes have no intervals")
        self._pool: Pool | None = _lent(pooled)
        self._set_up(options)
        self._undecided = True
        self._named_by_keys = named is None
        self._guard = Guard("Fleet")

    def _checked_pool(self, pooled: Any) -> Learner | bool:
        if isinstance(pooled, Fleet):
            if pooled._pool is None or pooled._pool.model._core is None:
                raise ValueError("Fleet: the fleet given as pooled must be a pooled one that has learned rows")
            if mark_of(pooled._learner) != mark_of(self._learner):
                raise ValueError(f"Fleet: the fleet given as pooled must have the learner {self._learner!r}, got {pooled!r}")
            return pooled._pool.model.clone()
        if not isinstance(pooled, Learner):
            BOOLEAN.require("Fleet", "pooled", pooled)
            pooled = pool_for(self._learner) if pooled else False
        if pooled and "classifier" in (pooled._estimator_type, self._learner._estimator_type):
            raise ValueError("Fleet: pooled needs regressors: classes have no shares")
        if pooled and pooled._core is not None:
            raise ValueError("Fleet: pooled must be an untrained learner, got a trained one")
        return pooled.clone() if pooled else False

    def _fitting(self, model: Any, where: str) -> Learner:
        """A trained model that a key can have; raises an error for any other."""
        if not isinstance(model, Learner):
            raise TypeError(f"{where} must be a driftline learner, got {model!r}")
        if mark_of(model) != mark_of(self._learner):
            raise ValueError(f"{where} must have the class and the parameters of {self._learner!r}, got {model!r}")
        if model._core is None:
            raise ValueError(f"{where} must be trained, got an untrained {type(model).__name__}")
        return model

    def _set_up(self, options: Options, *, packed: bool = True) -> None:
        """Makes a fleet without models."""
        packed = packed and has_fixed_size(self._learner) and (self._start is None or self._start._columns is None)
        own, before, self._pool = options, self._pool, None
        if isinstance(options.pooled, Learner):  # whose alarms watch the answers of the fleet
            own, self._pool = replace(options, alarms=False), Pool(options.pooled.clone(), options.alarms)
            if before is not None and before.frozen:
                self._pool.freeze(before)
        self._models: Packed | Separate = (Packed if packed else Separate)(self._learner, own, self._start)
        self._keys: Numbers | Names = (Names if options.named else Numbers)(options.n)
        self._options = options

    def _decide(self, keys: Any, X: Any, where: str, one: bool = False) -> None:
        """Chooses by the first rows between numbered and named keys, and between one block of memory and separate models.

        Only separate models take text, times and columns that begin later, for each may get other features.
        """
        self._undecided = self._models.is_empty
        if self._undecided:
            self._decide_by(keys, has_fixed_size(self._learner) and not needs_columns(X, one, where))

    def _decide_by(self, keys: Any, packed: bool) -> None:
        options = replace(self._options, named=not are_numbers(keys)) if self._named_by_keys else self._options
        if options != self._options or packed != isinstance(self._models, Packed):
            self._set_up(options, packed=packed)

    # Learning and predicting.

    def run(
        self,
        keys: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        level: float | None = None,
        quantiles: Levels | None = None,
        times: Any = None,
    ) -> FleetRun:
        """Predicts each row and then learns it, in the order given, with the model of its key.

        If an error is raised, no row is learned. An interrupt takes effect within about 0.1 s: a fleet of linear learners
        that never reject a row keeps the rows learned so far, and a note on the KeyboardInterrupt says how many; any other
        fleet returns to its state before the call.

        Args:
            keys: (T,) the key of each row.
            X: (T, d) array or frame.
            y: (T,) labels.
            sample_weight: (T,) weights of the rows; a row of weight 0 is predicted but not learned.
            level: also return intervals that contain the label with this probability.
            quantiles: also return quantiles of the label, of these levels in ascending order.
            times: (T,) times of the rows, for learners with ``half_life`` or ``per``; each key has a clock of its own.
        """
        spread = as_spread("Fleet.run", level, quantiles)
        with self._guard.change(only=True):
            slots, answer = self._learn_many(keys, X, y, sample_weight, "Fleet.run", spread, times)
        assert answer.errors is not None
        return FleetRun(
            answer.predictions,
            answer.errors,
            answer.lower,
            answer.upper,
            resets=answer.resets,
            skipped=answer.skipped,
            level=spread.level,
            quantiles=answer.quantiles,
            quantile_levels=spread.quantiles,
            slots=slots,
            jobs=self._options.jobs,
            raised=answer.alarms,
            watched=answer.watched,
            pool_alarms=answer.pool_alarms,
        )

    def learn_many(self, keys: Any, X: Any, y: Any, *, sample_weight: Any = None, times: Any = None) -> None:
        """Learns the rows each with the model of its key; errors and interrupts act as in :meth:`run`."""
        with self._guard.change(only=True):
            self._learn_many(keys, X, y, sample_weight, "Fleet.learn_many", NO_SPREAD, times)

    def learn_one(self, key: Any, x: Any, y: Any, *, sample_weight: float | None = None, at: Any = None) -> None:
        """Learns one row of one key: an array-like, or a mapping from feature names to numbers, where missing names are 0.

        If the models share one block of memory, the first row fixes their features.
        """
        where = "Fleet.learn_one"
        if self._pool is not None:
            self._tell(self._ask(key, x, 0, where), y, sample_weight, where)
            return
        with self._guard.change(only=True):
            if self._undecided:
                self._decide([key], x, where, one=True)
            models = self._models
            block = self._at(models.one_row(x, where, grow=True), at, where)
            slots, fresh = self._keys.learned([key], 1, where, one=True)
            weight = inputs.as_weights(sample_weight, 1, where, number=False)
            label = models.label(y, where)
            key = partial(self._keys.key, fresh=fresh)
            rows = Call(where, block, slots, key, label, weight, NO_SPREAD, self._keys.count, True)
            models.learn(rows, partial(self._keys.accept, fresh, slots))

    def _at(self, block: RowBlock, at: Any, where: str) -> RowBlock:
        """One row with its time."""
        if at is not None:
            kind, found = time_of(at, where)
            self._require_clock(where)
            block.times = Times(kind, np.array([found]))
        return block

    def _require_clock(self, where: str) -> None:
        if not self._learner._durations or self._pool is not None:
            why = "its keys learn from each other" if self._pool is not None else "its learner has no half_life and no per"
            raise ValueError(f"{where}: the fleet counts rows, whatever their times: {why}")

    def _learn_many(
        self, keys: Any, X: Any, y: Any, sample_weight: Any, where: str, spread: Spread, times: Any = None
    ) -> tuple[Array, Answer]:
        if self._undecided:
            self._decide(keys, X, where)
        block = self._models.block(X, where, grow=True)
        if times is not None:
            self._require_clock(where)
            block.times = times_of(times, block.rows, where)
        labels = self._models.labels(y, block.rows, where)
        weight = inputs.as_weights(sample_weight, block.rows, where)
        slots, fresh = self._keys.learned(keys, block.rows, where)
        key = partial(self._keys.key, fresh=fresh)
        rows = Call(where, block, slots, key, labels, weight, spread, self._keys.count)
        accept = partial(self._keys.accept, fresh, slots)
        if self._pool is None:
            return slots, self._models.learn(rows, accept)
        return slots, self._models.learn(replace(rows, spread=NO_SPREAD), accept, partial(self._pool.learn, rows))

    def predict_many(self, keys: Any, X: Any) -> Array:
        """Predicts each row with the model of its key. For a key that was never learned, an untrained model predicts."""
        with self._guard.claim(only=True):
            return self._predict_many(keys, X, "Fleet.predict_many").predictions

    def predict_intervals(self, keys: Any, X: Any, level: float = 0.9) -> tuple[Array, Array]:
        """Intervals that contain the label with this probability, as (lower, upper), from the model of each row's key.

        They are infinite while a key has too few labels for the level.
        """
        answer = self._predict_spread(keys, X, as_spread("Fleet.predict_intervals", level), "Fleet.predict_intervals")
        assert answer.lower is not None
        assert answer.upper is not None
        return answer.lower, answer.upper

    def predict_quantiles(self, keys: Any, X: Any, levels: Levels = QUANTILES) -> Array:
        """Quantiles of the label, (n, k), for levels in ascending order, from the model of each row's key.

        They are infinite while a key has too few labels for the level; see :meth:`driftline.Learner.predict_quantiles`.
        """
        where = "Fleet.predict_quantiles"
        answer = self._predict_spread(keys, X, of_levels(levels, where), where)
        assert answer.quantiles is not None
        return answer.quantiles

    def _predict_spread(self, keys: Any, X: Any, spread: Spread, where: str) -> Answer:
        self._require_intervals(where, "intervals" if spread.place else "quantiles")
        with self._guard.claim(only=True):
            return replace(self._predict_many(keys, X, where, spread), quantile_levels=spread.quantiles)

    def _require_intervals(self, where: str, what: str = "intervals") -> None:
        if self.learner._estimator_type == "classifier":
            raise ValueError(f"{where}: class labels have no {what}; fleet[key].predict_proba_one gives probabilities")
        if self._pool is None and isinstance(self._models, Packed) and not self._options.intervals:
            raise ValueError(f"{where}: the fleet keeps no intervals; create it with intervals=True")

    def predict_interval(self, key: Any, x: Any, level: float = 0.9) -> tuple[float, float]:
        """Both ends of the interval for one row of one key."""
        self._require_intervals("Fleet.predict_interval")
        return self._ask(key, x, None, "Fleet.predict_interval").interval(level)

    def predict_one(self, key: Any, x: Any, *, at: Any = None) -> Any:
        """Predicts one row of one key: an array-like, or a mapping, in which unknown names are ignored."""
        where = "Fleet.predict_one"
        if self._pool is not None:
            return self._ask(key, x, 0, where).prediction
        with self._guard.claim(only=True):
            if self._undecided:
                self._decide([key], x, where, one=True)
            block = self._at(self._models.one_row(x, where, grow=False), at, where)
            slots = self._keys.predicted([key], 1, where, one=True)
            rows = Call(where, block, slots, partial(self._keys.key, fresh={}), one=True)
            said = self._models.predict(rows).predictions[0]
        return float(said) if isinstance(said, np.floating) else said

    def _predict_many(self, keys: Any, X: Any, where: str, spread: Spread = NO_SPREAD) -> Answer:
        if self._undecided:
            self._decide(keys, X, where)
        block = self._models.block(X, where, grow=False)
        slots = self._keys.predicted(keys, block.rows, where)
        rows = Call(where, block, slots, partial(self._keys.key, fresh={}), spread=spread)
        if self._pool is None:
            return self._models.predict(rows)
        return self._pool.predict(rows, self._models.predict(replace(rows, spread=NO_SPREAD)))

    # Late labels.

    def ask(self, key: Any, x: Any, delay: int | None = None, *, at: Any = None) -> FleetTicket:
        """Predicts one row of a key whose label will arrive later; :meth:`tell` takes the ticket. Changes nothing.

        The ticket has the prediction, the interval and the quantiles of the key's model. In a fleet whose models share one
        block of memory, these are finite only if it keeps intervals.

        Args:
            key: the key; an unknown one is not added before its first label.
            x: the row.
            delay: how many rows of this key are still missing their labels; see :meth:`driftline.Learner.ask`.
            at: the row's time, if rows have times.
        """
        return self._ask(key, x, delay, "Fleet.ask", at)

    def _ask(self, key: Any, x: Any, delay: int | None, where: str, at: Any = None) -> FleetTicket:
        if at is not None:
            self._require_clock(where)
        with self._guard.claim(only=True):
            if self._undecided:
                self._decide([key], x, where, one=True)
            self._models.one_row(x, where, grow=True)  # raises if the models cannot grow by its features
            slot = int(self._keys.predicted([key], 1, where, one=True)[0])
            with of_key(where, lambda: key):
                own = self._models.asked(slot).ask(x, delay, at=at)
                return FleetTicket(as_key(key), own) if self._pool is None else self._pool.ask(as_key(key), slot, own, x)

    def tell(self, ticket: FleetTicket, y: Any, *, sample_weight: float | None = None) -> None:
        """Learns the label of a row as it was when it was asked, with the model of its key.

        A rejected label leaves the ticket valid.
        """
        self._tell(ticket, y, sample_weight, "Fleet.tell")

    def _tell(self, ticket: FleetTicket, y: Any, sample_weight: float | None, where: str) -> None:
        with self._guard.change(only=True):
            if not isinstance(ticket, FleetTicket):
                raise TypeError(f"{where}: expected a FleetTicket from ask, got {type(ticket).__name__}")
            if self._undecided and self._models.is_empty:
                self._decide_by([ticket.key], has_fixed_size(self._learner) and not isinstance(ticket.ticket.x, ByColumns))
            slots, fresh = self._keys.learned([ticket.key], 1, where, one=True)
            slot, finish = int(slots[0]), None
            if self._pool is not None and isinstance(ticket, PooledTicket):
                finish = partial(self._pool.tell, slot, ticket, y, sample_weight)
            elif self._pool is not None or isinstance(ticket, PooledTicket):
                raise ValueError(
                    f"{where}: the ticket belongs to a fleet {'with' if self._pool is None else 'without'} a pool"
                )
            with of_key(where, lambda: ticket.key):
                self._models.tell(slot, ticket, y, sample_weight, finish)
            self._keys.accept(fresh, slots, 1)

    def _columns(self) -> dict[Any, Column | None]:
        """The columns that the models learned from, by name; None for numbers that are features as they are."""
        return self._models.columns()

    # Fitted attributes.

    def __len__(self) -> int:
        """The number of models: n if keys are numbers below n, otherwise the number of keys learned so far."""
        return self._keys.count

    def __contains__(self, key: Any) -> bool:
        """Whether the fleet has a model for this key."""
        return self._keys.find(key) is not None

    @property
    def learner(self) -> Learner:
        """An untrained learner with the parameters of the models."""
        return self._learner.clone()

    @property
    def start(self) -> Learner | None:
        """A copy of the model from which every key starts; None if keys start untrained."""
        return copy.copy(self._start)

    @property
    def pooled(self) -> bool:
        """Whether keys learn from each other."""
        return self._pool is not None

    @property
    def keys_(self) -> list[Key]:
        """The keys in the order of the models: 0, 1, …, or the named keys learned so far."""
        return self._keys.listed

    def __getitem__(self, key: Any) -> Learner:
        """A copy of one key's model, as an ordinary learner."""
        with self._guard.claim(only=True):
            return self._models.model(self._slot(key))

    def __setitem__(self, key: Any, model: Learner) -> None:
        """Puts a copy of a trained model in the place of a key's model and its alarm; an unknown key is added."""
        where = "Fleet"
        with self._guard.change(only=True):
            self._fitting(model, f"Fleet: the model of the key {key!r}")
            if self._undecided and self._models.is_empty:
                self._decide_by([key], has_fixed_size(self._learner) and model._columns is None)
            slots, fresh = self._keys.learned([key], 1, where, one=True)
            self._models.put(int(slots[0]), model, where)
            self._keys.accept(fresh, slots, 1)

    def _own(self, key: Any) -> Learner:
        """The model of a key itself, new or not, for a caller that learns by it; not for models of fixed size."""
        slots, fresh = self._keys.learned([key], 1, "Fleet", one=True)
        self._keys.accept(fresh, slots, 1)
        assert isinstance(self._models, Separate)
        return self._models.own(int(slots[0]))

    def _slot(self, key: Any) -> int:
        slot = self._keys.find(key)
        if slot is None:
            raise KeyError(f"Fleet: {self._keys.unknown(key)}")
        return slot

    def summary(self) -> dict[str, Array]:
        """One entry per key, as columns in the order of ``keys_`` that any frame library can turn into a table.

        - ``key``, and ``rows``, the number of rows learned
        - ``mse``: the mean squared error, or the share of mistakes for classes; NaN before the first row
        - ``coverage``: the share of labels inside the finite intervals of ``run(..., level=)``; NaN if there were none, or
          if the fleet does not keep intervals
        - ``memory`` in bytes
        - ``alarms``: the number of alarms, -1 if the fleet does not keep them; ``last_alarm``: the row that raised the last
          one, counted from 0 among the rows of its key, -1 if there was none
        - in a pooled fleet, ``share``: the share of the key's own model in its next prediction; ``level``: the mean label
          of the key, over about 50 labels; ``pool_mse`` and ``own_mse``: the recent mean squared errors of the shared model
          and of the key's own one
        """
        with self._guard.claim(only=True):
            table, more = self._models.summary(len(self)), dict[str, Array]()
            if self._pool is not None:
                table, more = self._pool.summary(table)
        keys = as_objects(self.keys_) if self._options.named else np.arange(len(self))
        return summary.of(keys, table) | more

    @property
    def pool_(self) -> Learner:
        """A copy of the shared model of a pooled fleet. Its features are those of the rows, then those of their keys."""
        if self._pool is None:
            raise AttributeError("Fleet.pool_: the fleet has no shared model; create it with pooled=True")
        with self._guard.claim(only=True):
            return copy.copy(self._pool.model)

    @property
    def pool_alarms_(self) -> int:
        """How often the alarm of a pooled fleet went off, because the errors of many keys changed together."""
        if self._pool is None:
            raise AttributeError("Fleet.pool_alarms_: the fleet has no shared model; create it with pooled=True")
        with self._guard.claim(only=True):
            return self._pool.raised

    def drop(self, keys: Iterable[Any]) -> None:
        """Removes the models of these keys, with their alarms and intervals. If a key is unknown, none is removed.

        Named keys are forgotten and their memory is freed. Numbered keys stay, with untrained models. What other keys have
        learned from them stays.
        """
        with self._guard.change(only=True):
            slots = np.unique(np.array([self._slot(key) for key in keys], dtype=np.int64))
            if self._options.named:
                names = Names(self._options.n, self._keys.listed)
                names.drop(slots)
                self._drop(slots, True)
                self._keys = names
            else:
                self._drop(slots, False)

    def _drop(self, slots: Array, close: bool) -> None:
        if self._pool is not None:
            self._pool.drop(slots, close)
        self._models.drop(slots, len(self), close)

    def _core(self, what: str) -> Any:
        if isinstance(self._models, Separate):
            name = type(self._learner).__name__
            raise AttributeError(f"Fleet.{what}: not available for a fleet of {name}; use fleet[key].{what}")
        if self._models.core is None:
            raise not_fitted(f"Fleet.{what}: the fleet has seen no row")
        return self._models.core

    @property
    def coef_(self) -> Array:
        """The weights of every model without the intercepts, (models, d), in the order of ``keys_``."""
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
        """The number of rows that each model has learned, in the order of ``keys_``."""
        with self._guard.claim(only=True):
            return self._models.counts(len(self))[0]

    @property
    def n_skipped_(self) -> Array:
        """The number of rows that each model skipped because a value was missing, in the order of ``keys_``."""
        with self._guard.claim(only=True):
            return self._models.counts(len(self))[1]

    @property
    def n_features_in_(self) -> int:
        """The number of features, without the constant."""
        return int(self._core("n_features_in_").features)

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, if they have names."""
        self._core("feature_names_in_")
        assert isinstance(self._models, Packed)
        if self._models.names is None:
            raise AttributeError("Fleet: the features have no names")
        return as_objects(self._models.names)

    @property
    def nbytes(self) -> int:
        """The bytes that the models take once all n keys have appeared or, without n, take now; 0 before the first row."""
        if isinstance(self._models, Separate):
            return sum(entry.nbytes for entry in self._models.entries.values())
        core = self._models.core
        return 0 if core is None else core.slot_bytes * (self._options.n or len(self))

    # Saving and copying.

    _to_file, _from_file = state.to_file, state.from_file

    def split(self, n: int) -> list[Fleet]:
        """Splits the fleet into ``n`` fleets by a hash of the key; :meth:`merge` undoes it.

        The hash is the same on every machine and in every process. With named keys, the parts together take as much memory
        as the fleet; with numbered keys, each part takes that much.
        """
        COUNT.require("Fleet.split", "n", n)
        with self._guard.claim(only=True):
            return [_made(part) for part in parts.split(state.of(self), n)]

    @staticmethod
    def merge(fleets: Iterable[Fleet]) -> Fleet:
        """Merges fleets that have the same learner and options and no key in common."""
        fleets = list(fleets)
        if not fleets or not all(isinstance(fleet, Fleet) for fleet in fleets):
            raise TypeError("Fleet.merge: expected at least one fleet")
        return _made(parts.merged([fleet.__getstate__() for fleet in fleets]))

    __getstate__ = state.exported
    __setstate__ = state.take_over

    def _repr_html_(self) -> str:
        return str(extensions.load("report")[0].fleet_html(self))

    def __repr__(self) -> str:
        options = self._options
        models = "" if options.n is None else f", {options.n}"
        flags = "".join(f", {name}=True" for name in ("named", "alarms", "intervals", "pooled") if getattr(options, name))
        return f"Fleet({self._learner!r}{models}{flags})"


def _lent(pooled: Any) -> Pool | None:
    """The pool of a trained fleet, for another one that leaves it as it is."""
    if not isinstance(pooled, Fleet) or pooled._pool is None:
        return None
    pool = Pool(pooled._pool.model.clone(), alarms=False)
    pool.freeze(pooled._pool)
    return pool


def _made(saved: dict[str, Any]) -> Fleet:
    fleet = Fleet.__new__(Fleet)
    state.take_over(fleet, saved)
    return fleet


codec.register(Fleet, "fleet")
