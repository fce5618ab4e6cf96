"""A learner's state as a dictionary of plain values and arrays, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from driftline.base import encoding
from driftline.tables.encoder import Columns
from driftline.tables.inputs import Array, Name
from driftline.tables.missing import Missing

if TYPE_CHECKING:
    from driftline.base.learner import Learner


def exported(learner: Learner) -> dict[str, Any]:
    """The complete state of a learner, for pickles, files and undo."""
    state: dict[str, Any] = {
        "params": learner._given, "skipped": learner._skipped, "names": learner._names,
    }  # fmt: skip
    if learner._refused is not None:
        state["refused"] = learner._refused
    if learner._core is not None:
        state["core"] = learner._core.get_state()
        state["kept"] = {name: getattr(learner, name) for name in learner._kept}
    if learner._columns is not None:
        state["columns"] = learner._columns.state()
    return state


def take_over(learner: Learner, state: dict[str, Any]) -> None:
    """Restores an exported state; raises ValueError if it is invalid."""
    learner._store(state["params"])
    learner._refused = state.get("refused")
    for name, value in state.get("kept", {}).items():
        setattr(learner, name, value)  # reading __dict__ would slow down every later access to an attribute
    if "core" in state:
        learner._restore(state["core"], state["names"])
    else:
        learner._forget()
    columns = state.get("columns")
    learner._columns = None if columns is None else Columns.restored(columns, learner._names, learner.missing)
    learner._skipped = state["skipped"]


def restore_core(learner: Learner, core: dict[str, Array], names: list[Name] | None) -> None:
    """Gives the learner a new core with an exported state."""
    if not isinstance(core["weights"], np.ndarray) or not len(core["weights"]):
        raise ValueError("the state has no weights")
    fresh = learner._core_for(core)
    fresh.set_state(core)
    learner._begin(fresh, names)


def follow_params(learner: Learner, before: dict[str, Any], word: Missing, changed: str) -> None:
    """Passes changed parameters on to the core; raises ValueError if it cannot adopt them."""
    try:
        encoding.refuse_changed(word, learner.missing)
        learner._refresh(before)
    except ValueError:
        raise ValueError(
            f"{type(learner).__name__}: {changed} cannot change once the learner has learned; "
            "make a new one with the parameters you want"
        ) from None
    learner._require_core("set_params").mark = 0
