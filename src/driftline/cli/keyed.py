"""``driftline run --key``: a model for each value of a column."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from driftline.base.clock import goes_by_time
from driftline.base.learner import Learner
from driftline.base.levels import Spread
from driftline.cli.measures import given_score
from driftline.cli.tasks import Columns, Task, beginning, spread_columns
from driftline.errors import DriftlineWarning
from driftline.evaluate.baselines import BaselinesByKey, LastAndMean, LastValue
from driftline.files import Options, Rows
from driftline.files.errors import DataError
from driftline.files.follower import REFUSED, note_times, reason_of
from driftline.files.ids import keys_of
from driftline.files.raw import Block
from driftline.fleet import Fleet
from driftline.report.key_log import KeyFacts, KeyLog
from driftline.report.key_page import PoolPart, write_key_page
from driftline.report.pool_facts import pool_facts
from driftline.tables.columns import Column
from driftline.tables.inputs import Name


class Keyed(Task):
    """Predicts each row with the model of its key, which then learns the row.

    Args:
        model: the fleet.
        options: how the source is read.
        spread: the intervals and quantiles.
        log: gathers the facts about each key, for the summary and the page.
        common: gathers the same over all keys of a pooled fleet, with the alarms of the pool.
    """

    least_rows = 16_384  # each call first copies the models of all its keys

    def __init__(self, model: Fleet, options: Options, spread: Spread, log: KeyLog, common: KeyLog | None) -> None:
        super().__init__(model, given_score(LastAndMean.names, spread), None)
        self._baselines = BaselinesByKey()
        self.options, self.spread, self.log = options, spread, log
        self.common = common
        self._words: list[str] = []

    @property
    def learner(self) -> Learner:
        """An untrained learner of the fleet's kind."""
        learner: Learner = self.model.learner
        return learner

    @property
    def features(self) -> list[str]:
        """The names of the features of any model."""
        return [str(name) for name in self.model._models.features()]

    @property
    def columns(self) -> Mapping[Name, Column | None]:
        """The columns of any model."""
        found: Mapping[Name, Column | None] = self.model._columns()
        return found

    @property
    def title(self) -> str:
        """The kind of the models and their number."""
        together = ", which learn from each other" if self.model.pooled else ""
        return f"{super().title} for each of {len(self.model):,} key{'' if len(self.model) == 1 else 's'}{together}"

    def warnings(self) -> list[str]:
        """The fleet's warnings in this process."""
        return self._words

    @property
    def of_all(self) -> KeyFacts | None:
        """The same facts about all keys of a pooled fleet together."""
        return None if self.common is None else self.common.ranked(["all keys"])[0][1]

    @property
    def by_key(self) -> list[KeyFacts]:
        """Facts about each key, those that need attention first."""
        return [found for _, found in self.log.ranked(self.model.keys_)]

    def take(self, rows: Rows, raw: Block) -> tuple[Columns, str | None]:
        """Predicts and learns the rows."""
        keys, block = keys_of(raw, self.options), rows.read(raw)
        assert block.y is not None
        if goes_by_time(self.learner):
            note_times(block)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", DriftlineWarning)
                run = self.model.run(keys, block.X, block.y, level=self.spread.level, quantiles=self.spread.quantiles)
        except REFUSED as error:
            at = getattr(error, "row", None)
            place = f"from {raw.place(0)} on" if at is None else raw.place(at)
            raise DataError(reason_of(error), place=place, row=block.start + (at or 0)) from error
        self._words += [str(warning.message) for warning in caught]
        beside = self._baselines.predict(run.slots, block.y)
        self.score.add(run, block.y, baselines=beside)
        informed = np.where(np.isnan(beside[LastValue.name]), np.nan, block.y)  # a key's first row is not counted
        self.log.add(run.slots, informed, run.predictions, run.alarms, block.start)
        if self.common is not None:
            self.common.add(np.zeros(len(block), dtype=np.int64), block.y, run.predictions, run.pool_alarms, block.start)
        alarms = np.zeros(len(block), dtype=np.int64)
        alarms[run.alarms] = 1
        columns = {
            **beginning(block),
            "key": np.array(keys, dtype=object),
            "prediction": run.predictions,
        }
        return columns | spread_columns(run) | {"alarm": alarms}, block.zone

    def state(self) -> dict[str, dict[str, Any]]:
        """Sums, in total and by key."""
        common = {} if self.common is None else {"common": self.common.state()}
        return {"score": self.score.state(), "keys": self.log.state(), "baselines": self._baselines.state(), **common}

    def restore(self, parts: dict[str, dict[str, Any]]) -> None:
        """Restores what :meth:`state` returned."""
        self.score.restore(parts["score"])
        self._baselines.restore(parts["baselines"])
        self.log = KeyLog.restore(parts["keys"])
        self.common = KeyLog.restore(parts["common"]) if "common" in parts else None

    def write_page(self, path: Path, command: str) -> None:
        """Writes the page with all keys."""
        write_key_page(
            self.log,
            self.model.keys_,
            path,
            learner=type(self.learner).__name__,
            target=self.options.target or "y",
            column=self.options.key or "key",
            command=command,
            pool=None if self.common is None else PoolPart(self.common, pool_facts(self.model)),
        )
