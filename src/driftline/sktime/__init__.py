"""Forecasters for sktime. Needs sktime (extra ``sktime``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from driftline.base.learner import Learner
from driftline.delayed import Forecaster
from driftline.delayed.forecast import Forecast
from driftline.ensembles import Auto
from driftline.errors import missing_extra
from driftline.linear import RLS
from driftline.tables.calendar import CIRCLES
from driftline.tables.inputs import Array, Name

try:
    from sktime.forecasting.base import BaseForecaster
except ImportError:
    raise missing_extra("driftline.sktime needs", "sktime", "sktime") from None

__all__ = ["DriftlineForecaster"]


class DriftlineForecaster(BaseForecaster):  # type: ignore[misc]  # without types
    """A :class:`driftline.Forecaster` with sktime's interface.

    ``fit`` needs ``fh``, because all steps up to the furthest one are learned. ``update`` learns the new rows once, whatever
    ``update_params`` says; they must follow the last one.

    Args:
        learner: the base learner; None for ``Auto(missing="mean")``. Behind a ``Calendar``, it gets the index as a feature.
        known: the features that are known ahead; None for all.
        smoothing: whether to mix in forecasts from the labels alone; None to do so if the learner is Auto.
        seasons: the lengths of the seasons in rows; None to find them.

    >>> from driftline.sktime import DriftlineForecaster
    >>> from sktime.datasets import load_airline
    >>> y = load_airline()
    >>> forecaster = DriftlineForecaster().fit(y[:-12], fh=range(1, 13))
    >>> bool(abs(forecaster.predict() / y[-12:] - 1).mean() < 0.05)
    True
    """

    _tags = {  # noqa: RUF012  # sktime reads a dictionary
        "authors": ["driftline"],
        "maintainers": ["driftline"],
        "python_dependencies": "driftline",
        "y_inner_mtype": "pd.Series",
        "X_inner_mtype": "pd.DataFrame",
        "scitype:y": "univariate",
        "capability:exogenous": True,
        "capability:insample": False,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:missing_values": True,
        "capability:update": True,
        "requires-fh-in-fit": True,
        "X-y-must-have-same-index": True,
    }

    def __init__(
        self,
        learner: Learner | None = None,
        known: Sequence[Name] | None = None,
        smoothing: bool | None = None,
        seasons: int | Sequence[int] | None = None,
    ) -> None:
        self.learner, self.known, self.smoothing, self.seasons = learner, known, smoothing, seasons
        super().__init__()

    def _fit(self, y: Any, X: Any, fh: Any) -> DriftlineForecaster:
        steps = int(max(fh.to_relative(self.cutoff)))
        learner = Auto(missing="mean") if self.learner is None else self.learner.clone()
        self.forecaster_ = Forecaster(learner, steps, self.known, smoothing=self.smoothing, seasons=self.seasons)
        self._last = y.index[-1:]
        self._width = 0 if X is None else X.shape[1]
        times = y.index if learner._traits.times is not CIRCLES else None
        self.forecaster_.fit(_labels(y), _features(X), times=times)
        return self

    def _update(self, y: Any, X: Any = None, update_params: bool = True) -> DriftlineForecaster:
        new = y.index > self._last[0]
        if new.any():
            self.forecaster_.update(_labels(y[new]), None if X is None else _features(X[X.index > self._last[0]]))
            self._last = y.index[-1:]
        return self

    def _predict(self, fh: Any, X: Any) -> Any:
        found, places, index = self._ahead(fh, X)
        return pd.Series(found.predictions[places], index=index, name=self._y.name)

    def _predict_quantiles(self, fh: Any, X: Any, alpha: Sequence[float]) -> Any:
        levels = sorted(set(alpha))
        found, places, index = self._ahead(fh, X, levels)
        assert found.quantiles is not None
        columns = pd.MultiIndex.from_product([self._get_varnames(), alpha])
        by_level = dict(zip(levels, found.quantiles.T, strict=True))
        return pd.DataFrame({column: by_level[column[1]][places] for column in columns}, index=index, columns=columns)

    def _ahead(self, fh: Any, X: Any, levels: Sequence[float] | None = None) -> tuple[Forecast, Array, Any]:
        """The forecast of the next rows, the places of those of the horizon, and their index."""
        index = fh.to_absolute_index(self.cutoff)
        places = np.asarray(fh.to_relative(self.cutoff), dtype=np.int64) - 1
        rows: Any = int(places.max()) + 1
        if self._width:  # rows between those of the horizon are not asked for, so their features do not matter
            wanted = _features(X.loc[index])
            rows = wanted.iloc[np.searchsorted(places, np.arange(rows))]
        return self.forecaster_.forecast(rows, quantiles=levels), places, index

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Parameters for sktime's tests."""
        return [{"learner": RLS(missing="mean"), "smoothing": True}, {}]


def _labels(y: Any) -> Array:
    return np.asarray(y, dtype=np.float64)


def _features(X: Any) -> Any:
    """Features as text names them, without their index."""
    return None if X is None else X.set_axis(list(map(str, X.columns)), axis=1).reset_index(drop=True)
