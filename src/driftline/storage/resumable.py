"""Objects that continue from a state of arrays and plain values, such as the parts of a run that is saved and resumed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np


class Resumable:
    """An object that continues exactly from its state: the attributes that ``_fields`` names.

    A field is an array, a value that JSON can express, or another resumable object, whose fields are named
    ``field/name`` in the state.
    """

    _fields: ClassVar[tuple[str, ...]] = ()

    def state(self) -> dict[str, Any]:
        """The whole object as arrays and plain values, from which :meth:`restore` continues exactly."""
        found: dict[str, Any] = {}
        for name in self._fields:
            value = getattr(self, name)
            if isinstance(value, Resumable):
                found |= {f"{name}/{part}": own for part, own in value.state().items()}
            else:
                found[name] = copy.copy(value)  # an array or a list may change in place
        return found

    def resume(self, state: Mapping[str, Any]) -> Self:
        """Continues from a state, in place; returns the object."""
        for name in self._fields:
            value = getattr(self, name)
            if isinstance(value, Resumable):
                value.resume(part_of(state, name))
            else:
                setattr(self, name, _like(value, state[name]))
        return self

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """An object from the result of :meth:`state`."""
        return cls().resume(state)


def part_of(state: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The state of a part."""
    return {key.removeprefix(f"{name}/"): value for key, value in state.items() if key.startswith(f"{name}/")}


def _like(value: Any, saved: Any) -> Any:
    """A saved value of the same kind as another one; arrays are copied, because the object may write into them."""
    return np.array(saved) if isinstance(saved, np.ndarray) else tuple(saved) if isinstance(value, tuple) else saved
