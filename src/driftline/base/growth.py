"""How a learner gets its core from the first row, and grows it by new features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from driftline.tables import missing
from driftline.tables.inputs import Array, Name

if TYPE_CHECKING:
    from driftline.base.learner import Learner
    from driftline.base.native import Core


def expect(learner: Learner, labels: Array | None) -> None:
    """Notes how many labels a row has, before the first row is met."""
    if learner._core is None and labels is not None:
        learner._outputs = labels.shape[1] if labels.ndim == 2 else None


def meet(learner: Learner, row: Any, names: list[Name] | None) -> None:
    """Makes the core, or grows it, so that ``row`` fits."""
    if learner._core is None:
        full = np.append(row, 1.0) if learner.intercept else row
        if not full.size:
            raise ValueError(f"{type(learner).__name__}: x is empty, and there is no intercept")
        learner._see_first_row(full)
        learner._begin(learner._make_core(full.size), names)
    elif names is not None and len(names) > learner._core.features:
        learner._core.grow(len(names) - learner._core.features)
        learner._set_names(names)


def begin(learner: Learner, core: Core, names: list[Name] | None) -> None:
    """Makes a core the learner's own."""
    learner._settle()
    core.guard = learner._guard
    learner._core = core
    learner._direct = None if missing.by_column(learner.missing) else core
    learner._columns = learner._columns  # ask reads it for each row, which is faster as an instance attribute
    learner._set_names(names)


def set_names(learner: Learner, names: list[Name] | None) -> None:
    """Sets the names of the features, in the core too."""
    learner._names = names
    if names is not None and learner._core is not None:
        learner._core.set_names(names)
