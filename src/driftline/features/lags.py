"""Earlier labels and earlier values of the features as inputs."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from driftline import _core
from driftline.base import params
from driftline.base.rules import Rule, sequence, whole
from driftline.features.transformer import Transformer
from driftline.tables.inputs import Name

_DEEPEST = 1_000_000


def _lags_from(least: int) -> Rule:
    lags = sequence(whole(least, _DEEPEST))
    words = f"a list of distinct whole numbers of at least {least}"
    return whole(0, _DEEPEST) | Rule(lambda value: lags.accepts(value) and len(set(value)) == len(value), words)


def _lags(value: Any, first: int) -> list[int]:
    """The lags that a parameter stands for; a number means that many consecutive lags from ``first`` on."""
    return list(range(first, first + int(value))) if isinstance(value, numbers.Integral) else list(map(int, value))


class Lags(Transformer):
    r"""Adds labels and feature values of earlier rows: autoregression, and tapped delay lines.

    .. math:: z_t = (y_{t-1}, \ldots, y_{t-p}, \quad x_t, x_{t-1}, \ldots, x_{t-k+1})

    The labels come first, then each feature with its values from newest to oldest. Values before the first row are 0.
    Earlier rows are those that were learned, in the order of ``learn_one``; a row that still waits for its label or has
    weight 0 does not count. A row that was skipped because a value is missing does count, so that a season keeps its
    length: missing values are repeated from the row before.

    Label lags count from the predicted row. If a label is not known yet, the lags 1, 2, ... use the newest known labels in
    this order. Any other lag is treated as a season, and its next multiple is used: if the newest known label is 30 rows
    old, a lag of 24 becomes 48.

    Args:
        y: p, the number of latest labels; or a list of lags, where 1 is the label of the previous row.
        x: k, the number of latest values of each feature, including the row's own; or a list of lags, where 0 is the row's
            own value. 0 leaves the features out.

    >>> Lags(y=2, x=1).run([[10.0], [20.0], [30.0]], [1.0, 2.0, 3.0])
    array([[ 0.,  0., 10.],
           [ 1.,  0., 20.],
           [ 2.,  1., 30.]])
    >>> Lags(x=3).run([[1.0], [2.0], [3.0]])
    array([[1., 0., 0.],
           [2., 1., 0.],
           [3., 2., 1.]])
    """

    y: int | Sequence[int] = params.checked(default=0, rule=_lags_from(1))
    x: int | Sequence[int] = params.checked(default=1, rule=_lags_from(0))

    def _check_relations(self, values: dict[str, Any]) -> None:
        if not _lags(values["y"], 1) and not _lags(values["x"], 0):
            raise ValueError("Lags: y and x are both 0, which leaves no features")

    @property
    def _needs_labels(self) -> bool:  # type: ignore[override]
        return not (isinstance(self.y, numbers.Integral) and self.y == 0)

    @property
    def _label_lags(self) -> list[int]:
        return _lags(self.y, 1)

    @property
    def _row_lags(self) -> list[int]:
        return _lags(self.x, 0)

    def _stage(self, width: int) -> Any:
        return _core.Lags(width, self._label_lags, self._row_lags)

    def _names_out(self, names: list[Name], stage: Any) -> list[Name]:
        labels: list[Name] = [f"y[-{lag}]" for lag in self._label_lags]
        return labels + [f"{name}[-{lag}]" if lag else name for name in names for lag in self._row_lags]
