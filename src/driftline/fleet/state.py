"""A fleet's state as a dictionary of plain values, models and arrays, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from driftline.fleet.keys import Names, Numbers
from driftline.fleet.packed import Options

if TYPE_CHECKING:
    from driftline.fleet.fleet import Fleet


def of(fleet: Fleet) -> dict[str, Any]:
    """Everything a copy needs, valid until the fleet changes. The core's arrays are created on access."""
    names, core = fleet._models.state()
    return {
        "learner": fleet._learner,
        **vars(fleet._options),
        "named": None if fleet._named_by_keys and core is None else fleet._options.named,
        "names": names,
        "keys": fleet._keys.listed if fleet._options.named else None,
        "core": core,
    }


def exported(fleet: Fleet) -> dict[str, Any]:
    """The same, valid for good: all arrays are in memory."""
    with fleet._guard.claim(only=True):
        state = of(fleet)
        core = state["core"]
        return state if core is None else {**state, "core": {name: core[name] for name in core}}


def take_over(fleet: Fleet, state: dict[str, Any]) -> None:
    """Restores a state, in a new fleet too; raises ValueError if it is invalid."""
    fleet.__init__(state["learner"], **{name: state[name] for name in vars(Options())})  # type: ignore[misc]
    fleet._set_up(fleet._options, packed="entries" not in (state["core"] or ()))
    reach = fleet._models.fill(state["names"], state["core"])
    n, named = fleet._options.n, fleet._options.named
    if named and reach > len(state["keys"]):
        raise ValueError("the state has models without a key")
    fleet._keys = Names(n, state["keys"]) if named else Numbers(n, reach)
