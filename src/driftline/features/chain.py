"""Transformers in a row with what they have learned, in native code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from driftline import _core
from driftline.tables.inputs import Array, Name

if TYPE_CHECKING:
    from driftline.features.transformer import Transformer


class Chain:
    """The state of transformers for rows of a known width.

    Args:
        transformers: single ones, which stay as they are.
        width: features of a row.
        largest: the end of the range of the learner behind; a row that leaves it on the way is bad.
    """

    def __init__(self, transformers: Sequence[Transformer], width: int, largest: float = np.finfo(np.float64).max) -> None:
        self.transformers = transformers
        self.stages: list[Any] = []
        for transformer in transformers:
            transformer._check_width(width)
            self.stages.append(transformer._stage(width))
            width = self.stages[-1].outputs
        self._native = _core.TransformChain(self.stages, float(largest))
        #: The row that was looked at last, as one of the stream, becomes one of those seen; given its label. Native, so that
        #: no interrupt can come within.
        self.learn: Callable[[float], None] = self._native.learn

    @property
    def inputs(self) -> int:
        """Features of a row."""
        return int(self._native.inputs)

    @property
    def outputs(self) -> int:
        """Features of a transformed row."""
        return int(self._native.outputs)

    def grow(self, more: int) -> int:
        """So many features more; returns by how many a transformed row grows. Not undone where one of them refuses."""
        for transformer, stage in zip(self.transformers, self.stages, strict=True):
            transformer._check_width(stage.inputs + more)
            before = stage.outputs
            stage.grow(more)
            more = stage.outputs - before
        self._native.make_room()
        return more

    def set_names(self, names: list[Name]) -> None:
        """The names by which mappings are read."""
        self._native.set_names(names)

    def names_out(self, names: list[Name], after: int = -1) -> list[Name]:
        """The names of a transformed row's features, as the last transformer gives them or that of another number."""
        stop = range(len(self.stages))[after] + 1
        for transformer, stage in zip(self.transformers[:stop], self.stages[:stop], strict=True):
            names = transformer._names_out(names, stage)
        return names

    def left(self) -> tuple[int, Array]:
        """Of the row that last left the range: the number of the transformer after which it did, and its values there.

        Between two transformers the range is that of float64, and values within it are given as 0.
        """
        after, values = self._native.left()
        inner = after + 1 < len(self.stages)
        return after, np.where(np.isfinite(values), 0.0, values) if inner else values

    def look(self, x: Any, unknown_allowed: bool = True, alone: bool = False, ahead: int | None = None) -> Array | None:
        """One row transformed; None where it has to be converted first or leaves the range.

        ``alone`` asks for the row by what was learned alone, not as a row of the stream; ``ahead`` says how many rows it
        lies beyond the last label, 1 unless told otherwise.
        """
        row: Array | None = self._native.look(x, unknown_allowed, alone, ahead or 1)
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
        """Rows one by one: transformed, and then, where ``learned``, seen. NaN where a row is not ``whole``.

        A row that misses a value has a place among those seen, unless it comes before the first of them; ``started`` says
        that this one came earlier.

        Returns them and, unless such rows are to be skipped, the place of the first that leaves the range on the way,
        about which :meth:`left` tells more; else their number.
        """
        out = np.empty((len(block), self.outputs))
        rows = np.ascontiguousarray(block, dtype=np.float64)
        return out, int(self._native.run(rows, whole, learned, y, out, skip, alone, started))

    # The way out and in.

    def get_state(self) -> dict[str, Array]:
        """Everything as arrays, a transformer's under its number."""
        return {
            f"t{number}.{name}": array
            for number, stage in enumerate(self.stages)
            for name, array in stage.get_state().items()
        }

    def set_state(self, state: dict[str, Array]) -> None:
        """What :meth:`get_state` gave; ValueError where it is not sound. The chain is a fresh one."""
        for number, stage in enumerate(self.stages):
            prefix = f"t{number}."
            stage.set_state({name[len(prefix) :]: part for name, part in state.items() if name.startswith(prefix)})
