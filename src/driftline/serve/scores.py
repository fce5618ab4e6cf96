"""The scores of a model: of each unit over all time, and of the model in the last hour and day."""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np

from driftline.base.run import Run
from driftline.evaluate.baselines import LastAndMean
from driftline.evaluate.metrics import MAE, MSE, Coverage, OfBaselineWhereKnown, Predicted, ScoredRows, columns_of
from driftline.evaluate.scores import Score, Settings
from driftline.serve.unit import Answer, Naive
from driftline.tables.inputs import Array

LARGEST = 1e145  # of labels and errors that are scored: the sum of 10^18 squares of this size is finite
_BASELINES = [OfBaselineWhereKnown(kind(), name, f"{kind.name} {name}") for name in LastAndMean.names for kind in (MSE, MAE)]
_MEASURED = Settings.by_group([MSE(), MAE(), Coverage(), *_BASELINES], compare=False)
_NONE = np.zeros(0)
_NO_ROWS = ScoredRows(_NONE, _NONE, _NONE, _NONE, baselines=dict.fromkeys(LastAndMean.names, _NONE))
_COLUMNS = ["rows", *columns_of(_MEASURED.metrics, _NO_ROWS)]
_SLOT = 300  # seconds
_SLOTS = {"hour": 12, "day": 288}
_KEPT = max(_SLOTS.values())


class Scores:
    """Sums of errors by unit, and in slots of five minutes, the latest of which replace those a day older."""

    def __init__(self) -> None:
        self._units, self._slots = Score(_MEASURED), Score(_MEASURED)
        self._times = np.full(_KEPT, -1)  # the five minutes that a slot holds, counted since 1970
        self.place = 0  # the last log entry that the slots include

    def add_one(self, unit: int, entry: int, at: float, y: float, answer: Answer, naive: Naive) -> bool:
        """Scores a label; returns False for one that cannot be scored: its error is unknown or too large."""
        prediction = answer.prediction
        if prediction is None or not (abs(y) <= LARGEST and abs(y - prediction) <= LARGEST):
            return False
        row = (y, *answer[:3], *naive)
        self._units.add_one((unit, *row))
        if entry > self.place:
            self._slots.add_one((self._slot(at), *row))
        return True

    def add(self, unit: int, entry: int, at: float, y: Array, run: Run, naive: tuple[Array, Array]) -> int:
        """Scores the labels of a table, none larger than :data:`LARGEST`; returns how many could not be scored."""
        assert run.lower is not None
        assert run.upper is not None
        with np.errstate(all="ignore"):
            good = np.abs(y - run.predictions) <= LARGEST
        y, baselines = y[good], {name: said[good] for name, said in zip(LastAndMean.names, naive, strict=True)}
        scored = Predicted(run.predictions[good], run.lower[good], run.upper[good])
        self._units.add(scored, y, baselines=baselines, groups=np.full(len(y), unit))
        if entry > self.place:
            self._slots.add(scored, y, baselines=baselines, groups=np.full(len(y), self._slot(at)))
        return int(np.count_nonzero(~good))

    def _slot(self, at: float) -> int:
        """The slot for a time, emptied if it still holds an older one."""
        number = int(at // _SLOT)
        slot = number % _KEPT
        if self._times[slot] != number:
            self._slots.restore_group(slot, {})
            self._times[slot] = number
        return slot

    # Figures; None for those that are not known yet.

    def of(self, units: Array) -> dict[str, Any]:
        """The figures of some units over all time."""
        return _figures(self._units.totals(units))

    def recent(self) -> dict[str, Any]:
        """The rows and figures of the model in the last hour and day, to five minutes."""
        now, found = int(time.time() // _SLOT), {}
        for name, slots in _SLOTS.items():
            chosen = np.flatnonzero((self._times > now - slots) & (self._times <= now))
            found[name] = {"rows": int(self._slots.sums(chosen).get("rows", 0)), **_figures(self._slots.totals(chosen))}
        return found

    def sums(self) -> dict[str, float]:
        """The sums of all units by name; empty without a row."""
        return self._units.sums()

    # State.

    def unit_state(self, unit: int) -> dict[str, float]:
        """The sums of a unit, for :meth:`restore_unit`."""
        return self._units.group_state(unit)

    def restore_unit(self, unit: int, state: Mapping[str, float]) -> None:
        """Restores the sums of a unit; those that an earlier version did not have are 0."""
        if state:
            self._units.restore_group(unit, {name: state.get(name, 0.0) for name in _COLUMNS})

    def slots_state(self) -> dict[str, Any]:
        """The slots by their times, for :meth:`restore_slots`."""
        return {str(self._times[slot]): self._slots.group_state(slot) for slot in np.flatnonzero(self._times >= 0).tolist()}

    def restore_slots(self, place: int, state: Mapping[str, Mapping[str, float]]) -> None:
        """Restores the slots, which include the log up to ``place``."""
        self.place = place
        for number, sums in state.items():
            slot = self._slot(int(number) * _SLOT)
            self._slots.restore_group(slot, {name: sums.get(name, 0.0) for name in _COLUMNS})


def _figures(totals: Mapping[str, float]) -> dict[str, Any]:
    known = {name: value if isfinite(value) else None for name, value in totals.items()}
    baselines = {name: known[f"mse {name}"] for name in LastAndMean.names}
    return {"mse": known["mse"], "mae": known["mae"], "coverage": known["coverage"], "baselines": baselines}
