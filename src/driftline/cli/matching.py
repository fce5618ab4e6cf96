"""``driftline run --id``: rows wait for their labels, which come by id, in rows or in a file of their own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.cli.beside import Beside
from driftline.cli.scoring import make_plain_scorer
from driftline.cli.tasks import Columns, Task
from driftline.delayed import Pending
from driftline.evaluate.scorer import Scorer
from driftline.files import Block, Rows
from driftline.files.errors import DataError
from driftline.files.follower import REFUSED
from driftline.files.ids import BACK_IN_TIME, Labels, identified, in_order
from driftline.files.raw import RawBlock
from driftline.tables.inputs import Array


class Matching(Task):
    """Predicts rows with ids, and learns each when its label comes.

    Args:
        model: what waits, with its learner.
        level: of the intervals; None for none.
        labels: a file of labels, which is merged with the rows by time; None where rows of the source bring them.
    """

    def __init__(self, model: Pending, level: float | None, labels: Labels | None) -> None:
        super().__init__(model, None)
        self.level, self.labels = level, labels
        self._score = make_plain_scorer(level)
        self._told: list[tuple[float, ...]] = []  # label, prediction, ends and what the baselines said, to be scored
        self._beside = Beside()
        self._latest = -math.inf  # time of the last row
        self.learned = 0  # labels
        self.held = 0  # labels that wait for a row of a later time

    @property
    def score(self) -> Scorer:
        """Of the predictions whose labels have come."""
        return self._score

    @property
    def figures(self) -> dict[str, float | None]:
        """Of the predictions, and of baselines that knew the same labels."""
        return super().figures | self._beside.figures()

    @property
    def learner(self) -> Learner:
        """The learner behind what waits."""
        learner: Learner = self.model.learner
        return learner

    def take(self, block: Block) -> Columns:
        """Rows need their ids, which stand beside the block."""
        raise NotImplementedError

    def take_raw(self, rows: Rows, raw: RawBlock) -> tuple[Columns, str | None]:
        """Predicts the rows that have features, and learns the labels, in the order of the file or of time."""
        found = identified(raw, rows)
        block, numbers = found.block, iter(range(len(found.block)))
        there = dict(zip(found.places.tolist(), numbers, strict=True))
        widths = _widths(block)
        times = None
        if self.labels is not None and len(block):
            times, self.labels.kind = in_order(raw, block, str(rows.options.time))
        said: list[tuple[Any, ...]] = []
        for number, (key, label) in enumerate(zip(found.ids, found.labels.tolist(), strict=True)):
            place = raw.place(number)
            at = there.get(number)
            if at is None or (key in self.model and not math.isnan(label)):
                self._learn(key, label, place)
                continue
            if times is not None:
                self._advance(float(times[at]), place)
            said.append((number, at, key, *self._ask(key, block.X[at, : widths[at]], block.names, place)))
            if not math.isnan(label):
                self._learn(key, label, place)
        self._settle()
        return self._columns(said, raw, block), block.zone

    def _ask(self, key: str, x: Array, names: list[str], place: str) -> tuple[float, ...]:
        if key in self.model:
            raise DataError(f"the id {key!r} is that of an earlier row, which waits for its label", place=place)
        learner = self.learner
        known = len(x) > 0 and learner._core is not None and learner.n_features_in_ == len(x)
        try:
            ticket = self.model._ask(key, x if known else dict(zip(names, x.tolist(), strict=False)), "predict_one")
        except REFUSED as error:
            raise DataError(_words(error), place=place) from error
        self._beside.ask(key)
        ends = (math.nan, math.nan) if self.level is None else ticket.interval(self.level)
        return (ticket.prediction, *ends)

    def _learn(self, key: str, label: float, place: str, source: str = "") -> None:
        ticket = self.model._tickets.get(key)
        try:
            self.model.learn_one(key, label)
        except REFUSED as error:
            raise DataError(_words(error), place=place, source=source) from error
        self.learned += 1
        beside = self._beside.tell(key, label)
        if ticket.labels:  # a start from nothing says little
            ends = (math.nan, math.nan) if self.level is None else ticket.interval(self.level)
            self._told.append((label, ticket.prediction, *ends, *beside))

    def _advance(self, time: float, place: str) -> None:
        """Learns what was known when a row came: the labels of earlier times. Rows of the same time go first."""
        if time < self._latest:
            raise DataError(BACK_IN_TIME, place=place)
        self._latest = time
        self._learn_known()

    def _learn_known(self) -> None:
        assert self.labels is not None
        for line in self.labels.before(self._latest):
            self._learn(line.id, line.y, line.place, self.labels.rows.name)

    def finish(self) -> bool:
        """Learns labels that were added since the last row; whether there were any.

        Labels that are not earlier than the last row are held back: the next row may come before them, and would otherwise
        be predicted with labels from its future.
        """
        before = self.learned
        if self.labels is not None:
            self._learn_known()
            self.held = self.labels.count_left()
        self._settle()
        return self.learned > before

    def _settle(self) -> None:
        self._beside.keep(self.model)
        if self._told:
            y, said, lower, upper, *beside = np.array(self._told).T
            self._told = []
            self._beside.add(y, beside)
            self.score.add(y, said, None if self.level is None else (lower, upper), lambda: np.ones(len(y), dtype=bool))

    def _columns(self, said: list[tuple[Any, ...]], raw: RawBlock, block: Block) -> Columns:
        rows = [row for row, *_ in said]
        columns: Columns = {"row": raw.start + np.array(rows, dtype=np.int64)}
        if block.times is not None:
            columns["time"] = block.times[[at for _, at, *_ in said]]
        columns["id"] = np.array([key for _, _, key, *_ in said], dtype=object)
        numbers = np.array([numbers for _, _, _, *numbers in said], dtype=np.float64).reshape(-1, 3)
        columns["prediction"] = numbers[:, 0]
        if self.level is not None:
            columns |= {"lower": numbers[:, 1], "upper": numbers[:, 2]}
        return columns

    def state(self) -> dict[str, dict[str, Any]]:
        """Sums, and how far the file of labels is done."""
        labels = {} if self.labels is None else {"labels": self.labels.state()}
        own = {"latest": self._latest, "learned": self.learned, "times": None if self.labels is None else self.labels.kind}
        return {"score": self.score.state(), "matching": own, **self._beside.state(), **labels}

    def restore(self, parts: dict[str, dict[str, Any]]) -> None:
        """Back to them."""
        self.score.restore(parts["score"])
        self._beside.restore(parts, self.model)
        own = parts["matching"]
        self._latest, self.learned = float(own["latest"]), int(own["learned"])
        if self.labels is not None:
            self.labels.kind = own["times"]

    def close(self) -> None:
        """Ends the reading of labels."""
        if self.labels is not None:
            self.labels.close()


def _words(error: Exception) -> str:
    """The message without the name of a method, which nobody typed."""
    return str(error).removeprefix("Pending.predict_one: ").removeprefix("Pending.learn_one: ")


def _widths(block: Block) -> list[int]:
    """How many features there are at each row."""
    widths = [0] * len(block)
    for first, last, width in block.between_births():
        widths[first:last] = [width] * (last - first)
    return widths
