"""Fleets on Spark: over history, and along a stream. It needs the extra ``spark`` and Java 17."""

from driftline.spark.fit import fit
from driftline.spark.follow import follow
from driftline.spark.replay import replay

__all__ = ["fit", "follow", "replay"]
