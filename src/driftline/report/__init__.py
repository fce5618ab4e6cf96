"""One page that shows how a learner followed a stream."""

from driftline.report import page  # noqa: F401 - it is what writes a chronicle
from driftline.report.chronicle import Chronicle

__all__ = ["Chronicle"]
