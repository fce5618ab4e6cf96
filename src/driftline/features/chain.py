"""A chain of transformers with their learned state, in native code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from driftline import _core
from driftline.tables.inputs import Array, Name

if TYPE_CHECKING:
    from driftline.features.transformer import Transformer


class Chain:
    """The state of a chain of transformers for rows of a known width.

    Args:
        transformers: single transformers, which are not changed.
        width: the number of features of a row.
        largest: the largest number that the learner can take; a transformed row that exceeds it is bad.
    """

    def __init__(self, transformers: Sequence[Transformer], width: int, largest: float = np.finfo(np.float64).max) -> None:
        self.transformers = transformers
        self.stages: list[Any] = []
        for transformer in transformers:
            transformer._check_width(width)
            self.stages.append(transformer._stage(width))
            width = self.stages[-1].outputs
        self._native = _core.TransformChain(self.stages, float(largest))
        #: Learns the last row that was transformed as a row of the stream, given its label. Native, so that no interrupt can
        #: stop it halfway.
        self.learn: Callable[[float], None] = self._native.learn

    @property
    def inputs(self) -> int:
        """The number of features of a row."""
        return int(self._native.inputs)

    @property
    def outputs(self) -> int:
        """The number of features of a transformed row."""
        return int(self._native.outputs)

    def grow(self, more: int) -> int:
        """Adds features; returns how many a transformed row gains. Not undone if a transformer raises an error."""
        for transformer, stage in zip(self.transformers, self.stages, strict=True):
            transformer._check_width(stage.inputs + more)
            before = stage.outputs
            stage.grow(more)
            more = stage.outputs - before
        self._native.make_room()
        return more

    def set_names(self, names: list[Name]) -> None:
        """Sets the names by which mappings are read."""
        self._native.set_names(names)

    def names_out(self, names: list[Name], after: int = -1) -> list[Name]:
        """The names of a row's features after the transformer with index ``after``, by default the last one."""
        stop = range(len(self.stages))[after] + 1
        for transformer, stage in zip(self.transformers[:stop], self.stages[:stop], strict=True):
            names = transformer._names_out(names, stage)
        return names

    def left(self) -> tuple[int, Array]:
        """For the row that last left the range: the index of the transformer that caused it, and the row after it.

        Between two transformers the range is that of float64, and values inside it are returned as 0.
        """
        after, values = self._native.left()
        inner = after + 1 < len(self.stages)
        return after, np.where(np.isfinite(values), 0.0, values) if inner else values

    def look(self, x: Any, unknown_allowed: bool = True, alone: bool = False, delay: int = 0) -> Array | None:
        """Transforms one row; None if it has to be converted first or leaves the range.

        ``alone`` transforms it by the learned state only, not as the next row of the stream; ``delay`` is the number of
        rows before this one whose labels are not known.
        """
        row: Array | None = self._native.look(x, unknown_allowed, alone, delay)
        return row

    def run(
        self,
        block: Array,
        whole: Array,
        learned: Array | None = None,
        y: Array | None = None,
        skip: bool = False,
        alone: bool = False,
        started: bool = False,
    ) -> tuple[Array, int]:
        """Transforms rows one by one, and learns each if it is ``learned``. Rows that are not ``whole`` become NaN.

        A row with a missing value counts as a row of the stream, unless no complete row came before it; ``started`` says
        that an earlier call had one.

        Returns the rows and the index of the first one that leaves the range (see :meth:`left`), or the number of rows if
        none does or such rows are to be skipped.
        """
        out = np.empty((len(block), self.outputs))
        rows = np.ascontiguousarray(block, dtype=np.float64)
        return out, int(self._native.run(rows, whole, learned, y, out, skip, alone, started))

    # Exporting and importing the state.

    def get_state(self) -> dict[str, Any]:
        """The state as arrays, each transformer's under its number."""
        return {f"t{number}": stage.get_state() for number, stage in enumerate(self.stages)}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restores the result of :meth:`get_state` in a new chain. Raises ValueError if it is invalid."""
        for number, stage in enumerate(self.stages):
            stage.set_state(state.get(f"t{number}", {}))
