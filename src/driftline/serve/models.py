"""The models of the service: checks calls, and applies them, live or when the log is replayed."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from itertools import islice
from math import nan
from threading import local
from typing import Any, NamedTuple, TypeVar

import numpy as np

from driftline.base.learner import Learner
from driftline.base.levels import Spread, as_spread
from driftline.base.run import Run
from driftline.ensembles.classifier import Classifier
from driftline.errors import RowRefusedError
from driftline.fleet import Fleet, FleetTicket
from driftline.serve.classes import ClassAnswer, Classes
from driftline.serve.latest import KEPT, Chunk, Latest
from driftline.serve.learners import UNTRAINED, Served, base_of, untrained
from driftline.serve.limits import Limits
from driftline.serve.problems import Problem
from driftline.serve.raw import Json
from driftline.serve.requests import BatchTable, Label, Row
from driftline.serve.scores import LARGEST, Scores
from driftline.serve.unit import Answer, Naive, RowByRowError, ScoredLabel, Unit, WaitingRow, answers_of
from driftline.tables import missing
from driftline.tables.inputs import Array
from driftline.tables.missing import RAISE

_REFUSALS = (ValueError, TypeError, FloatingPointError)
at_work = local()  # `model`: the name of the model that the thread learned with last, for warnings
_SHOWN = 12  # weights for the live page
_PIECE = 100  # rows of a table that are learned without interruption


@dataclass(frozen=True, slots=True)
class Told:
    """The record of an id whose label was learned."""

    id: str
    key: str
    digest: bytes
    y: float
    answer: Answer


class EarlyLabel(NamedTuple):
    """A label that waits for its row."""

    key: str
    y: float


T = TypeVar("T")
Steps = Generator[None, None, T]  # work that other calls may interrupt at each yield, except for changes of the same model
Number = Callable[[], int]  # that of the log entry, if the call ended now
Remembered = Callable[[str], Told | None]
Refused = dict[int, Problem] | None


def _spread_of(config: dict[str, Any]) -> Spread:
    try:
        return as_spread("Model", config["level"], config.get("quantiles"))
    except ValueError as error:
        raise Problem(422, str(error).removeprefix("Model: "), field="quantiles") from None


class Model:
    """A served model: one learner, or one for each key.

    Args:
        number: distinguishes it from an earlier model of the same name.
        config: the configuration of the request that created it.
        since: when it was created, in seconds since 1970.
    """

    def __init__(self, number: int, name: str, config: dict[str, Any], since: float, limits: Limits) -> None:
        self.number, self.name, self.config, self.since, self.limits = number, name, config, since, limits
        self.spread = _spread_of(config)
        self.base = base_of(config)
        self.base.to_bytes()  # refuses a model that cannot be saved
        self.classes = Classes([], limits.classes) if isinstance(self.base, Classifier) else None
        if isinstance(self.base, Classifier):
            self._meet(self.base.classes or ())
        self.units: dict[str, Unit] = {}
        self.shared = not config["keyed"] or isinstance(self.base, Fleet)  # whether all rows are learned by one unit
        if self.shared:
            self._join({"": self._new_unit("")})
        self.scores = Scores()
        self.ids: dict[str, str] = {}  # ids of waiting rows, the oldest first, and their keys
        self.early: dict[str, EarlyLabel] = {}  # by id, the oldest first
        self.labels = 0  # labels that came with an id
        self.learned = 0  # rows since the service started
        self.changed: set[str] = set()  # keys whose units changed since the last log entry
        self.latest = Latest()
        self.alarms: deque[tuple[int, dict[str, Any]]] = deque(maxlen=KEPT)

    def _new_unit(self, key: str) -> Unit:
        unit = Unit(key, untrained(self.base), self.spread)
        unit.classes = self.classes
        return unit

    def snapshot(self, key: str) -> bytes:
        """A unit and its score."""
        unit = self.units[key]
        return unit.to_bytes(self.scores.unit_state(unit.number))

    def add(self, snapshot: bytes) -> None:
        """Adds a unit from a snapshot; call :meth:`order_ids` after the last one."""
        unit, sums = Unit.from_bytes(snapshot)
        self.units.pop(unit.key, None)
        self._join({unit.key: unit})
        self.scores.restore_unit(unit.number, sums)

    def _join(self, made: dict[str, Unit]) -> None:
        """Adds new units."""
        for unit in made.values():
            unit.number, unit.classes = len(self.units), self.classes
            self.units[unit.key] = unit

    def restore_classes(self, labels: list[Label]) -> None:
        """Restores the classes of a model that classifies."""
        assert self.classes is not None
        self.classes.restore(labels)

    def meet_classes(self) -> None:
        """Adds the classes that learners of a file have learned."""
        for unit in self.units.values():
            if isinstance(unit.learner, Classifier) and unit.learner._core is not None:
                self._meet(unit.learner.classes_.tolist())

    def _meet(self, labels: Iterable[Any]) -> None:
        assert self.classes is not None
        for label in labels:
            if not isinstance(label, (float, int, str)):  # JSON's values, among which booleans are whole numbers
                raise Problem(422, f"a class must be a number, a text or a boolean, got {label!r:.100}", field="params")
            self.classes.number(label)

    def order_ids(self) -> None:
        """Restores the order of the waiting rows from the units."""
        rows = [(row.asked, id, _key_of(row, unit)) for unit in self.units.values() for id, row in unit.waiting.items()]
        self.ids = {id: key for _, id, key in sorted(rows)}

    # What a call means: which of its rows have an effect.

    def new_questions(
        self, rows: Sequence[Row], remembered: Remembered, refused: Refused = None
    ) -> tuple[list[int], list[Answer | None]]:
        """The rows that will wait, and the answers to those that are known already; Problem 409 for those that differ.

        Problems are collected in ``refused``, by the places of their rows, and raised if that is None.
        """
        new, answers, batch = [], [], dict[str, Row]()
        for index, row in enumerate(rows):
            answer: Answer | None = None
            try:
                self._check_key(row, index, needed=True)
                if row.id is not None:
                    waiting = self.waiting(row.id)
                    told = None if waiting is not None else remembered(row.id)
                    first = batch.setdefault(row.id, row)
                    if waiting is not None:
                        self._refuse_other(row, index, self.ids[row.id], waiting.digest)
                        answer = waiting.answer
                    elif told is not None:
                        self._refuse_other(row, index, told.key, told.digest)
                        answer = told.answer
                    elif first is row:
                        new.append(index)
                    else:
                        self._refuse_other(row, index, first.key, first.digest())
            except Problem as problem:
                collect(refused, index, problem)
                _forget(batch, row)
            answers.append(answer)
        return new, answers

    def new_labels(
        self, rows: Sequence[Row], remembered: Remembered, refused: Refused = None
    ) -> tuple[list[int], list[int]]:
        """The rows to learn, and the labels that wait for their rows; the others are known already.

        Problem 404 or 409 if an id does not fit; as :meth:`new_questions`.
        """
        if isinstance(rows, BatchTable) and not self.config["keyed"] and self._are_new(rows.ids or [], remembered):
            return list(range(len(rows))), []
        new, early, batch = list[int](), list[int](), dict[str, Row]()
        for index, row in enumerate(rows):
            if refused and index in refused:
                continue
            try:
                if self.classes is None and type(row.y) is not float:
                    raise Problem(422, f"y must be a finite number, got {json.dumps(row.y)[:100]}", row=index, field="y")
                self._check_key(row, index, needed=row.x is not None)
                found = "new" if row.id is None else self._judged(row.id, row, index, batch, remembered)
            except Problem as problem:
                collect(refused, index, problem)
                _forget(batch, row)
                continue
            if found != "known":
                (new if found == "new" else early).append(index)
        return new, early

    def _are_new(self, ids: list[str], remembered: Remembered) -> bool:
        """Whether each id is new, and none has a label that waits for its row."""
        return (
            not (self.early and ids)
            and len(set(ids)) == len(ids)
            and not any(id in self.ids or remembered(id) is not None for id in ids)
        )

    def _judged(self, id: str, row: Row, index: int, batch: dict[str, Row], remembered: Remembered) -> str:
        """Whether a label with an id is new, early or known."""
        waiting, first = self.waiting(id), batch.setdefault(id, row)
        told = remembered(id) if waiting is None else None
        if first is not row:
            if (first.y, first.key or row.key, first.x or row.x) != (row.y, row.key or first.key, row.x or first.x):
                words = f"the id {id!r} appears twice in the batch, with different content"
                raise Problem(409, words, row=index, field="id")
            return "known"
        if told is not None:
            self._refuse_other(row, index, told.key, told.digest)
            if row.y != told.y:
                raise Problem(409, f"the id {id!r} was already learned with another label", row=index, field="y")
            return "known"
        if waiting is not None:
            self._refuse_other(row, index, self.ids[id], waiting.digest)
            return "new"
        before = self.early.get(id)
        if before is not None and before.y != row.y:
            raise Problem(409, f"another label of the id {id!r} already waits for its row", row=index, field="y")
        if row.x is not None:
            return "new"
        if not self.limits.early:
            raise Problem(404, f"no row with the id {id!r} is waiting for its label", row=index, field="id")
        return "early" if before is None else "known"

    def waiting(self, id: str) -> WaitingRow | None:
        """The row that waits under an id."""
        key = self.ids.get(id)
        return None if key is None else self.units[self._home(key)].waiting[id]

    def _home(self, key: str) -> str:
        """The unit of a key."""
        return "" if self.shared else key

    def _check_key(self, row: Row, index: int, *, needed: bool) -> None:
        if row.key and not self.config["keyed"]:
            raise Problem(422, f"the model {self.name} is not keyed", row=index, field="key")
        if needed and not row.key and self.config["keyed"]:
            raise Problem(422, f"the model {self.name} is keyed, but the row has no key", row=index, field="key")

    def _refuse_other(self, row: Row, index: int, key: str, digest: bytes) -> None:
        if row.key and row.key != key:
            raise Problem(409, f"the id {row.id!r} was already used with another key", row=index, field="key")
        if row.x is not None and row.digest() != digest:
            raise Problem(409, f"the id {row.id!r} was already used with other features", row=index, field="x")

    # The effect of a call, live or in a replay of the log.

    def ask(self, row: Row, index: int) -> Answer:
        """Answers a row without an id."""
        return self._asked(self._unit(row.key, {}), row, index)[1]

    def wait(
        self, rows: Sequence[Row], new: list[int], overdue: list[str] | None, number: Number, refused: Refused = None
    ) -> Steps[tuple[list[tuple[int, Answer]], list[str]]]:
        """Answers rows, which then wait for their labels: all or none, or those that are not ``refused``.

        If too many rows wait, the oldest are dropped: those that ``overdue`` names, in a replay. Returns the answers and the
        ids of the dropped rows. Units that know the entry already, from a snapshot, are skipped.
        """
        made: dict[str, Unit] = {}
        asked, left = [], []
        for index in new:
            row = rows[index]
            try:
                unit = self._unit(row.key, made)
                if unit.place < number():
                    asked.append((index, row, unit, *self._asked(unit, row, index)))
            except Problem as problem:
                collect(refused, index, problem)
            if index != new[-1]:
                yield
        entry = number()
        found = [
            (row.id or "", unit, WaitingRow(ticket, row.digest(), answer, unit.past.predict(), (entry, index)))
            for index, row, unit, ticket, answer in asked
        ]
        self._join({unit.key: unit for _, unit, _ in found if unit.key in made})
        if overdue is None:
            overdue = list(islice(self.ids, max(len(self.ids) + len(found) - self.limits.waiting, 0)))
        for id in overdue:
            if id in self.ids and self.units[self._home(self.ids[id])].place < entry:
                left.append(self.units[self._home(self.ids.pop(id))])
                del left[-1].waiting[id]
                left[-1].dropped += 1
        for id, unit, waiting in found:
            unit.waiting[id] = waiting
            self.ids[id] = rows[waiting.asked[1]].key
        for unit in [*left, *(unit for _, unit, _ in found)]:
            self._touch(unit, entry)
        return [(waiting.asked[1], waiting.answer) for _, _, waiting in found], overdue

    def said(self, answer: Answer) -> Answer | ClassAnswer:
        """An answer as the caller sees it."""
        if self.classes is None:
            return answer
        label = None if answer.prediction is None else self.classes.labels[int(answer.prediction)]
        chances = {self.classes.labels[number]: chance or 0.0 for number, chance in enumerate(answer.quantiles or ())}
        return ClassAnswer(label, chances)

    def _touch(self, unit: Unit, entry: int) -> None:
        unit.place = entry
        self.changed.add(unit.key)

    def correct(self, id: str, answer: Answer) -> None:
        """Replaces a recomputed answer by the one that was given."""
        waiting = self.waiting(id)
        assert waiting is not None
        waiting.answer = answer

    def learn(
        self, rows: Sequence[Row], new: list[int], number: Number, at: float, refused: Refused = None
    ) -> Steps[list[Told]]:
        """Learns rows in order, all or none, or those that are not ``refused``; returns the records of those with ids.

        Units that know the entry already, from a snapshot, are skipped.
        """
        if isinstance(rows, BatchTable) and len(new) == len(rows):
            learned = yield from self._learn_table(rows, number, at)
            if learned is not None:
                return learned
        made: dict[str, Unit] = {}
        todo = []
        for index in new:
            row = rows[index]
            key = row.key or self.ids.get(row.id or "", "")
            try:
                unit = self._unit(key, made) if key or not self.config["keyed"] else None
            except Problem as problem:
                collect(refused, index, problem)
                continue
            # A keyed row that no longer waits was learned before the snapshot.
            if unit is not None and unit.place < number():
                todo.append((index, row, unit, key))
        outcomes: dict[str, list[ScoredLabel]] = {}
        told = []
        with ExitStack() as stack:
            for index, row, unit, key in todo:
                if len(todo) > 1:  # a single row is all or nothing by itself
                    if unit.before is None:
                        stack.enter_context(unit.undo())
                    yield
                waiting = unit.waiting.get(row.id) if row.id is not None else None
                try:
                    outcome, digest = self._learned(unit, row, index, waiting, key)
                except Problem as problem:
                    collect(refused, index, problem)
                    continue
                outcomes.setdefault(unit.key, []).append(outcome)
                if row.id is not None:
                    told.append(Told(row.id, key, digest, outcome.y, outcome.answer))
        self._join({key: unit for key, unit in made.items() if key in outcomes})
        self._settle(told, outcomes, number(), at)
        return told

    def _learn_table(self, block: BatchTable, number: Number, at: float) -> Steps[list[Told] | None]:
        """Learns a table in pieces, bit for bit as row by row; returns None, and learns nothing, if it has to go row by row.

        Otherwise returns the records of its ids.
        """
        if self.config["keyed"] or (block.ids is not None and not self.ids.keys().isdisjoint(block.ids)):
            return None
        unit = self.units[""]
        if unit.place >= number():
            return []
        if not float(np.abs(block.y).max()) <= LARGEST or (block.ids is not None and self.spread.quantiles is not None):
            return None
        runs, at_work.model = [], self.name
        try:
            with unit.undo() if len(block) > _PIECE else nullcontext():  # a single piece is all or nothing by itself
                for start in range(0, len(block), _PIECE):
                    rows = slice(start, start + _PIECE)
                    runs.append((block.y[rows], unit.learn_table(block.names, block.X[rows], block.y[rows])))
                    if rows.stop < len(block):
                        yield
        except RowByRowError:
            return None
        entry = number()
        for y, run in runs:
            unit.unscored += self.scores.add(unit.number, entry, at, y, run, unit.past.run(y))
            self._learned_rows(unit, run.errors, run, entry, at, y)
        if block.ids is None:
            return []
        said = (answer for _, run in runs for answer in answers_of(run))
        of_ids = zip(block.ids, block.digests(), block.y.tolist(), said, strict=True)
        return [Told(id, "", digest, y, answer) for id, digest, y, answer in of_ids]

    def _settle(self, told: list[Told], outcomes: dict[str, list[ScoredLabel]], entry: int, at: float) -> None:
        """Records what was learned: ids that no longer wait, scores, alarms."""
        for row in told:
            self.units[self._home(row.key)].waiting.pop(row.id, None)
            self.ids.pop(row.id, None)
        for key, of_unit in outcomes.items():
            unit, errors = self.units[key], list[float]()
            for outcome in of_unit:
                naive = unit.past.learn(outcome.y) if abs(outcome.y) <= LARGEST else unit.past.predict()
                y, answer, known = outcome.y, outcome.answer, outcome.naive or naive
                if self.classes is not None:  # as if the label were 1, and a prediction 1 if it is right and 0 if not
                    y, answer, known = _right(y, answer, known)
                unit.unscored += not self.scores.add_one(unit.number, entry, at, y, answer, known)
                errors.append(nan if answer.prediction is None else y - answer.prediction)
            self._learned_rows(unit, errors, of_unit, entry, at)

    def _learned_rows(
        self, unit: Unit, errors: Any, scored: list[ScoredLabel] | Run, entry: int, at: float, y: Array | None = None
    ) -> None:
        """Watches the errors of a unit, and keeps its latest rows for the live page."""
        self._touch(unit, entry)
        before = unit.rows
        self.alarms.extend((self.learned, {"key": unit.key, "row": row, "at": at}) for row in unit.watch(errors, at))
        self.latest.add(Chunk(self.learned, before, unit.key, scored, y))
        self.learned += len(errors)

    def _learned(self, unit: Unit, row: Row, index: int, waiting: WaitingRow | None, key: str) -> tuple[ScoredLabel, bytes]:
        assert type(row.y) is float
        at_work.model = self.name
        label = row.y if self.classes is None else self.classes.labels[int(row.y)]
        if isinstance(unit.learner, Fleet) and key not in unit.learner:
            self._refuse_more_keys(len(unit.learner))
        try:
            if waiting is not None:
                unit.tell(waiting.ticket, label)
                return ScoredLabel(waiting.answer, waiting.naive, row.y), waiting.digest
            assert row.x is not None
            self._check_width(unit, row, index)
            return ScoredLabel(
                unit.learn(row.x, label, key, row.at), None, row.y
            ), row.digest() if row.id is not None else b""
        except _REFUSALS as error:
            raise _refused(unit, row, index, error) from None

    def _asked(self, unit: Unit, row: Row, index: int) -> tuple[Any, Answer]:
        assert row.x is not None
        if row.id is not None:
            self._check_width(unit, row, index)
        try:
            return unit.ask(row.x, row.key, row.at)
        except _REFUSALS as error:
            raise _refused(unit, row, index, error) from None

    def _check_width(self, unit: Unit, row: Row, index: int) -> None:
        assert row.x is not None
        if unit.too_wide(row.x, self.limits.features):
            words = f"the model {self.name} would have more than {self.limits.features} features"
            raise Problem(422, words, row=index, field="x")

    def forecast(self, rows: Sequence[Row]) -> Steps[list[Answer]]:
        """The next rows, all of one key."""
        if self.config["steps"] is None:
            raise Problem(409, f"the model {self.name} has no steps: it does not forecast")
        for index, row in enumerate(rows):
            self._check_key(row, index, needed=True)
            if row.key != rows[0].key:
                raise Problem(422, "all rows of a forecast must have the same key", row=index, field="key")
        unit = self._unit(rows[0].key, {})
        try:
            for step in range(min(len(rows), self.config["steps"])):
                unit.get_ready(step)
                yield
            return unit.forecast([row.x for row in rows if row.x is not None])
        except _REFUSALS as error:
            raise Problem(422, str(error), field="rows") from None

    def _unit(self, key: str, made: dict[str, Unit]) -> Unit:
        """The unit of a key. A new one is added to ``made``, not to the model."""
        key = self._home(key)
        unit = self.units.get(key) or made.get(key)
        if unit is None:
            self._refuse_more_keys(len(self.units) + len(made))
            unit = made[key] = self._new_unit(key)
        return unit

    def _refuse_more_keys(self, known: int) -> None:
        if known >= self.limits.keys:
            raise Problem(422, f"the model {self.name} already has {self.limits.keys} keys, the maximum", field="key")

    # Status.

    def status(self, key: str | None = None) -> dict[str, Any]:
        """The answer of ``GET /v1/models/{name}``, for all keys or for one."""
        return self.summary(key) | ({"recent": self.scores.recent()} if key is None else {})

    def summary(self, key: str | None = None) -> dict[str, Any]:
        """The status without the latest hours, for the list of models."""
        units = list(self.units.values()) if key is None else [self._known(key)]
        memory = _memory(units[0].shown) if len(units) == 1 else None
        alarmed = max((u for u in units if u.last_alarm is not None), key=lambda u: u.last_alarm_at or 0.0, default=None)
        config = {part: value for part, value in self.config.items() if part != UNTRAINED}
        found = {
            "name": self.name, **config, "since": self.since, **self._counts(units),
            **self.scores.of(np.array([unit.number for unit in units], dtype=np.int64)),
            "last_alarm": None if alarmed is None else {"row": alarmed.last_alarm, "at": alarmed.last_alarm_at},
            "memory": memory, "weights": _weights(units[0].shown) if len(units) == 1 else None,
        }  # fmt: skip
        if self.classes is not None:
            found["classes"] = self.classes.labels
        if key is not None:
            return found
        found["early"] = len(self.early)
        if self.config["keyed"]:
            fleet = units[0].shown if self.shared else self.units
            found["keys"] = len(fleet) if isinstance(fleet, (Fleet, dict)) else 1
        return found

    def counters(self) -> dict[str, Any]:
        """The numbers that Prometheus reads."""
        return {**self._counts(list(self.units.values())), "early": len(self.early), "sums": self.scores.sums()}

    def _counts(self, units: list[Unit]) -> dict[str, int]:
        return {
            "rows": sum(unit.rows for unit in units),
            "unscored": sum(unit.unscored for unit in units),
            "alarms": sum(unit.alarms for unit in units),
            "waiting": sum(len(unit.waiting) for unit in units),
            "dropped": sum(unit.dropped for unit in units),
        }

    def news(self, seen: int, key: str | None) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
        """Changes since an earlier count of learned rows: the count now, the status with the latest rows, and the alarms."""
        seen = seen if seen <= self.learned else 0  # counted before the models were read again
        alarms = [alarm for learned, alarm in self.alarms if learned >= seen and key in (None, alarm["key"])]
        return self.learned, {**self.status(key), "latest": self.latest.since(seen, key)}, alarms

    def _known(self, key: str) -> Unit:
        if self.shared and key:
            raise Problem(422, f"the keys of the model {self.name} have no figures of their own", field="key")
        if key not in self.units:
            raise Problem(404, f"the model {self.name} has no key {key!r}", field="key")
        return self.units[key]

    def export(self, key: str | None) -> bytes:
        """The model file of the learner."""
        if isinstance(fleet := self.units[""].shown if self.shared else None, Fleet) and key is not None:
            if key not in fleet:
                raise Problem(404, f"the model {self.name} has no key {key!r}", field="key")
            return fleet[key].to_bytes()
        if not self.shared and key is None:
            raise Problem(422, f"the model {self.name} is keyed: say which key, as in export?key=…", field="key")
        return self._known(key or "").shown.to_bytes()


def finished(steps: Steps[T]) -> T:
    """The result of work that nothing interrupts."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found


def _key_of(row: WaitingRow, unit: Unit) -> str:
    return str(row.ticket.key) if isinstance(row.ticket, FleetTicket) else unit.key


def _right(y: float, answer: Answer, naive: Naive) -> tuple[float, Answer, Naive]:
    """A class, its prediction and the baselines, as numbers that are scored: 1, and 1 for a prediction that is right.

    There is no mean of classes, and the class before the first is not known.
    """
    said, (last, _) = answer.prediction, naive
    right = Answer(None if said is None else float(said == y), None, None)
    return 1.0, right, (nan if last != last else float(last == y), nan)


def collect(refused: Refused, index: int, problem: Problem) -> None:
    """Collects the problem of a row, or raises it if problems are not collected."""
    if refused is None:
        raise problem
    refused[index] = problem


def _forget(batch: dict[str, Row], row: Row) -> None:
    """Lets the next row of a batch with the id of a refused one stand for itself."""
    if row.id is not None and batch.get(row.id) is row:
        del batch[row.id]


def _refused(unit: Unit, row: Row, index: int, error: Exception) -> Problem:
    """The problem of a row that a learner refuses."""
    of_label = isinstance(error, RowRefusedError) and error.of_label
    field = "y" if of_label or row.x is None else _refused_field(row.x, unit.learner)
    return Problem(422, str(error), row=index, field=field)


def _refused_field(x: Json, learner: Served) -> str:
    """The part of a refused row: a gap that the learner refuses, or the features."""
    words = (learner if isinstance(learner, Learner) else learner.learner).missing
    places: Any = x.items() if isinstance(x, dict) else enumerate(x)
    gap: Any = next((name for name, value in places if value is None and missing.word(words, name) == RAISE), None)
    return "x" if gap is None else f"x.{gap}" if isinstance(x, dict) else f"x[{gap}]"


def _memory(learner: Served) -> float | None:
    """The approximate number of rows that the weights are based on, if known."""
    if not isinstance(learner, Learner) or learner._core is None:
        return None
    memory = learner._memory()
    return float(memory) if memory is not None and np.isfinite(memory) else None


def _weights(learner: Served) -> dict[str, float] | None:
    """The largest weights, by the names of their features."""
    if not isinstance(learner, Learner) or isinstance(learner, Classifier):
        return None
    if learner._core is None or not learner._traits.by_feature:
        return None
    weights = np.asarray(learner.coef_, dtype=np.float64)
    names = [str(number) for number in range(len(weights))] if learner._names is None else [str(n) for n in learner._names]
    largest = np.argsort(-np.abs(weights), kind="stable")[:_SHOWN]
    return {names[at]: float(weights[at]) for at in sorted(largest.tolist()) if np.isfinite(weights[at])}
