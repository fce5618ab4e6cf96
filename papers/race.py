"""Tunes learners on one sequence of a stream and runs them on many others, for the figures of cumulative loss."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from driftline import Learner
from driftline.evaluate import verdict
from driftline.streams import Rotating
from papers.repeats import generator, half_width, seeds
from papers.target import Context

Inputs = Literal["as drawn", "rows of norm 1", "norms of at most 1"]
_NOISE = 77  # the key of the noise added to scaled rows


@dataclass(frozen=True)
class Course:
    """A stream, its number of rows, and how its inputs are scaled before labelling.

    Attributes:
        stream: rows with known weights.
        rows: number of rows.
        inputs: "as drawn"; "rows of norm 1", each divided by its own norm; or "norms of at most 1", all divided by the
            largest norm. The noise on the labels keeps its variance.
    """

    stream: Rotating
    rows: int
    inputs: Inputs = "as drawn"

    def take(self, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """The rows and labels of one seed."""
        if self.inputs == "as drawn":
            return self.stream.reseeded(seed).take(self.rows)
        X, y = replace(self.stream, noise=0.0, seed=seed).take(self.rows)
        norms = np.linalg.norm(X, axis=1)
        size = norms if self.inputs == "rows of norm 1" else np.full(self.rows, norms.max())
        noise = generator(seed, _NOISE).normal(scale=math.sqrt(self.stream.noise), size=self.rows)
        return X / size[:, None], y / size + noise


@dataclass(frozen=True, eq=False)
class RaceResult:
    """Cumulative losses of tuned learners.

    Attributes:
        learners: their names.
        chosen: each learner's setting with the smallest loss on the tuning sequence.
        at: the rows after which losses are taken.
        losses: (repetition, learner, point); the last point is the end.
        zero: the loss of predicting 0 throughout, by repetition.
    """

    learners: tuple[str, ...]
    chosen: dict[str, dict[str, Any]]
    at: NDArray[Any]
    losses: NDArray[Any]
    zero: NDArray[Any]

    def final(self, name: str) -> NDArray[Any]:
        """A learner's loss over all rows, by repetition."""
        column: NDArray[Any] = self.losses[:, self.learners.index(name), -1]
        return column

    def mean(self, name: str) -> float:
        """A learner's mean loss over all rows."""
        return float(self.final(name).mean())

    def beats(self, name: str, other: str) -> bool:
        """Whether one learner loses significantly less than another: a paired t-test at 95 %."""
        return verdict(self.final(name), self.final(other), lower_is_better=True)[0] == "win"

    def ordered(self, names: Sequence[str] | None = None) -> list[str]:
        """The names, from smallest loss to largest."""
        return sorted(names or self.learners, key=self.mean)

    def band(self, name: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The mean curve of a learner, and the ends of its 95 % confidence interval."""
        return _band(self.losses[:, self.learners.index(name)])

    def gap(self, name: str, other: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The same for the difference of two learners, sequence by sequence."""
        return _band(self.losses[:, self.learners.index(name)] - self.losses[:, self.learners.index(other)])


def _band(curves: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    middle, wide = curves.mean(axis=0), half_width(curves)
    return middle, middle - wide, middle + wide


Grid = Mapping[str, Sequence[Learner]]


@dataclass(frozen=True, eq=False)
class _Tuning:
    course: Course
    seed: int
    candidates: Sequence[Learner]


@dataclass(frozen=True, eq=False)
class _Repetition:
    course: Course
    seed: int
    learners: Sequence[Learner]
    at: NDArray[Any]


def cumulative(learner: Learner, X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """The sum of squared errors after each row; infinite once the learner diverges."""
    try:
        sums: NDArray[Any] = np.cumsum(learner.clone().run(X, y).losses)
    except ArithmeticError:
        sums = np.full(len(y), np.inf)
    return sums


def tuned(job: _Tuning) -> int:
    """The candidate with the smallest loss on the tuning sequence."""
    X, y = job.course.take(job.seed)
    return int(np.argmin([cumulative(learner, X, y)[-1] for learner in job.candidates]))


def raced(job: _Repetition) -> tuple[NDArray[Any], float]:
    """The curves of all learners on one sequence, and the loss of predicting 0."""
    X, y = job.course.take(job.seed)
    curves = np.array([cumulative(learner, X, y)[job.at - 1] for learner in job.learners])
    return curves, float(y @ y)


def race(
    context: Context, courses: Mapping[str, Course], grids: Mapping[str, Grid], repeats: int, points: int = 100
) -> dict[str, RaceResult]:
    """Tunes every learner on one sequence of each course, then runs it on ``repeats`` others.

    Args:
        context: seed, processes and progress.
        courses: courses by name.
        grids: course -> learner -> candidates; learners without parameters to tune have one.
        repeats: number of sequences besides the tuning sequence.
        points: number of points of a curve.
    """
    tuning, others = seeds(context.seed, repeats)
    pairs = [(course, name) for course in courses for name in grids[course]]
    jobs = [_Tuning(courses[course], tuning, grids[course][name]) for course, name in pairs]
    best = dict(zip(pairs, context.map(tuned, jobs, "tunings"), strict=True))
    winners = {course: {name: grids[course][name][best[course, name]] for name in grids[course]} for course in courses}
    marks = {
        course: np.unique(np.linspace(1, own.rows, min(points, own.rows)).round().astype(int))
        for course, own in courses.items()
    }
    runs = [
        _Repetition(own, seed, list(winners[course].values()), marks[course])
        for course, own in courses.items()
        for seed in others
    ]
    done = iter(context.map(raced, runs, "sequences"))
    found = {}
    for course in courses:
        curves, zero = zip(*(next(done) for _ in others), strict=True)
        chosen = {name: spoken(learner) for name, learner in winners[course].items()}
        found[course] = RaceResult(tuple(winners[course]), chosen, marks[course], np.array(curves), np.array(zero))
    return found


def spoken(learner: Learner) -> dict[str, Any]:
    """The parameters in which a learner differs from its class's defaults, except the intercept."""
    own, plain = learner.get_params(), type(learner)().get_params()
    return {name: value for name, value in own.items() if name != "intercept" and value != plain[name]}
