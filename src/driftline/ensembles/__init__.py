"""Meta-learners."""

from driftline.ensembles.adaptive_dfop import AdaptiveDFOP
from driftline.ensembles.auto import Auto
from driftline.ensembles.averaged import Averaged
from driftline.ensembles.classifier import Classifier
from driftline.ensembles.network import Network
from driftline.ensembles.own_experts import AutoWithExperts
from driftline.ensembles.refit import Refit
from driftline.ensembles.selective import Selective
from driftline.ensembles.transformed import Transformed

__all__ = [
    "AdaptiveDFOP",
    "Auto",
    "AutoWithExperts",
    "Averaged",
    "Classifier",
    "Network",
    "Refit",
    "Selective",
    "Transformed",
]
