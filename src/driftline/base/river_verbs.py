"""River's conventions, without needing River."""

from __future__ import annotations

import copy
import sys
from typing import Any, Self


class RiverVerbs:
    """What River's pipelines, ensembles and ways of evaluating ask of a model."""

    _supervised = True
    _river_kind = "Regressor"

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """A class is introduced with its first learner: what many kinds derive from is of no kind itself."""
        _introduce(cls)
        return super().__new__(cls)

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """A learner with the same parameters, but for ``new_params``, that has learned nothing.

        Args:
            new_params: parameters to change.
            include_attributes: keep what was learned.
        """
        if include_attributes:
            other = copy.deepcopy(self)
            return other.set_params(**new_params) if new_params else other  # type: ignore[attr-defined]
        return type(self)(**{**self.get_params(deep=False), **(new_params or {})})  # type: ignore[attr-defined]


def _introduce(cls: type[RiverVerbs]) -> None:
    """River knows a model by its own classes: cls becomes one of those where River is in use."""
    river = sys.modules.get("river.base")
    if river is not None and "_known_to_river" not in vars(cls):
        getattr(river, cls._river_kind).register(cls)
        cls._known_to_river = True  # type: ignore[attr-defined]
