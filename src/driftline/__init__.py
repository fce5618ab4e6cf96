"""driftline: regression on streams whose target keeps changing."""

from driftline import losses, streams
from driftline.base import Learner
from driftline.certificate import Certificate
from driftline.errors import DivergenceError, ModelFileError
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
)
from driftline.model_file import load
from driftline.results import Run

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
    "Below",
    "Certificate",
    "DivergenceError",
    "Divide",
    "Every",
    "Kalman",
    "Learner",
    "ModelFileError",
    "Ridge",
    "Run",
    "SecondOrder",
    "load",
    "losses",
    "streams",
]
