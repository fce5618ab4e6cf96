"""Static pictures: charts for pages without a script, small curves, and bars. Colours come from the page's styles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape

import numpy as np

from driftline.report import words
from driftline.report.certainty import OFTEN
from driftline.report.charts import Chart, Line, limits, shown_at_first
from driftline.tables.inputs import Array

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 760, 280, 64, 26, 10
SMALL = (380, 170)  # the size of a chart that stands beside another one


def _scale(low: float, high: float, start: float, stop: float) -> tuple[float, float]:
    """The factor and offset that map [low, high] to [start, stop]."""
    factor = (stop - start) / (high - low) if high > low else 0.0
    return factor, (start - low * factor) if factor else (start + stop) / 2


def polyline(x: Array, y: Array, role: str, extra: str = "") -> str:
    """A line through the points; it is broken where a value is missing."""
    real = np.isfinite(x) & np.isfinite(y)
    pieces = []
    begins = True
    for known, left, top in zip(real, x, y, strict=True):
        if known:
            pieces.append(f"{'M' if begins else 'L'}{left:.1f} {top:.1f}")
        begins = not known
    return f'<path class="line {role}{extra}" d="{"".join(pieces)}"/>'


def sparkline(values: Array, width: int = 120, height: int = 28) -> str:
    """A small curve without axes."""
    real = values[np.isfinite(values)]
    if len(real) < 2:
        return ""
    each = max(1, len(values) // width)
    values = values[::each]
    factor, offset = _scale(float(real.min()), float(real.max()), height - 2.0, 2.0)
    line = polyline(np.linspace(1, width - 1, len(values)), values * factor + offset, "spark")
    return (
        f'<svg class="sparkline" viewBox="0 0 {width} {height}" aria-hidden="true" preserveAspectRatio="none">{line}</svg>'
    )


def bars(counts: Sequence[int], inside: range, label: str) -> str:
    """A histogram; the bars in ``inside`` are those of the interval."""
    most = max(max(counts), 1)
    width = WIDTH / len(counts)
    drawn = "".join(
        f'<rect class="bar {"in" if place in inside else "out"}" x="{place * width + 1:.1f}" y="{150 - 140 * n / most:.1f}" '
        f'width="{width - 2:.1f}" height="{140 * n / most:.1f}"><title>{n:,}</title></rect>'
        for place, n in enumerate(counts)
    )
    edges = "".join(
        f'<line class="edge" x1="{place * width:.1f}" x2="{place * width:.1f}" y1="0" y2="156"/>'
        for place in (inside.start, inside.stop)
    )
    return f'<svg class="bars" viewBox="0 0 {WIDTH} 160" role="img" aria-label="{escape(label)}">{drawn}{edges}</svg>'


def reliability(found: Mapping[str, Array], rows: float) -> str:
    """The share of labels below each quantile against its level, with the diagonal and the range of chance."""
    size, left, top = 320, 44, 8

    def x(level: float) -> float:
        return left + size * level

    def y(share: float) -> float:
        return top + size * (1 - min(max(share, 0.0), 1.0))

    levels = np.linspace(0, 1, 41)
    room = OFTEN * np.sqrt(levels * (1 - levels) / max(rows, 1.0))
    upper = [f"{x(level):.1f},{y(share):.1f}" for level, share in zip(levels, levels + room, strict=True)]
    lower = [f"{x(level):.1f},{y(share):.1f}" for level, share in zip(levels, levels - room, strict=True)]
    parts = [f'<polygon class="chance" points="{" ".join([*upper, *reversed(lower)])}"/>']
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<line class="axis" x1="{left}" x2="{left + size}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        parts.append(f'<line class="axis" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top}" y2="{top + size}"/>')
        parts.append(f'<text class="tick" text-anchor="end" x="{left - 6}" y="{y(tick) + 4:.1f}">{100 * tick:.0f} %</text>')
        parts.append(f'<text class="tick" text-anchor="middle" x="{x(tick):.1f}" y="{top + size + 16}">{tick:g}</text>')
    parts.append(f'<line class="diagonal" x1="{x(0):.1f}" y1="{y(0):.1f}" x2="{x(1):.1f}" y2="{y(1):.1f}"/>')
    for level, below, at_most in zip(*(found[name].tolist() for name in ("level", "below", "at_most")), strict=True):
        nearest = min(max(level, below), at_most)
        parts.append(
            f'<line class="between" x1="{x(level):.1f}" x2="{x(level):.1f}" y1="{y(below):.1f}" y2="{y(at_most):.1f}"/>'
        )
        parts.append(
            f'<circle cx="{x(level):.1f}" cy="{y(nearest):.1f}" r="4"><title>quantile {level:g}: {words.share(below)} below'
            f"{'' if at_most == below else f', {words.share(at_most)} at most equal'}</title></circle>"
        )
    parts.append(
        f'<text class="tick" text-anchor="middle" x="{left + size / 2}" y="{top + size + 32}">level of the quantile</text>'
    )
    label = "The share of labels below each quantile, against its level"
    view = f"0 0 {left + size + 12} {top + size + 38}"
    return f'<svg class="reliability" viewBox="{view}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def chart(spec: Chart, date: bool, size: tuple[int, int] = (WIDTH, HEIGHT)) -> str:
    """A chart with its axes and names, or its small panels, for a page without a script."""
    ends = limits(spec)
    if ends is None:
        return ""
    if not spec.apart:
        return _panel(spec, date, *ends, size)
    alone = (replace(spec, lines=(replace(line, role="model", dashed=False),)) for line in spec.lines)
    panels = (_panel(one, date, *ends, size) for one in alone)
    return f'<div class="panels">{"".join(f"<div>{panel}</div>" for panel in panels)}</div>'


def _panel(spec: Chart, date: bool, low: float, high: float, size: tuple[int, int]) -> str:
    width, height = size
    bottom = height - BOTTOM
    shift = np.log10 if spec.log else np.asarray
    across = _scale(float(spec.x[0]), float(spec.x[-1]), LEFT, width - 8.0)
    up = _scale(float(shift(low)), float(shift(high)), bottom, TOP)
    x = spec.x * across[0] + across[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        heights = [np.where(np.isfinite(line.values), shift(line.values), np.nan) * up[0] + up[1] for line in spec.lines]
    heights = [np.clip(each, 0, bottom) for each in heights]
    parts = [_area(x, heights[upper], heights[lower], role) for upper, lower, role in spec.bands]
    parts += [
        f'<line class="mark {kind}" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{bottom}"/>'
        for kind, places in spec.marks.items()
        for at in places * across[0] + across[1]
    ]
    for line, each in zip(spec.lines, heights, strict=True):
        if line.hidden:
            continue
        parts.append(polyline(x, each, line.role, (" dashed" if line.dashed else "") + (" faint" if line.faint else "")))
    ticks = np.logspace(math.log10(low), math.log10(high), 4) if spec.log and low > 0 else np.linspace(low, high, 5)
    for tick in ticks if high > low else [low]:
        at = float(shift(tick)) * up[0] + up[1]
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{width - 8}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(
            f'<text class="tick" text-anchor="end" x="{LEFT - 6}" y="{at + 4:.1f}">{words.number(float(tick), 3)}</text>'
        )
    parts += _dates(spec, across, date, height)
    names = "".join(
        f'<span class="key"><i class="swatch {line.role}{_kind(line)}"></i>{escape(line.label)}</span>'
        for line in shown_at_first(spec)
        if line.label
    )
    label = escape(f"{spec.title}. {spec.about}")
    picture = f'<svg class="static" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    return f'{picture}<p class="keys">{names}</p>'


def _kind(line: Line) -> str:
    """How the swatch of a line looks, as a class."""
    return " band" if line.faint else " dashed" if line.dashed else ""


def _area(x: Array, upper: Array, lower: Array, role: str) -> str:
    real = np.isfinite(upper) & np.isfinite(lower)
    there = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[real], upper[real], strict=True))
    back = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[real][::-1], lower[real][::-1], strict=True))
    return f'<polygon class="area {role}" points="{there} {back}"/>'


def _dates(spec: Chart, across: tuple[float, float], date: bool, height: int) -> list[str]:
    first, last = float(spec.x[0]), float(spec.x[-1])
    found = []
    for place, anchor in ((first, "start"), ((first + last) / 2, "middle"), (last, "end")):
        text = words.date(place, last - first) if date else words.number(place, 6)
        at = place * across[0] + across[1]
        found.append(f'<text class="tick" text-anchor="{anchor}" x="{at:.1f}" y="{height - 6}">{text}</text>')
        if first == last:
            break
    return found
