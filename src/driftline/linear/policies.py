"""Forgetting, drift and resets for :class:`driftline.SecondOrder`, with schedules that change from row to row."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Annotated, Any

import numpy as np

from driftline import _core
from driftline._core import Likelihood, Limits, Reset, Time
from driftline.base.durations import DURATION, named_spans, one_kind, span_of
from driftline.base.rules import BOOLEAN, COUNT, POSITIVE, Checked, NotNegative, Rule, is_sequence, number, sequence
from driftline.storage.codec import storable
from driftline.tables.inputs import Array

Schedule = Callable[[int], float] | Sequence[float]

_LEAST = 1e-100  # the least factor in the core
_FRACTION, _POWER = number(gt=0, le=1), number(ge=1)


def schedule_of(item: Rule, words: str) -> Rule:
    """The rule for a function, or a sequence whose items pass a rule."""
    values = sequence(item)
    return Rule(callable, f"a function or sequence of {words}", (values.check,))


FORGETTING = _FRACTION | schedule_of(_FRACTION, "such numbers")
_GIVEN = Rule(FORGETTING.check, FORGETTING.words, (*FORGETTING.others, lambda value: value is None))
THRESHOLDS = Rule(_POWER.check, f"a power {_POWER.words}") | schedule_of(POSITIVE, "positive thresholds")


def values_of(schedule: Schedule, indices: Iterable[int], rule: Rule, what: str) -> Array:
    """The values of a schedule at some indices, counted from 1; a sequence repeats its last value."""
    if callable(schedule):
        values = [schedule(i) for i in indices]
    else:
        last = len(schedule)
        values = [schedule[min(i, last) - 1] for i in indices]
    for i, value in zip(indices, values, strict=True):
        if not rule.accepts(value):
            raise ValueError(f"{what}({i}) is out of range: {value!r}")
    return np.array(values, dtype=np.float64)


@storable
@dataclass(frozen=True)
class Divide(Checked):
    """S <- S / forgetting before each row: exponential forgetting.

    Attributes:
        forgetting: a number in (0, 1], or a function or sequence of such numbers; None with a half-life.
        keep_prior: forget the rows but not the prior: S stays below 1.27 times its start. See :class:`driftline.RLS`.
        half_life: the time in which the weight of a row halves.
        per: the time that ``forgetting`` is for; see :doc:`/times`.
        constant: the factor, if it is the same for all rows; None otherwise. With times, that of ``per``.
    """

    forgetting: Annotated[float | Schedule | None, _GIVEN] = None
    keep_prior: Annotated[bool, BOOLEAN] = False
    half_life: Annotated[float | str | None, DURATION.or_none()] = None
    per: Annotated[float | str | None, DURATION.or_none()] = None
    constant: float | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.forgetting is None) == (self.half_life is None):
            raise ValueError("Divide: forgetting or half_life must be given, and only one of them")
        constant = float(self.forgetting) if isinstance(self.forgetting, Real) else None
        if self.half_life is not None:
            one_kind("Divide", half_life=self.half_life, per=self.per)
            constant = max(2.0 ** -(self.unit / span_of(self.half_life).length), _LEAST)
        elif self.per is not None and constant is None:
            raise ValueError("Divide: forgetting must be a number if per is given; a schedule counts rows")
        object.__setattr__(self, "constant", constant)

    @property
    def unit(self) -> float:
        """The time that the factor is for; 0 if it is for a row, whatever its time."""
        if self.per is not None:
            return span_of(self.per).length
        return 0.0 if self.half_life is None else span_of(self.half_life).unit

    @property
    def decay(self) -> float:
        """The logarithm of the factor."""
        if self.half_life is not None:
            return max(-math.log(2) * (self.unit / span_of(self.half_life).length), -1e300)
        return math.log(self.constant) if self.constant else 0.0

    @property
    def rate(self) -> float:
        """One less the factor; above 0 even if that is 1 to rounding."""
        return max(-math.expm1(self.decay), _LEAST)

    @property
    def durations(self) -> list[tuple[str, Any, str]]:
        """Name, value and kind of each duration."""
        return named_spans(half_life=self.half_life, per=self.per)

    def values(self, first: int, count: int) -> Array:
        """The factors of the rows first, first + 1, ..."""
        schedule = self.forgetting if self.constant is None else [self.constant]
        return values_of(schedule, range(first, first + count), _FRACTION, "forgetting")  # type: ignore[arg-type]


@storable
@dataclass(frozen=True)
class Add(Checked):
    """S <- S + drift I before each row: a random walk of the weights.

    Attributes:
        drift: the variance of a weight's step from row to row, or in the time ``per``.
        per: that time; see :doc:`/times`.
    """

    drift: NotNegative
    per: Annotated[float | str | None, DURATION.or_none()] = None

    @property
    def unit(self) -> float:
        """The time that the drift is for; 0 if it is from row to row, whatever their times."""
        return 0.0 if self.per is None else span_of(self.per).length

    @property
    def durations(self) -> list[tuple[str, Any, str]]:
        """Name, value and kind of the duration."""
        return named_spans(per=self.per)


@storable
@dataclass(frozen=True)
class Every(Checked):
    """S <- I after every ``period`` rows, or each time that so much time has passed."""

    period: Annotated[int | str, COUNT | Rule(DURATION.others[0], "a duration such as '1d'")]

    def units(self, unit: float) -> float:
        """The period in units of time, or in rows."""
        return span_of(self.period).length / unit if isinstance(self.period, str) else float(min(self.period, sys.maxsize))

    @property
    def durations(self) -> list[tuple[str, Any, str]]:
        """Name, value and kind of the duration."""
        return named_spans(period=self.period if isinstance(self.period, str) else None)


@storable
@dataclass(frozen=True)
class Below(Checked):
    """S <- I when its smallest eigenvalue falls below the threshold of the current segment."""

    schedule: Annotated[float | Schedule, THRESHOLDS]

    def values(self, first: int, count: int) -> Array:
        """The thresholds of the segments first, first + 1, ...: 1 / (i^(q-1) + 1) for a power q."""
        if callable(self.schedule) or is_sequence(self.schedule):
            return values_of(self.schedule, range(first, first + count), POSITIVE, "schedule")
        power = float(self.schedule)  # type: ignore[arg-type]
        segments = np.arange(first, first + count, dtype=np.float64)
        with np.errstate(over="ignore"):
            thresholds: Array = 1.0 / (segments ** (power - 1.0) + 1.0)
        return np.maximum(thresholds, np.finfo(np.float64).tiny)


@dataclass
class Policy:
    """A learner's row of the table in docs/mathematics.md.

    Attributes:
        start: S starts at start * I.
        time: what happens to S before each row.
        noise: rho; None means 1 - s, the complement.
        shrink: predict f / (1 + s) instead of f; with a least noise, f / (rho + s).
        clip: bound on the absolute prediction.
        reset: when S is reset to I.
        radius: the radius of the ball on which the weights are projected.
        growth_limit: bounds the growth of S under forgetting, in directions that no row excites, to this multiple of its
            start, or of what the largest row would leave if that is more. 0 lets S grow as far as the type allows.
        robustness: for the H-infinity filter; errors are divided by 1 - robustness before they move the weights, S is not
            affected. 0 for all other learners.
        concavity: for the Online Newton Step, rho is 1 / (4 error^2), and the weights move by S times the gradient, divided
            by this. 0 for all other learners.
        likelihood: the loss of a generalised linear model.
        parameter: the level of its pinball loss, or the threshold of its Huber loss.
        curvature: of the pinball loss at the quantile of normal errors, times their mean loss.
        least_noise: of the complement: rho is at least this. 0 refuses rows with s >= 1.
    """

    start: float = 1.0
    time: Divide | Add | None = None
    noise: float | None = 1.0
    shrink: bool = False
    clip: float | None = None
    reset: Every | Below | None = None
    radius: float | None = None
    growth_limit: float = 0.0
    robustness: float = 0.0
    concavity: float = 0.0
    likelihood: Likelihood = Likelihood.NONE
    parameter: float = 0.0
    curvature: float = 1.0
    least_noise: float = 0.0

    @property
    def unit(self) -> float:
        """The time that forgetting or drift is for; 0 if rows count, whatever their times."""
        return 0.0 if self.time is None else self.time.unit

    @property
    def forgetting(self) -> Divide | None:
        """The forgetting, if it changes from row to row; None otherwise."""
        return self.time if isinstance(self.time, Divide) and self.time.constant is None else None

    @property
    def winds_up(self) -> bool:
        """Whether forgetting lets S grow without limit in directions that no row excites."""
        return isinstance(self.time, Divide) and self.time.constant != 1 and not self.time.keep_prior

    @property
    def unbounded_memory(self) -> float | None:
        """The memory in rows, if it is constant and nothing bounds the growth of S."""
        keep = self.time.constant if isinstance(self.time, Divide) and self.winds_up and self.growth_limit == 0 else None
        return None if keep is None or self.unit > 0 else 1 / (1 - keep)

    @property
    def thresholds(self) -> Below | None:
        """The reset thresholds, if there are any."""
        return self.reset if isinstance(self.reset, Below) else None

    @property
    def is_scheduled(self) -> bool:
        """Whether the forgetting or the reset thresholds change along the stream."""
        return (isinstance(self.time, Divide) and self.time.constant is None) or isinstance(self.reset, Below)

    @property
    def functions(self) -> list[Callable[[int], float]]:
        """The schedules that are user-defined functions."""
        schedules: list[Any] = [self.time.forgetting] if isinstance(self.time, Divide) else []
        schedules += [self.reset.schedule] if isinstance(self.reset, Below) else []
        return [schedule for schedule in schedules if callable(schedule)]

    def native(self, labels: Limits) -> _core.Policy:
        """The policy as the core's type, for labels of a range."""
        clip = math.inf if self.clip is None else float(self.clip)
        time, amount, keep_prior, decay = Time.NONE, 1.0, False, 0.0
        if isinstance(self.time, Divide):
            time, amount, keep_prior = Time.DIVIDE, self.time.constant or 1.0, self.time.keep_prior
            decay = self.time.decay
        elif isinstance(self.time, Add) and self.time.drift > 0:
            time, amount = Time.ADD, float(self.time.drift)
        every = isinstance(self.reset, Every)
        if isinstance(self.reset, Every) and isinstance(self.reset.period, str) and not self.unit:
            raise ValueError(f"period={self.reset.period!r} needs half_life or per: otherwise, rows count")
        return _core.Policy(
            start=float(self.start),
            time=time,
            amount=float(amount),
            noise=1.0 if self.noise is None else float(self.noise),
            complement=self.noise is None,
            shrink=self.shrink,
            labels=labels,
            predictions=Limits(max(labels.low, -clip), min(labels.high, clip)),
            reset=Reset.NEVER if self.reset is None else Reset.EVERY if every else Reset.BELOW,
            period=min(math.ceil(self.reset.units(self.unit)), sys.maxsize) if isinstance(self.reset, Every) else 0,
            radius=0.0 if self.radius is None or math.isinf(self.radius) else float(self.radius),
            growth_limit=float(self.growth_limit),
            keep_prior=keep_prior,
            robustness=float(self.robustness),
            concavity=float(self.concavity),
            likelihood=self.likelihood,
            parameter=float(self.parameter),
            curvature=float(self.curvature),
            least_noise=float(self.least_noise),
            unit=self.unit,
            decay=decay,
            reset_after=self.reset.units(self.unit) if isinstance(self.reset, Every) else 0.0,
        )
