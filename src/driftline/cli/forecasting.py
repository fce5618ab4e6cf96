"""``driftline forecast``: the next rows, from the models of ``run --steps``. Nothing is learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from driftline.base.levels import Spread
from driftline.cli import checkpoint
from driftline.cli.locks import locked
from driftline.cli.next_rows import check_kind, refuse_learned, unlike_spacing
from driftline.cli.outputs import new_output
from driftline.cli.tasks import Columns, spread_columns
from driftline.delayed import Forecaster
from driftline.delayed.timeline import Timeline, Times
from driftline.errors import ModelFileError
from driftline.files import Block, DataError, Options, Rows
from driftline.files.errors import no_column
from driftline.files.opening import JSON_LINES
from driftline.storage import model_file
from driftline.tables import kinds, missing
from driftline.tables.categories import Categories
from driftline.tables.columns import Column
from driftline.tables.missing import FILLS
from driftline.tables.numbers import Numbers

WHERE = "forecast"
THE_NEXT_ROWS = "forecast takes the rows after the last one learned"
_ZONES = {
    kinds.DATE: None,
    kinds.TIMESTAMP: None,
    f"{kinds.TIMESTAMP} UTC": "UTC",
}  # of times that tell how far rows are apart


@dataclass(frozen=True)
class TrainedForecaster:
    """A trained forecaster, and how to read its rows.

    Attributes:
        model: the forecaster.
        options: how its rows were read.
        read: what is known about the columns of the file; None if it was trained from Python.
        ahead: the columns known ahead; None for all.
        rows: number of rows learned.
    """

    model: Forecaster
    options: Options
    read: dict[str, Any] | None
    ahead: tuple[str, ...] | None
    rows: int


def load(path: Path) -> TrainedForecaster:
    """Reads a forecaster: the state of a ``run --steps``, or one saved on its own."""
    model, extra = model_file.load_with_extra(path)
    if not isinstance(model, Forecaster):
        raise ModelFileError(f"{path}: holds {model!r}, which is not a forecaster; driftline run --steps makes one")
    if not model.n_seen_:
        raise ModelFileError(f"{path}: the forecaster has seen no row yet")
    if extra is None or extra.plain.get("kind") != checkpoint.KIND:
        names = model._names
        if names is None:
            raise ModelFileError(f"{path}: the forecaster has no column names; use it from Python")
        known = names if model.known is None else [each if each in names else names[int(str(each))] for each in model.known]
        ahead, texts = tuple(map(str, known)), [n for n, each in _columns(model).items() if isinstance(each, Categories)]
        text = tuple(str(name) for name in known if name in texts)
        return TrainedForecaster(model, Options(features=ahead, text=text), None, ahead, model.n_seen_)
    kept = checkpoint.of(model, extra, path)
    options = replace(kept.options, target_needed=False)
    known = kept.settings["known"]
    if known is None:
        return TrainedForecaster(model, options, kept.known, None, kept.rows)
    ahead = (*known, *([options.time] if options.time and options.is_feature(options.time) else []))
    text = tuple(name for name in options.text if name in ahead)
    words = {name: word for name, word in options.missing.items() if not name or name in ahead}
    wanted = replace(options, features=ahead, drop=(), text=text, missing=words)
    return TrainedForecaster(model, wanted, kept.known, ahead, kept.rows)


def _columns(model: Forecaster) -> dict[Any, Column]:
    """The columns that the model of the first step has learned from, if they are more than numbers."""
    columns = model.learners_[0]._columns
    return {} if columns is None else columns.columns


def forecast(
    path: Path, source: str | None, *, out: str, spread: Spread, delimiter: str | None, plot: Path | None = None
) -> tuple[int, str | None]:
    """Forecasts the next rows; returns their number, and a warning if they do not seem to be the next ones."""
    with locked("forecast", {"--out": out}):
        trained = load(path)
        if source is None:
            return _without_rows(trained, out, spread, plot), None
        options = trained.options if delimiter is None else replace(trained.options, delimiter=delimiter)
        rows = Rows(source, options, known=trained.read)
        try:
            _check_columns(trained, rows)
            before, recent = rows.maker.backwards, list(rows.maker.recent)
            blocks = _next_blocks(trained, rows)
            if rows.maker.backwards > before:
                raise DataError(f"goes back in time: {THE_NEXT_ROWS}", source=rows.name)
            refuse_learned(blocks[0], recent, rows.name, THE_NEXT_ROWS)
            X = [row for block in blocks for row in block.X.mappings()]
            columns = _beginning(trained, blocks) | _forecast(trained, X, spread, rows.name, plot)
            warning = unlike_spacing(columns.get("time"), recent)
            with new_output(out, rows.ending) as output:
                output.write(columns, blocks[0].zone)
        finally:
            rows.close()
        return len(X), None if warning is None else f"{rows.name}: {warning}"


def _without_rows(trained: TrainedForecaster, out: str, spread: Spread, plot: Path | None) -> int:
    model = trained.model
    timeline = _timeline(trained)
    X: Any = model.steps
    columns: Columns = {"row": trained.rows + np.arange(model.steps), "step": np.arange(model.steps) + 1}
    if timeline is not None:
        columns["time"] = timeline.clock(1, model.steps)
    if known := _known_features(trained):
        if timeline is None or known != [trained.options.time]:
            words = (
                "the forecaster uses columns known ahead, so it needs a file with the next rows. They are: "
                f"{', '.join(known)}"
            )
            raise DataError(words, source="SOURCE")
        X = [{trained.options.time: moment} for moment in timeline.moments(1, model.steps)]
    columns |= _forecast(trained, X, spread, "SOURCE", plot)
    zone = None if timeline is None or trained.read is None else _ZONES[trained.read["types"][trained.options.time]]
    with new_output(out, ".csv") as output:
        output.write(columns, zone)
    return model.steps


def _timeline(trained: TrainedForecaster) -> Timeline | None:
    """The times of the rows, the last one learned being row 0; None if they are unknown, local to a zone, or uneven."""
    known, name = trained.read, trained.options.time
    if known is None or name is None or not known["times"]["recent"]:
        return None
    if known["types"].get(name) not in _ZONES:
        return None
    recent = np.round(np.array(known["times"]["recent"]) * 1e6).astype(np.int64)
    try:
        return replace(Timeline.of(Times(recent, recent, None, name, None), WHERE), row=1 - len(recent))
    except ValueError:
        return None


def _known_features(trained: TrainedForecaster) -> list[str]:
    """The columns known ahead that are features."""
    if trained.read is None:
        return list(trained.ahead or ())
    used = [str(name) for name, column in _columns(trained.model).items() if column.met]
    ahead = set(used if trained.ahead is None else trained.ahead)
    return [name for name in used if name in ahead]


def _next_blocks(trained: TrainedForecaster, rows: Rows) -> list[Block]:
    """All rows of the file; raises DataError if there are more than the model's steps."""
    steps, needed, blocks, count = trained.model.steps, _needed(trained, rows), [], 0
    known_kind = None if trained.read is None else trained.read["types"].get(trained.options.time)
    rows.start()
    while (raw := rows.next_raw()) is not None:
        _check_values(trained, rows, raw, needed)
        if known_kind is not None and trained.options.time in raw.kinds:
            check_kind(str(trained.options.time), known_kind, rows, raw)
        blocks.append(rows.read(raw))
        count += len(raw)
        if count > steps:
            raise DataError(f"has more rows than the {steps:,} steps that were learned", source=rows.name)
    if not count:
        raise DataError("has a header but no rows", source=rows.name)
    return blocks


def _check_columns(trained: TrainedForecaster, rows: Rows) -> None:
    """If the file has a header, it must name every column known ahead."""
    if rows.reader.opened.format == JSON_LINES:
        return
    names = rows.columns()
    there = set(names)
    for name in _needed(trained, rows):
        if name not in there:
            raise no_column(name, names, rows.name, "which is known ahead (run --known says which are)")


def _needed(trained: TrainedForecaster, rows: Rows) -> list[str]:
    """The columns that must be present, including the time."""
    needed = trained.ahead if trained.ahead is not None else tuple(map(str, _columns(trained.model)))
    return [*dict.fromkeys([*needed, *([str(trained.options.time)] if rows.maker.recent else [])])]


def _check_values(trained: TrainedForecaster, rows: Rows, raw: Block, needed: Sequence[str]) -> None:
    """Columns known ahead must have a value in every row, unless the run, or Python, said how to fill it in."""
    words = trained.model.learner.missing if trained.read is None else trained.options.missing
    columns, places = _columns(trained.model), {name: place for place, name in enumerate(raw.table.schema.names)}
    for name in needed:
        column = columns.get(name)
        if isinstance(column, Numbers) and missing.word(words, name) in FILLS:
            continue
        if isinstance(column, Categories) and column.missed:
            continue  # a missing text is a category of its own
        if (column is None or not column.met) and trained.read is not None and name != trained.options.time:
            continue  # it has had no value, so it makes no feature
        absent = [True]
        if name in places:
            absent = pc.is_null(raw.table.column(places[name]), nan_is_null=True).to_pylist()
        if True in absent:
            place = raw.place(absent.index(True))
            raise DataError("the value is missing, but must be known ahead", source=rows.name, place=place, column=name)


def _forecast(trained: TrainedForecaster, X: Any, spread: Spread, source: str, plot: Path | None) -> Columns:
    model = trained.model
    try:
        found = model._forecast(X, spread, WHERE)
    except ValueError as error:
        raise DataError(str(error), source=source) from error
    if plot is not None:
        found.plot(path=plot)
    return {"prediction": found.predictions, **spread_columns(found)}


def _beginning(trained: TrainedForecaster, blocks: Sequence[Block]) -> Columns:
    steps = np.arange(sum(map(len, blocks)))
    columns: Columns = {"row": trained.rows + steps, "step": steps + 1}
    for name, values in (("time", [block.times for block in blocks]), ("target", [block.y for block in blocks])):
        if all(part is not None for part in values):
            columns[name] = np.concatenate([part for part in values if part is not None])
    return columns
