"""``driftline explain``: what changed in some rows of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from driftline.base.events import BEFORE, FEWEST_BEFORE, Event, as_watched, explain_rows
from driftline.base.learner import Learner
from driftline.cli import checkpoint
from driftline.delayed import Pending
from driftline.errors import ModelFileError
from driftline.files import Block, DataError, Rows
from driftline.files.follower import Follower
from driftline.tables.inputs import Array, Name


class Tail:
    """The latest rows before a period, and those in it, as columns by name."""

    def __init__(self) -> None:
        self.columns: list[dict[Name, Array]] = []
        self.coded: set[Name] = set()
        self.codes: dict[Name, dict[str, int]] = {}
        self.rows = 0  # in all

    def add(self, block: Block, errors: Array) -> None:
        """Adds rows."""
        table, coded = as_watched(block.X, slice(0, len(block)), "explain", self.codes)
        names = list(block.X.names or range(table.shape[1]))[: table.shape[1]]
        self.coded |= {name for name, is_coded in zip(names, coded or [False] * len(names), strict=True) if is_coded}
        labels = np.asarray(block.y, dtype=np.float64)
        columns: dict[Name, Array] = {"": labels, " ": errors}
        self.columns.append(columns | dict(zip(names, table.T, strict=True)))
        self.rows += len(block)

    def forget(self, rows: int) -> None:
        """Drops the blocks before the last ``rows`` rows."""
        while self.columns and sum(len(columns[""]) for columns in self.columns[1:]) >= rows:
            self.columns.pop(0)

    def explain(self, start: int, stop: int) -> list[Event]:
        """What distinguishes rows ``start`` to before ``stop`` of the stream."""
        kept = sum(len(columns[""]) for columns in self.columns)
        first = self.rows - kept
        begin = max(first, start - BEFORE)
        names = list(dict.fromkeys(name for columns in self.columns for name in columns))
        whole = {
            name: np.concatenate([columns.get(name, np.full(len(columns[""]), np.nan)) for columns in self.columns])
            for name in names
        }
        rows = slice(begin - first, stop - first)
        inputs = names[2:]
        table = np.column_stack([np.empty((stop - begin, 0)), *(whole[name][rows] for name in inputs)])
        coded = [name in self.coded for name in inputs]
        found = explain_rows(whole[""][rows], whole[" "][rows], table, coded, start - begin, inputs, self.codes)
        return [replace(event, row=event.row + begin, found=start) for event in found]


def explain(path: Path, source: str, first: str, last: str, *, delimiter: str | None) -> tuple[list[Event], str]:
    """What changed from ``first`` to before ``last``, and the name of the target."""
    kept = checkpoint.load(path)
    model = kept.model.learner if isinstance(kept.model, Pending) else kept.model
    if not isinstance(model, Learner) or model._estimator_type != "regressor" or kept.options.id is not None:
        raise ModelFileError(f"{path}: explain takes the state of a run of one model that predicts numbers, one step ahead")
    options = kept.options if delimiter is None else replace(kept.options, delimiter=delimiter)
    rows, tail = Rows(source, options), Tail()
    follower = Follower(model.clone(), delay=kept.settings["delay"])
    start: int | None = None
    stop: int | None = None
    try:
        rows.start()
        while stop is None and (raw := rows.next_raw()) is not None:
            block = rows.read(raw)
            run = follower.step(block)
            places = _places(block, tail.rows)
            tail.add(block, run.errors)
            start = _reached(places, first, block, tail, "--from") if start is None else start
            stop = _reached(places, last, block, tail, "--to") if start is not None else None
            if start is None:
                tail.forget(BEFORE)
    finally:
        rows.close()
    if start is None:
        raise DataError(f"has no row at --from {first} or later", source=rows.name)
    stop = tail.rows if stop is None else stop
    if stop <= start:
        raise DataError(f"has no rows from {first} to before {last}", source=rows.name)
    if start < FEWEST_BEFORE:
        words = f"has {start:,} rows before --from {first}; at least {FEWEST_BEFORE} are needed, to compare with"
        raise DataError(words, source=rows.name)
    return tail.explain(start, stop), str(options.target)


def _places(block: Block, before: int) -> Any:
    return np.arange(before, before + len(block)) if block.times is None else block.times


def _reached(places: Any, text: str, block: Block, tail: Tail, option: str) -> int | None:
    """The first row at a place or later, in the stream; None if it is not in the block."""
    try:
        place: Any = np.datetime64(text) if places.dtype.kind == "M" else float(text)
    except ValueError:
        kind = "a time such as 2026-03-01T12:00" if places.dtype.kind == "M" else "a number"
        raise DataError(f"{option} must be {kind}, got {text!r}") from None
    later = np.flatnonzero(places >= place)
    return int(later[0]) + tail.rows - len(block) if len(later) else None
