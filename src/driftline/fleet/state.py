"""A fleet's state as a dictionary of plain values, models and arrays, and back; and its checks for files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from driftline.base.alarm import Alarm
from driftline.errors import ModelFileError
from driftline.fleet.keys import Names, Numbers
from driftline.fleet.packed import Options
from driftline.fleet.pooled import Pool
from driftline.fleet.separate import KeyedModel
from driftline.fleet.ticket import read_back, require_saved
from driftline.storage import codec

if TYPE_CHECKING:
    from driftline.fleet.fleet import Fleet

_DEFAULTS = vars(Options())


def of(fleet: Fleet) -> dict[str, Any]:
    """Everything a copy needs, valid until the fleet changes. The core's arrays are created on access."""
    names, core = fleet._models.state()
    return {
        "learner": fleet._learner,
        "start": fleet._start,
        **vars(fleet._options),
        "named": None if fleet._named_by_keys and core is None else fleet._options.named,
        "names": names,
        "keys": fleet._keys.listed if fleet._options.named else None,
        "core": core,
        "pool": None if fleet._pool is None else fleet._pool.state(),
    }


def exported(fleet: Fleet) -> dict[str, Any]:
    """The same, valid for good: all arrays are in memory."""
    with fleet._guard.claim(only=True):
        state = of(fleet)
        core = state["core"]
        return state if core is None else {**state, "core": {name: core[name] for name in core}}


def take_over(fleet: Fleet, state: dict[str, Any]) -> None:
    """Restores a state, in a new fleet too; raises ValueError if it is invalid."""
    options = {name: state.get(name, default) for name, default in _DEFAULTS.items()}
    fleet.__init__(state["learner"], start=state.get("start"), **options)  # type: ignore[misc]
    core = state.get("core")
    fleet._set_up(fleet._options, packed="entries" not in (core or ()))
    reach = fleet._models.fill(state.get("names"), core)
    n, named, pool = fleet._options.n, fleet._options.named, state.get("pool")
    if fleet._pool is not None and pool is not None:
        fleet._pool = Pool.restored(pool, fleet._pool.model, fleet._options.alarms)
    if named and reach > len(state["keys"]):
        raise ValueError("the state has models without a key")
    fleet._keys = Names(n, state["keys"]) if named else Numbers(n, reach)


def to_file(fleet: Fleet) -> dict[str, Any]:
    """The state for a file; raises ValueError for keys or names that a file cannot hold."""
    with fleet._guard.claim():
        state = of(fleet)
    codec.require_text("Fleet", state["names"])
    for key in state["keys"] or []:
        require_saved(key, "Fleet.save")
    return state


def from_file(fleet: Fleet, state: dict[str, Any]) -> None:
    """Restores the state of a file; raises ModelFileError or ValueError if it is invalid."""
    names, core, learner = (state.get(name) for name in ("names", "core", "learner"))
    codec.require_names(names)
    if state.get("keys") is not None:
        state["keys"] = [read_back(key) for key in state["keys"]]
        if len(set(state["keys"])) != len(state["keys"]):
            raise ModelFileError("the keys are not distinct")
    if core is not None and "entries" in core:
        for entry in core["entries"]:
            _check_entry(entry, codec.encode_model("Fleet", learner))
    elif core is not None and names is not None and len(names) + learner.intercept != core["weights"].shape[1]:  # type: ignore[union-attr]
        raise ModelFileError("the names do not agree with the weights")
    take_over(fleet, state)


def _check_entry(entry: Any, kind: dict[str, Any]) -> None:
    if not isinstance(entry, KeyedModel) or codec.encode_model("Fleet", entry.model) != kind:
        raise ModelFileError("a model is not one of the fleet's learner")
    counts = np.array([entry.raised, entry.last, entry.judged, entry.inside])
    if counts.dtype != np.int64 or (counts < [0, -1, 0, 0]).any() or entry.inside > entry.judged:
        raise ModelFileError("the counts of a model are out of range")
    if not isinstance(entry.alarm, Alarm | None):
        raise ModelFileError("the alarm of a model is not one")
