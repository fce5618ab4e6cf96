"""Learners of this library and of others, behind the same two methods."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np


class PartialFit:
    """Lets a model with ``partial_fit`` and ``predict``, as in scikit-learn, take part.

    Args:
        model: the model; it learns one row at a time.
        start: what is predicted before the first row is learned.
        classes: the labels, for a classifier: scikit-learn asks for them in advance.

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
        """The same, with a model that has learned nothing and some parameters changed."""
        return PartialFit(fresh(self.model, **changes), start=self.start, classes=self.classes)

    def __repr__(self) -> str:
        return f"PartialFit({self.model!r})"


class Mapped:
    """Lets a model whose rows are mappings from names to numbers take part.

    Models of River are known, and need no adapter.

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
        """The same, with a model that has learned nothing and some parameters changed."""
        return Mapped(fresh(self.model, **changes))

    def __repr__(self) -> str:
        return f"Mapped({self.model!r})"


def of_river(model: Any) -> bool:
    """Whether a model is one of River's."""
    return any(cls.__module__.partition(".")[0] == "river" for cls in type(model).__mro__)


def predicts_labels(learner: Any) -> bool:
    """Whether a learner's predictions are labels, not numbers."""
    if isinstance(learner, (PartialFit, Mapped)):
        return getattr(learner, "classes", None) is not None or predicts_labels(learner.model)
    if of_river(learner):
        from river import base

        while hasattr(learner, "steps"):  # a pipeline is what its last step is
            learner = list(learner.steps.values())[-1]
        return isinstance(learner, base.Classifier)
    if getattr(learner, "_estimator_type", None) == "classifier":
        return True
    tags = getattr(learner, "__sklearn_tags__", None)
    if callable(tags) and not hasattr(learner, "predict_one"):
        return bool(tags().estimator_type == "classifier")
    return False


def fresh(learner: Any, **changes: Any) -> Any:
    """The same learner, knowing nothing, with some parameters changed.

    A class or a function makes a learner from its parameters; it is called.

    >>> import driftline as dl
    >>> model = dl.RLS(forgetting=0.9)
    >>> model.learn_one([1.0], 2.0)
    >>> again = fresh(model, ridge=5.0)
    >>> again, again.n_seen_
    (RLS(forgetting=0.9, ridge=5.0), 0)
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
    """A parameter's value: a learner within a learner is made anew too."""
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
            base = getattr(inner, "__name__", type(inner).__name__)
            count, name = 1, base
            while name in named:
                count += 1
                name = f"{base} {count}"
            named[name] = learner
    if not named:
        raise ValueError(f"{where}: there are no learners")
    return named
