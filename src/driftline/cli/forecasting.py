"""``driftline forecast``: the next rows, by the models of ``run --steps``. Nothing is learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from driftline.cli import checkpoint
from driftline.cli.locks import locked
from driftline.cli.outputs import open_output
from driftline.cli.tasks import Columns
from driftline.delayed import Forecaster
from driftline.errors import ModelFileError
from driftline.files import Block, DataError, Options, Rows
from driftline.files.errors import no_column
from driftline.files.opening import JSON_LINES
from driftline.storage import model_file
from driftline.tables.columns import SKIP
from driftline.tables.inputs import Array

WHERE = "forecast"


@dataclass(frozen=True)
class Trained:
    """A forecaster that has learned, and how rows of a file become rows for it.

    Attributes:
        model: the forecaster.
        options: how its rows were read.
        encoded: what was found out about the columns; None where it learned from Python.
        ahead: the columns that are known ahead; None for all.
        rows: how many rows it has learned.
    """

    model: Forecaster
    options: Options
    encoded: dict[str, Any] | None
    ahead: tuple[str, ...] | None
    rows: int


def load(path: Path) -> Trained:
    """Reads a forecaster: a state of ``run --steps``, or one that was saved by itself."""
    model, extra = model_file.load_with_extra(path)
    if not isinstance(model, Forecaster):
        raise ModelFileError(f"{path}: holds {model!r}, which is no forecaster; driftline run --steps makes one")
    if not model.n_seen_:
        raise ModelFileError(f"{path}: the forecaster has seen no row yet")
    if extra is None or extra.plain.get("kind") != checkpoint.KIND:
        if model._names is None:
            raise ModelFileError(f"{path}: the forecaster knows no names of columns; use it from Python")
        names = model._names if model.known is None else model.known
        columns = tuple(map(str, names))
        return Trained(model, Options(features=columns, missing={"": SKIP}), None, columns, model.n_seen_)
    kept = checkpoint.of(model, extra, path)
    options = replace(kept.options, target_needed=False)
    known = kept.settings["known"]
    if known is None:
        return Trained(model, options, kept.known, None, kept.rows)
    ahead = (*known, *([options.time] if options.time and options.is_feature(options.time) else []))
    policies = {name: policy for name, policy in options.missing.items() if not name or name in ahead}
    text = tuple(name for name in options.text if name in ahead)
    wanted = replace(options, features=ahead, drop=(), text=text, missing=policies)
    return Trained(model, wanted, kept.known, ahead, kept.rows)


def forecast(path: Path, source: str | None, *, out: str, level: float, delimiter: str | None) -> int:
    """Writes the next rows, and returns their number."""
    with locked("forecast", {"--out": out}):
        trained = load(path)
        if source is None:
            return _without_rows(trained, out, level)
        options = trained.options if delimiter is None else replace(trained.options, delimiter=delimiter)
        rows = Rows(source, options, known=trained.encoded)
        try:
            _check_columns(trained, rows)
            before = rows.encoder.backwards
            blocks = _next_blocks(trained, rows)
            if rows.encoder.backwards > before:
                raise DataError(
                    "goes back in time: forecast takes the rows after the last one that was learned", source=rows.name
                )
            X = np.concatenate([_features(trained, block) for block in blocks])
            columns = _beginning(trained, blocks) | _forecast(trained, X, level, rows.name)
            ending = ".jsonl" if rows.reader.opened.format == JSON_LINES else ".csv"
            _write(out, ending, columns, blocks[0].zone)
        finally:
            rows.close()
        return len(X)


def _without_rows(trained: Trained, out: str, level: float) -> int:
    model = trained.model
    if model._past.shape[1] and (trained.ahead is None or trained.ahead):
        raise DataError("the forecaster knows columns ahead, so that it needs a file with the next rows", source="SOURCE")
    X = np.tile(model._past[-1], (model.steps, 1))
    steps = np.arange(model.steps)
    columns = {"row": trained.rows + steps, "step": steps + 1} | _forecast(trained, X, level, "SOURCE")
    _write(out, ".csv", columns, None)
    return len(X)


def _next_blocks(trained: Trained, rows: Rows) -> list[Block]:
    """All rows of the file, which are no more than the steps."""
    steps, blocks, count = trained.model.steps, [], 0
    for block in rows:
        blocks.append(block)
        count += len(block)
        if count > steps:
            raise DataError(f"has more rows than the {steps:,} steps that were learned", source=rows.name)
    if not count:
        raise DataError("has names and no rows", source=rows.name)
    return blocks


def _check_columns(trained: Trained, rows: Rows) -> None:
    """Of a file with a header, every column that is known ahead must be there."""
    if rows.reader.opened.format == JSON_LINES:
        return
    names = rows.columns()
    needed = trained.ahead if trained.ahead is not None else tuple(rows.encoder.columns)
    for name in needed:
        if name not in names:
            raise no_column(name, names, rows.name, "column, which is known ahead (run --known says which are),")


def _features(trained: Trained, block: Block) -> Array:
    """The model's features; those that are not known ahead are anything."""
    width = trained.model._past.shape[1]
    X = np.zeros((len(block), width))
    if trained.encoded is None:
        places = {str(name): place for place, name in enumerate(trained.model._names or ())}
        for place, name in enumerate(block.names):
            if name in places:
                X[:, places[name]] = block.X[:, place]
        return X
    X[:, : block.X.shape[1]] = block.X[:, :width]
    return X


def _forecast(trained: Trained, X: Array, level: float, source: str) -> Columns:
    model = trained.model
    try:
        rows = model._next_rows(X, WHERE) if X.shape[1] else X
        found = model._forecast(rows, level, WHERE)
    except ValueError as error:
        raise DataError(str(error), source=source) from error
    return {"prediction": found.predictions, "lower": found.lower, "upper": found.upper}


def _beginning(trained: Trained, blocks: Sequence[Block]) -> Columns:
    steps = np.arange(sum(map(len, blocks)))
    columns: Columns = {"row": trained.rows + steps, "step": steps + 1}
    for name, values in (("time", [block.times for block in blocks]), ("target", [block.y for block in blocks])):
        if all(part is not None for part in values):
            columns[name] = np.concatenate([part for part in values if part is not None])
    return columns


def _write(out: str, ending: str, columns: Columns, zone: str | None) -> None:
    output = open_output(out, ending=ending, kept=False, mark=None)
    try:
        output.write(columns, zone)
        output.place()
    except BaseException:
        output.discard()
        raise
