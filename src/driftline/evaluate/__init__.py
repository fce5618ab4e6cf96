"""Evaluation: predict, then learn; and comparisons with tests of significance."""

from driftline.evaluate.adapters import Mapped, PartialFit
from driftline.evaluate.cases import subsets
from driftline.evaluate.compare import compare
from driftline.evaluate.comparison import Comparison, WinTieLoss
from driftline.evaluate.metrics import MAE, MSE, R2, RMSE, Accuracy, Coverage, Mean, Metric, Width
from driftline.evaluate.prequential import prequential
from driftline.evaluate.progress import Progress
from driftline.evaluate.results import Prequential
from driftline.evaluate.score import score
from driftline.evaluate.scorer import Curve
from driftline.evaluate.statistics import PairedTest, Ranks, critical_difference, friedman, paired_t_test, robustness
from driftline.evaluate.tables import Table

__all__ = [
    "MAE",
    "MSE",
    "R2",
    "RMSE",
    "Accuracy",
    "Comparison",
    "Coverage",
    "Curve",
    "Mapped",
    "Mean",
    "Metric",
    "PairedTest",
    "PartialFit",
    "Prequential",
    "Progress",
    "Ranks",
    "Table",
    "Width",
    "WinTieLoss",
    "compare",
    "critical_difference",
    "friedman",
    "paired_t_test",
    "prequential",
    "robustness",
    "score",
    "subsets",
]
