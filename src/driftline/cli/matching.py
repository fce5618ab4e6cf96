"""``driftline run --id``: rows wait for their labels, which arrive by id, in later rows or in a separate file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftline._core import Outputs
from driftline.base.clock import goes_by_time
from driftline.base.encoding import each_row
from driftline.base.learner import Learner
from driftline.base.levels import Spread
from driftline.base.ticket import Ticket
from driftline.cli.measures import given_score
from driftline.cli.tasks import Columns, Task, spread_columns
from driftline.delayed import Pending
from driftline.evaluate.baselines import BaselinesById, LastAndMean
from driftline.files import Block, Rows
from driftline.files.errors import DataError
from driftline.files.follower import REFUSED, REFUSED_GAP, note_times, reason_of, refused_gap
from driftline.files.ids import BACK_IN_TIME, Labels, identified, in_order
from driftline.tables.inputs import Array
from driftline.tables.times import Times


class Matching(Task):
    """Predicts rows with ids, and learns each when its label arrives.

    Args:
        model: the waiting rows and their learner.
        spread: the intervals and quantiles.
        labels: a label file, merged with the rows by time; None if rows of the source bring the labels.
    """

    def __init__(self, model: Pending, spread: Spread, labels: Labels | None) -> None:
        super().__init__(model, given_score(LastAndMean.names, spread), None)
        self.spread, self.labels = spread, labels
        self._told: list[tuple[float, ...]] = []  # label, baselines' predictions and the answer, to be scored
        self._baselines = BaselinesById()
        self._latest = -math.inf  # time of the last row
        self.learned = 0  # labels so far
        self.held = 0  # labels that wait for a later row

    @property
    def learner(self) -> Learner:
        """The learner of the waiting rows."""
        learner: Learner = self.model.learner
        return learner

    def take(self, rows: Rows, raw: Block) -> tuple[Columns, str | None]:
        """Predicts the rows that have features, and learns the labels, in file order or time order."""
        found = identified(raw, rows)
        block = found.block
        there = {number: at for at, number in enumerate(found.places.tolist())}
        features = each_row(self.learner, block.X, 0, len(block)) if len(block) else iter(())
        times = None
        if self.labels is not None and len(block):
            times, self.labels.kind = in_order(raw, block, str(rows.options.time))
        if goes_by_time(self.learner):
            note_times(block)
        moments = block.X.times
        answers: list[tuple[Any, ...]] = []
        for number, (key, label) in enumerate(zip(found.ids, found.labels.tolist(), strict=True)):
            place = raw.place(number)
            at = there.get(number)
            x = None if at is None else next(features)
            if at is None or (key in self.model and not math.isnan(label)):
                self._learn(key, label, place)
                continue
            if times is not None:
                self._advance(float(times[at]), place)
            moment = None if moments is None or at is None else moments.take(slice(at, at + 1))
            answers.append((number, at, key, *self._ask(key, x, place, moment)))
            if not math.isnan(label):
                self._learn(key, label, place)
        self._settle()
        return self._columns(answers, raw, block), block.zone

    def _ask(self, key: str, x: Any, place: str, at: Times | None) -> tuple[float, ...]:
        if key in self.model:
            raise DataError(f"the id {key!r} belongs to an earlier row that waits for its label", place=place)
        gap = refused_gap(self.learner, x)
        if gap is not None:
            raise DataError(REFUSED_GAP, place=place, column=gap)
        try:
            ticket = self.model._ask(key, x, "predict_one", at=at)
        except REFUSED as error:
            raise DataError(_words(error), place=place) from error
        self._baselines.ask(key)
        return self._answer(ticket)

    def _answer(self, ticket: Ticket) -> tuple[float, ...]:
        """The prediction, the ends of the interval and the quantiles, as far as they are wanted."""
        return (ticket.prediction, *self.spread.of_ticket(ticket))

    def _outputs(self, answers: Array) -> Outputs:
        """Answers of several rows by columns."""
        out = self.spread.outputs(np.ascontiguousarray(answers[:, 0]))
        self.spread.write(out, slice(None), answers[:, 1:])
        return out

    def _learn(self, key: str, label: float, place: str, source: str = "") -> None:
        ticket = self.model._tickets.get(key)
        try:
            self.model.learn_one(key, label)
        except REFUSED as error:
            raise DataError(_words(error), place=place, source=source) from error
        self.learned += 1
        beside = self._baselines.tell(key, label)
        if ticket.labels:  # predictions of an untrained model are not scored
            self._told.append((label, *beside, *self._answer(ticket)))

    def _advance(self, time: float, place: str) -> None:
        """Learns the labels known when a row came: those of earlier times. At equal times, rows go first."""
        if time < self._latest:
            raise DataError(BACK_IN_TIME, place=place)
        self._latest = time
        self._learn_known()

    def _learn_known(self) -> None:
        assert self.labels is not None
        for line in self.labels.before(self._latest):
            self._learn(line.id, line.y, line.place, self.labels.rows.name)

    def finish(self) -> bool:
        """Learns the labels added since the last row; returns whether there were any.

        Labels not earlier than the last row are held back: the next row may come before them, and would otherwise
        be predicted with labels from its future.
        """
        before = self.learned
        if self.labels is not None:
            self._learn_known()
            self.held = self.labels.count_left()
        self._settle()
        return self.learned > before

    def _settle(self) -> None:
        self._baselines.keep(self.model)
        if self._told:
            told, names, self._told = np.array(self._told), LastAndMean.names, []
            answers = 1 + len(names)
            outputs = self._outputs(told[:, answers:])
            self.score.add(outputs, told[:, 0], baselines=dict(zip(names, told[:, 1:answers].T, strict=True)))

    def _columns(self, answers: list[tuple[Any, ...]], raw: Block, block: Block) -> Columns:
        rows = [row for row, *_ in answers]
        columns: Columns = {"row": raw.start + np.array(rows, dtype=np.int64)}
        if block.times is not None:
            columns["time"] = block.times[[at for _, at, *_ in answers]]
        columns["id"] = np.array([key for _, _, key, *_ in answers], dtype=object)
        width = 1 + self.spread.width
        out = self._outputs(np.array([numbers for _, _, _, *numbers in answers], dtype=np.float64).reshape(-1, width))
        return columns | {"prediction": out.predictions} | spread_columns(out)

    def state(self) -> dict[str, dict[str, Any]]:
        """Sums, and the position in the label file."""
        labels = {} if self.labels is None else {"labels": self.labels.state()}
        own = {"latest": self._latest, "learned": self.learned, "times": None if self.labels is None else self.labels.kind}
        return {"score": self.score.state(), "matching": own, "baselines": self._baselines.state(), **labels}

    def restore(self, parts: dict[str, dict[str, Any]]) -> None:
        """Restores what :meth:`state` returned."""
        self.score.restore(parts["score"])
        self._baselines.restore(parts["baselines"], self.model)
        own = parts["matching"]
        self._latest, self.learned = float(own["latest"]), int(own["learned"])
        if self.labels is not None:
            self.labels.kind = own["times"]

    def close(self) -> None:
        """Stops reading labels."""
        if self.labels is not None:
            self.labels.close()


def _words(error: Exception) -> str:
    """The message, without the method name that the user did not type."""
    return reason_of(error).removeprefix("Pending.predict_one: ").removeprefix("Pending.learn_one: ")
