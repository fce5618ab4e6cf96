"""What the targets' pictures share. matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from driftline.evaluate.plots import COLOURS, new_axes

NEUTRAL = "#595959"


def panels(count: int, *, width: float = 4.6, height: float = 4.0, rows: int = 1) -> tuple[Any, list[Any]]:
    """A figure with so many axes in the house style, from left to right and row by row."""
    from matplotlib.figure import Figure

    columns = -(-count // rows)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    return figure, [new_axes(ax) for ax in grid.flat[:count]]


def band(ax: Any, x: Any, middle: Any, low: Any, high: Any, **style: Any) -> None:
    """A line with the region around it."""
    (line,) = ax.plot(x, middle, **({"linewidth": 1.6} | style))
    ax.fill_between(x, low, high, color=line.get_color(), alpha=0.2, linewidth=0)


def legend_below(figure: Any, ax: Any, columns: int = 4) -> None:
    """One legend for all panels, below them."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)


def colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name, the same in every panel."""
    return {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}
