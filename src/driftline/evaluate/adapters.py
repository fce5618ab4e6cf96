"""Adapters that give learners of other libraries the same two methods."""

from __future__ import annotations

import copy
from collections.abc import Container, Hashable, Mapping, Sequence
from itertools import chain, count
from typing import Any, NamedTuple

import numpy as np

from driftline.base.levels import Spread
from driftline.tables.inputs import Array


class PartialFit:
    """Adapter for models with ``partial_fit`` and ``predict``, as in scikit-learn.

    Args:
        model: the model; it learns one row at a time.
        start: the prediction before the first row is learned.
        classes: the labels, for a classifier; scikit-learn needs them in advance.

    >>> from sklearn.linear_model import SGDRegressor
    >>> peer = PartialFit(SGDRegressor(learning_rate="constant", eta0=0.1))
    >>> peer.predict_one(np.array([1.0]))
    0.0
    >>> for _ in range(100):
    ...     peer.learn_one(np.array([1.0]), 3.0)
    >>> round(peer.predict_one(np.array([1.0])), 2)
    3.0
    """

    def __init__(self, model: Any, *, start: Any = 0.0, classes: Sequence[Any] | None = None) -> None:
        self.model, self.start, self.classes = model, start, classes
        self._learned = False

    def predict_one(self, x: Any) -> Any:
        """The model's prediction for one row."""
        if not self._learned:
            return self.start
        prediction = np.asarray(self.model.predict(np.asarray(x)[None, :])).ravel()[0]
        return prediction.item() if isinstance(prediction, np.generic) else prediction

    def learn_one(self, x: Any, y: Any) -> None:
        """Teaches the model one row."""
        if self.classes is not None and not self._learned:
            self.model.partial_fit(np.asarray(x)[None, :], [y], classes=self.classes)
        else:
            self.model.partial_fit(np.asarray(x)[None, :], [y])
        self._learned = True

    def anew(self, **changes: Any) -> PartialFit:
        """A copy with an untrained model, some of its parameters changed."""
        return PartialFit(fresh(self.model, **changes), start=self.start, classes=self.classes)

    def __repr__(self) -> str:
        return f"PartialFit({self.model!r})"


class Mapped:
    """Adapter for models whose rows are mappings from names to numbers.

    River models are recognised and need no adapter.

    Args:
        model: has ``predict_one(mapping)`` and ``learn_one(mapping, y)``.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict_one(self, x: Mapping[Hashable, Any]) -> Any:
        """The model's prediction for one row."""
        return self.model.predict_one(x)

    def learn_one(self, x: Mapping[Hashable, Any], y: Any) -> None:
        """Teaches the model one row."""
        self.model.learn_one(x, y)

    def anew(self, **changes: Any) -> Mapped:
        """A copy with an untrained model, some of its parameters changed."""
        return Mapped(fresh(self.model, **changes))

    def __repr__(self) -> str:
        return f"Mapped({self.model!r})"


class TrueOrFalse:
    """Adapter for River's binary classifiers, which expect True and False, to labels -1 and 1.

    Labels 0 and 1 are passed on unchanged.

    Args:
        model: the classifier.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.negative: int | None = None  # the label other than 1, once seen

    def meet(self, labels: Array) -> None:
        """Learns which labels exist, before their rows are predicted; not which row has which."""
        for label in set(labels.tolist()):
            if label not in (-1, 0, 1) or (label != 1 and self.negative not in (None, label)):
                known = "" if self.negative is None else f" after {self.negative}"
                model = type(final_step(self.model)).__name__
                raise ValueError(f"River's {model} takes labels 0 and 1, or -1 and 1, got {label!r}{known}")
            if label != 1:
                self.negative = int(label)

    def predict_one(self, x: Any) -> Any:
        """The model's prediction for one row, as a label of the stream."""
        predicted = self.model.predict_one(x)
        return -1 if predicted is False and self.negative == -1 else predicted

    def learn_one(self, x: Any, y: Any) -> None:
        """Teaches the model one row."""
        self.model.learn_one(x, y == 1)

    def __repr__(self) -> str:
        return repr(self.model)


class Ticketed:
    """Adapter for learners of other libraries, which get a row when its label has come, to ``ask`` and ``tell``.

    Args:
        learner: has ``predict_one`` and ``learn_one``.
        spread: the intervals, from ``predict_interval``, and the quantiles, from ``predict_quantiles``.
    """

    def __init__(self, learner: Any, spread: Spread) -> None:
        self.learner, self.spread = learner, spread

    def ask(self, x: Any, delay: int) -> Asked:
        """The prediction for a row, which is copied if it has to wait."""
        kept, predicted, spread = x.copy() if delay else x, self.learner.predict_one(x), self.spread
        ends = None if spread.level is None else self.learner.predict_interval(x, level=spread.level)
        quantiles = None if spread.quantiles is None else self.learner.predict_quantiles(x, spread.quantiles)
        return Asked(kept, predicted, ends, quantiles)

    def tell(self, asked: Asked, y: Any) -> None:
        """Teaches the learner the row."""
        self.learner.learn_one(asked.x, y)


class Asked(NamedTuple):
    """A row, its prediction, the ends of its interval and its quantiles."""

    x: Any
    prediction: Any
    ends: tuple[float, float] | None
    given: Any

    def interval(self, _: float) -> tuple[float, float] | None:
        """The ends of the interval."""
        return self.ends

    def quantiles(self, _: Array) -> Array:
        """The quantiles."""
        return np.asarray(self.given, dtype=np.float64)

    def __copy__(self) -> Asked:
        return self


def of_river(model: Any) -> bool:
    """Whether a model comes from River."""
    return any(cls.__module__.partition(".")[0] == "river" for cls in type(model).__mro__)


def final_step(model: Any) -> Any:
    """The deciding part of a River model: the last step of a pipeline."""
    while isinstance(model, Mapped) or hasattr(model, "steps"):
        model = model.model if isinstance(model, Mapped) else list(model.steps.values())[-1]
    return model


def takes_only_booleans(learner: Any) -> bool:
    """Whether a learner is a binary classifier of River that expects True and False as labels."""
    model = final_step(learner)
    if not of_river(model) or not predicts_labels(model) or hasattr(model, "classes"):
        return False
    several = model._multiclass
    return not (several() if callable(several) else several)  # a method in some of River's classes


def predicts_labels(learner: Any) -> bool:
    """Whether a learner predicts class labels, not numbers."""
    if isinstance(learner, (PartialFit, Mapped)):
        return getattr(learner, "classes", None) is not None or predicts_labels(learner.model)
    if of_river(learner):
        from river import base

        return isinstance(final_step(learner), base.Classifier)
    if getattr(learner, "_estimator_type", None) == "classifier":
        return True
    tags = getattr(learner, "__sklearn_tags__", None)
    if callable(tags) and not hasattr(learner, "predict_one"):
        return bool(tags().estimator_type == "classifier")
    return False


def fresh(learner: Any, **changes: Any) -> Any:
    """An untrained copy of a learner, with some parameters changed.

    A class or a function that makes learners is called with the parameters.

    >>> import driftline as dl
    >>> model = dl.RLS(forgetting=0.9)
    >>> model.learn_one([1.0], 2.0)
    >>> again = fresh(model, ridge=5.0)
    >>> again, again.n_seen_
    (RLS(forgetting=0.9, ridge=5.0, keep_prior=False), 0)
    """
    if isinstance(learner, (PartialFit, Mapped)):
        return learner.anew(**changes)
    if isinstance(learner, type) or (callable(learner) and not hasattr(learner, "predict_one")):
        return learner(**changes)
    if of_river(learner):
        return learner.clone(changes or None)
    if hasattr(learner, "get_params"):
        params = {name: _fresh_value(value) for name, value in learner.get_params(deep=False).items()}
        return type(learner)(**{**params, **changes})
    if changes:
        raise TypeError(f"{type(learner).__name__} has no get_params: give a class or a function that makes it")
    return copy.deepcopy(learner)


def _fresh_value(value: Any) -> Any:
    """A parameter's value; a learner is replaced by an untrained copy."""
    if isinstance(value, (list, tuple)) and value and all(hasattr(item, "predict_one") for item in value):
        return type(value)([fresh(item) for item in value])
    return fresh(value) if hasattr(value, "predict_one") and not isinstance(value, type) else copy.deepcopy(value)


def names_of(learners: Any, where: str) -> dict[str, Any]:
    """Learners by name: one, several, or a mapping that names them.

    >>> import driftline as dl
    >>> list(names_of([dl.RLS(), dl.Kalman(), dl.RLS()], "example"))
    ['RLS', 'Kalman', 'RLS 2']
    """
    if isinstance(learners, Mapping):
        named = {str(name): learner for name, learner in learners.items()}
    else:
        named = {}
        for learner in learners if isinstance(learners, (list, tuple)) else [learners]:
            inner = learner.model if isinstance(learner, (PartialFit, Mapped)) else learner
            named[unused(getattr(inner, "__name__", type(inner).__name__), named)] = learner
    if not named:
        raise ValueError(f"{where}: there are no learners")
    return named


def unused(name: str, taken: Container[str]) -> str:
    """The name, with the smallest number that makes it unused if it is taken."""
    return next(each for each in chain([name], (f"{name} {n}" for n in count(2))) if each not in taken)
