"""Runs a learner over blocks of rows, with new features, missing labels and late labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from driftline._core import Outputs
from driftline.base.clock import goes_by_time
from driftline.base.encoding import each_row
from driftline.base.learner import Learner
from driftline.base.levels import NO_SPREAD, Levels, Spread, arrays_of, as_spread
from driftline.base.model import as_objects
from driftline.base.run import Run
from driftline.delayed.stepper import Stepper
from driftline.errors import RowRefusedError
from driftline.files.errors import DataError
from driftline.files.raw import Block
from driftline.tables import missing
from driftline.tables.inputs import Array
from driftline.tables.missing import RAISE
from driftline.tables.times import times_of

REFUSED = (ValueError, FloatingPointError)  # what a learner raises for a row that it refuses
REFUSED_GAP = "the value is missing, which --missing raise refuses"
ALIGNED = 4096  # a multiple of every distance between snapshots


class Follower:
    """Predicts each row, then learns the row whose label has arrived, by its ticket.

    The learner's ``missing`` should not be "raise", so that rows without a label are predicted but not learned.

    Args:
        model: the learner.
        delay: how many rows late labels arrive: row t is predicted after rows up to t - delay - 1 were learned.
        spread: the intervals and quantiles.
    """

    def __init__(self, model: Learner, *, delay: int = 0, spread: Spread = NO_SPREAD) -> None:
        self.model, self.delay, self.spread = model, delay, spread
        self.classes = model._estimator_type == "classifier"
        self.stepper = Stepper(model, delay)

    def step(self, block: Block, weights_every: int | None = None) -> Run:
        """Predicts and learns the rows of a block, all at once if the learner can, otherwise singly.

        A row that the learner refuses raises a DataError that names its place; the rows before it are learned.
        """
        if block.y is None:
            raise ValueError("Follower: the block has no labels")
        if goes_by_time(self.model):
            note_times(block)
        if not self.delay:
            with suppress(*REFUSED):  # a refusal leaves the learner as it was
                spread = self.spread
                return self.model.run(
                    block.X, block.y, level=spread.level, quantiles=spread.quantiles, weights_every=weights_every
                )
            weights_every = None
        every, skipped = weights_every or len(block), self.model.n_skipped_
        out = self.spread.outputs(np.empty(len(block), dtype=object if self.classes else np.float64))
        snapshots = []
        for begin in range(0, len(block), every):
            end = min(begin + every, len(block))
            self._take(block, begin, end, out)
            if end - begin == weights_every and self.model._core is not None:
                snapshots.append((self.model._weights, self.model._memory(), [*self.model._experts()[0].values()]))
        run = _run(block.y, out, self.model.n_skipped_ - skipped)
        whole = len({len(weights) for weights, *_ in snapshots}) == 1 and len(snapshots) == len(block) // every
        return self._with_snapshots(run, snapshots, every) if whole else run

    def _with_snapshots(self, run: Run, snapshots: list[tuple[Any, ...]], every: int) -> Run:
        weights, memory, shares = zip(*snapshots, strict=True)
        return replace(
            run,
            weights=np.array(weights),
            memory=None if None in memory else np.array(memory, dtype=np.float64),
            shares=np.array(shares) if shares[0] else None,
            experts=tuple(self.model._experts()[0]) if shares[0] else (),
            weights_every=every,
        )

    def _take(self, block: Block, begin: int, end: int, out: Outputs) -> None:
        """Takes rows at once if labels are late, otherwise singly."""
        y: Any = None if block.y is None else block.y[begin:end]
        try:
            if self.delay and not self.classes:
                found = self.stepper.table(block.X[begin:end], y, spread=self.spread, start=None)
                for whole, part in zip(arrays_of(out), arrays_of(found), strict=True):
                    whole[begin:end] = part
                return
            predicted, spreads = self.stepper.rows(
                each_row(self.model, block.X, begin, end), y.tolist(), self.spread, 0, block.X[begin:end].times
            )
        except REFUSED as error:
            raise self._refused(block, begin + self.stepper.at, error) from error
        out.predictions[begin:end] = as_objects(predicted) if self.classes else predicted
        self.spread.write(out, slice(begin, end), spreads)

    def _refused(self, block: Block, row: int, error: Exception) -> DataError:
        """The error for a row that the learner refused."""
        if row < 0:
            return DataError(reason_of(error), place=f"row {block.start + row:,}", row=block.start + row)
        gap = refused_gap(self.model, next(each_row(self.model, block.X, row, row + 1)))
        words = reason_of(error) if gap is None else REFUSED_GAP
        return DataError(words, place=block.place(row), row=block.start + row, column=gap)

    def state(self) -> dict[str, Array]:
        """The rows that wait for their labels."""
        return self.stepper.state()

    def restore(self, state: dict[str, Array]) -> None:
        """Restores the rows that waited for their labels."""
        self.stepper.restore(state)


def note_times(block: Block) -> None:
    """Gives the rows their times, for a learner that goes by them."""
    if block.times is not None and len(block):
        block.X.times = times_of(block.times, len(block), "the times", zone=block.zone is not None)


def refused(model: Learner, block: Block, error: Exception) -> DataError:
    """The error for a block of which a row is refused: names the row if a value is missing."""
    for row, x in enumerate(each_row(model, block.X, 0, len(block))):
        gap = refused_gap(model, x)
        if gap is not None:
            return DataError(REFUSED_GAP, place=block.place(row), row=block.start + row, column=gap)
    number = getattr(error, "row", None)
    place = f"from {block.place(0)} on" if number is None else block.place(number - block.start)
    return DataError(reason_of(error), place=place, row=block.start if number is None else number)


def reason_of(error: Exception) -> str:
    """Why a learner refused a row, without the name of the method if the label is the reason."""
    return error.reason if isinstance(error, RowRefusedError) and error.of_label else str(error)


def refused_gap(model: Learner, x: Mapping[Any, Any]) -> str | None:
    """The first column without a value, in a row of a learner that refuses this; None if there is none."""
    gaps = (name for name, value in x.items() if value is None or value != value)
    return next((str(name) for name in gaps if missing.word(model.missing, name) == RAISE), None)


def _run(y: Array, out: Outputs, skipped: int) -> Run:
    if out.predictions.dtype == object:
        missed = [
            np.nan if label is None or each is None else float(label != each)
            for label, each in zip(y, out.predictions, strict=True)
        ]
        return Run(out.predictions, np.array(missed, dtype=np.float64), skipped=skipped)
    with np.errstate(over="ignore"):
        errors = y - out.predictions
    return Run(
        out.predictions, errors, out.lower, out.upper, quantiles=out.quantiles, quantile_levels=out.quantile_levels,
        skipped=skipped,
    )  # fmt: skip


def follow(
    model: Learner,
    blocks: Iterable[Block],
    *,
    delay: int = 0,
    level: float | None = None,
    quantiles: Levels | None = None,
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
    500 ['where', 'weekday']
    >>> round(model.predict_one({"where": "shop", "weekday": 3}), 1)
    18.0
    """
    follower = Follower(model, delay=delay, spread=as_spread("follow", level, quantiles))
    for block in blocks:
        yield block, follower.step(block)
