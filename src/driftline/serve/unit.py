"""One learner of a model and the rows that wait for their labels: the contents of a snapshot."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from driftline._core import Guard
from driftline.base.alarm import Alarm
from driftline.base.learner import Learner
from driftline.base.levels import Spread, as_spread
from driftline.base.run import Run
from driftline.base.ticket import Ticket
from driftline.delayed import Forecaster
from driftline.delayed.forecast import Forecast
from driftline.ensembles.classifier import Classifier
from driftline.errors import ModelFileError
from driftline.evaluate.baselines import LastAndMean
from driftline.fleet import Fleet, FleetTicket
from driftline.serve.classes import Classes
from driftline.serve.learners import Served
from driftline.serve.raw import Json, as_raw
from driftline.storage import codec, model_file
from driftline.storage.codec import Stateful
from driftline.storage.model_file import Extra
from driftline.tables.block import RowBlock
from driftline.tables.inputs import Array

Naive = tuple[float, float]  # the baselines' predictions: the last label and the mean of all; NaN without any
_PLAIN = ("key", "dropped", "place", "alarms", "last_alarm", "last_alarm_at", "rows", "unscored")
_ROW_BY_ROW = 64  # features up to which every learner replays a table row by row


class Answer(NamedTuple):
    """What the service says about a row.

    Attributes:
        prediction: None if values are missing.
        lower, upper: the ends of the interval, None until they are earned.
        quantiles: each None until it is earned; None if the model was created without quantiles. Of a classifier, whose
            ``prediction`` is the number of a class, the probabilities of the classes by number.
    """

    prediction: float | None
    lower: float | None
    upper: float | None
    quantiles: tuple[float | None, ...] | None = None

    @classmethod
    def of(cls, prediction: float, lower: float, upper: float, quantiles: Iterable[float] | None = None) -> Answer:
        """An answer for JSON: no interval until both ends are finite."""
        earned = isfinite(lower) and isfinite(upper)  # a limit of the label alone is no interval
        found = None if quantiles is None else tuple(map(finite_or_none, quantiles))
        return cls(finite_or_none(prediction), lower if earned else None, upper if earned else None, found)

    def plain(self) -> list[Any]:
        """A list for JSON; :meth:`of_plain` reads it back."""
        return [*self[:3]] if self.quantiles is None else [*self[:3], [*self.quantiles]]

    def document(self) -> dict[str, Any]:
        """The answer as JSON."""
        said = {"prediction": self.prediction, "lower": self.lower, "upper": self.upper}
        return said if self.quantiles is None else {**said, "quantiles": self.quantiles}

    @classmethod
    def of_plain(cls, values: Sequence[Any]) -> Answer:
        """Inverts :meth:`plain`."""
        prediction, lower, upper, *quantiles = values
        return cls(prediction, lower, upper, tuple(quantiles[0]) if quantiles else None)


@dataclass(slots=True)
class WaitingRow:
    """A row that was predicted under an id.

    Attributes:
        ticket: the learner's ticket; the row itself if the learner is a forecaster.
        digest: the digest of the row, to recognise it.
        answer: what the service said about it.
        naive: the baselines' predictions.
        asked: the log entry, and the row in it.
    """

    ticket: Any
    digest: bytes
    answer: Answer
    naive: Naive
    asked: tuple[int, int]


@dataclass(slots=True)
class ScoredLabel:
    """A label and its prediction.

    Attributes:
        answer: what the service said, or would have said, about its row.
        naive: the baselines' predictions; None if the row was not predicted earlier.
        y: the label.
    """

    answer: Answer
    naive: Naive | None
    y: float


class RowByRowError(Exception):
    """Rows of a table have to be learned one by one."""


class Before(NamedTuple):
    """The bytes of a fleet before a call, as the native undo holds the state of a learner."""

    before: bytes


class Unit(Stateful):
    """A learner, its waiting rows, and its alarm. A keyed model that is not pooled has one for each key, any other just one.

    Attributes:
        place: the last entry of the log that changed it.
        number: its group in the scores of the model.
        classes: those of the model, if it classifies.
        rows, unscored: the labels that it learned, and those of them that could not be scored.
        past: the labels so far, as baselines.
        last_alarm: the number of the label at which the alarm went off, from 1.
        before: the learner's state before the call that is being executed, if that may be interrupted or undone: of a
            fleet, its bytes.
    """

    __slots__ = (
        "_shown", "alarm", "alarms", "before", "classes", "dropped", "key", "last_alarm", "last_alarm_at", "learner",
        "number", "past", "place", "rows", "spread", "unscored", "waiting",
    )  # fmt: skip

    def __init__(self, key: str, learner: Served, spread: Spread) -> None:
        self.key, self.learner, self.spread = key, learner, spread
        self.waiting: dict[str, WaitingRow] = {}
        self.past, self.alarm = LastAndMean(), Alarm()
        self.last_alarm: int | None = None
        self.last_alarm_at: float | None = None
        self.dropped = self.place = self.number = self.alarms = self.rows = self.unscored = 0
        self.before: Any = None
        self.classes: Classes | None = None
        self._shown: Served | None = None

    @contextmanager
    def undo(self) -> Iterator[None]:
        """Restores the learner if the block raises an error. Until it ends, :attr:`shown` is as before."""
        with self._undo_fleet() if isinstance(self.learner, Fleet) else Guard("Unit").undo(self.learner) as undo:
            self.before = undo.before
            try:
                yield
            finally:
                self.before = self._shown = None

    @contextmanager
    def _undo_fleet(self) -> Iterator[Before]:
        before = Before(self.learner.to_bytes())
        try:
            yield before
        except BaseException:
            self.learner = model_file.from_bytes(before.before)
            raise

    @property
    def shown(self) -> Served:
        """The learner for questions: it knows only calls that are complete."""
        if self.before is None:
            return self.learner
        if self._shown is None:
            if isinstance(self.learner, Fleet):
                self._shown = model_file.from_bytes(self.before)
            else:
                self._shown = self.learner.clone()
                self._shown.__setstate__(self.before)
        return self._shown

    def watch(self, errors: Any, at: float) -> list[int]:
        """Passes the errors of labels to the alarm, and counts them; returns the numbers of those that raised it, from 1."""
        first = self.rows + 1
        raised = [first + int(index) for index in self.alarm.update_many(errors)]
        self.rows += len(errors)
        if raised:
            self.alarms += len(raised)
            self.last_alarm, self.last_alarm_at = raised[-1], at
        return raised

    @property
    def features(self) -> int:
        """The number of features of the learner."""
        if isinstance(self.learner, Forecaster):
            return int(self.learner._past.shape[1])
        learner = _shared(self.learner)
        return 0 if learner._core is None else learner.n_features_in_

    def raw(self, x: Json) -> Any:
        """The features of a row as the learner takes them."""
        return as_raw(x, self.learner.learners_[0] if isinstance(self.learner, Forecaster) else _shared(self.learner))

    def ask(self, x: Json, key: str, at: float | str | None = None) -> tuple[Any, Answer]:
        """A ticket and the answer for a row; changes nothing. Raises ValueError if the learner refuses the row."""
        learner = self.learner if self.before is None else self.shown
        if isinstance(learner, Forecaster):
            _refuse_time(at)
            return x, self.forecast([x])[0]
        raw = as_raw(x, _shared(learner))
        ticket = learner.ask(key, raw, at=at) if isinstance(learner, Fleet) else learner.ask(raw, at=at)
        return ticket, self._answer(ticket, learner, raw)

    def learn(self, x: Json, y: Any, key: str, at: float | str | None = None) -> Answer:
        """Predicts a row, then learns it. Raises ValueError, and changes nothing, if the learner refuses it."""
        if isinstance(self.learner, Forecaster):
            _refuse_time(at)
            prediction, lower, upper, *quantiles = self.learner._learn_row(self.raw(x), y, self.spread)
            return Answer.of(prediction, lower, upper, quantiles or None)
        learner, raw = self.learner, self.raw(x)
        ticket: Any = learner.ask(key, raw, 0, at=at) if isinstance(learner, Fleet) else learner.ask(raw, 0, at=at)
        answer = self._answer(ticket, learner, raw)
        learner.tell(ticket, y)
        return answer

    def _answer(self, ticket: Ticket | FleetTicket, learner: Learner | Fleet, raw: Any) -> Answer:
        if self.classes is not None:
            assert isinstance(learner, Classifier)
            chances = learner.predict_proba_one(raw)
            said = None if ticket.prediction is None else self.classes.number(ticket.prediction)
            known = 1 + max((int(self.classes.number(label)) for label in chances), default=-1)  # as in a replay
            return Answer(said, None, None, tuple(chances.get(label, 0.0) for label in self.classes.labels[:known]))
        lower, upper, *quantiles = self.spread.of_ticket(ticket)
        return Answer.of(ticket.prediction, lower, upper, quantiles or None)

    def get_ready(self, step: int) -> None:
        """Prepares one of the steps of :meth:`forecast`."""
        learner = self.shown
        assert isinstance(learner, Forecaster)
        if learner.n_seen_:
            learner._get_ready(step, "forecast")

    def forecast(self, rows: list[Json]) -> list[Answer]:
        """The answers for the next rows of a forecaster."""
        learner = self.shown
        assert isinstance(learner, Forecaster)
        if not learner.n_seen_:
            base = learner.learner
            return [self._answer(base.ask(raw), base, raw) for raw in map(self.raw, rows)]
        return answers_of(learner._forecast([self.raw(x) for x in rows], self.spread, "forecast"))

    def tell(self, ticket: Any, y: Any) -> None:
        """Learns a label. Raises ValueError, and changes nothing, if the learner refuses it."""
        if isinstance(self.learner, Forecaster):
            self.learner.learn_one(self.raw(ticket), y)
        else:
            self.learner.tell(copy.copy(ticket), y)  # the original stays valid if the caller undoes this

    def learn_table(self, names: list[str] | None, X: Array, y: Array) -> Run:
        """Learns rows at once, all or none. Raises RowByRowError, and changes nothing, if they must be learned one by one.

        That is the case before the first row, if names are new or missing, and if the learner refuses a row, to find it.
        The bits are those of single rows, as long as the matrix is small enough for the learner to go row by row itself.
        """
        learner = self.learner
        if not isinstance(learner, Learner) or learner._core is None or learner.missing != "raise":
            raise RowByRowError
        known, width = learner._names, X.shape[1]
        if width != learner.n_features_in_ or width > _ROW_BY_ROW:
            raise RowByRowError
        if (known is None) != (names is None) or (known and names and {*known} != {*names}):
            raise RowByRowError
        if known is not None and names is not None and known != names:
            X = X[:, [names.index(str(name)) for name in known]]
        try:
            return learner.run(RowBlock(np.ascontiguousarray(X), names=known, where="learn"), y, level=self.spread.level)
        except (ValueError, FloatingPointError):
            raise RowByRowError from None

    def too_wide(self, x: Json, most: int) -> bool:
        """Whether learning a row would give the learner more than ``most`` features; a time counts as one."""
        known = self.features
        if not isinstance(x, dict) or known + len(x) <= most or isinstance(self.learner, Forecaster):
            return len(x) > most
        names = set(_shared(self.learner).feature_names_in_.tolist()) if known else set()
        brought = {f"{name}={value}" if isinstance(value, str) else name for name, value in self.raw(x).items()}
        return len(names | brought) > most

    # Bytes.

    def _to_file(self) -> dict[str, Any]:
        waiting = [
            [id, row.ticket, row.digest.hex(), row.answer.plain(), [*row.naive], [*row.asked]]
            for id, row in self.waiting.items()
        ]
        past = np.array(self.past.state())
        plain = {name: getattr(self, name) for name in _PLAIN}
        plain |= {"level": self.spread.level, "quantiles": self.spread.quantiles}
        return {**plain, "learner": self.learner, "waiting": waiting, "past": past, "alarm": self.alarm}

    def _from_file(self, state: dict[str, Any]) -> None:
        spread = as_spread("Unit", state["level"], state.get("quantiles"))
        self.__init__(state["key"], state["learner"], spread)  # type: ignore[misc]
        self.past, self.alarm = LastAndMean(*state["past"].tolist()), state["alarm"]
        self.rows = self.past.count  # in files of earlier versions, which scored every label
        for name in _PLAIN:
            setattr(self, name, state.get(name, getattr(self, name)))
        for id, ticket, digest, *rest in state["waiting"]:
            answer, naive, asked = map(tuple, rest)
            self.waiting[id] = WaitingRow(ticket, bytes.fromhex(digest), Answer.of_plain(answer), naive, asked)

    def to_bytes(self, sums: dict[str, float]) -> bytes:
        """The unit in the format of a model file, with its sums in the score of the model."""
        return model_file.to_bytes(self, Extra(sums))

    @classmethod
    def from_bytes(cls, data: bytes) -> tuple[Unit, dict[str, float]]:
        """Restores the unit and the sums of :meth:`to_bytes`; raises ModelFileError if they are invalid."""
        unit, extra = model_file.from_bytes_with_extra(data)
        if not isinstance(unit, cls) or extra is None:
            raise ModelFileError("holds no snapshot of a model")
        return unit, extra.plain


def _refuse_time(at: float | str | None) -> None:
    if at is not None:
        raise ValueError("a model that forecasts counts rows: leave out at")


def _shared(learner: Learner | Fleet) -> Learner:
    """The learner itself; of a fleet, the model that learns the rows of all keys."""
    if not isinstance(learner, Fleet):
        return learner
    assert learner._pool is not None
    return learner._pool.model


def answers_of(found: Run | Forecast) -> list[Answer]:
    """The answers of a run or a forecast that has intervals."""
    columns = [part.tolist() for part in (found.predictions, found.lower, found.upper, found.quantiles) if part is not None]
    return [Answer.of(*row) for row in zip(*columns, strict=True)]


def finite_or_none(value: float) -> float | None:
    """A number for JSON: None for an end of an interval that is infinite, and for a prediction that is not known."""
    return value if isfinite(value) else None


codec.register(Unit, "served")
