"""Classification by regression on labels -1 and +1."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from driftline.base import encoding, params, reading, sklearn
from driftline.base.batch import Batch
from driftline.base.certificate import Certificate
from driftline.base.learner import Learner
from driftline.base.levels import NO_SPREAD, QUANTILES, Levels, Spread
from driftline.base.meta import REGRESSOR, Ensemble
from driftline.base.registry import learner
from driftline.base.run import Run
from driftline.base.ticket import Ticket
from driftline.base.traits import Traits
from driftline.ensembles.classes import ClassState
from driftline.ensembles.labels import CLASSES, Labels, as_label, as_labels, of_one
from driftline.linear.dfop import DFOP
from driftline.tables import inputs
from driftline.tables.block import RowBlock
from driftline.tables.inputs import Array

_DEFAULT = DFOP()


@learner
class Classifier(Ensemble):
    r"""A classifier that trains a regressor on labels -1 and +1 and predicts by the sign, O(d²) a row.

    The cost is that of an O(d²) learner. Labels can be any values. From the third class on, there is one learner for each
    class against the rest, and the largest prediction wins; a class that appears late starts with an untrained learner,
    unless ``classes`` declares it in advance. Probabilities come from a calibration curve over the predictions, with 1/2 at
    0, whose slopes are adapted row by row.

    ``run(...).predictions`` are labels, or None while no class is known; ``errors`` are 1 for wrong predictions and NaN for
    skipped rows. In ``certificate()`` the loss is the number of mistakes: each has a squared error of at least 1, so a bound
    on the learner's loss bounds their number too.

    Args:
        learner: the regressor; None for DFOP.
        classes: the labels, if known in advance; None to collect them as they appear.

    References: :cite:`zhao2021`, Section 5.

    >>> model = Classifier()
    >>> for t in range(60):
    ...     x = [t % 7 - 3.0, t % 5 - 2.0]
    ...     model.learn_one(x, "up" if x[0] + x[1] > 0 else "down")
    >>> model.predict_one([2.0, 1.0]), model.predict_one([-2.0, -1.0])
    ('up', 'down')
    """

    learner: Learner | None = params.checked(default=None, rule=REGRESSOR, optional=True, kw_only=False)
    classes: Sequence[Hashable] | None = params.checked(default=None, rule=CLASSES, optional=True)

    _shares_labels = False
    _river_kind = "Classifier"
    _multiclass = True  # by River's convention
    _incoming: Any = params.state(None)  # the label of the row being learned, or of the last one

    def _make_traits(self) -> Traits:
        return replace(super()._make_traits(), may_run_away=False)  # labels are classes, so predictions are bounded

    def _check_relations(self, values: dict[str, Any]) -> None:
        super()._check_relations(values)
        within = self._base_learners_in(values)
        for name in ("low", "high"):
            if any(value is not None for value in (values[name], *(getattr(learner, name) for learner in within))):
                raise ValueError(f"{type(self).__name__}: {name} must be None: classes have no range")
        if not all(map(_takes_signs, within)):
            raise ValueError(f"{type(self).__name__}: learner must take the labels -1 and 1, got {within[0]!r}")

    def _base_learners(self) -> list[Learner]:
        return [_DEFAULT if self.learner is None else self.learner]

    @property
    def _labels(self) -> Labels:
        met = self._met_before
        if self._core is not None and self._core.known > len(met):  # the core has learned a row with a new label
            met.add(self._incoming)
        return met

    @property
    def _met_before(self) -> Labels:
        """The labels that were known before the row being learned."""
        if self._met is None:
            self._met = Labels(self._named)
        met: Labels = self._met
        return met

    @property
    def _named(self) -> list[Any]:
        """The labels declared in advance."""
        return [] if self.classes is None else [of_one(label) for label in self.classes]

    def _compose(self, members: list[Learner], above: list[Learner], features: int) -> ClassState:
        return ClassState(members[0], len(self._met_before), features, bool(self.intercept), self.dtype)

    def _refresh(self, before: dict[str, Any]) -> None:
        if self.classes is not before["classes"]:
            raise ValueError
        super()._refresh(before)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "labels": list(self._labels.known)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        before, labels = self._met, list(state["labels"])
        if None in labels or len(set(labels)) != len(labels):
            raise ValueError("the labels are not distinct texts or numbers")
        self._met = Labels(labels)
        try:
            super().__setstate__(state)
            if labels[: len(self._named) if "core" in state else None] != self._named:
                raise ValueError("the state's labels are not those that its parameters name")
            if self._core is not None and self._core.known > len(labels):
                raise ValueError("the state has fewer labels than classes")
        except BaseException:
            self._met = before
            raise
        self._met = Labels(labels)

    def set_params(self, **changes: Any) -> Self:
        """Changes hyperparameters, all or none. On a trained learner, they take effect from the next row on."""
        super().set_params(**changes)
        if self._core is None:
            self._met = None  # the labels declared in advance may have changed
        return self

    # Reading labels.

    def learn_one(self, x: Any, y: Any, *, sample_weight: float | None = None, at: Any = None) -> None:
        """Learns from one row and its label, which may be new; None, NaN, NA and NaT are missing labels."""
        label = as_label(y, f"{type(self).__name__}.learn_one")
        labels = self._labels
        code = np.nan if label is None else labels.code(label)
        self._incoming = label
        super().learn_one(x, float(len(labels) if code is None else code), sample_weight=sample_weight, at=at)

    def ask(self, x: Any, delay: int | None = None, *, at: Any = None) -> Ticket:
        """Predicts one row whose label will arrive later; see :meth:`driftline.Learner.ask`. Changes nothing."""
        ticket = super().ask(x, delay, at=at)
        code = ticket.numbers[0]
        ticket.set_label(self._labels.known[int(code)] if code >= 0 else None)
        return ticket

    def tell(self, ticket: Ticket, y: Any, *, sample_weight: float | None = None) -> None:
        """Learns the label of a row as it was when it was asked; the label may be new."""
        label, labels = as_label(y, f"{type(self).__name__}.tell"), self._labels
        code = np.nan if label is None else labels.code(label)
        self._incoming = label
        super().tell(ticket, float(len(labels) if code is None else code), sample_weight=sample_weight)

    def _learn_table(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        where: str,
        weights_every: int | None = None,
        spread: Spread = NO_SPREAD,
        times: Any = None,
    ) -> Run:
        if spread:
            what = "interval" if spread.place else "quantiles"
            raise ValueError(f"{where}: class labels have no {what}; predict_proba_one gives probabilities")
        if weights_every is not None:
            raise ValueError(f"{where}: weights_every needs a regressor")
        block = self._as_block(X, where)
        labels = as_labels(y, block.rows, where)
        weight = inputs.as_weights(sample_weight, block.rows, where)
        met = Labels(self._labels.known)  # the core must not know labels before the row where they first occur
        codes = met.codes(labels, self._counted(block, weight))
        run = super()._learn_table(block, codes, weight, where, times=times)
        if self._core is not None:
            self._met = met
        missed = (run.predictions != codes).astype(np.float64)
        missed[np.isnan(codes) | np.isnan(run.predictions)] = np.nan
        return Run(met.of(run.predictions), missed, resets=run.resets, skipped=run.skipped)

    def _counted(self, block: RowBlock, weight: Array | None) -> Array:
        """Which rows are learned if they have a label."""
        counted = np.ones(block.rows, dtype=bool) if weight is None else weight > 0
        if block.encoded:
            counted &= encoding.whole_rows(self, block)
        elif self.missing == "skip":
            for start, rows in block.blocks(inputs.BLOCK_ROWS):
                counted[start : start + len(rows)] &= self._door.whole_rows(rows)
        return counted

    def partial_fit(  # type: ignore[override]
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, times: Any = None
    ) -> Self:
        """Learns more rows once, in order. ``classes`` declares labels that may appear later, as in scikit-learn."""
        where = f"{type(self).__name__}.partial_fit"
        with self._guard.undo(self):
            for label in () if classes is None else as_labels(classes, len(classes), where):
                if self._labels.code(label) is None:
                    if self._core is not None:
                        raise ValueError(f"{where}: {label!r} was not among the classes of the first call")
                    self._labels.add(label)
            self._learn_table(X, y, sample_weight, where, times=times)
        return self

    # Predictions.

    def predict_one(self, x: Any, *, at: Any = None) -> Any:
        """The predicted label; None while no class is known."""
        code = super().predict_one(x, at=at)
        return self._labels.known[int(code)] if code >= 0 else None

    def predict(self, X: Any) -> Array:
        """Predicted labels of many rows, as if no label came between the last learned row and any of them, for ever."""
        return self._labels.of(super().predict(X))

    def predict_interval(self, x: Any, level: float = 0.9, *, at: Any = None) -> tuple[float, float]:
        """Labels have none."""
        raise ValueError(f"{type(self).__name__}.predict_interval: class labels have no interval; see predict_proba_one")

    def predict_intervals(self, X: Any, level: float = 0.9) -> tuple[Array, Array]:
        """Labels have none."""
        raise ValueError(f"{type(self).__name__}.predict_intervals: class labels have no interval; see predict_proba")

    def predict_quantiles(self, x: Any, levels: Levels = QUANTILES, *, at: Any = None) -> Array:
        """Labels have none."""
        raise ValueError(f"{type(self).__name__}.predict_quantiles: class labels have no quantiles; see predict_proba_one")

    def decision_one(self, x: Any) -> Any:
        """The decision value: positive for the second of two ``classes_``; with more classes, a mapping label -> number."""
        decisions = self._score_one(x, "decision_one")[0][0]
        if len(decisions) == 1:
            return float(decisions[0] * self._direction)
        return {self._labels.known[code]: float(decisions[code]) for code in self._labels.order()}

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """The probability of each known class; they sum to 1."""
        chances = self._chances(self._score_one(x, "predict_proba_one")[1])[0]
        return {self._labels.known[code]: float(chances[code]) for code in self._labels.order()}

    def decision_function(self, X: Any) -> Array:
        """The decision values, (T,) for two classes and (T, classes) for more, in the order of ``classes_``."""
        decisions, _ = self._score_table(X, "decision_function")
        return decisions[:, 0] * self._direction if decisions.shape[1] == 1 else decisions[:, self._labels.order()]

    def predict_proba(self, X: Any) -> Array:
        """Probabilities, (T, classes), in the order of ``classes_``."""
        chances = self._chances(self._score_table(X, "predict_proba")[1])
        return chances[:, self._labels.order()]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy: the share of rows whose label :meth:`predict` predicts correctly."""
        where = f"{type(self).__name__}.score"
        predictions = self.predict(X)
        labels = as_labels(y, len(predictions), where)
        weights = inputs.as_weights(sample_weight, len(predictions), where)
        right = np.array([predicted == label for predicted, label in zip(predictions.tolist(), labels, strict=True)])
        return float(np.average(right, weights=weights))

    @property
    def _direction(self) -> float:
        """The sign that makes a decision value positive for the second class in sorted order."""
        return -1.0 if self._labels.order()[:1] == [1] else 1.0

    def _chances(self, found: Array) -> Array:
        """Probabilities, one column per class."""
        if found.shape[1] > 1:
            return found
        return np.column_stack([1 - found, found]) if len(self._labels) == 2 else np.ones((len(found), len(self._labels)))

    def _score_one(self, x: Any, verb: str) -> tuple[Array, Array]:
        where = f"{type(self).__name__}.{verb}"
        row, _ = reading.read(self, encoding.enter(self, x, where, grow=False).x, where, grow=False)
        if not self._leaves_out:
            self._door.refuse_bad(row, where)
        model = self
        if self._core is None:
            model = type(self)(**self.get_params(deep=False))
            model._meet(np.where(np.isfinite(row), row, 0.0), None)
        core: ClassState = model._require_core(verb)
        return core.scores(Batch(row[None, :], None, None, where), apart=False)

    def _score_table(self, X: Any, verb: str) -> tuple[Array, Array]:
        where = f"{type(self).__name__}.{verb}"
        core = self._require_core(verb)
        block = self._as_block(X, where)
        self._check_block(block, where)
        parts = [
            core.scores(Batch(rows, None, None, where, start, block.names), apart=True)
            for start, rows in block.blocks(inputs.BLOCK_ROWS)
        ]
        decisions, probabilities = zip(*parts, strict=True)
        return np.concatenate(decisions), np.concatenate(probabilities)

    # Fitted attributes.

    @property
    def classes_(self) -> Array:
        """The known labels, in order."""
        self._require_core("classes_")
        return self._labels.array([self._labels.known[code] for code in self._labels.order()])

    @property
    def coef_(self) -> Array:
        """The weights of the decisions, (1, d) for two classes and (classes, d) for more."""
        return self._lines("coef_")[0]

    @property
    def intercept_(self) -> Array:
        """The weights of the constant feature, one for each row of ``coef_``."""
        return self._lines("intercept_")[1]

    def _lines(self, what: str) -> tuple[Array, Array]:
        coef, intercept = self._require_core(what).lines()
        if len(coef) == 1:
            return coef * self._direction, intercept * self._direction
        order = self._labels.order()
        return coef[order], intercept[order]

    def _certify(self, sums: dict[str, float]) -> Certificate:
        core = self._require_core("certificate")
        if len(core.members) > 1:
            return Certificate(float(core.mistakes))
        inner = core.members[0].certificate()
        return Certificate(float(core.mistakes), inner.comparator, inner.bound, inner.conditions, inner.events)

    def __sklearn_tags__(self) -> Any:
        return sklearn.classifier_tags(allow_nan=self.missing != "raise")


def predict_next(learner: Learner, X: Any) -> Array:
    """Predicts many rows, each as if it were the next one; :meth:`predict` knows of no labels in between."""
    found: Array = learner._predicted(X, "predict", apart=False).predictions
    return learner._labels.of(found) if isinstance(learner, Classifier) else found


def _takes_signs(learner: Learner) -> bool:
    """Whether a learner takes the labels -1 and +1."""
    try:
        learner._check_labels(np.array([-1.0, 1.0]), "Classifier")
    except ValueError:
        return False
    return not learner._limits.exist
