"""driftline: regression on streams whose target keeps changing."""

import importlib
from typing import TYPE_CHECKING, Any

from driftline import features, losses, regret, streams
from driftline.alarms import Alarm
from driftline.base import Learner
from driftline.certificate import Certificate
from driftline.ensembles import Auto, Averaged, Classifier, Network
from driftline.errors import DivergenceError, ModelFileError, RowRefusedError
from driftline.features import Pipeline
from driftline.fleet import Fleet
from driftline.kernels import Kernel
from driftline.linear import (
    AAR,
    ARCOR,
    AROWR,
    CRRLS,
    DFOP,
    EG,
    GD,
    LASER,
    LMS,
    NLMS,
    RLS,
    WEMM,
    Add,
    Below,
    Divide,
    Every,
    Kalman,
    Ridge,
    SecondOrder,
    SparseDFOP,
)
from driftline.model_file import load
from driftline.results import Run
from driftline.sweeps import Sweep, sweep

if TYPE_CHECKING:
    from driftline import checks, evaluate, files, reproduce

__version__ = "0.1.0"

__all__ = [
    "AAR",
    "ARCOR",
    "AROWR",
    "CRRLS",
    "DFOP",
    "EG",
    "GD",
    "LASER",
    "LMS",
    "NLMS",
    "RLS",
    "WEMM",
    "Add",
    "Alarm",
    "Auto",
    "Averaged",
    "Below",
    "Certificate",
    "Classifier",
    "DivergenceError",
    "Divide",
    "Every",
    "Fleet",
    "Kalman",
    "Kernel",
    "Learner",
    "ModelFileError",
    "Network",
    "Pipeline",
    "Ridge",
    "RowRefusedError",
    "Run",
    "SecondOrder",
    "SparseDFOP",
    "Sweep",
    "checks",
    "evaluate",
    "features",
    "files",
    "load",
    "losses",
    "regret",
    "reproduce",
    "streams",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name in ("checks", "evaluate", "files", "reproduce"):  # imported when first asked for: learning does not need them
        return importlib.import_module(f"driftline.{name}")
    raise AttributeError(f"module 'driftline' has no attribute {name!r}")
