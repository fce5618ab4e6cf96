"""Learners that are made of other learners."""

from driftline.ensembles.auto import Auto
from driftline.ensembles.averaged import Averaged
from driftline.ensembles.classifier import Classifier
from driftline.ensembles.network import Network

__all__ = ["Auto", "Averaged", "Classifier", "Network"]
