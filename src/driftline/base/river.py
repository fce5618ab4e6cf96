"""River's conventions, without needing River."""

from __future__ import annotations

import sys
from typing import Any


def introduce(cls: Any) -> None:
    """Registers a class with the kind of model that River knows it as, where River is in use."""
    river = sys.modules.get("river.base")
    if river is not None and "_known_to_river" not in vars(cls):
        getattr(river, cls._river_kind).register(cls)
        cls._known_to_river = True
