"""The interface of every learner. Public verbs check and convert; the native core computes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from driftline.base import levels as intervals
from driftline.base import params
from driftline.base.refusals import Target
from driftline.base.replays import Replays
from driftline.base.river_verbs import RiverVerbs
from driftline.base.rules import COUNT
from driftline.base.run import Run
from driftline.base.sklearn_verbs import SklearnVerbs
from driftline.base.undo import Undo
from driftline.tables import inputs
from driftline.tables.inputs import Array, Name, Table


class Learner(Replays, SklearnVerbs, RiverVerbs, params.Parametrised):
    """A linear model that learns from each row once.

    Args:
        intercept: append a constant feature 1, last.
        dtype: "float64" or "float32", for the state.
        missing: "raise" on NaN or infinity, or "skip" such rows and count them in ``n_skipped_``.
    """

    intercept: bool = params.boolean(default=True)
    dtype: str = params.choice(default="float64", options=("float64", "float32"))
    missing: str = params.choice(default="raise", options=("raise", "skip"))

    _kept: ClassVar[tuple[str, ...]] = ()  # attributes beside the core that belong to the state
    _by_feature = True  # there is one weight for each feature
    _composes = True  # it can be one of several, in a network or a classifier
    _linear = True  # predictions are linear in the features, with weights of theirs
    _takes_any_row = False  # no sound row is refused, for what it would lead to
    _takes_outputs = False  # a row may have several labels, ``_outputs`` of them
    _plain_intercept = True  # the constant is learned like any feature; not where inputs are centred, or projected

    def _make_core(self, width: int) -> Any:
        """A native state of ``width`` weights, the intercept's included."""
        raise TypeError(f"{type(self).__name__} cannot be used by itself")

    def _as_labels(self, y: Any, rows: int, where: str) -> Array:
        """The labels of a table, (T,), or (T, m) where a row has several."""
        return inputs.as_vector(y, rows, where, "y")

    def _as_label(self, y: Any, where: str) -> Any:
        """The label of a row, or an array of them."""
        return inputs.as_label(y, where)

    def _expect(self, labels: Array) -> None:
        """Told of the labels before the first of their rows is met."""

    def _look_ahead(self) -> None:
        """Gives the core what it may lack for one more row."""

    def _see_first_row(self, row: Array) -> None:
        """Sets what the first row decides; the constant feature is its last entry where there is one."""

    # One row at a time.

    def predict_one(self, x: Any) -> float:
        """The prediction for one row: a one-dimensional array-like, or a mapping feature name -> number."""
        core = self._core
        if core is not None:
            prediction = core.predict(x)
            if prediction is not None:
                return prediction  # type: ignore[no-any-return]
        target = Target(f"{type(self).__name__}.predict_one", predictions=self._room(1))
        self._predict_any(x, target)
        said = target.predictions[0]
        return float(said) if self._outputs is None else said

    def predict_interval(self, x: Any, level: float = 0.9) -> tuple[float, float]:
        """Both ends of an interval around the prediction that holds the label with probability ``level``.

        The learner's own variance gives the shape, and the errors so far the width, adapted row by row so that the share of
        labels inside stays at ``level`` whatever the stream does; see :doc:`/intervals`. Infinite until there are labels
        enough for the level, level / (1 - level) of them; then at most ten times the largest error so far to either side.
        """
        place = intervals.as_level(level, f"{type(self).__name__}.predict_interval")
        core = self._core
        if core is not None:
            ends = core.predict_interval(x, place)
            if ends is not None:
                return ends  # type: ignore[no-any-return]
        target = Target(f"{type(self).__name__}.predict_interval", predictions=np.empty(1))
        target.lower, target.upper, target.level = np.empty(1), np.empty(1), place
        self._predict_any(x, target)
        return float(target.lower[0]), float(target.upper[0])

    def learn_one(self, x: Any, y: Any, *, sample_weight: float | None = None) -> None:
        """Learns from one row. A mapping may bring features that were never seen: the model grows by them."""
        core = self._core
        if core is None or not (core.learn(x, y) if sample_weight is None else core.learn(x, y, sample_weight)):
            self._learn_any(x, y, sample_weight)

    def _predict_any(self, x: Any, target: Target) -> None:
        where, x = target.where, inputs.named(x)
        if isinstance(x, Mapping):
            items = inputs.as_items(x, where)
            known = list(items) if self._core is None else self._known_names(where)
            row = np.array([items.get(name, 0.0) for name in known], dtype=np.float64)
            self._refuse_bad_items(items, where)
        else:
            row = inputs.as_row(x, where)
            if self._core is not None:
                self._require_width(row.size, where)
        if self.missing == "raise":
            self._refuse_bad(row, where, None)
        model = self
        if self._core is None:
            if not row.size and not self.intercept:
                target.say(0.0)
                return
            model = type(self)(**self.get_params(deep=False))
            model._meet(np.where(np.isfinite(row), row, 0.0), None)
        model._replay_block(row[None, :], None, None, target)

    def _learn_any(self, x: Any, y: Any, sample_weight: float | None) -> None:
        where, x = f"{type(self).__name__}.learn_one", inputs.named(x)
        label = self._as_label(y, where)
        weight = inputs.as_weights(sample_weight, 1, where)
        names: list[Name] | None = None
        if isinstance(x, Mapping):
            items = inputs.as_items(x, where)
            known = [] if self._core is None else self._known_names(where)
            seen = set(known)
            names = known + [name for name in items if name not in seen]
            row = np.array([items.get(name, 0.0) for name in names], dtype=np.float64)
        else:
            row = inputs.as_row(x, where)
            if self._core is not None:
                self._require_width(row.size, where)
        if not ((np.abs(row) <= self._largest).all() and np.all(np.abs(label) <= self._largest)):
            if self.missing == "skip":
                self._skipped += 1
                return
            self._refuse_bad(row, where, names)
            self._refuse_bad_label(label, where)
        if weight is not None and weight[0] == 0:
            return
        fits = self._core is not None and row.size == self._core.features
        if fits:
            self._look_ahead()
            if self._core.learn(row, label, None if weight is None else float(weight[0])):
                return
        labels = np.array([label])
        undo = Undo(self)
        with undo:
            self._expect(labels)
            self._meet(row, names)
            lost = self._replay_block(row[None, :], labels, weight, Target(where, predictions=self._room(1)))
            if lost:  # for what became of it on the way
                self.__setstate__(undo.state)
                self._skipped += lost

    # Many rows at once.

    def run(
        self, X: Any, y: Any, *, sample_weight: Any = None, weights_every: int | None = None, level: float | None = None
    ) -> Run:
        """Predicts, then learns, row by row, in native code.

        All rows are learned, or, where an error is raised, none.

        Args:
            X: (T, d) array or frame.
            y: (T,) labels.
            sample_weight: (T,) weights of the rows; a row of weight 0 is predicted and not learned.
            weights_every: keep a snapshot of the weights every so many rows.
            level: keep the ends of the intervals of :meth:`predict_interval` at this level.
        """
        return self._run(X, y, sample_weight, f"{type(self).__name__}.run", weights_every, level)

    def _run(
        self, X: Any, y: Any, sample_weight: Any, where: str, weights_every: int | None = None, level: float | None = None
    ) -> Run:
        with Undo(self):
            run = self._learn_table(X, y, sample_weight, where, weights_every, level)
            return run if level is None else replace(run, level=float(level))

    def _learn_table(
        self, X: Any, y: Any, sample_weight: Any, where: str, weights_every: int | None = None, level: float | None = None
    ) -> Run:
        table = self._as_table(X, where)
        labels = self._as_labels(y, table.rows, where)
        weight = inputs.as_weights(sample_weight, table.rows, where)
        weights_every = COUNT.or_none().require(where, "weights_every", weights_every)
        place = None if level is None else intervals.as_level(level, where)
        if place is not None and labels.ndim == 2:
            raise ValueError(f"{where}: level is for one label a row")
        if self._core is not None:
            self._check_table(table, where)
            return self._replay(table, labels, weight, where, weights_every, place)
        self._expect(labels)
        self._meet(self._first_learned(table, labels, weight), table.names)
        run = self._replay(table, labels, weight, where, weights_every, place)
        if self.n_seen_ == 0:
            self._restore(None, None)
        return run

    def _as_table(self, X: Any, where: str) -> Table:
        return inputs.as_table(X, where)

    # Growing to what is met.

    def _meet(self, row: Array, names: list[Name] | None) -> None:
        """Makes the core, or grows it, so that ``row`` fits."""
        if self._core is None:
            full = np.append(row, 1.0) if self.intercept else row
            if not full.size:
                raise ValueError(f"{type(self).__name__}: x is empty, and there is no intercept")
            self._see_first_row(full)
            self._begin(full.size, names)
        elif names is not None and len(names) > self.n_features_in_:
            self._core.grow(len(names) - self.n_features_in_)
            self._set_names(names)

    def _begin(self, width: int, names: list[Name] | None) -> None:
        core = self._make_core(width)
        if "_claim" in self.__dict__:
            core.claim()
        self._core = core
        self._set_names(names)

    def _first_learned(self, table: Table, y: Array, weight: Array | None) -> Array:
        """The first row that has all its values and a weight: the others decide nothing."""
        counts: Array = np.abs(y) <= self._largest
        if counts.ndim == 2:
            counts = np.all(counts, axis=1)
        if weight is not None:
            counts &= weight > 0
        for start, block in table.blocks(1024):
            found = counts[start : start + len(block)] & (np.abs(block) <= self._largest).all(axis=1)
            if found.any():
                return np.asarray(block[int(found.argmax())], dtype=np.float64)
        return np.zeros(table.columns)

    def _set_names(self, names: list[Name] | None) -> None:
        self._names = names
        if names is not None:
            self._core.set_names(names)

    def _repr_html_(self) -> str:
        from driftline.report.notebook import learner_html

        return learner_html(self)

    # Keeping and copying.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the learner to a file, atomically; :func:`driftline.load` reads it back."""
        from driftline.storage import model_file

        model_file.save(self, path)

    def set_params(self, **changes: Any) -> Self:
        """Changes hyper-parameters, all or none. On a learner that has learned they act from the next row on."""
        before = self.get_params(deep=False)
        super().set_params(**changes)
        if self._core is not None:
            try:
                self._refresh(before)
            except BaseException as error:
                self.__dict__.update(before)
                if not isinstance(error, ValueError):
                    raise
                changed = ", ".join(changes)
                raise ValueError(
                    f"{type(self).__name__}: {changed} cannot change once the learner has learned; "
                    "make a new one with the parameters you want"
                ) from None
        return self

    def _refresh(self, before: dict[str, Any]) -> None:
        """Tells the core about changed parameters; ValueError where it cannot follow."""
        if self.intercept != before["intercept"] or self.dtype != before["dtype"]:
            raise ValueError

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {"params": self.get_params(deep=False), "skipped": self._skipped, "names": self._names}
        if self._core is not None:
            state["core"] = self._core.get_state()
            state["kept"] = {name: getattr(self, name) for name in self._kept}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state["params"])
        self.__dict__.update(state.get("kept", {}))
        self._restore(state.get("core"), state["names"])
        self._skipped = state["skipped"]

    def _restore(self, core: dict[str, Array] | None, names: list[Name] | None) -> None:
        """Back to an exported state of the core; None is the state before anything was met."""
        if core is None:
            self._core = self._names = None
        elif not len(core["weights"]):
            raise ValueError("the state has no weights")
        else:
            fresh = self._core_for(core)
            fresh.set_state(core)
            self._core = fresh
            self._set_names(names)

    def _core_for(self, state: dict[str, Array]) -> Any:
        """A new core into which an exported state fits."""
        return self._make_core(len(state["weights"]))

    def _features_of(self, state: dict[str, Array]) -> int:
        """How many features an exported state knows."""
        return len(state["weights"]) - self.intercept

    def __repr__(self) -> str:
        shown = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name not in Learner._params or value != self._params[name].default
        }
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"
