"""Features by how much they move the prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftline.report.facts import Facts
from driftline.tables.inputs import Array


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


def most_moving(facts: Facts, weights: Array) -> list[int]:
    """Places of the features, those first that moved the predictions most on average along the stream."""
    with np.errstate(over="ignore", invalid="ignore"):
        moved = np.abs(weights).mean(axis=0) * _spreads(facts, weights.shape[1])
    return [int(place) for place in np.argsort(-np.where(np.isfinite(moved), moved, 0.0), kind="stable")]


def _spreads(facts: Facts, width: int) -> Array:
    """The features' standard deviations; 1 where the inputs were not followed."""
    if facts.spreads is None:
        return np.ones(width)
    return np.pad(facts.spreads, (0, max(0, width - len(facts.spreads))))[:width]


def ranked(facts: Facts, most: int) -> tuple[list[Feature], int, float]:
    """The ``most`` features with the most influence, the number of the others, and their share of all influence.

    Without spreads they go by the size of the weight.
    """
    kept = facts.trail.weights
    weights = np.array(facts.portrait.get("weights", ()), dtype=np.float64)
    if not len(weights) and len(kept):
        weights = kept[-1]
    spreads = _spreads(facts, len(weights))
    with np.errstate(over="ignore", invalid="ignore"):
        influence = np.abs(weights) * spreads
    influence = np.where(np.isfinite(influence), influence, 0.0)
    order = np.argsort(-influence, kind="stable")
    largest = float(influence.max(initial=0.0)) or 1.0
    shown = [
        Feature(
            int(place),
            facts.names[place],
            float(weights[place]),
            None if facts.spreads is None else float(spreads[place]),
            float(influence[place]),
            float(influence[place]) / largest,
            kept[:, place] if place < kept.shape[1] else np.empty(0),
        )
        for place in order[:most]
    ]
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(influence.sum()) or 1.0
        return shown, len(order[most:]), float(influence[order[most:]].sum()) / total
