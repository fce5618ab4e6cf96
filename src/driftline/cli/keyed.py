"""``driftline run --key``: a model for each value of a column."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.cli.scoring import make_given_score
from driftline.cli.tasks import Columns, Task, beginning
from driftline.errors import DriftlineWarning
from driftline.evaluate.baselines import BaselinesByKey, LastAndMean, LastValue
from driftline.files import Options, Rows
from driftline.files.errors import DataError, Hint
from driftline.files.follower import REFUSED
from driftline.files.ids import keys_of
from driftline.files.raw import RawBlock
from driftline.fleet import Fleet
from driftline.fleet.core import has_fixed_size
from driftline.report.key_log import KeyFacts, KeyLog
from driftline.report.key_page import write_key_page


def encodes_itself(fleet: Fleet, rows: Rows) -> bool:
    """Whether each model encodes text and times as the rows of its own key bring them."""
    return rows.encoder.has_more_than_numbers and not has_fixed_size(fleet.learner)


class Keyed(Task):
    """Predicts each row with the model of its key, which then learns the row.

    Args:
        model: the fleet.
        options: how the source is read.
        level: coverage of the intervals; None for no intervals.
        log: gathers the facts about each key, for the summary and the page.
    """

    least_rows = 16_384  # each call first copies the models of all its keys

    def __init__(self, model: Fleet, options: Options, level: float | None, log: KeyLog) -> None:
        super().__init__(model, make_given_score(LastAndMean.names, level), None)
        self._baselines = BaselinesByKey()
        self.options, self.level, self.log = options, level, log
        self._words: list[str] = []

    @property
    def learner(self) -> Learner:
        """An untrained learner of the fleet's kind."""
        learner: Learner = self.model.learner
        return learner

    def features(self, rows: Rows) -> list[str]:
        """The names of the features."""
        return rows.encoder.names

    def crowded(self, rows: Rows) -> dict[str, int]:
        """Columns with more texts than the limit for own features, and the limit."""
        return rows.encoder.crowded()

    @property
    def title(self) -> str:
        """The kind of the models and their number."""
        return f"{super().title} for each of {len(self.model):,} key{'' if len(self.model) == 1 else 's'}"

    def warnings(self) -> list[str]:
        """The fleet's warnings in this process."""
        return self._words

    @property
    def by_key(self) -> list[KeyFacts]:
        """Facts about each key, those that need attention first."""
        return [found for _, found in self.log.ranked(self.model.keys_)]

    def take(self, block: Any) -> Columns:
        """Not supported: rows need their keys, which only :meth:`take_raw` sees."""
        raise NotImplementedError

    def take_raw(self, rows: Rows, raw: RawBlock) -> tuple[Columns, str | None]:
        """Predicts and learns the rows."""
        keys, block = keys_of(raw, self.options), rows.encode(raw)
        encodes = encodes_itself(self.model, rows)
        if not encodes:
            self._check_new_features(block, rows)
        assert block.y is not None
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", DriftlineWarning)
                run = self.model.run(keys, rows.encoder.as_given(raw) if encodes else block.X, block.y, level=self.level)
        except REFUSED as error:
            raise DataError(str(error), place=f"from {raw.place(0)} on", row=block.start) from error
        self._words += [str(warning.message) for warning in caught]
        beside = self._baselines.predict(run.slots, block.y)
        self.score.add(run, block.y, baselines=beside)
        informed = np.where(np.isnan(beside[LastValue.name]), np.nan, block.y)  # a key's first row is not counted
        self.log.add(run.slots, informed, run.predictions, run.alarms, block.start)
        alarms = np.zeros(len(block), dtype=np.int64)
        alarms[run.alarms] = 1
        columns = {
            **beginning(block),  # type: ignore[arg-type]
            "key": np.array(keys, dtype=object),
            "prediction": run.predictions,
        }
        if run.lower is not None and run.upper is not None:
            columns |= {"lower": run.lower, "upper": run.upper}
        return columns | {"alarm": alarms}, block.zone

    def _check_new_features(self, block: Any, rows: Rows) -> None:
        """Raises DataError for a new feature: the first row fixes the features of models of fixed size."""
        for row, width in block.growth:
            if block.start + row > 0:
                column, _ = rows.encoder.features[width - 1]
                kind = type(self.learner).__name__
                raise DataError(
                    f"brings the feature {block.names[width - 1]!r}, but with --key the first row fixes the "
                    f"features of {kind}; --model auto takes new ones",
                    place=block.place(row),
                    column=column,
                    hints=[Hint("drop", column, "to leave the column out")],
                )

    def state(self) -> dict[str, dict[str, Any]]:
        """Sums, in total and by key."""
        return {"score": self.score.state(), "keys": self.log.state(), "baselines": self._baselines.state()}

    def restore(self, parts: dict[str, dict[str, Any]]) -> None:
        """Restores what :meth:`state` returned."""
        self.score.restore(parts["score"])
        self._baselines.restore(parts["baselines"])
        self.log = KeyLog.restore(parts["keys"])

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
        )
