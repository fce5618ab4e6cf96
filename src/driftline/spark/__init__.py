"""Fleets on Spark, for histories and streams. Needs the extra ``spark`` and Java 17."""

import importlib.util

from driftline.errors import missing_extra

if importlib.util.find_spec("pyspark") is None:
    raise missing_extra("driftline.spark needs", "pyspark", "spark")

from driftline.spark.estimator import DriftlineEstimator, DriftlineModel
from driftline.spark.fit import fit
from driftline.spark.follow import follow
from driftline.spark.models import Models, models
from driftline.spark.replay import replay

__all__ = ["DriftlineEstimator", "DriftlineModel", "Models", "fit", "follow", "models", "replay"]
