"""The models of some keys of a stream, and what their state is between two batches."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from driftline.base.learner import Learner
from driftline.fleet import Fleet
from driftline.spark.rows import Columns, new_fleet, run
from driftline.storage import codec
from driftline.storage.model_file import from_bytes

Waiting = dict[tuple[str, str], list[float]]  # by key and id, as text: the features and the prediction


@dataclass(frozen=True)
class Task:
    """What :func:`driftline.spark.follow` was asked for; it explains each."""

    learner: Learner
    columns: Columns
    level: float | None
    id: str | None
    idle: float | None  # in units of the order, which are seconds for times

    def new_fleet(self) -> Fleet:
        """Rows that wait go through a fleet without a label: its models must skip them."""
        return new_fleet(self.learner.clone().set_params(missing="skip") if self.id else self.learner, self.level)


class Bucket:
    """A fleet, when each of its keys was last seen, and the rows that wait for their labels.

    Args:
        task: what to do.
        parts: what :meth:`parts` gave after the last batch; None for the first one.
    """

    def __init__(self, task: Task, parts: list[bytes] | None) -> None:
        self._task = task
        self._waiting: Waiting = {}
        self._seen = np.empty(0)  # the order of the last row of each key
        if parts is None:
            self.fleet = task.new_fleet()
            return
        self.fleet = from_bytes(parts[0])
        self._seen = np.frombuffer(parts[1])
        self._waiting = {(key, name): numbers for key, name, *numbers in json.loads(parts[2])}
        self._check()

    def _check(self) -> None:
        where, fresh = self._task.columns.where, self._task.new_fleet()
        wanted, found = (codec.encode_model("Fleet", fleet.learner) for fleet in (fresh, self.fleet))
        if wanted != found:
            raise ValueError(f"{where}: the checkpoint is one of {self.fleet.learner!r}, not of {fresh.learner!r}")
        for name, given in (("a level", self._task.level), ("idle", self._task.idle)):
            kept = self.fleet._options.intervals if name == "a level" else len(self._seen) > 0
            if kept != (given is not None):
                raise ValueError(f"{where}: the checkpoint was made {'without' if given is not None else 'with'} {name}")

    def parts(self) -> list[bytes]:
        """The state."""
        waiting = [[*place, *numbers] for place, numbers in self._waiting.items()]
        return [self.fleet.to_bytes(), self._seen.tobytes(), json.dumps(waiting).encode()]

    def run(self, table: pd.DataFrame) -> dict[str, Any]:
        """Predicts and learns the rows of a batch, in their order; the columns that are added to it."""
        columns, level = self._task.columns, self._task.level
        answered = {} if self._task.id is None else self._match(table)
        if answered:
            table = table.copy()
            rows, numbers = list(answered), np.array(list(answered.values()))
            table[list(columns.features)] = table[list(columns.features)].astype(float)
            table.loc[rows, list(columns.features)] = numbers[:, :-1]
        added = run(self.fleet, pa.RecordBatch.from_pandas(table, preserve_index=False), columns, level)
        found = {
            name: part.to_numpy(zero_copy_only=False).copy()
            for name, part in zip(("prediction", "lower", "upper"), added, strict=False)
        }
        if self._task.id is not None:
            self._settle(table, found["prediction"], answered)
        if self._task.idle is not None:
            self._let_go(table)
        return found

    # Labels that come later.

    def _match(self, table: pd.DataFrame) -> dict[int, list[float]]:
        """The rows that bring the label of one that waits, with the features and the prediction of that one."""
        columns, waiting = self._task.columns, dict(self._waiting)
        places = self._places(table)
        missing = table[columns.label].isna().to_numpy()
        features = table[list(columns.features)].to_numpy(dtype=float)
        answered = {}
        for row, place in enumerate(places):
            if missing[row]:
                if place in waiting:
                    raise ValueError(f"{columns.where}: the id {place[1]!r} of the key {place[0]!r} waits already")
                waiting[place] = [*features[row].tolist(), np.nan]  # its prediction is not made yet
            elif place in waiting:
                answered[row] = waiting.pop(place)
                continue
            if self._task.learner.missing == "raise" and np.isnan(features[row]).any():
                name = columns.features[int(np.isnan(features[row]).argmax())]
                raise ValueError(f"{columns.where}: the column {name!r} is null for the id {place[1]!r}, which did not wait")
        return answered

    def _settle(self, table: pd.DataFrame, predictions: Any, answered: dict[int, list[float]]) -> None:
        """Rows that brought a label get the prediction of the row that waited; rows without one wait."""
        columns = self._task.columns
        missing = table[columns.label].isna().to_numpy()
        features = table[list(columns.features)].to_numpy(dtype=float)
        for row, place in enumerate(self._places(table)):
            if missing[row]:
                self._waiting[place] = [*features[row].tolist(), float(predictions[row])]
            elif row in answered:
                predictions[row] = self._waiting.pop(place)[-1]

    def _places(self, table: pd.DataFrame) -> list[tuple[str, str]]:
        columns = self._task.columns
        for name in (columns.key, self._task.id):
            if nulls := int(table[name].isna().sum()):
                raise ValueError(f"{columns.where}: the column {name!r} has {nulls} null values among {len(table)} rows")
        return list(zip(table[columns.key].astype(str), table[self._task.id].astype(str), strict=True))

    # Keys that come no more.

    def _let_go(self, table: pd.DataFrame) -> None:
        assert self._task.idle is not None
        columns = self._task.columns
        last = _as_numbers(table[columns.order]).groupby(table[columns.key]).max()
        keys = self.fleet.keys_
        seen = np.concatenate([self._seen, np.full(len(keys) - len(self._seen), -np.inf)])
        newest = last.reindex(keys).to_numpy(dtype=float)
        seen = np.fmax(seen, newest)
        stay = seen >= seen.max(initial=-np.inf) - self._task.idle
        gone = [key for key, stays in zip(keys, stay, strict=True) if not stays]
        self.fleet.drop(gone)
        self._seen = seen[stay]
        texts = {str(key) for key in gone}
        self._waiting = {place: numbers for place, numbers in self._waiting.items() if place[0] not in texts}


def _as_numbers(order: pd.Series) -> pd.Series:
    """Numbers as they are, times in seconds."""
    if pd.api.types.is_datetime64_any_dtype(order):
        order = (order - pd.Timestamp(0, tz=order.dt.tz)) / pd.Timedelta(1, "s")
    return order.astype(float)
