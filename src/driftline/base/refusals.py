"""Values and rows that no learner takes, refused with their place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from driftline.base.learned import Learned
from driftline.tables import inputs
from driftline.tables.inputs import Array, Name

_LARGEST = {name: np.float64(np.finfo(name).max) for name in ("float64", "float32")}  # so that float32 compares exactly


@dataclass
class Target:
    """Where the results of a block of rows go, and the words and numbers by which messages name its rows."""

    where: str
    start: int = 0
    names: list[Name] | None = None
    predictions: Array = field(kw_only=True)
    lower: Array | None = field(default=None, kw_only=True)
    upper: Array | None = field(default=None, kw_only=True)
    level: Any = field(default=None, kw_only=True)
    resets: list[Array] | None = None
    snapshots: Array | None = None
    every: int = 0
    pace: Array | None = field(default=None, kw_only=True)

    def say(self, prediction: float) -> None:
        """What is said without asking a core: nothing is known about the errors yet."""
        self.predictions[:] = prediction
        if self.lower is not None and self.upper is not None:
            self.lower[:], self.upper[:] = -np.inf, np.inf


class Refusals(Learned):
    """Checks that every verb of a learner shares."""

    if TYPE_CHECKING:
        dtype: str
        missing: str

    @property
    def _largest(self) -> float:
        return _LARGEST[self.dtype]

    def _beyond(self, value: float) -> str:
        return f", beyond the range of {self.dtype}" if np.isfinite(value) else ""

    def _refuse_bad(self, row: Array, where: str, names: list[Name] | None, what: str = "x", place: str = "") -> None:
        bad = ~(np.abs(row) <= self._largest)
        if not bad.any():
            return
        column = int(bad.argmax())
        names = names or self._names
        feature = repr(names[column]) if names else str(column)
        value = float(row[column])
        raise ValueError(f"{where}: {what} has {inputs.spell(value)} in {place}feature {feature}{self._beyond(value)}")

    def _refuse_bad_row(self, x: Array, y: Any, target: Target, done: int) -> None:
        row = target.start + done
        self._refuse_bad(x, target.where, target.names, "X", f"row {row}, ")
        if y is not None:
            self._refuse_bad_label(y, target.where, f" in row {row}")
        raise ValueError(f"{target.where}: the core does not take row {row}")

    def _refuse_bad_label(self, y: Any, where: str, place: str = "") -> None:
        """Of several labels the first bad one."""
        labels = np.atleast_1d(y)
        output = int((~(np.abs(labels) <= self._largest)).argmax())
        value = float(labels[output])
        which = f", output {output}" if np.ndim(y) else ""
        raise ValueError(f"{where}: y is {inputs.spell(value)}{place}{which}{self._beyond(value)}")

    def _refuse_bad_items(self, items: dict[Name, float], where: str) -> None:
        if self.missing == "raise":
            for name, value in items.items():
                if not abs(value) <= self._largest:
                    raise ValueError(f"{where}: x has {inputs.spell(value)} in feature {name!r}{self._beyond(value)}")

    def _require_width(self, width: int, where: str) -> None:
        if width != self.n_features_in_:
            raise ValueError(f"{where}: x has {width} features, expected {self.n_features_in_}")

    def _known_names(self, where: str) -> list[Name]:
        if self._names is None:
            raise ValueError(f"{where}: x is a mapping, but the model learned from features without names")
        return self._names
