"""One model for each key."""

from driftline.fleet.fleet import Fleet
from driftline.fleet.forecaster import FleetForecaster
from driftline.fleet.ticket import FleetTicket

__all__ = ["Fleet", "FleetForecaster", "FleetTicket"]
