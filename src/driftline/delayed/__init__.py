"""Late labels: rows that wait for them by id, and forecasts several rows ahead."""

from driftline.delayed.forecaster import Forecaster as Forecaster
from driftline.delayed.pending import Pending as Pending

__all__ = ["Forecaster", "Pending"]
