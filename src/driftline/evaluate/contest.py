"""The jobs of a comparison, each a learner on a sequence, which worker processes run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from driftline.evaluate.adapters import fresh, predicts_labels
from driftline.evaluate.cases import Case
from driftline.evaluate.grid import Params, settings_of
from driftline.evaluate.metrics import Metric
from driftline.evaluate.prequential import prequential
from driftline.evaluate.sources import Pair
from driftline.evaluate.tables import Value


class Trial(NamedTuple):
    """A setting tried on the tuning sequence, and its mean squared error there (classifiers: share of mistakes).

    The loss is infinite if the learner broke down, and ``failure`` says how.
    """

    params: Params
    loss: float
    failure: str | None = None


class Outcome(NamedTuple):
    """A learner's metrics on one sequence, the time it took, and the failure, if any.

    ``refused`` distinguishes refused rows or settings from numbers that ran away.
    """

    values: dict[str, float]
    seconds: float
    failure: str | None = None
    refused: bool = False


@dataclass(frozen=True)
class Job:
    """A setting to try on the tuning sequence (repetition None), or to score on a repetition."""

    stream: str
    learner: str
    params: Params
    repetition: int | None = None


@dataclass(eq=False)
class Contest:
    """Learners, streams and metrics: everything that a worker process needs."""

    learners: Mapping[str, Any]
    cases: Mapping[str, Case]
    metrics: tuple[Metric, ...]
    delay: int = 0
    _drawn: tuple[str, int | None, Pair] | None = field(default=None, repr=False)  # the sequence drawn last

    def run(self, job: Job) -> Outcome:
        """Does a job with a fresh learner. A learner that breaks down gets the worst value of every metric."""
        params = dict(job.params)
        template = self.learners[job.learner]
        if job.repetition is not None and "seed" not in params and hasattr(template, "get_params"):
            own = template.get_params(deep=False)
            if isinstance(own.get("seed"), int):
                params["seed"] = own["seed"] + job.repetition  # a different start in each repetition
        learner = fresh(template, **params)
        metrics: tuple[Metric | str, ...] = self.metrics
        if job.repetition is None:
            metrics = ("accuracy",) if predicts_labels(learner) else ("mse",)
        quiet: dict[str, Any] = {"window": None, "fading": None, "points": 0, "progress": False}
        try:
            rows = self._sequence(job.stream, job.repetition)
            result = prequential({"it": learner}, rows, metrics=metrics, delay=self.delay, **quiet)
        except (ArithmeticError, ValueError) as error:
            worst = {metric.name: metric.worst for metric in self.metrics}
            return Outcome(worst, float("nan"), str(error), refused=not isinstance(error, ArithmeticError))
        return Outcome(result.totals["it"], result.seconds["it"])

    def _sequence(self, stream: str, repetition: int | None) -> Pair:
        """The rows of a sequence, drawn once for all learners that take turns on it."""
        if self._drawn is None or self._drawn[:2] != (stream, repetition):
            case = self.cases[stream]
            rows = case.tuning_sequence() if repetition is None else case.sequence(repetition)
            self._drawn = (stream, repetition, rows)
        return self._drawn[2]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_drawn": None}


def tuning_jobs(contest: Contest, grid: Mapping[str, Any]) -> list[Job]:
    """A job for every valid setting on every stream; settings that a learner refuses are left out."""
    unknown = [name for name in grid if name not in contest.learners]
    if unknown:
        raise ValueError(f"compare: grid names {', '.join(unknown)}, which is not among {', '.join(contest.learners)}")
    good: dict[str, list[Params]] = {}
    for name, choices in grid.items():
        refused: ValueError | None = None
        good[name] = []
        for params in settings_of(choices, f"compare: {name}"):
            try:
                fresh(contest.learners[name], **params)
                good[name].append(params)
            except ValueError as error:  # parameters that contradict each other, such as LASER's ridge >= drift_cost
                refused = error
        if not good[name]:
            raise ValueError(f"compare: {name} refuses every setting of its grid") from refused
    return [Job(stream, name, params) for stream in contest.cases for name in good for params in good[name]]


def loss_of(outcome: Outcome) -> float:
    """The loss that tuning minimises: the mean squared error, or the share of wrong labels."""
    if outcome.failure is not None:
        return float("inf")
    values = outcome.values
    return 1.0 - values["accuracy"] if "accuracy" in values else values["mse"]


def chosen(trials: list[Trial]) -> Params:
    """The setting with the smallest loss; the first if several are equal."""
    finite = [trial for trial in trials if trial.loss < float("inf")]
    if not finite:
        raise ValueError(f"compare: a learner broke down with every setting of its grid, such as {trials[0]}")
    return min(finite, key=lambda trial: trial.loss).params


def spelled(params: Params) -> Value:
    """Parameters as a user would type them."""
    return ", ".join(f"{name}={value!r}" for name, value in params.items())
