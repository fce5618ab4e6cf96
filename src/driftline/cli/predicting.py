"""``driftline predict``: rows in, predictions out, nothing learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.cli import checkpoint
from driftline.cli.keyed import encodes_itself
from driftline.cli.locks import locked
from driftline.cli.outputs import Output, open_output
from driftline.cli.tasks import as_written, beginning
from driftline.delayed import Forecaster, Pending
from driftline.errors import ModelFileError
from driftline.evaluate import Progress
from driftline.files import DataError, Options, Rows
from driftline.files.encoder import Block
from driftline.files.errors import no_column
from driftline.files.ids import keys_of
from driftline.files.opening import JSON_LINES
from driftline.files.raw import RawBlock
from driftline.fleet import Fleet
from driftline.storage import model_file
from driftline.tables.columns import SKIP, Categories
from driftline.tables.inputs import Array

FURTHER_AHEAD = (
    "only the first row has an interval: the model learned to predict one row ahead. "
    "driftline run --steps learns to look further, and driftline forecast gives such intervals"
)


@dataclass
class TrainedModel:
    """A trained model, or a fleet with one per key, and how to read its rows."""

    model: Learner | Fleet
    options: Options
    known: dict[str, Any] | None
    first_ahead: int = 1  # how many rows the first row is ahead of the last known label
    by_columns: bool = False  # the model encodes columns itself

    @property
    def width(self) -> int:
        """Number of features that it knows."""
        if isinstance(self.model, Fleet):
            return len(self.known["encoder"]["features"]) if self.known is not None else 0
        return self.model.n_features_in_


def load(path: Path) -> TrainedModel:
    """Reads a model file: the state of a run, or a learner saved on its own."""
    model, extra = model_file.load_with_extra(path)
    if isinstance(model, Forecaster):
        raise ModelFileError(f"{path}: holds a forecaster of {model.steps:,} steps; use driftline forecast")
    if isinstance(model, Pending):
        model = model.learner
    saved_alone = extra is None or extra.plain.get("kind") != checkpoint.KIND
    if not isinstance(model, Learner | Fleet) or (isinstance(model, Fleet) and saved_alone):
        raise ModelFileError(f"{path}: holds a {type(model).__name__}, which can only be used from Python")
    if isinstance(model, Learner) and model._core is None:
        raise ModelFileError(f"{path}: the model has learned nothing yet")
    if isinstance(model, Learner) and saved_alone:
        if model._intake is not None:
            return _by_columns(model)
        names = None if model._names is None else tuple(map(str, model._names))
        return TrainedModel(model, Options(features=names, missing={"": SKIP}), None)
    assert extra is not None
    kept = checkpoint.of(model, extra, path)
    return TrainedModel(model, replace(kept.options, target_needed=False, id=None), kept.known)


def _by_columns(model: Learner) -> TrainedModel:
    """A model trained on text and times from Python: it encodes the columns of a file itself."""
    assert model._intake is not None
    columns = model._intake.columns
    texts = [str(name) for name, column in columns.items() if isinstance(column, Categories)]
    return TrainedModel(model, Options(features=tuple(map(str, columns)), text=tuple(texts)), None, by_columns=True)


def predict(path: Path, source: str, *, out: str, level: float | None, delimiter: str | None, show: bool) -> int:
    """Writes a prediction for each row; returns the number of rows."""
    with locked("predict", {"--out": out}) as confirm:
        return _predict(load(path), source, confirm, out=out, level=level, delimiter=delimiter, show=show)


def _predict(
    trained: TrainedModel,
    source: str,
    confirm: Callable[[], None],
    *,
    out: str,
    level: float | None,
    delimiter: str | None,
    show: bool,
) -> int:
    options = trained.options if delimiter is None else replace(trained.options, delimiter=delimiter)
    rows = Rows(source, options, known=trained.known)
    output: Output | None = None
    count = 0
    try:
        _check_columns(trained, rows)
        ending = ".jsonl" if rows.reader.opened.format == JSON_LINES else ".csv"
        output = open_output(out, ending=ending, mark=None)
        rows.start()
        with Progress(rows.count, show=show) as bar:
            while (raw := rows.next_raw()) is not None:
                block = rows.encode(raw)
                output.write(_predicted(trained, block, raw, level, rows), block.zone)
                count += len(block)
                bar.advance(len(block), rows.share(block.consumed))
        rows.close()
        if not count:
            raise DataError("has a header but no rows", source=rows.name)
        confirm()
        output.place()
    except BaseException:
        if output is not None:
            output.discard()
        raise
    finally:
        rows.close()
    return count


def _check_columns(trained: TrainedModel, rows: Rows) -> None:
    """If the file has a header, it must name every column that the model learned from."""
    names = rows.columns()
    if rows.reader.opened.format != JSON_LINES:
        for name in rows.encoder.columns:
            if name not in names:
                raise no_column(name, names, rows.name, "which the model learned from")


def _places(trained: TrainedModel, block: Block) -> Any:
    """Indices of the model's features among the block's."""
    if trained.known is None and trained.options.features is not None:
        return [block.names.index(name) for name in trained.options.features if name in block.names]
    return slice(0, trained.width)


def _predicted(trained: TrainedModel, block: Block, raw: RawBlock, level: float | None, table: Rows) -> dict[str, Array]:
    model, source = trained.model, table.name
    if isinstance(model, Fleet):
        X = table.encoder.table(raw) if encodes_itself(model, table) else _matrix(trained, block, source)
        try:
            said = _by_key(model, keys_of(raw, trained.options), X, level)
        except DataError as error:
            raise error.within(source) from None
    elif trained.by_columns:
        said = _one_by_one(trained, model, raw.table.to_pylist(), block, level, source)
    else:
        X, names = _matrix(trained, block, source), [*(model._names or ())]
        rows: list[Any] = list(X) if trained.width else [dict(zip(names, row, strict=True)) for row in X.tolist()]
        said = _one_by_one(trained, model, rows, block, level, source)
    return beginning(block) | said


def _matrix(trained: TrainedModel, block: Block, source: str) -> Array:
    """The features that the model knows."""
    X = np.ascontiguousarray(block.X[:, _places(trained, block)])
    if X.shape[1] < trained.width or (trained.known is None and block.X.shape[1] != trained.width):
        raise DataError(
            f"the rows have {block.X.shape[1]} columns of numbers, the model learned from {trained.width}", source=source
        )
    return X


def _by_key(fleet: Fleet, keys: list[str], X: Any, level: float | None) -> dict[str, Array]:
    """Predicts each row as the next one of its key."""
    columns = {"key": np.array(keys, dtype=object), "prediction": fleet.predict_many(keys, X)}
    if level is None:
        return columns
    lower, upper = fleet.predict_intervals(keys, X, level)
    return columns | {"lower": lower, "upper": upper}


def _one_by_one(
    trained: TrainedModel, model: Learner, rows: list[Any], block: Block, level: float | None, source: str
) -> dict[str, Array]:
    """Predicts each row one step further ahead than the row before."""
    classes = model._estimator_type == "classifier"
    said, ends = np.empty(len(rows), dtype=object if classes else np.float64), np.full((2, len(rows)), np.nan)
    try:
        for place, row in enumerate(rows):
            number = block.start + place
            ticket = model.ask(row, None if number == 0 else trained.first_ahead + number)
            said[place] = ticket.prediction
            if number == 0:
                trained.first_ahead = ticket.ahead
            if number == 0 and level is not None:
                ends[:, 0] = ticket.interval(level)
    except ValueError as error:
        raise DataError(str(error), source=source, place=block.place(place)) from error
    return {"prediction": as_written(said)} | ({} if level is None else {"lower": ends[0], "upper": ends[1]})
