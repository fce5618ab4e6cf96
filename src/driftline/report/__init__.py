"""One page that shows how a learner followed a stream."""

from driftline.report.chronicle import Chronicle

__all__ = ["Chronicle"]
