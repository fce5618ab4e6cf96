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
    words = f"a list of different ones of at least {least}"
    return whole(0, _DEEPEST) | Rule(lambda value: lags.accepts(value) and len(set(value)) == len(value), words)


def _lags(value: Any, first: int) -> list[int]:
    """The lags that a parameter names; a number is that of lags in a row from ``first`` on."""
    return list(range(first, first + int(value))) if isinstance(value, numbers.Integral) else list(map(int, value))


class Lags(Transformer):
    r"""Adds the labels of earlier rows, and values that the features had in them: autoregression, and tapped delay lines.

    .. math:: z_t = (y_{t-1}, \ldots, y_{t-p}, \quad x_t, x_{t-1}, \ldots, x_{t-k+1})

    The labels come first, then one feature after the other, each with its values from the newest to the oldest. What lies
    before the first row is 0. The rows before are those that were learned, in the order in which ``learn_one`` brought them:
    a row that still waits for its label, or has the weight 0, is not among them. A row that is skipped because a value is
    missing is: what it misses is taken to be as in the row before it, so that a season stays as many rows long.

    Lags of labels count from the row that is predicted. Where the label is not known yet, the lags 1, 2, ... stand for the
    newest labels that are known, in this order; any other lag counts as a season, and its next multiple is used: with labels
    known up to 30 rows before, a lag of 24 is the label of 48 rows before.

    Args:
        y: p, how many of the latest labels; or a list of lags, of which 1 is the label of the row before.
        x: k, how many of the latest values of each feature, the row's own being the first; or a list of lags, of which 0 is
            the row's own. 0 leaves the features out.

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
            raise ValueError("Lags: y and x are 0, which leaves nothing")

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
