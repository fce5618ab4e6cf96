"""Pictures. matplotlib is imported when one is drawn."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from driftline.errors import missing_extra
from driftline.evaluate.scores import Curve
from driftline.evaluate.tables import shown

# Okabe and Ito's palette, safe for colour-blind readers, without yellow, which is too light for a line.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", ":", "-.")


def style(number: int) -> dict[str, Any]:
    """The colour and dashes of the n-th line: after the last colour, colours repeat with other dashes."""
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": STYLES[number // len(COLOURS) % len(STYLES)]}


def _figures() -> ModuleType:
    try:
        return importlib.import_module("driftline.evaluate.figures")
    except ImportError as error:
        raise missing_extra("pictures need", "matplotlib", "plot") from error


def new_figure(width: float, height: float) -> Any:
    """A figure that a notebook displays; a script writes it with ``savefig``."""
    return _figures().ShownFigure(figsize=(width, height), layout="constrained")


def new_axes(ax: Any, width: float = 8.0, height: float = 4.5) -> Any:
    """The axes given, or new ones, in the house style."""
    if ax is None:
        ax = new_figure(width, height).add_subplot(axes_class=_figures().ShownAxes)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25)
    ax.set_axisbelow(True)
    return ax


def legend(ax: Any) -> None:
    """Puts the legend next to the picture, where it covers no line."""
    ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def save(ax: Any, path: Any) -> Any:
    """Writes the picture if a path is given; returns the axes."""
    if path is not None:
        ax.figure.savefig(path, dpi=150)
    return ax


def _choose_scale(ax: Any, values: Any) -> None:
    """Makes the vertical axis logarithmic if the values are positive and far apart."""
    finite = np.asarray(values)[np.isfinite(values)]
    if finite.size and finite.min() > 0 and finite.max() > 20 * finite.min():
        ax.set_yscale("log")


def draw_curves(curves: Mapping[str, Curve], metric: str, how: str, *, ax: Any = None, path: Any = None) -> Any:
    """One line per learner; the axis is logarithmic if the values are positive and far apart."""
    ax = new_axes(ax)
    for number, (name, curve) in enumerate(curves.items()):
        ax.plot(curve.rows, curve.values, label=name, linewidth=1.6, **style(number))
    _choose_scale(ax, np.concatenate([curve.values for curve in curves.values()]))
    ax.set(xlabel="row", ylabel=metric, title=f"{metric[0].upper()}{metric[1:]}, {how}")
    legend(ax)
    return save(ax, path)


def draw_settings(
    settings: Sequence[Mapping[str, Any]], losses: Sequence[float], metric: str, *, ax: Any = None, path: Any = None
) -> Any:
    """Losses over the parameter with the most values, one line for each setting of the others."""
    ax = new_axes(ax)
    tried = {name: list(dict.fromkeys(each[name] for each in settings if name in each)) for name in settings[0]}
    main = max(tried, key=lambda name: len(tried[name]))
    numeric = all(isinstance(value, (int, float)) for value in tried[main])
    ticks = sorted(tried[main]) if numeric else tried[main]
    lines: dict[str, list[tuple[int, float]]] = {}
    for setting, loss in zip(settings, losses, strict=True):
        others = ", ".join(f"{name}={value}" for name, value in setting.items() if name != main and len(tried[name]) > 1)
        lines.setdefault(others, []).append((ticks.index(setting[main]), loss if np.isfinite(loss) else np.nan))
    for number, (label, line) in enumerate(lines.items()):
        places, heights = zip(*sorted(line), strict=True)
        ax.plot(places, heights, label=label, marker="o", **style(number))
    _choose_scale(ax, losses)
    ax.set_xticks(range(len(ticks)), list(map(str, ticks)))
    ax.set(xlabel=main, ylabel=metric)
    if len(lines) > 1:
        legend(ax)
    return save(ax, path)


def draw_bars(values: Mapping[str, float], label: str, title: str, *, ax: Any = None, path: Any = None) -> Any:
    """One horizontal bar per learner with its value, largest on top."""
    ax = new_axes(ax, height=0.6 + 0.45 * len(values))
    ordered = sorted(values.items(), key=lambda item: item[1])
    names, sizes = [name for name, _ in ordered], [size for _, size in ordered]
    bars = ax.barh(names, sizes, color=COLOURS[0])
    ax.bar_label(bars, [shown(size) for size in sizes], padding=4, fontsize=9)
    ax.set(xlabel=label, title=title)
    ax.margins(x=0.12)
    return save(ax, path)


def draw_points(
    means: Mapping[str, Mapping[str, tuple[float, float]]], metric: str, title: str, *, ax: Any = None, path: Any = None
) -> Any:
    """One group per stream and one mark per learner, from stream -> learner -> (mean, deviation)."""
    ax = new_axes(ax, width=min(12.0, max(6.0, 2.0 + 1.6 * len(means))))
    learners = list(next(iter(means.values())))
    offsets = np.linspace(-0.3, 0.3, len(learners)) if len(learners) > 1 else np.zeros(1)
    for number, learner in enumerate(learners):
        middle, spread = np.array([by_learner[learner] for by_learner in means.values()]).T
        where = np.arange(len(means)) + offsets[number]
        marks = "osD^vP*"[number // len(COLOURS) % 7] if len(learners) > len(COLOURS) else "o"
        ax.errorbar(where, middle, spread, fmt=marks, capsize=3, label=learner, color=COLOURS[number % len(COLOURS)])
    _choose_scale(ax, [mean for by_learner in means.values() for mean, _ in by_learner.values()])
    ax.set(xlabel="stream", ylabel=metric, title=title)
    turned = {"rotation": 30, "ha": "right"} if sum(map(len, means)) > 60 else {}
    ax.set_xticks(range(len(means)), list(means), **turned)
    legend(ax)
    return save(ax, path)


def draw_ranks(ranks: Mapping[str, float], difference: float, title: str, *, ax: Any = None, path: Any = None) -> Any:
    """Mean ranks on a line, best on the left; a bar joins learners closer than the critical difference."""
    ordered = sorted(ranks.items(), key=lambda item: item[1])
    ax = new_axes(ax, height=1.2 + 0.35 * len(ordered))
    groups = cliques([rank for _, rank in ordered], difference)
    top = len(ordered) + len(groups) * 0.35
    for number, (name, rank) in enumerate(ordered):
        level = len(ordered) - 1 - number
        ax.plot([rank, rank], [level, top], color="0.75", linewidth=1, zorder=1)
        ax.plot(rank, level, "o", color=COLOURS[0], zorder=3)
        ax.annotate(f"{name}  {rank:.2f}", (rank, level), xytext=(8, 0), textcoords="offset points", va="center", fontsize=9)
    for number, (first, last) in enumerate(groups):
        height = len(ordered) - 0.4 + number * 0.35
        ax.plot(
            [first - 0.03, last + 0.03], [height, height], color=COLOURS[1], linewidth=4, solid_capstyle="round", zorder=2
        )
    ax.set(xlabel=f"mean rank (critical difference {difference:.2f})", title=title, yticks=[], ylim=(-0.7, top))
    ax.set_xlim(0.8, len(ordered) + 0.8)
    ax.spines["left"].set_visible(False)
    return save(ax, path)


def cliques(ranks: list[float], difference: float) -> list[tuple[float, float]]:
    """The longest runs of two or more sorted ranks that lie within a difference.

    >>> cliques([1.0, 1.5, 2.2, 4.0], 1.0)
    [(1.0, 1.5), (1.5, 2.2)]
    """
    found: list[tuple[float, float]] = []
    for i, first in enumerate(ranks):
        last = max(j for j, rank in enumerate(ranks) if rank - first <= difference)
        if last > i and (not found or ranks[last] > found[-1][1]):
            found.append((first, ranks[last]))
    return found
