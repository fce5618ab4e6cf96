"""How far the features move the predictions, and how much of the labels they explain.

A weight times the spread of its feature says little if features are correlated: two large weights of opposite sign may
cancel. So the variance of the predictions is divided among the features. With C = U D V' the centred features, scaled to
length 1, and p the centred predictions, the contributions are c = V U'p / sqrt(n). Their squares add up to the variance of
the predictions that is linear in the features, so none exceeds the spread of the predictions. For uncorrelated features and
a linear model, c is the weight times the standard deviation of its feature; two copies of a feature share its part. These
are the correlation-adjusted scores of Zuber and Strimmer (2011) in units of the target. They are computed from the
predictions, not the weights, and so apply to any learner. The sine and the cosine of one angle count as one input, whose
contribution is the root of the sum of both squares: the sign of each depends on where the circle begins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from driftline.report.facts import Facts
from driftline.report.hindsight import merged
from driftline.tables.inputs import Array

FEWEST_ROWS = 64  # of a window
ROWS_A_FEATURE = 4  # in a window: weights that fit fewer rows say nothing
WINDOWS = 128
CONSTANT = 1e-12  # relative to a column's size: a smaller spread is rounding
MADE_BY_WEIGHTS = 0.2  # relative to the predictions' spread: the most that weights may leave unexplained
CIRCLE = re.compile(r"(?P<name>.+?)[ _.:-]*(?P<side>sin|cos)", re.IGNORECASE)  # one side of an angle
DEPENDENT = 1e-7  # relative to the largest singular value; smaller directions are rounding


@dataclass(frozen=True)
class Contributions:
    """Contributions of each input by window, (windows, d), and over the whole stream, (d,).

    Attributes:
        names: the names of the inputs.
        places: the one or two features that make up each input.
        ends: the last row of each window.
        windows: the contributions to the predictions by window, with the sign of the effect.
        whole: the same over all rows.
        explained: the share of the labels' variance that each feature explains.
        by_weights: whether the final weights explain the predictions of the last window, up to a fifth of their spread.
    """

    names: list[str]
    places: list[list[int]]
    ends: Array
    windows: Array
    whole: Array
    explained: Array
    by_weights: bool


@dataclass(frozen=True)
class Feature:
    """A feature as the page lists it; ``share`` is its length relative to the longest bar."""

    name: str
    explained: float | None  # share of the labels' variance
    contribution: float | None  # over the whole stream
    lately: float | None  # in the last window
    weight: float | None  # at the end
    share: float
    history: Array


def shared_out(triangle: Array, target: int) -> Array:
    """The contributions of the features to a column of a triangle of [1 x p y], -2 for predictions and -1 for labels."""
    centred, whole = np.linalg.norm(triangle[1:], axis=0), np.linalg.norm(triangle, axis=0)
    sizes = np.where(centred > CONSTANT * whole, centred, 0.0)  # a column that only rounding moves is constant
    features, values = triangle[1:, 1:-2] * (sizes[1:-2] > 0), triangle[1:, target] * (sizes[target] > 0)
    sizes = sizes[1:-2]
    left, lengths, right = np.linalg.svd(features / np.where(sizes > 0, sizes, 1.0), full_matrices=False)
    kept = lengths > DEPENDENT * lengths.max(initial=0.0)
    found: Array = right[kept].T @ (left[:, kept].T @ values) / max(abs(float(triangle[0, 0])), 1.0)
    return np.where(sizes > 0, found, 0.0)


def contributions(facts: Facts) -> Contributions | None:
    """The contributions of the inputs; None if the inputs were not recorded."""
    fixed, triangles = facts.log.hindsight, facts.triangles
    if fixed is None or not len(triangles) or not np.isfinite(triangles).all():
        return None
    least, width = max(FEWEST_ROWS, ROWS_A_FEATURE * fixed.features), fixed.width
    while width < least or facts.log.rows > width * WINDOWS:
        width *= 2
    windows = merged(triangles, width // fixed.width)
    rows = facts.log.rows
    ends = np.minimum((np.arange(len(windows)) + 1) * width, rows) - 1
    if len(windows) > 1 and rows - (len(windows) - 1) * width < least:  # the last window is too short
        windows, ends = windows[:-1], ends[:-1]
    whole = merged(triangles, 1 << (len(triangles) - 1).bit_length())[0]
    total = float(np.linalg.norm(whole[1:, -1])) / max(abs(float(whole[0, 0])), 1.0)
    explained = np.square(shared_out(whole, -1) / total) if total > 0 else np.zeros(fixed.features)
    by_window = np.array([shared_out(window, -2) for window in windows])
    names, places = _inputs(facts.names[: fixed.features])
    return Contributions(
        names,
        places,
        ends,
        _together(by_window, places),
        _together(shared_out(whole, -2), places),
        np.array([explained[own].sum() for own in places]),
        _by_weights(facts, windows[-1]),
    )


def _inputs(names: list[str]) -> tuple[list[str], list[list[int]]]:
    """The inputs behind features, and the places of their features: a sine and the cosine of the same name are one."""
    stems = [CIRCLE.fullmatch(name) for name in names]
    sides = {(stem["name"], stem["side"].lower()) for stem in stems if stem}
    found: dict[object, tuple[str, list[int]]] = {}  # by name for angles, otherwise by place: names may repeat
    for place, (name, stem) in enumerate(zip(names, stems, strict=True)):
        angle = stem["name"] if stem and {(stem["name"], "sin"), (stem["name"], "cos")} <= sides else None
        found.setdefault(angle or place, (angle or name, []))[1].append(place)
    return [name for name, _ in found.values()], [places for _, places in found.values()]


def _together(values: Array, places: list[list[int]]) -> Array:
    """The contributions of inputs, from those of features along the last axis."""
    parts = [values[..., own[0]] if len(own) == 1 else np.sqrt(np.square(values[..., own]).sum(axis=-1)) for own in places]
    found: Array = np.stack(parts, axis=-1)
    return found


def _by_weights(facts: Facts, triangle: Array) -> bool:
    weights, said = np.array(facts.model_summary.get("weights", ()), dtype=np.float64), triangle[1:, -2]
    if len(weights) != triangle.shape[1] - 3:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.linalg.norm(triangle[1:, 1:-2] @ weights - said) <= MADE_BY_WEIGHTS * np.linalg.norm(said))


def most_moving(facts: Facts, weights: Array) -> list[int]:
    """The features by the average size of their weights times their spreads, if known; largest first."""
    with np.errstate(over="ignore", invalid="ignore"):
        moved = np.abs(weights).mean(axis=0) * _spreads(facts, weights.shape[1])
    return [int(place) for place in np.argsort(-np.where(np.isfinite(moved), moved, 0.0), kind="stable")]


def _spreads(facts: Facts, width: int) -> Array:
    """The features' standard deviations; 1 if the inputs were not recorded."""
    if facts.spreads is None:
        return np.ones(width)
    return np.pad(facts.spreads, (0, max(0, width - len(facts.spreads))))[:width]


def ranked(facts: Facts, found: Contributions | None, most: int) -> tuple[list[Feature], int, float]:
    """The ``most`` features that explain the most, the number of the others, and their share.

    If the inputs were not recorded, features are ranked by weight times spread, as far as that is known.
    """
    kept = facts.trajectory.weights
    weights = np.array(facts.model_summary.get("weights", ()), dtype=np.float64)
    if not len(weights) and len(kept):
        weights = kept[-1]
    if found is not None and not found.by_weights and facts.trajectory.experts:
        weights = np.empty(0)  # the weights of one expert among others say nothing about the predictions
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(weights) * _spreads(facts, len(weights)) if found is None else found.explained
        size = np.where(np.isfinite(size), size, 0.0)
        total = 1.0 if found is not None else float(size.sum()) or 1.0
    order, largest = np.argsort(-size, kind="stable"), float(size.max(initial=0.0)) or 1.0
    shown = []
    for place in order[:most]:
        own = [place] if found is None else found.places[place]
        weight = float(weights[own[0]]) if len(own) == 1 and own[0] < len(weights) else None
        share = float(size[place]) / largest
        if found is None:
            history = kept[:, place] if place < kept.shape[1] else np.empty(0)
            shown.append(Feature(facts.names[place], None, None, None, weight, share, history))
        else:
            effects = found.windows[:, place]
            figures = (float(found.explained[place]), float(found.whole[place]), float(effects[-1]))
            shown.append(Feature(found.names[place], *figures, weight, share, effects))
    return shown, len(order[most:]), float(size[order[most:]].sum()) / total
