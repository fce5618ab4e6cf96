"""Splits fleets by a hash of the key, and merges them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.fleet import hashes
from driftline.storage import codec
from driftline.tables.inputs import Array

_NONE: dict[str, Any] = {"slots": np.empty(0, dtype=np.int64)}


def split(state: dict[str, Any], parts: int) -> list[dict[str, Any]]:
    """The states of ``parts`` fleets. A key's part depends only on the key and on ``parts``."""
    arrays: Mapping[str, Any] = state["core"] or _NONE
    slots = arrays["slots"]
    keys = state["keys"] if state["named"] else slots.tolist()
    part = hashes.part_of(keys, parts, "Fleet.split")
    out = []
    for number in range(parts):
        own = np.flatnonzero(part == number)  # among the keys
        mine, named = own if state["named"] else slots[own], state["named"]
        core = _of_slots(arrays, mine, named) if state["core"] is not None else None
        pool = state["pool"] and {**state["pool"], "keys": _of_slots(state["pool"]["keys"], mine, named)}
        out.append({**state, "keys": [keys[i] for i in own] if named else None, "core": core, "pool": pool})
    return out


def _of_slots(arrays: Mapping[str, Any], mine: Array, close: bool) -> dict[str, Any]:
    """The rows of some slots, which move together if ``close``."""
    found = _taken(arrays, np.flatnonzero(np.isin(arrays["slots"], mine)))
    return {**found, "slots": np.searchsorted(mine, found["slots"])} if close else found


def merged(states: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The state of one fleet with all keys; raises ValueError if the fleets cannot be merged."""
    first = next((state for state in states if state["core"] is not None), states[0])
    for number, state in enumerate(states):
        _require_alike(first, state, number)
    learned = [state for state in states if state["core"] is not None]
    if not learned:
        return first
    keys: list[Any] | None = None
    if first["named"]:
        keys = [key for state in learned for key in state["keys"]]
        if len(set(keys)) < len(keys):
            twice = next(key for i, key in enumerate(keys) if key in set(keys[:i]))
            raise ValueError(f"Fleet.merge: the key {twice!r} is in more than one part")
    lengths = [len(state["keys"]) if first["named"] else 0 for state in learned]
    before = np.cumsum([0, *lengths])[:-1].tolist()
    core, pool = _joined([state["core"] for state in learned], before), None
    if first["pool"] is not None:
        pools = [state["pool"] for state in learned]
        most = max(pools, key=lambda pool: pool["model"].n_seen_)
        pool = {**most, "keys": _joined([pool["keys"] for pool in pools], before)}
    return {**first, "keys": keys, "core": core, "pool": pool}


def _require_alike(first: dict[str, Any], other: dict[str, Any], number: int) -> None:
    def kind(state: dict[str, Any]) -> Any:
        return [codec.encode_tree("Fleet", state[name]) for name in ("learner", "pooled")]

    differences = [name for name in ("n", "alarms", "intervals") if first[name] != other[name]]
    if other["named"] not in (first["named"], None):
        differences.insert(0, "named")
    if first["start"] is not other["start"] and _bytes(first["start"]) != _bytes(other["start"]):
        differences.insert(0, "start")
    if kind(first) != kind(other):
        differences.insert(0, "learner")
    if other["core"] is not None and (first["names"] != other["names"] or _width(first) != _width(other)):
        differences.append("features")
    if differences:
        raise ValueError(f"Fleet.merge: part {number} has a different {differences[0]} from the others")


def _bytes(start: Learner | None) -> bytes | None:
    return None if start is None else start.to_bytes()


def _width(state: dict[str, Any]) -> int | None:
    weights = state["core"].get("weights")
    return None if weights is None else int(weights.shape[1])


def _taken(arrays: Mapping[str, Any], rows: Array) -> dict[str, Any]:
    return {name: _some(arrays[name], rows) for name in arrays}


def _some(part: Any, rows: Array) -> Any:
    return part[rows] if isinstance(part, np.ndarray) else [part[row] for row in rows]


def _joined(cores: list[Mapping[str, Any]], before: list[int]) -> dict[str, Any]:
    """The rows of all parts by slot; the slots of each part come after so many others."""
    out = {}
    for name in cores[0]:
        parts = [core[name] + first if name == "slots" else core[name] for core, first in zip(cores, before, strict=True)]
        out[name] = np.concatenate(parts) if isinstance(parts[0], np.ndarray) else [item for part in parts for item in part]
    out = _taken(out, np.argsort(out["slots"], kind="stable"))
    twice = np.flatnonzero(np.diff(out["slots"]) == 0)
    if len(twice):
        raise ValueError(f"Fleet.merge: the key {int(out['slots'][twice[0]])} is in more than one part")
    return out
