"""The charts of a report as one figure of matplotlib, which is imported when one is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftline.evaluate.plots import new_figure
from driftline.report import words
from driftline.report.alarms import alarm_lines
from driftline.report.charts import Chart, charts, limits, shown_at_first
from driftline.report.contributions import contributions
from driftline.report.facts import Facts
from driftline.report.headline import headline
from driftline.report.run_log import RunLog

# The colours of the page in light mode.
COLOURS = {
    "model": "#0072b2", "last": "#d55e00", "mean": "#8a8f98", "season": "#cc79a7", "fixed": "#009e73",
    "target": "#3d434d", "alarms": "#c1272d", "resets": "#9a4f86",
    "weight0": "#0072b2", "weight1": "#d55e00", "weight2": "#009e73", "weight3": "#cc79a7",
    "weight4": "#e69f00", "weight5": "#56b4e9", "weight6": "#333333",
}  # fmt: skip


def draw(log: RunLog, path: Any = None) -> Any:
    """A figure with every chart that has something to show."""
    facts = Facts(log)
    found = contributions(facts)
    drawn = [chart for chart in charts(facts, found) if not chart.missing]
    lines = -(-len(drawn) // 2)
    figure = new_figure(12, 0.6 + 3.1 * max(lines, 1))
    figure.suptitle(headline(facts, alarm_lines(facts, found))[0], fontsize=12)
    for place, chart in enumerate(drawn):
        _draw_one(figure.add_subplot(lines, 2, place + 1), chart, facts.by_date)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _draw_one(ax: Any, chart: Chart, dates: bool) -> None:
    x: Any = (chart.x * 1e6).astype("datetime64[us]") if dates else chart.x
    for upper, lower, role in chart.bands:
        sides = [np.where(np.isfinite(chart.lines[end].values), chart.lines[end].values, np.nan) for end in (upper, lower)]
        ax.fill_between(
            x, sides[1], sides[0], color=COLOURS[role], alpha=0.18, linewidth=0, label=chart.lines[upper].label or None
        )
    for line in shown_at_first(chart):
        if not line.faint:
            values = np.where(np.isfinite(line.values), line.values, np.nan)
            thin = 0.8 if line.role == "target" else 1.3
            ax.plot(x, values, "--" if line.dashed else "-", color=COLOURS[line.role], lw=thin, label=line.label)
    for kind, places in chart.marks.items():
        for number, at in enumerate(places):
            where = np.int64(at * 1e6).astype("datetime64[us]") if dates else at
            label = "" if number else kind[:-1]
            ax.axvline(where, color=COLOURS[kind], lw=0.9, ls=":" if kind == "resets" else "-", label=label)
    if chart.level is not None:
        ax.axhline(chart.level, color="grey", lw=0.9, ls=":")
    if chart.log:
        ax.set_yscale("log")
    elif (ends := limits(chart)) is not None and ends[1] > ends[0]:
        room = 0.05 * (ends[1] - ends[0])
        ax.set_ylim(ends[0] - room, ends[1] + room)
        ax.yaxis.set_major_formatter(lambda value, _: words.number(value))
    ax.set_title(chart.title, loc="left", fontsize=11)
    ax.set_ylabel(chart.y)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25)
    ax.legend(frameon=False, fontsize=8, ncols=3)
    ax.tick_params(labelsize=8)
