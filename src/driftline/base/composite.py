"""A state that is made of learners, behind the same methods as a native one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from driftline.base.learner import Learner
from driftline.base.refusals import Target
from driftline.linear.policies import Below, Divide
from driftline.linear.recursion import Recursive
from driftline.tables.inputs import Array, Name

C = TypeVar("C", bound="Composite")
P = ParamSpec("P")
R = TypeVar("R")

_WORTH_THREADS = 2**17  # operations, below which starting threads takes longer than it saves


def exclusive(method: Callable[Concatenate[C, P], R]) -> Callable[Concatenate[C, P], R]:
    """A method that one thread at a time may be in; a second thread is told so."""

    @wraps(method)
    def alone(self: C, /, *arguments: P.args, **options: P.kwargs) -> R:
        self.claim()
        try:
            return method(self, *arguments, **options)
        finally:
            self.release()

    return alone


class Composite:
    """Learners that see the rows, learners above them that see what the first say, and what a wrapper keeps beside them.

    The learners belong to the composite alone. Names, growth, claims and the way out and in are here; how the parts predict
    and learn together is the subclass's.

    Args:
        members: the learners that see the rows.
        above: the learners that do not, each with its number of inputs.
        features: of the rows.
        intercept: whether the weights end with that of the constant feature.
        dtype: of the weights.
    """

    def __init__(
        self, members: list[Learner], above: Sequence[tuple[Learner, int]], features: int, intercept: bool, dtype: str
    ) -> None:
        self.members, self.above = members, [learner for learner, _ in above]
        self.features, self.intercept, self.dtype = features, intercept, dtype
        self._names: list[Name] | None = None
        self._lock = threading.RLock()
        self._owner, self._claims = 0, 0  # the thread that holds the lock, and how often
        for learner, width in above:
            learner._meet(np.zeros(width), None)

    # One thread at a time.

    def claim(self) -> None:
        """Keeps other threads out until it is released."""
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("the model is in use by another thread; give each thread its own, or lock around it")
        self._owner = threading.get_ident()
        self._claims += 1

    def release(self) -> None:
        """Undoes one claim of this thread, where it has one."""
        if self._claims and self._owner == threading.get_ident():
            self._claims -= 1
            self._lock.release()

    @property
    def by_feature(self) -> bool:
        """Whether the weights are those of the features, so that their number tells the features'."""
        return all(member._by_feature for member in self.members)

    @property
    def width_within(self) -> int:
        """Features of the rows that the members see."""
        return self.features

    # Growing to what is met.

    def meet(self, row: Array) -> None:
        """The first row, which may decide something."""
        for member in self.members:
            member._meet(row, self._names)

    @exclusive
    def grow(self, more: int) -> None:
        """So many features more, at their prior."""
        for member in self.members:
            member._core.grow(more)
        self.features += more

    @exclusive
    def set_names(self, names: list[Name]) -> None:
        """The names of the features, in their order."""
        self._names = names
        for member in self.members:
            if member._core is not None:
                member._set_names(names)

    # The way out and in.

    @exclusive
    def get_state(self) -> dict[str, Array]:
        """Everything as arrays, a learner's under its number."""
        state = {"weights": self.weights(), **self._own_state()}
        if not self.by_feature:
            state["features"] = np.array([float(self.features)])
        for number, learner in enumerate([*self.members, *self.above]):
            inner = learner.__getstate__()
            state |= {f"{number}.{name}": array for name, array in inner["core"].items()}
            state |= {f"{number}:{name}": np.array([value]) for name, value in inner["kept"].items()}
        return state

    @exclusive
    def set_state(self, state: dict[str, Array]) -> None:
        """What :meth:`get_state` gave; ValueError where it is not sound. The composite is a fresh one."""
        if not self.by_feature and "features" not in state:
            raise ValueError("the state lacks the number of features")
        for number, learner in enumerate([*self.members, *self.above]):
            core, kept = (_under(state, f"{number}{mark}") for mark in ".:")
            if not core or set(kept) != set(learner._kept):
                raise ValueError(f"the state lacks a part of learner {number}")
            width = self.width_within if learner in self.members else learner.n_features_in_
            inner = {"params": learner.get_params(deep=False), "skipped": 0, "names": None, "core": core}
            learner.__setstate__({**inner, "kept": {name: _positive(value) for name, value in kept.items()}})
            if learner.n_features_in_ != width:
                raise ValueError(f"the state of learner {number} has {learner.n_features_in_} features, expected {width}")
        self._set_own_state(state)
        given = state["weights"]
        if not isinstance(given, np.ndarray) or not np.array_equal(self.weights(), given):
            raise ValueError("the state's weights are not those that its learners make together")

    def _own_state(self) -> dict[str, Array]:
        """What is kept beside the learners."""
        return {}

    def _set_own_state(self, state: dict[str, Array]) -> None:
        """Takes it back, checked."""

    @exclusive
    def follow(self, members: list[Learner], above: list[Learner]) -> None:
        """Takes over the parameters of other learners, all of them or none."""
        mine, theirs = [*self.members, *self.above], [*members, *above]
        if [type(learner) for learner in mine] != [type(learner) for learner in theirs]:
            raise ValueError
        before = [learner.get_params(deep=False) for learner in mine]
        try:
            for learner, pattern in zip(mine, theirs, strict=True):
                old, new = learner.get_params(deep=False), pattern.get_params(deep=False)
                learner.set_params(**{name: value for name, value in new.items() if value is not old[name]})
        except ValueError:
            for learner, params in zip(mine, before, strict=True):
                learner.set_params(**params)
            raise

    # What a subclass says.

    def weights(self) -> Array:
        """Of the linear model that the parts make together."""
        raise NotImplementedError

    def predict(self, x: Any) -> Any:
        """The prediction, or None where x has to be converted first."""
        raise NotImplementedError

    def predict_interval(self, x: Any, level: Any) -> tuple[float, float] | None:
        """Both ends, or None where x has to be converted first."""
        raise NotImplementedError

    def learn(self, x: Any, y: Any, weight: Any = None) -> bool:
        """False, with nothing changed, where the row needs Python's care."""
        raise NotImplementedError

    def replay(self, block: Array, y: Array | None, weight: Array | None, target: Target) -> int:
        """Predicts and learns, or without ``y`` only predicts; returns how many rows were skipped."""
        raise NotImplementedError

    # What subclasses share.

    def wide(self, weights: Array, learner: Learner) -> Array:
        """A learner's weights, (..., d), with a 0 for the constant feature where the learner has none and others do."""
        if not self.intercept or learner.intercept:
            return weights
        return np.concatenate([weights, np.zeros((*weights.shape[:-1], 1))], axis=-1)

    def each_replayed(
        self, block: Array, y: Sequence[Array | None], weight: Array | None, target: Target, every: int = 0
    ) -> tuple[Array, list[Array], int]:
        """Each member replays the block with its own labels, in threads where that pays.

        Returns the predictions, (rows, members), snapshots of the weights every so many rows, and the rows skipped.
        """
        said = np.empty((len(self.members), len(block)))
        kept = [np.empty((len(block) // every, len(member._core.weights()))) if every else None for member in self.members]

        def work(number: int) -> int:
            own = Target(target.where, target.start, target.names, None, kept[number], every, predictions=said[number])
            return self.members[number]._replay_block(block, y[number], weight, own)

        numbers = range(len(self.members))
        effort = len(block) * self.members[0]._operations(block.shape[1] + 1)
        cores = min(len(self.members), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
        if cores > 1 and effort > _WORTH_THREADS:
            with ThreadPoolExecutor(cores) as pool:
                skipped = list(pool.map(work, numbers))
        else:
            skipped = [work(number) for number in numbers]
        return said.T, [part for part in kept if part is not None], skipped[0]


def ask(learner: Learner, x: Any, peek: bool) -> Any:
    """The learner's prediction, or None where x has to be converted first.

    To peek is to ask for a row whose label has come. A learner that takes note of its predictions, because labels may be
    late, answers what it said then.
    """
    core = learner._core
    return core.peek(x) if peek and hasattr(core, "peek") else core.predict(x)


def may_refuse(learner: Learner) -> bool:
    """Whether a sound row may still be refused, for what it would lead to or by a function of the user's."""
    if not isinstance(learner, Recursive):
        return not learner._takes_any_row
    policy = learner._policy()
    functions = [policy.time.forgetting] if isinstance(policy.time, Divide) else []
    functions += [policy.reset.schedule] if isinstance(policy.reset, Below) else []
    return policy.noise is None or any(map(callable, functions))


def is_weight(weight: Any) -> bool:
    """Whether a sample weight needs no care."""
    return weight is None or (isinstance(weight, float) and 0 < weight < float("inf"))


def count_in(state: dict[str, Array], name: str, most: int) -> int:
    """A whole number of a state, at most ``most``; ValueError where it is none."""
    value = state[name]
    if not isinstance(value, np.ndarray) or value.shape != (1,) or not 0 <= value[0] <= most or value[0] != int(value[0]):
        raise ValueError(f"the state's {name} is out of range")
    return int(value[0])


def _under(state: dict[str, Array], prefix: str) -> dict[str, Array]:
    return {name[len(prefix) :]: array for name, array in state.items() if name.startswith(prefix)}


def _positive(value: Array) -> float:
    number = float(value[0])
    if not 0 < number < float("inf"):
        raise ValueError("the state holds a value that is out of range")
    return number
