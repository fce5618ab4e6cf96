"""Labels that come later: rows that wait for them by id, and forecasts of rows to come."""

from driftline.delayed.forecaster import Forecaster as Forecaster
from driftline.delayed.pending import Pending as Pending

__all__ = ["Forecaster", "Pending"]
