"""Baselines for rows with keys: each key has its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftline.evaluate.baselines import LastValue, RunningMean
from driftline.tables.inputs import Array

NAMES = (LastValue.name, RunningMean.name)  # no seasonal value: it would need 5 kB for each key


class KeyBaselines:
    """Predicts each row by the last label of its key, and by the mean of its key's labels so far."""

    def __init__(self) -> None:
        self._last: list[float] = []  # by the number of the key, as are the others
        self._total: list[float] = []
        self._count: list[int] = []

    def predict(self, keys: Array, y: Array) -> dict[str, Array]:
        """The predictions for rows with these numbers of keys and labels; NaN while no label of the key is known."""
        more = int(keys.max(initial=-1)) + 1 - len(self._last)
        self._last += [math.nan] * more
        self._total += [0.0] * more
        self._count += [0] * more
        predicted = []
        for key, label in zip(keys.tolist(), y.tolist(), strict=True):  # one by one, so that blocks do not matter
            count = self._count[key]
            predicted.append((self._last[key], self._total[key] / count if count else math.nan))
            if math.isfinite(label):
                self._last[key] = label
                self._total[key] += label
                self._count[key] += 1
        return dict(zip(NAMES, np.array(predicted, dtype=np.float64).reshape(-1, 2).T, strict=True))

    def state(self) -> dict[str, Any]:
        """The state, as arrays."""
        return {"last": np.array(self._last), "total": np.array(self._total), "count": np.array(self._count, dtype=np.int64)}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> KeyBaselines:
        """Restores what :meth:`state` returned."""
        baselines = cls()
        baselines._last, baselines._total = state["last"].tolist(), state["total"].tolist()
        baselines._count = state["count"].tolist()
        return baselines
