"""The summary of a run, as text or as JSON."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

from driftline.cli.keyed import Keyed
from driftline.cli.matching import Matching
from driftline.cli.running import CLOSED, GRACE, RunResult
from driftline.evaluate.baselines import BASELINES
from driftline.evaluate.metrics import BASELINE_ERRORS
from driftline.evaluate.tables import Cell, Table, finite
from driftline.report.key_page import shocks
from driftline.report.words import count

SHOWN_KEYS = 10
REFED = (
    "the pipe began with the rows that were learned first, so these were learned again. "
    "If it is fed from its start, --from-start leaves out the rows learned before"
)
_KEY_COLUMNS = ["key", "rows", "alarms", "last at row", "error before", "since"]


def in_words(result: RunResult, files: dict[str, Path | str]) -> str:
    """The summary as text."""
    task, score = result.task, result.task.score
    lines = [f"{result.source}: {count(result.rows, 'row')}, {count(len(result.names), 'feature')}, {task.title}"]
    if result.stopped and not result.rows:
        stopped = f"{result.source}: stopped by {result.stopped} before the first row; no file is written"
        return "\n".join([stopped, *(f"Warning: {words}" for words in _unlearned(result))])
    if result.stopped:
        lines.append(f"Stopped by {result.stopped} after row {result.rows - 1:,}; all requested files are saved")
    elif result.resumed_at == result.rows and not result.more:
        lines.append("Nothing to do: every row was done before")
    elif result.resumed_at:
        lines.append(f"Resumed at row {result.resumed_at:,}")
    if result.replaced:
        lines.append("The state of an earlier run was replaced; --resume would have continued that run")
    if result.delay:
        lines.append(f"Labels arrive {count(result.delay, 'row')} late")
    if isinstance(task, Matching):
        lines += _waiting(task)
    if isinstance(task, Keyed):
        lines += _key_lines(task)
    if task.by_step:
        lines += str(step_table(task.by_step)).split("\n")
        lines += ["--json has every step"] if len(task.by_step) > 3 else []
    else:
        lines += task.measure.in_words(task.figures, score.season)
    lines += [f"Warning: {words}" for words in _warnings(result)]
    if score.skipped:
        lines.append(f"{count(score.skipped, 'row')} without a target or a prediction, not learned")
    if result.backwards:
        go = "goes" if result.backwards == 1 else "go"
        lines.append(f"{count(result.backwards, 'row')} {go} back in time: the order of the file was kept")
    lines += [
        f"column {name!r} has more than {limit} different texts: the later ones share a feature. --drop leaves it out"
        for name, limit in result.crowded.items()
    ]
    if hasattr(task.model, "explain"):
        lines += task.model.explain().split("\n")
    lines += [f"{what}: {path}" for what, path in files.items()]
    if result.unused_time is not None:
        lines.append(f"The report's axis counts rows: --time {shlex.quote(result.unused_time)} puts dates there")
    new = result.rows - result.resumed_at
    speed = f" ({new / result.seconds:,.0f} rows/s)" if new and result.seconds > 0 else ""
    lines.append(f"{result.seconds:.2f} s{speed}: reading {result.reading:.2f} s, learning {result.learning:.2f} s")
    return "\n".join(lines)


def _unlearned(result: RunResult) -> list[str]:
    """What was read of a pipe and is not learned."""
    lines = []
    if result.unlearned:
        late = "" if result.stopped == CLOSED else f" within {GRACE:g} seconds"
        lines.append(f"{count(result.unlearned, 'more row')} had been read and could not be learned{late}")
    if result.cut_off:
        lines.append("what was read ended within a row, and that part is not learned")
    return lines


def _warnings(result: RunResult) -> list[str]:
    return [*_unlearned(result), *([REFED] if result.refed else []), *result.task.warnings()]


def _waiting(task: Matching) -> list[str]:
    waiting, dropped = len(task.model), task.model.n_dropped_
    whose = "its label" if waiting == 1 else "their labels"
    line = f"{count(task.learned, 'label')} learned, {count(waiting, 'row')} still waiting for {whose}"
    lines = [line + (f"; the {count(dropped, 'row')} that waited longest were dropped" if dropped else "")]
    if task.held:
        were = "was" if task.held == 1 else "were"
        lines.append(f"{count(task.held, 'label')} not earlier than the last row {were} held back until a later row arrives")
    return lines


def _matched(task: Matching) -> dict[str, int]:
    return {"labels_learned": task.learned, "labels_held_back": task.held, "rows_waiting": len(task.model)}


def _key_lines(task: Keyed) -> list[str]:
    """The keys with an alarm, worst first."""
    raised = [found for found in task.by_key if found.alarms]
    common = [] if task.of_all is None else [shocks(task.of_all).rstrip(".")]
    if not raised:
        return [*common, "No alarm of a key went off" if common else "No alarm went off"]
    lines = [*common, f"The alarm went off in {count(len(raised), 'key')}, those whose errors have grown most first:"]
    rows = [[found.key, found.rows, found.alarms, found.last_alarm, found.before, found.since] for found in raised]
    lines += str(Table(_KEY_COLUMNS, rows[:SHOWN_KEYS])).split("\n")
    return lines + ([f"… and {len(raised) - SHOWN_KEYS:,} more"] if len(raised) > SHOWN_KEYS else [])


def as_plain(result: RunResult, files: dict[str, Path | str]) -> dict[str, Any]:
    """The same as plain values for JSON."""
    task = result.task
    steps = [{"step": step, **finite(own)} for step, own in enumerate(task.by_step, 1)]
    return {
        "source": result.source,
        "model": repr(task.learner if isinstance(task, Matching) else task.model),
        "rows": result.rows,
        "rows_scored": task.score.scored,
        "features": result.names,
        **finite(task.figures),
        "season_rows": task.score.season,
        **({"steps": steps} if steps else {}),
        **(_matched(task) if isinstance(task, Matching) else {}),
        **(_keys_as_plain(task) if isinstance(task, Keyed) else {}),
        "resumed_at": result.resumed_at,
        "interrupted": bool(result.stopped),
        "rows_read_not_learned": result.unlearned + result.cut_off,
        "rows_back_in_time": result.backwards,
        "crowded_columns": list(result.crowded),
        "warnings": _warnings(result),
        "seconds": round(result.seconds, 4),
        "reading_seconds": round(result.reading, 4),
        "learning_seconds": round(result.learning, 4),
        "files": {what.lower(): str(path) for what, path in files.items()},
    }


def _keys_as_plain(task: Keyed) -> dict[str, Any]:
    raised = [found for found in task.by_key if found.alarms]
    pool = {} if task.of_all is None else {"pool_alarms": task.of_all.alarms, "last_pool_alarm": task.of_all.last_alarm}
    return {"keys": len(task.model), "keys_with_alarms": [asdict(found) for found in raised], **pool}


def step_table(by_step: list[dict[str, float | None]]) -> Table:
    """The errors of a forecast at some of its steps, the baselines' errors there, and the coverage."""
    last = len(by_step)
    shown = [step for step in range(1, last + 1) if step == last or step & (step - 1) == 0]  # 1, 2, 4, …
    baselines = {kind.title: BASELINE_ERRORS[name] for name, kind in BASELINES.items()}
    rows = []
    for step in shown:
        own = by_step[step - 1]
        errors = [own[name] for name in ("rmse", *baselines.values())]
        inside = None if own["coverage"] is None else Cell(own["coverage"], f"{100 * own['coverage']:.1f} %")
        rows.append([step, *errors, inside])
    return Table(["step", "error (RMSE)", *baselines, "in their intervals"], rows)
