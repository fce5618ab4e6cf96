"""What learners and transformers share: parameters, copies, and calls that succeed or leave no trace."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from driftline._core import Guard
from driftline.base import params, river
from driftline.tables.inputs import Array, Name


class Model(river.Estimator):
    """Anything that learns from rows and has parameters."""

    _names: list[Name] | None = params.state(None)

    if TYPE_CHECKING:  # a type checker makes the constructor of the parameters, and takes no attribute for one of them

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
        """A copy with the same parameters, except for ``new_params``, that has learned nothing.

        Args:
            new_params: parameters to change.
            include_attributes: keep what was learned.
        """
        if include_attributes:
            other = copy.deepcopy(self)
            return other.set_params(**new_params) if new_params else other
        return type(self)(**{**self.get_params(deep=False), **(new_params or {})})

    def _roll_back(self, state: dict[str, Any]) -> None:
        """Restores an exported state. If that fails, there is no memory or the state was forged, and it is lost."""
        try:
            self.__setstate__(state)
        except Exception as error:
            self._forget()
            name = type(self).__name__
            raise RuntimeError(f"{name}: the state could not be restored, and is lost; load it again ({error})") from error

    def __getstate__(self) -> dict[str, Any]:
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        raise NotImplementedError

    def _forget(self) -> None:
        """Back to where nothing was learned. It cannot fail."""
        raise NotImplementedError

    def _named_features(self) -> Array:
        if self._names is None:
            raise AttributeError(f"{type(self).__name__}: the features have no names")
        return as_objects(self._names)


def as_objects(names: list[Name]) -> Array:
    """Names as an array of objects."""
    out = np.empty(len(names), dtype=object)
    out[:] = names
    return out
