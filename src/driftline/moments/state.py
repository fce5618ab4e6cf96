"""Turns a triangle into the state of a second-order learner."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftline import _core
from driftline.base.learner import Learner
from driftline.tables.inputs import Array, Name

_CAP = 1e60  # on D, as in the recursion
_RESOLUTION = 1e16  # how far D may exceed its value after one row of the largest size, as in the recursion
_PANEL = 4  # columns of a panel of float64


def factors(triangle: Array, largest: Array, start: float | None) -> tuple[Array, Array, Array, bool]:
    """U, D and w of a triangle [R z; 0 r]: S = (R'R)^-1 = U D U' and R w = z; and whether D was capped.

    Args:
        triangle: the triangle, including the prior's rows.
        largest: largest absolute value of each feature.
        start: the initial D, if rows are forgotten. Directions that no recent row excites are then capped as in the
            recursion: at ``start``, or at the resolution of rounding if that is more.
    """
    from scipy.linalg import solve_triangular

    triangle, width, any_held = triangle.copy(), len(triangle) - 1, False
    unit, scale = np.eye(width), np.empty(width)
    rows = np.eye(width)  # rows of R, each divided by its diagonal
    for j in range(width):
        if j:
            unit[:j, j] = -solve_triangular(rows[:j, :j], rows[:j, j], unit_diagonal=True, check_finite=False)
        least = _CAP**-0.5
        if start is not None:
            terms = float(np.abs(unit[: j + 1, j]) @ largest[: j + 1])
            least = max(least, min(start**-0.5, terms / _RESOLUTION**0.5))
        if abs(triangle[j, j]) < least:
            _hold(triangle, j, least)
            any_held = True
        scale[j] = triangle[j, j]
        rows[j, j + 1 :] = triangle[j, j + 1 : -1] / scale[j]
    weights = solve_triangular(rows, triangle[:-1, -1] / scale, unit_diagonal=True, check_finite=False)
    return unit, scale**-2, weights, any_held


def _hold(triangle: Array, j: int, least: float) -> None:
    """Sets the diagonal of row j, which is only rounding, and keeps the row's relation to later columns."""
    rest = np.ascontiguousarray(triangle[j + 1 :, j + 1 :])
    _core.fold_rows(rest[None], triangle[j, j + 1 :].copy()[None, None])
    triangle[j + 1 :, j + 1 :] = rest
    triangle[j, j], triangle[j, j + 1 :] = least, 0.0


def start(
    learner: Learner, names: list[Name] | None, unit: Array, diagonal: Array, weights: Array, sums: dict[str, Any]
) -> None:
    """Starts a fresh learner in this state."""
    learner._meet(np.zeros(len(weights) - bool(learner.intercept)), names)
    state = learner.__getstate__()
    core = state["core"]
    width = len(weights)
    row, column = np.triu_indices(width, 1)
    core["matrix"][_places(row, column)] = unit[row, column]
    core["diagonal"][:width] = diagonal
    core["weights"][:] = weights
    for name, value in sums.items():
        core["sums"][_core.sums.index(name)] = value
    learner.__setstate__(state)


def _places(row: Array, column: Array) -> Array:
    """Offsets of entries of the upper triangle: panel p has 4 columns of 4 (p + 1) rows each."""
    panel = column // _PANEL
    before = _PANEL * _PANEL * (panel * (panel + 1) // 2)
    places: Array = before + (column - panel * _PANEL) * _PANEL * (panel + 1) + row
    return places
