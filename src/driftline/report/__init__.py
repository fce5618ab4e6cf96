"""One page that shows how a learner followed a stream."""

from driftline.report import page  # noqa: F401 - it is what writes a run log
from driftline.report.run_log import RunLog

__all__ = ["RunLog"]
