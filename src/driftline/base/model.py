"""Base class of learners and transformers: parameters, copies, and calls that succeed or change nothing."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from driftline._core import Guard
from driftline.base import params, river
from driftline.tables.inputs import Array, Name


class Model(river.Estimator):
    """A model that learns from rows and has parameters."""

    _names: list[Name] | None = params.state(None)

    if TYPE_CHECKING:  # hidden from type checkers, which derive the constructor from the parameters

        @property
        def _guard(self) -> Guard: ...

    else:

        def __new__(cls, *_: Any, **__: Any) -> Self:
            """A new model, known to River and guarded against a second thread."""
            river.introduce(cls)
            self = super().__new__(cls)
            object.__setattr__(self, "_guard", Guard(cls.__name__))
            return self

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """An untrained copy with the same parameters, except for ``new_params``.

        Args:
            new_params: parameters to change.
            include_attributes: keep what was learned.
        """
        if include_attributes:
            other = copy.deepcopy(self)
            return other.set_params(**new_params) if new_params else other
        return type(self)(**{**self.get_params(deep=False), **(new_params or {})})

    def __sklearn_clone__(self) -> Self:
        """The copy that scikit-learn's ``clone`` makes; see :mod:`driftline.base.params`."""
        from sklearn.base import clone

        def copies(values: Mapping[str, Any]) -> dict[str, Any]:
            return {name: clone(value, safe=False) for name, value in values.items()}

        other = type(self)(**copies(self._given))
        other._checks_later, other._broken = True, copies(self._broken)
        for part in other._models():
            part._keep_valid()
        return other

    def _roll_back(self, state: dict[str, Any]) -> None:
        """Restores an exported state. It fails only without memory or for a forged state, which is then lost."""
        try:
            self.__setstate__(state)
        except Exception as error:
            self._forget()
            name = type(self).__name__
            raise RuntimeError(f"{name}: the state could not be restored and is lost; load it again ({error})") from error

    def __getstate__(self) -> dict[str, Any]:
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        raise NotImplementedError

    def _forget(self) -> None:
        """Returns to the untrained state. It cannot fail."""
        raise NotImplementedError

    def _named_features(self) -> Array:
        if self._names is None:
            raise AttributeError(f"{type(self).__name__}: the features have no names")
        return as_objects(self._names)


def as_objects(values: Sequence[Any]) -> Array:
    """Values of any type as an array of objects."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
