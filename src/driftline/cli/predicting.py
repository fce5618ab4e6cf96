"""``driftline predict``: rows in, predictions out, nothing learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from driftline.base.encoding import columns_of, each_row
from driftline.base.learner import Learner
from driftline.base.levels import Spread
from driftline.cli import checkpoint
from driftline.cli.locks import locked
from driftline.cli.next_rows import check_kind, refuse_learned
from driftline.cli.outputs import Output, new_output
from driftline.cli.tasks import Columns, as_written, beginning, spread_columns
from driftline.delayed import Forecaster, Pending
from driftline.errors import ModelFileError
from driftline.evaluate import Progress
from driftline.files import DataError, Options, Rows
from driftline.files.errors import no_column
from driftline.files.ids import identified, keys_of
from driftline.files.opening import JSON_LINES
from driftline.files.raw import Block
from driftline.fleet import Fleet
from driftline.storage import model_file
from driftline.tables.block import RowBlock
from driftline.tables.categories import Categories
from driftline.tables.columns import Column
from driftline.tables.inputs import Array, Name

THE_NEXT_ROWS = "predict takes the rows after the last one learned; run --out has the predictions of earlier rows"
SEVERAL_ROWS = "some keys have several rows; each is predicted as the next row of its key, which only the first one is"


@dataclass
class TrainedModel:
    """A trained model, or a fleet with one per key, and how to read its rows.

    Attributes:
        model: the learner or fleet.
        options: how its rows were read.
        known: what is known about the columns; None if it was trained from Python.
        delay: how many rows late the label of the first row is; None to follow from the last label told.
        in_order: whether each row follows the one before; rows with ids do not.
    """

    model: Learner | Fleet
    options: Options
    known: dict[str, Any] | None
    delay: int | None = None
    in_order: bool = True


def load(path: Path, key: str | None = None) -> TrainedModel:
    """Reads a model file: the state of a run, or a model saved on its own. ``key`` is the column of a fleet's keys."""
    model, extra = model_file.load_with_extra(path)
    if isinstance(model, Forecaster):
        raise ModelFileError(f"{path}: holds a forecaster of {model.steps:,} steps; use driftline forecast")
    in_order = not isinstance(model, Pending | Fleet)
    if isinstance(model, Pending):
        model = model.learner
    saved_alone = extra is None or extra.plain.get("kind") != checkpoint.KIND
    if not isinstance(model, Learner | Fleet):
        raise ModelFileError(f"{path}: holds a {type(model).__name__}, which can only be used from Python")
    if isinstance(model, Fleet) and saved_alone:
        return _fleet(model, key, path)
    if key is not None:
        raise ModelFileError(
            f"{path}: --key is for a Fleet saved from Python; " + ("a run knows its own" if extra else "this is one model")
        )
    if isinstance(model, Learner) and model._core is None:
        raise ModelFileError(f"{path}: the model has learned nothing yet")
    if isinstance(model, Learner) and saved_alone:
        return TrainedModel(model, _reading(columns_of(model)), None, in_order=in_order)
    assert extra is not None
    kept = checkpoint.of(model, extra, path)
    delay = kept.settings["delay"] if in_order else None
    return TrainedModel(model, replace(kept.options, target_needed=False), kept.known, delay, in_order)


def _reading(columns: Mapping[Name, Column | None]) -> Options:
    """How to read the columns that a model trained from Python learned from; all columns if these had no names."""
    texts = [str(name) for name, column in columns.items() if isinstance(column, Categories)]
    return Options(features=tuple(map(str, columns)) or None, text=tuple(texts))


def _fleet(fleet: Fleet, key: str | None, path: Path) -> TrainedModel:
    """A fleet trained from Python: its models read the columns of a file themselves."""
    if key is None:
        raise ModelFileError(f"{path}: holds a Fleet saved from Python; --key names the column of its keys")
    columns = fleet._columns()
    if not columns:
        raise ModelFileError(f"{path}: the fleet has no column names; use it from Python")
    return TrainedModel(fleet, replace(_reading(columns), key=key), None, in_order=False)


def predict(
    path: Path,
    source: str,
    *,
    out: str,
    spread: Spread,
    delimiter: str | None,
    show: bool,
    key: str | None = None,
) -> tuple[int, str | None]:
    """Writes a prediction for each row; returns their number, and a warning about rows further ahead than those learned."""
    with locked("predict", {"--out": out}) as confirm:
        trained = load(path, key)
        options = trained.options if delimiter is None else replace(trained.options, delimiter=delimiter)
        rows = Rows(source, options, known=trained.known)
        try:
            predictor = Predictor(trained, rows, spread)
            with new_output(out, rows.ending) as output:
                predictor.write(output, show)
                confirm()
        finally:
            rows.close()
        return predictor.count, predictor.warning()


class Predictor:
    """Predicts the rows of a file, block by block.

    Args:
        trained: the model.
        rows: the file.
        spread: the intervals and quantiles.

    Attributes:
        count: the number of predictions so far.
    """

    def __init__(self, trained: TrainedModel, rows: Rows, spread: Spread) -> None:
        self.trained, self.rows, self.spread = trained, rows, spread
        self.count = 0
        self._recent = list(rows.maker.recent)  # the times of the last rows learned
        self._keys: set[str] = set()
        self._single = False  # whether the file has one row
        self._check_columns()

    def _check_columns(self) -> None:
        """If the file has a header, it must name every column that the model learned from."""
        names, model = self.rows.columns(), self.trained.model
        if self.rows.reader.opened.format != JSON_LINES:
            for name in map(str, model._columns() if isinstance(model, Fleet) else columns_of(model)):
                if name not in names:
                    raise no_column(name, names, self.rows.name, "which the model learned from")

    def write(self, output: Output, show: bool) -> None:
        """Writes the predictions of all rows."""
        rows = self.rows
        rows.start()
        with Progress(rows.count, show=show) as bar:
            for raw in self._blocks():
                columns, zone = self.take(raw)
                if len(columns["row"]):  # rows with ids may only bring labels
                    output.write(columns, zone)
                bar.advance(len(raw), rows.share(raw.consumed))
        rows.close()
        if not self.count:
            raise DataError("has a header but no rows", source=rows.name)

    def _blocks(self) -> Iterator[Block]:
        """All rows; finds out first whether there are several."""
        first, second = self.rows.next_raw(), None
        if first is not None:
            second = self.rows.next_raw()
            self._single = second is None and len(first) == 1
            yield first
        if second is not None:
            yield second
            yield from iter(self.rows.next_raw, None)

    def take(self, raw: Block) -> tuple[Columns, str | None]:
        """Predicts some rows; returns the columns to write, and the zone of their times."""
        try:
            block, columns = self._read(raw)
            columns |= self._predicted(block, raw)
        except DataError as error:
            raise error.within(self.rows.name) from None
        self.count += len(block)
        return columns, block.zone

    def _read(self, raw: Block) -> tuple[Block, Columns]:
        """The rows as numbers, and the columns that come before the predictions."""
        trained, time = self.trained, str(self.trained.options.time)
        if trained.options.id is not None:
            found = identified(raw, self.rows)
            columns = beginning(found.block) | {"row": raw.start + found.places}
            columns["id"] = np.array(found.ids, dtype=object)[found.places]
            return found.block, columns
        follows = trained.in_order and bool(self._recent)
        if follows and trained.known is not None and time in raw.kinds:
            check_kind(time, trained.known["types"][time], self.rows, raw)
        block = self.rows.read(raw)
        if follows:
            refuse_learned(block, self._recent, self.rows.name, THE_NEXT_ROWS)
        return block, beginning(block)

    def _predicted(self, block: Block, raw: Block) -> Columns:
        model = self.trained.model
        if isinstance(model, Fleet):
            keys = keys_of(raw, self.trained.options)
            self._keys.update(keys)
            return _by_key(model, _as_learned(model, keys), block.X, self.spread, keys)
        X = block.X if columns_of(model) or not model._traits.encodes else self._numbers(model, block)
        if not len(block) or self._single or not self.trained.in_order:
            return self._one_by_one(model, block, X)
        try:
            found = model._predicted(X, "predict", self.spread) if self.spread else None
            said = model.predict(X) if found is None else found.predictions
        except ValueError:  # explained with its place
            return self._one_by_one(model, block, X)
        return {"prediction": as_written(said), **({} if found is None else spread_columns(found))}

    def _numbers(self, model: Learner, block: Block) -> Array:
        """The rows for a model without names; raises DataError if it learned from another number of columns."""
        known = model.n_features_in_ if model._columns is None else len(model._columns.columns)
        if block.X.columns != known or block.X.special:
            raise DataError(f"the rows have {block.X.columns} columns of numbers, the model learned from {known}")
        return np.asarray(block.X)

    def _one_by_one(self, model: Learner, block: Block, X: RowBlock | Array) -> Columns:
        """Predicts the next row, or rows with ids, whose labels are as late as in the run."""
        count, classes = len(block), model._estimator_type == "classifier"
        out, spreads = self.spread.outputs(np.empty(count, dtype=object if classes else np.float64)), list[list[float]]()
        rows = each_row(model, X, 0, count) if isinstance(X, RowBlock) else iter(X[:count])
        place = 0
        try:
            for place, row in enumerate(rows):
                ticket = model.ask(row, self.trained.delay if self.trained.in_order else None)
                out.predictions[place] = ticket.prediction
                spreads.append(self.spread.of_ticket(ticket))
        except ValueError as error:
            raise DataError(str(error), place=block.place(place)) from error
        self.spread.write(out, slice(None), spreads)
        return {"prediction": as_written(out.predictions), **spread_columns(out)}

    def warning(self) -> str | None:
        """What to say about several rows, which the model predicts as if no label came in between."""
        model = self.trained.model
        if isinstance(model, Fleet):
            return (
                SEVERAL_ROWS if self.count > len(self._keys) and (model.learner._traits.looks_back or self.spread) else None
            )
        if not self.trained.in_order or self._single:
            return None
        return without_labels(model, self.trained.delay or 0, bounded=bool(self.spread))


def without_labels(model: Learner, delay: int, *, bounded: bool) -> str | None:
    """The warning about several rows; None if labels in between would change neither predictions nor intervals.

    Args:
        model: the model.
        delay: how many rows late the labels are.
        bounded: whether intervals are wanted.
    """
    added = f", with {delay:,} added for the late labels," if delay else ""
    narrow = bounded and not model._traits.measured_apart
    intervals = "the intervals are as wide as for the next row, but the target may have drifted by a later one"
    if not model._traits.looks_back:
        ways = f"For intervals further ahead use driftline run --steps{added} and driftline forecast"
        return f"{intervals}. {ways}" if narrow else None
    words = "several rows are predicted without the labels in between, however far ahead they are"
    words += f"; {intervals}" if narrow else ""
    if model._estimator_type == "classifier":
        return f"{words}. To evaluate rows that have labels, use driftline run"
    future = f"For the next few rows use driftline run --steps{added} and driftline forecast"
    return f"{words}. {future}; to evaluate rows that have labels, driftline run"


def _as_learned(fleet: Fleet, keys: list[str]) -> list[Any]:
    """Keys as the fleet knows them: a file has them as text."""
    known = {str(key): key for key in fleet.keys_}
    return [known.get(key, key) for key in keys]


def _by_key(fleet: Fleet, keys: list[Any], X: Any, spread: Spread, written: list[str]) -> Columns:
    """Predicts each row as the next one of its key."""
    try:
        said = as_written(fleet.predict_many(keys, X))
        found = fleet._predict_spread(keys, X, spread, "Fleet.predict_intervals") if spread else None
    except (TypeError, ValueError) as error:
        raise DataError(str(error)) from error
    columns = {"key": np.array(written, dtype=object), "prediction": said}
    return columns if found is None else columns | spread_columns(found)
