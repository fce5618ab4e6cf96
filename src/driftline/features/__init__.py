"""Transformers of rows, on their own or in front of a learner: ``Standardize() | Lags(y=8) | RLS()``."""

from driftline.features.calendar import Calendar
from driftline.features.hashing import Hashing
from driftline.features.lags import Lags
from driftline.features.pipeline import Pipeline
from driftline.features.polynomial import Polynomial
from driftline.features.random_fourier import RandomFourier
from driftline.features.standardize import Standardize
from driftline.features.transformer import Steps, Transformer
from driftline.features.unit_norm import UnitNorm

TRANSFORMERS: tuple[type[Transformer], ...] = (
    Calendar, Hashing, Lags, Polynomial, RandomFourier, Standardize, Steps, UnitNorm,
)  # fmt: skip

__all__ = [
    "TRANSFORMERS",
    "Calendar",
    "Hashing",
    "Lags",
    "Pipeline",
    "Polynomial",
    "RandomFourier",
    "Standardize",
    "Steps",
    "Transformer",
    "UnitNorm",
]
