"""Prequential evaluation (predict, then learn), and comparisons with significance tests."""

from driftline.evaluate import plots
from driftline.evaluate.adapters import Mapped, PartialFit
from driftline.evaluate.backtest import Backtest, backtest
from driftline.evaluate.cases import subsets
from driftline.evaluate.certainty import plot_fan, plot_reliability, reliability
from driftline.evaluate.compare import compare
from driftline.evaluate.comparison import MARKS, Comparison, WinTieLoss, spread_text
from driftline.evaluate.metrics import (
    CRPS,
    MAE,
    MSE,
    R2,
    RMSE,
    Accuracy,
    Coverage,
    IntervalScore,
    Mean,
    Metric,
    Pinball,
    Width,
)
from driftline.evaluate.prequential import prequential
from driftline.evaluate.progress import Progress
from driftline.evaluate.results import Prequential
from driftline.evaluate.score import coverage_by, crps, interval_score, pinball, score
from driftline.evaluate.scores import Curve
from driftline.evaluate.statistics import (
    PairedTest,
    Ranks,
    critical_difference,
    friedman,
    paired_t_test,
    robustness,
    verdict,
)
from driftline.evaluate.tables import Cell, Table, finite
from driftline.evaluate.workers import run_jobs

__all__ = [
    "CRPS",
    "MAE",
    "MARKS",
    "MSE",
    "R2",
    "RMSE",
    "Accuracy",
    "Backtest",
    "Cell",
    "Comparison",
    "Coverage",
    "Curve",
    "IntervalScore",
    "Mapped",
    "Mean",
    "Metric",
    "PairedTest",
    "PartialFit",
    "Pinball",
    "Prequential",
    "Progress",
    "Ranks",
    "Table",
    "Width",
    "WinTieLoss",
    "backtest",
    "compare",
    "coverage_by",
    "critical_difference",
    "crps",
    "finite",
    "friedman",
    "interval_score",
    "paired_t_test",
    "pinball",
    "plot_fan",
    "plot_reliability",
    "plots",
    "prequential",
    "reliability",
    "robustness",
    "run_jobs",
    "score",
    "spread_text",
    "subsets",
    "verdict",
]
