"""What a learner can do, for code that treats all learners alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from driftline._core import Limits
from driftline.tables.calendar import CIRCLES, TimeFeatures

if TYPE_CHECKING:
    from driftline.tables.block import RowBlock
    from driftline.tables.inputs import Array


_NO_WORDS: Mapping[float, str] = MappingProxyType({})


class RowReader(Protocol):
    """Reads rows of any names and any width, text included, into numbers of a fixed width."""

    def row(self, x: Any, where: str) -> Array:
        """One row."""

    def block(self, X: Any, where: str) -> RowBlock:
        """Many rows."""

    def unhashed(self, x: Any) -> Any:
        """A copy of a row in numbers that are read the same way."""


@dataclass(slots=True)  # not frozen, which would cost a tenth of a first row
class Traits:
    """What a learner can do, with its current parameters. Do not change it: make another with ``dataclasses.replace``.

    Attributes:
        sums: the names of the core's running sums; a core written in Python names its own.
        by_feature: there is one weight for each feature.
        linear: predictions are linear in the features, with one weight each.
        bends: a row between others may have a prediction far from theirs.
        has_link: predictions are a function of w.x, such as exp.
        has_snapshots: a run can keep snapshots of the weights; False if their number grows with the rows.
        composes: it can be a base estimator of an ensemble.
        looks_back: it uses earlier rows and labels, so a skipped row keeps its place among them.
        measured_apart: intervals of ``predict_intervals`` come from errors made without labels in between.
        may_refuse: it may refuse a valid row because of the state that it would lead to.
        may_run_away: the form of the learner does not bound its predictions.
        can_reset: the covariance may be reset.
        plain_intercept: the constant is learned like a feature; False if inputs are centred or projected.
        takes_outputs: a row may have several labels.
        takes_sparse: rows may be scipy.sparse ones, at a cost that depends on their non-zero entries.
        takes_any_width: rows of a table may have more features than the model knows, which it then adds.
        times: the features of times in its rows.
        reader: what reads the rows in place of the model's columns; None if its columns do.
        is_native: the core replays all tables; False if a function of the user's takes part in each step.
        unbounded_memory: the memory in rows, if the weights are unbounded when these rows do not determine them.
        labels: the range of the labels that the form of the learner allows; None for any.
        answers: the range of all answers, if it may be narrower than that of the labels.
        label_words: what to say of a label beyond ``labels``, by the limit.
        title: what a wrapper is made of, for people who read about it; empty for the name of the class.
        over_time: derives attributes of :class:`driftline.Run`, by name, from what the core's ``memory`` returned.
    """

    sums: tuple[str, ...] = ()
    by_feature: bool = True
    linear: bool = True
    bends: bool = False
    has_link: bool = False
    has_snapshots: bool = True
    composes: bool = True
    looks_back: bool = False
    measured_apart: bool = False
    may_refuse: bool = True
    may_run_away: bool = True
    can_reset: bool = False
    plain_intercept: bool = True
    takes_outputs: bool = False
    takes_sparse: bool = False
    takes_any_width: bool = False
    times: TimeFeatures = CIRCLES
    reader: RowReader | None = None
    is_native: bool = True
    unbounded_memory: float | None = None
    labels: Limits | None = None
    answers: Limits | None = None
    label_words: Mapping[float, str] = field(default_factory=lambda: _NO_WORDS)
    title: str = ""
    over_time: Callable[[Array], dict[str, Array]] | None = None

    @property
    def encodes(self) -> bool:
        """Whether the model's columns encode text and times before the learner reads a row."""
        return self.reader is None


PLAIN = Traits()


def times_of(parts: Iterable[Traits]) -> TimeFeatures:
    """The features of times in the rows of a learner with these parts: those that one of them asks for."""
    return next((part.times for part in parts if part.times is not CIRCLES), CIRCLES)


def narrower(one: Limits, other: Limits) -> Limits:
    """The values within both ranges."""
    return Limits(max(one.low, other.low), min(one.high, other.high))
