"""``driftline tune``: every setting of a grid over one source, in one pass, compared with Auto."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import typer

from driftline.base.learner import Learner
from driftline.cli.arguments import for_task, make_model, regressor, require_parameter, value_of
from driftline.cli.comparing import LEVEL, ComparisonResult, Competitor
from driftline.cli.measures import WrongClasses
from driftline.evaluate.grid import Params, settings_of
from driftline.evaluate.sweep import Sweep
from driftline.evaluate.tables import Cell, Table
from driftline.files.options import CLASSIFY, REGRESS
from driftline.tables.missing import MEAN, Missing

AUTO = "auto"
MOST = 500  # settings
FIGURES = 2  # of a learner's that the table shows
USUAL: dict[str, list[Any]] = {  # one word has one meaning in every learner
    "forgetting": [0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0],
    "forget_rate": [0.1, 0.05, 0.02, 0.01, 0.005, 0.001],
    "drift": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1],
    "drift_cost": [10.0, 100.0, 1e3, 1e4, 1e5, 1e6],
    "rate": [1e-4, 1e-3, 1e-2, 1e-1, 0.5],
    "noise": [0.01, 0.1, 1.0, 10.0],
    "ridge": [0.01, 0.1, 1.0, 10.0],
}


def grid_of(name: str, typed: Iterable[str]) -> dict[str, list[Any]]:
    """The values to try, by parameter: those typed as ``name=a,b,c``, or the learner's usual ones.

    >>> grid_of("rls", ["forgetting=0.9,1"])
    {'forgetting': [0.9, 1]}
    >>> list(grid_of("kalman", []))
    ['noise', 'drift', 'ridge']
    """
    cls = regressor(name)
    found: dict[str, list[Any]] = {}
    for text in typed:
        key, equals, values = text.partition("=")
        key = key.strip()
        if not equals or not values.strip():
            raise typer.BadParameter(f"--grid takes name=value,value,…, got {text!r}")
        require_parameter(cls, key)
        found[key] = [value_of(value.strip()) for value in values.split(",")]
    if not found:
        found = {
            key: [value for value in USUAL[key] if param.rule.accepts(value)]
            for key, param in cls._params.items()
            if key in USUAL
        }
    if not found:
        raise typer.BadParameter(f"--grid: there are no usual values for the parameters of {name}; give some, name=a,b,c")
    return found


def learners_of(
    name: str, grid: dict[str, list[Any]], settings: list[str], task: str = REGRESS, missing: Missing = MEAN
) -> tuple[list[Params], dict[str, Learner]]:
    """The settings of a grid that the learner accepts, and a learner for each by its name; and Auto."""
    base = make_model(name, settings, missing)
    found: list[Params] = []
    learners: dict[str, Learner] = {}
    refused = ""
    for setting in settings_of(grid, "tune"):
        try:
            learner = base.clone(setting)
        except ValueError as error:  # parameters that contradict each other
            refused = str(error)
            continue
        found.append(setting)
        learners[_spelled(setting)] = for_task(learner, task)
    if not found:
        raise typer.BadParameter(f"--grid: no setting is accepted. {refused}")
    if len(learners) > MOST:
        raise typer.BadParameter(f"--grid: {len(learners):,} settings are more than {MOST}; try fewer values")
    if name != AUTO:
        learners[AUTO] = for_task(make_model(AUTO, [], missing), task)
    return found, learners


def _spelled(setting: Params) -> str:
    return " ".join(f"{key}={value}" for key, value in setting.items())


@dataclass(frozen=True)
class Tuning:
    """The result of a grid.

    Attributes:
        model: the learner's name.
        settings: the settings tried.
        comparison: the comparison of the settings and Auto.
    """

    model: str
    settings: list[Params]
    comparison: ComparisonResult

    def _entry(self, setting: Params) -> Competitor:
        return next(entry for entry in self.comparison.entries if entry.name == _spelled(setting))

    @property
    def best(self) -> Params:
        """The setting with the least error."""
        return min(self.settings, key=lambda setting: self._entry(setting).loss)

    def table(self, rows: int | None = None) -> Table:
        """Settings and errors, best first, and Auto; at most ``rows`` settings if given."""
        names = list(self.settings[0])
        by_name = {_spelled(setting): setting for setting in self.settings}
        p_values = self.comparison.p_values()
        ranked = [entry for entry in self.comparison.ranked() if entry.name in by_name][:rows]
        lines: list[list[Any]] = []
        for entry in self.comparison.ranked():
            setting = by_name.get(entry.name)
            if setting is None:
                values = [Cell(None, "")] * len(names)
            elif entry in ranked:
                values = [Cell(setting[name], str(setting[name])) for name in names]
            else:
                continue
            own = [None] * FIGURES if entry.failure else entry.measure.cells(entry.score.figures())[:FIGURES]
            model = AUTO if setting is None else self.model
            lines.append([model, *values, *own, p_values.get(entry.name), round(entry.seconds, 3)])
        caption = f"{self.comparison.source}: {self.comparison.rows:,} rows, {len(self.settings):,} settings of {self.model}"
        shown = self.comparison.entries[0].measure.columns[:FIGURES]
        return Table(["model", *names, *shown, "p against the best", "seconds"], lines, caption=caption)

    def advice(self) -> str:
        """Recommends options for a run."""
        best, auto = self._entry(self.best), next((e for e in self.comparison.entries if e.name == AUTO), None)
        chosen = [part for key, value in self.best.items() for part in ("-s", f"{key}={value}")]
        task = ["--task", CLASSIFY] if isinstance(best.measure, WrongClasses) else []
        lines = [f"Best for driftline run: {shlex.join([*task, '--model', self.model, *chosen])}", *self._at_the_end()]
        if auto is not None and auto.loss < best.loss:
            p_value = self.comparison.p_values().get(best.name, 1.0)
            words = "significantly better" if p_value < LEVEL else "better, though perhaps by chance"
            lines.append(f"Auto, which needs no tuning, is {words}: --model auto")
        return "\n".join(lines)

    def _at_the_end(self) -> list[str]:
        """Which values of the best setting are the smallest or largest ones tried."""
        lines = []
        for name, value in self.best.items():
            tried = [setting[name] for setting in self.settings]
            numeric = all(isinstance(each, (int, float)) for each in tried)
            if numeric and len(set(tried)) > 2 and value in (min(tried), max(tried)):
                end, further = ("smallest", "smaller") if value == min(tried) else ("largest", "larger")
                if regressor(self.model)._params[name].rule.accepts(value / 2 if end == "smallest" else value * 1.01):
                    lines.append(f"{name}={value} is the {end} value tried: a {further} one may do better")
        return lines

    def sweep(self) -> Sweep:
        """The result as the library's :class:`Sweep`."""
        entries = [self._entry(setting) for setting in self.settings]
        losses = np.array([entry.measure.mean_of(entry.loss) for entry in entries])
        models = [None if entry.failure else entry.model for entry in entries]
        return Sweep(self.settings, losses, models, [None if e.failure is None else str(e.failure) for e in entries])
