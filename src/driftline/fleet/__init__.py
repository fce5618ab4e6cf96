"""One model for each key."""

from driftline.fleet.fleet import Fleet

__all__ = ["Fleet"]
