"""Runs a learner over blocks of rows, with new features, missing labels and late labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from driftline.base.learner import Learner
from driftline.base.model import as_objects
from driftline.base.run import Run
from driftline.delayed.stepper import Stepper
from driftline.files.encoder import Block
from driftline.files.errors import DataError
from driftline.tables.inputs import Array, Name, Table

REFUSED = (ValueError, FloatingPointError)  # what a learner raises for a row that it refuses
ALIGNED = 4096  # a multiple of every distance between snapshots


class Stretch(NamedTuple):
    """Rows of a block with the same features, and their run."""

    X: Array
    y: Array
    times: Array | None
    run: Run
    zone: str | None = None


class Follower:
    """Predicts each row, then learns the row whose label has arrived, by its ticket.

    The learner should have ``missing="skip"``, so that rows without a label are predicted but not learned. It grows by a
    feature when it learns the first row with that feature.

    Args:
        model: the learner.
        delay: how many rows late labels arrive: row t is predicted after rows up to t - delay - 1 were learned.
        level: coverage of the intervals; None for no intervals.
    """

    def __init__(self, model: Learner, *, delay: int = 0, level: float | None = None) -> None:
        self.model, self.delay, self.level = model, delay, level
        self.classes = model._estimator_type == "classifier"
        self.stepper = Stepper(model, delay)

    def step(self, block: Block) -> Run:
        """Predicts and learns the rows of a block."""
        return joined([stretch.run for stretch in self.stretches(block)])

    def stretches(self, block: Block, weights_every: Callable[[int], int] | None = None) -> Iterator[Stretch]:
        """Predicts and learns the rows of a block; yields a stretch for each span of rows with the same features.

        A row that the learner refuses raises a DataError that names its place; the rows before it are learned.

        Args:
            block: the rows.
            weights_every: maps a number of rows to the distance between weight snapshots; None for no snapshots.
        """
        if block.y is None:
            raise ValueError("Follower: the block has no labels")
        for begin, last, width in block.spans():
            while begin < last:  # a few rows at a time until the learner knows all features, then the rest
                as_table = self._takes_tables(block.names[:width])
                size = last - begin if as_table or not width else min(1 + self.delay, last - begin)
                row = block.start + begin
                if weights_every is not None and row & -row < ALIGNED:
                    size = min(size, max(row & -row, 1))  # ends at a row that allows a larger distance between snapshots
                end = begin + size
                X, y = block.X[begin:end, :width], block.y[begin:end]
                every = None if weights_every is None else weights_every(size)
                run = self._follow(X, y, block, begin, every, as_table)
                yield Stretch(X, y, None if block.times is None else block.times[begin:end], run, block.zone)
                begin = end

    def _knows(self, names: list[str]) -> bool:
        """Whether these are the learner's features, in its order, so that rows can be arrays."""
        model = self.model
        return model._core is not None and model._core.features == len(names) > 0 and model._names in (None, names)

    def _takes_tables(self, names: list[str]) -> bool:
        """Whether the learner can take rows as a table: it knows their features, or is about to learn its first row."""
        return self._knows(names) or (bool(names) and not self.delay and self.model._core is None)

    def _follow(self, X: Array, y: Array, block: Block, begin: int, every: int | None, as_table: bool) -> Run:
        """Takes all rows at once if the learner can, otherwise singly; takes a snapshot every ``every`` rows."""
        if as_table and not self.delay:
            names: list[Name] = list(block.names[: X.shape[1]])
            table = Table(np.ascontiguousarray(X), len(X), len(names), names, "Follower")
            with suppress(*REFUSED):  # a refusal leaves the learner as it was
                return self.model.run(table, y, level=self.level, weights_every=every)
        runs: list[Run] = []
        weights, memory, shares = [], [], []
        for start in range(0, len(y), every or len(y)):
            piece = slice(start, start + (every or len(y)))
            runs.append(self._take(X[piece], y[piece], block, begin + start))
            if len(runs[-1]) == every and self.model._core is not None:
                weights.append(self.model._weights)
                memory.append(self.model._memory())
                shares.append(list(self.model._shares().values()))
        whole = every is not None and len(weights) == len(y) // every and len({len(each) for each in weights}) == 1
        return replace(
            joined(runs),
            weights=np.array(weights) if whole else None,
            memory=np.array(memory, dtype=np.float64) if whole and None not in memory else None,
            shares=np.array(shares) if whole and shares and shares[0] else None,
            experts=tuple(self.model._shares()) if whole and shares and shares[0] else (),
            weights_every=every if whole else None,
        )

    def _take(self, X: Array, y: Array, block: Block, begin: int) -> Run:
        """Takes rows as a table if labels are late and the learner knows all features; otherwise singly."""
        skipped, names, stepper = self.model.n_skipped_, block.names[: X.shape[1]], self.stepper
        try:
            if self.delay and not self.classes and self._knows(names):
                out = stepper.table(np.ascontiguousarray(X), y, level=self.level, start=None)
                return _run(y, out.predictions, out.lower, out.upper, skipped=self.model.n_skipped_ - skipped)
            rows = (x if self._knows(names) else block.row(row, len(names)) for row, x in enumerate(X, begin))
            predicted, ends = stepper.rows(rows, y.tolist(), self.level)
        except REFUSED as error:
            row = begin + stepper.at
            place = block.place(row) if row >= 0 else f"row {block.start + row:,}"
            raise DataError(str(error), place=place, row=block.start + row) from error
        answers = as_objects(predicted) if self.classes else np.array(predicted, dtype=np.float64)
        return _run(y, answers, *np.array(ends, dtype=np.float64).T, skipped=self.model.n_skipped_ - skipped)

    def state(self) -> dict[str, Array]:
        """The rows that wait for their labels."""
        return self.stepper.state()

    def restore(self, state: dict[str, Array]) -> None:
        """Restores the rows that waited for their labels."""
        self.stepper.restore(state)


def _run(y: Array, predicted: Array, lower: Array | None = None, upper: Array | None = None, *, skipped: int) -> Run:
    if predicted.dtype == object:
        missed = [
            np.nan if label is None or each is None else float(label != each)
            for label, each in zip(y, predicted, strict=True)
        ]
        return Run(predicted, np.array(missed, dtype=np.float64), skipped=skipped)
    with np.errstate(over="ignore"):
        return Run(predicted, y - predicted, lower, upper, skipped=skipped)


def follow(
    model: Learner, blocks: Iterable[Block], *, delay: int = 0, level: float | None = None
) -> Iterator[tuple[Block, Run]]:
    r"""Predicts, then learns, the blocks of :func:`open_rows`; yields each block with its :class:`~driftline.Run`.

    >>> import tempfile, pathlib
    >>> import driftline as dl
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "sales.csv"
    >>> lines = [f"{'shop' if t % 2 else 'stall'},{t % 7},{10 + t % 7 + 5 * (t % 2)}" for t in range(500)]
    >>> _ = path.write_text("\n".join(["where,weekday,sales", *lines]))
    >>> model = dl.RLS(missing="skip")
    >>> for block, run in dl.files.follow(model, dl.files.open_rows(path, target="sales")):
    ...     print(len(run), block.names)
    500 ['where=stall', 'weekday', 'where=shop']
    >>> round(model.predict_one({"where=shop": 1, "weekday": 3}), 1)
    18.0
    """
    follower = Follower(model, delay=delay, level=level)
    for block in blocks:
        yield block, follower.step(block)


def joined(runs: list[Run]) -> Run:
    """Concatenates runs, without their weight snapshots, whose width may change."""
    if len(runs) == 1:
        return runs[0]

    def all_of(name: str) -> Array:
        return np.concatenate([getattr(run, name) for run in runs])

    starts = np.cumsum([0, *(len(run) for run in runs)])
    bounded = bool(runs) and runs[0].lower is not None
    return Run(
        predictions=all_of("predictions"),
        errors=all_of("errors"),
        lower=all_of("lower") if bounded else None,
        upper=all_of("upper") if bounded else None,
        resets=np.concatenate([run.resets + start for run, start in zip(runs, starts, strict=False)]),
        skipped=sum(run.skipped for run in runs),
    )
