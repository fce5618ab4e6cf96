"""Features by how much they move the prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftline.inputs import Array
from driftline.report.facts import Facts


@dataclass(frozen=True)
class Feature:
    """A feature's weight at the end, its spread, and their product: how far it moves the prediction."""

    place: int
    name: str
    weight: float
    spread: float | None
    influence: float
    share: float  # of the largest influence
    history: Array  # of the weight


def ranked(facts: Facts) -> list[Feature]:
    """All features, the one with the most influence first; without spreads, by the size of the weight."""
    kept = facts.trail.weights
    weights = np.array(facts.portrait.get("weights", ()), dtype=np.float64)
    if not len(weights) and len(kept):
        weights = kept[-1]
    spreads = facts.spreads
    with np.errstate(over="ignore", invalid="ignore"):
        influence = np.abs(weights)
        if spreads is not None:
            spreads = np.pad(spreads, (0, max(0, len(weights) - len(spreads))))[: len(weights)]
            influence = influence * spreads
    influence = np.where(np.isfinite(influence), influence, 0.0)
    most = float(influence.max(initial=0.0))
    return [
        Feature(
            int(place),
            facts.names[place],
            float(weights[place]),
            None if spreads is None else float(spreads[place]),
            float(influence[place]),
            float(influence[place]) / most if most else 0.0,
            kept[:, place] if place < kept.shape[1] else np.empty(0),
        )
        for place in np.argsort(-influence, kind="stable")
    ]
