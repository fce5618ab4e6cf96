"""Base class of streams."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal, Self

import numpy as np

from driftline.base.rules import COUNT, WHOLE, Checked, whole
from driftline.streams.keyed import CHUNK, HOLDOUT, generator
from driftline.tables.inputs import Array

Rows = tuple[Array, Array]
Replay = tuple[int, ...]  # which repetition of a stream; () is the one that take() returns
Task = Literal["regression", "classification"]


class Stream(Checked, ABC):
    """A generated stream of rows with known drift, the same rows every time.

    A stream is an immutable dataclass, fully described by its parameters. ``take(T)`` is the beginning of ``take(T + 1)``.
    Class labels are -1.0 and 1.0. ``a + b``, :meth:`first`, :class:`~driftline.streams.Join` and
    :class:`~driftline.streams.Repeat` combine streams.
    """

    _first: ClassVar[Callable[[Stream, int], Stream]]  # the module of First sets it
    _concat: ClassVar[Callable[[Stream, Stream], Stream]]  # the module of Concat sets it

    @property
    @abstractmethod
    def d(self) -> int:
        """The number of inputs."""

    @property
    def task(self) -> Task:
        """The kind of labels: "regression" or "classification"."""
        return "regression"

    @property
    def length(self) -> int | None:
        """The number of rows; None if the stream is endless."""
        return None

    @property
    def weights(self) -> Array:
        """The true weights at the rows of the last ``take``, (T, d).

        Streams whose target is not a linear function without intercept do not have this attribute.
        """
        taken = self.__dict__.get("_taken", 0)
        if "_weights" not in self.__dict__:
            self.__dict__["_weights"] = self._targets(0, taken, ())
        weights: Array | None = self.__dict__["_weights"]
        if weights is None:
            raise AttributeError(f"{type(self).__name__} has no weights: its target is not linear through the origin")
        return weights

    def take(self, T: int | None = None) -> Rows:
        """The first T rows, or all if T is None: X of shape (T, d) and y of shape (T,)."""
        where = f"{type(self).__name__}.take"
        T = self.length if T is None else T
        if T is None:
            raise ValueError(f"{where}: the stream is endless, so T must be given")
        T = whole(0, self.length).require(where, "T", T)
        self.__dict__["_taken"] = T
        self.__dict__.pop("_weights", None)
        return self._rows(0, T, ())

    def blocks(self, size: int = CHUNK) -> Iterator[Rows]:
        """All rows, ``size`` at a time (fewer in the last block), in memory that does not grow with the stream."""
        return self._blocks(COUNT.require(f"{type(self).__name__}.blocks", "size", size))

    def _blocks(self, size: int) -> Iterator[Rows]:
        start = 0
        while self.length is None or start < self.length:
            stop = start + size if self.length is None else min(start + size, self.length)
            yield self._rows(start, stop, ())
            start = stop

    def __iter__(self) -> Iterator[tuple[Array, float]]:
        for X, y in self._blocks(CHUNK):
            yield from zip(X, y.tolist(), strict=True)

    def holdout(self, t: int, n: int, seed: int = 0) -> Rows:
        """``n`` new, independent rows from the distribution at row ``t`` (0-based)."""
        where = f"{type(self).__name__}.holdout"
        t = whole(0, None if self.length is None else self.length - 1).require(where, "t", t)
        n = COUNT.require(where, "n", n)
        seed = WHOLE.require(where, "seed", seed)
        return self._fresh(t, n, generator(self._seeds(), HOLDOUT, t, seed))

    def first(self, rows: int) -> Stream:
        """The first ``rows`` rows of the stream."""
        return Stream._first(self, rows)

    @abstractmethod
    def reseeded(self, seed: int) -> Self:
        """The same kind of stream with other random numbers."""

    def __add__(self, other: Stream) -> Stream:
        """This stream's rows, then the other's."""
        return Stream._concat(self, other) if isinstance(other, Stream) else NotImplemented

    def __len__(self) -> int:
        if self.length is None:
            raise TypeError(f"{type(self).__name__} has no length: the stream is endless")
        return self.length

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        fields = [field for field in dataclasses.fields(self) if getattr(self, field.name) != field.default]  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in fields)})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    @abstractmethod
    def _rows(self, start: int, stop: int, replay: Replay) -> Rows:
        """Rows ``start`` to ``stop`` of a repetition, in new arrays."""

    def _targets(self, start: int, stop: int, replay: Replay) -> Array | None:
        """The true weights at these rows; None if the target has none."""
        return None

    @abstractmethod
    def _fresh(self, t: int, n: int, rng: np.random.Generator) -> Rows:
        """``n`` independent rows from the distribution of row ``t``."""

    @abstractmethod
    def _seeds(self) -> tuple[int, ...]:
        """The seeds of everything in the stream."""
