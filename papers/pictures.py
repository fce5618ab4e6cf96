"""Helpers for the targets' pictures. They import matplotlib when called."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.evaluate import plots

NEUTRAL = "#595959"
DASH = 4.0  # in line widths


def panels(count: int, *, width: float = 4.6, height: float = 4.0, rows: int = 1) -> tuple[Any, list[Any]]:
    """A figure with several axes in the house style, from left to right and row by row."""
    from matplotlib.figure import Figure

    columns = -(-count // rows)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    return figure, [plots.new_axes(ax) for ax in grid.flat[:count]]


def band(ax: Any, x: Any, middle: Any, low: Any, high: Any, **style: Any) -> None:
    """Draws a line with the region around it."""
    (line,) = ax.plot(x, middle, **({"linewidth": 1.6} | style))
    ax.fill_between(x, low, high, color=line.get_color(), alpha=0.2, linewidth=0)


def bands(ax: Any, x: Any, curves: Mapping[str, Sequence[NDArray[Any]]], colour: Mapping[str, str]) -> None:
    """Draws a line and region for each name; lines that coincide alternate dashes around one region."""
    for names in together({name: curve[0] for name, curve in curves.items()}):
        middle, low, high = curves[names[0]]
        ax.fill_between(x, low, high, color=colour[names[0]], alpha=0.2, linewidth=0)
        for turn, name in enumerate(names):
            dashes = (DASH * turn, (DASH, DASH * (len(names) - 1))) if names[1:] else "-"
            ax.plot(x, middle, color=colour[name], linewidth=1.6, linestyle=dashes)


def together(curves: Mapping[str, NDArray[Any]]) -> list[list[str]]:
    """Groups of names whose curves stay within a hundredth of the total range, including 0.

    >>> together({"a": np.array([0.0, 1.0]), "b": np.array([0.0, 3.0]), "c": np.array([0.0, 1.001])})
    [['a', 'c'], ['b']]
    """
    span = np.ptp([0.0, *(edge for curve in curves.values() for edge in (curve.min(), curve.max()))])
    groups: list[list[str]] = []
    for name, curve in curves.items():
        near = [group for group in groups if np.abs(curves[group[0]] - curve).max() <= 0.01 * span]
        if near:
            near[0].append(name)
        else:
            groups.append([name])
    return groups


def legend_below(figure: Any, ax: Any, columns: int = 4) -> None:
    """One legend for all panels, below them."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)


def colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name, the same in every panel."""
    return {name: plots.COLOURS[number % len(plots.COLOURS)] for number, name in enumerate(names)}
